//! The long versions of the tests of crashes, failing calls and interleavings.

use crate::Outcome;
use crate::process::run;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

/// The parts of a long run, by the modules whose long tests they are.
const PARTS: &[&str] = &["cuts", "faults", "interleavings", "buckets", "requests"];

/// Options that take a number, with the variables that tell the tests.
const NUMBERS: &[(&str, &str)] = &[
    ("--schedules", "SMALTI_SCHEDULES"),
    ("--seed", "SMALTI_SEED"),
    ("--stride", "SMALTI_STRIDE"),
    ("--first", "SMALTI_FIRST"),
    ("--seconds", "SMALTI_SECONDS"),
];

/// Runs parts, all unless some are named; each prints how far it is, and at its end the number of states that it has seen.
pub(crate) fn long_run(workspace: &Workspace, options: &[&str]) -> Outcome {
    let wanted = Wanted::of(options)?;
    let mut states = Command::new(cargo());
    states.args(["test", "--release", "--locked", "--workspace", "--test", "integration", "--"]);
    states.args(["--ignored", "--nocapture", "--test-threads", "1"]);
    states.args(wanted.parts.iter().map(|part| format!("upkeep::{part}::long_run")));
    states.envs(wanted.variables);
    run(states.current_dir(&workspace.root))
}

#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    parts: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl Wanted {
    fn of(options: &[&str]) -> Result<Wanted, String> {
        let mut wanted = Wanted { parts: Vec::new(), variables: Vec::new() };
        let mut options = options.iter();
        while let Some(&option) = options.next() {
            if PARTS.contains(&option) {
                wanted.parts.push(option.to_owned());
                continue;
            }
            let value = options.next().ok_or_else(|| format!("states: {option} needs a value"))?;
            if option == "--share" {
                let (share, shares) = value.split_once('/').ok_or("states: --share is I/N, from 0/N on")?;
                wanted.variables.push(("SMALTI_SHARE", number(option, share)?));
                wanted.variables.push(("SMALTI_SHARES", number(option, shares)?));
                continue;
            }
            let known = NUMBERS.iter().find(|(name, _)| *name == option);
            let (_, variable) = known.ok_or_else(|| format!("states: no part or option `{option}`"))?;
            wanted.variables.push((variable, number(option, value)?));
        }
        if wanted.parts.is_empty() {
            wanted.parts = PARTS.iter().map(|part| part.to_string()).collect();
        }
        Ok(wanted)
    }
}

fn number(option: &str, value: &str) -> Result<String, String> {
    match value.parse::<u64>() {
        Ok(number) => Ok(number.to_string()),
        Err(_) => Err(format!("states: {option} takes a number, not `{value}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_options_are_understood() {
        let wanted = Wanted::of(&["cuts", "--share", "1/4", "--seconds", "600"]).unwrap();
        assert_eq!(wanted.parts, ["cuts"]);
        let variables = [("SMALTI_SHARE", "1"), ("SMALTI_SHARES", "4"), ("SMALTI_SECONDS", "600")];
        assert_eq!(wanted.variables, variables.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(Wanted::of(&[]).unwrap().parts, PARTS);
        for wrong in [&["cut"][..], &["--seconds"], &["--seed", "x"], &["--share", "2"], &["--sched", "5"]] {
            assert!(Wanted::of(wrong).is_err(), "{wrong:?}");
        }
    }
}
