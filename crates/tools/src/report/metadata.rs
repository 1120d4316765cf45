//! Values of metadata.

use crate::cells::TextNotation;
use serde_json::Value as Json;
use smalti::json::CellNotation;
use smalti::{CellValNum, Value};

/// A value as JSON: its type, how many there are, and what they are.
pub fn json(value: &Value) -> Json {
    let mut out = Vec::new();
    CellNotation::new(value.datatype(), CellValNum::Var, false).push(&mut out, value.as_bytes());
    let cell: Json = serde_json::from_slice(&out).unwrap_or(Json::Null);
    serde_json::json!({"type": value.datatype().name(), "num": value.len(), "value": cell})
}

/// A value for people: text as it is, single numbers without brackets.
pub fn text(value: &Value) -> String {
    let cell_val_num = if value.len() == 1 { CellValNum::ONE } else { CellValNum::Var };
    let mut out = Vec::new();
    TextNotation::new(value.datatype(), cell_val_num, true).push(&mut out, value.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
