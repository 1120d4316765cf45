//! The tests that measure time: on a quiet machine, beside the command that every change must pass.

use crate::Outcome;
use crate::process::run;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

/// Set for tests that measure time only when they are asked to.
const TIMED: &str = "SMALTI_TIMED";

/// Test programs, and the options that those take.
const PROGRAMS: &[(&str, &[&str])] = &[("bombs", &[]), ("progress", &["--test-threads", "1"])];

/// Hostile arrays end in an error within 50 ms, reads that are stopped within 100.
pub(crate) fn run_all(workspace: &Workspace) -> Outcome {
    for (program, options) in PROGRAMS {
        let mut test = Command::new(cargo());
        test.args(["test", "--release", "--locked", "--workspace", "--test", program, "--"]);
        run(test.args(*options).env(TIMED, "1").current_dir(&workspace.root))?;
    }
    Ok(())
}
