//! The manual as pages of Markdown: docs/commands.

use super::{EXIT_STATUS, Example, command, examples, is_shown, own_exit_status};
use crate::args::GLOBAL_HEADING;
use clap::{Arg, Command};
use std::fmt::Write;

/// The name of the page that lists the others.
const INDEX: &str = "README.md";

/// The pages: names of files and contents.
pub(super) fn pages() -> Vec<(String, String)> {
    let mut root = command();
    root.build();
    let mut pages = vec![(INDEX.to_string(), index(&root))];
    for command in root.get_subcommands().filter(|command| is_shown(command)) {
        let mut page = String::new();
        section(command, command.get_name(), &mut page);
        pages.push((format!("{}.md", command.get_name()), page));
    }
    pages
}

/// The index, with what all commands have in common.
fn index(root: &Command) -> String {
    let mut page = String::from("# The commands\n\n");
    page.push_str(
        "A page for each command, made from what `smalti COMMAND --help` prints: `cargo xtask docs` writes them anew.\n\
         The examples are run by the tests. They work in a folder made with\n\n\
         ```\nsmalti demo --dir tour\nsmalti demo --data tour\ncd tour\n```\n\n",
    );
    for command in root.get_subcommands().filter(|command| is_shown(command)) {
        let name = command.get_name();
        put(&mut page, format_args!("- [`smalti {name}`]({name}.md): {}\n", about(command)));
    }
    put(&mut page, format_args!("\n## {GLOBAL_HEADING}\n\n"));
    for arg in shown_args(root).filter(|arg| is_shared(arg)) {
        argument(arg, &mut page);
    }
    page.push_str("\n## Exit status\n\n");
    page.push_str("Unless the page of a command says something else:\n\n");
    statuses(EXIT_STATUS, &mut page);
    page.push_str(
        "\nErrors and warnings are lines on standard error; with `--json` each is a JSON object.\n",
    );
    page
}

/// What there is to say about a command; those below it follow.
fn section(command: &Command, path: &str, page: &mut String) {
    let marks = "#".repeat(path.split(' ').count());
    put(page, format_args!("{marks} smalti {path}\n\n{}\n\n", about(command)));
    put(page, format_args!("```\n{}\n```\n", super::usage(command)));
    let args: Vec<&Arg> = shown_args(command).filter(|arg| !is_shared(arg)).collect();
    let mut headings: Vec<Option<&str>> = vec![None];
    headings.extend(args.iter().filter_map(|arg| arg.get_help_heading()).map(Some));
    headings.dedup();
    for heading in headings {
        let mut some = args.iter().filter(|arg| arg.get_help_heading() == heading).peekable();
        if some.peek().is_none() {
            continue;
        }
        match heading {
            Some(heading) => put(page, format_args!("\n{heading}:\n\n")),
            None => page.push('\n'),
        }
        for arg in some {
            argument(arg, page);
        }
    }
    if marks == "#" {
        let anchor = GLOBAL_HEADING.to_lowercase().replace(' ', "-");
        put(page, format_args!("\nThere are [options of every command]({INDEX}#{anchor}), too.\n"));
    }
    if let Some(rows) = own_exit_status(path) {
        page.push_str("\nExit status:\n\n");
        statuses(rows, page);
    }
    let examples = examples::of(path);
    if !examples.is_empty() {
        page.push_str("\nExamples:\n");
    }
    for Example { purpose, script } in examples {
        put(page, format_args!("\n```sh\n# {purpose}\n{script}\n```\n"));
    }
    for below in command.get_subcommands().filter(|below| is_shown(below)) {
        page.push('\n');
        section(below, &format!("{path} {}", below.get_name()), page);
    }
}

/// A row of a list: how an argument is written, and what it means.
fn argument(arg: &Arg, page: &mut String) {
    let values = arg.get_value_names().unwrap_or_default().join(" ");
    let takes_value = arg.is_positional() || arg.get_action().takes_values();
    let values = if takes_value { values } else { String::new() };
    let mut forms = Vec::new();
    forms.extend(arg.get_short().map(|short| format!("-{short}")));
    forms.extend(arg.get_long().map(|long| format!("--{long}")));
    let form = format!("{} {values}", forms.join(", "));
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    put(page, format_args!("- `{}`: {}", form.trim(), plain(&help)));
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_value && !defaults.is_empty() {
        put(page, format_args!(" [default: {}]", defaults.join(", ")));
    }
    page.push('\n');
    if !takes_value {
        return;
    }
    for value in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
        let meaning = value.get_help().map(|help| format!(": {}", plain(&help.to_string())));
        put(page, format_args!("  - `{}`{}\n", value.get_name(), meaning.unwrap_or_default()));
    }
}

fn statuses(rows: &[(&str, &str)], page: &mut String) {
    for (status, meaning) in rows {
        put(page, format_args!("- `{status}`: {meaning}\n"));
    }
}

fn shown_args(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set())
}

fn is_shared(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(GLOBAL_HEADING)
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or_else(|| command.get_about());
    plain(&about.map(ToString::to_string).unwrap_or_default())
}

/// Text that Markdown shows as it is, but for what stands in backticks already. Line breaks are spaces.
fn plain(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let escaped = text.split('`').enumerate().map(|(idx, part)| match idx % 2 {
        0 => part.replace('<', "\\<").replace('*', "\\*").replace('_', "\\_"),
        _ => part.to_string(),
    });
    escaped.collect::<Vec<_>>().join("`")
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_markdown_would_take_for_marks_is_escaped_outside_of_code() {
        assert_eq!(plain("a_b <c>\n  `d_e` *"), "a\\_b \\<c> `d_e` \\*");
    }
}
