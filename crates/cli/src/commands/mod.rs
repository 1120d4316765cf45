//! The commands, one file each.

mod aggregate;
mod check;
mod compare;
mod condition;
mod consolidate;
mod create;
mod delete;
mod describe;
mod evolve;
mod explain;
mod fragments;
mod group;
mod history;
mod import;
mod info;
mod inspect;
mod meta;
mod object;
mod read;
mod scan;
mod schema;
mod upgrade;
mod vacuum;
mod write;

use crate::args::{Cli, Command};
use crate::failure::Outcome;
use smalti::Extent;
use smalti::format::{ArraySchema, Dimension};

pub(crate) use condition::parse as parse_condition;

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
        Command::Draw(args) => crate::draw::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Aggregate(args) => aggregate::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Meta(args) => meta::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Upgrade(args) => upgrade::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Inspect(args) => inspect::run(global, args),
        Command::Delete(args) => delete::run(global, args).map_err(|failure| failure.of(&args.array)),
        Command::Consolidate(args) => {
            consolidate::run(global, args).map_err(|failure| failure.of(&args.array))
        }
        Command::Vacuum(args) => vacuum::run(global, args).map_err(|failure| failure.of(&args.array)),
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
        Command::Completions(args) => crate::manual::completions(args),
        Command::Man(args) => crate::manual::write(args),
    }
}

/// The ranges of all dimensions as people read them: `row 0..2159, col 0..4319`.
fn domain_text(schema: &ArraySchema, extents: &[Extent]) -> String {
    let named = schema.dimensions.iter().zip(extents);
    let named =
        named.map(|(dimension, extent)| format!("{} {}", dimension.name, extent_text(dimension, extent)));
    named.collect::<Vec<_>>().join(", ")
}

/// A range as people read it: `0..2159`; ends that are open are left out.
pub(crate) fn extent_text(dimension: &Dimension, extent: &Extent) -> String {
    let json = smalti::json::extent_to_json(dimension.datatype, extent, true);
    let end = |idx: usize| match json.get(idx) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    format!("{}..{}", end(0), end(1))
}

/// The ranges of all dimensions for programs: `[[0, 2159], [0, 4319]]`.
fn domain_json(schema: &ArraySchema, extents: &[Extent]) -> serde_json::Value {
    let pairs = schema.dimensions.iter().zip(extents);
    pairs.map(|(dimension, extent)| smalti::json::extent_to_json(dimension.datatype, extent, false)).collect()
}

/// A schema as JSON, an element a line.
pub(crate) fn schema_text(schema: &serde_json::Value) -> String {
    schema::layed_out(schema)
}
