//! What is around the cells: metadata at its times, enumerations, fragments, non-empty domain.

use super::case::{Case, Failure};
use super::reads::{place, time};
use crate::cells::{cell, hex, same};
use serde_json::{Value, json};
use smalti_array::{Fragment, Snapshot};
use smalti_format::{ArraySchema, Dimension, MetadataValue};
use smalti_tile::{CellShape, ColumnRef};
use smalti_types::{Extent, TimeRange};
use std::collections::BTreeMap;

/// Cases, by version, whose non-empty domain is what the writer took it for, `"" to ""`, and not what libtiledb 2.30.0
/// and the fragments say.
const WRITERS_DOMAINS: &[(u64, &str)] = &[(9, "sparse_string_1d")];

/// The case whose metadata was merged and vacuumed, so that times in between are gone.
const GONE_METADATA: &str = "metadata_consolidated_vacuumed";

pub fn check(case: &Case) -> Result<(), Failure> {
    for state in case.list("metadata") {
        check_metadata(case, state)?;
    }
    let snapshot = Snapshot::open(place(case)?, TimeRange::ALL)?;
    check_enumerations(case, &snapshot)?;
    check_fragments(case, &snapshot)?;
    if WRITERS_DOMAINS.contains(&(case.expected["format_version"].as_u64().unwrap_or_default(), &case.name)) {
        return Ok(());
    }
    let domain = snapshot.non_empty_domain().unwrap_or_default();
    check_domain(snapshot.schema(), &domain, &case.expected["non_empty_domain"])
        .map_err(|failure| failure.at("the array"))
}

fn check_metadata(case: &Case, state: &Value) -> Result<(), Failure> {
    let found = match place(case)?.metadata(time(state)) {
        // libtiledb shows nothing there; see the page of differences.
        Err(error) if case.name == GONE_METADATA && error.message().contains("can no longer be told") => {
            return if time(state).end < u64::MAX { Ok(()) } else { Err(error.into()) };
        }
        found => found?,
    };
    let items = state["items"].as_array().map_or(&[][..], Vec::as_slice);
    check_items(&found, items, &state["name"].to_string())
}

/// Compares metadata with the expected items, for arrays and groups.
pub fn check_items(
    found: &BTreeMap<String, MetadataValue>,
    items: &[Value],
    name: &str,
) -> Result<(), Failure> {
    if found.len() != items.len() {
        let keys: Vec<&String> = found.keys().collect();
        return Err(
            format!("metadata {name}: {} keys, {} expected: {keys:?}", found.len(), items.len()).into()
        );
    }
    for item in items {
        let key = item["key"].as_str().unwrap_or_default();
        let value = found.get(key).ok_or_else(|| format!("metadata key {key:?} is missing"))?;
        if item["type"] != value.datatype.name() || item["hex"].as_str() != Some(&hex(&value.bytes)) {
            return Err(format!("metadata key {key:?} is {value:?}, expected {item}").into());
        }
    }
    Ok(())
}

fn check_fragments(case: &Case, snapshot: &Snapshot) -> Result<(), Failure> {
    let fragments = case.list("fragments");
    let mut wanted: Vec<&str> = fragments.iter().filter_map(|fragment| fragment["name"].as_str()).collect();
    let mut found: Vec<&str> = snapshot.fragments().iter().map(|fragment| fragment.name().as_str()).collect();
    wanted.sort_unstable();
    found.sort_unstable();
    if !fragments.is_empty() && wanted != found {
        return Err(format!("fragments {found:?}, expected {wanted:?}").into());
    }
    for wanted in fragments {
        if let Some(found) = snapshot.fragments().iter().find(|found| wanted["name"] == found.name().as_str())
        {
            check_fragment(found, wanted)
                .map_err(|failure| failure.at(&format!("fragment {}", found.name())))?;
        }
    }
    Ok(())
}

fn check_fragment(found: &Fragment, wanted: &Value) -> Result<(), Failure> {
    if wanted["dense"] == false && wanted["cell_num"].as_u64() != found.cell_count() {
        return Err(format!("{:?} cells, {} expected", found.cell_count(), wanted["cell_num"]).into());
    }
    if wanted["version"] != found.version().number() {
        return Err(format!("version {}, {} expected", found.version(), wanted["version"]).into());
    }
    let times = json!([found.time().start, found.time().end]);
    if wanted["timestamps"] != times {
        return Err(format!("times {times}, {} expected", wanted["timestamps"]).into());
    }
    check_domain(found.schema(), found.non_empty_domain(), &wanted["non_empty_domain"])
}

fn check_domain(schema: &ArraySchema, found: &[Extent], wanted: &Value) -> Result<(), Failure> {
    // An array without cells has null, or an object with the reason.
    let wanted = wanted.as_array().map_or(&[][..], Vec::as_slice);
    if wanted.len() != found.len() {
        return Err(format!("a non-empty domain of {found:?}, {wanted:?} expected").into());
    }
    for ((dimension, found), wanted) in schema.dimensions.iter().zip(found).zip(wanted) {
        // Floats that JSON does not tell apart come with their bits.
        let wanted = wanted.get("values").unwrap_or(wanted);
        let ends = ends(dimension, found);
        if !same(shape(dimension), &ends, wanted) {
            let name = &dimension.name;
            return Err(format!("non-empty domain of {name:?} is {ends}, {wanted} expected").into());
        }
    }
    Ok(())
}

fn shape(dimension: &Dimension) -> CellShape {
    CellShape { datatype: dimension.datatype, cell_val_num: dimension.cell_val_num, is_nullable: false }
}

fn ends(dimension: &Dimension, extent: &Extent) -> Value {
    match extent {
        Extent::Num { lo, hi } => [lo, hi]
            .map(|&end| {
                let bytes = dimension.datatype.bytes_of_ordinal(end);
                cell(shape(dimension), ColumnRef::fixed(&bytes), 0)
            })
            .to_vec()
            .into(),
        Extent::Str { lo, hi } => {
            let text = |bytes: &[u8]| json!(String::from_utf8_lossy(bytes));
            json!([text(lo), hi.as_deref().map(text)])
        }
    }
}

fn check_enumerations(case: &Case, snapshot: &Snapshot) -> Result<(), Failure> {
    compare_enumerations(case.list("enumerations"), snapshot)?;
    // Releases that wrote older versions extended the enumerations of earlier times too (see the fixtures' README).
    if let (Some(earlier), Some(end)) =
        (case.expected["enumerations_at_t1"].as_array(), case.expected["t1"].as_u64())
        && case.tells_schemas_of_times()
    {
        let snapshot = Snapshot::open(place(case)?, TimeRange { start: 0, end })?;
        compare_enumerations(earlier, &snapshot).map_err(|failure| failure.at("earlier"))?;
    }
    Ok(())
}

fn compare_enumerations(wanted: &[Value], snapshot: &Snapshot) -> Result<(), Failure> {
    for wanted in wanted {
        let name = wanted["name"].as_str().unwrap_or_default();
        let found = snapshot.enumeration(name)?;
        let shape =
            CellShape { datatype: found.datatype, cell_val_num: found.cell_val_num, is_nullable: false };
        let values: Vec<Value> = match shape.cell_val_num.fixed() {
            Some(_) => {
                let count = found.data.len() / shape.cell_byte_len();
                (0..count).map(|idx| cell(shape, ColumnRef::fixed(&found.data), idx)).collect()
            }
            None => {
                let mut offsets = found.offsets.clone();
                offsets.push(found.data.len() as u64);
                let column = ColumnRef::var(&found.data, &offsets);
                (0..found.offsets.len()).map(|idx| cell(shape, column, idx)).collect()
            }
        };
        let values = Value::Array(values);
        if wanted["type"] != shape.datatype.name() || wanted["ordered"] != found.is_ordered {
            return Err(format!("enumeration {name:?} is {found:?}, expected {wanted}").into());
        }
        if !same(shape, &values, &wanted["values"]) {
            return Err(format!("enumeration {name:?} is {values}, expected {}", wanted["values"]).into());
        }
    }
    Ok(())
}
