//! Ranges as JSON, for programs.

use super::text::{number_extent, string_extent};
use super::{Piece, Pieces, unknown_dimension};
use crate::failure::{Failure, Outcome};
use serde::de::DeserializeSeed;
use serde_json::Value;
use smalti::format::{ArraySchema, Dimension};
use smalti::json::{CellSeed, ParsedCell};
use smalti::{Extent, Scalar};

/// `{"d": [[lo, hi], ...], ...}`; null leaves an end open, a third number is a step.
pub(super) fn parse_json(schema: &ArraySchema, json: &str, pieces: &mut Pieces) -> Outcome {
    let usage = |problem: String| Failure::usage(format!("--ranges-json: {problem}"));
    let value = smalti::json::value_from_json(json)
        .map_err(|error| usage(format!("no JSON: {}", error.message())))?;
    let object = value.as_object().ok_or_else(|| usage("write it like {\"d\": [[1, 10]]}".into()))?;
    for (name, list) in object {
        let (idx, dimension) = schema.dimension(name).ok_or_else(|| unknown_dimension(schema, name))?;
        let list = list.as_array().ok_or_else(|| usage(format!("{name}: a list of ranges is expected")))?;
        for pair in list {
            let range = json_range(schema, idx, dimension, pair);
            pieces[idx].push(range.map_err(|problem| usage(format!("{name}: {pair}: {problem}")))?);
        }
    }
    Ok(())
}

fn json_range(
    schema: &ArraySchema,
    idx: usize,
    dimension: &Dimension,
    pair: &Value,
) -> Result<Piece, String> {
    let (lo, hi, step) = match pair.as_array().map(Vec::as_slice) {
        Some([lo, hi]) => (lo, hi, 1),
        Some([lo, hi, step]) => {
            let step = step.as_u64().filter(|step| *step > 0).ok_or("a step is a number from 1 on")?;
            (lo, hi, step)
        }
        _ => return Err("a range is a list of two values, and a step".into()),
    };
    if step > 1 && (dimension.datatype.is_string() || dimension.datatype.is_float()) {
        return Err(super::text::no_stride(dimension));
    }
    let end = |value: &Value| {
        let (datatype, cell_val_num) = (dimension.datatype, dimension.cell_val_num);
        let mut bytes = Vec::new();
        let parsed = CellSeed { datatype, cell_val_num, out: &mut bytes }.deserialize(value);
        match parsed.map_err(|error| error.to_string())? {
            ParsedCell::Value => Ok(Some(bytes)),
            ParsedCell::Null => Ok(None),
            ParsedCell::Code(_) => Err("dimensions have no codes".to_string()),
        }
    };
    let (lo, hi) = (end(lo)?, end(hi)?);
    if dimension.datatype.is_string() {
        return string_extent(lo, hi).map(Piece::from);
    }
    let scalar = |bytes: Option<Vec<u8>>| {
        let read = bytes.map(|bytes| Scalar::read(dimension.datatype, &bytes)).transpose();
        read.map_err(|error| error.message().to_string())
    };
    let extent: Extent = number_extent(schema, idx, scalar(lo)?, scalar(hi)?)?;
    Ok(Piece { extent, step })
}
