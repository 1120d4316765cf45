//! `smalti vacuum`: removing what consolidation has replaced.

use crate::args::{Global, OpenTimes, UpkeepMode, VacuumArgs};
use crate::engine;
use crate::failure::Outcome;
use crate::human;
use smalti::TimeRange;
use smalti::upkeep::VacuumOptions;
use std::io::Write;

pub(super) fn run(global: &Global, args: &VacuumArgs) -> Outcome {
    match args.mode {
        UpkeepMode::Fragments => fragments(global, args),
        mode => not_yet("vacuum", mode),
    }
}

pub(super) fn not_yet(command: &str, mode: UpkeepMode) -> Outcome {
    Err(smalti::Error::unsupported(format!("this release has no `smalti {command} --mode {mode:?}` yet"))
        .into())
}

fn fragments(global: &Global, args: &VacuumArgs) -> Outcome {
    let mut array = engine::open(global, &args.array, OpenTimes::default())?;
    let options = VacuumOptions {
        time: TimeRange { start: args.times.since.unwrap_or(0), end: args.times.at.unwrap_or(u64::MAX) },
        is_dry_run: args.dry_run,
        ignores_readers: args.ignore_readers,
    };
    let done = array.vacuum(&options)?;
    let mut out = std::io::stdout().lock();
    if done.waits_for_readers {
        eprintln!(
            "smalti: {}: the array is open in other programs, so nothing was removed; vacuum again when they have ended, or \
             use --ignore-readers",
            args.array
        );
    }
    if global.json {
        let json = serde_json::json!({
            "dry_run": args.dry_run, "fragments": done.fragments, "bytes": done.byte_len,
            "vacuum_files": done.vacuum_files, "waits_for_readers": done.waits_for_readers,
        });
        return Ok(writeln!(out, "{json}")?);
    }
    if done.fragments.is_empty() {
        return Ok(writeln!(out, "nothing to remove")?);
    }
    let would = if args.dry_run { "would remove" } else { "removed" };
    let count = human::count(done.fragments.len() as u64);
    writeln!(out, "{would} {count} fragments, {}", human::bytes(done.byte_len))?;
    for name in done.fragments.iter().filter(|_| args.dry_run) {
        writeln!(out, "    {name}")?;
    }
    Ok(())
}
