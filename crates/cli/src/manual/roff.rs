//! The manual as man pages.

use super::{EXIT_STATUS, Example, command, examples, is_shown, own_exit_status};
use crate::failure::Outcome;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

/// The pages: names of files and contents.
pub(super) fn pages() -> Outcome<Vec<(String, String)>> {
    let mut root = command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    collect(&root, "", &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, path: &str, pages: &mut Vec<(String, String)>) -> Outcome {
    let man = Man::new(command.clone()).manual("smalti");
    pages.push((man.get_filename(), page(&man, command, path)?));
    for below in command.get_subcommands().filter(|below| is_shown(below)) {
        let path = format!("{path} {}", below.get_name());
        collect(below, path.trim_start(), pages)?;
    }
    Ok(())
}

/// As `Man::render`, which would run the lines of examples together and put the options of every command into each synopsis.
fn page(man: &Man, command: &Command, path: &str) -> Outcome<String> {
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    let mut synopsis = Roff::default();
    synopsis.control("SH", ["SYNOPSIS"]);
    for line in super::usage(command).lines() {
        synopsis.text([roman(line)]).control("br", []);
    }
    synopsis.to_writer(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.get_subcommands().any(is_shown) {
        man.render_subcommands_section(&mut out)?;
    }
    let mut roff = Roff::default();
    if let Some(rows) = if path.is_empty() { Some(EXIT_STATUS) } else { own_exit_status(path) } {
        roff.control("SH", ["EXIT STATUS"]);
        for (status, meaning) in rows {
            roff.control("TP", []).text([bold(*status)]).text([roman(*meaning)]);
        }
    }
    let examples = examples::of(path);
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    for Example { purpose, script } in examples {
        roff.control("PP", []).text([roman(format!("{purpose}:"))]);
        roff.control("PP", []).control("RS", ["4"]).control("nf", []);
        for line in script.lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []).control("RE", []);
    }
    roff.to_writer(&mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
