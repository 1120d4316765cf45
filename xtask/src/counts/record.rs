//! The committed counts, and how new ones compare with them.

use crate::Outcome;
use std::fmt;

/// Cases and their counts, in the order of the program.
pub(super) type Counted = Vec<(String, u64)>;

/// A count may differ from the recorded one by so many hundredths.
const TOLERANCE: u128 = 3;

/// Counts as they are committed: a line on the tools that made them, then a line a case.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// What the counts depend on beside the sources.
    pub(super) tools: String,
    counts: Counted,
}

impl Record {
    /// Reads a record.
    pub(super) fn parse(text: &str) -> Result<Record, String> {
        let mut lines = text.lines().enumerate();
        let head = lines.next().and_then(|(_, line)| line.strip_prefix("# "));
        let tools = head.ok_or("its first line does not name the tools")?.to_owned();
        let case = |(at, line): (usize, &str)| {
            let parts = line.split_once('\t').and_then(|(name, count)| Some((name, count.parse().ok()?)));
            let (name, count) = parts.ok_or_else(|| format!("line {} is no name and count", at + 1))?;
            Ok((name.to_owned(), count))
        };
        let counts = lines.map(case).collect::<Result<Counted, String>>()?;
        Ok(Record { tools, counts })
    }

    /// The record with new counts, all or those of some cases, in the order of `all`.
    pub(super) fn renewed(&self, all: &[String], counted: &Counted, tools: String) -> Result<Record, String> {
        if counted.len() < all.len() && self.tools != tools {
            return Err(format!("the record was made by other tools, {}: update all of it", self.tools));
        }
        let known = |name: &String| count_of(counted, name).or_else(|| count_of(&self.counts, name));
        let counts = all.iter().filter_map(|name| Some((name.clone(), known(name)?))).collect();
        Ok(Record { tools, counts })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}", self.tools)?;
        self.counts.iter().try_for_each(|(name, count)| writeln!(f, "{name}\t{count}"))
    }
}

fn count_of(counts: &Counted, name: &str) -> Option<u64> {
    counts.iter().find(|(known, _)| known == name).map(|(_, count)| *count)
}

/// A case here and in the record.
struct Line {
    name: String,
    counted: u64,
    recorded: Option<u64>,
}

impl Line {
    /// The count in percent of the recorded one, less 100; `None` without one.
    fn change(&self) -> Option<f64> {
        self.recorded.map(|recorded| (self.counted as f64 / recorded as f64 - 1.0) * 100.0)
    }

    fn is_above(&self) -> bool {
        self.recorded
            .is_some_and(|recorded| u128::from(self.counted) * 100 > u128::from(recorded) * (100 + TOLERANCE))
    }

    fn is_below(&self) -> bool {
        self.recorded
            .is_some_and(|recorded| u128::from(self.counted) * 100 < u128::from(recorded) * (100 - TOLERANCE))
    }

    fn told(&self) -> String {
        format!("{} ({})", self.name, percent(self.change()))
    }
}

fn percent(change: Option<f64>) -> String {
    change.map_or("new".to_owned(), |change| format!("{change:+.2} %"))
}

/// New counts beside the recorded ones.
pub(super) struct Comparison {
    lines: Vec<Line>,
    /// Cases of the record that are no more.
    gone: Vec<String>,
}

impl Comparison {
    /// Compares; `are_all` says whether all cases were counted.
    pub(super) fn new(counted: &Counted, record: &Record, are_all: bool) -> Comparison {
        let line = |(name, count): &(String, u64)| Line {
            name: name.clone(),
            counted: *count,
            recorded: count_of(&record.counts, name),
        };
        let gone = record.counts.iter().map(|(name, _)| name);
        let gone = gone.filter(|name| are_all && count_of(counted, name).is_none()).cloned().collect();
        Comparison { lines: counted.iter().map(line).collect(), gone }
    }

    /// A failure where the record has not exactly the cases, or, of counts that `are_alike`, made by the same tools, where a case takes
    /// more instructions than it did.
    pub(super) fn judgement(&self, record: &str, are_alike: bool) -> Outcome {
        let named = |is_one: fn(&Line) -> bool| self.lines.iter().filter(move |line| is_one(line));
        let told = |is_one| named(is_one).filter(|_| are_alike).map(Line::told).collect::<Vec<_>>();
        let (above, below) = (told(Line::is_above), told(Line::is_below));
        let new: Vec<&str> = named(|line| line.recorded.is_none()).map(|line| &line.name[..]).collect();
        if !below.is_empty() {
            println!("fewer instructions by more than {TOLERANCE} %: {}", below.join(", "));
            println!("`cargo xtask counts --update` keeps what was won");
        }
        let mut faults = Vec::new();
        if !above.is_empty() {
            faults.push(format!("more instructions by more than {TOLERANCE} %: {}", above.join(", ")));
        }
        if !new.is_empty() {
            faults.push(format!("not in {record}: {}", new.join(", ")));
        }
        if !self.gone.is_empty() {
            faults.push(format!("in {record}, and no case any more: {}", self.gone.join(", ")));
        }
        match faults.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "{}; where that is meant, `cargo xtask counts --update`, and say why in the commit message",
                faults.join("; ")
            )),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<28} {:>12} {:>12} {:>9}", "case", "instructions", "recorded", "change")?;
        for line in &self.lines {
            let recorded = line.recorded.map_or("-".to_owned(), |count| count.to_string());
            let change = percent(line.change());
            writeln!(f, "{:<28} {:>12} {recorded:>12} {change:>9}", line.name, line.counted)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counts: &[(&str, u64)]) -> Counted {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    fn record(counts: &[(&str, u64)]) -> Record {
        Record { tools: "rustc 1 for here".to_owned(), counts: counted(counts) }
    }

    fn judged(counts: &[(&str, u64)], recorded: &[(&str, u64)]) -> Outcome {
        Comparison::new(&counted(counts), &record(recorded), true).judgement("record", true)
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let record = record(&[("zstd-encode", 7), ("zstd-decode", u64::MAX)]);
        assert_eq!(Record::parse(&record.to_string()), Ok(record));
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_line() {
        for (text, why) in [
            ("", "first line"),
            ("a\t1\n", "first line"),
            ("# tools\na 1\n", "line 2"),
            ("# tools\na\t1\nb\t-1\n", "line 3"),
            ("# tools\na\t1\n\n", "line 3"),
            ("# tools\n\t\n", "line 2"),
        ] {
            let refused = Record::parse(text).unwrap_err();
            assert!(refused.contains(why), "{text:?}: {refused}");
        }
    }

    #[test]
    fn up_to_three_hundredths_more_pass_and_one_instruction_more_is_named() {
        assert_eq!(judged(&[("a", 1030), ("b", 970)], &[("a", 1000), ("b", 1000)]), Ok(()));
        let fault =
            judged(&[("a", 1031), ("b", 1200), ("c", 1000)], &[("a", 1000), ("b", 1000), ("c", 1000)]);
        let fault = fault.unwrap_err();
        assert!(fault.contains("a (+3.10 %), b (+20.00 %);") && !fault.contains("c ("), "{fault}");
        assert!(fault.contains("cargo xtask counts --update"), "{fault}");
        assert!(judged(&[("a", 1)], &[("a", 0)]).is_err());
        assert_eq!(judged(&[("a", u64::MAX)], &[("a", u64::MAX)]), Ok(()));
    }

    #[test]
    fn fewer_instructions_pass() {
        assert_eq!(judged(&[("a", 1)], &[("a", 1000)]), Ok(()));
    }

    #[test]
    fn counts_of_other_tools_are_not_judged_and_cases_are() {
        let judged = |counts: &[(&str, u64)]| {
            Comparison::new(&counted(counts), &record(&[("a", 1)]), true).judgement("record", false)
        };
        assert_eq!(judged(&[("a", 7)]), Ok(()));
        assert!(judged(&[("a", 7), ("b", 7)]).is_err());
    }

    #[test]
    fn the_record_has_exactly_the_cases() {
        let fault = judged(&[("a", 1), ("new", 1)], &[("a", 1), ("old", 1)]).unwrap_err();
        assert!(fault.contains("not in record: new;") && fault.contains("no case any more: old"), "{fault}");
        let some = Comparison::new(&counted(&[("a", 1)]), &record(&[("a", 1), ("b", 1)]), false);
        assert_eq!(some.judgement("record", true), Ok(()), "cases that nobody asked for are not missed");
    }

    #[test]
    fn some_counts_are_renewed_and_the_others_stay() {
        let all = ["b", "a", "c"].map(str::to_owned);
        let record = record(&[("a", 1), ("b", 2), ("gone", 3)]);
        let renewed = record.renewed(&all, &counted(&[("a", 7)]), record.tools.clone()).unwrap();
        assert_eq!(renewed.to_string(), "# rustc 1 for here\nb\t2\na\t7\n");
        assert!(record.renewed(&all, &counted(&[("a", 7)]), "rustc 2".to_owned()).is_err());
    }
}
