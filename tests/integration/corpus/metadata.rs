//! Array metadata at its times, non-empty domain and fragments.

use super::reads::place;
use crate::cells::hex;
use serde_json::Value;
use smalti_array::Snapshot;
use smalti_types::TimeRange;
use std::path::Path;

pub fn check(array: &Path, expected: &Value) -> Result<(), String> {
    let place = place(array, expected)?;
    for state in expected["metadata"].as_array().map_or(&[][..], Vec::as_slice) {
        let time = TimeRange {
            start: state["t0"].as_u64().unwrap_or(0),
            end: state["t1"].as_u64().unwrap_or(u64::MAX),
        };
        let found = place.metadata(time).map_err(|error| error.to_string())?;
        let items = state["items"].as_array().map_or(&[][..], Vec::as_slice);
        if found.len() != items.len() {
            let keys: Vec<&String> = found.keys().collect();
            return Err(format!(
                "metadata {}: {} keys, {} expected: {keys:?}",
                state["name"],
                found.len(),
                items.len()
            ));
        }
        for item in items {
            let key = item["key"].as_str().unwrap_or_default();
            let value = found.get(key).ok_or_else(|| format!("metadata key {key:?} is missing"))?;
            if item["type"] != value.datatype.name() || item["hex"].as_str() != Some(&hex(&value.bytes)) {
                return Err(format!("metadata key {key:?} is {value:?}, expected {item}"));
            }
        }
    }
    let snapshot = Snapshot::open(place, TimeRange::ALL).map_err(|error| error.to_string())?;
    let fragments = expected["fragments"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<&str> = snapshot.fragments().iter().map(|fragment| fragment.name().as_str()).collect();
    let mut wanted: Vec<&str> = fragments.iter().filter_map(|fragment| fragment["name"].as_str()).collect();
    let mut found = names.clone();
    wanted.sort_unstable();
    found.sort_unstable();
    if !fragments.is_empty() && wanted != found {
        return Err(format!("fragments {found:?}, expected {wanted:?}"));
    }
    for fragment in fragments {
        let Some(found) = snapshot.fragments().iter().find(|found| fragment["name"] == found.name().as_str())
        else {
            continue;
        };
        if fragment["dense"] == false && fragment["cell_num"].as_u64() != found.cell_count() {
            return Err(format!(
                "fragment {} has {:?} cells, expected {}",
                found.name(),
                found.cell_count(),
                fragment["cell_num"]
            ));
        }
    }
    Ok(())
}
