//! Comma-separated values.

use super::kind::Kind;
use super::text::{Block, Fault, TextColumn, TextFormat, fed};
use crate::failure::{Failure, Outcome};
use arrow_array::RecordBatch;
use arrow_csv::reader::{Format, ReaderBuilder};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use regex::Regex;
use std::sync::Arc;

/// How values are told apart.
#[derive(Debug)]
pub(super) struct Csv {
    delimiter: u8,
    quote: u8,
    has_header: bool,
    na: Vec<String>,
    null: Option<Regex>,
}

impl Csv {
    /// # Errors
    /// When delimiter and quote are the same.
    pub(super) fn new(delimiter: u8, quote: u8, has_header: bool, na: &[String]) -> Outcome<Csv> {
        if delimiter == quote {
            return Err(Failure::usage("--delimiter and --quote are the same character"));
        }
        let null = if na.is_empty() {
            None
        } else {
            let texts: Vec<String> = na.iter().map(|text| regex::escape(text)).collect();
            let null = Regex::new(&format!("^(?:|{})$", texts.join("|")));
            Some(null.map_err(|error| Failure::usage(format!("--na: {error}")))?)
        };
        Ok(Csv { delimiter, quote, has_header, na: na.to_vec(), null })
    }

    fn is_null(&self, text: &str) -> bool {
        text.is_empty() || self.na.iter().any(|na| na == text)
    }

    fn reader<'a>(&self, bytes: &'a [u8]) -> csv::Reader<&'a [u8]> {
        let mut builder = csv::ReaderBuilder::new();
        builder
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .quote(self.quote)
            .from_reader(bytes)
    }

    fn arrow_format(&self) -> Format {
        let format = Format::default().with_delimiter(self.delimiter).with_quote(self.quote);
        match &self.null {
            Some(null) => format.with_null_regex(null.clone()),
            None => format,
        }
    }

    fn decoded(
        &self,
        bytes: &[u8],
        columns: &[TextColumn],
        projection: Vec<usize>,
    ) -> Result<RecordBatch, ArrowError> {
        let field = |column: &TextColumn| Field::new(&column.name, column.kind.parsed_type(), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let row_count = memchr::memchr_iter(b'\n', bytes).count() + 1;
        let mut decoder = ReaderBuilder::new(Arc::clone(&schema))
            .with_format(self.arrow_format())
            .with_batch_size(row_count)
            .with_projection(projection.clone())
            .build_decoder();
        fed(bytes, |rest| decoder.decode(rest))?;
        decoder.decode(&[])?;
        match decoder.flush()? {
            Some(batch) => Ok(batch),
            None => Ok(RecordBatch::new_empty(Arc::new(schema.project(&projection)?))),
        }
    }
}

fn kept(columns: &[TextColumn]) -> Vec<usize> {
    (0..columns.len()).filter(|&idx| columns[idx].target.is_some()).collect()
}

impl TextFormat for Csv {
    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        if memchr::memchr(self.quote, bytes).is_none() {
            return memchr::memrchr(b'\n', bytes).map(|at| at + 1);
        }
        // As the parser sees it: a quote counts at the start of a value, and inside quotes.
        let (mut in_quotes, mut is_start, mut end) = (false, true, None);
        for (at, &byte) in bytes.iter().enumerate() {
            if in_quotes {
                in_quotes = byte != self.quote;
                // A quote behind a closing one opens the quotes again.
                is_start = !in_quotes;
            } else if byte == self.quote {
                in_quotes = is_start;
            } else {
                is_start = byte == self.delimiter || byte == b'\n' || byte == b'\r';
                if byte == b'\n' {
                    end = Some(at + 1);
                }
            }
        }
        end
    }

    fn header(&self, start: &[u8]) -> Result<(Vec<String>, usize, u64), Fault> {
        let mut reader = self.reader(start);
        let mut record = csv::ByteRecord::new();
        let fault = |problem: &str| Fault { line: 1, problem: problem.into() };
        if !reader.read_byte_record(&mut record).map_err(|error| fault(&error.to_string()))? {
            return Err(fault("the file is empty"));
        }
        if !self.has_header {
            return Ok(((1..=record.len()).map(|idx| format!("column_{idx}")).collect(), 0, 0));
        }
        let mut names = Vec::new();
        for (idx, name) in record.iter().enumerate() {
            let name = std::str::from_utf8(name).map_err(|_| {
                fault(&format!("the name of column {} is no UTF-8; convert the file", idx + 1))
            })?;
            let name = name.trim();
            names.push(if name.is_empty() { format!("column_{}", idx + 1) } else { name.to_owned() });
        }
        let byte_len = usize::try_from(reader.position().byte()).unwrap_or(start.len()).min(start.len());
        let line_count = start[..byte_len].iter().filter(|byte| **byte == b'\n').count();
        Ok((names, byte_len, line_count as u64))
    }

    fn is_self_describing(&self) -> bool {
        false
    }

    fn widen(&self, block: &Block, columns: &mut Vec<TextColumn>) -> Result<(), Fault> {
        let mut reader = self.reader(&block.bytes);
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            for (value, column) in record.iter().zip(columns.iter_mut()) {
                if column.target.is_none()
                    || matches!(column.kind, Kind::Text | Kind::Fixed(_) | Kind::Stored(_))
                {
                    continue;
                }
                let Ok(text) = std::str::from_utf8(value) else { continue };
                if !self.is_null(text) {
                    let kind = Kind::of_text(text);
                    if kind != column.kind {
                        column.kind = std::mem::replace(&mut column.kind, Kind::Null).widened(kind);
                    }
                }
            }
        }
        Ok(())
    }

    fn parse(&self, block: &Block, columns: &[TextColumn]) -> Result<RecordBatch, ArrowError> {
        self.decoded(&block.bytes, columns, kept(columns))
    }

    fn fault(&self, block: &Block, columns: &[TextColumn]) -> Option<Fault> {
        let mut reader = self.reader(&block.bytes);
        let mut record = csv::ByteRecord::new();
        let mut start = 0;
        let mut line = block.line;
        loop {
            let is_more = reader.read_byte_record(&mut record).unwrap_or(false);
            if !is_more {
                return None;
            }
            let end =
                usize::try_from(reader.position().byte()).unwrap_or(block.bytes.len()).min(block.bytes.len());
            let bytes = &block.bytes[start..end];
            // Empty lines are passed over in front of a record.
            line += bytes
                .iter()
                .take_while(|byte| matches!(byte, b'\n' | b'\r'))
                .filter(|byte| **byte == b'\n')
                .count() as u64;
            let of_line = |problem: String| Some(Fault { line, problem });
            if end == block.bytes.len() && self.cut(bytes) != Some(bytes.len()) {
                return of_line("a quote is not closed; close it, or give --quote".into());
            }
            if record.len() != columns.len() {
                return of_line(format!(
                    "{} values where there are {} columns; put values that hold the delimiter in quotes, or give --delimiter",
                    record.len(),
                    columns.len()
                ));
            }
            // A record is read as a whole: other columns than this one would be blamed.
            if let Some((idx, _)) =
                record.iter().enumerate().find(|(_, value)| std::str::from_utf8(value).is_err())
            {
                return of_line(format!(
                    "column {:?}: bytes that are no UTF-8; convert the file, with iconv say",
                    columns[idx].name
                ));
            }
            for (idx, (value, column)) in record.iter().zip(columns).enumerate() {
                let Ok(text) = std::str::from_utf8(value) else { continue };
                if column.target.is_some()
                    && !self.is_null(text)
                    && self.decoded(bytes, columns, vec![idx]).is_err()
                {
                    let wanted = match column.kind.data_type() {
                        DataType::Utf8 => column.kind.name().to_owned(),
                        other => format!("{} ({other})", column.kind.name()),
                    };
                    return of_line(format!(
                        "column {:?}: {text:?} where {wanted} are expected; correct it, say with --na what means null, or leave \
                         the column out with --columns",
                        column.name
                    ));
                }
            }
            let head = bytes
                .iter()
                .take_while(|byte| matches!(byte, b'\n' | b'\r'))
                .filter(|byte| **byte == b'\n')
                .count();
            line += (bytes.iter().filter(|byte| **byte == b'\n').count() - head) as u64;
            start = end;
        }
    }

    fn first_text(&self, block: &Block, idx: usize, _name: &str) -> Option<(u64, String)> {
        let mut reader = self.reader(&block.bytes);
        let mut record = csv::StringRecord::new();
        let mut before = None;
        while reader.read_record(&mut record).ok()? {
            let text = record.get(idx)?;
            if self.is_null(text) {
                continue;
            }
            let kind = Kind::of_text(text);
            match (&before, kind) {
                (None, Kind::Text) => return None,
                (Some(_), Kind::Text) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    return Some((block.line + line - 1, text.to_owned()));
                }
                (_, kind) => before = Some(kind),
            }
        }
        None
    }

    fn line_of(&self, block: &Block, row: usize) -> u64 {
        let mut reader = self.reader(&block.bytes);
        let mut record = csv::ByteRecord::new();
        for _ in 0..=row {
            if !reader.read_byte_record(&mut record).unwrap_or(false) {
                break;
            }
        }
        block.line + record.position().map_or(1, csv::Position::line) - 1
    }

    fn row_count(&self, block: &Block) -> u64 {
        let mut reader = self.reader(&block.bytes);
        let mut record = csv::ByteRecord::new();
        let mut count = 0;
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            count += 1;
        }
        count
    }
}
