//! Counts of tests, read from what test programs print.

use std::ops::AddAssign;

/// How many tests passed, failed and were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// The counts in a line of cargo's test runner
    /// (`test result: ok. 3 passed; 0 failed; 1 ignored; ...`) or in a line that holds nothing but
    /// `3 passed, 0 failed`, or `3 passed, 0 failed, 1 skipped`. None in any other line.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let line = line.trim();
        if let Some(result) = line.strip_prefix("test result: ") {
            let (_, counts) = result.split_once(". ")?;
            let mut tally = Self::default();
            for part in counts.split("; ") {
                match part.split_once(' ') {
                    Some((count, "passed")) => tally.passed = count.parse().ok()?,
                    Some((count, "failed")) => tally.failed = count.parse().ok()?,
                    Some((count, "ignored")) => tally.skipped = count.parse().ok()?,
                    _ => {}
                }
            }
            return Some(tally);
        }
        let (passed, rest) = line.split_once(" passed, ")?;
        let (failed, skipped) = match rest.strip_suffix(" skipped") {
            Some(rest) => rest.split_once(" failed, ")?,
            None => (rest.strip_suffix(" failed")?, "0"),
        };
        Some(Self {
            passed: passed.parse().ok()?,
            failed: failed.parse().ok()?,
            skipped: skipped.parse().ok()?,
        })
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_of_cargo_is_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s";
        assert_eq!(Tally::of_line(line), Some(Tally { passed: 12, failed: 3, skipped: 1 }));
    }

    #[test]
    fn a_plain_line_is_counted() {
        assert_eq!(
            Tally::of_line("400 passed, 2 failed"),
            Some(Tally { passed: 400, failed: 2, skipped: 0 })
        );
    }

    #[test]
    fn what_it_says_itself_is_counted() {
        for skipped in [0, 2] {
            let tally = Tally { passed: 5, failed: 1, skipped };
            assert_eq!(Tally::of_line(&tally.to_string()), Some(tally));
        }
    }

    #[test]
    fn other_lines_are_not_counted() {
        for line in ["", "test a_sum ... ok", "ours-to-theirs: 200 passed, 0 failed", "x passed, 1 failed"] {
            assert_eq!(Tally::of_line(line), None, "{line}");
        }
    }
}
