//! One case under callgrind.

use std::path::Path;
use std::process::{Command, Stdio};

/// The function of the program between whose entry and exit instructions are counted.
const MEASURED: &str = "*measured_kernel*";

/// The instructions that a case takes, the same on each run: nothing of this process's environment reaches it.
pub(super) fn count(program: &Path, name: &str, folder: &Path) -> Result<u64, String> {
    let out = folder.join(format!("{name}.out"));
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--quiet", "--dump-line=no"])
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .arg(name)
        .stdin(Stdio::null());
    valgrind.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let output = valgrind.output().map_err(|e| format!("cannot run valgrind: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{name} under valgrind: {}\n{said}", output.status));
    }
    let text = std::fs::read(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    match total(&String::from_utf8_lossy(&text)) {
        Some(0) => {
            Err(format!("{name}: nothing was counted; is there a function {MEASURED} in the program?"))
        }
        Some(count) => Ok(count),
        None => Err(format!("{} has no total of instructions", out.display())),
    }
}

/// The instructions in what callgrind wrote: its `totals:`, whose numbers are of the `events:` in their order. `None` where that is not
/// there.
fn total(text: &str) -> Option<u64> {
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let place = line("events:")?.split_whitespace().position(|event| event == "Ir")?;
    // Without any cost there are no numbers.
    match line("totals:")?.split_whitespace().nth(place) {
        Some(count) => count.parse().ok(),
        None => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_instructions_is_found_among_other_events() {
        let text = "# callgrind format\nversion: 1\nevents: Ir\nsummary: 7\n\nfn=(1) f\n3 7\n\ntotals: 7\n";
        assert_eq!(total(text), Some(7));
        let text = "events: Dr Ir Dw\nfn=(1) f\n0 1 2 3\ntotals: 1 18446744073709551615 3";
        assert_eq!(total(text), Some(u64::MAX));
        assert_eq!(total("events: Ir\ntotals:\n"), Some(0));
    }

    #[test]
    fn what_is_no_output_of_callgrind_has_no_total() {
        for text in [
            "",
            "totals: 7",
            "events: Ir",
            "events: Dr\ntotals: 7",
            "events: Ir\ntotals: seven",
            "events: Ir\ntotals: -7",
            "events: Ir\ntotals: 18446744073709551616",
            "\0\u{fffd}events:\u{fffd}",
        ] {
            assert_eq!(total(text), None, "{text:?}");
        }
    }
}
