//! `smalti consolidate`: many fragments or files into one that says the same.

use super::upkeep_files;
use crate::args::{ConsolidateArgs, FragmentArgs, Global, OpenTimes, UpkeepMode};
use crate::engine;
use crate::failure::Outcome;
use crate::interrupt::Watch;
use smalti::Progress;
use smalti::upkeep::{Choice, Consolidation, FragmentOptions, FragmentPlan, Steps, Tiers};
use smalti_tools::human;
use smalti_tools::when::clock_ms;
use std::io::Write;
use std::sync::Arc;

pub(super) fn run(global: &Global, args: &ConsolidateArgs) -> Outcome {
    match args.mode {
        UpkeepMode::Fragments => fragments(global, args),
        mode => upkeep_files::run(
            (global, &args.array, mode, args.dry_run),
            |array, options| match mode {
                UpkeepMode::FragmentMeta => array.consolidate_fragment_meta(options),
                UpkeepMode::Commits => array.consolidate_commits(options),
                _ => array.consolidate_metadata(options),
            },
            |group, options| group.consolidate_metadata(options),
        ),
    }
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
