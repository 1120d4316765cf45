//! Measurements against peers, all in one run.

use crate::Outcome;
use crate::process;
use crate::python::environment;
use crate::workspace::{Workspace, cargo};
use std::path::PathBuf;
use std::process::Command;

const SCRIPT: &str = "bench/compare.py";
/// The measurements of arrays in buckets.
const STORES_SCRIPT: &str = "bench/objectstores.py";
/// Where the time of each workload goes; needs perf.
const SHARES_SCRIPT: &str = "bench/shares.py";
const REQUIREMENTS: &str = "bench/requirements.txt";
/// What other engines need, for `--others`.
const OTHERS: &str = "bench/requirements-others.txt";

/// Builds the peer and runs the comparison with `options`.
pub(crate) fn run(workspace: &Workspace, options: &[&str]) -> Outcome {
    let script = workspace.root.join(SCRIPT);
    if !script.exists() {
        return Err(format!("{SCRIPT} is missing"));
    }
    build(workspace, &["--package", "smalti-bench"])?;
    let (folder, requirements) = if options.iter().any(|option| option.starts_with("--others")) {
        ("venv-bench-others", OTHERS)
    } else {
        ("venv-bench", REQUIREMENTS)
    };
    let python = environment(workspace, folder, requirements)?;
    process::run(
        Command::new(python).arg(script).arg("--peer").arg(built(workspace, "smalti-bench")).args(options),
    )
}

/// Builds the peer, and has perf look at it in the workloads of the comparison.
pub(crate) fn shares(workspace: &Workspace, options: &[&str]) -> Outcome {
    build(workspace, &["--package", "smalti-bench"])?;
    let python = environment(workspace, "venv-bench", REQUIREMENTS)?;
    let script = workspace.root.join(SHARES_SCRIPT);
    process::run(
        Command::new(python).arg(script).arg("--peer").arg(built(workspace, "smalti-bench")).args(options),
    )
}

/// Builds the peer, a server of S3 and a proxy that delays it, and measures arrays in a bucket.
pub(crate) fn object_stores(workspace: &Workspace, options: &[&str]) -> Outcome {
    build(workspace, &["--package", "smalti-bench"])?;
    build(workspace, &["--package", "smalti-tests", "--bin", "s3-server", "--bin", "fault-proxy"])?;
    let python = environment(workspace, "venv-bench", REQUIREMENTS)?;
    let mut script = Command::new(python);
    script.arg(workspace.root.join(STORES_SCRIPT));
    for (option, program) in
        [("--peer", "smalti-bench"), ("--server", "s3-server"), ("--proxy", "fault-proxy")]
    {
        script.arg(option).arg(built(workspace, program));
    }
    // The last of an option that is given twice counts.
    process::run(script.args(options))
}

fn build(workspace: &Workspace, what: &[&str]) -> Outcome {
    let mut build = Command::new(cargo());
    process::run(build.args(["build", "--release", "--locked"]).args(what).current_dir(&workspace.root))
}

/// A program that was built.
fn built(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
