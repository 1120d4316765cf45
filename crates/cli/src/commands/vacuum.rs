//! `smalti vacuum`: removing what consolidation has replaced.

use super::consolidate::print_files;
use crate::args::{Global, OpenTimes, UpkeepMode, VacuumArgs};
use crate::engine;
use crate::failure::Outcome;
use crate::human;
use crate::interrupt::Watch;
use crate::when::clock_ms;
use smalti::Progress;
use smalti::upkeep::{UpkeepOptions, VacuumOptions};
use std::io::Write;
use std::sync::Arc;

pub(super) fn run(global: &Global, args: &VacuumArgs) -> Outcome {
    match args.mode {
        UpkeepMode::Fragments => fragments(global, args),
        mode => files(global, args, mode),
    }
}

/// Every mode but that of fragments.
fn files(global: &Global, args: &VacuumArgs, mode: UpkeepMode) -> Outcome {
    let options = UpkeepOptions { dry_run: args.dry_run };
    let array = || engine::open(global, &args.array, OpenTimes::default());
    let report = match mode {
        UpkeepMode::FragmentMeta => array()?.vacuum_fragment_meta(&options)?,
        UpkeepMode::Commits => array()?.vacuum_commits(&options)?,
        UpkeepMode::GroupMeta => {
            engine::open_group(global, &args.array, OpenTimes::default())?.vacuum_metadata(&options)?
        }
        UpkeepMode::ArrayMeta | UpkeepMode::Fragments => array()?.vacuum_metadata(&options)?,
    };
    print_files(global, &args.array, args.dry_run, &report)
}

fn fragments(global: &Global, args: &VacuumArgs) -> Outcome {
    let mut array = engine::open(global, &args.array, OpenTimes::default())?;
    let work = Arc::new(Progress::new());
    let options = VacuumOptions {
        time: args.times.range(),
        is_dry_run: args.dry_run,
        ignores_readers: args.ignore_readers,
        progress: Some(Arc::clone(&work)),
    };
    let watch = Watch::over_writes(&work)?;
    let done = watch.run(|| array.vacuum(&options))?;
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
            "vacuum_files": done.vacuum_files, "waits_for_readers": done.waits_for_readers, "timestamp": clock_ms(),
        });
        return Ok(writeln!(out, "{json}")?);
    }
    if done.fragments.is_empty() {
        return Ok(writeln!(out, "nothing to remove")?);
    }
    let would = if args.dry_run { "would remove" } else { "removed" };
    let count = human::count(done.fragments.len() as u64);
    let at = if args.dry_run { String::new() } else { human::at(clock_ms()) };
    writeln!(out, "{would} {count} fragments, {}{at}", human::bytes(done.byte_len))?;
    for name in done.fragments.iter().filter(|_| args.dry_run) {
        writeln!(out, "    {name}")?;
    }
    Ok(())
}
