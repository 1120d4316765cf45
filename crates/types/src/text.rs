//! Dates and times as text, for all `DATETIME_*` and `TIME_*` datatypes and every stored 64-bit value.
//!
//! # Notation
//!
//! Dates are those of the proleptic Gregorian calendar, without a time zone, in ISO 8601 as precise as the datatype:
//!
//! | datatype | text of 0 | text of -1 |
//! |---|---|---|
//! | `DATETIME_YEAR` | `1970` | `1969` |
//! | `DATETIME_MONTH` | `1970-01` | `1969-12` |
//! | `DATETIME_WEEK` (its first day, a Thursday) | `1970-01-01` | `1969-12-25` |
//! | `DATETIME_DAY` | `1970-01-01` | `1969-12-31` |
//! | `DATETIME_HR` | `1970-01-01T00` | `1969-12-31T23` |
//! | `DATETIME_MIN` | `1970-01-01T00:00` | `1969-12-31T23:59` |
//! | `DATETIME_SEC` | `1970-01-01T00:00:00` | `1969-12-31T23:59:59` |
//! | `DATETIME_MS` to `DATETIME_AS` | as seconds, then a point and 3, 6, 9, 12, 15 or 18 digits | |
//!
//! Years outside 0 to 9999 carry a sign: `+10000-01-01`, `-0044-03-15`; year 0 is 1 BC (ISO 8601, expanded years).
//!
//! Times of day are `HH`, `HH:MM`, `HH:MM:SS` and fractions likewise. Values beyond a day keep counting hours
//! (`25:00:00`), negative ones carry a sign (`-00:00:01`): an extension of ISO 8601, so that every value has a text.
//!
//! Reading also takes fewer or more parts than the datatype has, as long as nothing is lost (`2020-05` for a day is
//! its first; `2020-01-01` is a year), a trailing `Z`, a space for the `T`, and `NaT` for the least value, which is the
//! default fill.

use crate::{Datatype, Error, Result, Scalar};

const DAY_SECONDS: i128 = 86_400;

/// What one step of a datatype is, in calendar or clock units.
#[derive(Clone, Copy)]
enum Step {
    Year,
    Month,
    Days(i128),
    /// Seconds a step.
    Seconds(i128),
    /// Digits after the point of a second.
    Fraction(u32),
}

fn step(datatype: Datatype) -> Option<Step> {
    use Datatype::*;
    Some(match datatype {
        DateTimeYear => Step::Year,
        DateTimeMonth => Step::Month,
        DateTimeWeek => Step::Days(7),
        DateTimeDay => Step::Days(1),
        DateTimeHr | TimeHr => Step::Seconds(3600),
        DateTimeMin | TimeMin => Step::Seconds(60),
        DateTimeSec | TimeSec => Step::Seconds(1),
        DateTimeMs | TimeMs => Step::Fraction(3),
        DateTimeUs | TimeUs => Step::Fraction(6),
        DateTimeNs | TimeNs => Step::Fraction(9),
        DateTimePs | TimePs => Step::Fraction(12),
        DateTimeFs | TimeFs => Step::Fraction(15),
        DateTimeAs | TimeAs => Step::Fraction(18),
        _ => return None,
    })
}

impl Datatype {
    /// The number of an ordinal, for messages: dates and times as ISO 8601 text.
    pub fn shown_ordinal(self, ordinal: u64) -> String {
        match Scalar::read(self, &self.bytes_of_ordinal(ordinal)) {
            Ok(Scalar::I64(value)) => format_date_time(self, value),
            Ok(value) => value.to_string(),
            Err(_) => ordinal.to_string(),
        }
    }
}

/// The text of a stored value; for datatypes that are no date or time, the number.
pub fn format_date_time(datatype: Datatype, value: i64) -> String {
    let Some(step) = step(datatype) else { return value.to_string() };
    let wide = i128::from(value);
    if datatype.is_time() {
        let sign = if value < 0 { "-" } else { "" };
        return format!("{sign}{}", clock_text(wide.abs(), step));
    }
    match step {
        Step::Year => year_text(wide + 1970),
        Step::Month => {
            format!("{}-{:02}", year_text(wide.div_euclid(12) + 1970), wide.rem_euclid(12) + 1)
        }
        Step::Days(days) => date_text(wide * days),
        Step::Seconds(_) | Step::Fraction(_) => {
            let day_steps = steps_per_day(step);
            let clock = clock_text(wide.rem_euclid(day_steps), step);
            format!("{}T{clock}", date_text(wide.div_euclid(day_steps)))
        }
    }
}

/// The stored value of a text in the notation of this module.
///
/// # Errors
/// `InvalidArgument` when the text is no date or time, is more precise than the datatype, or lies outside its range.
pub fn parse_date_time(datatype: Datatype, text: &str) -> Result<i64> {
    let step = step(datatype).ok_or_else(|| Error::invalid(format!("{datatype} is no date or time")))?;
    if text == "NaT" {
        return Ok(i64::MIN);
    }
    let value = if datatype.is_time() { parse_time(text, step) } else { parse_datetime(text, step) };
    let value = value.map_err(|problem| {
        let example = format_date_time(datatype, 0);
        Error::invalid(format!("{text:?} is no {datatype}: {problem}; write it like {example}"))
    })?;
    i64::try_from(value).map_err(|_| Error::invalid(format!("{text:?} is outside the range of {datatype}")))
}

/// The first and the last stored value that lie on a bare date, `YYYY-MM-DD`, or in a month, `YYYY-MM`; `None` for other texts. Of
/// a datatype coarser than that there may be none: then the last lies before the first.
///
/// ```
/// use smalti_types::{Datatype, text::parse_date_span};
/// assert_eq!(parse_date_span(Datatype::DateTimeHr, "1970-01-02")?, Some((24, 47)));
/// assert_eq!(parse_date_span(Datatype::DateTimeDay, "1970-02")?, Some((31, 58)));
/// assert_eq!(parse_date_span(Datatype::DateTimeHr, "1970-01-02T00")?, None);
/// # Ok::<(), smalti_types::Error>(())
/// ```
///
/// # Errors
/// `InvalidArgument` when all of it lies outside the range of the datatype.
pub fn parse_date_span(datatype: Datatype, text: &str) -> Result<Option<(i64, i64)>> {
    let Some(step) = step(datatype).filter(|_| datatype.is_datetime()) else { return Ok(None) };
    let date = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let Ok((year, month, day)) = parse_date(date) else { return Ok(None) };
    let next_month = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let (first, behind) = match date[1..].matches('-').count() {
        1 => (days_of_civil(year, month, 1), days_of_civil(next_month.0, next_month.1, 1)),
        2 => (days_of_civil(year, month, day), days_of_civil(year, month, day) + 1),
        _ => return Ok(None),
    };
    // The least value at or behind the start of a day.
    let at_or_behind = |days: i128| match step {
        Step::Seconds(_) | Step::Fraction(_) => days * steps_per_day(step),
        Step::Days(length) => -(-days).div_euclid(length),
        Step::Month => {
            let (year, month, day) = civil_of_days(days);
            (year - 1970) * 12 + month - 1 + i128::from(day > 1)
        }
        Step::Year => {
            let (year, month, day) = civil_of_days(days);
            year - 1970 + i128::from(month > 1 || day > 1)
        }
    };
    let (lo, hi) = (at_or_behind(first), at_or_behind(behind) - 1);
    if lo > i64::MAX.into() || hi < i64::MIN.into() {
        return Err(Error::invalid(format!("{text:?} is outside the range of {datatype}")));
    }
    let within = |value: i128| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    Ok(Some((within(lo), within(hi))))
}

/// The stored values in a whole number of seconds, such as 86,400 for a day; `None` where that is none, and for datatypes whose steps
/// are of different lengths.
pub fn steps_in_seconds(datatype: Datatype, seconds: u64) -> Option<u64> {
    let seconds = i128::from(seconds);
    let divided = |length: i128| (seconds % length == 0).then_some(seconds / length);
    let steps = match step(datatype)? {
        Step::Year | Step::Month => None,
        Step::Days(days) => divided(days * DAY_SECONDS),
        Step::Seconds(length) => divided(length),
        Step::Fraction(digits) => seconds.checked_mul(10_i128.pow(digits)),
    };
    steps.and_then(|steps| u64::try_from(steps).ok())
}

fn steps_per_day(step: Step) -> i128 {
    match step {
        Step::Seconds(seconds) => DAY_SECONDS / seconds,
        Step::Fraction(digits) => DAY_SECONDS * 10_i128.pow(digits),
        Step::Year | Step::Month | Step::Days(_) => 1,
    }
}

fn year_text(year: i128) -> String {
    match year {
        0..=9999 => format!("{year:04}"),
        10_000.. => format!("+{year}"),
        _ => format!("-{:04}", -year),
    }
}

fn date_text(days: i128) -> String {
    let (year, month, day) = civil_of_days(days);
    format!("{}-{month:02}-{day:02}", year_text(year))
}

/// `steps` is not negative.
fn clock_text(steps: i128, step: Step) -> String {
    let (seconds, fraction) = match step {
        Step::Seconds(3600) => return format!("{steps:02}"),
        Step::Seconds(60) => return format!("{:02}:{:02}", steps / 60, steps % 60),
        Step::Fraction(digits) => {
            let per_second = 10_i128.pow(digits);
            (steps / per_second, format!(".{:0width$}", steps % per_second, width = digits as usize))
        }
        _ => (steps, String::new()),
    };
    format!("{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Year, month and day of a count of days since 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
fn civil_of_days(days: i128) -> (i128, i128, i128) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i128::from(month <= 2), month, day)
}

/// The inverse of [`civil_of_days`].
fn days_of_civil(year: i128, month: i128, day: i128) -> i128 {
    let year = year - i128::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let march_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn month_length(year: i128, month: i128) -> i128 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn parse_datetime(text: &str, step: Step) -> Result<i128, &'static str> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, clock) = match text.split_once(['T', 't', ' ']) {
        Some((date, clock)) => (date, Some(clock)),
        None => (text, None),
    };
    let (year, month, day) = parse_date(date)?;
    let (seconds, attoseconds) = clock.map_or(Ok((0, 0)), parse_clock)?;
    if seconds >= DAY_SECONDS {
        return Err("a day ends at 23:59:59");
    }
    let at_midnight = seconds == 0 && attoseconds == 0;
    let days = days_of_civil(year, month, day);
    match step {
        Step::Year if at_midnight && month == 1 && day == 1 => Ok(year - 1970),
        Step::Year => Err("it is not the start of a year"),
        Step::Month if at_midnight && day == 1 => Ok((year - 1970) * 12 + month - 1),
        Step::Month => Err("it is not the start of a month"),
        Step::Days(length) if at_midnight && days.rem_euclid(length) == 0 => Ok(days.div_euclid(length)),
        Step::Days(1) => Err("it is not the start of a day"),
        Step::Days(_) => Err("weeks start on the days that lie whole weeks from 1970-01-01, a Thursday"),
        Step::Seconds(_) | Step::Fraction(_) => clock_steps(days * DAY_SECONDS + seconds, attoseconds, step),
    }
}

fn parse_time(text: &str, step: Step) -> Result<i128, &'static str> {
    let (sign, clock) = match text.strip_prefix('-') {
        Some(clock) => (-1, clock),
        None => (1, text),
    };
    let clock = clock.strip_prefix(['T', 't']).unwrap_or(clock);
    let (seconds, attoseconds) = parse_clock(clock)?;
    Ok(sign * clock_steps(seconds, attoseconds, step)?)
}

fn clock_steps(seconds: i128, attoseconds: i128, step: Step) -> Result<i128, &'static str> {
    let too_fine = "it is more precise than the type";
    match step {
        Step::Seconds(length) => match (seconds % length, attoseconds) {
            (0, 0) => Ok(seconds / length),
            _ => Err(too_fine),
        },
        Step::Fraction(digits) => {
            let attoseconds_per_step = 10_i128.pow(18 - digits);
            if attoseconds % attoseconds_per_step != 0 {
                return Err(too_fine);
            }
            // Seconds of a text are below 10^24, so that this stays within 128 bits only when checked.
            seconds
                .checked_mul(10_i128.pow(digits))
                .and_then(|steps| steps.checked_add(attoseconds / attoseconds_per_step))
                .ok_or("it is too far away")
        }
        Step::Year | Step::Month | Step::Days(_) => Err(too_fine),
    }
}

/// Year, month and day of `YYYY`, `YYYY-MM` or `YYYY-MM-DD`, the year with a sign or without.
fn parse_date(text: &str) -> Result<(i128, i128, i128), &'static str> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let mut parts = digits.split('-');
    let year_digits = parts.next().unwrap_or_default();
    if year_digits.len() < 4 {
        return Err("a year has at least four digits");
    }
    let year = sign * number(year_digits, 20)?;
    let month = parts.next().map_or(Ok(1), |part| number(part, 2))?;
    let day = parts.next().map_or(Ok(1), |part| number(part, 2))?;
    if parts.next().is_some() {
        return Err("it has too many parts");
    }
    if !(1..=12).contains(&month) {
        return Err("months go from 01 to 12");
    }
    if !(1..=month_length(year, month)).contains(&day) {
        return Err("the month has no such day");
    }
    Ok((year, month, day))
}

/// Seconds and attoseconds of `HH`, `HH:MM`, `HH:MM:SS` or `HH:MM:SS.F`; hours may have any number of digits.
fn parse_clock(text: &str) -> Result<(i128, i128), &'static str> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let hours = number(parts.next().unwrap_or_default(), 19)?;
    let minutes = parts.next().map_or(Ok(0), |part| number(part, 2))?;
    let has_seconds = whole.matches(':').count() == 2;
    let seconds = parts.next().map_or(Ok(0), |part| number(part, 2))?;
    if parts.next().is_some() {
        return Err("it has too many parts");
    }
    if minutes > 59 || seconds > 59 {
        return Err("minutes and seconds go from 00 to 59");
    }
    let attoseconds = match fraction {
        "" if text.contains('.') => return Err("digits are missing after the point"),
        "" => 0,
        _ if !has_seconds => return Err("a fraction follows seconds only"),
        digits => number(digits, 18)? * 10_i128.pow(18 - digits.len() as u32),
    };
    Ok((hours * 3600 + minutes * 60 + seconds, attoseconds))
}

/// A number of 1 to `max_digits` decimal digits and nothing else.
fn number(digits: &str, max_digits: usize) -> Result<i128, &'static str> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("digits are expected");
    }
    if digits.len() > max_digits {
        return Err("a part has too many digits");
    }
    digits.parse().map_err(|_| "a part has too many digits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use Datatype::*;

    fn all_types() -> impl Iterator<Item = Datatype> {
        Datatype::ALL.iter().copied().filter(|datatype| datatype.is_datetime() || datatype.is_time())
    }

    #[test]
    fn every_value_comes_back_from_its_text() {
        let mut values = vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        let mut seed = 1_u64;
        for shift in 0..63 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            values.extend([(seed as i64) >> shift, 1 << shift, -(1 << shift)]);
        }
        for datatype in all_types() {
            for &value in &values {
                let text = format_date_time(datatype, value);
                assert_eq!(parse_date_time(datatype, &text).unwrap(), value, "{datatype} {text}");
            }
        }
    }

    #[test]
    fn the_least_and_greatest_values_have_their_known_texts() {
        // Texts of the last column: numpy 2, datetime64 of the same unit.
        for (datatype, value, text) in [
            (DateTimeYear, i64::MAX, "+9223372036854777777"),
            (DateTimeYear, -1971, "-0001"),
            (DateTimeMonth, -1, "1969-12"),
            (DateTimeWeek, -1, "1969-12-25"),
            (DateTimeDay, 11_016, "2000-02-29"),
            (DateTimeHr, -1, "1969-12-31T23"),
            (DateTimeMin, 1, "1970-01-01T00:01"),
            (DateTimeSec, i64::MAX, "+292277026596-12-04T15:30:07"),
            (DateTimeSec, i64::MIN, "-292277022657-01-27T08:29:52"),
            (DateTimeMs, -1, "1969-12-31T23:59:59.999"),
            (DateTimeNs, i64::MAX, "2262-04-11T23:47:16.854775807"),
            (DateTimeAs, i64::MAX, "1970-01-01T00:00:09.223372036854775807"),
            (DateTimeAs, i64::MIN, "1969-12-31T23:59:50.776627963145224192"),
            (TimeHr, 13, "13"),
            (TimeMin, 60 * 25 + 1, "25:01"),
            (TimeSec, -1, "-00:00:01"),
            (TimeNs, 45_296_000_000_001, "12:34:56.000000001"),
        ] {
            assert_eq!(format_date_time(datatype, value), text, "{datatype}");
        }
    }

    #[test]
    fn coarser_finer_and_zoned_texts_are_read_when_nothing_is_lost() {
        for (datatype, text, value) in [
            (DateTimeDay, "1970-02", 31),
            (DateTimeYear, "2020-01-01T00:00Z", 50),
            (DateTimeMs, "1970-01-01T00:00:01.5Z", 1500),
            (DateTimeSec, "1970-01-01 00:01", 60),
            (DateTimeSec, "NaT", i64::MIN),
            (TimeSec, "T01", 3600),
            (DateTimeHr, "1970-01-02", 24),
        ] {
            assert_eq!(parse_date_time(datatype, text).unwrap(), value, "{datatype} {text}");
        }
    }

    #[test]
    fn a_bare_date_is_a_whole_day_in_every_unit() {
        for (datatype, text, span) in [
            (DateTimeMs, "1970-01-02", Some((86_400_000, 172_799_999))),
            (DateTimeSec, "1969-12-31", Some((-86_400, -1))),
            (DateTimeMin, "1970-01-01Z", Some((0, 1439))),
            (DateTimeDay, "1970-01-02", Some((1, 1))),
            (DateTimeDay, "2024-02", Some((19_754, 19_782))),
            (DateTimeWeek, "1970-01-08", Some((1, 1))),
            (DateTimeWeek, "1970-01-09", Some((2, 1))),
            (DateTimeWeek, "1969-12-31", Some((0, -1))),
            (DateTimeMonth, "1970-02", Some((1, 1))),
            (DateTimeMonth, "1970-02-02", Some((2, 1))),
            (DateTimeYear, "1971-01-01", Some((1, 1))),
            (DateTimeYear, "1970-05-01", Some((1, 0))),
            (DateTimeNs, "2262-04-11", Some((9_223_286_400_000_000_000, i64::MAX))),
            (DateTimeMs, "1970", None),
            (DateTimeMs, "1970-01-02T00", None),
            (DateTimeMs, "1970-13-02", None),
            (DateTimeMs, "-", None),
            (DateTimeMs, "é", None),
            (TimeMs, "1970-01-02", None),
            (Int64, "1970-01-02", None),
        ] {
            assert_eq!(parse_date_span(datatype, text).unwrap(), span, "{datatype} {text}");
        }
        assert!(parse_date_span(DateTimeNs, "9999-01-01").is_err());
        assert_eq!(steps_in_seconds(DateTimeMs, 60), Some(60_000));
        assert_eq!(steps_in_seconds(DateTimeWeek, 14 * 86_400), Some(2));
        assert_eq!(steps_in_seconds(DateTimeDay, 3600), None);
        assert_eq!(steps_in_seconds(DateTimeMonth, 86_400), None);
        assert_eq!(steps_in_seconds(DateTimeAs, 3600), None);
    }

    #[test]
    fn wrong_texts_are_errors_that_show_the_notation() {
        for (datatype, text, words) in [
            (DateTimeDay, "2021-02-29", "no such day"),
            (DateTimeDay, "2021-13-01", "months go from"),
            (DateTimeDay, "2021-01-01T01", "start of a day"),
            (DateTimeWeek, "1970-01-02", "weeks start"),
            (DateTimeYear, "2020-02", "start of a year"),
            (DateTimeMs, "2020-01-01T00:00:00.0001", "more precise"),
            (DateTimeSec, "2020-01-01T24:00:00", "a day ends"),
            (DateTimeNs, "9999-01-01", "outside the range"),
            (DateTimeAs, "99999999999999999999-01-01", ""),
            (DateTimeSec, "", "at least four digits"),
            (DateTimeSec, "2020-01-01T00:00:00.", "digits are missing"),
            (DateTimeSec, "2020-01-01T00:60", "minutes and seconds"),
            (TimeMin, "1:2:3:4", "too many parts"),
            (TimeAs, "9999999999999999999:00", ""),
            (TimeSec, "é", "digits are expected"),
            (DateTimeSec, "-é", "at least four"),
        ] {
            let error = parse_date_time(datatype, text).unwrap_err();
            assert!(error.message().contains(words), "{datatype} {text}: {error}");
        }
        assert!(parse_date_time(Int32, "1970").is_err());
    }
}
