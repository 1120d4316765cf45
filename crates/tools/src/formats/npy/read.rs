//! A NumPy file to cells.

use super::header::{Header, descr};
use crate::cells::Field;
use crate::failure::{Failure, Outcome};
use smalti::{AlignedBuf, Column, Layout};
use std::io::Read;

/// Values are read in pieces of this size: what a header promises may not be there.
const PIECE_BYTE_LEN: usize = 1 << 20;

/// Headers have some hundred bytes.
const MAX_HEADER_BYTE_LEN: usize = 1 << 20;

/// The values of a file, whose header was read and fits.
pub(crate) struct NpyValues<R> {
    field: Field,
    layout: Layout,
    wanted: Vec<usize>,
    byte_len: usize,
    read_byte_len: usize,
    early: std::io::Cursor<Vec<u8>>,
    input: R,
}

/// Opens the values of the one attribute, for a part of the domain of this shape.
///
/// # Errors
/// When the file's type or shape is another, or the array has several attributes.
pub(crate) fn open_npy<R: Read>(mut input: R, fields: &[Field], shape: &[usize]) -> Outcome<NpyValues<R>> {
    let attributes: Vec<&Field> = fields.iter().filter(|field| !field.is_dimension).collect();
    let [field] = attributes.as_slice() else {
        return Err(Failure::invalid(format!("npy holds one attribute, the array has {}", attributes.len())));
    };
    let (header, early) = read_header(&mut input)?;
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
    let early = std::io::Cursor::new(early);
    let field = (*field).clone();
    let values = NpyValues { field, layout, wanted, byte_len: 0, read_byte_len: 0, early, input };
    let byte_len = byte_len.ok_or_else(|| values.misfit(&"2^64"))?;
    Ok(NpyValues { byte_len, ..values })
}

impl<R: Read> NpyValues<R> {
    /// The order in which they come.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The attribute.
    pub(crate) fn field(&self) -> &Field {
        &self.field
    }

    /// How many bytes of values there are.
    pub(crate) fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// Reads the next values, of so many bytes, for which the caller has room.
    ///
    /// # Errors
    /// When the file ends before.
    pub(crate) fn next(&mut self, byte_len: usize) -> Outcome<(Field, Column)> {
        let mut data = AlignedBuf::zeroed(byte_len)?;
        let mut rest = data.as_mut_slice();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at_mut(rest.len().min(PIECE_BYTE_LEN));
            let found = fill(&mut self.early.by_ref().chain(&mut self.input), piece)?;
            self.read_byte_len += found;
            if found < piece.len() {
                return Err(self.misfit(&self.read_byte_len));
            }
            rest = behind;
        }
        Ok((self.field.clone(), Column { data, ..Column::default() }))
    }

    /// Checks that there is nothing behind the values.
    ///
    /// # Errors
    /// When there is.
    pub(crate) fn end(mut self) -> Outcome {
        let mut more = [0];
        match fill(&mut self.early.by_ref().chain(&mut self.input), &mut more)? {
            0 => Ok(()),
            _ => Err(self.misfit(&format_args!("more than {}", self.byte_len))),
        }
    }

    fn misfit(&self, found: &dyn std::fmt::Display) -> Failure {
        Failure::invalid(format!("{found} bytes of values do not fit shape {:?}", self.wanted))
    }
}

/// Reads until `dest` is full or the input ends; the bytes that were there.
fn fill(input: &mut impl Read, dest: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < dest.len() {
        match input.read(&mut dest[filled..]) {
            Ok(0) => break,
            Ok(byte_len) => filled += byte_len,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
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
            let mut read = open_npy(content.as_slice(), &[field], shape).unwrap();
            let layout = read.layout();
            let all = read.next(values.len()).unwrap().1;
            read.end().unwrap();
            assert_eq!(all.data.as_slice(), values);
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
            let whole = open_npy(content, std::slice::from_ref(field), shape).and_then(|mut values| {
                values.next(values.byte_len())?;
                values.end()
            });
            let failure = whole.unwrap_err();
            assert!(failure.to_string().contains(words), "{failure}");
        }
    }
}
