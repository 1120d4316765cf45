//! Arrays exchanged with libtiledb: random cases, written by one library and read by the other.

use crate::Outcome;
use crate::process::{run, run_counted};
use crate::python::environment;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

/// A test program, with the options that it has unless others are given: the cases that every change must pass, in each
/// direction.
struct Script {
    path: &'static str,
    defaults: &'static [(&'static str, &'static str)],
}

const SCRIPTS: &[Script] = &[
    Script {
        path: "tests/interop/differential.py",
        defaults: &[("--count", "200"), ("--seed", "1"), ("--direction", "both")],
    },
    Script {
        path: "tests/interop/evolution.py",
        defaults: &[("--count", "40"), ("--seed", "1"), ("--direction", "both")],
    },
];

const REQUIREMENTS: &str = "tests/interop/requirements.txt";

/// Builds the program and runs the tests with `options`, for as long as they ask.
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

/// Runs the tests on the built program and adds their cases to `tally`.
pub(crate) fn run_cases(workspace: &Workspace, options: &[&str], tally: &mut Tally) -> Outcome {
    let python = environment(workspace, "venv", REQUIREMENTS)?;
    for Script { path, defaults } in SCRIPTS {
        let script = workspace.root.join(path);
        if !script.exists() {
            return Err(format!("{path} is missing"));
        }
        let mut test = Command::new(&python);
        test.arg(script).arg("--smalti").arg(program(workspace)).args(with_defaults(defaults, options));
        let mut cases = Tally::default();
        let outcome = run_counted(&mut test, &mut cases);
        let passed = cases.passed;
        *tally += cases;
        outcome?;
        if passed == 0 {
            return Err(format!("{path} succeeded and reported no passed case"));
        }
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
            with_defaults(SCRIPTS[0].defaults, &["--seed", "7", "--jobs", "1"]),
            ["--count", "200", "--direction", "both", "--seed", "7", "--jobs", "1"]
        );
    }
}
