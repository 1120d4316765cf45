//! The reads of a case.

use crate::cells::{cell, same};
use serde_json::Value;
use smalti_array::{ArrayPlace, Snapshot, TIMESTAMPS};
use smalti_format::ArraySchema;
use smalti_query::{Batch, ReadRequest, ResultField, read};
use smalti_store::{SyncLevel, system_env};
use smalti_types::{Datatype, EncryptionKey, Extent, Layout, Scalar, TimeRange};
use std::collections::HashMap;
use std::path::Path;

pub fn place(array: &Path, expected: &Value) -> Result<ArrayPlace, String> {
    let key = match expected["encryption"]["key"].as_str() {
        Some(key) => Some(EncryptionKey::new(key.as_bytes()).map_err(|error| error.to_string())?),
        None => None,
    };
    ArrayPlace::open(&array.to_string_lossy(), SyncLevel::Full, key, system_env())
        .map_err(|error| error.to_string())
}

/// Performs every read; says what it waits for if one needs what is not there yet.
pub fn check(array: &Path, expected: &Value) -> Result<Option<&'static str>, String> {
    let mut columns: HashMap<String, Value> = HashMap::new();
    let mut waits = None;
    for wanted in expected["reads"].as_array().map_or(&[][..], Vec::as_slice) {
        let name = wanted["name"].as_str().unwrap_or_default();
        for (column, values) in wanted["columns"].as_object().into_iter().flatten() {
            let values = match values["same_as"].as_str() {
                Some(other) => {
                    columns.get(other).cloned().ok_or_else(|| format!("{name}: no column {other}"))?
                }
                None => values["values"].clone(),
            };
            columns.insert(format!("{name}/{column}"), values);
        }
        if wanted.get("cond").is_some() {
            waits = Some("query conditions");
            continue;
        }
        if wanted.get("labels").is_some() {
            waits = Some("dimension labels");
            continue;
        }
        if wanted.get("error").is_some() {
            continue;
        }
        perform(array, expected, wanted, &columns).map_err(|message| format!("read {name}: {message}"))?;
    }
    Ok(waits)
}

fn perform(
    array: &Path,
    expected: &Value,
    wanted: &Value,
    columns: &HashMap<String, Value>,
) -> Result<(), String> {
    let text = |error: smalti_types::Error| error.to_string();
    let time = TimeRange {
        start: wanted["t0"].as_u64().unwrap_or(0),
        end: wanted["t1"].as_u64().unwrap_or(u64::MAX),
    };
    let snapshot = Snapshot::open(place(array, expected)?, time).map_err(text)?;
    let schema = snapshot.schema();
    let layout = match wanted["layout"].as_str() {
        Some("row") => Layout::RowMajor,
        Some("col") => Layout::ColMajor,
        Some("global") => Layout::GlobalOrder,
        _ => Layout::Unordered,
    };
    let names: Vec<String> = wanted["columns"].as_object().ok_or("no columns")?.keys().cloned().collect();
    let request = ReadRequest {
        fields: names.clone(),
        ranges: ranges(schema, &wanted["ranges"])?,
        layout: Some(layout),
        batch_cell_count: Some(7),
    };
    let batches = read(&snapshot, &request).map_err(text)?;
    let fields = batches.fields().to_vec();
    let batches: Vec<Batch> = batches.collect::<Result<_, _>>().map_err(text)?;
    let mut found: Vec<Vec<Value>> = vec![Vec::new(); fields.len()];
    for batch in &batches {
        for ((field, column), values) in fields.iter().zip(&batch.columns).zip(&mut found) {
            values.extend((0..batch.cell_count).map(|idx| cell(field.shape, column.as_ref(), idx)));
        }
    }
    let name = wanted["name"].as_str().unwrap_or_default();
    let wanted_columns: Vec<&[Value]> = names
        .iter()
        .map(|column| columns[&format!("{name}/{column}")].as_array().map_or(&[][..], Vec::as_slice))
        .collect();
    let count = wanted["num_cells"].as_u64().unwrap_or_default() as usize;
    if found.iter().any(|values| values.len() != count) {
        return Err(format!("{} cells, {count} expected", found.first().map_or(0, Vec::len)));
    }
    let is_loose = wanted["sort"] == true
        || (schema.allows_dups && layout != Layout::Unordered)
        || layout == Layout::Unordered;
    compare(schema, &fields, found, &wanted_columns, count, is_loose)
}

fn compare(
    schema: &ArraySchema,
    fields: &[ResultField],
    found: Vec<Vec<Value>>,
    wanted: &[&[Value]],
    count: usize,
    is_loose: bool,
) -> Result<(), String> {
    let _ = schema;
    let mut order: Vec<usize> = (0..count).collect();
    let mut wanted_order = order.clone();
    if is_loose {
        let key = |columns: &dyn Fn(usize, usize) -> Value, cell: usize| {
            (0..fields.len())
                .map(|field| canonical(&fields[field], &columns(field, cell)))
                .collect::<Vec<_>>()
        };
        order.sort_by_cached_key(|&cell| key(&|field, cell| found[field][cell].clone(), cell));
        wanted_order.sort_by_cached_key(|&cell| key(&|field, cell| wanted[field][cell].clone(), cell));
    }
    for (position, (&cell, &wanted_cell)) in order.iter().zip(&wanted_order).enumerate() {
        for (field, (found, wanted)) in fields.iter().zip(found.iter().zip(wanted)) {
            if !same(field.shape, &found[cell], &wanted[wanted_cell]) {
                return Err(format!(
                    "cell {position} of {:?} is {}, expected {}",
                    field.name, found[cell], wanted[wanted_cell]
                ));
            }
        }
    }
    Ok(())
}

/// A text that is the same for cells that are the same.
fn canonical(field: &ResultField, value: &Value) -> String {
    match value {
        Value::Number(number) if field.shape.datatype == Datatype::Float32 => {
            format!("{:?}", number.as_f64().unwrap_or_default() as f32)
        }
        Value::Number(number) if field.shape.datatype.is_float() => {
            format!("{:?}", number.as_f64().unwrap_or_default())
        }
        Value::Array(values) => {
            values.iter().map(|value| canonical(field, value)).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

fn ranges(schema: &ArraySchema, wanted: &Value) -> Result<Vec<Vec<Extent>>, String> {
    let Some(dims) = wanted.as_array() else { return Ok(Vec::new()) };
    schema
        .dimensions
        .iter()
        .zip(dims)
        .map(|(dimension, ranges)| {
            ranges
                .as_array()
                .map_or(&[][..], Vec::as_slice)
                .iter()
                .map(|range| {
                    if dimension.is_var() {
                        let end = |idx: usize| range[idx].as_str().unwrap_or_default().as_bytes().to_vec();
                        return Extent::between_strings(&end(0), &end(1)).map_err(|error| error.to_string());
                    }
                    let end = |idx: usize| scalar(dimension.datatype, &range[idx]);
                    Extent::between(end(0)?, end(1)?).map_err(|error| error.to_string())
                })
                .collect()
        })
        .collect()
}

fn scalar(datatype: Datatype, value: &Value) -> Result<Scalar, String> {
    let scalar = match value {
        Value::Number(number) if number.is_u64() => Scalar::U64(number.as_u64().unwrap_or_default()),
        Value::Number(number) if number.is_i64() => Scalar::I64(number.as_i64().unwrap_or_default()),
        Value::Number(number) => Scalar::F64(number.as_f64().unwrap_or_default()),
        other => return Err(format!("{other} is no number")),
    };
    scalar.cast(datatype).map_err(|error| error.to_string())
}

#[test]
fn the_timestamps_field_has_one_name() {
    assert_eq!(TIMESTAMPS, smalti_query::TIMESTAMPS_FIELD);
}
