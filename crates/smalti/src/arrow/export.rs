//! Columns to Arrow arrays.

use super::{ArrowForm, data_type, is_date32, item, value_type};
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Date32Array, FixedSizeBinaryArray, FixedSizeListArray,
    LargeBinaryArray, LargeListArray, LargeStringArray, PrimitiveArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use rayon::prelude::*;
use smalti_space::{CELLS_BETWEEN_CHECKS, Check};
use smalti_tile::{CellShape, Column, check_offsets};
use smalti_types::parallel::Shareable as _;
use smalti_types::{AlignedBuf, CellValNum, Datatype, Error, Result};
use std::sync::Arc;

/// [`arrow_array()`](super::arrow_array) that can be stopped; only the check of text is done in one go.
///
/// # Errors
/// Those of `arrow_array`; what `check` returns.
pub(crate) fn array_of(
    column: Column,
    shape: CellShape,
    cell_count: usize,
    form: ArrowForm,
    check: Check<'_>,
) -> Result<ArrayRef> {
    let Column { data, offsets, validity } = column;
    let nulls = match &validity {
        Some(validity) => nulls_of(validity.as_slice(), check)?,
        None => None,
    };
    let array = match (shape.cell_val_num, offsets) {
        (CellValNum::Var, Some(offsets)) => var_array(data, offsets, nulls, shape.datatype, form, check)?,
        (CellValNum::Var, None) => return Err(Error::corrupt("a var-sized column without offsets")),
        (CellValNum::Fixed(count), _) => {
            let count = i32::try_from(count.get())
                .map_err(|_| Error::unsupported(format!("Arrow has no cells of {count} values")))?;
            if is_date32(shape, form) {
                date32_array(&data, nulls, check)?
            } else {
                fixed_array(data, nulls, shape.datatype, count, check)?
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
fn nulls_of(validity: &[u8], check: Check<'_>) -> Result<Option<NullBuffer>> {
    if !validity.contains(&0) {
        return Ok(None);
    }
    Ok(Some(NullBuffer::new(bits_of(validity, |byte| byte != 0, check)?)))
}

/// A bit for each value.
pub(super) fn bits_of<T: Copy + Sync>(
    values: &[T],
    is_set: impl Fn(T) -> bool + Sync,
    check: Check<'_>,
) -> Result<BooleanBuffer> {
    let mut words = vec![0u64; values.len().div_ceil(64)];
    let steps =
        words.par_chunks_mut(CELLS_BETWEEN_CHECKS / 64).zip(values.par_chunks(CELLS_BETWEEN_CHECKS)).shared();
    steps.try_for_each(|(words, values)| {
        check()?;
        for (word, values) in words.iter_mut().zip(values.chunks(64)) {
            *word =
                values.iter().rev().fold(0_u64, |bits, &value| bits << 1 | u64::from(is_set(value))).to_le();
        }
        Ok::<(), Error>(())
    })?;
    Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, values.len()))
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
    check: Check<'_>,
) -> Result<ArrayRef> {
    if datatype.is_bytes() {
        return Ok(Arc::new(FixedSizeBinaryArray::try_new(count, buffer(data), nulls).map_err(refused)?));
    }
    if count == 1 {
        return values_array(data, nulls, datatype, check);
    }
    let values = values_array(data, None, datatype, check)?;
    Ok(Arc::new(FixedSizeListArray::try_new(item(datatype), count, values, nulls).map_err(refused)?))
}

fn var_array(
    data: AlignedBuf,
    mut offsets: AlignedBuf,
    nulls: Option<NullBuffer>,
    datatype: Datatype,
    form: ArrowForm,
    check: Check<'_>,
) -> Result<ArrayRef> {
    check_offsets(offsets.values(), data.len(), datatype.byte_len())?;
    if !datatype.is_bytes() {
        let byte_len = datatype.byte_len() as u64;
        if byte_len > 1 {
            let steps = offsets.values_mut::<u64>().par_chunks_mut(CELLS_BETWEEN_CHECKS).shared();
            steps.try_for_each(|offsets| {
                offsets.iter_mut().for_each(|offset| *offset /= byte_len);
                check()
            })?;
        }
        let values = values_array(data, None, datatype, check)?;
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

fn date32_array(days: &AlignedBuf, nulls: Option<NullBuffer>, check: Check<'_>) -> Result<ArrayRef> {
    let mut dates = Vec::with_capacity(days.len() / 8);
    for (cell, &day) in days.values::<i64>().iter().enumerate() {
        if cell.is_multiple_of(CELLS_BETWEEN_CHECKS) {
            check()?;
        }
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
fn values_array(
    data: AlignedBuf,
    nulls: Option<NullBuffer>,
    datatype: Datatype,
    check: Check<'_>,
) -> Result<ArrayRef> {
    fn primitive<T: ArrowPrimitiveType>(data: AlignedBuf, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(buffer(data)), nulls).map_err(refused)?))
    }
    use TimeUnit::*;
    match value_type(datatype) {
        DataType::Boolean => {
            let bits = bits_of(data.as_slice(), |byte| byte != 0, check)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_space::UNSTOPPED;
    use smalti_types::ErrorKind;

    #[test]
    fn every_value_has_its_bit() {
        for len in [0, 1, 63, 64, 65, 1000, CELLS_BETWEEN_CHECKS, 2 * CELLS_BETWEEN_CHECKS + 77] {
            let values: Vec<u32> = (0..len as u32).map(|at| at.wrapping_mul(2_654_435_761) >> 7).collect();
            let bits = bits_of(&values, |value| value % 3 == 0, UNSTOPPED).unwrap();
            assert!(bits.iter().eq(values.iter().map(|value| value % 3 == 0)), "{len}");
        }
        let stop = || Err(Error::new(ErrorKind::Cancelled, "stopped"));
        assert_eq!(bits_of(&[1_u8], |_| true, &stop).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
