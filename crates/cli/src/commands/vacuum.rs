//! `smalti vacuum`: removing what consolidation has replaced.

use super::upkeep_files;
use crate::args::{Global, OpenTimes, UpkeepMode, VacuumArgs};
use crate::engine;
use crate::failure::Outcome;
use crate::interrupt::Watch;
use crate::warning::warn;
use smalti::upkeep::VacuumOptions;
use smalti::{Progress, TimeRange};
use smalti_tools::human;
use smalti_tools::when::clock_ms;
use std::io::Write;
use std::sync::Arc;

pub(super) fn run(global: &Global, args: &VacuumArgs) -> Outcome {
    match args.mode {
        UpkeepMode::Fragments => fragments(global, args),
        mode => upkeep_files::run(
            (global, &args.array, mode, args.dry_run),
            |array, options| match mode {
                UpkeepMode::FragmentMeta => array.vacuum_fragment_meta(options),
                UpkeepMode::Commits => array.vacuum_commits(options),
                _ => array.vacuum_metadata(options),
            },
            |group, options| group.vacuum_metadata(options),
        ),
    }
}

fn fragments(global: &Global, args: &VacuumArgs) -> Outcome {
    let mut array = engine::open(global, &args.array, OpenTimes::default())?;
    let work = Arc::new(Progress::new());
    let options = VacuumOptions {
        time: args.times.range(),
        is_dry_run: args.dry_run,
        ignores_readers: args.ignore_readers,
        keeps_for: args.keep_for,
        progress: Some(Arc::clone(&work)),
        ..VacuumOptions::default()
    };
    if !args.dry_run {
        // Told before it is done.
        let due = array.vacuum(&VacuumOptions { is_dry_run: true, progress: None, ..options.clone() })?;
        warn_of_history(global, args, &due.lost_history);
    }
    let watch = Watch::over_writes(&work)?;
    let done = watch.run(|| array.vacuum(&options))?;
    if args.dry_run {
        warn_of_history(global, args, &done.lost_history);
    }
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
            "kept_for_readers": done.kept_for_readers,
            "lost_history": done.lost_history.iter().map(|time| [time.start, time.end]).collect::<Vec<_>>(),
            "timestamp": clock_ms(),
        });
        return Ok(writeln!(out, "{json}")?);
    }
    if !done.kept_for_readers.is_empty() {
        let count = human::count(done.kept_for_readers.len() as u64);
        writeln!(
            out,
            "{count} fragments are hidden for good; their files stay for readers that may have them open, until a vacuum when --keep-for is over"
        )?;
    }
    if done.fragments.is_empty() {
        let is_all = done.kept_for_readers.is_empty();
        return if is_all { Ok(writeln!(out, "nothing to remove")?) } else { Ok(()) };
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

/// So many ranges of times are told one by one.
const MAX_TOLD: usize = 3;

/// Says which past cannot be read any more after the vacuum.
fn warn_of_history(global: &Global, args: &VacuumArgs, lost: &[TimeRange]) {
    if lost.is_empty() {
        return;
    }
    let ranges: Vec<String> = lost
        .iter()
        .take(MAX_TOLD)
        .map(|time| format!("{} to {}", human::timestamp(time.start), human::timestamp(time.end)))
        .collect();
    let more = match lost.len().saturating_sub(MAX_TOLD) as u64 {
        0 => String::new(),
        count => format!(" and {} other ranges of times", human::count(count)),
    };
    let takes = if args.dry_run { "it would take" } else { "it takes" };
    let message = format!(
        "{takes} history: the writes of {}{more} were merged, and without what goes they are not told apart; reads as of a time \
         between are refused then",
        ranges.join(", ")
    );
    warn(global, &args.array, message);
}
