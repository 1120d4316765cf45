//! `smalti consolidate`: many files into one that says the same.

use crate::args::{ConsolidateArgs, Global, OpenTimes, UpkeepMode};
use crate::engine;
use crate::failure::Outcome;
use crate::human;
use smalti::{FileReport, UpkeepOptions, UpkeepReport};
use std::io::Write;

pub(super) fn run(global: &Global, args: &ConsolidateArgs) -> Outcome {
    let options = UpkeepOptions { dry_run: args.dry_run };
    let open = || engine::open(global, &args.array, OpenTimes::default());
    let report = match args.mode {
        UpkeepMode::FragmentMeta => open()?.consolidate_fragment_meta(&options)?,
        UpkeepMode::Commits => open()?.consolidate_commits(&options)?,
        UpkeepMode::ArrayMeta => open()?.consolidate_metadata(&options)?,
        UpkeepMode::GroupMeta => {
            engine::open_group(global, &args.array, OpenTimes::default())?.consolidate_metadata(&options)?
        }
        UpkeepMode::Fragments => return Err(no_fragments("consolidate")),
    };
    print(global, args, &report)
}

/// What says that a mode is not there yet.
pub(super) fn no_fragments(command: &str) -> crate::failure::Failure {
    smalti::Error::unsupported(format!(
        "this release has no `smalti {command} --mode fragments` yet; there are fragment_meta, commits, array_meta, group_meta"
    ))
    .into()
}

/// Prints what was done, or would be.
pub(super) fn print(global: &Global, args: &ConsolidateArgs, report: &UpkeepReport) -> Outcome {
    for warning in &report.warnings {
        eprintln!("smalti: warning: {}: {warning}", args.array);
    }
    let mut out = std::io::stdout().lock();
    let lists = [("read", &report.read), ("written", &report.written), ("removed", &report.removed)];
    if global.json {
        let files = |files: &[FileReport]| -> serde_json::Value {
            files.iter().map(|file| serde_json::json!({"path": file.path, "bytes": file.byte_len})).collect()
        };
        let mut json = serde_json::json!({"dry_run": args.dry_run, "warnings": report.warnings});
        for (name, list) in lists {
            json[name] = files(list);
        }
        return Ok(writeln!(out, "{json}")?);
    }
    if report.is_empty() {
        return Ok(writeln!(out, "nothing to do")?);
    }
    let would = if args.dry_run { "would be " } else { "" };
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        let bytes = list.iter().fold(0_u64, |sum, file| sum.saturating_add(file.byte_len));
        let count = human::count(list.len() as u64);
        writeln!(out, "{would}{name}: {count} files, {}", human::bytes(bytes))?;
        for file in list.iter().filter(|_| args.dry_run || list.len() <= 2) {
            writeln!(out, "    {}", file.path)?;
        }
    }
    Ok(())
}
