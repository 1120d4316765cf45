//! JSON to cells.

use super::hex;
use crate::text::parse_date_time;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use smalti_types::{CellValNum, Datatype, Scalar};
use std::fmt;

/// What the JSON of a cell was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParsedCell {
    /// Its bytes were appended.
    Value,
    /// `null`; nothing was appended.
    Null,
    /// `{"code": n}`: a code without a label in its enumeration; nothing was appended.
    Code(i64),
}

/// Reads one cell from any serde data format and appends its bytes to `out`.
#[derive(Debug)]
pub struct CellSeed<'a> {
    /// The field's datatype.
    pub datatype: Datatype,
    /// Values in a cell.
    pub cell_val_num: CellValNum,
    /// Takes the bytes of the cell; what it holds after an error is undefined.
    pub out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for CellSeed<'_> {
    type Value = ParsedCell;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ParsedCell, D::Error> {
        let (datatype, cell_val_num) = (self.datatype, self.cell_val_num);
        let start = self.out.len();
        let parsed = deserializer.deserialize_any(CellVisitor { datatype, out: self.out, depth: 0 })?;
        let byte_len = self.out.len() - start;
        if let (ParsedCell::Value, Some(count)) = (parsed, cell_val_num.fixed())
            && byte_len != count.saturating_mul(datatype.byte_len())
        {
            let found = byte_len / datatype.byte_len();
            return Err(D::Error::custom(format!(
                "{found} values where a cell has {count} of type {datatype}"
            )));
        }
        Ok(parsed)
    }
}

/// Reads a cell (depth 0) or a value in a list (depth 1).
struct CellVisitor<'a> {
    datatype: Datatype,
    out: &'a mut Vec<u8>,
    depth: u8,
}

impl CellVisitor<'_> {
    fn is_text(&self) -> bool {
        use Datatype::*;
        matches!(self.datatype, Char | StringAscii | StringUtf8 | GeomWkt)
    }

    fn is_binary(&self) -> bool {
        matches!(self.datatype, Datatype::Any | Datatype::Blob | Datatype::GeomWkb)
    }

    fn put<E: serde::de::Error>(self, value: Scalar) -> Result<ParsedCell, E> {
        if self.is_text() || self.is_binary() || self.datatype == Datatype::Bool {
            return Err(E::custom(format!("the number {value} is no value of type {}", self.datatype)));
        }
        let value = match (value, self.datatype) {
            (Scalar::F64(value), Datatype::Float32) => Scalar::F32(nearest_32_bit(value)),
            (value, datatype) => value.cast(datatype).map_err(|error| E::custom(error.message()))?,
        };
        self.put_scalar(value);
        Ok(ParsedCell::Value)
    }

    fn put_scalar(self, value: Scalar) {
        match value {
            Scalar::I8(v) => self.out.extend(v.to_le_bytes()),
            Scalar::I16(v) => self.out.extend(v.to_le_bytes()),
            Scalar::I32(v) => self.out.extend(v.to_le_bytes()),
            Scalar::I64(v) => self.out.extend(v.to_le_bytes()),
            Scalar::U8(v) => self.out.extend(v.to_le_bytes()),
            Scalar::U16(v) => self.out.extend(v.to_le_bytes()),
            Scalar::U32(v) => self.out.extend(v.to_le_bytes()),
            Scalar::U64(v) => self.out.extend(v.to_le_bytes()),
            Scalar::F32(v) => self.out.extend(v.to_le_bytes()),
            Scalar::F64(v) => self.out.extend(v.to_le_bytes()),
        }
    }
}

impl<'de> Visitor<'de> for CellVisitor<'_> {
    type Value = ParsedCell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of type {}", self.datatype)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<ParsedCell, E> {
        if self.depth > 0 {
            return Err(E::custom("null inside a list; only whole cells can be null"));
        }
        Ok(ParsedCell::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<ParsedCell, E> {
        if self.datatype != Datatype::Bool {
            return Err(E::custom(format!("{value} is no value of type {}", self.datatype)));
        }
        self.out.push(value.into());
        Ok(ParsedCell::Value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<ParsedCell, E> {
        self.put(Scalar::I64(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<ParsedCell, E> {
        self.put(Scalar::U64(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<ParsedCell, E> {
        if !self.datatype.is_float() {
            return Err(E::custom(format!("the number {value} is no value of type {}", self.datatype)));
        }
        self.put(Scalar::F64(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ParsedCell, E> {
        let datatype = self.datatype;
        if self.is_text() && self.depth == 0 {
            self.out.extend_from_slice(text.as_bytes());
            return Ok(ParsedCell::Value);
        }
        if datatype.is_float() {
            let value = match text {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                _ => return Err(E::custom(format!("{text:?} is no number, \"NaN\" or \"Infinity\""))),
            };
            return self.put(Scalar::F64(value));
        }
        if datatype.is_datetime() || datatype.is_time() {
            let value = parse_date_time(datatype, text).map_err(|error| E::custom(error.message()))?;
            return self.put(Scalar::I64(value));
        }
        let advice = if self.is_binary() { "; write {\"hex\": \"...\"}" } else { "" };
        Err(E::custom(format!("{text:?} is no value of type {datatype}{advice}")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ParsedCell, A::Error> {
        if self.depth > 0 || self.is_text() || self.is_binary() {
            return Err(A::Error::custom(format!(
                "a list where a value of type {} is expected",
                self.datatype
            )));
        }
        while seq.next_element_seed(ElementSeed { datatype: self.datatype, out: self.out })?.is_some() {}
        Ok(ParsedCell::Value)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParsedCell, A::Error> {
        let wrong = || A::Error::custom("an object as a cell is {\"hex\": \"...\"}");
        let parsed = match (map.next_key::<String>()?.as_deref(), self.depth) {
            (Some("hex"), 0) => {
                let digits: String = map.next_value()?;
                let bytes = hex::decode(&digits).ok_or_else(|| {
                    A::Error::custom(format!("{digits:?} are no pairs of hexadecimal digits"))
                })?;
                if bytes.len() % self.datatype.byte_len() != 0 {
                    return Err(A::Error::custom(format!(
                        "{} bytes are not whole values of type {}",
                        bytes.len(),
                        self.datatype
                    )));
                }
                self.out.extend_from_slice(&bytes);
                ParsedCell::Value
            }
            (Some("code"), 0) => ParsedCell::Code(map.next_value()?),
            _ => return Err(wrong()),
        };
        match map.next_key::<String>()? {
            None => Ok(parsed),
            Some(_) => Err(wrong()),
        }
    }
}

/// The 32-bit float of a text that was read as a 64-bit one. Where that lies just between two of 32 bits, the text meant the one
/// that it is the shortest text of: 7.038531e-26 is such a case.
fn nearest_32_bit(value: f64) -> f32 {
    let nearest = value as f32;
    let other = if f64::from(nearest) > value { nearest.next_down() } else { nearest.next_up() };
    let is_between = nearest.is_finite()
        && f64::from(nearest) != value
        && (f64::from(nearest) + f64::from(other)) / 2.0 == value;
    let is_meant = |candidate: f32| format!("{candidate:e}").parse::<f64>() == Ok(value);
    if is_between && is_meant(other) && !is_meant(nearest) { other } else { nearest }
}

struct ElementSeed<'a> {
    datatype: Datatype,
    out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for ElementSeed<'_> {
    type Value = ParsedCell;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ParsedCell, D::Error> {
        deserializer.deserialize_any(CellVisitor { datatype: self.datatype, out: self.out, depth: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::CellNotation;

    fn parse(datatype: Datatype, cell_val_num: u32, json: &str) -> Result<(ParsedCell, Vec<u8>), String> {
        let mut out = Vec::new();
        let cell_val_num = CellValNum::from_raw(cell_val_num).unwrap();
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let parsed = CellSeed { datatype, cell_val_num, out: &mut out }.deserialize(&mut deserializer);
        parsed.map(|parsed| (parsed, out)).map_err(|error| error.to_string())
    }

    #[test]
    fn every_cell_comes_back_from_its_json() {
        let mut bytes = Vec::new();
        for step in 0..64_u64 {
            bytes.extend(step.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        }
        for &datatype in Datatype::ALL {
            for cell_val_num in [1, 3, u32::MAX] {
                let count = if cell_val_num == u32::MAX { 5 } else { cell_val_num as usize };
                let byte_len = count * datatype.byte_len();
                for cell in bytes.chunks_exact(byte_len) {
                    let cell: Vec<u8> = if datatype == Datatype::Bool {
                        cell.iter().map(|byte| byte & 1).collect()
                    } else {
                        cell.to_vec()
                    };
                    for iso_dates in [true, false] {
                        let mut json = Vec::new();
                        let notation = CellNotation::new(
                            datatype,
                            CellValNum::from_raw(cell_val_num).unwrap(),
                            iso_dates,
                        );
                        notation.push(&mut json, &cell);
                        let json = String::from_utf8(json).unwrap();
                        if !json.contains("NaN") {
                            assert_eq!(
                                parse(datatype, cell_val_num, &json),
                                Ok((ParsedCell::Value, cell.clone())),
                                "{datatype} {json}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn shortest_texts_of_32_bit_floats_are_read_too() {
        for value in [0.1_f32, 1e-45, f32::MAX, 16_777_217.0, 3.3e33, 7.038531e-26, -7.038531e-26] {
            let (_, bytes) = parse(Datatype::Float32, 1, &format!("{value:e}")).unwrap();
            assert_eq!(bytes, value.to_le_bytes());
        }
    }

    #[test]
    fn wrong_values_are_errors() {
        use Datatype::*;
        for (datatype, cell_val_num, json, words) in [
            (UInt8, 1, "256", "256 is no value of type UINT8"),
            (UInt64, 1, "18446744073709551616", "is no value of type UINT64"),
            (Int32, 1, "1.5", "1.5 is no value"),
            (Int32, 1, "\"5\"", "\"5\" is no value of type INT32"),
            (Int32, 2, "[1]", "1 values where a cell has 2"),
            (Int32, 1, "[[1]]", "a list where a value"),
            (Int32, 2, "[1, null]", "null inside a list"),
            (Bool, 1, "1", "number 1 is no value of type BOOL"),
            (Float64, 1, "\"inf\"", "no number"),
            (Blob, u32::MAX, "\"ab\"", "{\"hex\": \"...\"}"),
            (StringUtf8, u32::MAX, "[1]", "a list where"),
            (StringUtf8, u32::MAX, "5", "number 5 is no value"),
            (Blob, u32::MAX, "{\"hex\": \"0\"}", "no pairs"),
            (Blob, u32::MAX, "{\"hex\": \"00\", \"x\": 1}", "an object as a cell"),
            (DateTimeDay, 1, "\"2021-02-29\"", "no such day"),
            (Char, 1, "\"ab\"", "2 values where a cell has 1"),
        ] {
            let error = parse(datatype, cell_val_num, json).unwrap_err();
            assert!(error.contains(words), "{datatype} {json}: {error}");
        }
    }

    #[test]
    fn null_and_codes_append_nothing() {
        assert_eq!(parse(Datatype::Int32, 1, "null"), Ok((ParsedCell::Null, vec![])));
        assert_eq!(parse(Datatype::Int32, 1, "{\"code\": -3}"), Ok((ParsedCell::Code(-3), vec![])));
    }
}
