//! What is handed out: `target/dist/bin/smalti`, small and without symbols, and the drop-in libtiledb beside it.

use crate::process::run;
use crate::workspace::{Workspace, cargo};
use crate::{Outcome, library};
use std::process::Command;

/// The program is smaller: what is meant to be carried about and put into containers.
const MAX_PROGRAM_BYTE_LEN: u64 = 20_000_000;

/// Builds all that is handed out with the profile `dist`, and checks it.
pub(crate) fn build(workspace: &Workspace) -> Outcome {
    program(workspace)?;
    library::build(workspace, "dist", &workspace.target.join("dist"))
}

/// Lays out the library alone, of the debug build, which takes a fraction of the time: to try the headers, pkg-config and CMake with.
pub(crate) fn debug_library(workspace: &Workspace) -> Outcome {
    library::build(workspace, "dev", &workspace.target.join("dist-debug"))
}

/// Builds the program, and checks its size.
fn program(workspace: &Workspace) -> Outcome {
    let mut build = Command::new(cargo());
    let options = ["build", "--profile", "dist", "--locked", "--package", "smalti-cli"];
    run(build.args(options).current_dir(&workspace.root))?;
    let built = workspace.target.join("dist").join("smalti");
    let wrong = |error: std::io::Error| format!("{}: {error}", built.display());
    let folder = workspace.target.join("dist").join("bin");
    std::fs::create_dir_all(&folder).map_err(wrong)?;
    let program = folder.join("smalti");
    let byte_len = std::fs::copy(&built, &program).map_err(wrong)?;
    println!("{}: {:.1} MB", program.display(), byte_len as f64 / 1e6);
    match byte_len {
        0..MAX_PROGRAM_BYTE_LEN => Ok(()),
        _ => Err(format!("the program has {byte_len} bytes, more than {MAX_PROGRAM_BYTE_LEN}")),
    }
}
