//! Values along a line: where they lie on it, and round ones to mark.

use smalti::Datatype;
use smalti::text::{format_date_time, parse_date_time, steps_in_seconds};

/// What the numbers of an axis are.
#[derive(Debug, Clone, PartialEq)]
pub enum Unit {
    /// Numbers of any kind.
    Number,
    /// Whole numbers, marked at whole numbers.
    Integer,
    /// Stored values of a date or time.
    Date(Datatype),
    /// Places in a list of names.
    Names(Vec<String>),
}

/// A line of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it is called; with its units, where they are known.
    pub title: String,
    /// The value at its start.
    pub lo: f64,
    /// The value at its end, greater than that at its start.
    pub hi: f64,
    /// What the values are.
    pub unit: Unit,
    /// Whether equal factors are equally far apart; both ends are positive then.
    pub is_log: bool,
}

/// A value to mark.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) text: String,
}

impl Axis {
    pub(crate) fn new(title: impl Into<String>, lo: f64, hi: f64, unit: Unit) -> Self {
        // An axis of one value has it in the middle.
        let (lo, hi) = if hi > lo { (lo, hi) } else { (lo - 0.5, lo + 0.5) };
        Axis { title: title.into(), lo, hi, unit, is_log: false }
    }

    /// How far a value lies on the way from the start to the end: 0 to 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        if self.is_log {
            return (value / self.lo).ln() / (self.hi / self.lo).ln();
        }
        // Halves, so that the difference of the largest floats is one.
        (value / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0)
    }

    /// Round values inside the axis, in its order, about `wanted` of them and not many more.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        let wanted = wanted.max(2) as f64;
        match &self.unit {
            Unit::Names(names) => self.name_ticks(names, wanted),
            Unit::Date(datatype) => self.date_ticks(*datatype, wanted),
            _ if self.is_log => self.log_ticks(wanted),
            unit => {
                let least = if *unit == Unit::Integer { 1.0 } else { 0.0 };
                let step = round_step((self.hi / wanted) - (self.lo / wanted)).max(least);
                self.multiples(step, |value| number_text(value, step))
            }
        }
    }

    /// Multiples of a step inside the axis.
    fn multiples(&self, step: f64, text: impl Fn(f64) -> String) -> Vec<Tick> {
        /// More are never asked for; what rounding makes of extreme ends stays bounded.
        const MAX_COUNT: usize = 64;
        let first = (self.lo / step).ceil();
        let slack = step * 1e-9;
        let at = |nth: usize| (first + nth as f64) * step;
        let inside = (0..MAX_COUNT).map(at).take_while(|value| *value <= self.hi + slack);
        inside.map(|value| Tick { at: value, text: text(value) }).collect()
    }

    fn log_ticks(&self, wanted: f64) -> Vec<Tick> {
        let (from, to) = (self.lo.log10().floor() as i32, self.hi.log10().ceil() as i32);
        let every = (f64::from(to - from) / wanted).ceil().max(1.0) as usize;
        let factors: &[f64] = if to - from <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = (from..=to).step_by(every);
        let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
        let inside = all.filter(|value| (self.lo * 0.999_999..=self.hi * 1.000_001).contains(value));
        inside.map(|value| Tick { at: value, text: number_text(value, value) }).collect()
    }

    fn name_ticks(&self, names: &[String], wanted: f64) -> Vec<Tick> {
        let first = self.lo.ceil().max(0.0) as usize;
        let last = (self.hi.floor().max(0.0) as usize).min(names.len().saturating_sub(1));
        let every = ((last.saturating_sub(first) + 1) as f64 / wanted).ceil().max(1.0) as usize;
        let places = (first..=last).step_by(every);
        places.filter_map(|at| Some(Tick { at: at as f64, text: names.get(at)?.clone() })).collect()
    }

    fn date_ticks(&self, datatype: Datatype, wanted: f64) -> Vec<Tick> {
        let text = |value: f64| format_date_time(datatype, value.round() as i64);
        let Some(length) = seconds_per_step(datatype) else {
            // Months or years.
            let steps = [1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 60.0, 120.0, 240.0, 600.0, 1200.0];
            let step = steps.into_iter().find(|step| (self.hi - self.lo) / step <= wanted);
            let step = step.unwrap_or_else(|| round_step((self.hi - self.lo) / wanted));
            return self.multiples(step, text);
        };
        let seconds = (self.hi - self.lo) * length;
        let is_clock = datatype.is_time();
        const DAY: f64 = 86_400.0;
        if !is_clock && seconds / wanted > 20.0 * DAY {
            return self.month_ticks(length, seconds, wanted);
        }
        let steps = [
            1.0,
            2.0,
            5.0,
            10.0,
            15.0,
            30.0,
            60.0,
            120.0,
            300.0,
            600.0,
            900.0,
            1800.0,
            3600.0,
            7200.0,
            10_800.0,
            21_600.0,
            43_200.0,
            DAY,
            2.0 * DAY,
            5.0 * DAY,
            7.0 * DAY,
            14.0 * DAY,
        ];
        let step = match seconds / wanted {
            fine if fine < 1.0 => round_step(fine),
            coarse => steps.into_iter().find(|step| *step >= coarse).unwrap_or_else(|| round_step(coarse)),
        };
        let step = (step / length).max(1.0);
        self.multiples(step, |value| {
            let whole = text(value);
            match (is_clock, step * length) {
                (true, _) => whole,
                (_, long) if long >= DAY => whole.get(..10).unwrap_or(&whole).to_owned(),
                (_, long) if long >= 60.0 => whole.get(5..16).unwrap_or(&whole).replace('T', " "),
                (_, long) if long >= 1.0 => whole.get(11..19).unwrap_or(&whole).to_owned(),
                _ => whole.get(11..).unwrap_or(&whole).to_owned(),
            }
        })
    }

    /// First days of months and years.
    fn month_ticks(&self, length: f64, seconds: f64, wanted: f64) -> Vec<Tick> {
        const MONTH: f64 = 30.44 * 86_400.0;
        let steps = [1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 60.0, 120.0, 240.0, 600.0, 1200.0, 6000.0];
        let step = steps.into_iter().find(|step| seconds / (step * MONTH) <= wanted);
        let step = step.unwrap_or_else(|| (round_step(seconds / wanted / MONTH / 12.0) * 12.0).max(12.0));
        let first = (self.lo * length / MONTH / step).floor() - 1.0;
        let mut ticks = Vec::new();
        for nth in 0..64 {
            let month = ((first + f64::from(nth)) * step) as i64;
            let text = format_date_time(Datatype::DateTimeMonth, month);
            let Ok(second) = parse_date_time(Datatype::DateTimeSec, &text) else { continue };
            let at = second as f64 / length;
            if (self.lo..=self.hi).contains(&at) {
                let text = if step >= 12.0 { text.trim_end_matches("-01").to_owned() } else { text };
                ticks.push(Tick { at, text });
            }
        }
        ticks
    }
}

/// Seconds that a stored step lasts; `None` where they differ.
fn seconds_per_step(datatype: Datatype) -> Option<f64> {
    let lengths = [1, 60, 3600, 86_400, 604_800];
    lengths.into_iter().find_map(|seconds| {
        let steps = steps_in_seconds(datatype, seconds)?;
        Some(seconds as f64 / steps as f64)
    })
}

/// The next 1, 2 or 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    if !least.is_finite() || least < f64::MIN_POSITIVE {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(least)
}

/// A number with as many digits as steps of this size need.
pub(crate) fn number_text(value: f64, step: f64) -> String {
    let value = if value.abs() < step.abs() * 1e-6 { 0.0 } else { value };
    let magnitude = value.abs().max(step.abs());
    if magnitude >= 1e9 || (step.abs() < 1e-5 && step != 0.0) {
        let digits = (magnitude.log10().floor() - step.abs().log10().floor()).clamp(0.0, 15.0) as usize;
        let text = format!("{value:.digits$e}");
        return if value == 0.0 { "0".into() } else { text };
    }
    let decimals = (-step.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lo: f64, hi: f64, unit: Unit, wanted: usize) -> String {
        let ticks = Axis::new("", lo, hi, unit).ticks(wanted);
        ticks.into_iter().map(|tick| tick.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_numbers_and_dates_inside_the_axis() {
        assert_eq!(texts(0.0, 9.5, Unit::Number, 5), "0 2 4 6 8");
        assert_eq!(texts(-0.3, 0.31, Unit::Number, 6), "-0.2 0.0 0.2");
        assert_eq!(texts(0.0, 2.0, Unit::Integer, 10), "0 1 2");
        assert_eq!(texts(3.0, 3.0, Unit::Integer, 5), "3");
        assert_eq!(texts(0.0, 4319.0, Unit::Integer, 6), "0 1000 2000 3000 4000");
        assert_eq!(texts(1e-9, 5e-9, Unit::Number, 5), "1e-9 2e-9 3e-9 4e-9 5e-9");
        let names = Unit::Names(["a", "b", "c"].map(String::from).to_vec());
        assert_eq!(texts(-0.5, 2.5, names, 8), "a b c");
        let days = |lo, hi, wanted| texts(lo, hi, Unit::Date(Datatype::DateTimeDay), wanted);
        assert_eq!(days(0.0, 4.0, 6), "1970-01-01 1970-01-02 1970-01-03 1970-01-04 1970-01-05");
        assert_eq!(days(10.0, 200.0, 8), "1970-02 1970-03 1970-04 1970-05 1970-06 1970-07");
        assert_eq!(days(0.0, 3000.0, 5), "1970 1972 1974 1976 1978");
        assert_eq!(
            texts(0.0, 36e5, Unit::Date(Datatype::DateTimeMs), 4),
            "01-01 00:00 01-01 00:15 01-01 00:30 01-01 00:45 01-01 01:00"
        );
        assert_eq!(texts(0.0, 5.0, Unit::Date(Datatype::DateTimeYear), 3), "1970 1972 1974");
        assert_eq!(texts(0.0, 7200.0, Unit::Date(Datatype::TimeSec), 3), "00:00:00 01:00:00 02:00:00");
        let log = Axis { is_log: true, ..Axis::new("", 1.0, 1e6, Unit::Number) };
        assert_eq!(log.ticks(8).len(), 7);
        assert_eq!(log.share(1e3), 0.5);
    }

    #[test]
    fn extreme_ends_make_few_ticks() {
        for (lo, hi) in [(f64::MIN, f64::MAX), (0.0, 5e-324), (1e300, 1.000_000_1e300), (-1e-300, 1e300)] {
            for unit in [
                Unit::Number,
                Unit::Integer,
                Unit::Date(Datatype::DateTimeNs),
                Unit::Date(Datatype::DateTimeYear),
            ] {
                assert!(texts(lo, hi, unit, 8).len() < 5000, "{lo} {hi}");
            }
        }
    }
}
