//! What `smalti consolidate` and `smalti vacuum` do with files that are no fragments: commits, and metadata of fragments, arrays and groups.

use crate::args::{Global, OpenTimes, UpkeepMode};
use crate::engine;
use crate::failure::Outcome;
use crate::interrupt::Watch;
use crate::warning::warn;
use smalti::upkeep::{FileReport, UpkeepOptions, UpkeepReport};
use smalti::{Array, Group, Progress};
use smalti_tools::human;
use smalti_tools::when::clock_ms;
use std::io::Write;
use std::sync::Arc;

/// Does to an array or, in the mode of groups, to a group what is to be done to it, and prints what that was, or would be.
pub(super) fn run(
    (global, uri, mode, is_dry_run): (&Global, &str, UpkeepMode, bool),
    of_array: impl FnOnce(&Array, &UpkeepOptions) -> smalti::Result<UpkeepReport>,
    of_group: impl FnOnce(&Group, &UpkeepOptions) -> smalti::Result<UpkeepReport>,
) -> Outcome {
    let work = Arc::new(Progress::new());
    let options =
        UpkeepOptions { dry_run: is_dry_run, progress: Some(Arc::clone(&work)), ..UpkeepOptions::default() };
    let watch = Watch::over_writes(&work)?;
    let report = match mode {
        UpkeepMode::GroupMeta => {
            let group = engine::open_group(global, uri, OpenTimes::default())?;
            watch.run(|| of_group(&group, &options))?
        }
        _ => {
            let array = engine::open(global, uri, OpenTimes::default())?;
            watch.run(|| of_array(&array, &options))?
        }
    };
    print(global, uri, is_dry_run, &report)
}

/// Prints what was done, or would be.
fn print(global: &Global, array: &str, is_dry_run: bool, report: &UpkeepReport) -> Outcome {
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
