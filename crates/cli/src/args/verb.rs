//! `smalti meta get A k` is `smalti meta A get k`: commands with verbs take the array or group before the verb or after it.

use clap::{ArgAction, Command};
use std::ffi::OsString;

/// Where a command's grammar has its array or group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    BeforeVerb,
    AfterVerb,
}

/// The command in the words of a command line, the program first, where `options` has the options of every command.
pub(super) fn command_of<'w>(options: &Command, words: &'w [OsString]) -> Option<&'w str> {
    let name = *positions(options, options, words, 1).first()?;
    words.get(name)?.to_str()
}

/// The words of a command line, the program first, with arrays and verbs in the order that the grammar has.
pub(super) fn in_order(grammar: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let mut words = words;
    let Some(&name) = positions(grammar, grammar, &words, 1).first() else { return words };
    match words[name].to_str() {
        Some("meta" | "fragments") => {
            swap(grammar, grammar, &mut words, name, Place::BeforeVerb);
        }
        Some("group") => {
            let Some(verb) = swap(grammar, grammar, &mut words, name, Place::AfterVerb) else { return words };
            if words[verb] == "meta"
                && let Some(group) = grammar.find_subcommand("group")
            {
                swap(grammar, group, &mut words, verb, Place::BeforeVerb);
            }
        }
        _ => {}
    }
    words
}

/// Puts the two words behind the command at `name` into the order of the grammar. The place of the verb.
fn swap(
    grammar: &Command,
    above: &Command,
    words: &mut [OsString],
    name: usize,
    wanted: Place,
) -> Option<usize> {
    let command = above.find_subcommand(words[name].to_str()?)?;
    let is_verb = |word: &OsString| word.to_str().is_some_and(|word| command.find_subcommand(word).is_some());
    let found = positions(grammar, command, words, name + 1);
    let (&first, &second) = (found.first()?, found.get(1)?);
    match (wanted, is_verb(&words[first]), is_verb(&words[second])) {
        (Place::BeforeVerb, true, false) | (Place::AfterVerb, false, true) => words.swap(first, second),
        // Of two verbs one is the name of an array or group: what the grammar says holds.
        _ => {}
    }
    Some(if wanted == Place::BeforeVerb { second } else { first })
}

/// Where the words are, from `start` on, that are neither options of a command or of every command, nor their values. The first two of
/// them.
fn positions(grammar: &Command, command: &Command, words: &[OsString], start: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut idx = start;
    while idx < words.len() && found.len() < 2 {
        let word = words[idx].to_string_lossy();
        if word == "--" {
            break;
        }
        if !word.starts_with('-') || word == "-" {
            found.push(idx);
        } else if has_with_value(grammar, &word) || is_below_with_value(command, &word) {
            idx += 1;
        }
        idx += 1;
    }
    found
}

/// Whether a command, or one below it, has an option whose value is the word behind it.
fn is_below_with_value(command: &Command, option: &str) -> bool {
    has_with_value(command, option)
        || command.get_subcommands().any(|below| is_below_with_value(below, option))
}

/// Whether a command itself has an option whose value is the word behind it.
fn has_with_value(command: &Command, option: &str) -> bool {
    let is_meant = |arg: &clap::Arg| match option.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => option.len() == 2 && arg.get_short() == option.chars().nth(1),
    };
    let takes = |arg: &clap::Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    command.get_arguments().any(|arg| is_meant(arg) && takes(arg))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn ordered(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let among_all = in_order(&crate::args::Cli::command(), words.clone());
        let words = in_order(&crate::args::Cli::grammar_of(&words), words);
        assert_eq!(words, among_all, "{line}");
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn arrays_stand_before_or_after_the_verb() {
        for (line, wanted) in [
            ("smalti meta get A k", "smalti meta A get k"),
            ("smalti meta A get k", "smalti meta A get k"),
            ("smalti meta --at -1h put A k v", "smalti meta --at -1h A put k v"),
            ("smalti --json --key x meta get A k", "smalti --json --key x meta A get k"),
            ("smalti meta --config s3.region=x get A k", "smalti meta --config s3.region=x A get k"),
            ("smalti --cache x group G add y", "smalti --cache x group add G y"),
            ("smalti meta A", "smalti meta A"),
            ("smalti meta get", "smalti meta get"),
            ("smalti meta get get k", "smalti meta get get k"),
            ("smalti fragments delete A n", "smalti fragments A delete n"),
            ("smalti fragments copy A n --to B", "smalti fragments A copy n --to B"),
            ("smalti group G add x", "smalti group add G x"),
            ("smalti group --threads 1 G list -r", "smalti group --threads 1 list G -r"),
            ("smalti group add G list", "smalti group add G list"),
            ("smalti group meta get G k", "smalti group meta G get k"),
            ("smalti group G meta get k", "smalti group meta G get k"),
            ("smalti group -- G add", "smalti group -- G add"),
            ("smalti read meta get", "smalti read meta get"),
        ] {
            assert_eq!(ordered(line), wanted, "{line}");
        }
    }
}
