//! Cells as JSON, in the notation of the command line with dates as integers (see the fixtures' README).

use serde_json::{Value, json};
use smalti_tile::{CellShape, ColumnRef};
use smalti_types::{Datatype, Scalar};

/// One cell.
pub fn cell(shape: CellShape, column: ColumnRef<'_>, idx: usize) -> Value {
    if !column.is_valid(idx) {
        return Value::Null;
    }
    let bytes = column.cell(idx, shape.cell_byte_len());
    match shape.datatype {
        Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8 | Datatype::GeomWkt => {
            std::str::from_utf8(bytes).map_or_else(|_| hex_object(bytes), |text| json!(text))
        }
        Datatype::Any | Datatype::Blob | Datatype::GeomWkb => hex_object(bytes),
        datatype => {
            let values: Vec<Value> =
                bytes.chunks(datatype.byte_len()).map(|bytes| number(datatype, bytes)).collect();
            match (shape.cell_val_num.fixed(), &values[..]) {
                (Some(1), [only]) => only.clone(),
                _ => Value::Array(values),
            }
        }
    }
}

fn number(datatype: Datatype, bytes: &[u8]) -> Value {
    let float = |value: f64, shortest: String| {
        if value.is_finite() {
            serde_json::from_str(&shortest).unwrap()
        } else if value.is_nan() {
            json!("NaN")
        } else {
            json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
        }
    };
    match Scalar::read(datatype, bytes).unwrap() {
        Scalar::F32(value) => float(value.into(), format!("{value:?}")),
        Scalar::F64(value) => float(value, format!("{value:?}")),
        Scalar::U64(value) => json!(value),
        Scalar::U8(value) if datatype == Datatype::Bool => json!(value),
        other => json!(other.as_i128().unwrap() as i64),
    }
}

pub fn hex_object(bytes: &[u8]) -> Value {
    json!({ "hex": hex(bytes) })
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two cells are the same: numbers by value, so that `1` and `1.0` are; a 32-bit float by its own value.
pub fn same(shape: CellShape, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(shape, a, b))
        }
        (Value::Number(a), Value::Number(b)) if shape.datatype == Datatype::Float32 => {
            a.as_f64().map(|v| v as f32) == b.as_f64().map(|v| v as f32)
        }
        (Value::Number(a), Value::Number(b)) if shape.datatype.is_float() => a.as_f64() == b.as_f64(),
        (Value::Bool(a), b) | (b, Value::Bool(a)) => json!(u8::from(*a)) == *b || json!(a) == *b,
        _ => a == b,
    }
}
