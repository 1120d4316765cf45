//! `smalti fsck`, `smalti repair` and `smalti salvage`.

use super::read;
use crate::args::{CheckArgs, FsckArgs, Global, OpenTimes, OutputFormat, ReadArgs, RepairArgs, SalvageArgs};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::progress::Bar;
use crate::when::clock_ms;
use crate::{engine, human};
use smalti::{
    Array, Class, Finding, FsckOptions, FsckReport, LostCells, Phase, Progress, Remedy, RepairOptions,
};
use std::io::Write;
use std::sync::Arc;

pub(super) fn fsck(global: &Global, args: &FsckArgs) -> Outcome {
    let options = engine::options(global, OpenTimes::default())?;
    let progress = Arc::new(Progress::default());
    let check = options_of(&args.check, &progress);
    let watch = Watch::start(&progress, None)?;
    let report = watch.run(|| Array::fsck(&args.array, &options, &check))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if global.json {
        writeln!(out, "{}", report_json(&report))?;
    } else {
        for finding in &report.findings {
            print(&mut out, finding)?;
        }
        let tiles = match report.tile_count {
            0 => String::new(),
            tiles => format!(" and {} tiles", human::count(tiles)),
        };
        let fragments = human::count(report.fragment_count);
        writeln!(out, "{fragments} fragments{tiles} checked: {}", summary(&report))?;
        let can_mend = |finding: &&Finding| matches!(finding.remedy, Remedy::Steps { .. });
        let mendable = report.findings.iter().filter(can_mend).count() as u64;
        if mendable > 0 {
            writeln!(out, "`smalti repair` does something about {} of them", human::count(mendable))?;
        }
    }
    out.flush()?;
    if report.is_sound() { Ok(()) } else { Err(Failure::Silent(1)) }
}

pub(super) fn repair(global: &Global, args: &RepairArgs) -> Outcome {
    let options = engine::options(global, OpenTimes::default())?;
    let progress = Arc::new(Progress::default());
    let repair = RepairOptions {
        check: options_of(&args.check, &progress),
        gives_up: args.give_up,
        is_dry_run: args.dry_run,
    };
    let watch = Watch::over_writes(&progress)?;
    let report = watch.run(|| Array::repair(&args.array, &options, &repair))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let failed = report.mended.iter().any(|mended| mended.failure.is_some());
    if global.json {
        let mended = report.mended.iter().map(|mended| {
            serde_json::json!({
                "finding": finding_json(&mended.finding), "done": mended.words, "failure": mended.failure,
            })
        });
        let json = serde_json::json!({
            "dry_run": args.dry_run, "mended": mended.collect::<Vec<_>>(), "aside": report.aside,
            "left": report_json(&report.left), "timestamp": clock_ms(),
        });
        writeln!(out, "{json}")?;
    } else {
        for mended in &report.mended {
            writeln!(out, "{}", mended.finding)?;
            match (&mended.failure, args.dry_run) {
                (Some(failure), _) => writeln!(out, "    failed: {failure}")?,
                (None, true) => writeln!(out, "    would be mended: repair {}", mended.words)?,
                (None, false) => {
                    writeln!(out, "    mended{}: repair {}", human::at(clock_ms()), mended.words)?
                }
            }
        }
        if let Some(aside) = &report.aside {
            writeln!(out, "what was set aside is in {}/{aside}", args.array.trim_end_matches('/'))?;
        }
        if args.dry_run {
            writeln!(out, "nothing was changed; found: {}", summary(&report.found))?;
        } else {
            for finding in report.left.findings.iter().filter(|finding| finding.class > Class::Harmless) {
                print(&mut out, finding)?;
            }
            writeln!(out, "left: {}", summary(&report.left))?;
        }
    }
    out.flush()?;
    if report.left.is_sound() && !failed { Ok(()) } else { Err(Failure::Silent(1)) }
}

pub(super) fn salvage(global: &Global, args: &SalvageArgs) -> Outcome {
    let options = engine::options(global, OpenTimes::default())?;
    let progress = Arc::new(Progress::default());
    let watch = Watch::over_writes(&progress)?;
    let format = args.format.or_else(|| OutputFormat::of_path(&args.output));
    let announced = progress.announce(match format {
        Some(_) => &[Phase::Checking, Phase::Decoding],
        None => &[Phase::Checking, Phase::Decoding, Phase::Copying, Phase::Publishing],
    });
    let salvaged = shown(&progress, || Array::salvage(&args.array, &options, Some(Arc::clone(&progress))));
    let (salvaged, cell_count) = match format {
        Some(format) => {
            let salvaged = watch.end(salvaged)?;
            let read = ReadArgs {
                array: args.array.clone(),
                format: Some(format),
                output: Some(args.output.clone()),
                ..ReadArgs::default()
            };
            read::read_from(global, &read, salvaged.array())?;
            (salvaged, None)
        }
        None => {
            let target = args.output.to_string_lossy();
            let written = salvaged.and_then(|mut salvaged| {
                let cell_count = shown(&progress, || salvaged.write_to(&target, &options))?;
                Ok((salvaged, Some(cell_count)))
            });
            watch.end(written)?
        }
    };
    drop(announced);
    if args.output.as_os_str() == "-" {
        for lost in salvaged.lost() {
            eprintln!("lost: {}", lost_text(lost));
        }
    } else {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if global.json {
            let lost = salvaged.lost().iter().map(|lost| {
                serde_json::json!({
                    "name": lost.name, "tile": lost.tile, "field": lost.field, "cells": lost.cell_count,
                    "reason": lost.reason,
                })
            });
            let json = serde_json::json!({ "cells": cell_count, "lost": lost.collect::<Vec<_>>() });
            writeln!(out, "{json}")?;
        } else {
            for lost in salvaged.lost() {
                writeln!(out, "lost: {}", lost_text(lost))?;
            }
            let cells =
                cell_count.map_or(String::new(), |count| format!("{} cells in ", human::count(count)));
            writeln!(
                out,
                "{cells}{}; {} losses",
                args.output.display(),
                human::count(salvaged.lost().len() as u64)
            )?;
        }
        out.flush()?;
    }
    if salvaged.lost().is_empty() { Ok(()) } else { Err(Failure::Silent(1)) }
}

fn options_of(args: &CheckArgs, progress: &Arc<Progress>) -> FsckOptions {
    FsckOptions {
        reads_data: args.data,
        young_ms: args.young.saturating_mul(60 * 60 * 1000),
        progress: Some(Arc::clone(progress)),
    }
}

/// Runs work with a bar that shows how far it is.
fn shown<T>(progress: &Arc<Progress>, work: impl FnOnce() -> smalti::Result<T>) -> Outcome<T> {
    let _bar = Bar::of(progress);
    Ok(work()?)
}

fn print(out: &mut dyn Write, finding: &Finding) -> std::io::Result<()> {
    writeln!(out, "{finding}")?;
    match &finding.remedy {
        Remedy::NotNeeded => Ok(()),
        Remedy::None(why) => writeln!(out, "    no repair: {why}"),
        Remedy::Steps { words, .. } => writeln!(out, "    repair {words}"),
        Remedy::GiveUp { words, .. } => writeln!(out, "    repair --give-up {words}"),
    }
}

fn summary(report: &FsckReport) -> String {
    if report.findings.is_empty() {
        return "nothing found".to_owned();
    }
    let of = |class: Class| {
        let count = report.findings.iter().filter(|finding| finding.class == class).count() as u64;
        (count > 0).then(|| format!("{} {}", human::count(count), class.words()))
    };
    let classes = [Class::Lost, Class::Hidden, Class::Misleading, Class::Harmless];
    classes.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

fn lost_text(lost: &LostCells) -> String {
    let tile = lost.tile.map_or(String::new(), |tile| format!(", tile {tile}"));
    let field = lost.field.as_ref().map_or(String::new(), |field| format!(", {field:?}"));
    let cells = lost.cell_count.map_or(String::new(), |cells| format!(", {} cells", human::count(cells)));
    format!("{}{tile}{field}{cells}: {}", lost.name, lost.reason)
}

fn report_json(report: &FsckReport) -> serde_json::Value {
    serde_json::json!({
        "sound": report.is_sound(), "fragments": report.fragment_count, "tiles": report.tile_count,
        "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
    })
}

fn finding_json(finding: &Finding) -> serde_json::Value {
    let (remedy, words) = match &finding.remedy {
        Remedy::NotNeeded => ("not needed", None),
        Remedy::None(why) => ("none", Some(why)),
        Remedy::Steps { words, .. } => ("repair", Some(words)),
        Remedy::GiveUp { words, .. } => ("repair --give-up", Some(words)),
    };
    serde_json::json!({
        "kind": finding.kind.name(), "class": finding.class.name(), "file": finding.file,
        "structure": finding.structure, "field": finding.field, "offset": finding.byte_offset,
        "message": finding.message, "remedy": remedy, "remedy_words": words,
    })
}
