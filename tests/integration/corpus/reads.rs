//! The reads of a case.

use super::case::{Case, Failure};
use crate::cells::{cell, same};
use crate::splits::{COUNTS, batches_of_splits};
use serde_json::Value;
use smalti_array::{ArrayPlace, Snapshot, TIMESTAMPS, find_field};
use smalti_format::ArraySchema;
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Batch, LabelRange, ReadRequest, ResultField, read};
use smalti_store::{DistantStore, Stores, SyncLevel, system_env};
use smalti_types::{Datatype, EncryptionKey, ErrorKind, Extent, Layout, Scalar, TimeRange};
use std::collections::HashMap;
use std::sync::Arc;

pub fn place(case: &Case) -> Result<ArrayPlace, Failure> {
    place_with(case, SyncLevel::Full)
}

pub fn place_with(case: &Case, sync: SyncLevel) -> Result<ArrayPlace, Failure> {
    let key = match case.expected["encryption"]["key"].as_str() {
        Some(key) => Some(EncryptionKey::new(key.as_bytes())?),
        None => None,
    };
    Ok(ArrayPlace::open(&Stores::new(), &case.array.to_string_lossy(), sync, key, system_env())?)
}

/// The time range of a read or of a state of the metadata.
pub fn time(wanted: &Value) -> TimeRange {
    TimeRange { start: wanted["t0"].as_u64().unwrap_or(0), end: wanted["t1"].as_u64().unwrap_or(u64::MAX) }
}

/// Reads that no release but the writer's performs, and smalti does, by case and read: a condition "is null" on a fixed-size
/// attribute is stored without a value, which releases from 2.15 on take for damage.
const READ_BY_SMALTI: &[(&str, &str)] = &[("deletes_null_fixed", "full")];

/// Performs every read.
pub fn check(case: &Case) -> Result<(), Failure> {
    let mut columns: HashMap<String, Value> = HashMap::new();
    for wanted in case.list("reads") {
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
        let is_impossible =
            wanted.get("error").is_some() && !READ_BY_SMALTI.contains(&(case.name.as_str(), name));
        match perform(case, wanted, &columns) {
            Ok(()) if is_impossible => {
                return Err(format!("read {name}: nobody could read it, but smalti did").into());
            }
            Err(_) if is_impossible => {}
            outcome => outcome.map_err(|failure| failure.at(&format!("read {name}")))?,
        }
    }
    Ok(())
}

/// Reads an array where it is, as if it were far away, and as if no section of its fragments' metadata could be held.
fn perform(case: &Case, wanted: &Value, columns: &HashMap<String, Value>) -> Result<(), Failure> {
    let near = place(case)?;
    let far = near.seen_through(|store| Arc::new(DistantStore::new(store)));
    let piecemeal = near.clone().with_whole_sections(0);
    for place in [near, far, piecemeal] {
        perform_at(place, case, wanted, columns)?;
    }
    Ok(())
}

fn perform_at(
    place: ArrayPlace,
    case: &Case,
    wanted: &Value,
    columns: &HashMap<String, Value>,
) -> Result<(), Failure> {
    let snapshot = Snapshot::open(place, time(wanted))?;
    let schema = snapshot.schema();
    let layout = match wanted["layout"].as_str() {
        Some("row") => Layout::RowMajor,
        Some("col") => Layout::ColMajor,
        Some("global") => Layout::GlobalOrder,
        _ => Layout::Unordered,
    };
    let mut names: Vec<String> =
        wanted["columns"].as_object().map(|columns| columns.keys().cloned().collect()).unwrap_or_default();
    if wanted.get("t1").is_some() && wanted.get("writer_result").is_some() && !case.tells_schemas_of_times() {
        names.retain(|name| find_field(schema, name).is_some());
    }
    let mut request = ReadRequest {
        fields: names.clone(),
        ranges: ranges(schema, &wanted["ranges"])?,
        layout: Some(layout),
        condition: wanted.get("cond").map(condition).transpose()?,
        ..ReadRequest::default()
    };
    if let Some(dim) = labelled_dimension(schema, wanted) {
        check_label_ranges(&snapshot, &request, dim)?;
    }
    let (fields, found) = cells(&snapshot, &request)?;
    if labelled_dimension(schema, wanted).is_none() {
        check_single_positions(&snapshot, &request, &fields, &found)?;
    }
    check_splits(&snapshot, &request, &fields, &found)?;
    request.batch_cell_count = Some(7);
    if cells(&snapshot, &request)?.1 != found {
        return Err("small batches give other cells than large ones".into());
    }
    request.memory_byte_len = Some(LITTLE_MEMORY_BYTE_LEN);
    match cells(&snapshot, &request) {
        Ok((_, frugal)) => {
            let is_loose = layout == Layout::Unordered || schema.allows_dups;
            let found: Vec<&[Value]> = found.iter().map(Vec::as_slice).collect();
            let count = found.first().map_or(0, |values| values.len());
            if frugal.iter().any(|values| values.len() != count) {
                return Err("with little memory there are more or fewer cells".into());
            }
            compare(&fields, frugal, &found, count, is_loose)
                .map_err(|message| format!("with little memory: {message}"))?;
        }
        Err(failure) if failure.kind != Some(ErrorKind::OutOfMemory) => {
            return Err(failure.at("with little memory"));
        }
        _ => {}
    }
    if wanted.get("error").is_some() {
        return Ok(());
    }
    let name = wanted["name"].as_str().unwrap_or_default();
    let wanted_columns: Vec<&[Value]> = names
        .iter()
        .map(|column| columns[&format!("{name}/{column}")].as_array().map_or(&[][..], Vec::as_slice))
        .collect();
    let count = wanted["num_cells"].as_u64().unwrap_or_default() as usize;
    if found.iter().any(|values| values.len() != count) {
        return Err(format!("{} cells, {count} expected", found.first().map_or(0, Vec::len)).into());
    }
    if wanted_columns.iter().any(|values| values.len() != count) {
        return Err("the expectation has columns of other lengths".into());
    }
    let is_sorted = wanted["sort"] != true && layout != Layout::Unordered;
    if is_sorted && schema.allows_dups {
        // Cells at the same place come in any order, the places do not.
        let is_place: Vec<bool> = fields.iter().map(|field| field.is_dimension).collect();
        let places = pick(&is_place, &fields);
        compare(&places, pick(&is_place, &found), &pick(&is_place, &wanted_columns), count, false)?;
    }
    Ok(compare(&fields, found, &wanted_columns, count, !is_sorted || schema.allows_dups)?)
}

/// Too little for the tiles of most cases at once.
const LITTLE_MEMORY_BYTE_LEN: usize = 4096;

/// A condition as `expected.json` has it: `[field, operator, value]`, or `["and", condition, condition]`.
fn condition(wanted: &Value) -> Result<Condition, Failure> {
    let part = |idx: usize| wanted[idx].as_str().unwrap_or_default();
    if let "and" | "or" = part(0) {
        let (first, second) = (condition(&wanted[1])?, condition(&wanted[2])?);
        return Ok(if part(0) == "and" { first.and(second) } else { first.or(second) });
    }
    if wanted[2].is_null() {
        return Ok(Condition::null(part(0), part(1) == "=="));
    }
    let relation = match part(1) {
        "<" => Relation::Lt,
        "<=" => Relation::Le,
        ">" => Relation::Gt,
        ">=" => Relation::Ge,
        "==" => Relation::Eq,
        _ => Relation::Ne,
    };
    Ok(match &wanted[2] {
        Value::String(text) => Condition::compare(part(0), relation, text.as_str()),
        Value::Number(number) if number.is_i64() => {
            Condition::compare(part(0), relation, number.as_i64().unwrap_or_default())
        }
        number => Condition::compare(part(0), relation, number.as_f64().unwrap_or_default()),
    })
}

/// The dimension whose labels alone are read.
fn labelled_dimension(schema: &ArraySchema, wanted: &Value) -> Option<usize> {
    let name = wanted["labels"][0][0].as_str()?;
    schema.label(name).map(|label| label.dimension_idx as usize)
}

/// Reads cells by the range of each single label in turn: its position, and no other.
fn check_label_ranges(snapshot: &Snapshot, request: &ReadRequest, dim: usize) -> Result<(), Failure> {
    let schema = snapshot.schema();
    for name in &request.fields {
        let label = schema.label(name).ok_or_else(|| format!("{name:?} is no label"))?;
        let (fields, labels) = cells(snapshot, request)?;
        let column = fields.iter().position(|field| field.name == *name).unwrap_or_default();
        for (idx, value) in labels[column].iter().enumerate() {
            let range = match value.as_str() {
                Some(text) => Extent::between_strings(text.as_bytes(), text.as_bytes())?,
                None => Extent::between(scalar(label.datatype, value)?, scalar(label.datatype, value)?)?,
            };
            let by_label = ReadRequest {
                fields: vec![schema.dimensions[dim].name.clone()],
                label_ranges: vec![LabelRange { label: name.clone(), ranges: vec![range] }],
                ..ReadRequest::default()
            };
            let (_, positions) = cells(snapshot, &by_label)?;
            let wanted = schema.dimensions[dim].domain.and_then(|(lo, _)| lo.as_i128()).unwrap_or_default();
            let wanted = Value::from((wanted + idx as i128) as i64);
            if positions[0].is_empty() || positions[0].iter().any(|position| *position != wanted) {
                return Err(
                    format!("label {value} of {name:?} leads to {:?}, not {wanted}", positions[0]).into()
                );
            }
        }
    }
    Ok(())
}

/// Reads a dense array once more by single positions of each dimension, in no order and one of them twice: the cells of the whole
/// read, picked.
fn check_single_positions(
    snapshot: &Snapshot,
    request: &ReadRequest,
    fields: &[ResultField],
    found: &[Vec<Value>],
) -> Result<(), Failure> {
    const MOST_CELLS: u128 = 20_000;
    let schema = snapshot.schema();
    let is_row = match request.layout {
        Some(Layout::RowMajor | Layout::Unordered) => true,
        Some(Layout::ColMajor) => false,
        _ => return Ok(()),
    };
    let current = schema.current_domain.rectangle();
    let side = |dim: usize| match (request.ranges.get(dim).map(Vec::as_slice), current) {
        (Some(&[Extent::Num { lo, hi }]), _) => Some((lo, hi)),
        (Some([_, ..]), _) => None,
        (_, Some(current)) => match &current[dim] {
            Extent::Num { lo, hi } => Some((*lo, *hi)),
            Extent::Str { .. } => None,
        },
        _ => schema.dimensions[dim].domain.map(|(lo, hi)| (lo.ordinal(), hi.ordinal())),
    };
    let sides: Option<Vec<(u64, u64)>> = (0..schema.dimensions.len()).map(side).collect();
    let Some(sides) = sides.filter(|_| schema.is_dense()) else { return Ok(()) };
    let lens: Vec<u128> = sides.iter().map(|(lo, hi)| u128::from(hi - lo) + 1).collect();
    let cell_count = lens.iter().try_fold(1u128, |count, len| count.checked_mul(*len));
    if cell_count
        .is_none_or(|count| count > MOST_CELLS || found.iter().any(|values| values.len() as u128 != count))
    {
        return Ok(());
    }
    let picked: Vec<Vec<usize>> =
        lens.iter().map(|&len| (0..len as usize).rev().step_by(2).chain([0]).collect()).collect();
    let point = |(side, &position): (&(u64, u64), &usize)| Extent::Num {
        lo: side.0 + position as u64,
        hi: side.0 + position as u64,
    };
    let ranges = sides.iter().zip(&picked);
    let ranges = ranges.map(|(side, picked)| picked.iter().map(|position| point((side, position))).collect());
    let by_position = ReadRequest { ranges: ranges.collect(), ..request.clone() };
    let (_, cells_found) = cells(snapshot, &by_position)?;
    let slow_to_fast: Vec<usize> =
        if is_row { (0..lens.len()).collect() } else { (0..lens.len()).rev().collect() };
    let mut origins = vec![0usize];
    for dim in slow_to_fast {
        let next = |at: &usize| {
            picked[dim].iter().map(|position| at * lens[dim] as usize + position).collect::<Vec<_>>()
        };
        origins = origins.iter().flat_map(next).collect();
    }
    let expected: Vec<Vec<Value>> =
        found.iter().map(|values| origins.iter().map(|&at| values[at].clone()).collect()).collect();
    let expected: Vec<&[Value]> = expected.iter().map(Vec::as_slice).collect();
    if cells_found.iter().any(|values| values.len() != origins.len()) {
        return Err("by single positions there are more or fewer cells".into());
    }
    compare(fields, cells_found, &expected, origins.len(), false)
        .map_err(|message| format!("by single positions: {message}").into())
}

/// Reads once more through splits, each opened by name alone.
fn check_splits(
    snapshot: &Snapshot,
    request: &ReadRequest,
    fields: &[ResultField],
    found: &[Vec<Value>],
) -> Result<(), Failure> {
    let is_loose = request.layout == Some(Layout::Unordered) || snapshot.schema().allows_dups;
    let cell_count = found.first().map_or(0, Vec::len);
    let expected: Vec<&[Value]> = found.iter().map(Vec::as_slice).collect();
    for count in COUNTS {
        let mut together: Vec<Vec<Value>> = vec![Vec::new(); fields.len()];
        for batch in batches_of_splits(snapshot, request, count).into_iter().flatten() {
            push(&batch, fields, &mut together);
        }
        if together.iter().any(|values| values.len() != cell_count) {
            return Err(format!("{count} splits have more or fewer cells").into());
        }
        compare(fields, together, &expected, cell_count, is_loose)
            .map_err(|message| format!("{count} splits: {message}"))?;
    }
    Ok(())
}

fn push(batch: &Batch, fields: &[ResultField], found: &mut [Vec<Value>]) {
    for ((field, column), values) in fields.iter().zip(&batch.columns).zip(found) {
        values.extend((0..batch.cell_count).map(|idx| cell(field.shape, column.as_ref(), idx)));
    }
}

fn cells(snapshot: &Snapshot, request: &ReadRequest) -> Result<(Vec<ResultField>, Vec<Vec<Value>>), Failure> {
    let batches = read(snapshot, request)?;
    let fields = batches.fields().to_vec();
    let mut found: Vec<Vec<Value>> = vec![Vec::new(); fields.len()];
    for batch in batches {
        push(&batch?, &fields, &mut found);
    }
    Ok((fields, found))
}

fn pick<T: Clone>(wanted: &[bool], all: &[T]) -> Vec<T> {
    wanted.iter().zip(all).filter(|(wanted, _)| **wanted).map(|(_, one)| one.clone()).collect()
}

fn compare(
    fields: &[ResultField],
    found: Vec<Vec<Value>>,
    wanted: &[&[Value]],
    count: usize,
    is_loose: bool,
) -> Result<(), String> {
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
