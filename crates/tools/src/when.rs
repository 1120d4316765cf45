//! Times as people write them: `--at`, `--since` and their kin. docs/times.md tells what each form means.

use crate::human;
use smalti::format::TimestampedName;
use smalti::text::{format_date_time, parse_date_time};
use smalti::{Datatype, TimeRange};

const FORMS: &str = "write 2024-05-01, 2024-05-01T12:00:00Z, 2024-05-01T14:00+02:00, -30m, -1h, -2d, now, today, \
                     yesterday, the name of a fragment, or milliseconds since 1970";

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A time, or a span of times, as people say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Milliseconds since 1970, as a number.
    Number(u64),
    /// What a date, or a date and time, takes in, in milliseconds since 1970: a day has many, a time of day one.
    Date(TimeRange),
    /// What the name of a fragment says.
    Fragment(TimeRange),
    /// What it was counted back from the clock to: so long ago, or the day of it.
    Counted(TimeRange),
}

impl When {
    /// Reads a time, at a time of the clock in milliseconds since 1970, from which spans such as `-1h` count back.
    ///
    /// # Errors
    /// What is wrong, and what can be written.
    pub fn parse(text: &str, now_ms: u64) -> Result<When, String> {
        let trimmed = text.trim();
        let refused = |problem: &str| format!("{problem}; {FORMS}");
        if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = trimmed.parse().map_err(|_| refused("the number has more than 64 bits"))?;
            return Ok(When::Number(number));
        }
        match trimmed.to_ascii_lowercase().as_str() {
            "now" => return Ok(When::ago(now_ms, 0)),
            "today" => return Ok(When::day_ago(now_ms, 0)),
            "yesterday" => return Ok(When::day_ago(now_ms, 1)),
            _ => {}
        }
        if let Some(span) = trimmed.strip_prefix('-')
            && !span.contains('-')
        {
            return ago(span).map(|span| When::ago(now_ms, span)).map_err(|problem| refused(&problem));
        }
        let name = trimmed.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if name.starts_with("__") {
            let name = TimestampedName::parse(name).map_err(|error| refused(error.message()))?;
            return Ok(When::Fragment(name.range()));
        }
        date(trimmed).map(When::Date).map_err(|problem| refused(&problem))
    }

    fn ago(now_ms: u64, span_ms: u64) -> When {
        let at = now_ms.saturating_sub(span_ms);
        When::Counted(TimeRange { start: at, end: at })
    }

    fn day_ago(now_ms: u64, days: u64) -> When {
        let start = (now_ms / DAY_MS).saturating_sub(days).saturating_mul(DAY_MS);
        When::Counted(TimeRange { start, end: start.saturating_add(DAY_MS - 1) })
    }

    /// What it takes in.
    fn span(self) -> TimeRange {
        match self {
            When::Number(at) => TimeRange { start: at, end: at },
            When::Date(range) | When::Fragment(range) | When::Counted(range) => range,
        }
    }

    /// As the first time of a range, in milliseconds since 1970: a day begins with its first.
    pub fn start(self) -> u64 {
        self.span().start
    }

    /// As the last time of a range, in milliseconds since 1970: a day is in it to its end.
    pub fn end(self) -> u64 {
        self.span().end
    }

    /// As the time of a change, in milliseconds since 1970: the start of a day, the end of a fragment.
    pub fn moment(self) -> u64 {
        let span = self.span();
        if matches!(self, When::Fragment(_)) { span.end } else { span.start }
    }

    /// What is to be said of the time of a change that looks like seconds.
    pub fn doubt(self) -> Option<String> {
        let date = self.as_seconds()?;
        let (ms, time) = (self.moment(), human::timestamp(self.moment()));
        Some(format!("--at {ms} ms is {time}; as seconds it is {date}: write that if it is meant"))
    }

    /// The date that a number would be as seconds since 1970, for numbers that are taken for milliseconds but look like seconds:
    /// those of the years from 1973 on.
    pub fn as_seconds(self) -> Option<String> {
        match self {
            When::Number(number @ 100_000_000..100_000_000_000) => {
                Some(format!("{}Z", format_date_time(Datatype::DateTimeSec, number as i64)))
            }
            _ => None,
        }
    }
}

/// The time of the clock, in milliseconds since 1970.
pub fn clock_ms() -> u64 {
    smalti::system_env().clock.now_ms()
}

/// The milliseconds of a span such as `90s`, `1h30m` or `2d`.
fn ago(text: &str) -> Result<u64, String> {
    let mut rest = text.trim();
    if rest.is_empty() || rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a span needs a unit: ms, s, m (minutes), h, d or w".into());
    }
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, behind) = rest.split_at(digits);
        let letters = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, behind) = behind.split_at(letters);
        let unit_ms = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" | "min" => 60_000,
            "h" => HOUR_MS,
            "d" => DAY_MS,
            "w" => 7 * DAY_MS,
            _ => return Err(format!("-{text} is no span of ms, s, m (minutes), h, d or w")),
        };
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_ms));
        let part = part.and_then(|part| sum.checked_add(part));
        sum = part.ok_or_else(|| format!("-{text} is no span of time, or too long a one"))?;
        rest = behind;
    }
    Ok(sum)
}

/// What a date, or a date and time, takes in. Without a zone it is in UTC.
fn date(text: &str) -> Result<TimeRange, String> {
    let (local, offset_ms) = without_zone(text)?;
    let is_day = !local.contains(['T', 't', ' ']);
    let ms = |text: &str| {
        parse_date_time(Datatype::DateTimeMs, text).map_err(|_| format!("{text:?} is no date or time"))
    };
    let in_utc = |local: i64| {
        let utc = local.checked_sub(offset_ms).and_then(|utc| u64::try_from(utc).ok());
        utc.ok_or_else(|| format!("{text} lies before 1970, when times begin"))
    };
    let start = ms(&without_microseconds(local))?;
    let after = match parse_date_time(Datatype::DateTimeMonth, local) {
        // A year has no dash behind its sign.
        Ok(month) if is_day && local.trim_start_matches(['+', '-']).matches('-').count() == 1 => {
            ms(&format_date_time(Datatype::DateTimeMonth, month.saturating_add(1)))?
        }
        _ if is_day && !local.trim_start_matches(['+', '-']).contains('-') => {
            return Err(format!("{text:?} is no date or time"));
        }
        _ if is_day => start.saturating_add(DAY_MS as i64),
        _ => start.saturating_add(1),
    };
    Ok(TimeRange { start: in_utc(start)?, end: in_utc(after.saturating_sub(1))? })
}

/// A time without its zone, and how many milliseconds that is ahead of UTC: `Z`, `+02:00`, `-0530` or `+02`; behind a date without a
/// time of day only with a colon.
fn without_zone(text: &str) -> Result<(&str, i64), String> {
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return Ok((local.trim_end(), 0));
    }
    let clock = text.find(['T', 't', ' ']);
    let sign = match clock {
        Some(clock) => text[clock..].rfind(['+', '-']).map(|at| clock + at),
        None => text.rfind(['+', '-']).filter(|&at| text[at..].contains(':')),
    };
    let Some(sign) = sign else { return Ok((text, 0)) };
    let (local, zone) = text.split_at(sign);
    let digits: String = zone[1..].replacen(':', "", 1);
    let wrong = || format!("{zone:?} is no zone, such as Z or +02:00");
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let hours: i64 = digits[..2].parse().map_err(|_| wrong())?;
    let minutes: i64 = if digits.len() == 4 { digits[2..].parse().map_err(|_| wrong())? } else { 0 };
    if hours > 18 || minutes > 59 {
        return Err(wrong());
    }
    let ahead = (hours * 60 + minutes) * 60_000;
    Ok((local.trim_end(), if zone.starts_with('-') { -ahead } else { ahead }))
}

/// A time without the digits behind its milliseconds, which arrays do not tell apart.
fn without_microseconds(text: &str) -> String {
    match text.rsplit_once('.') {
        Some((before, digits)) if digits.len() > 3 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{before}.{}", &digits[..3])
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2024-05-02T10:30:00Z.
    const NOW: u64 = 1_714_645_800_000;
    const DAY: u64 = 1_714_521_600_000;

    fn span(text: &str) -> (u64, u64) {
        let span = When::parse(text, NOW).unwrap().span();
        (span.start, span.end)
    }

    fn at(text: &str) -> u64 {
        let (start, end) = span(text);
        assert_eq!(start, end, "{text}");
        start
    }

    #[test]
    fn a_date_is_a_whole_day_and_a_time_of_day_an_instant() {
        assert_eq!(span("2024-05-01"), (DAY, DAY + DAY_MS - 1));
        assert_eq!(span("2024-05"), (DAY, DAY + 31 * DAY_MS - 1));
        assert_eq!(span("2024-05-01+02:00"), (DAY - 2 * HOUR_MS, DAY + 22 * HOUR_MS - 1));
        for noon in
            ["2024-05-01T12:00:00Z", "2024-05-01 12:00", "2024-05-01T12", "2024-05-01T14:00:00.000+02:00"]
        {
            assert_eq!(at(noon), DAY + 12 * HOUR_MS, "{noon}");
        }
        assert_eq!(at("2024-05-01T06:30:00.123456-0530"), DAY + 12 * HOUR_MS + 123);
        assert_eq!(at("2024-05-01T12:00 +00"), DAY + 12 * HOUR_MS);
    }

    #[test]
    fn spans_count_back_from_the_clock() {
        assert_eq!(at("now"), NOW);
        assert_eq!(at("-1h"), NOW - HOUR_MS);
        assert_eq!(at("-1h30m"), NOW - HOUR_MS - HOUR_MS / 2);
        assert_eq!(at("-2d"), NOW - 2 * DAY_MS);
        assert_eq!(at("-250ms"), NOW - 250);
        assert_eq!(at("-99999w"), 0);
        assert_eq!(span("today"), (DAY + DAY_MS, DAY + 2 * DAY_MS - 1));
        assert_eq!(span("Yesterday"), (DAY, DAY + DAY_MS - 1));
    }

    #[test]
    fn numbers_are_milliseconds_and_names_of_fragments_say_their_times() {
        assert_eq!(at("0"), 0);
        assert_eq!(at("18446744073709551615"), u64::MAX);
        let name = format!("__100_200_{}_22", "a".repeat(32));
        assert_eq!(span(&name), (100, 200));
        assert_eq!(span(&format!("a/__fragments/{name}/")), (100, 200));
        assert_eq!(When::parse(&name, NOW).unwrap().moment(), 200);
        assert_eq!(When::parse("2024-05-01", NOW).unwrap().moment(), DAY);
    }

    #[test]
    fn numbers_that_look_like_seconds_are_told() {
        let date = |text: &str| When::parse(text, NOW).unwrap().as_seconds();
        assert_eq!(date("1714521600").as_deref(), Some("2024-05-01T00:00:00Z"));
        assert_eq!((date("1714521600000"), date("2000"), date("2024-05-01")), (None, None, None));
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_forms() {
        for text in [
            "",
            " ",
            "-",
            "-5",
            "-5y",
            "-h",
            "1h",
            "2024-13-01",
            "2024-02-30",
            "2024-05-01T25:00",
            "1969-12-31",
            "2024-05-01T12:00+99:00",
            "2024-05-01T12:00+1",
            "99999999999999999999",
            "__1_2",
            "+2024",
            "soon",
            "-99999999999999999999d",
            "é",
            "-é",
            "2024-05-01T12:00é",
            "-0044-03-15",
            "2024-05-01T12:00:00.é",
        ] {
            let problem = When::parse(text, NOW).unwrap_err();
            assert!(problem.ends_with(FORMS), "{text}: {problem}");
        }
    }
}
