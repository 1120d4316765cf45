//! The manual. `--help`, the completions, the man pages and docs/commands all follow from one description of the command line: the
//! arguments in `args`, the examples in `examples.rs`, and what exit statuses mean, below.

mod examples;
mod markdown;
mod roff;

use crate::args::{Cli, CompletionsArgs, ManArgs, ManFormat};
use crate::failure::{Failure, Outcome};
use clap::{Arg, Command, CommandFactory, ValueHint};
use std::path::Path;

pub(crate) use examples::Example;

/// What every command ends with.
const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "the command did what it was asked to"),
    ("1", "an error, told in one line on standard error: what, where, and what to do"),
    ("2", "wrong usage: the command line has no meaning"),
    ("128 + N", "signal N stopped the command: 130 after Ctrl-C, 143 after SIGTERM"),
];

/// What commands end with whose exit status tells what was found.
const OWN_EXIT_STATUS: &[(&str, &[(&str, &str)])] = &[
    (
        "fsck",
        &[("0", "nothing is wrong, but for what is harmless"), ("1", "something is wrong, or an error")],
    ),
    ("repair", &[("0", "nothing is wrong any more"), ("1", "something is left, or an error")]),
    ("salvage", &[("0", "all of the array could be read"), ("1", "something was lost, or an error")]),
    (
        "diff",
        &[
            ("0", "nothing differs"),
            ("1", "something differs"),
            ("2", "an error, or wrong usage, as diff(1) has it"),
        ],
    ),
];

/// The command line with everything that `--help` says.
pub(crate) fn command() -> Command {
    let command = explained(Cli::command(), "");
    let start = "Start with `smalti demo`: it stores real data, queries it, and tells what to try next.";
    command.after_help(format!(
        "{}\n\n{start}",
        status_text("Exit status, where the command says nothing else:", EXIT_STATUS)
    ))
}

/// The lines of examples that are one call of the program, of words without quotes.
#[cfg(test)]
pub(crate) fn plain_lines() -> impl Iterator<Item = &'static str> {
    let scripts = examples::paths().flat_map(examples::of).map(|example| example.script);
    scripts
        .flat_map(str::lines)
        .filter(|line| line.starts_with("smalti ") && !line.contains(|sign| "'\"|<>&$;\\*".contains(sign)))
}

/// `smalti completions`.
pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    // Into memory first: a reader that has gone must not be a panic.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "smalti", &mut script);
    Ok(std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?)
}

/// `smalti man`.
pub(crate) fn write(args: &ManArgs) -> Outcome {
    let pages = match args.format {
        ManFormat::Man => roff::pages()?,
        ManFormat::Markdown => markdown::pages(),
    };
    std::fs::create_dir_all(&args.dir).map_err(|error| named(&args.dir, error))?;
    for (name, text) in pages {
        let path = args.dir.join(name);
        std::fs::write(&path, text).map_err(|error| named(&path, error))?;
    }
    Ok(())
}

fn named(path: &Path, error: std::io::Error) -> Failure {
    Failure::from(error).at(path.display().to_string())
}

/// A command and those below it with their examples and exit statuses at the end of `--help`, and with what shells need to know to
/// complete paths. `path` is the words between `smalti` and the command.
fn explained(command: Command, path: &str) -> Command {
    let command = command
        .mut_subcommands(|below| {
            let path = format!("{path} {}", below.get_name());
            explained(below, path.trim_start())
        })
        .mut_args(with_hint);
    let status = own_exit_status(path).map(|rows| status_text("Exit status:", rows));
    let examples = examples_text(examples::of(path));
    let sections: Vec<String> = status.into_iter().chain(examples).collect();
    if sections.is_empty() { command } else { command.after_help(sections.join("\n\n")) }
}

/// Arrays and groups are folders mostly.
fn with_hint(arg: Arg) -> Arg {
    let is_place = arg.get_help().is_some_and(|help| help.to_string().starts_with("Path"));
    if is_place { arg.value_hint(ValueHint::AnyPath) } else { arg }
}

/// What the exit status of a command tells, where it has meanings of its own.
fn own_exit_status(path: &str) -> Option<&'static [(&'static str, &'static str)]> {
    OWN_EXIT_STATUS.iter().find(|(name, _)| *name == path).map(|(_, rows)| *rows)
}

fn status_text(title: &str, rows: &[(&str, &str)]) -> String {
    let mut text = title.to_string();
    for (status, meaning) in rows {
        text.push_str(&format!("\n  {status:<8} {meaning}"));
    }
    text
}

fn examples_text(examples: &[Example]) -> Option<String> {
    let mut text = "Examples:".to_string();
    for (idx, Example { purpose, script }) in examples.iter().enumerate() {
        if idx > 0 {
            text.push('\n');
        }
        text.push_str(&format!("\n  # {purpose}"));
        for line in script.lines() {
            text.push_str(&format!("\n  {line}"));
        }
    }
    (!examples.is_empty()).then_some(text)
}

/// How a command is called, a line for each way.
fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.trim_start_matches("Usage:").lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a command belongs to the manual: `help` and hidden ones do not.
fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands with the words that lead to them.
    fn walk(command: &Command, path: &str, visit: &mut dyn FnMut(&str, &Command)) {
        for below in command.get_subcommands().filter(|below| is_shown(below)) {
            let path = format!("{path} {}", below.get_name());
            let path = path.trim_start();
            visit(path, below);
            walk(below, path, visit);
        }
    }

    #[test]
    fn every_command_ends_its_help_with_two_examples() {
        walk(&command(), "", &mut |path, command| {
            // What `group meta` does, `meta` shows.
            let least = if path.starts_with("group meta") { 0 } else { 2 };
            let examples = examples::of(path);
            assert!(
                examples.len() >= least,
                "{path} has too few examples in crates/cli/src/manual/examples.rs"
            );
            for example in examples {
                let names_it =
                    example.script.contains(&format!("smalti {}", path.split(' ').next().unwrap()));
                assert!(names_it, "{path}: {}", example.script);
            }
            let help = command.clone().render_long_help().to_string();
            if let Some(text) = examples_text(examples) {
                assert!(help.trim_end().ends_with(&text), "{help}");
            }
        });
    }

    #[test]
    fn every_example_and_exit_status_belongs_to_a_command() {
        let mut paths = Vec::new();
        walk(&command(), "", &mut |path, _| paths.push(path.to_string()));
        let named = examples::paths().chain(OWN_EXIT_STATUS.iter().map(|(path, _)| *path));
        for path in named {
            assert!(paths.iter().any(|known| known == path), "no command is called {path:?}");
        }
    }

    #[test]
    fn options_of_every_command_have_a_heading_of_their_own() {
        let mut command = command();
        command.build();
        walk(&command, "", &mut |path, command| {
            let help = command.clone().render_long_help().to_string();
            let (own, shared) = help.split_once(crate::args::GLOBAL_HEADING).expect(path);
            for option in ["--json", "--memory", "--threads", "--sync", "--key", "--help", "--version"] {
                let is_row = |line: &str| {
                    line.trim_start()
                        .trim_start_matches("-h, ")
                        .trim_start_matches("-V, ")
                        .starts_with(option)
                };
                assert!(shared.lines().any(is_row) && !own.lines().any(is_row), "{path}: {option}: {help}");
            }
        });
    }

    #[test]
    fn the_pages_of_the_commands_are_up_to_date() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands");
        let pages = markdown::pages();
        for (name, text) in &pages {
            let committed = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            assert!(
                committed == *text,
                "docs/commands/{name} is out of date: `cargo xtask docs` writes it anew"
            );
        }
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                pages.iter().any(|(page, _)| *page == name),
                "docs/commands/{name} belongs to no command"
            );
        }
    }

    #[test]
    fn every_command_has_a_man_page_with_its_examples() {
        let pages = roff::pages().unwrap();
        let page = |name: &str| {
            let found = pages.iter().find(|(page, _)| page == name);
            found.unwrap_or_else(|| panic!("there is no {name}")).1.as_str()
        };
        walk(&command(), "", &mut |path, _| {
            let text = page(&format!("smalti-{}.1", path.replace(' ', "-")));
            assert!(text.contains("OPTIONS OF EVERY COMMAND"), "{path}: {text}");
            assert_eq!(text.contains("EXAMPLES"), !examples::of(path).is_empty(), "{path}: {text}");
        });
        assert!(page("smalti.1").contains("EXIT STATUS") && page("smalti-diff.1").contains("EXIT STATUS"));
    }
}
