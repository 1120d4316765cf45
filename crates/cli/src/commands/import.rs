//! `smalti import`: from files to an array, without a schema written by hand. The rules are in docs/import.md.

use crate::args::{Global, ImportArgs, OpenTimes};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::progress::Bar;
use crate::warning::warnings;
use smalti::Progress;
use smalti_tools::import::{ImportOptions, Imported, Input, Plan, TableOptions};
use smalti_tools::{Environment, human};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub(super) fn run(global: &Global, args: &ImportArgs) -> Outcome {
    let start = Instant::now();
    if args.dry_run && (args.as_it_goes || args.resume) {
        return Err(Failure::usage("--dry-run writes nothing; leave out --as-it-goes and --resume"));
    }
    let options = ImportOptions {
        table: args.table.clone(),
        at: args.at,
        extend_enums: args.extend_enums,
        as_it_goes: args.as_it_goes,
        resume: args.resume,
    };
    let input = Input::Files(args.files.clone());
    if args.dry_run {
        let plan = watched(global, |environment| {
            smalti_tools::import::plan(input, Some(&args.array), &options, environment)
        })?;
        show(global, &plan);
        return Ok(());
    }
    let imported = watched(global, |environment| {
        smalti_tools::import::import(input, &args.array, &options, environment)
    })?;
    let Imported { is_new, cell_count, fragments, timestamp } = imported;
    if global.json {
        println!(
            "{}",
            serde_json::json!({"created": is_new, "cells": cell_count, "fragments": fragments, "timestamp": timestamp})
        );
        return Ok(());
    }
    let cells = human::cells(cell_count);
    let fragments = match fragments.as_slice() {
        [only] => only.clone(),
        several => format!("{} fragments", several.len()),
    };
    let into = if is_new { "the new array" } else { "the array" };
    println!(
        "imported {cells} into {into} {} as {fragments}{} in {}",
        args.array,
        human::at(timestamp),
        human::duration(start.elapsed())
    );
    Ok(())
}

/// The schema of `smalti create --from`.
///
/// # Errors
/// As [`run`].
pub(super) fn schema_from(global: &Global, table: &TableOptions, file: &Path) -> Outcome<String> {
    let options = ImportOptions { table: table.clone(), ..ImportOptions::default() };
    let input = Input::Files(vec![file.to_path_buf()]);
    let plan = watched(global, |environment| smalti_tools::import::plan(input, None, &options, environment))?;
    Ok(plan.schema.to_string())
}

/// Does work of an import, with a bar that shows how far it is, until a signal stops it.
fn watched<T: Send>(
    global: &Global,
    work: impl FnOnce(&Environment<'_>) -> smalti_tools::Outcome<T> + Send,
) -> Outcome<T> {
    let progress = Arc::new(Progress::new());
    let watch = Watch::over_imports(&progress)?;
    let bar = Bar::of(&progress);
    let outcome = engine::context(global).and_then(|context| {
        let engine = engine::options(global, OpenTimes::default())?;
        let warn = warnings(global);
        let environment = Environment {
            engine: &engine,
            memory: global.memory,
            folder: None,
            work: &progress,
            warn: &warn,
        };
        Ok(context.run(|| work(&environment))?)
    });
    drop(bar);
    watch.end(outcome)
}

/// The schema on standard output; on standard error the reasons, or what becomes of an array that is there.
fn show(global: &Global, plan: &Plan) {
    // A grid fits an array or does not.
    if !plan.is_new && plan.reasons.is_empty() {
        return;
    }
    println!("{}", smalti_tools::report::schema::lines(&plan.schema));
    if global.json && plan.is_new {
        let reasons = plan.reasons.iter().map(|(what, why)| (what.clone(), why.as_str().into()));
        let reasons: serde_json::Map<String, serde_json::Value> = reasons.collect();
        eprintln!("{}", serde_json::json!({"kind": "reasons", "reasons": reasons}));
        return;
    }
    for (what, why) in &plan.reasons {
        eprintln!("{what}: {why}");
    }
}
