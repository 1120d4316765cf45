//! What the harness asks, read out of its lines.

use serde_json::Value;
use smalti::{Array, Extent, Filter, Options, Scalar, SyncLevel};
use std::path::Path;

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

pub(crate) fn text<'q>(query: &'q Value, key: &str) -> Outcome<&'q str> {
    query[key].as_str().ok_or_else(|| format!("{key} is missing").into())
}

/// Opens an array to be written, as durably as the query asks.
pub(crate) fn to_write(query: &Value) -> Outcome<Array> {
    let level = if query["sync"] == "none" { SyncLevel::None } else { SyncLevel::default() };
    Ok(Array::open_with(text(query, "path")?, &Options::new().sync(level))?)
}

/// The filters that a query names.
pub(crate) fn filters(query: &Value) -> Outcome<Vec<Filter>> {
    Ok(match text(query, "v")? {
        "none" => vec![],
        "zstd3" => vec![Filter::Zstd { level: 3 }],
        "bslz4" => vec![Filter::Byteshuffle, Filter::Lz4 { level: -1 }],
        "bwz" => vec![Filter::BitWidthReduction { max_window: 256 }, Filter::Zstd { level: 3 }],
        "dd" => vec![Filter::DoubleDelta { level: -1, reinterpret: None }],
        other => return Err(format!("unsupported: filters {other}").into()),
    })
}

pub(crate) fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// A list of boxes as the sides of each: per dimension the first cell and the one after the last.
pub(crate) fn boxes(value: &Value) -> Vec<Vec<(u64, u64)>> {
    let sides = |sides: &Value| {
        sides.as_array().into_iter().flatten().map(numbers).map(|ends| (ends[0], ends[1])).collect()
    };
    value.as_array().into_iter().flatten().map(sides).collect()
}

/// The sides of a box as the engine takes them.
pub(crate) fn extents(sides: &[(u64, u64)]) -> Outcome<Vec<Extent>> {
    let side = |&(start, end): &(u64, u64)| {
        Ok(Extent::between(Scalar::I64(start as i64), Scalar::I64(end as i64 - 1))?)
    };
    sides.iter().map(side).collect()
}

/// The ranges of each read of a query, per dimension: those of its axes, of each of its boxes, or one read of everything.
pub(crate) fn wanted(query: &Value) -> Outcome<Vec<Vec<Vec<Extent>>>> {
    let axes = boxes(&query["axes"]);
    if !axes.is_empty() {
        return Ok(vec![axes.iter().map(|ranges| extents(ranges)).collect::<Outcome<_>>()?]);
    }
    let boxes = boxes(&query["boxes"]);
    if boxes.is_empty() {
        return Ok(vec![Vec::new()]);
    }
    let ranges = |sides: &Vec<_>| Ok(extents(sides)?.into_iter().map(|side| vec![side]).collect());
    boxes.iter().map(ranges).collect()
}

/// How the data is scaled, as the harness takes it from its environment.
pub(crate) fn scale() -> f64 {
    std::env::var("BENCH_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1.0)
}

pub(crate) fn copy_folder(from: &Path, to: &Path) -> Outcome<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

pub(crate) fn remove(path: &str) -> Outcome<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
