//! The commands, one file each.

mod aggregate;
mod check;
mod compare;
mod config;
mod consolidate;
mod create;
mod delete;
mod describe;
mod draw;
mod drop_in;
mod evolve;
mod explain;
mod fragments;
mod group;
mod history;
mod import;
mod info;
mod inspect;
mod manifest;
mod meta;
mod object;
mod read;
mod scan;
mod schema;
mod upgrade;
mod upkeep_files;
mod vacuum;
mod write;

use crate::args::{Cli, Command};
use crate::failure::Outcome;

/// Runs what the command line asks for.
pub(crate) fn run(cli: &Cli) -> Outcome {
    let global = &cli.global;
    match &cli.command {
        Command::Demo(args) => crate::demo::run(global, args),
        Command::Create(args) => create::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Import(args) => import::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Schema(args) => schema::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Info(args) => info::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Describe(args) => describe::run(global, args).map_err(|failure| failure.at(&args.array)),
        Command::History(args) => history::run(global, args).map_err(|failure| failure.at(&args.array)),
        Command::Fragments(args) => fragments::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Write(args) => write::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Read(args) => read::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Scan(args) => scan::run(global, args).map_err(|failure| failure.of(&args.read.array)),
        Command::Draw(args) => draw::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Aggregate(args) => aggregate::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Meta(args) => meta::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Upgrade(args) => upgrade::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Inspect(args) => inspect::run(global, args),
        Command::Delete(args) => delete::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Consolidate(args) => {
            consolidate::run(global, args).map_err(|failure| failure.of(&args.array))
        }
        Command::Vacuum(args) => vacuum::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Manifest(args) => manifest::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Evolve(args) => evolve::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Group(args) => group::run(global, args),
        Command::Ls(args) => object::list(global, args),
        Command::Mv(args) => object::rename(global, args),
        Command::Rm(args) => object::remove(global, args),
        Command::Explain(args) => explain::run(global, args).map_err(|failure| failure.of(&args.read.array)),
        Command::Fsck(args) => check::fsck(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Repair(args) => check::repair(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Salvage(args) => check::salvage(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Digest(args) => compare::digest(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Diff(args) => compare::diff(global, args),
        Command::Config(args) => config::run(global, args),
        Command::DropIn(args) => drop_in::run(global, args),
        Command::Completions(args) => crate::manual::completions(args),
        Command::Man(args) => crate::manual::write(args),
    }
}
