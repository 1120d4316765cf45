//! The long versions of the tests of crashes, failing calls and interleavings.

use crate::Outcome;
use crate::process::run;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

/// Runs them all; each prints a line with the number of states that it has seen.
pub(crate) fn long_run(workspace: &Workspace) -> Outcome {
    let mut states = Command::new(cargo());
    states.args(["test", "--release", "--locked", "--package", "smalti-tests", "--test", "integration"]);
    states.args(["--", "upkeep", "--ignored", "--nocapture"]);
    run(states.current_dir(&workspace.root))
}
