//! What is told of arrays and groups: as text for people, written to whatever takes it, and as JSON for programs.

pub mod describe;
pub mod explain;
pub mod fragments;
pub mod group;
pub mod history;
pub mod info;
pub mod metadata;
pub mod scan;
pub mod schema;
pub mod statistics;

use smalti::Extent;
use smalti::format::{ArraySchema, Dimension};

/// The ranges of all dimensions as people read them: `row 0..2159, col 0..4319`.
pub fn domain_text(schema: &ArraySchema, extents: &[Extent]) -> String {
    let named = schema.dimensions.iter().zip(extents);
    let named =
        named.map(|(dimension, extent)| format!("{} {}", dimension.name, extent_text(dimension, extent)));
    named.collect::<Vec<_>>().join(", ")
}

/// A range as people read it: `0..2159`; ends that are open are left out.
pub fn extent_text(dimension: &Dimension, extent: &Extent) -> String {
    let json = smalti::json::extent_to_json(dimension.datatype, extent, true);
    let end = |idx: usize| match json.get(idx) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    format!("{}..{}", end(0), end(1))
}

/// The ranges of all dimensions as JSON: `[[0, 2159], [0, 4319]]`.
pub fn domain_json(schema: &ArraySchema, extents: &[Extent]) -> serde_json::Value {
    let pairs = schema.dimensions.iter().zip(extents);
    pairs.map(|(dimension, extent)| smalti::json::extent_to_json(dimension.datatype, extent, false)).collect()
}
