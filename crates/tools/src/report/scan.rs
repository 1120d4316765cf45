//! What a read will give, as metadata tells, and the splits that it divides into.

use crate::cells::Field;
use crate::failure::{Failure, Outcome};
use crate::formats::Table;
use crate::human;
use crate::output::OutputFile;
use serde_json::Value as Json;
use smalti::{Count, FieldStatistics, Scan, Value};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A split as it was written.
#[derive(Debug)]
pub struct WrittenSplit {
    /// The file it is in.
    pub file: PathBuf,
    /// About how many bytes its cells take in memory.
    pub byte_len: u64,
}

/// Writes the splits, a file each, named so that they sort as they follow each other.
///
/// # Errors
/// Those of the engine and the system, with the file named.
pub fn write_splits(scan: &Scan, count: usize, folder: &Path) -> Outcome<Vec<WrittenSplit>> {
    let splits = scan.splits(count)?;
    std::fs::create_dir_all(folder).map_err(|error| Failure::from(error).at(folder.display().to_string()))?;
    let width = splits.len().to_string().len();
    let one = |split: &smalti::Split| {
        let path = folder.join(format!("{:0width$}.split", split.number()));
        let (output, mut file) = OutputFile::create(&path)?;
        let named = |error: std::io::Error| Failure::from(error).at(path.display().to_string());
        file.write_all(&split.to_bytes()?).map_err(named)?;
        output.keep()?;
        Ok(WrittenSplit { byte_len: split.byte_len(), file: path })
    };
    splits.iter().map(one).collect()
}

/// What a read will give, as metadata tells, and the splits that were written. Statistics are shown as those of `fields`, which are of
/// codes.
///
/// # Errors
/// Those of the engine, and of the output.
pub fn text(scan: &Scan, fields: &[Field], written: Option<&[WrittenSplit]>, out: &mut dyn Write) -> Outcome {
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

/// The same as JSON.
///
/// # Errors
/// Those of the engine.
pub fn json(scan: &Scan, fields: &[Field], written: Option<&[WrittenSplit]>) -> Outcome<Json> {
    let count = |count: Count| serde_json::json!({"count": count.most(), "exact": count.is_exact()});
    let one = |known: &FieldStatistics| -> Outcome<Json> {
        Ok(serde_json::json!({
            "name": known.name,
            "least": json_value(fields, known, &known.least)?,
            "greatest": json_value(fields, known, &known.greatest)?,
            "exact": known.is_exact,
            "nulls": known.null_count.map(count),
        }))
    };
    let known = scan.statistics()?.iter().map(one).collect::<Outcome<Vec<Json>>>()?;
    let mut told = serde_json::json!({
        "cells": count(scan.cell_count()),
        "bytes": scan.byte_len()?.map(count),
        "fields": known,
    });
    if let Some(written) = written {
        let one = |split: &WrittenSplit| serde_json::json!({"file": split.file.display().to_string(), "bytes": split.byte_len});
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
