//! Arrays written for older format versions, read by releases of libtiledb of that time.

use crate::Outcome;
use crate::interop::{REQUIREMENTS, build_program, program};
use crate::process::run_counted;
use crate::python::environment;
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::process::Command;

const SCRIPT: &str = "tests/oldreaders/oldreaders.py";

/// The page that `--docs` writes.
const PAGE: &str = "docs/oldreaders.md";

/// What every change must pass: the oldest version that is written, and one from the middle, each read by its own
/// release.
const SHORT: &[&str] = &["--version", "12", "--version", "20", "--newer", "none", "--count", "5"];

/// Builds the program and runs all versions, or those that `options` ask for.
pub(crate) fn long_run(workspace: &Workspace, options: &[&str]) -> Outcome {
    build_program(workspace)?;
    run_cases(workspace, options, &mut Tally::default())
}

/// Runs the short form on the built program and adds its cases to `tally`.
pub(crate) fn short_run(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    run_cases(workspace, SHORT, tally)
}

fn run_cases(workspace: &Workspace, options: &[&str], tally: &mut Tally) -> Outcome {
    let python = environment(workspace, "venv", REQUIREMENTS)?;
    let mut test = Command::new(python);
    test.arg(workspace.root.join(SCRIPT)).arg("--smalti").arg(program(workspace));
    test.arg("--cache").arg(workspace.target.join("oldlibs"));
    for option in options {
        test.arg(option);
        if *option == "--docs" {
            test.arg(workspace.root.join(PAGE));
        }
    }
    let mut cases = Tally::default();
    let outcome = run_counted(&mut test, &mut cases);
    *tally += cases;
    outcome
}
