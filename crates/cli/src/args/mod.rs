//! The command line: every command with its arguments, and the options that all of them share.

mod check;
mod commands;
mod draw;
mod drop_in;
mod global;
mod group;
mod import;
mod object;
mod read;
mod time;
mod upkeep;
mod verb;
mod write;

pub(crate) use check::{CheckArgs, DiffArgs, DigestArgs, FsckArgs, RepairArgs, SalvageArgs};
pub(crate) use commands::{
    AggregateArgs, ArrayArgs, Cli, Command, CompletionsArgs, ConfigArgs, CreateArgs, DeleteArgs, DemoArgs,
    EvolveArgs, ExplainArgs, GLOBAL_HEADING, HistoryArgs, InspectArgs, ManArgs, ManFormat, MetaAction,
    MetaArgs, ScanArgs, UpgradeArgs,
};
pub(crate) use draw::{ColorChoice, DrawArgs, PictureFormat};
pub(crate) use drop_in::DropInArgs;
pub(crate) use global::{Global, OpenTimes, Sync};
pub(crate) use group::{GroupAction, GroupAddArgs, GroupArgs, GroupListArgs, Kind};
pub(crate) use import::ImportArgs;
pub(crate) use object::{LsArgs, MvArgs, Order, RmArgs};
pub(crate) use read::{OutputFormat, ReadArgs};
pub(crate) use upkeep::{
    ConsolidateArgs, FragmentArgs, FragmentsAction, FragmentsArgs, ManifestArgs, UpkeepMode, VacuumArgs,
};
pub(crate) use write::WriteArgs;

use crate::failure::{Failure, Outcome};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use std::ffi::OsString;

/// Parses the command line. Help, and wrong usage that people are told of, are printed here and end the program.
///
/// # Errors
/// Wrong usage with `--json`, in the words of the parser without its hints at the end.
pub(crate) fn parse() -> Outcome<Cli> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let wants_json = wants_json(words.iter().cloned());
    // All of the grammar, with what help says, takes longer to make than most lines take to parse.
    let outcome = parsed(Cli::grammar_of(&words), &words).or_else(|error| match error.kind() {
        ErrorKind::DisplayVersion => Err(error),
        _ => parsed(crate::manual::command(), &words),
    });
    outcome.map_err(|error| {
        if !error.use_stderr() || !wants_json {
            error.exit();
        }
        usage_failure(&error)
    })
}

/// What a grammar makes of the words of a command line, the program first.
fn parsed(grammar: clap::Command, words: &[OsString]) -> Result<Cli, clap::Error> {
    let words = verb::in_order(&grammar, words.to_vec());
    let mut matches = grammar.try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// Whether `--json` is given, told without the parser: it can be what fails.
pub(crate) fn wants_json(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut options = arguments.take_while(|argument| argument != "--");
    options.any(|argument| argument == "--json")
}

fn usage_failure(error: &clap::Error) -> Failure {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Failure::usage("arguments are missing; --help tells which there are");
        }
        ErrorKind::MissingSubcommand => {
            return Failure::usage("a command is missing; --help tells which there are");
        }
        _ => {}
    }
    let text = error.render().to_string();
    let told = text.split("\n\nUsage:").next().unwrap_or_default();
    let told = told.split("\n\nFor more information").next().unwrap_or_default();
    Failure::usage(told.strip_prefix("error: ").unwrap_or(told).trim())
}
