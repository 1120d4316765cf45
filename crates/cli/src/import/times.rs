//! Columns of text to the dates and times that they tell.

use super::kind::{Kind, digits, fraction_len};
use super::types::timestamps;
use arrow_array::builder::{Date32Builder, Int64Builder};
use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::Date32Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

/// A column in the type of its kind, from what the parser of the format gives.
///
/// # Errors
/// The first row whose text is no value of the kind.
pub(super) fn converted(array: ArrayRef, kind: &Kind, zone: &Tz) -> Result<ArrayRef, usize> {
    match kind {
        Kind::Null if array.null_count() < array.len() => {
            Err((0..array.len()).find(|&row| array.is_valid(row)).unwrap_or(0))
        }
        Kind::Stored(datatype) => {
            let stored = |text: &str| {
                let stored =
                    text.trim().parse::<i64>().ok().filter(|_| *datatype != smalti::Datatype::DateTimeYear);
                stored.or_else(|| smalti::text::parse_date_time(*datatype, text.trim()).ok())
            };
            integers(&array, stored).map(|mut built| Arc::new(built.finish()) as ArrayRef)
        }
        _ => match kind.data_type() {
            DataType::Date32 => days(&array),
            DataType::Timestamp(unit, _) => times(&array, unit, zone),
            _ => Ok(array),
        },
    }
}

/// Whole days: a text with a time of the day is none.
fn days(array: &ArrayRef) -> Result<ArrayRef, usize> {
    let texts = array.as_string::<i32>();
    let mut days = Date32Builder::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        match text {
            None => days.append_null(),
            Some(text) if text.len() == 10 => days.append_value(Date32Type::parse(text).ok_or(row)?),
            Some(_) => return Err(row),
        }
    }
    Ok(Arc::new(days.finish()))
}

/// Times in UTC; a text that is finer than the unit is none.
fn times(array: &ArrayRef, unit: TimeUnit, zone: &Tz) -> Result<ArrayRef, usize> {
    let stored = |text: &str| {
        let time = string_to_datetime(zone, text).ok().filter(|_| fraction_len(text) <= digits(unit))?;
        match unit {
            TimeUnit::Second => Some(time.timestamp()),
            TimeUnit::Millisecond => Some(time.timestamp_millis()),
            TimeUnit::Microsecond => Some(time.timestamp_micros()),
            TimeUnit::Nanosecond => time.timestamp_nanos_opt(),
        }
    };
    let mut built = integers(array, stored)?;
    let values = built.finish();
    Ok(timestamps(&values, unit))
}

fn integers(array: &ArrayRef, stored: impl Fn(&str) -> Option<i64>) -> Result<Int64Builder, usize> {
    let texts = array.as_string::<i32>();
    let mut built = Int64Builder::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        match text {
            None => built.append_null(),
            Some(text) => built.append_value(stored(text).ok_or(row)?),
        }
    }
    Ok(built)
}
