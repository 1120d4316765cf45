//! Completions and man pages, and what `--help` says of all commands.

use crate::session::Session;
use std::process::Command;

/// The commands that `smalti --help` lists.
fn commands(session: &Session) -> Vec<String> {
    let help = session.text("--help");
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(String::from)
        .collect()
}

#[test]
fn completions_know_every_command() {
    let session = Session::new();
    let commands = commands(&session);
    assert!(commands.len() > 20, "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = session.text(&format!("completions {shell}"));
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
    }
    assert_eq!(session.output_of("completions ksh93", b"").status.code(), Some(2));
}

#[test]
fn bash_completes_commands_and_options() {
    let session = Session::new();
    session.file("smalti.bash", session.bytes("completions bash"));
    let complete = |words: &str, last: usize| {
        let script = format!(
            ". ./smalti.bash; COMP_WORDS=({words}); COMP_CWORD={last}; _smalti smalti \"${{COMP_WORDS[{last}]}}\" \
             \"${{COMP_WORDS[{last}-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        Command::new("bash").args(["-c", &script]).current_dir(session.path(".")).output()
    };
    // Where there is no bash, nobody completes with it.
    let Ok(output) = complete("smalti cons", 1) else { return };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "consolidate\n", "{output:?}");
    let output = complete("smalti consolidate --mo", 2).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "--mode\n", "{output:?}");
    let output = complete("smalti consolidate --mode f", 3).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "fragments\nfragment_meta\n", "{output:?}");
}

#[test]
fn man_pages_are_written_for_every_command() {
    let session = Session::new();
    session.text("man pages/man1");
    for command in commands(&session) {
        let page = std::fs::read_to_string(session.path(&format!("pages/man1/smalti-{command}.1"))).unwrap();
        assert!(page.contains(".SH EXAMPLES"), "{command}: {page}");
    }
    session.file("taken", "");
    session.problem("man taken", 1);
}

#[test]
fn exit_statuses_are_told_by_help() {
    let session = Session::new();
    let help = session.text("--help");
    assert!(help.contains("Exit status") && help.contains("128 + N"), "{help}");
    for command in ["fsck", "repair", "salvage", "diff"] {
        let help = session.text(&format!("{command} --help"));
        assert!(help.contains("\nExit status:\n  0 "), "{help}");
        assert_eq!(help, session.text(&format!("help {command}")));
    }
    assert!(session.text("group add -h").contains("\nExamples:\n"));
}
