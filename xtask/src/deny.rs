//! Licences, banned crates and sources of all dependencies: cargo-deny, by the rules of deny.toml.

use crate::Outcome;
use crate::process::run;
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use std::process::{Command, Stdio};

/// Runs the checks where cargo-deny is installed and all crates are on this machine; says so where they are not. Nothing is fetched.
pub(crate) fn step(workspace: &Workspace, _: &mut Tally) -> Outcome {
    if !is_installed(workspace) {
        println!("skipped: cargo-deny is not installed; `cargo xtask deny --install` installs and runs it");
        return Ok(());
    }
    // Some dependencies are of other platforms, which a build here never fetches.
    let mut metadata = cargo_in(workspace, &["metadata", "--format-version", "1", "--all-features"]);
    if !succeeds(metadata.args(["--locked", "--offline"])) {
        println!("skipped: not all crates are on this machine; `cargo xtask deny` fetches them and runs it");
        return Ok(());
    }
    check(workspace)
}

/// Installs cargo-deny if that is asked for, fetches all crates of Cargo.lock, and runs the checks.
pub(crate) fn command(workspace: &Workspace, options: &[&str]) -> Outcome {
    match options {
        [] if is_installed(workspace) => {}
        [] => return Err("cargo-deny is not installed: `cargo xtask deny --install`".into()),
        ["--install"] => run(&mut cargo_in(workspace, &["install", "cargo-deny", "--locked"]))?,
        _ => return Err(format!("deny: no option `{}`; there is --install", options.join(" "))),
    }
    run(&mut cargo_in(workspace, &["fetch", "--locked"]))?;
    check(workspace)
}

/// What needs no network: advisories are another matter, and change without a change here.
fn check(workspace: &Workspace) -> Outcome {
    // Versions of a crate beside each other are no fault, and their list is long.
    let mut deny = cargo_in(workspace, &["deny", "--offline", "--locked", "check", "--hide-inclusion-graph"]);
    run(deny.args(["--allow", "duplicate", "licenses", "bans", "sources"]))
}

fn is_installed(workspace: &Workspace) -> bool {
    succeeds(&mut cargo_in(workspace, &["deny", "--version"]))
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn cargo_in(workspace: &Workspace, args: &[&str]) -> Command {
    let mut command = Command::new(cargo());
    command.args(args).current_dir(&workspace.root);
    command
}
