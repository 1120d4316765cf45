//! Cells to comma-separated values.

use crate::cells::{Field, TextNotation, push_text};
use crate::failure::Outcome;
use crate::formats::{FLUSH_BYTE_LEN, Sink, borrowed};
use smalti::Batch;
use std::io::Write;

/// Writes a header and one line a cell.
pub struct CsvSink<W> {
    out: W,
    fields: Vec<(Field, TextNotation)>,
    buffer: Vec<u8>,
    cell: Vec<u8>,
}

impl<W: Write> CsvSink<W> {
    /// Writes cells of these fields.
    pub fn new(out: W, fields: &[Field]) -> Self {
        let mut buffer = Vec::new();
        for (idx, field) in fields.iter().enumerate() {
            push_separator(&mut buffer, idx);
            push_quoted(&mut buffer, field.name.as_bytes());
        }
        buffer.push(b'\n');
        let notation = |field: &Field| TextNotation::new(field.datatype, field.cell_val_num, field.iso_dates);
        let fields = fields.iter().map(|field| (field.clone(), notation(field))).collect();
        CsvSink { out, fields, buffer, cell: Vec::new() }
    }
}

impl<W: Write> Sink for CsvSink<W> {
    fn batch(&mut self, batch: Batch) -> Outcome {
        let columns = borrowed(&batch);
        for row in 0..batch.cell_count {
            for (idx, ((field, notation), column)) in self.fields.iter().zip(&columns).enumerate() {
                push_separator(&mut self.buffer, idx);
                if column.is_valid(row) {
                    self.cell.clear();
                    push_text(&mut self.cell, field, notation, column.cell(row, field.cell_byte_len()));
                    push_quoted(&mut self.buffer, &self.cell);
                }
            }
            self.buffer.push(b'\n');
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

fn push_separator(out: &mut Vec<u8>, idx: usize) {
    if idx > 0 {
        out.push(b',');
    }
}

/// Appends a text, in quotes where it could be read as something else.
fn push_quoted(out: &mut Vec<u8>, text: &[u8]) {
    let is_plain = !text.is_empty() && !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    if is_plain {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for &byte in text {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}
