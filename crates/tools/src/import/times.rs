//! Columns of text to the dates and times that they tell.

use super::kind::{Kind, digits, fraction_len};
use super::types::timestamps;
use arrow_array::builder::{Date32Builder, Int64Builder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::tz::{Offset, TimeZone};
use std::sync::Arc;

/// A date and time as a text tells it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    local: DateTime,
    zone: Option<TimeZone>,
}

impl Told {
    /// `YYYY-MM-DD`, and behind it, after a T or a space, a time to the minute or finer, and a zone: Z, an offset, or a name after a
    /// space. `None` for any other text.
    pub(super) fn parse(text: &str) -> Option<Told> {
        if let Some(local) = to_the_second(text) {
            return Some(Told { local, zone: None });
        }
        let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let is_date = text.is_char_boundary(10)
            && (0..10).all(|at| if matches!(at, 4 | 7) { text.as_bytes()[at] == b'-' } else { is_digit(at) });
        if !is_date || text.len() > 10 && text.as_bytes().get(13) != Some(&b':') {
            return None;
        }
        let (told, zone) = match text[10..].rsplit_once(' ') {
            Some((time, zone)) if !time.is_empty() => (&text[..10 + time.len()], Some(zone)),
            _ => (text, None),
        };
        let pieces = Pieces::parse(told).ok()?;
        let is_bare =
            pieces.time_zone_annotation().is_none() && (zone.is_none() || pieces.offset().is_none());
        let zone = match (pieces.offset(), zone) {
            (Some(PiecesOffset::Numeric(offset)), _) => Some(TimeZone::fixed(offset.offset())),
            (Some(_), _) => Some(TimeZone::UTC),
            (None, Some(name)) => Some(zone_of(name)?),
            (None, None) => None,
        };
        is_bare.then(|| Told {
            local: DateTime::from_parts(pieces.date(), pieces.time().unwrap_or(Time::midnight())),
            zone,
        })
    }

    /// The time; `None` where the clocks of its zone skip it or show it twice, and beyond the years that zones are known of.
    fn timestamp(&self, default: &TimeZone) -> Option<Timestamp> {
        self.zone.as_ref().unwrap_or(default).to_ambiguous_timestamp(self.local).unambiguous().ok()
    }
}

/// `YYYY-MM-DDThh:mm:ss`, with a T or a space: the form that most files have, told without looking for others. `None` for
/// any other text, for days and times that there are not, and for leap seconds.
fn to_the_second(text: &str) -> Option<DateTime> {
    let bytes: &[u8; 19] = text.as_bytes().try_into().ok()?;
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T' | b't' | b' ', h0, h1, b':', n0, n1, b':', s0, s1] =
        *bytes
    else {
        return None;
    };
    let digit = |byte: u8| Some(byte.wrapping_sub(b'0')).filter(|digit| *digit < 10);
    let two = |tens: u8, ones: u8| Some((digit(tens)? * 10 + digit(ones)?) as i8);
    let year = i16::from(two(y0, y1)?) * 100 + i16::from(two(y2, y3)?);
    DateTime::new(year, two(m0, m1)?, two(d0, d1)?, two(h0, h1)?, two(n0, n1)?, two(s0, s1)?, 0).ok()
}

/// The zone of a name (`Europe/Paris`) or an offset from UTC (`Z`, `+02:00`, `-0530`, `+02`).
pub(super) fn zone_of(text: &str) -> Option<TimeZone> {
    let Some(digits) = text.strip_prefix(['+', '-']) else {
        return if matches!(text, "Z" | "z") { Some(TimeZone::UTC) } else { TimeZone::get(text).ok() };
    };
    let digits = digits.replacen(':', "", 1);
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at(2),
        _ => return None,
    };
    let ahead = hours.parse::<u8>().ok()? as i32 * 3600
        + minutes.parse::<u8>().ok().filter(|one| *one < 60)? as i32 * 60;
    Some(TimeZone::fixed(Offset::from_seconds(if text.starts_with('-') { -ahead } else { ahead }).ok()?))
}

/// A column in the type of its kind, from what the parser of the format gives.
///
/// # Errors
/// The first row whose text is no value of the kind.
pub(super) fn converted(array: ArrayRef, kind: &Kind, zone: &TimeZone) -> Result<ArrayRef, usize> {
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
            Some(text) if text.len() == 10 => {
                let date = Told::parse(text).ok_or(row)?.local.date();
                days.append_value((date - Date::constant(1970, 1, 1)).get_days());
            }
            Some(_) => return Err(row),
        }
    }
    Ok(Arc::new(days.finish()))
}

/// Times in UTC; a text that is finer than the unit is none.
fn times(array: &ArrayRef, unit: TimeUnit, zone: &TimeZone) -> Result<ArrayRef, usize> {
    let stored = |text: &str| {
        let told = Told::parse(text).filter(|_| fraction_len(text) <= digits(unit))?;
        // As both parts have one sign and nothing is finer than the unit, neither is rounded.
        let time = told.timestamp(zone)?;
        let fraction = i64::from(time.subsec_nanosecond()) / 10_i64.pow(9 - digits(unit) as u32);
        time.as_second().checked_mul(10_i64.pow(digits(unit) as u32))?.checked_add(fraction)
    };
    let mut built = integers(array, stored)?;
    Ok(timestamps(&built.finish(), unit))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_tell_times() {
        let paris = zone_of("Europe/Paris").unwrap();
        for (text, expected) in [
            ("1970-01-02", Some(82_800)),
            ("1970-01-02T00:00", Some(82_800)),
            ("1970-01-02 00:00:01", Some(82_801)),
            ("1970-01-02T00:00:01Z", Some(86_401)),
            ("1970-01-02T00:00:01+01:00", Some(82_801)),
            ("1970-01-02T00:00:01-0130", Some(91_801)),
            ("1970-01-02 00:00:01+01", Some(82_801)),
            ("1970-01-02 00:00:01 +01:00", Some(82_801)),
            ("1970-01-02 00:00:01 UTC", Some(86_401)),
            ("1970-01-02 00:00:01 America/New_York", Some(104_401)),
            ("2024-07-01T00:00:00", Some(1_719_784_800)),
            ("1970-01-02 00:00:01", Some(82_801)),
            ("1969-12-31T23:59:59", Some(-3_601)),
            ("2024-02-29T23:59:60", Some(1_709_247_599)),
            ("2024-02-30T23:59:59", None),
            ("2024-02-29T2x:59:59", None),
            ("2024-02-29X23:59:59", None),
            // The clocks skip an hour, and show one twice.
            ("2024-03-31T02:30:00", None),
            ("2024-10-27T02:30:00", None),
            ("2023-02-29", None),
            ("2024-02-29T24:00:00", None),
            ("2024-02-29T23:60:00", None),
            ("2024-02-29T12", None),
            ("2024-02-29T12:00:00[Europe/Paris]", None),
            ("2024-02-29T12:00:00Z Europe/Paris", None),
            ("2024-02-29 12:00:00 Mars/Olympus", None),
            ("2024-02-29T12:00:00+25:99", None),
            ("20240229T120000", None),
            ("2024-02-2\u{e9}", None),
            ("2024-02-29\u{e9}", None),
        ] {
            let time = Told::parse(text).and_then(|told| told.timestamp(&paris));
            assert_eq!(time.map(|time| time.as_second()), expected, "{text}");
        }
    }
}
