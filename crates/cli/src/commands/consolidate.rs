//! `smalti consolidate`: many fragments or files into one that says the same.

use crate::args::{ConsolidateArgs, FragmentArgs, Global, OpenTimes, UpkeepMode};
use crate::engine;
use crate::failure::Outcome;
use crate::interrupt::Watch;
use crate::warning::warn;
use smalti::Progress;
use smalti::upkeep::{
    Choice, Consolidation, FileReport, FragmentOptions, FragmentPlan, Steps, Tiers, UpkeepOptions,
    UpkeepReport,
};
use smalti_tools::human;
use smalti_tools::when::clock_ms;
use std::io::Write;
use std::sync::Arc;

pub(super) fn run(global: &Global, args: &ConsolidateArgs) -> Outcome {
    match args.mode {
        UpkeepMode::Fragments => fragments(global, args),
        mode => files(global, args, mode),
    }
}

/// Every mode but that of fragments.
fn files(global: &Global, args: &ConsolidateArgs, mode: UpkeepMode) -> Outcome {
    let work = Arc::new(Progress::new());
    let options = UpkeepOptions {
        dry_run: args.dry_run,
        progress: Some(Arc::clone(&work)),
        ..UpkeepOptions::default()
    };
    let watch = Watch::over_writes(&work)?;
    let array = || engine::open(global, &args.array, OpenTimes::default());
    let report = match mode {
        UpkeepMode::FragmentMeta => {
            let array = array()?;
            watch.run(|| array.consolidate_fragment_meta(&options))?
        }
        UpkeepMode::Commits => {
            let array = array()?;
            watch.run(|| array.consolidate_commits(&options))?
        }
        UpkeepMode::GroupMeta => {
            let group = engine::open_group(global, &args.array, OpenTimes::default())?;
            watch.run(|| group.consolidate_metadata(&options))?
        }
        UpkeepMode::ArrayMeta | UpkeepMode::Fragments => {
            let array = array()?;
            watch.run(|| array.consolidate_metadata(&options))?
        }
    };
    print_files(global, &args.array, args.dry_run, &report)
}

fn fragments(global: &Global, args: &ConsolidateArgs) -> Outcome {
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    let mut options = options(global, &args.fragments);
    if args.dry_run {
        return print_plan(global, &array.plan_consolidation(&options)?);
    }
    let work = Arc::new(Progress::new());
    options.progress = Some(Arc::clone(&work));
    let watch = Watch::over_writes(&work)?;
    print(global, &watch.run(|| array.consolidate(&options))?)
}

fn options(global: &Global, args: &FragmentArgs) -> FragmentOptions {
    let is_stepped = args.steps.is_some() || args.min_fragments.is_some() || args.max_fragments.is_some();
    let choice = if !args.fragment.is_empty() {
        Choice::Listed(args.fragment.clone())
    } else if is_stepped {
        let default = Steps::default();
        let max_fragments = args.max_fragments.unwrap_or(default.max_fragments);
        Choice::Steps(Steps {
            count: args.steps.unwrap_or(default.count),
            min_fragments: args.min_fragments.unwrap_or(2.min(max_fragments)),
            max_fragments,
            size_ratio: args.size_ratio.map_or(default.size_ratio, |ratio| ratio as f32),
            amplification: args.amplification.map_or(default.amplification, |number| number as f32),
            ..Steps::default()
        })
    } else {
        let default = Tiers::default();
        Choice::Tiered(Tiers {
            size_ratio: args.size_ratio.unwrap_or(default.size_ratio),
            // Who names a number wants it to hold for small arrays too.
            floor_byte_len: match args.size_ratio.or(args.amplification) {
                Some(_) => 0,
                None => default.floor_byte_len,
            },
            amplification: args.amplification.unwrap_or(default.amplification),
            ..Tiers::default()
        })
    };
    FragmentOptions {
        choice,
        time: args.times.range(),
        purges: args.purge,
        memory_byte_len: global.memory.map(|byte_len| usize::try_from(byte_len).unwrap_or(usize::MAX)),
        max_fragment_byte_len: args.max_fragment_size,
        verifies: !args.no_verify,
        progress: None,
        ..FragmentOptions::default()
    }
}

fn print_plan(global: &Global, plan: &FragmentPlan) -> Outcome {
    let mut out = std::io::stdout().lock();
    if global.json {
        let merges: serde_json::Value = plan
            .merges
            .iter()
            .map(|merge| {
                serde_json::json!({
                    "inputs": merge.inputs, "schema": merge.schema_name,
                    "read_bytes": merge.read_byte_len, "write_bytes": merge.write_byte_len,
                })
            })
            .collect();
        return Ok(writeln!(out, "{}", serde_json::json!({"dry_run": true, "merges": merges}))?);
    }
    if plan.merges.is_empty() {
        return Ok(writeln!(out, "nothing to merge")?);
    }
    for merge in &plan.merges {
        writeln!(
            out,
            "would merge {} fragments: reads {}, writes about {}",
            human::count(merge.inputs.len() as u64),
            human::bytes(merge.read_byte_len),
            human::bytes(merge.write_byte_len)
        )?;
        for name in &merge.inputs {
            writeln!(out, "    {name}")?;
        }
    }
    Ok(())
}

fn print(global: &Global, done: &Consolidation) -> Outcome {
    let mut out = std::io::stdout().lock();
    if global.json {
        let merges: serde_json::Value = done
            .merges
            .iter()
            .map(|merge| {
                serde_json::json!({
                    "inputs": merge.inputs, "outputs": merge.outputs, "cells": merge.cell_count,
                    "purged": merge.purged,
                    "read_bytes": merge.read_byte_len,
                })
            })
            .collect();
        return Ok(writeln!(
            out,
            "{}",
            serde_json::json!({
                "dry_run": false, "merges": merges, "timestamp": clock_ms(),
            })
        )?);
    }
    if done.merges.is_empty() {
        return Ok(writeln!(out, "nothing to merge")?);
    }
    for merge in &done.merges {
        let outputs = match merge.outputs.as_slice() {
            [] => "nothing is left of them".to_owned(),
            [one] => one.clone(),
            several => format!("{} fragments, the first {}", several.len(), several[0]),
        };
        writeln!(
            out,
            "merged {} fragments with {} cells{}: {outputs}",
            human::count(merge.inputs.len() as u64),
            human::count(merge.cell_count),
            human::at(clock_ms())
        )?;
    }
    Ok(writeln!(out, "`smalti vacuum` removes what was merged")?)
}

/// Prints what was done, or would be.
pub(super) fn print_files(global: &Global, array: &str, is_dry_run: bool, report: &UpkeepReport) -> Outcome {
    for warning in &report.warnings {
        warn(global, array, warning);
    }
    let mut out = std::io::stdout().lock();
    let lists = [("read", &report.read), ("written", &report.written), ("removed", &report.removed)];
    if global.json {
        let files = |files: &[FileReport]| -> serde_json::Value {
            files.iter().map(|file| serde_json::json!({"path": file.path, "bytes": file.byte_len})).collect()
        };
        let mut json = serde_json::json!({"dry_run": is_dry_run, "warnings": report.warnings});
        if !is_dry_run {
            json["timestamp"] = clock_ms().into();
        }
        for (name, list) in lists {
            json[name] = files(list);
        }
        return Ok(writeln!(out, "{json}")?);
    }
    if report.is_empty() {
        return Ok(writeln!(out, "nothing to do")?);
    }
    let would = if is_dry_run { "would be " } else { "" };
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        let bytes = list.iter().fold(0_u64, |sum, file| sum.saturating_add(file.byte_len));
        let count = human::count(list.len() as u64);
        let at = if is_dry_run || name == "read" { String::new() } else { human::at(clock_ms()) };
        writeln!(out, "{would}{name}: {count} files, {}{at}", human::bytes(bytes))?;
        for file in list.iter().filter(|_| is_dry_run || list.len() <= 2) {
            writeln!(out, "    {}", file.path)?;
        }
    }
    Ok(())
}
