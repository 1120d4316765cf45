//! Columns to Arrow arrays.

use super::{ArrowForm, data_type, is_date32, item, value_type};
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Date32Array, FixedSizeBinaryArray, FixedSizeListArray,
    LargeBinaryArray, LargeListArray, LargeStringArray, PrimitiveArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use smalti_tile::{CellShape, Column, check_offsets};
use smalti_types::{AlignedBuf, CellValNum, Datatype, Error, Result};
use std::sync::Arc;

/// See [`arrow_array()`](super::arrow_array).
pub(super) fn array_of(
    column: Column,
    shape: CellShape,
    cell_count: usize,
    form: ArrowForm,
) -> Result<ArrayRef> {
    let Column { data, offsets, validity } = column;
    let nulls = validity.and_then(|validity| nulls_of(validity.as_slice()));
    let array = match (shape.cell_val_num, offsets) {
        (CellValNum::Var, Some(offsets)) => var_array(data, offsets, nulls, shape.datatype, form)?,
        (CellValNum::Var, None) => return Err(Error::corrupt("a var-sized column without offsets")),
        (CellValNum::Fixed(count), _) => {
            let count = i32::try_from(count.get())
                .map_err(|_| Error::unsupported(format!("Arrow has no cells of {count} values")))?;
            if is_date32(shape, form) {
                date32_array(&data, nulls)?
            } else {
                fixed_array(data, nulls, shape.datatype, count)?
            }
        }
    };
    if array.len() != cell_count {
        return Err(Error::corrupt(format!("a column has {} cells instead of {cell_count}", array.len())));
    }
    debug_assert_eq!(array.data_type(), &data_type(shape, form));
    Ok(array)
}

/// Bits from validity bytes; `None` when no cell is null.
fn nulls_of(validity: &[u8]) -> Option<NullBuffer> {
    if !validity.contains(&0) {
        return None;
    }
    Some(NullBuffer::new(BooleanBuffer::collect_bool(validity.len(), |idx| validity[idx] != 0)))
}

pub(super) fn buffer(bytes: AlignedBuf) -> Buffer {
    Buffer::from(bytes::Bytes::from_owner(bytes))
}

fn refused(error: ArrowError) -> Error {
    Error::corrupt(format!("the column does not fit its Arrow type: {error}"))
}

fn fixed_array(
    data: AlignedBuf,
    nulls: Option<NullBuffer>,
    datatype: Datatype,
    count: i32,
) -> Result<ArrayRef> {
    if datatype.is_bytes() {
        return Ok(Arc::new(FixedSizeBinaryArray::try_new(count, buffer(data), nulls).map_err(refused)?));
    }
    if count == 1 {
        return values_array(data, nulls, datatype);
    }
    let values = values_array(data, None, datatype)?;
    Ok(Arc::new(FixedSizeListArray::try_new(item(datatype), count, values, nulls).map_err(refused)?))
}

fn var_array(
    data: AlignedBuf,
    mut offsets: AlignedBuf,
    nulls: Option<NullBuffer>,
    datatype: Datatype,
    form: ArrowForm,
) -> Result<ArrayRef> {
    check_offsets(offsets.values(), data.len(), datatype.byte_len())?;
    if !datatype.is_bytes() {
        let byte_len = datatype.byte_len() as u64;
        if byte_len > 1 {
            offsets.values_mut::<u64>().iter_mut().for_each(|offset| *offset /= byte_len);
        }
        let values = values_array(data, None, datatype)?;
        let array = LargeListArray::try_new(item(datatype), offset_buffer(offsets), values, nulls);
        return Ok(Arc::new(array.map_err(refused)?));
    }
    let (offsets, data) = (offset_buffer(offsets), buffer(data));
    if !super::is_arrow_text(datatype) || form.text_as_binary {
        return Ok(Arc::new(LargeBinaryArray::try_new(offsets, data, nulls).map_err(refused)?));
    }
    match LargeStringArray::try_new(offsets.clone(), data.clone(), nulls) {
        Ok(array) => Ok(Arc::new(array)),
        Err(error) => Err(invalid_text(&offsets, &data).unwrap_or_else(|| refused(error))),
    }
}

/// Offsets that were checked to rise from 0; no buffer in memory is beyond the signed range.
fn offset_buffer(offsets: AlignedBuf) -> OffsetBuffer<i64> {
    OffsetBuffer::new(ScalarBuffer::from(buffer(offsets)))
}

/// The error that names the first cell whose text is not UTF-8.
fn invalid_text(offsets: &[i64], data: &[u8]) -> Option<Error> {
    offsets.windows(2).enumerate().find_map(|(cell, ends)| {
        let text = data.get(ends[0] as usize..ends[1] as usize)?;
        let error = std::str::from_utf8(text).err()?;
        Some(Error::corrupt(format!(
            "the text of cell {cell} is not UTF-8 from its byte {} on; read text as binary, or fix the cell",
            error.valid_up_to()
        )))
    })
}

fn date32_array(days: &AlignedBuf, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let mut dates = Vec::with_capacity(days.len() / 8);
    for (cell, &day) in days.values::<i64>().iter().enumerate() {
        let is_null = day == i64::MIN || nulls.as_ref().is_some_and(|nulls| nulls.is_null(cell));
        dates.push(if is_null {
            None
        } else {
            Some(i32::try_from(day).map_err(|_| {
                Error::unsupported(format!("day {day} of cell {cell} is beyond Date32; read days as Int64"))
            })?)
        });
    }
    Ok(Arc::new(Date32Array::from(dates)))
}

/// Values of a datatype that is not bytes.
fn values_array(data: AlignedBuf, nulls: Option<NullBuffer>, datatype: Datatype) -> Result<ArrayRef> {
    fn primitive<T: ArrowPrimitiveType>(data: AlignedBuf, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(buffer(data)), nulls).map_err(refused)?))
    }
    use TimeUnit::*;
    match value_type(datatype) {
        DataType::Boolean => {
            let bytes = data.as_slice();
            let bits = BooleanBuffer::collect_bool(bytes.len(), |idx| bytes[idx] != 0);
            if nulls.as_ref().is_some_and(|nulls| nulls.len() != bits.len()) {
                return Err(Error::corrupt("a column has more or fewer validity bytes than cells"));
            }
            Ok(Arc::new(BooleanArray::new(bits, nulls)))
        }
        DataType::Int8 => primitive::<Int8Type>(data, nulls),
        DataType::Int16 => primitive::<Int16Type>(data, nulls),
        DataType::Int32 => primitive::<Int32Type>(data, nulls),
        DataType::UInt8 => primitive::<UInt8Type>(data, nulls),
        DataType::UInt16 => primitive::<UInt16Type>(data, nulls),
        DataType::UInt32 => primitive::<UInt32Type>(data, nulls),
        DataType::UInt64 => primitive::<UInt64Type>(data, nulls),
        DataType::Float32 => primitive::<Float32Type>(data, nulls),
        DataType::Float64 => primitive::<Float64Type>(data, nulls),
        DataType::Timestamp(Second, _) => primitive::<TimestampSecondType>(data, nulls),
        DataType::Timestamp(Millisecond, _) => primitive::<TimestampMillisecondType>(data, nulls),
        DataType::Timestamp(Microsecond, _) => primitive::<TimestampMicrosecondType>(data, nulls),
        DataType::Timestamp(Nanosecond, _) => primitive::<TimestampNanosecondType>(data, nulls),
        DataType::Time64(Microsecond) => primitive::<Time64MicrosecondType>(data, nulls),
        DataType::Time64(_) => primitive::<Time64NanosecondType>(data, nulls),
        _ => primitive::<Int64Type>(data, nulls),
    }
}
