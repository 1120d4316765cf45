//! Cells as plain text: for CSV and for tables.

use super::Field;
use smalti::json::CellNotation;
use smalti::{CellValNum, Datatype};

/// How the cells of one field look as plain text: as in JSON, but strings, dates and non-finite floats without quotes.
#[derive(Debug, Clone, Copy)]
pub struct TextNotation {
    datatype: Datatype,
    json: CellNotation,
}

impl TextNotation {
    /// That of values of a type.
    pub fn new(datatype: Datatype, cell_val_num: CellValNum, iso_dates: bool) -> Self {
        let json = CellNotation::new(datatype, cell_val_num, iso_dates);
        TextNotation { datatype, json }
    }

    /// Appends the text of a cell that is not null.
    pub fn push(&self, out: &mut Vec<u8>, cell: &[u8]) {
        use Datatype::*;
        let as_text = match self.datatype {
            Char | StringAscii | StringUtf8 | GeomWkt => std::str::from_utf8(cell).ok(),
            _ => None,
        };
        // A string that looks like the notation of other bytes is written in that notation itself.
        if let Some(text) = as_text {
            if text.starts_with("{\"hex\"") {
                out.extend_from_slice(b"{\"hex\":\"");
                super::hex::push(out, cell);
                out.extend_from_slice(b"\"}");
            } else {
                out.extend_from_slice(text.as_bytes());
            }
            return;
        }
        let start = out.len();
        self.json.push(out, cell);
        if out.get(start) == Some(&b'"') {
            out.remove(start);
            out.pop();
        }
    }
}

/// Appends the text of a cell: its label where the field has labels.
pub(crate) fn push_text(out: &mut Vec<u8>, field: &Field, notation: &TextNotation, cell: &[u8]) {
    let Some(labels) = &field.labels else { return notation.push(out, cell) };
    match labels.label(field.datatype, cell) {
        Ok(label) => {
            TextNotation::new(labels.datatype(), labels.cell_val_num(), field.iso_dates).push(out, label);
        }
        Err(code) => out.extend_from_slice(format!("{{\"code\":{code}}}").as_bytes()),
    }
}
