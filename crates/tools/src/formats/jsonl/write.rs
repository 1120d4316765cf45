//! Cells to JSON lines.

use crate::cells::Field;
use crate::failure::Outcome;
use crate::formats::{FLUSH_BYTE_LEN, Sink, borrowed};
use smalti::Batch;
use smalti::json::{CellNotation, push_json};
use std::io::Write;

/// Writes one object a cell, with the keys in the order of the fields.
pub struct JsonlSink<W> {
    out: W,
    fields: Vec<Prepared>,
    buffer: Vec<u8>,
}

struct Prepared {
    field: Field,
    /// `{"name":` for the first field, `,"name":` for others.
    key: Vec<u8>,
    cell_byte_len: usize,
    notation: CellNotation,
}

impl<W: Write> JsonlSink<W> {
    /// Writes cells of these fields.
    pub fn new(out: W, fields: &[Field]) -> Self {
        let prepare = |(idx, field): (usize, &Field)| {
            let mut key = vec![if idx == 0 { b'{' } else { b',' }];
            push_json(&mut key, &field.name);
            key.push(b':');
            let (cell_byte_len, notation) = (field.cell_byte_len(), field.json_notation());
            Prepared { field: field.clone(), key, cell_byte_len, notation }
        };
        let fields = fields.iter().enumerate().map(prepare).collect();
        JsonlSink { out, fields, buffer: Vec::with_capacity(FLUSH_BYTE_LEN + 4096) }
    }
}

impl<W: Write> Sink for JsonlSink<W> {
    fn batch(&mut self, batch: Batch) -> Outcome {
        let columns = borrowed(&batch);
        for row in 0..batch.cell_count {
            for (prepared, column) in self.fields.iter().zip(&columns) {
                self.buffer.extend_from_slice(&prepared.key);
                if column.is_valid(row) {
                    let cell = column.cell(row, prepared.cell_byte_len);
                    push_cell_json(&mut self.buffer, &prepared.field, &prepared.notation, cell);
                } else {
                    self.buffer.extend_from_slice(b"null");
                }
            }
            self.buffer.extend_from_slice(if self.fields.is_empty() { b"{}\n" } else { b"}\n" });
            if self.buffer.len() >= FLUSH_BYTE_LEN {
                self.out.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(self.out.flush()?)
    }
}

/// Appends the JSON of a cell that is not null: its label where the field has labels.
fn push_cell_json(out: &mut Vec<u8>, field: &Field, notation: &CellNotation, cell: &[u8]) {
    let Some(labels) = &field.labels else { return notation.push(out, cell) };
    match labels.label(field.datatype, cell) {
        Ok(label) => labels.json_notation(field.iso_dates).push(out, label),
        Err(code) => out.extend_from_slice(format!("{{\"code\":{code}}}").as_bytes()),
    }
}
