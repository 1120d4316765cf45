//! The fuzzers: a program of the tests.

use crate::Outcome;
use crate::process::run;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

/// Runs a campaign of the fuzzers on stable Rust with these options.
pub(crate) fn campaign(workspace: &Workspace, options: &[&str]) -> Outcome {
    let mut fuzz = Command::new(cargo());
    fuzz.args([
        "run",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "smalti-tests",
        "--bin",
        "fuzz",
        "--",
    ]);
    run(fuzz.args(options).current_dir(&workspace.root))
}
