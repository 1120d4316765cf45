//! Aligned columns for people.

use crate::cells::{Field, TextNotation, push_text};
use crate::failure::Outcome;
use crate::formats::{Sink, borrowed};
use smalti::{Batch, ColumnRef};
use std::io::Write;

/// Longer cells of a read are cut.
const MAX_CELL_CHARS: usize = 48;

/// The longest text that any table shows of a cell, such as the URI of a member; a column is padded to its widest cell.
const MAX_TEXT_CHARS: usize = 512;

/// Bytes of a cell of any length that make more text than is shown of it.
const MAX_CELL_BYTE_LEN: usize = 1024;

/// A header and rows of texts.
#[derive(Debug, Default)]
pub struct Table {
    /// Titles, with whether the column holds numbers.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these titles; `true` aligns a column to the right.
    pub fn new(columns: impl IntoIterator<Item = (String, bool)>) -> Self {
        let columns = columns.into_iter().map(|(title, is_number)| (shown(&title), is_number));
        Table { columns: columns.collect(), rows: Vec::new() }
    }

    /// Appends a row. Texts that are long are cut, with their length told.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row.iter().map(|text| shown(text)).collect());
    }

    /// Writes all rows with columns as wide as they need.
    pub fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let width = |idx: usize| {
            let cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(idx))
                .chain(self.columns.get(idx).map(|(title, _)| title));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let titles: Vec<&str> = self.columns.iter().map(|(title, _)| title.as_str()).collect();
        self.print_row(out, &titles, &widths)?;
        let rules: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        self.print_row(out, &rules.iter().map(String::as_str).collect::<Vec<_>>(), &widths)?;
        for row in &self.rows {
            self.print_row(out, &row.iter().map(String::as_str).collect::<Vec<_>>(), &widths)?;
        }
        Ok(())
    }

    fn print_row(&self, out: &mut dyn Write, cells: &[&str], widths: &[usize]) -> std::io::Result<()> {
        let mut line = String::new();
        for (idx, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            if idx > 0 {
                line.push_str("  ");
            }
            let is_number = self.columns.get(idx).is_some_and(|(_, is_number)| *is_number);
            // Not by a width of the formatter: it panics above 65,535.
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            let (before, after) = if is_number { (padding.as_str(), "") } else { ("", padding.as_str()) };
            line.extend([before, cell, after]);
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// Collects the cells of a read and prints them as a table.
pub struct TableSink<W> {
    out: W,
    fields: Vec<(Field, TextNotation)>,
    table: Table,
}

impl<W: Write> TableSink<W> {
    /// Writes cells of these fields.
    pub fn new(out: W, fields: &[Field]) -> Self {
        let is_number = |field: &Field| {
            (field.datatype.is_integer() || field.datatype.is_float()) && field.labels.is_none()
        };
        let table = Table::new(fields.iter().map(|field| (field.name.clone(), is_number(field))));
        let notation = |field: &Field| TextNotation::new(field.datatype, field.cell_val_num, field.iso_dates);
        TableSink {
            out,
            fields: fields.iter().map(|field| (field.clone(), notation(field))).collect(),
            table,
        }
    }
}

impl<W: Write> Sink for TableSink<W> {
    fn batch(&mut self, batch: Batch) -> Outcome {
        let columns = borrowed(&batch);
        for row in 0..batch.cell_count {
            let text = |((field, notation), column): (&(Field, TextNotation), &ColumnRef<'_>)| {
                cell_text(field, notation, column, row)
            };
            self.table.push(self.fields.iter().zip(&columns).map(text).collect());
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome {
        self.table.print(&mut self.out)?;
        Ok(self.out.flush()?)
    }
}

/// A cell as tables show it.
pub(super) fn cell_text(
    field: &Field,
    notation: &TextNotation,
    column: &ColumnRef<'_>,
    row: usize,
) -> String {
    if !column.is_valid(row) {
        return "null".to_string();
    }
    let mut text = Vec::new();
    let cell = head(field, column.cell(row, field.cell_byte_len()));
    push_text(&mut text, field, notation, cell);
    printable(&String::from_utf8_lossy(&text), MAX_CELL_CHARS)
}

/// As much of a cell of any length as is shown of it: whole values, and whole characters of text.
fn head<'a>(field: &Field, cell: &'a [u8]) -> &'a [u8] {
    if cell.len() <= MAX_CELL_BYTE_LEN {
        return cell;
    }
    let head = &cell[..MAX_CELL_BYTE_LEN];
    match std::str::from_utf8(head) {
        Err(error) if field.datatype.byte_len() == 1 && error.error_len().is_none() => {
            &head[..error.valid_up_to()]
        }
        _ => head,
    }
}

/// A text as tables show it, with its length where it is cut.
fn shown(text: &str) -> String {
    let cut = printable(text, MAX_TEXT_CHARS);
    match text.chars().nth(MAX_TEXT_CHARS) {
        Some(_) => format!("{cut} ({} characters)", crate::human::count(text.chars().count() as u64)),
        None => cut,
    }
}

/// The text on one line, without control characters, cut where it is long.
fn printable(text: &str, max_chars: usize) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut chars = text.chars();
    let mut out: String = chars.by_ref().take(max_chars).map(clean).collect();
    if chars.next().is_some() {
        out.pop();
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_to_the_right_and_long_texts_cut() {
        let mut table = Table::new([("name".to_string(), false), ("n".to_string(), true)]);
        table.push(vec!["é".into(), "12".into()]);
        table.push(vec!["abcdef".into(), "-1".into()]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name     n\n──────  ──\né       12\nabcdef  -1\n");
        assert_eq!(printable("a\u{1b}[31m", 48), "a\u{fffd}[31m");
        assert_eq!(printable(&"x".repeat(60), MAX_CELL_CHARS).chars().count(), MAX_CELL_CHARS);
    }

    #[test]
    fn texts_of_any_length_are_shown_with_their_length() {
        let mut table = Table::new([("t".repeat(70_000), false), ("n".to_string(), true)]);
        table.push(vec!["é".repeat(65_536), "x".repeat(100_000)]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("tt… (70,000 characters)") && text.contains("éé… (65,536 characters)"),
            "{text}"
        );
        assert!(text.ends_with("xx… (100,000 characters)\n") && text.len() < 8000, "{text}");
    }

    #[test]
    fn long_cells_are_cut_before_they_become_text() {
        let text = crate::cells::test_field("s", smalti::Datatype::StringUtf8, 0, false);
        let cell = format!("a{}", "é".repeat(1000));
        assert_eq!(head(&text, cell.as_bytes()).len(), MAX_CELL_BYTE_LEN - 1);
        let list = crate::cells::test_field("l", smalti::Datatype::Int64, 0, false);
        assert_eq!(head(&list, &[0xc3; 4000]).len(), MAX_CELL_BYTE_LEN);
    }
}
