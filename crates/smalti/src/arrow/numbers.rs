//! Arrow numbers, dates and times to values of a datatype.

use super::import::{boolean_bytes, mismatch};
use crate::column::Bytes;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, downcast_integer_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use smalti_tile::CellShape;
use smalti_types::{CellValNum, Datatype, Error, PhysicalKind, Result};

/// One value per entry of an array, in the machine type of a datatype. Null entries may hold anything.
///
/// # Errors
/// `InvalidArgument` when the Arrow type is another one, or a value does not fit.
pub(super) fn values_of(
    array: &ArrayRef,
    datatype: Datatype,
    nulls: Option<&NullBuffer>,
) -> Result<Bytes<'static>> {
    use Datatype::*;
    use TimeUnit::*;
    let refused = || {
        mismatch(array.data_type(), CellShape { datatype, cell_val_num: CellValNum::ONE, is_nullable: false })
    };
    let given = array.data_type();
    if *given == DataType::Null {
        return Ok(Bytes::Buffer(vec![0_u8; array.len() * datatype.byte_len()].into()));
    }
    match (given, datatype) {
        (DataType::Boolean, Bool) => return Ok(boolean_bytes(array.as_boolean())),
        (DataType::Timestamp(Second, _), DateTimeSec) => return Ok(as_is::<TimestampSecondType>(array)),
        (DataType::Timestamp(Millisecond, _), DateTimeMs) => {
            return Ok(as_is::<TimestampMillisecondType>(array));
        }
        (DataType::Timestamp(Microsecond, _), DateTimeUs) => {
            return Ok(as_is::<TimestampMicrosecondType>(array));
        }
        (DataType::Timestamp(Nanosecond, _), DateTimeNs) => {
            return Ok(as_is::<TimestampNanosecondType>(array));
        }
        (DataType::Date64, DateTimeMs) => return Ok(as_is::<Date64Type>(array)),
        (DataType::Date32, DateTimeDay) => return Ok(widened::<Date32Type>(array)),
        (DataType::Time32(Second), TimeSec) => return Ok(widened::<Time32SecondType>(array)),
        (DataType::Time32(Millisecond), TimeMs) => return Ok(widened::<Time32MillisecondType>(array)),
        (DataType::Time64(Microsecond), TimeUs) => return Ok(as_is::<Time64MicrosecondType>(array)),
        (DataType::Time64(Nanosecond), TimeNs) => return Ok(as_is::<Time64NanosecondType>(array)),
        (DataType::Duration(Second), TimeSec) => return Ok(as_is::<DurationSecondType>(array)),
        (DataType::Duration(Millisecond), TimeMs) => return Ok(as_is::<DurationMillisecondType>(array)),
        (DataType::Duration(Microsecond), TimeUs) => return Ok(as_is::<DurationMicrosecondType>(array)),
        (DataType::Duration(Nanosecond), TimeNs) => return Ok(as_is::<DurationNanosecondType>(array)),
        (DataType::Int64, _) if datatype.is_datetime() || datatype.is_time() => {
            return Ok(as_is::<Int64Type>(array));
        }
        (_, Bool) => return Err(refused()),
        _ if datatype.is_datetime() || datatype.is_time() => return Err(refused()),
        _ => {}
    }
    match (given, datatype.physical()) {
        (DataType::Float32, PhysicalKind::F32) => Ok(as_is::<Float32Type>(array)),
        (DataType::Float64, PhysicalKind::F64) => Ok(as_is::<Float64Type>(array)),
        (DataType::Float32, PhysicalKind::F64) => {
            let values = array.as_primitive::<Float32Type>().values();
            Ok(Bytes::Buffer(Buffer::from_vec(values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>())))
        }
        (_, PhysicalKind::F32 | PhysicalKind::F64) => Err(refused()),
        (_, kind) => {
            downcast_integer_array!(
                array => integers(array, datatype, kind, nulls),
                _ => Err(refused())
            )
        }
    }
}

/// The values of an array without a copy.
fn as_is<T: ArrowPrimitiveType>(array: &ArrayRef) -> Bytes<'static> {
    Bytes::Buffer(array.as_primitive::<T>().values().inner().clone())
}

fn widened<T: ArrowPrimitiveType<Native = i32>>(array: &ArrayRef) -> Bytes<'static> {
    let values = array.as_primitive::<T>().values();
    Bytes::Buffer(Buffer::from_vec(values.iter().map(|&v| i64::from(v)).collect::<Vec<_>>()))
}

/// Integers of any width as integers of a kind: as they are if that is their own, else one by one if all fit.
fn integers<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    datatype: Datatype,
    kind: PhysicalKind,
    nulls: Option<&NullBuffer>,
) -> Result<Bytes<'static>>
where
    T::Native: Into<i128>,
{
    let same = match kind {
        PhysicalKind::I8 => DataType::Int8,
        PhysicalKind::I16 => DataType::Int16,
        PhysicalKind::I32 => DataType::Int32,
        PhysicalKind::I64 => DataType::Int64,
        PhysicalKind::U8 => DataType::UInt8,
        PhysicalKind::U16 => DataType::UInt16,
        PhysicalKind::U32 => DataType::UInt32,
        _ => DataType::UInt64,
    };
    if *array.data_type() == same {
        return Ok(Bytes::Buffer(array.values().inner().clone()));
    }
    match kind {
        PhysicalKind::I8 => fitted::<T, i8>(array, datatype, nulls),
        PhysicalKind::I16 => fitted::<T, i16>(array, datatype, nulls),
        PhysicalKind::I32 => fitted::<T, i32>(array, datatype, nulls),
        PhysicalKind::I64 => fitted::<T, i64>(array, datatype, nulls),
        PhysicalKind::U8 => fitted::<T, u8>(array, datatype, nulls),
        PhysicalKind::U16 => fitted::<T, u16>(array, datatype, nulls),
        PhysicalKind::U32 => fitted::<T, u32>(array, datatype, nulls),
        _ => fitted::<T, u64>(array, datatype, nulls),
    }
}

fn fitted<T: ArrowPrimitiveType, N>(
    array: &PrimitiveArray<T>,
    datatype: Datatype,
    nulls: Option<&NullBuffer>,
) -> Result<Bytes<'static>>
where
    T::Native: Into<i128>,
    N: TryFrom<i128> + Default + arrow_buffer::ArrowNativeType,
{
    let mut values = Vec::with_capacity(array.len());
    for (cell, &value) in array.values().iter().enumerate() {
        let wide: i128 = value.into();
        values.push(match N::try_from(wide) {
            Ok(value) => value,
            Err(_) if nulls.is_some_and(|nulls| nulls.is_null(cell)) => N::default(),
            Err(_) => {
                return Err(Error::invalid(format!("{wide} in cell {cell} is no value of type {datatype}")));
            }
        });
    }
    Ok(Bytes::Buffer(Buffer::from_vec(values)))
}
