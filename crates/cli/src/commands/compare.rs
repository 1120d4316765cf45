//! `smalti digest` and `smalti diff`.

use crate::args::{DiffArgs, DigestArgs, Global, OpenTimes};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::progress::Bar;
use smalti::json::CellNotation;
use smalti::{
    Array, CellDifference, CellShape, Change, DiffFields, DiffOptions, DigestOptions, Progress, Side,
};
use smalti_tools::cells::{Field, Labels};
use smalti_tools::notation::{Dates, Enums, Notation};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

pub(super) fn digest(global: &Global, args: &DigestArgs) -> Outcome {
    let array = engine::open(global, &args.array, args.times)?;
    let read = Arc::new(Progress::new());
    let options = DigestOptions {
        includes_times: args.timestamps,
        memory_byte_len: memory(global),
        progress: Some(Arc::clone(&read)),
        ..DigestOptions::default()
    };
    let watch = Watch::start(&read, None)?;
    let digest = watch.run(|| array.digest(&options))?;
    let mut out = std::io::stdout().lock();
    if global.json {
        let json = serde_json::json!({ "digest": digest.to_string(), "cells": digest.cell_count });
        writeln!(out, "{json}")?;
    } else {
        writeln!(out, "{digest}")?;
    }
    Ok(())
}

/// As diff(1): 0 when there is no difference, 1 when there is one, 2 for trouble. A signal has the status that it has everywhere.
pub(super) fn diff(global: &Global, args: &DiffArgs) -> Outcome {
    match compare(global, args) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::Silent(1)),
        Err(failure) if matches!(failure.root(), Failure::ReaderGone | Failure::Stopped(_)) => Err(failure),
        Err(failure) => {
            failure.report();
            Err(Failure::Silent(2))
        }
    }
}

/// Whether nothing differs.
fn compare(global: &Global, args: &DiffArgs) -> Outcome<bool> {
    let second = args.second.as_ref().unwrap_or(&args.first);
    let a = engine::open(global, &args.first, OpenTimes::until(args.at_a))?;
    let b = engine::open(global, second, OpenTimes::until(args.at_b))?;
    let fields = DiffFields::of(&a.schema(), &b.schema())
        .map_err(|error| error.at_uri(format!("{} and {second}", args.first)))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for different in &fields.different {
        match global.json {
            true => writeln!(out, "{}", serde_json::json!({ "schema": different }))?,
            false => writeln!(out, "! {different}")?,
        }
    }
    let read = Arc::new(Progress::new());
    let options = DiffOptions {
        memory_byte_len: memory(global),
        progress: Some(Arc::clone(&read)),
        ..DiffOptions::default()
    };
    let labels = LabelsOfSides::of(&fields, &a, &b)?;
    let mut lines: Lines<'_> =
        Lines { out: &mut out, json: global.json, labels: &labels, left: args.limit, failure: None };
    let watch = Watch::start(&read, None)?;
    let bar = match std::io::stdout().is_terminal() {
        true => Bar::hidden(),
        false => Bar::of(&read),
    };
    let summary = lines.run(&a, &b, &options);
    drop(bar);
    let summary = watch.end(summary)?;
    if global.json {
        let json = serde_json::json!({
            "added": summary.added, "removed": summary.removed, "changed": summary.changed,
            "same": summary.same, "cut": summary.is_cut,
        });
        writeln!(out, "{}", serde_json::json!({ "summary": json }))?;
    }
    out.flush()?;
    Ok(summary.is_empty() && fields.different.is_empty())
}

fn memory(global: &Global) -> Option<usize> {
    global.memory.map(|byte_len| usize::try_from(byte_len).unwrap_or(usize::MAX))
}

/// Differences as they are printed.
struct Lines<'a> {
    out: &'a mut (dyn Write + 'a),
    json: bool,
    labels: &'a LabelsOfSides,
    left: Option<u64>,
    /// Why nothing can be printed any more.
    failure: Option<Failure>,
}

impl Lines<'_> {
    fn run(&mut self, a: &Array, b: &Array, options: &DiffOptions) -> Outcome<smalti::DiffSummary> {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<String>(1024);
        let (json, labels, mut left) = (self.json, self.labels, self.left);
        let outcome = std::thread::scope(|scope| {
            let work = scope.spawn(move || {
                a.diff(b, options, |fields, cell| {
                    if left == Some(0) {
                        return Ok(ControlFlow::Break(()));
                    }
                    left = left.map(|left| left - 1);
                    let line = if json {
                        line_json(fields, labels, &cell)
                    } else {
                        line_text(fields, labels, &cell)
                    };
                    Ok(match sender.send(line) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    })
                })
            });
            for line in receiver {
                if let Err(error) = writeln!(self.out, "{line}") {
                    self.failure = Some(error.into());
                    break;
                }
            }
            work.join()
        });
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match outcome {
            Ok(summary) => Ok(summary?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn value_text(shape: CellShape, bytes: &[u8]) -> String {
    let mut text = Vec::new();
    CellNotation::new(shape.datatype, shape.cell_val_num, true).push(&mut text, bytes);
    String::from_utf8_lossy(&text).into_owned()
}

/// The labels of the attributes that have some, in the first and in the second array.
struct LabelsOfSides(Vec<[Option<Arc<Labels>>; 2]>);

impl LabelsOfSides {
    fn of(fields: &DiffFields, a: &Array, b: &Array) -> Outcome<Self> {
        let notation = Notation { dates: Dates::Iso, enums: Enums::Labels };
        let sides = [Field::of_array(a, notation)?, Field::of_array(b, notation)?];
        let labels = |side: &[Field], name: &str| {
            let field = side.iter().find(|field| field.name == name && !field.is_dimension);
            field.and_then(|field| field.labels.clone())
        };
        let of = |(name, _): &(String, CellShape)| sides.each_ref().map(|side| labels(side, name));
        Ok(LabelsOfSides(fields.attributes.iter().map(of).collect()))
    }

    /// What is on the first side (0) or the second (1) of a difference, as JSON; nothing where there is no cell.
    fn text(&self, shape: CellShape, attribute: usize, idx: usize, side: &Side) -> String {
        let bytes = match side {
            Side::Absent => return String::new(),
            Side::Null => return "null".to_owned(),
            Side::Value(bytes) => bytes,
        };
        let Some(labels) = self.0.get(attribute).and_then(|sides| sides[idx].as_ref()) else {
            return value_text(shape, bytes);
        };
        let mut text = Vec::new();
        match labels.label(shape.datatype, bytes) {
            Ok(label) => labels.json_notation(true).push(&mut text, label),
            Err(code) => return format!("{{\"code\":{code}}}"),
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn line_text(fields: &DiffFields, labels: &LabelsOfSides, cell: &CellDifference) -> String {
    let coordinates = fields.dimensions.iter().zip(&cell.coordinates);
    let coordinates =
        coordinates.map(|((name, shape), bytes)| format!("{name}={}", value_text(*shape, bytes)));
    let coordinates = coordinates.collect::<Vec<_>>().join(" ");
    let values = cell.fields.iter().filter_map(|field| {
        let (name, shape) = fields.attributes.get(field.attribute)?;
        let text = |idx, side| labels.text(*shape, field.attribute, idx, side);
        let (before, after) = (text(0, &field.before), text(1, &field.after));
        Some(match cell.change {
            Change::Changed => format!("{name}: {before} -> {after}"),
            _ => format!("{name}={before}{after}"),
        })
    });
    let mark = match cell.change {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Changed => '~',
    };
    format!("{mark} {coordinates}: {}", values.collect::<Vec<_>>().join(", "))
}

fn line_json(fields: &DiffFields, labels: &LabelsOfSides, cell: &CellDifference) -> String {
    let json = |shape: CellShape, bytes: &[u8]| -> serde_json::Value {
        serde_json::from_str(&value_text(shape, bytes)).unwrap_or_default()
    };
    let coordinates = fields.dimensions.iter().zip(&cell.coordinates);
    let coordinates: serde_json::Map<String, serde_json::Value> =
        coordinates.map(|((name, shape), bytes)| (name.clone(), json(*shape, bytes))).collect();
    let side = |idx: usize| -> serde_json::Map<String, serde_json::Value> {
        let values = cell.fields.iter().filter_map(|field| {
            let (name, shape) = fields.attributes.get(field.attribute)?;
            let side = if idx == 0 { &field.before } else { &field.after };
            let text = labels.text(*shape, field.attribute, idx, side);
            (!text.is_empty()).then(|| (name.clone(), serde_json::from_str(&text).unwrap_or_default()))
        });
        values.collect()
    };
    let change = match cell.change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
    };
    serde_json::json!({
        "change": change, "cell": coordinates, "before": side(0), "after": side(1),
    })
    .to_string()
}
