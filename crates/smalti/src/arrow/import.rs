//! Arrow arrays to columns.

use super::numbers::values_of;
use crate::column::{Bytes, FieldCells, cells};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BooleanArray, GenericByteArray, GenericListArray, OffsetSizeTrait, UInt64Array,
};
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer};
use arrow_schema::{ArrowError, DataType};
use smalti_tile::CellShape;
use smalti_types::{CellValNum, Datatype, Error, Result};

/// The cells of an Arrow array for a field.
///
/// # Errors
/// `InvalidArgument` when the field cannot hold them without loss.
pub(crate) fn column_of(array: &ArrayRef, shape: CellShape) -> Result<FieldCells<'static>> {
    let array = unpacked(array)?;
    let validity = array.logical_nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| bytes_of(&nulls));
    let nulls = array.logical_nulls();
    if shape.datatype.is_bytes() {
        if let Some((data, offsets)) = byte_cells(&array) {
            return cells(shape, data, Some(offsets), validity);
        }
        if let DataType::FixedSizeBinary(size) = array.data_type() {
            let values = array.as_fixed_size_binary();
            let size = usize::try_from(*size).unwrap_or(0);
            // A slice of the array's own: its first byte is that of the slice.
            let data = values.values().slice_with_length(0, values.len() * size);
            let is_same = shape.cell_val_num.fixed() == Some(size);
            let offsets = (!is_same).then(|| offsets_from((0..=values.len()).map(|cell| cell * size)));
            return cells(shape, Bytes::Buffer(data), offsets, validity);
        }
    }
    match (array.data_type(), shape.cell_val_num) {
        (DataType::List(_), CellValNum::Var | CellValNum::Fixed(_)) => {
            list_cells(array.as_list::<i32>(), shape, validity)
        }
        (DataType::LargeList(_), CellValNum::Var | CellValNum::Fixed(_)) => {
            list_cells(array.as_list::<i64>(), shape, validity)
        }
        (DataType::FixedSizeList(_, size), _) => {
            let list = array.as_fixed_size_list();
            let size = usize::try_from(*size).unwrap_or(0);
            let values = list.values().slice(0, list.len() * size);
            let valid = (0..list.len()).filter(|&cell| list.is_valid(cell));
            let data = list_values(&values, shape.datatype, valid.map(|cell| (cell * size, size)))?;
            let is_same = shape.cell_val_num.fixed() == Some(size);
            let step = size * shape.datatype.byte_len();
            let offsets = (!is_same).then(|| offsets_from((0..=list.len()).map(|cell| cell * step)));
            cells(shape, data, offsets, validity)
        }
        (_, CellValNum::ONE) => {
            let data = values_of(&array, shape.datatype, nulls.as_ref())?;
            cells(shape, data, None, validity)
        }
        _ => Err(mismatch(array.data_type(), shape)),
    }
}

/// The error for an Arrow type that a field does not take.
pub(super) fn mismatch(given: &DataType, shape: CellShape) -> Error {
    Error::invalid(format!(
        "Arrow cells of {given}; the field takes {}",
        super::data_type(shape, super::ArrowForm::default())
    ))
}

fn bytes_of(nulls: &NullBuffer) -> Vec<u8> {
    nulls.iter().map(u8::from).collect()
}

fn offsets_from(offsets: impl Iterator<Item = usize>) -> Buffer {
    Buffer::from_vec(offsets.map(|offset| offset as u64).collect::<Vec<u64>>())
}

/// The array with its dictionary or its runs written out.
fn unpacked(array: &ArrayRef) -> Result<ArrayRef> {
    let taken = |values: &ArrayRef, indices: &dyn Array| {
        arrow_select::take::take(values, indices, None).map_err(|error: ArrowError| {
            Error::invalid(format!("the Arrow array cannot be unpacked: {error}"))
        })
    };
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            unpacked(&taken(dictionary.values(), dictionary.keys())?)
        }
        DataType::RunEndEncoded(run_ends, _) => {
            let (values, indices) = match run_ends.data_type() {
                DataType::Int16 => runs(array.as_run::<Int16Type>()),
                DataType::Int32 => runs(array.as_run::<Int32Type>()),
                _ => runs(array.as_run::<Int64Type>()),
            };
            unpacked(&taken(&values, &indices)?)
        }
        _ => Ok(array.clone()),
    }
}

fn runs<R: RunEndIndexType>(array: &arrow_array::RunArray<R>) -> (ArrayRef, UInt64Array) {
    let indices = (0..array.len()).map(|cell| array.get_physical_index(cell) as u64);
    (array.values().clone(), UInt64Array::from_iter_values(indices))
}

/// Text and bytes of any length, with offsets from 0.
fn byte_cells(array: &ArrayRef) -> Option<(Bytes<'static>, Buffer)> {
    Some(match array.data_type() {
        DataType::LargeUtf8 => large_bytes(array.as_string::<i64>()),
        DataType::LargeBinary => large_bytes(array.as_binary::<i64>()),
        DataType::Utf8 => small_bytes(array.as_string::<i32>()),
        DataType::Binary => small_bytes(array.as_binary::<i32>()),
        DataType::Utf8View => view_bytes(array.as_string_view().iter().map(|cell| cell.map(str::as_bytes))),
        DataType::BinaryView => view_bytes(array.as_binary_view().iter()),
        _ => return None,
    })
}

/// Without a copy of values; of offsets too unless the array is a later slice.
fn large_bytes<T: ByteArrayType<Offset = i64>>(array: &GenericByteArray<T>) -> (Bytes<'static>, Buffer) {
    let (data, offsets) = (array.values(), array.offsets());
    let (first, last) = (offsets[0] as usize, offsets[array.len()] as usize);
    let offsets = match first {
        0 => offsets.inner().inner().clone(),
        _ => offsets_from(offsets.iter().map(|&offset| offset as usize - first)),
    };
    (Bytes::Buffer(data.slice_with_length(first, last - first)), offsets)
}

fn small_bytes<T: ByteArrayType<Offset = i32>>(array: &GenericByteArray<T>) -> (Bytes<'static>, Buffer) {
    let (data, offsets) = (array.values(), array.offsets());
    let (first, last) = (offsets[0] as usize, offsets[array.len()] as usize);
    let from_zero = offsets_from(offsets.iter().map(|&offset| offset as usize - first));
    (Bytes::Buffer(data.slice_with_length(first, last - first)), from_zero)
}

fn view_bytes<'v>(cells: impl Iterator<Item = Option<&'v [u8]>> + Clone) -> (Bytes<'static>, Buffer) {
    let byte_len = cells.clone().map(|cell| cell.map_or(0, <[u8]>::len)).fold(0, usize::saturating_add);
    let mut data = MutableBuffer::with_capacity(byte_len);
    let mut offsets = vec![0_u64];
    for cell in cells {
        data.extend_from_slice(cell.unwrap_or_default());
        offsets.push(data.len() as u64);
    }
    (Bytes::Buffer(data.into()), Buffer::from_vec(offsets))
}

fn list_cells<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    shape: CellShape,
    validity: Option<Vec<u8>>,
) -> Result<FieldCells<'static>> {
    let offsets = list.offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[list.len()].as_usize());
    let start = |cell: usize| offsets[cell].as_usize() - first;
    let valid = (0..list.len()).filter(|&cell| list.is_valid(cell));
    let valid = valid.map(|cell| (start(cell), start(cell + 1) - start(cell)));
    let data = list_values(&list.values().slice(first, last - first), shape.datatype, valid)?;
    let byte_len = shape.datatype.byte_len();
    let offsets = offsets_from(offsets.iter().map(|offset| (offset.as_usize() - first) * byte_len));
    cells(shape, data, Some(offsets), validity)
}

/// The values in the cells of a list; `valid` tells where those of cells that are not null start, and their number. What null
/// cells hold is of no meaning, and may be null itself.
fn list_values(
    values: &ArrayRef,
    datatype: Datatype,
    mut valid: impl Iterator<Item = (usize, usize)>,
) -> Result<Bytes<'static>> {
    let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    if let Some(nulls) = &nulls
        && valid.any(|(start, count)| nulls.slice(start, count).null_count() > 0)
    {
        return Err(Error::invalid(
            "a list holds a null; the format knows null cells, not null values in cells",
        ));
    }
    values_of(&unpacked(values)?, datatype, nulls.as_ref())
}

/// One byte a boolean.
pub(super) fn boolean_bytes(array: &BooleanArray) -> Bytes<'static> {
    Bytes::Buffer(array.values().iter().map(u8::from).collect::<Vec<u8>>().into())
}
