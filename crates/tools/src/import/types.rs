//! Which field of an array a column of a table becomes.

use super::kind::{Kind, digits};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Int64Array, LargeStringArray, ListArray, StringArray,
    StringViewArray, downcast_integer_array, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use smalti::arrow::{ArrowForm, DATATYPE_KEY, arrow_field};
use smalti::{CellShape, CellValNum, Datatype};
use std::sync::Arc;

/// What a column becomes.
#[derive(Debug, Clone)]
pub(super) struct FieldType {
    pub(super) shape: CellShape,
    /// Whether its values are labels of an enumeration.
    pub(super) is_enumerated: bool,
    /// The Arrow type that its arrays are converted to before they are written.
    pub(super) arrow: DataType,
}

/// The type of a field for a column.
///
/// # Errors
/// What the column is that no field can hold.
pub(super) fn field_type(field: &Field) -> Result<FieldType, String> {
    let is_enumerated = matches!(field.data_type(), DataType::Dictionary(..));
    let values = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
        other => other.clone(),
    };
    let (datatype, cell_val_num, converted) = told(field, &values).map_or_else(|| of_arrow(&values), Ok)?;
    let arrow = match field.data_type() {
        DataType::Dictionary(..) => field.data_type().clone(),
        _ => converted,
    };
    let shape = CellShape { datatype, cell_val_num, is_nullable: field.is_nullable() };
    Ok(FieldType { shape, is_enumerated, arrow })
}

/// The datatype that smalti itself put into the field's metadata.
fn told(field: &Field, values: &DataType) -> Option<(Datatype, CellValNum, DataType)> {
    let datatype = Datatype::from_name(field.metadata().get(DATATYPE_KEY)?)?;
    let fixed = match values {
        DataType::FixedSizeList(_, count) | DataType::FixedSizeBinary(count) => u32::try_from(*count).ok(),
        _ => Some(1),
    };
    [fixed.and_then(CellValNum::from_raw), Some(CellValNum::Var)].into_iter().flatten().find_map(
        |cell_val_num| {
            let shape = CellShape { datatype, cell_val_num, is_nullable: field.is_nullable() };
            let own = arrow_field("", shape, ArrowForm::default());
            let is_alike = match (own.data_type(), values) {
                (DataType::LargeUtf8, DataType::Utf8 | DataType::Utf8View) => true,
                (DataType::LargeBinary, DataType::Binary | DataType::BinaryView) => true,
                (own, values) => own.equals_datatype(values),
            };
            is_alike.then(|| (datatype, cell_val_num, values.clone()))
        },
    )
}

fn of_arrow(data_type: &DataType) -> Result<(Datatype, CellValNum, DataType), String> {
    use Datatype as D;
    let one = |datatype: Datatype| Ok((datatype, CellValNum::ONE, data_type.clone()));
    let var = |datatype: Datatype| Ok((datatype, CellValNum::Var, data_type.clone()));
    match data_type {
        DataType::Null => Ok((D::StringUtf8, CellValNum::Var, DataType::Utf8)),
        DataType::Boolean => one(D::Bool),
        DataType::Int8 => one(D::Int8),
        DataType::Int16 => one(D::Int16),
        DataType::Int32 => one(D::Int32),
        DataType::Int64 => one(D::Int64),
        DataType::UInt8 => one(D::UInt8),
        DataType::UInt16 => one(D::UInt16),
        DataType::UInt32 => one(D::UInt32),
        DataType::UInt64 => one(D::UInt64),
        // The format has no half floats; these hold all of their values.
        DataType::Float16 => Ok((D::Float32, CellValNum::ONE, DataType::Float32)),
        DataType::Float32 => one(D::Float32),
        DataType::Float64 => one(D::Float64),
        DataType::Date32 => one(D::DateTimeDay),
        DataType::Date64 => one(D::DateTimeMs),
        DataType::Timestamp(unit, _) => one(match unit {
            TimeUnit::Second => D::DateTimeSec,
            TimeUnit::Millisecond => D::DateTimeMs,
            TimeUnit::Microsecond => D::DateTimeUs,
            TimeUnit::Nanosecond => D::DateTimeNs,
        }),
        DataType::Time32(TimeUnit::Second) | DataType::Duration(TimeUnit::Second) => one(D::TimeSec),
        DataType::Time32(_) | DataType::Duration(TimeUnit::Millisecond) => one(D::TimeMs),
        DataType::Time64(TimeUnit::Nanosecond) | DataType::Duration(TimeUnit::Nanosecond) => one(D::TimeNs),
        DataType::Time64(_) | DataType::Duration(_) => one(D::TimeUs),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => var(D::StringUtf8),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => var(D::Blob),
        DataType::FixedSizeBinary(count) => fixed(D::Blob, *count, data_type),
        DataType::List(item) | DataType::LargeList(item) => var(item_type(item, data_type)?),
        DataType::FixedSizeList(item, count) => fixed(item_type(item, data_type)?, *count, data_type),
        other => Err(unsupported(other)),
    }
}

fn fixed(
    datatype: Datatype,
    count: i32,
    data_type: &DataType,
) -> Result<(Datatype, CellValNum, DataType), String> {
    let count =
        u32::try_from(count).ok().and_then(CellValNum::from_raw).ok_or_else(|| unsupported(data_type))?;
    Ok((datatype, count, data_type.clone()))
}

fn item_type(item: &Field, data_type: &DataType) -> Result<Datatype, String> {
    match of_arrow(item.data_type()) {
        Ok((datatype, CellValNum::ONE, arrow)) if arrow == *item.data_type() => Ok(datatype),
        _ => Err(unsupported(data_type)),
    }
}

fn unsupported(data_type: &DataType) -> String {
    match data_type {
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => {
            format!("decimals ({data_type}), which the format has no type for")
        }
        DataType::Struct(fields) if fields.is_empty() => "nested values, which no cell can hold".into(),
        other => format!("values of type {other}, which no cell can hold"),
    }
}

/// The kind that text is read as for a field that is there; the shape is that of labels where there are some.
///
/// # Errors
/// Types that text is not imported to.
pub(super) fn kind_of_field(name: &str, shape: CellShape) -> Result<Kind, String> {
    let datatype = shape.datatype;
    let is_one = shape.cell_val_num == CellValNum::ONE;
    let arrow = arrow_field(name, shape, ArrowForm::default()).data_type().clone();
    match arrow {
        DataType::LargeUtf8 => Ok(Kind::Fixed(DataType::Utf8)),
        DataType::Timestamp(unit, _) if is_one => Ok(Kind::Fixed(DataType::Timestamp(unit, None))),
        _ if is_one && datatype == Datatype::DateTimeDay => Ok(Kind::Fixed(DataType::Date32)),
        _ if is_one && (datatype.is_datetime() || datatype.is_time()) => Ok(Kind::Stored(datatype)),
        other if is_one && (other.is_numeric() || other == DataType::Boolean) => Ok(Kind::Fixed(other)),
        _ => Err(format!(
            "the field {name:?} of type {datatype} takes no text in an import; `smalti write` reads it, and so do Arrow and Parquet"
        )),
    }
}

/// An array in the type that its column has in all files together. Dictionaries and runs stay what they are where their values
/// have the type, and times keep their zone: the engine takes them so.
///
/// # Errors
/// Values that the type does not hold.
pub(super) fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    use DataType::*;
    let from = array.data_type();
    let misfit = || format!("values of {from} that {to} does not hold");
    if from == to {
        return Ok(array.clone());
    }
    match (from, to) {
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => text(array, to).ok_or_else(misfit),
        _ if from.is_integer() && to.is_integer() => integers(array, to).ok_or_else(misfit),
        (Dictionary(..), Dictionary(..)) => Ok(array.clone()),
        (Dictionary(..), _) => cast(&unpacked(array).map_err(|_| misfit())?, to),
        (RunEndEncoded(_, values), _) if values.data_type() == to => Ok(array.clone()),
        (Null, _) => Ok(new_null_array(to, array.len())),
        (List(_), List(item)) => {
            let list = array.as_list::<i32>();
            let values = cast(list.values(), item.data_type())?;
            let list =
                ListArray::try_new(item.clone(), list.offsets().clone(), values, list.nulls().cloned());
            Ok(Arc::new(list.map_err(|_| misfit())?))
        }
        (Float16, Float32) => Ok(each::<Float16Type, Float32Type>(array, |value| value.to_f32())),
        (Float16, Float64) => Ok(each::<Float16Type, Float64Type>(array, |value| value.to_f64())),
        (Float32, Float64) => Ok(each::<Float32Type, Float64Type>(array, f64::from)),
        // To the nearest number, as the text of the integer would be read.
        (Int64, Float64) => Ok(each::<Int64Type, Float64Type>(array, |value| value as f64)),
        (UInt64, Float64) => Ok(each::<UInt64Type, Float64Type>(array, |value| value as f64)),
        (Date32, Timestamp(unit, _)) => {
            let days = array.as_primitive::<Date32Type>();
            let ticks = 86_400 * ticks_per_second(*unit);
            let times = days.try_unary::<_, Int64Type, _>(|day| i64::from(day).checked_mul(ticks).ok_or(()));
            Ok(timestamps(&times.map_err(|()| misfit())?, *unit))
        }
        (Timestamp(a, _), Timestamp(b, _)) if a == b => Ok(array.clone()),
        (Timestamp(coarse, _), Timestamp(fine, _)) if ticks_per_second(*coarse) < ticks_per_second(*fine) => {
            let factor = ticks_per_second(*fine) / ticks_per_second(*coarse);
            let times = ticks(array, *coarse);
            let times = times.try_unary::<_, Int64Type, _>(|time| time.checked_mul(factor).ok_or(()));
            Ok(timestamps(&times.map_err(|()| misfit())?, *fine))
        }
        _ => Err(misfit()),
    }
}

/// The values of a dictionary's array, one for each row.
///
/// # Errors
/// Keys beyond the dictionary, which an array that was checked does not have.
pub(super) fn unpacked(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let dictionary = array.as_any_dictionary();
    arrow_select::take::take(dictionary.values(), dictionary.keys(), None)
}

/// Text in another layout.
fn text(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    let texts = as_texts(array)?.into_iter();
    Some(match to {
        DataType::Utf8 => Arc::new(StringArray::from_iter(texts)),
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter(texts)),
        _ => Arc::new(StringViewArray::from_iter(texts)),
    })
}

/// The texts of a column of text.
pub(super) fn as_texts(array: &ArrayRef) -> Option<Vec<Option<&str>>> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        _ => return None,
    })
}

/// Integers of another width; `None` where one does not fit.
fn integers(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    fn fitted<To: ArrowPrimitiveType>(array: &ArrayRef) -> Option<ArrayRef>
    where
        To::Native: TryFrom<i128>,
    {
        downcast_integer_array!(
            array => {
                let fit = |value| To::Native::try_from(i128::from(value)).map_err(|_| ());
                Some(Arc::new(array.try_unary::<_, To, _>(fit).ok()?))
            },
            _ => None
        )
    }
    match to {
        DataType::Int8 => fitted::<Int8Type>(array),
        DataType::Int16 => fitted::<Int16Type>(array),
        DataType::Int32 => fitted::<Int32Type>(array),
        DataType::Int64 => fitted::<Int64Type>(array),
        DataType::UInt8 => fitted::<UInt8Type>(array),
        DataType::UInt16 => fitted::<UInt16Type>(array),
        DataType::UInt32 => fitted::<UInt32Type>(array),
        DataType::UInt64 => fitted::<UInt64Type>(array),
        _ => None,
    }
}

fn each<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(
    array: &ArrayRef,
    value: impl Fn(From::Native) -> To::Native,
) -> ArrayRef {
    Arc::new(array.as_primitive::<From>().unary::<_, To>(value))
}

fn ticks_per_second(unit: TimeUnit) -> i64 {
    10_i64.pow(digits(unit) as u32)
}

/// The integers of timestamps in a unit.
fn ticks(array: &ArrayRef, unit: TimeUnit) -> Int64Array {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().reinterpret_cast(),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().reinterpret_cast(),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast(),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().reinterpret_cast(),
    }
}

/// Timestamps in a unit, without a zone.
pub(super) fn timestamps(ticks: &Int64Array, unit: TimeUnit) -> ArrayRef {
    match unit {
        TimeUnit::Second => Arc::new(ticks.reinterpret_cast::<TimestampSecondType>()),
        TimeUnit::Millisecond => Arc::new(ticks.reinterpret_cast::<TimestampMillisecondType>()),
        TimeUnit::Microsecond => Arc::new(ticks.reinterpret_cast::<TimestampMicrosecondType>()),
        TimeUnit::Nanosecond => Arc::new(ticks.reinterpret_cast::<TimestampNanosecondType>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Float64Array, Int32Array, NullArray, TimestampSecondArray};

    fn arc(array: impl Array + 'static) -> ArrayRef {
        Arc::new(array)
    }

    #[test]
    fn columns_become_what_all_files_together_have() {
        let ms = DataType::Timestamp(TimeUnit::Millisecond, None);
        let list = |item| DataType::new_list(item, true);
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None]), None]);
        let as_floats = ListArray::from_iter_primitive::<Float64Type, _, _>([Some([Some(1.0), None]), None]);
        for (array, to, expected) in [
            (
                arc(Int64Array::from(vec![Some(3), None])),
                DataType::Float64,
                arc(Float64Array::from(vec![Some(3.0), None])),
            ),
            (arc(NullArray::new(2)), DataType::Int64, arc(Int64Array::from(vec![None, None]))),
            (arc(lists), list(DataType::Float64), arc(as_floats)),
            (
                arc(Date32Array::from(vec![1])),
                ms.clone(),
                arc(arrow_array::TimestampMillisecondArray::from(vec![86_400_000])),
            ),
            (
                arc(TimestampSecondArray::from(vec![Some(-2), None])),
                ms.clone(),
                arc(arrow_array::TimestampMillisecondArray::from(vec![Some(-2000), None])),
            ),
            (arc(Int32Array::from(vec![5, -5])), DataType::Int64, arc(Int64Array::from(vec![5, -5]))),
            (
                arc(StringArray::from(vec![Some("a"), None])),
                DataType::LargeUtf8,
                arc(LargeStringArray::from(vec![Some("a"), None])),
            ),
        ] {
            assert_eq!(&cast(&array, &to).unwrap(), &expected, "{array:?}");
        }
    }

    #[test]
    fn what_a_type_does_not_hold_is_refused() {
        let ns = DataType::Timestamp(TimeUnit::Nanosecond, None);
        for (array, to) in [
            (arc(TimestampSecondArray::from(vec![i64::MAX])), ns.clone()),
            (arc(Date32Array::from(vec![i32::MAX])), ns),
            (arc(Float64Array::from(vec![1.5])), DataType::Int64),
            (arc(Int32Array::from(vec![-1])), DataType::UInt64),
            (arc(TimestampSecondArray::from(vec![1])), DataType::Utf8),
        ] {
            assert!(cast(&array, &to).unwrap_err().contains("does not hold"), "{array:?}");
        }
    }
}
