//! Measurements against peers, all in one run.

use crate::Outcome;
use crate::interop::{build_program, program};
use crate::process;
use crate::python::environment;
use crate::workspace::Workspace;
use std::process::Command;

const SCRIPT: &str = "bench/compare.py";
const REQUIREMENTS: &str = "bench/requirements.txt";

/// Builds the program and runs the comparison with `options`.
pub(crate) fn run(workspace: &Workspace, options: &[&str]) -> Outcome {
    let script = workspace.root.join(SCRIPT);
    if !script.exists() {
        return Err(format!("{SCRIPT} is missing"));
    }
    build_program(workspace)?;
    let python = environment(workspace, "venv-bench", REQUIREMENTS)?;
    process::run(Command::new(python).arg(script).arg("--smalti").arg(program(workspace)).args(options))
}
