//! `smalti fragments`: a row for each fragment; deleting and copying them.

use crate::args::{FragmentsAction, FragmentsArgs, Global, OpenTimes};
use crate::engine;
use crate::failure::Outcome;
use crate::interrupt::Watch;
use crate::warning::warn;
use smalti::Progress;
use smalti::upkeep::{FragmentChoice, FragmentDeletion, VacuumOptions};
use smalti_tools::human;
use smalti_tools::report::fragments;
use smalti_tools::when::clock_ms;
use std::io::Write;
use std::sync::Arc;

pub(super) fn run(global: &Global, args: &FragmentsArgs) -> Outcome {
    match &args.action {
        Some(FragmentsAction::Delete { names, times, dry_run, ignore_readers }) => {
            let choice = if names.is_empty() {
                FragmentChoice::Within(times.range())
            } else {
                FragmentChoice::Named(names.clone())
            };
            let deletion = FragmentDeletion {
                is_dry_run: *dry_run,
                ignores_readers: *ignore_readers,
                progress: Some(Arc::default()),
                ..FragmentDeletion::of(choice)
            };
            delete(global, args, &deletion)
        }
        Some(FragmentsAction::Copy { names, to }) => copy(global, args, names, to),
        None if args.to_vacuum => list_replaced(global, args),
        None => list(global, args),
    }
}

fn list(global: &Global, args: &FragmentsArgs) -> Outcome {
    let array = engine::open(global, &args.array, args.times)?;
    if let Some(lost) = array.lost_history()? {
        warn(global, &args.array, lost);
    }
    let mut out = std::io::stdout().lock();
    if !global.json {
        return Ok(fragments::text(&array, args.mbrs, &mut out)?);
    }
    let rows: Vec<String> = fragments::json(&array, args.mbrs)?.iter().map(ToString::to_string).collect();
    Ok(writeln!(out, "[{}]", rows.join(",\n "))?)
}

fn list_replaced(global: &Global, args: &FragmentsArgs) -> Outcome {
    let mut array = engine::open(global, &args.array, OpenTimes::default())?;
    let due = array.vacuum(&VacuumOptions { is_dry_run: true, ..VacuumOptions::default() })?;
    let mut out = std::io::stdout().lock();
    if global.json {
        return Ok(writeln!(out, "{}", serde_json::json!(due.fragments))?);
    }
    for name in &due.fragments {
        writeln!(out, "{name}")?;
    }
    Ok(())
}

fn delete(global: &Global, args: &FragmentsArgs, deletion: &FragmentDeletion) -> Outcome {
    let mut array = engine::open(global, &args.array, OpenTimes::default())?;
    let work = deletion.progress.clone().unwrap_or_default();
    let done = Watch::over_writes(&work)?.run(|| array.delete_fragments(deletion))?;
    if done.waits_for_readers {
        eprintln!(
            "smalti: {}: the array is open in other programs, so nothing was deleted; delete again when they have ended, or \
             use --ignore-readers",
            args.array
        );
    }
    let mut out = std::io::stdout().lock();
    if global.json {
        let json = serde_json::json!({
            "dry_run": deletion.is_dry_run, "fragments": done.fragments, "replaced": done.replaced,
            "bytes": done.byte_len, "waits_for_readers": done.waits_for_readers,
            "kept_for_readers": done.is_kept_for_readers, "timestamp": clock_ms(),
        });
        return Ok(writeln!(out, "{json}")?);
    }
    if done.fragments.is_empty() {
        return Ok(writeln!(out, "nothing to delete")?);
    }
    if done.is_kept_for_readers {
        writeln!(
            out,
            "their files stay for readers that may have them open; `smalti vacuum` removes them later"
        )?;
    }
    let would = if deletion.is_dry_run { "would delete" } else { "deleted" };
    let count = human::count(done.fragments.len() as u64);
    let replaced = match done.replaced.len() {
        0 => String::new(),
        count => format!(" and {} that they had replaced", human::count(count as u64)),
    };
    let at = if deletion.is_dry_run { String::new() } else { human::at(clock_ms()) };
    writeln!(out, "{would} {count} fragments{replaced}, {}{at}", human::bytes(done.byte_len))?;
    for name in done.fragments.iter().chain(&done.replaced).filter(|_| deletion.is_dry_run) {
        writeln!(out, "    {name}")?;
    }
    Ok(())
}

fn copy(global: &Global, args: &FragmentsArgs, names: &[String], to: &str) -> Outcome {
    let array = engine::open(global, &args.array, args.times)?;
    let target = engine::open(global, to, OpenTimes::default())?;
    let work = Arc::new(Progress::new());
    let watch = Watch::over_writes(&work)?;
    let copied = watch.run(|| array.copy_fragments(names, &target, Some(Arc::clone(&work))))?;
    let mut out = std::io::stdout().lock();
    if global.json {
        return Ok(writeln!(out, "{}", serde_json::json!({"fragments": copied, "timestamp": clock_ms()}))?);
    }
    Ok(writeln!(
        out,
        "copied {} fragments to {to}{}",
        human::count(copied.len() as u64),
        human::at(clock_ms())
    )?)
}
