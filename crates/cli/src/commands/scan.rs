//! `smalti scan`: what a read will give, as metadata tells, and the splits that it divides into.

use super::read;
use crate::args::{Global, ScanArgs};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::warning::warnings;
use serde_json::{Value as Json, json};
use smalti::{Count, FieldStatistics, Scan, Value};
use smalti_tools::cells::Field;
use smalti_tools::formats::Table;
use smalti_tools::notation::{Enums, Notation};
use smalti_tools::output::OutputFile;
use smalti_tools::{human, ranges};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) fn run(global: &Global, args: &ScanArgs) -> Outcome {
    let ScanArgs { splits, into, read: args } = args;
    read::refuse_split(args)?;
    if args.stats || args.format.is_some() || args.output.is_some() {
        return Err(Failure::usage(
            "--stats, --format and --output are for `smalti read`; nothing is read here",
        ));
    }
    let array = engine::open(global, &args.array, args.times)?;
    let labels = Field::labels_of(&array.schema(), args.notation);
    let fields =
        Field::select(Field::of_array(&array, args.notation)?, labels, &args.select, args.timestamps)?;
    let wanted = ranges::of_read(&array, &args.ranges, &args.array, &warnings(global))?;
    let request = read::request(global, args, &array, &fields, wanted, args.limit)?;
    let scan = array.scan_raw(&request)?;
    let written = match splits.zip(into.as_deref()) {
        Some((count, folder)) => Some(write(&scan, count, folder)?),
        None => None,
    };
    // Statistics are of codes.
    let codes = Notation { enums: Enums::Codes, ..args.notation };
    let fields = Field::select(
        Field::of_array(&array, codes)?,
        Field::labels_of(&array.schema(), codes),
        &args.select,
        args.timestamps,
    )?;
    let mut out = std::io::stdout().lock();
    if global.json {
        return Ok(writeln!(out, "{}", to_json(&scan, &fields, written.as_deref())?)?);
    }
    print(&scan, &fields, written.as_deref(), &mut out)
}

/// A split as it was written.
struct Written {
    file: PathBuf,
    byte_len: u64,
}

/// Writes the splits, a file each, named so that they sort as they follow each other.
fn write(scan: &Scan, count: usize, folder: &Path) -> Outcome<Vec<Written>> {
    let splits = scan.splits(count)?;
    std::fs::create_dir_all(folder).map_err(|error| Failure::from(error).at(folder.display().to_string()))?;
    let width = splits.len().to_string().len();
    let one = |split: &smalti::Split| {
        let path = folder.join(format!("{:0width$}.split", split.number()));
        let (output, mut file) = OutputFile::create(&path)?;
        let named = |error: std::io::Error| Failure::from(error).at(path.display().to_string());
        file.write_all(&split.to_bytes()?).map_err(named)?;
        output.keep()?;
        Ok(Written { byte_len: split.byte_len(), file: path })
    };
    splits.iter().map(one).collect()
}

fn print(scan: &Scan, fields: &[Field], written: Option<&[Written]>, out: &mut impl Write) -> Outcome {
    writeln!(out, "cells: {}", shown(scan.cell_count(), human::count))?;
    let byte_len = scan.byte_len()?.map_or("unknown".to_owned(), |count| shown(count, human::bytes));
    writeln!(out, "bytes in memory: {byte_len}\n")?;
    let titles = [("field", false), ("least", true), ("greatest", true), ("nulls", true)];
    let mut table = Table::new(titles.map(|(title, is_number)| (title.to_string(), is_number)));
    for known in scan.statistics()? {
        let end = |value: &Option<Value>| match json_value(fields, &known, value)? {
            Json::Null => Ok::<String, Failure>("unknown".to_owned()),
            Json::String(text) => Ok(text),
            other => Ok(other.to_string()),
        };
        let nulls = known.null_count.map_or("unknown".to_owned(), |count| shown(count, human::count));
        table.push(vec![known.name.clone(), end(&known.least)?, end(&known.greatest)?, nulls]);
    }
    table.print(out)?;
    let Some(written) = written else { return Ok(()) };
    writeln!(out)?;
    let mut table = Table::new([("split".to_string(), false), ("about".to_string(), true)]);
    for split in written {
        table.push(vec![split.file.display().to_string(), human::bytes(split.byte_len)]);
    }
    Ok(table.print(out)?)
}

fn shown(count: Count, text: fn(u64) -> String) -> String {
    let number = text(count.most());
    if count.is_exact() { number } else { format!("at most {number}") }
}

fn to_json(scan: &Scan, fields: &[Field], written: Option<&[Written]>) -> Outcome<Json> {
    let count = |count: Count| json!({"count": count.most(), "exact": count.is_exact()});
    let one = |known: &FieldStatistics| -> Outcome<Json> {
        Ok(json!({
            "name": known.name,
            "least": json_value(fields, known, &known.least)?,
            "greatest": json_value(fields, known, &known.greatest)?,
            "exact": known.is_exact,
            "nulls": known.null_count.map(count),
        }))
    };
    let known = scan.statistics()?.iter().map(one).collect::<Outcome<Vec<Json>>>()?;
    let mut told = json!({
        "cells": count(scan.cell_count()),
        "bytes": scan.byte_len()?.map(count),
        "fields": known,
    });
    if let Some(written) = written {
        let one =
            |split: &Written| json!({"file": split.file.display().to_string(), "bytes": split.byte_len});
        told["splits"] = written.iter().map(one).collect();
    }
    Ok(told)
}

/// A value as `smalti read` prints cells.
fn json_value(fields: &[Field], known: &FieldStatistics, value: &Option<Value>) -> Outcome<Json> {
    let field = fields.iter().find(|field| field.name == known.name);
    let (Some(field), Some(value)) = (field, value) else { return Ok(Json::Null) };
    let mut text = Vec::new();
    field.json_notation().push(&mut text, value.as_bytes());
    serde_json::from_slice(&text).map_err(|error| Failure::invalid(error.to_string()))
}
