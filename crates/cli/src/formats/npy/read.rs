//! A NumPy file to cells.

use super::header::{Header, descr};
use crate::cells::Field;
use crate::failure::{Failure, Outcome};
use crate::formats::{Held, Room};
use smalti::{AlignedBuf, Column, Layout};
use std::io::Read;

/// Values are read in pieces of this size: what a header promises may not be there.
const PIECE_BYTE_LEN: usize = 1 << 20;

/// Headers have some hundred bytes.
const MAX_HEADER_BYTE_LEN: usize = 1 << 20;

/// Reads the values of the one attribute, for a part of the domain of this shape, and the order they come in.
///
/// # Errors
/// When the file's type or shape is another, or the array has several attributes.
pub(crate) fn read_npy(
    mut input: impl Read,
    fields: &[Field],
    shape: &[usize],
    room: &Room,
) -> Outcome<(Vec<(Field, Column)>, Layout)> {
    let attributes: Vec<&Field> = fields.iter().filter(|field| !field.is_dimension).collect();
    let [field] = attributes.as_slice() else {
        return Err(Failure::invalid(format!("npy holds one attribute, the array has {}", attributes.len())));
    };
    let (header, early) = read_header(&mut input)?;
    let mut input = early.as_slice().chain(input);
    let count = field.cell_val_num.fixed().filter(|_| !field.nullable);
    let (Some(count), Some(expected)) = (count, descr(field.datatype)) else {
        return Err(Failure::invalid(format!(
            "npy cannot hold the field {:?} of type {}; use arrow or parquet",
            field.name, field.datatype
        )));
    };
    if header.descr != expected {
        return Err(Failure::invalid(format!(
            "the file holds values of type {}, the attribute {:?} is {} ({expected}); convert them with astype",
            header.descr, field.name, field.datatype
        )));
    }
    let mut wanted = shape.to_vec();
    if count > 1 {
        wanted.push(count);
    }
    if header.shape != wanted {
        return Err(Failure::invalid(format!(
            "the file has shape {:?}, the part to write {wanted:?}; name the part with --range",
            header.shape
        )));
    }
    let layout = if header.is_fortran { Layout::ColMajor } else { Layout::RowMajor };
    if header.is_fortran && count > 1 {
        return Err(Failure::invalid(
            "cells of several values must be in row-major order; use ascontiguousarray",
        ));
    }
    let byte_len =
        wanted.iter().try_fold(field.datatype.byte_len(), |product, &len| product.checked_mul(len));
    let misfit = |found: &dyn std::fmt::Display| {
        Failure::invalid(format!("{found} bytes of values do not fit shape {wanted:?}"))
    };
    let byte_len = byte_len.ok_or_else(|| misfit(&"2^64"))?;
    // While it grows it is there twice.
    let cell_count = header.shape.iter().copied().fold(1, usize::saturating_mul) as u64;
    room.check_work(Held { byte_len: byte_len as u64, cell_count, ..Held::default() }, byte_len as u64)?;
    let mut data = AlignedBuf::new();
    let mut piece = Vec::new();
    while data.len() < byte_len {
        piece.clear();
        let piece_len = (byte_len - data.len()).min(PIECE_BYTE_LEN);
        if input.by_ref().take(piece_len as u64).read_to_end(&mut piece)? == 0 {
            return Err(misfit(&data.len()));
        }
        data.extend_from_slice(&piece)?;
    }
    if input.take(1).read_to_end(&mut piece)? > 0 {
        return Err(misfit(&format_args!("more than {byte_len}")));
    }
    Ok((vec![((*field).clone(), Column { data, ..Column::default() })], layout))
}

/// Reads the header, and the bytes behind it that had to be read as well.
fn read_header(input: &mut impl Read) -> Outcome<(Header, Vec<u8>)> {
    let mut content = Vec::new();
    input.by_ref().take(Header::PREFIX_BYTE_LEN).read_to_end(&mut content)?;
    let left = Header::byte_len(&content).map_err(Failure::invalid)?.saturating_sub(content.len());
    if left > MAX_HEADER_BYTE_LEN {
        return Err(Failure::invalid(format!("no NumPy file: its header has {left} bytes")));
    }
    input.by_ref().take(left as u64).read_to_end(&mut content)?;
    let (header, start) = Header::decode(&content).map_err(Failure::invalid)?;
    Ok((header, content.split_off(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::test_field;
    use crate::formats::{NpySink, Sink};
    use smalti::{Batch, Datatype};

    fn file(field: &Field, shape: &[usize], values: &[u8], is_fortran: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut data = AlignedBuf::new();
        data.extend_from_slice(values).unwrap();
        let columns = vec![Column { data, ..Column::default() }];
        let mut sink = NpySink::new(&mut out, std::slice::from_ref(field), shape, is_fortran).unwrap();
        sink.batch(Batch { cell_count: shape.iter().product(), columns }).unwrap();
        sink.finish().unwrap();
        out
    }

    #[test]
    fn values_come_back() {
        for (datatype, count, shape, is_fortran) in [
            (Datatype::Float64, 1, &[2, 3][..], false),
            (Datatype::UInt8, 1, &[6], true),
            (Datatype::DateTimeMs, 1, &[1, 6], false),
            (Datatype::Int16, 2, &[6], false),
        ] {
            let field = test_field("a", datatype, count, false);
            let values: Vec<u8> = (0..6 * field.cell_byte_len()).map(|value| value as u8).collect();
            let content = file(&field, shape, &values, is_fortran);
            let (columns, layout) = read_npy(content.as_slice(), &[field], shape, &Room::default()).unwrap();
            assert_eq!(columns[0].1.data.as_slice(), values);
            assert_eq!(layout == Layout::ColMajor, is_fortran);
            assert_eq!((content.len() - values.len()) % 64, 0);
        }
    }

    #[test]
    fn other_types_and_shapes_are_errors() {
        let field = test_field("a", Datatype::Int32, 1, false);
        let content = file(&field, &[2, 3], &[0; 24], false);
        let other = test_field("a", Datatype::UInt32, 1, false);
        for (content, field, shape, words) in [
            (&content[..], &other, &[2, 3][..], "<i4, the attribute \"a\" is UINT32 (<u4)"),
            (&content, &field, &[3, 2], "the file has shape [2, 3], the part to write [3, 2]"),
            (&content[..content.len() - 1], &field, &[2, 3], "23 bytes of values"),
            (&[&content[..], &[0]].concat(), &field, &[2, 3], "more than 24 bytes of values"),
            (&content[..20], &field, &[2, 3], "cut short"),
            (b"PK", &field, &[2, 3], "no NumPy file"),
        ] {
            let failure =
                read_npy(content, std::slice::from_ref(field), shape, &Room::default()).unwrap_err();
            assert!(failure.to_string().contains(words), "{failure}");
        }
    }
}
