//! Cells to JSON.

use super::hex;
use crate::text::format_date_time;
use smalti_types::{CellValNum, Datatype, Physical, PhysicalKind, dispatch_physical};

/// How the cells of one field look in JSON.
#[derive(Debug, Clone, Copy)]
pub struct CellNotation {
    datatype: Datatype,
    shape: Shape,
    iso_dates: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Binary,
    Scalar,
    List,
}

impl CellNotation {
    /// The notation of cells of a field; `iso_dates` tells dates and times as text from stored integers.
    pub fn new(datatype: Datatype, cell_val_num: CellValNum, iso_dates: bool) -> Self {
        use Datatype::*;
        let shape = match datatype {
            Char | StringAscii | StringUtf8 | GeomWkt => Shape::Text,
            Any | Blob | GeomWkb => Shape::Binary,
            _ if datatype.is_string() || cell_val_num != CellValNum::ONE => Shape::List,
            _ => Shape::Scalar,
        };
        CellNotation { datatype, shape, iso_dates }
    }

    /// Appends the JSON of a cell that is not null. Bytes beyond whole values are left out.
    pub fn push(&self, out: &mut Vec<u8>, cell: &[u8]) {
        match self.shape {
            Shape::Text => match std::str::from_utf8(cell) {
                Ok(text) => push_json(out, text),
                Err(_) => push_hex(out, cell),
            },
            Shape::Binary => push_hex(out, cell),
            Shape::Scalar => self.push_value(out, cell),
            Shape::List => {
                out.push(b'[');
                for (idx, value) in cell.chunks_exact(self.datatype.byte_len()).enumerate() {
                    if idx > 0 {
                        out.push(b',');
                    }
                    self.push_value(out, value);
                }
                out.push(b']');
            }
        }
    }

    /// Appends one value: a number, a boolean, a date or time.
    fn push_value(&self, out: &mut Vec<u8>, value: &[u8]) {
        match self.datatype {
            Datatype::Bool => {
                let is_true = value.first().is_some_and(|&byte| byte != 0);
                out.extend_from_slice(if is_true { b"true" } else { b"false" });
            }
            datatype if self.iso_dates && (datatype.is_datetime() || datatype.is_time()) => {
                let text = format_date_time(datatype, read::<i64>(value).unwrap_or_default());
                out.push(b'"');
                out.extend_from_slice(text.as_bytes());
                out.push(b'"');
            }
            datatype => match datatype.physical() {
                PhysicalKind::F32 => {
                    let value = read::<f32>(value).unwrap_or(f32::NAN);
                    push_float(out, f64::from(value), &value);
                }
                PhysicalKind::F64 => {
                    let value = read::<f64>(value).unwrap_or(f64::NAN);
                    push_float(out, value, &value);
                }
                _ => dispatch_physical!(datatype, T => push_json(out, &read::<T>(value).unwrap_or_default())),
            },
        }
    }
}

fn read<T: Physical>(bytes: &[u8]) -> Option<T> {
    bytemuck::try_pod_read_unaligned(bytes.get(..size_of::<T>())?).ok()
}

/// Appends the shortest text of a float of 32 or 64 bits, which is `value` as well.
fn push_float(out: &mut Vec<u8>, value: f64, stored: &impl serde::Serialize) {
    if value.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
    } else {
        push_json(out, stored);
    }
}

fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"{\"hex\":\"");
    hex::push(out, bytes);
    out.extend_from_slice(b"\"}");
}

/// Appends the JSON of a plain value: a number, a string, a boolean.
///
/// # Panics
/// When the value's own serialization fails, which that of numbers, strings and booleans does not.
pub fn push_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value)
        .expect("plain values have JSON, and memory takes what is written to it");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(datatype: Datatype, cell_val_num: u32, cell: &[u8]) -> String {
        let cell_val_num = CellValNum::from_raw(cell_val_num).unwrap();
        let mut out = Vec::new();
        CellNotation::new(datatype, cell_val_num, true).push(&mut out, cell);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_cell_has_its_notation() {
        use Datatype::*;
        const VAR: u32 = u32::MAX;
        for (datatype, cell_val_num, cell, expected) in [
            (UInt64, 1, &u64::MAX.to_le_bytes()[..], "18446744073709551615"),
            (Int64, 1, &i64::MIN.to_le_bytes(), "-9223372036854775808"),
            (Int8, 3, &[1, 0xff, 2], "[1,-1,2]"),
            (Int16, VAR, &[], "[]"),
            (Float64, 1, &(-0.0_f64).to_le_bytes(), "-0.0"),
            (Float64, 1, &1e300_f64.to_le_bytes(), "1e+300"),
            (Float32, 1, &0.1_f32.to_le_bytes(), "0.1"),
            (Float32, 2, &[0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0xff], "[\"NaN\",\"-Infinity\"]"),
            (Bool, 2, &[0, 1], "[false,true]"),
            (StringUtf8, VAR, "a\"é\n\u{2028}".as_bytes(), "\"a\\\"é\\n\u{2028}\""),
            (Char, 1, &[0x80], "{\"hex\":\"80\"}"),
            (Char, 2, b"ab", "\"ab\""),
            (Blob, VAR, b"ab", "{\"hex\":\"6162\"}"),
            (StringUtf16, 1, &[1, 1], "[257]"),
            (DateTimeDay, 1, &1_i64.to_le_bytes(), "\"1970-01-02\""),
            (TimeSec, VAR, &61_i64.to_le_bytes(), "[\"00:01:01\"]"),
        ] {
            assert_eq!(json(datatype, cell_val_num, cell), expected, "{datatype}");
        }
    }

    #[test]
    fn cells_that_are_too_short_do_not_panic() {
        for &datatype in Datatype::ALL {
            json(datatype, 1, &[]);
            json(datatype, 3, &[7]);
        }
    }
}
