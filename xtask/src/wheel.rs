//! The Python package: its wheel, and the tests that run in an environment where it is installed.

use crate::Outcome;
use crate::dist::LIBRARY_PROFILE;
use crate::process::{run, run_counted};
use crate::python::environment;
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "crates/python";
const TESTS: &str = "crates/python/tests";
const REQUIREMENTS: &str = "crates/python/tests/requirements.txt";

/// What is fetched in a moment, and fits into a container beside others.
const MAX_WHEEL_BYTE_LEN: u64 = 25_000_000;

/// Builds the wheel that is handed out, into `target/wheels`, and checks its size.
pub(crate) fn build(workspace: &Workspace) -> Outcome {
    let python = environment(workspace, "venv-python", REQUIREMENTS)?;
    let wheel = wheel(workspace, &python, LIBRARY_PROFILE, &workspace.target.join("wheels"))?;
    let byte_len = std::fs::metadata(&wheel).map_err(|e| format!("{}: {e}", wheel.display()))?.len();
    println!("{}: {:.1} MB", wheel.display(), byte_len as f64 / 1e6);
    match byte_len {
        0..MAX_WHEEL_BYTE_LEN => Ok(()),
        _ => Err(format!("the wheel has {byte_len} bytes, more than {MAX_WHEEL_BYTE_LEN}")),
    }
}

/// Installs the package, built with the profile of the tests, and runs its tests.
pub(crate) fn tests(workspace: &Workspace, tally: &mut Tally) -> Outcome {
    let python = environment(workspace, "venv-python", REQUIREMENTS)?;
    let wheel = wheel(workspace, &python, "release", &workspace.target.join("wheels-tested"))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    run(Command::new(&python).args(install).arg("--force-reinstall").arg(&wheel))?;
    let mut cases = Tally::default();
    let outcome = run_counted(
        Command::new(&python)
            .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
            .arg(workspace.root.join(TESTS))
            .current_dir(&workspace.target),
        &mut cases,
    );
    let passed = cases.passed;
    *tally += cases;
    outcome?;
    if passed == 0 { Err(format!("{TESTS} succeeded and reported no passed case")) } else { Ok(()) }
}

/// Runs the tests of the package alone.
pub(crate) fn tests_alone(workspace: &Workspace) -> Outcome {
    tests(workspace, &mut Tally::default())
}

/// The only wheel that maturin puts into a folder.
fn wheel(workspace: &Workspace, python: &Path, profile: &str, folder: &Path) -> Result<PathBuf, String> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    run(Command::new(python)
        .args(["-m", "maturin", "build", "--quiet", "--locked", "--profile", profile, "--interpreter"])
        .arg(python)
        .arg("--out")
        .arg(folder)
        .arg("--target-dir")
        .arg(&workspace.target)
        .current_dir(workspace.root.join(PACKAGE)))?;
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut wheels = entries.flatten().map(|entry| entry.path());
    wheels
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| format!("maturin put no wheel into {}", folder.display()))
}
