//! What is handed out: `target/dist/bin/smalti`, small and without symbols, and the drop-in libtiledb beside it.

use crate::process::run;
use crate::workspace::{Workspace, cargo};
use crate::{Outcome, library};
use std::path::Path;
use std::process::Command;

/// The program is smaller: what is meant to be carried about and put into containers.
const MAX_PROGRAM_BYTE_LEN: u64 = 20_000_000;

/// The profile of what runs inside of other programs, where a panic must not end the process.
pub(crate) const LIBRARY_PROFILE: &str = "dist-library";

/// Functions of the same code become one, constants of the same content too, addresses are packed, and what only unwinding reads is left
/// out, as the profile's panics do not unwind (docs/decisions/0023). For the linker that Rust brings on this platform, and glibc 2.36; elsewhere the program is larger.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const LINK_ARGS: &[&str] = &[
    "-Wl,--icf=all",
    "-Wl,--ignore-data-address-equality",
    "-Wl,-z,pack-relative-relocs",
    "-Wl,--no-eh-frame-hdr",
];
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
const LINK_ARGS: &[&str] = &[];

/// The part of a linker script that leaves out the tables of unwinding.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const LINK_SCRIPT: Option<&str> = Some("SECTIONS { /DISCARD/ : { *(.eh_frame) } } INSERT AFTER .text;\n");
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
const LINK_SCRIPT: Option<&str> = None;

/// A Parquet file that its reader panics on.
const HOSTILE_FILE: &str = "tests/fixtures/hostile.parquet";

/// Builds all that is handed out with the profiles `dist` and `dist-library`, and checks it.
pub(crate) fn build(workspace: &Workspace) -> Outcome {
    program(workspace)?;
    library::build(workspace, LIBRARY_PROFILE, &workspace.target.join("dist"))
}

/// Lays out the library alone, of the debug build, which takes a fraction of the time: to try the headers, pkg-config and CMake with.
pub(crate) fn debug_library(workspace: &Workspace) -> Outcome {
    library::build(workspace, "dev", &workspace.target.join("dist-debug"))
}

/// Builds the program, and checks its size and that it reports damaged files.
fn program(workspace: &Workspace) -> Outcome {
    let mut build = Command::new(cargo());
    let options = ["rustc", "--profile", "dist", "--locked", "--package", "smalti-cli", "--bin", "smalti"];
    build.args(options).current_dir(&workspace.root).arg("--");
    let told = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let folder = workspace.target.join("dist").join("bin");
    std::fs::create_dir_all(&folder).map_err(|e| told(&folder, e))?;
    build.args(LINK_ARGS.iter().map(|arg| format!("-Clink-arg={arg}")));
    if let Some(script) = LINK_SCRIPT {
        let path = workspace.target.join("dist").join("no-unwinding.ld");
        std::fs::write(&path, script).map_err(|e| told(&path, e))?;
        build.arg(format!("-Clink-arg={}", path.display()));
    }
    run(&mut build)?;
    let built = workspace.target.join("dist").join("smalti");
    let program = folder.join("smalti");
    let byte_len = std::fs::copy(&built, &program).map_err(|e| told(&built, e))?;
    println!("{}: {:.1} MB", program.display(), byte_len as f64 / 1e6);
    if byte_len >= MAX_PROGRAM_BYTE_LEN {
        return Err(format!("the program has {byte_len} bytes, more than {MAX_PROGRAM_BYTE_LEN}"));
    }
    check_hostile_file(&program, &workspace.root.join(HOSTILE_FILE))
}

/// That a panic of a reader is an error of the program, not its end: only this profile keeps the thread of the reader for that.
fn check_hostile_file(program: &Path, file: &Path) -> Outcome {
    let mut import = Command::new(program);
    let import = import.arg("import").arg(file).arg("mem://a").arg("--index").output();
    let output = import.map_err(|e| format!("{}: {e}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(1) if said.contains("corrupt: the Parquet file is damaged") => Ok(()),
        _ => Err(format!("{} on {}: {}, {said}", program.display(), file.display(), output.status)),
    }
}
