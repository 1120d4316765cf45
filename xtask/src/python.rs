//! Python environments with pinned packages, inside cargo's target folder.

use crate::process::run;
use crate::workspace::Workspace;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The Python of an environment `name` that holds exactly the packages of the requirements file (a path
/// from the root of the workspace). The environment is made at the first call and again when the
/// requirements change.
///
/// The variable PYTHON names the Python to make it with; `python3` by default.
pub(crate) fn environment(workspace: &Workspace, name: &str, requirements: &str) -> Result<PathBuf, String> {
    let wanted = fs::read(workspace.root.join(requirements))
        .map_err(|e| format!("cannot read {requirements}, which pins the Python packages: {e}"))?;
    let folder = workspace.target.join(name);
    let python = folder.join("bin").join("python");
    let installed = folder.join("installed-requirements.txt");
    if python.exists() && fs::read(&installed).is_ok_and(|content| content == wanted) {
        return Ok(python);
    }

    println!("making {} from {requirements}", folder.display());
    let system = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    run(Command::new(&system).args(["-m", "venv", "--clear"]).arg(&folder))
        .map_err(|e| format!("{e}; it needs Python 3.9 or newer with its venv module"))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(workspace.root.join(requirements)))
    .map_err(|e| {
        format!(
            "{e}; without a network the Python packages of {requirements} cannot be had: \
             `cargo xtask test --no-interop` leaves out the steps that need them"
        )
    })?;
    fs::write(&installed, wanted).map_err(|e| format!("cannot write {}: {e}", installed.display()))?;
    Ok(python)
}
