//! Running other programs, with their output passed through as it comes.

use crate::Outcome;
use crate::tally::Tally;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};

/// Runs a command; it fails when the command does.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = apart(command).status().map_err(|e| cannot_start(command, &e))?;
    judge(command, status)
}

/// Runs a command and adds the counts of tests that it prints on standard output to `tally`; it fails
/// when the command does.
pub(crate) fn run_counted(command: &mut Command, tally: &mut Tally) -> Outcome {
    let mut child = apart(command).stdout(Stdio::piped()).spawn().map_err(|e| cannot_start(command, &e))?;
    let mut passed_through = Ok(());
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|byte_len| byte_len > 0) {
            if let Some(counts) = Tally::of_line(&String::from_utf8_lossy(&line)) {
                *tally += counts;
            }
            // The pipe is drained to its end even when nobody listens, so that the child can finish.
            passed_through = passed_through.and(std::io::stdout().write_all(&line));
            line.clear();
        }
    }
    let status = child.wait().map_err(|e| cannot_start(command, &e))?;
    judge(command, status)?;
    passed_through.map_err(|e| format!("cannot write the output of {}: {e}", shown(command)))
}

/// Keeps from a command what cargo tells this program of its package. Build scripts that look at such variables would
/// run anew, with all crates above them, when the same build is asked for by hand.
fn apart(command: &mut Command) -> &mut Command {
    let told = |name: &std::ffi::OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for name in std::env::vars_os().map(|(name, _)| name).filter(told) {
        command.env_remove(name);
    }
    command
}

fn judge(command: &Command, status: ExitStatus) -> Outcome {
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", shown(command))) }
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot run `{}`: {error}", shown(command))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
