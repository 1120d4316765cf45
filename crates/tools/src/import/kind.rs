//! What the values of a text column are, and how the kinds of several values become one.

use super::times::{Told, zone_of};
use arrow_schema::{DataType, TimeUnit};
use jiff::tz::TimeZone;
use smalti::Datatype;

/// What the values of a column are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Nothing but nulls so far.
    Null,
    Bool,
    /// 64-bit integers; whether some are negative.
    Int {
        is_signed: bool,
    },
    /// Integers beyond those of 64 bits with a sign.
    UInt,
    Float,
    /// Days.
    Date,
    /// Times to a part of a second.
    Time(TimeUnit),
    Text,
    /// Lists of numbers (JSON): whether all are integers.
    Numbers {
        is_integer: bool,
    },
    /// Objects and lists of other things (JSON), which no cell can hold.
    Nested,
    /// The type of a field that is there already.
    Fixed(DataType),
    /// Dates and times of a field that is there already, which Arrow has no type for: stored integers.
    Stored(Datatype),
}

impl Kind {
    /// The kind of one value of CSV.
    pub(super) fn of_text(text: &str) -> Kind {
        let bytes = text.as_bytes();
        let Some(&first) = bytes.first() else { return Kind::Null };
        if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.') {
            if let Some(kind) = Kind::of_time(text) {
                return kind;
            }
            let digits = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
            if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
                return match (text.parse::<i64>(), text.parse::<u64>()) {
                    (Ok(value), _) => Kind::Int { is_signed: value < 0 },
                    (_, Ok(_)) => Kind::UInt,
                    // Neither 64 bits nor a float keep all digits.
                    _ => Kind::Text,
                };
            }
            let is_plain =
                digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
            if is_plain && text.parse::<f64>().is_ok() || text == "-inf" || text == "-Infinity" {
                return Kind::Float;
            }
            return Kind::Text;
        }
        match text {
            "NaN" | "nan" | "inf" | "Infinity" => Kind::Float,
            _ if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") => Kind::Bool,
            _ => Kind::Text,
        }
    }

    /// Dates and times in ISO 8601; `None` for anything else.
    pub(super) fn of_time(text: &str) -> Option<Kind> {
        Told::parse(text)?;
        match text.len() {
            10 => Some(Kind::Date),
            _ => Some(Kind::Time(unit_of(fraction_len(text))?)),
        }
    }

    /// The least kind that holds the values of both.
    pub(super) fn widened(self, other: Kind) -> Kind {
        use Kind::*;
        match (self, other) {
            (fixed @ (Fixed(_) | Stored(_)), _) => fixed,
            (a, b) if a == b => a,
            (Null, kind) | (kind, Null) => kind,
            (Nested, _) | (_, Nested) => Nested,
            (Int { .. }, Int { .. }) => Int { is_signed: true },
            (Int { is_signed: false }, UInt) | (UInt, Int { is_signed: false }) => UInt,
            (Int { .. } | UInt, Float) | (Float, Int { .. } | UInt) => Float,
            (Date, Time(unit)) | (Time(unit), Date) => Time(unit),
            (Time(a), Time(b)) => Time(if digits(a) > digits(b) { a } else { b }),
            (Numbers { .. }, Numbers { .. }) => Numbers { is_integer: false },
            (Numbers { .. }, _) | (_, Numbers { .. }) => Nested,
            _ => Text,
        }
    }

    /// The Arrow type of the column.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Kind::Null | Kind::Text | Kind::Nested => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
            Kind::Int { .. } => DataType::Int64,
            Kind::UInt => DataType::UInt64,
            Kind::Float => DataType::Float64,
            Kind::Date => DataType::Date32,
            Kind::Time(unit) => DataType::Timestamp(*unit, None),
            Kind::Numbers { is_integer } => {
                let item = if *is_integer { DataType::Int64 } else { DataType::Float64 };
                DataType::new_list(item, true)
            }
            Kind::Fixed(data_type) => data_type.clone(),
            Kind::Stored(_) => DataType::Int64,
        }
    }

    /// The type that the parser of the format is asked for: dates and times are read as text, so that nothing of them is cut off
    /// without a word.
    pub(super) fn parsed_type(&self) -> DataType {
        match self.data_type() {
            DataType::Date32 | DataType::Timestamp(..) => DataType::Utf8,
            _ if matches!(self, Kind::Stored(_)) => DataType::Utf8,
            other => other,
        }
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "booleans",
            Kind::Int { .. } | Kind::UInt => "integers",
            Kind::Float => "numbers",
            Kind::Date => "dates",
            Kind::Time(_) => "times",
            Kind::Text => "text",
            Kind::Numbers { .. } => "lists of numbers",
            Kind::Nested => "nested values",
            Kind::Fixed(_) | Kind::Stored(_) => "values of the array's type",
        }
    }
}

/// Digits behind the point of the seconds.
pub(super) fn fraction_len(text: &str) -> usize {
    let fraction = text.get(19..).and_then(|rest| rest.strip_prefix('.'));
    fraction.map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count())
}

/// Digits of a unit's fraction of a second.
pub(super) fn digits(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

fn unit_of(fraction_len: usize) -> Option<TimeUnit> {
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    units.into_iter().find(|unit| fraction_len <= digits(*unit))
}

/// The zone of times that name none.
pub(super) fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    let Some(name) = name else { return Ok(TimeZone::UTC) };
    zone_of(name).ok_or_else(|| {
        format!(
            "--time-zone {name}: no such zone; give a name such as Europe/Paris, or an offset such as +02:00"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_tell_their_kind() {
        for (text, kind) in [
            ("", Kind::Null),
            ("7", Kind::Int { is_signed: false }),
            ("-7", Kind::Int { is_signed: true }),
            ("18446744073709551615", Kind::UInt),
            ("18446744073709551616", Kind::Text),
            ("1.5", Kind::Float),
            ("1e300", Kind::Float),
            ("-inf", Kind::Float),
            ("NaN", Kind::Float),
            ("TRUE", Kind::Bool),
            ("2024-02-29", Kind::Date),
            ("2023-02-29", Kind::Text),
            ("2024-02-29T12:00:00", Kind::Time(TimeUnit::Second)),
            ("2024-02-29 12:00:00.25+02:00", Kind::Time(TimeUnit::Millisecond)),
            ("2024-02-29T12:00:00.123456789Z", Kind::Time(TimeUnit::Nanosecond)),
            ("2024-02-29T12:00:00.1234567890Z", Kind::Text),
            ("12-13", Kind::Text),
            ("infinite", Kind::Text),
            (".", Kind::Text),
        ] {
            assert_eq!(Kind::of_text(text), kind, "{text}");
        }
    }

    #[test]
    fn kinds_widen_to_what_holds_both() {
        let int = Kind::Int { is_signed: false };
        let signed = Kind::Int { is_signed: true };
        for (a, b, both) in [
            (Kind::Null, int.clone(), int.clone()),
            (int.clone(), Kind::UInt, Kind::UInt),
            (signed, Kind::UInt, Kind::Text),
            (int.clone(), Kind::Float, Kind::Float),
            (Kind::Date, Kind::Time(TimeUnit::Second), Kind::Time(TimeUnit::Second)),
            (Kind::Date, int.clone(), Kind::Text),
            (Kind::Bool, int, Kind::Text),
        ] {
            assert_eq!(a.clone().widened(b.clone()), both, "{a:?} {b:?}");
            assert_eq!(b.widened(a), both);
        }
    }
}
