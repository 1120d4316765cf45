//! Numbers, sizes and times as people read them.

use smalti::Datatype;
use smalti::text::format_date_time;
use std::time::Duration;

/// A number with commas between groups of three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of cells.
pub fn cells(number: u64) -> String {
    format!("{} {}", count(number), if number == 1 { "cell" } else { "cells" })
}

/// A number of bytes in the largest unit that leaves at least one of it.
pub fn bytes(byte_len: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = byte_len.checked_ilog2().map_or(0, |log| log as usize / 10);
    if power == 0 {
        return format!("{byte_len} B");
    }
    let value = byte_len as f64 / 2_f64.powi(10 * power as i32);
    format!("{value:.1} {}", units.get(power).unwrap_or(&"?"))
}

/// A duration in milliseconds, or in seconds.
pub fn duration(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1000.0;
    match milliseconds {
        ..10.0 => format!("{milliseconds:.1} ms"),
        ..1000.0 => format!("{milliseconds:.0} ms"),
        _ => format!("{:.2} s", milliseconds / 1000.0),
    }
}

/// A timestamp in milliseconds since 1970 as a date and time in UTC.
pub fn timestamp(milliseconds: u64) -> String {
    match i64::try_from(milliseconds) {
        Ok(value) => format!("{}Z", format_date_time(Datatype::DateTimeMs, value)),
        Err(_) => "the end of time".into(),
    }
}

/// When something happened, as the end of a sentence.
pub fn at(milliseconds: u64) -> String {
    format!(" at {}", timestamp(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [bytes(0), bytes(1023), bytes(1536), bytes(3 << 30)],
            ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]
        );
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(duration(Duration::from_micros(1234)), "1.2 ms");
        assert_eq!(duration(Duration::from_millis(2340)), "2.34 s");
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(u64::MAX), "the end of time");
    }
}
