//! Arrays exchanged with libtiledb: random cases, written by one library and read by the other.

use crate::Outcome;
use crate::process::{run, run_counted};
use crate::python::environment;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

/// The cases that every change must pass, in each direction.
const DEFAULTS: &[(&str, &str)] = &[("--count", "200"), ("--seed", "1"), ("--direction", "both")];

/// The cases of groups that every change must pass.
const GROUP_DEFAULTS: &[(&str, &str)] = &[("--count", "40"), ("--seed", "1")];

const SCRIPT: &str = "tests/interop/differential.py";
const GROUPS: &str = "tests/interop/groups.py";
/// What the Python environment of the tests holds.
pub(crate) const REQUIREMENTS: &str = "tests/interop/requirements.txt";

/// Builds the program and runs the differential test with `options`, for as long as they ask.
pub(crate) fn long_run(workspace: &Workspace, options: &[&str]) -> Outcome {
    build_program(workspace)?;
    let mut tally = Tally::default();
    run_cases(workspace, options, &mut tally)
}

/// Builds `target/release/smalti`.
pub(crate) fn build_program(workspace: &Workspace) -> Outcome {
    let mut build = Command::new(cargo());
    run(build
        .args(["build", "--release", "--locked", "--package", "smalti-cli"])
        .current_dir(&workspace.root))
}

/// Runs the differential tests on the built program and adds their cases to `tally`.
pub(crate) fn run_cases(workspace: &Workspace, options: &[&str], tally: &mut Tally) -> Outcome {
    run_script(workspace, SCRIPT, &with_defaults(DEFAULTS, options), tally)?;
    // Options for single cases are about cases of arrays.
    if options.iter().any(|option| ["--case", "--direction", "--self-check"].contains(option)) {
        return Ok(());
    }
    run_script(workspace, GROUPS, &with_defaults(GROUP_DEFAULTS, options), tally)
}

fn run_script(workspace: &Workspace, name: &str, options: &[&str], tally: &mut Tally) -> Outcome {
    let script = workspace.root.join(name);
    if !script.exists() {
        return Err(format!("{name} is missing"));
    }
    let python = environment(workspace, "venv", REQUIREMENTS)?;
    let mut test = Command::new(python);
    test.arg(script).arg("--smalti").arg(program(workspace)).args(options);
    let mut cases = Tally::default();
    let outcome = run_counted(&mut test, &mut cases);
    *tally += cases;
    outcome?;
    if cases.passed == 0 {
        return Err(format!("{name} succeeded and reported no passed case"));
    }
    Ok(())
}

/// The path of the built command line program.
pub(crate) fn program(workspace: &Workspace) -> std::path::PathBuf {
    workspace.target.join("release").join(format!("smalti{}", std::env::consts::EXE_SUFFIX))
}

fn with_defaults<'a>(defaults: &[(&'a str, &'a str)], options: &[&'a str]) -> Vec<&'a str> {
    let absent = defaults.iter().filter(|(name, _)| !options.contains(name));
    absent.flat_map(|(name, value)| [*name, *value]).chain(options.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_options_replace_defaults() {
        assert_eq!(
            with_defaults(DEFAULTS, &["--seed", "7", "--jobs", "1"]),
            ["--count", "200", "--direction", "both", "--seed", "7", "--jobs", "1"]
        );
    }
}
