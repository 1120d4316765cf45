//! Measurements against peers, all in one run.

use crate::Outcome;
use crate::process;
use crate::python::environment;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

const SCRIPT: &str = "bench/compare.py";
const REQUIREMENTS: &str = "bench/requirements.txt";
/// What other engines need, for `--others`.
const OTHERS: &str = "bench/requirements-others.txt";

/// Builds the peer and runs the comparison with `options`.
pub(crate) fn run(workspace: &Workspace, options: &[&str]) -> Outcome {
    let script = workspace.root.join(SCRIPT);
    if !script.exists() {
        return Err(format!("{SCRIPT} is missing"));
    }
    process::run(
        Command::new(cargo())
            .args(["build", "--release", "--locked", "--package", "smalti-bench"])
            .current_dir(&workspace.root),
    )?;
    let peer = workspace.target.join("release").join(format!("smalti-bench{}", std::env::consts::EXE_SUFFIX));
    let (folder, requirements) = if options.iter().any(|option| option.starts_with("--others")) {
        ("venv-bench-others", OTHERS)
    } else {
        ("venv-bench", REQUIREMENTS)
    };
    let python = environment(workspace, folder, requirements)?;
    process::run(Command::new(python).arg(script).arg("--peer").arg(peer).args(options))
}
