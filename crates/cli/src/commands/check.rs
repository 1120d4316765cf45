//! `smalti fsck`, `smalti repair` and `smalti salvage`.

use super::read;
use crate::args::{CheckArgs, FsckArgs, Global, OpenTimes, OutputFormat, ReadArgs, RepairArgs, SalvageArgs};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::progress::Bar;
use smalti::{
    Array, Class, Extent, Finding, FsckOptions, FsckReport, LostCells, MemberReport, Mended, Older,
    OlderCells, Phase, Progress, Remedy, RepairOptions, Salvaged, Schema, TimeRange,
};
use smalti_tools::human;
use smalti_tools::report::{domain_json, extent_text};
use smalti_tools::when::clock_ms;
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
        for member in report.members.iter().filter(|member| !member.report.findings.is_empty()) {
            writeln!(out, "{}", title(member))?;
            for finding in &member.report.findings {
                print(&mut out, finding)?;
            }
        }
        writeln!(out, "{} checked: {}", checked(&report), summary(&report))?;
        let can_mend = |finding: &&Finding| matches!(finding.remedy, Remedy::Steps { .. });
        let inside = report.members.iter().filter(|member| member.is_inside);
        let inside = inside.flat_map(|member| &member.report.findings);
        let mendable = report.findings.iter().chain(inside).filter(can_mend).count() as u64;
        if mendable > 0 {
            writeln!(out, "`smalti repair` does something about {} of them", human::count(mendable))?;
        }
    }
    out.flush()?;
    if report.is_sound() { Ok(()) } else { Err(Failure::Silent(1)) }
}

/// How much was looked at.
fn checked(report: &FsckReport) -> String {
    let members = report.members.iter().map(|member| &member.report);
    let all = || std::iter::once(report).chain(members.clone());
    let fragments = human::count(all().map(|report| report.fragment_count).sum());
    let tiles = match all().map(|report| report.tile_count).sum() {
        0 => String::new(),
        tiles => format!(" and {} tiles", human::count(tiles)),
    };
    match report.members.len() as u64 {
        0 => format!("{fragments} fragments{tiles}"),
        1 => format!("1 member, {fragments} fragments{tiles}"),
        count => format!("{} members, {fragments} fragments{tiles}", human::count(count)),
    }
}

/// The line above the findings in a member of a group.
fn title(member: &MemberReport) -> String {
    let outside = if member.is_inside { "" } else { ", outside the group's folder" };
    format!("member {} at {}{outside}:", member.path, member.uri)
}

pub(super) fn repair(global: &Global, args: &RepairArgs) -> Outcome {
    let options = engine::options(global, OpenTimes::default())?;
    let progress = Arc::new(Progress::default());
    let repair = RepairOptions {
        check: options_of(&args.check, &progress),
        gives_up: args.give_up,
        is_dry_run: args.dry_run,
        ..RepairOptions::default()
    };
    let watch = Watch::over_writes(&progress)?;
    let report = watch.run(|| Array::repair(&args.array, &options, &repair))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if global.json {
        let members = report.members.iter().map(|member| {
            serde_json::json!({
                "member": member.path, "uri": member.uri, "mended": mended_json(&member.mended),
                "aside": member.aside,
            })
        });
        let json = serde_json::json!({
            "dry_run": args.dry_run, "mended": mended_json(&report.mended), "aside": report.aside,
            "members": members.collect::<Vec<_>>(), "left": report_json(&report.left), "timestamp": clock_ms(),
        });
        writeln!(out, "{json}")?;
    } else {
        print_mended(&mut out, &report.mended, args.dry_run)?;
        if let Some(aside) = &report.aside {
            writeln!(out, "what was set aside is in {}/{aside}", args.array.trim_end_matches('/'))?;
        }
        for member in &report.members {
            writeln!(out, "member {} at {}:", member.path, member.uri)?;
            print_mended(&mut out, &member.mended, args.dry_run)?;
            if let Some(aside) = &member.aside {
                writeln!(out, "what was set aside is in {}/{aside}", member.uri)?;
            }
        }
        if args.dry_run {
            writeln!(out, "nothing was changed; found: {}", summary(&report.found))?;
        } else {
            print_left(&mut out, &report.left)?;
        }
    }
    out.flush()?;
    if report.left.is_sound() && !report.has_failed() { Ok(()) } else { Err(Failure::Silent(1)) }
}

fn mended_json(mended: &[Mended]) -> Vec<serde_json::Value> {
    let json = |mended: &Mended| {
        serde_json::json!({
            "finding": finding_json(&mended.finding), "done": mended.words, "failure": mended.failure,
        })
    };
    mended.iter().map(json).collect()
}

fn print_mended(out: &mut dyn Write, all: &[Mended], is_dry_run: bool) -> std::io::Result<()> {
    for mended in all {
        writeln!(out, "{}", mended.finding)?;
        match (&mended.failure, is_dry_run) {
            (Some(failure), _) => writeln!(out, "    failed: {failure}")?,
            (None, true) => writeln!(out, "    would be mended: repair {}", mended.words)?,
            (None, false) => writeln!(out, "    mended{}: repair {}", human::at(clock_ms()), mended.words)?,
        }
    }
    Ok(())
}

fn print_left(out: &mut dyn Write, left: &FsckReport) -> std::io::Result<()> {
    let concerns_readers = |finding: &&Finding| finding.class > Class::Harmless;
    for finding in left.findings.iter().filter(concerns_readers) {
        print(out, finding)?;
    }
    for member in left.members.iter().filter(|member| !member.report.is_sound()) {
        writeln!(out, "{}", title(member))?;
        for finding in member.report.findings.iter().filter(concerns_readers) {
            print(out, finding)?;
        }
        if !member.is_inside {
            writeln!(out, "    a repair of the group leaves it alone; repair it by its own path")?;
        }
    }
    writeln!(out, "left: {}", summary(left))
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
    let salvaged = salvaged
        .and_then(|salvaged| if args.strict { without_older(salvaged, format) } else { Ok(salvaged) });
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
    let older = salvaged.older();
    let schema = salvaged.array().schema();
    if args.output.as_os_str() == "-" {
        for lost in salvaged.lost() {
            eprintln!("lost: {}", lost_text(lost));
        }
        for cells in &older.cells {
            eprintln!("older: {}", older_text(&schema, cells, args.strict));
        }
        if older.are_cut() {
            eprintln!("older: {}", unlisted_text(older));
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
            let places = older.cells.iter().map(|cells| {
                serde_json::json!({
                    "domain": domain_json(&schema, &cells.extents), "from": [cells.from.start, cells.from.end],
                    "lost": [cells.lost.start, cells.lost.end],
                })
            });
            let older = serde_json::json!({
                "cells": older.cell_count, "left_out": args.strict, "places": places.collect::<Vec<_>>(),
                "unlisted": older.unlisted,
            });
            let json = serde_json::json!({
                "cells": cell_count, "lost": lost.collect::<Vec<_>>(), "older": older,
            });
            writeln!(out, "{json}")?;
        } else {
            for lost in salvaged.lost() {
                writeln!(out, "lost: {}", lost_text(lost))?;
            }
            for cells in &older.cells {
                writeln!(out, "older: {}", older_text(&schema, cells, args.strict))?;
            }
            if older.are_cut() {
                writeln!(out, "older: {}", unlisted_text(older))?;
            }
            let cells =
                cell_count.map_or(String::new(), |count| format!("{} cells in ", human::count(count)));
            let of_older = match (older.cell_count, args.strict) {
                (0, _) => String::new(),
                (count, false) => format!(", {} cells with older values", human::count(count)),
                (count, true) => format!(", {} cells with older values left out", human::count(count)),
            };
            writeln!(
                out,
                "{cells}{}; {} losses{of_older}",
                args.output.display(),
                human::count(salvaged.lost().len() as u64)
            )?;
        }
        out.flush()?;
    }
    if salvaged.lost().is_empty() { Ok(()) } else { Err(Failure::Silent(1)) }
}

/// What was salvaged without the cells of which a newer value may be lost.
fn without_older(mut salvaged: Salvaged, format: Option<OutputFormat>) -> Outcome<Salvaged> {
    if format.is_some() && salvaged.array().schema().is_dense() && salvaged.older().cell_count > 0 {
        let message = "of a dense array --strict cannot write a file: cells with older values become fill values, which takes a new \
                       array; salvage to one with --output NEW_ARRAY, then `smalti read NEW_ARRAY -o FILE`; or leave --strict out: \
                       those cells are listed, and written with their older values";
        return Err(Failure::invalid(message));
    }
    salvaged.leave_out_older()?;
    Ok(salvaged)
}

fn unlisted_text(older: &Older) -> String {
    let (more, cells) = (human::count(older.unlisted), human::count(older.cell_count));
    format!("and {more} more places, {cells} cells in all")
}

fn older_text(schema: &Schema, cells: &OlderCells, is_left_out: bool) -> String {
    let times = |time: TimeRange| match human::timestamp(time.start) {
        start if time.start == time.end => start,
        start => format!("{start} to {}", human::timestamp(time.end)),
    };
    let is_cell = |extent: &Extent| match extent {
        Extent::Num { lo, hi } => lo == hi,
        Extent::Str { lo, hi } => Some(lo) == hi.as_ref(),
    };
    let sides = cells.extents.iter().zip(&schema.dimensions).map(|(extent, dimension)| {
        let text = extent_text(dimension, extent);
        let (low, _) = text.split_once("..").unwrap_or((&text, ""));
        format!("{} {}", dimension.name, if is_cell(extent) { low } else { &text })
    });
    format!(
        "{}: {} of {}; what was written at {} may be newer, and is lost",
        sides.collect::<Vec<_>>().join(", "),
        if is_left_out { "left out, the value is" } else { "the value is" },
        times(cells.from),
        times(cells.lost)
    )
}

fn options_of(args: &CheckArgs, progress: &Arc<Progress>) -> FsckOptions {
    FsckOptions {
        reads_data: args.data,
        young_ms: args.young.saturating_mul(60 * 60 * 1000),
        is_shallow: args.shallow,
        progress: Some(Arc::clone(progress)),
        ..FsckOptions::default()
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
        other => writeln!(out, "    repair: {other:?}"),
    }
}

fn summary(report: &FsckReport) -> String {
    if report.worst().is_none() {
        return "nothing found".to_owned();
    }
    let of = |class: Class| {
        let count = report.all_findings().filter(|finding| finding.class == class).count() as u64;
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
    let members = report.members.iter().map(|member| {
        let FsckReport { findings, fragment_count, tile_count, .. } = &member.report;
        serde_json::json!({
            "member": member.path, "uri": member.uri, "kind": member.kind.map(smalti::ObjectKind::name),
            "inside": member.is_inside, "sound": member.report.is_sound(), "fragments": fragment_count,
            "tiles": tile_count, "findings": findings.iter().map(finding_json).collect::<Vec<_>>(),
        })
    });
    serde_json::json!({
        "sound": report.is_sound(), "fragments": report.fragment_count, "tiles": report.tile_count,
        "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "members": members.collect::<Vec<_>>(),
    })
}

fn finding_json(finding: &Finding) -> serde_json::Value {
    let (remedy, words) = match &finding.remedy {
        Remedy::NotNeeded => ("not needed", None),
        Remedy::None(why) => ("none", Some(why)),
        Remedy::Steps { words, .. } => ("repair", Some(words)),
        Remedy::GiveUp { words, .. } => ("repair --give-up", Some(words)),
        _ => ("other", None),
    };
    serde_json::json!({
        "kind": finding.kind.name(), "class": finding.class.name(), "file": finding.file,
        "structure": finding.structure, "field": finding.field, "offset": finding.byte_offset,
        "message": finding.message, "remedy": remedy, "remedy_words": words,
    })
}
