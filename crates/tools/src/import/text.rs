//! Files of lines, read in blocks of whole records that threads share out among themselves.

use super::kind::Kind;
use super::source::{Rows, Visit, Watched};
use super::times::converted;
use crate::failure::{Failure, Outcome};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema};
use jiff::tz::TimeZone;
use rayon::prelude::*;
use smalti::parallel::{self, Shareable as _};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Longer records are refused: in most files they mean that a quote or a line end is missing.
pub(super) const MAX_RECORD_BYTE_LEN: usize = 8 << 20;

/// Blocks that are parsed together: with one alone, threads would wait for each other.
pub(super) const BLOCKS_PER_THREAD: usize = 2;

/// Records whose values tell the kinds of the columns at first.
const SAMPLE_BYTE_LEN: usize = 1 << 20;

/// A column of a file of lines.
#[derive(Debug, Clone)]
pub(super) struct TextColumn {
    /// The name in the file.
    pub(super) name: String,
    /// The name in the array; `None` for columns that are left out.
    pub(super) target: Option<String>,
    pub(super) kind: Kind,
    /// Whether a file has it: what the array asks for need not be there.
    pub(super) is_found: bool,
}

/// Whole records of a file.
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    /// The number of the first line, from 1.
    pub(super) line: u64,
}

/// What is wrong with a record.
pub(super) struct Fault {
    /// The number of its line.
    pub(super) line: u64,
    pub(super) problem: String,
}

/// How records of a format are told apart and read.
pub(super) trait TextFormat: Sync {
    /// The end of the last whole record.
    fn cut(&self, bytes: &[u8]) -> Option<usize>;

    /// The columns that the start of a file names, and the bytes and lines that this takes.
    fn header(&self, start: &[u8]) -> Result<(Vec<String>, usize, u64), Fault>;

    /// Whether every record brings the names of its columns itself.
    fn is_self_describing(&self) -> bool;

    /// Widens the kinds of columns by the values of a block, and appends columns that the block alone has.
    fn widen(&self, block: &Block, columns: &mut Vec<TextColumn>) -> Result<(), Fault>;

    /// The columns that are not left out, in the types that the parser is asked for.
    fn parse(&self, block: &Block, columns: &[TextColumn]) -> Result<RecordBatch, ArrowError>;

    /// The first record that cannot be read; `None` when none is found.
    fn fault(&self, block: &Block, columns: &[TextColumn]) -> Option<Fault>;

    /// The first value of a column that is text, where the values before it are something else.
    fn first_text(&self, block: &Block, idx: usize, name: &str) -> Option<(u64, String)>;

    /// The line of a record of a block, from 0.
    fn line_of(&self, block: &Block, row: usize) -> u64;

    /// The number of records of a block.
    fn row_count(&self, block: &Block) -> u64;
}

/// Renames a column, or leaves it out.
pub(super) type Naming<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Hands bytes to a decoder, which says how many it took, until it takes no more.
///
/// # Errors
/// Those of the decoder.
pub(super) fn fed(
    bytes: &[u8],
    mut decode: impl FnMut(&[u8]) -> Result<usize, ArrowError>,
) -> Result<(), ArrowError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match decode(rest)? {
            0 => break,
            taken => rest = rest.get(taken..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// One reading of a file of lines.
pub(super) struct TextReading<'a> {
    pub(super) format: &'a dyn TextFormat,
    pub(super) path: &'a Path,
    pub(super) file_idx: usize,
    pub(super) naming: Naming<'a>,
    pub(super) zone: TimeZone,
    pub(super) block_byte_len: usize,
    pub(super) watched: &'a Watched<'a>,
    /// Told of columns that become text behind values of another kind: the line, and what it says.
    pub(super) on_text: &'a dyn Fn(&str, u64, String),
}

impl TextReading<'_> {
    /// Reads all records. `columns` are what is known of the columns; with `is_survey` they are widened by what is found.
    ///
    /// # Errors
    /// Name the line and the column.
    pub(super) fn run(
        &self,
        columns: &mut Vec<TextColumn>,
        is_survey: bool,
        visit: &mut Visit<'_>,
    ) -> Outcome {
        let input = Box::new(self.watched.counted(self.path)?);
        let mut blocks = Blocks::open(self.format, self.path, input, self.block_byte_len)?;
        let mut first_row = 0;
        let block_count = BLOCKS_PER_THREAD * parallel::thread_count();
        let (format, zone) = (self.format, &self.zone);
        let mut group = blocks.group(block_count)?;
        // Every file has its own order of columns.
        let mut own = self.columns_of_file(&blocks, columns)?;
        if let (Some(first), true) = (group.first(), is_survey && !self.format.is_self_describing()) {
            self.sample(first, &mut own)?;
        }
        while !group.is_empty() {
            self.watched.check()?;
            if is_survey && self.format.is_self_describing() {
                let widen = |block: &Block| {
                    let mut found = own.clone();
                    format.widen(block, &mut found).map(|()| found)
                };
                let found: Vec<_> = group.par_iter().shared().map(widen).collect();
                for (block, found) in group.iter().zip(found) {
                    for column in found.map_err(|fault| self.failure(fault))? {
                        self.merge(block, &mut own, column);
                    }
                }
            }
            // The next blocks are read while these are parsed.
            let (next, parsed) = parallel::join(
                || blocks.group(block_count),
                || {
                    group
                        .par_iter()
                        .shared()
                        .map(|block| parse(format, zone, block, &own))
                        .collect::<Vec<_>>()
                },
            );
            for (block, batch) in group.iter().zip(parsed) {
                let batch = match batch {
                    Ok(batch) => batch,
                    Err(_) if is_survey => self.parse_widened(block, &mut own)?,
                    Err(error) => return Err(self.explained(block, &own, &error)),
                };
                let row_count = batch.num_rows() as u64;
                visit(Rows { batch, file: self.file_idx, first_row })?;
                first_row += row_count;
            }
            blocks.take_back(std::mem::replace(&mut group, next?));
        }
        if is_survey {
            for column in own {
                match columns.iter_mut().find(|known| known.name == column.name) {
                    Some(known) => {
                        known.kind = known.kind.clone().widened(column.kind);
                        known.is_found |= column.is_found;
                    }
                    None => columns.push(column),
                }
            }
        }
        Ok(())
    }

    /// The columns that the file names, with what is known of them.
    fn columns_of_file(&self, blocks: &Blocks<'_>, known: &[TextColumn]) -> Outcome<Vec<TextColumn>> {
        if self.format.is_self_describing() {
            return Ok(known.to_vec());
        }
        let mut columns: Vec<TextColumn> = Vec::new();
        for name in &blocks.names {
            if columns.iter().any(|column| column.name == *name) {
                return Err(Failure::invalid(format!(
                    "line 1: two columns are called {name:?}; rename one in the file, or give --no-header"
                ))
                .at(self.path.display().to_string()));
            }
            columns.push(match known.iter().find(|column| column.name == *name) {
                Some(column) => TextColumn { is_found: true, ..column.clone() },
                None => TextColumn {
                    name: name.clone(),
                    target: (self.naming)(name),
                    kind: Kind::Null,
                    is_found: true,
                },
            });
        }
        Ok(columns)
    }

    /// Tells the kinds of columns by the first records.
    fn sample(&self, first: &Block, columns: &mut Vec<TextColumn>) -> Outcome {
        let byte_len = first.bytes.len().min(SAMPLE_BYTE_LEN);
        let byte_len = self.format.cut(&first.bytes[..byte_len]).unwrap_or(first.bytes.len());
        let sample = Block { bytes: first.bytes[..byte_len].to_vec(), line: first.line };
        let mut found = columns.clone();
        self.format.widen(&sample, &mut found).map_err(|fault| self.failure(fault))?;
        for column in &mut found {
            if column.target.is_none() && columns.iter().all(|known| known.name != column.name) {
                column.target = (self.naming)(&column.name);
            }
        }
        for (idx, column) in found.iter().enumerate() {
            let is_text = column.kind == Kind::Text && column.target.is_some();
            if let Some((line, value)) =
                self.format.first_text(&sample, idx, &column.name).filter(|_| is_text)
            {
                (self.on_text)(&column.name, line, value);
            }
        }
        *columns = found;
        Ok(())
    }

    fn merge(&self, block: &Block, columns: &mut Vec<TextColumn>, found: TextColumn) {
        match columns.iter_mut().enumerate().find(|(_, column)| column.name == found.name) {
            Some((idx, column)) => {
                let widened = column.kind.clone().widened(found.kind.clone());
                if widened == Kind::Text && column.kind != Kind::Text && column.target.is_some() {
                    let first = self.format.first_text(block, idx, &column.name);
                    if column.kind != Kind::Null || first.is_some() {
                        let (line, value) = first.unwrap_or((block.line, String::new()));
                        (self.on_text)(&column.name, line, value);
                    }
                }
                column.kind = widened;
                column.is_found |= found.is_found;
            }
            None => columns.push(TextColumn { target: (self.naming)(&found.name), ..found }),
        }
    }

    /// Parses a block again, with the kinds that its own values ask for.
    fn parse_widened(&self, block: &Block, columns: &mut Vec<TextColumn>) -> Outcome<RecordBatch> {
        let mut found = columns.clone();
        self.format.widen(block, &mut found).map_err(|fault| self.failure(fault))?;
        for column in found {
            self.merge(block, columns, column);
        }
        parse(self.format, &self.zone, block, columns).map_err(|error| self.explained(block, columns, &error))
    }

    fn failure(&self, fault: Fault) -> Failure {
        Failure::invalid(format!("line {}: {}", fault.line, fault.problem))
            .at(self.path.display().to_string())
    }

    fn explained(&self, block: &Block, columns: &[TextColumn], error: &ArrowError) -> Failure {
        if let Some(fault) = self.format.fault(block, columns) {
            return self.failure(fault);
        }
        let problem = match error {
            // A value that no date or time is: see `parse`.
            ArrowError::ParseError(place) if place.contains('\u{0}') => {
                let (name, row) = place.split_once('\u{0}').unwrap_or((place, "0"));
                let row = row.parse().unwrap_or(0);
                let column = columns.iter().find(|column| column.name == name);
                let wanted = column.map_or("a value", |column| column.kind.name());
                let line = self.format.line_of(block, row);
                let text = self.text_of(block, columns, name, row);
                let problem = format!(
                    "column {name:?}: {text:?} where {wanted} are expected; correct it, say with --na what means null, or \
                     leave the column out with --columns"
                );
                return self.failure(Fault { line, problem });
            }
            error => error.to_string(),
        };
        self.failure(Fault { line: block.line, problem })
    }

    /// A value as it stands in the file.
    fn text_of(&self, block: &Block, columns: &[TextColumn], name: &str, row: usize) -> String {
        use arrow_array::cast::AsArray;
        let as_text: Vec<TextColumn> = columns
            .iter()
            .map(|column| TextColumn {
                target: column.target.clone().filter(|_| column.name == name),
                kind: Kind::Text,
                ..column.clone()
            })
            .collect();
        let batch = self.format.parse(block, &as_text);
        let text = batch.ok().and_then(|batch| {
            let array = batch.columns().first()?.clone();
            (row < array.len()).then(|| array.as_string::<i32>().value(row).to_owned())
        });
        text.unwrap_or_default()
    }
}

/// The columns of a block that are not left out, with the names of the array.
fn parse(
    format: &dyn TextFormat,
    zone: &TimeZone,
    block: &Block,
    columns: &[TextColumn],
) -> Result<RecordBatch, ArrowError> {
    let batch = format.parse(block, columns)?;
    let kept = columns.iter().filter(|column| column.target.is_some() && column.kind != Kind::Nested);
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (column, array) in kept.zip(batch.columns()) {
        let array = converted(Arc::clone(array), &column.kind, zone)
            .map_err(|row| ArrowError::ParseError(format!("{}\u{0}{row}", column.name)))?;
        fields.push(Field::new(
            column.target.as_deref().unwrap_or_default(),
            array.data_type().clone(),
            true,
        ));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}

/// The line of a record of a file.
pub(super) fn line_of_row(format: &dyn TextFormat, path: &Path, row: u64) -> Outcome<u64> {
    let mut blocks = Blocks::open(format, path, Box::new(super::source::open(path)?), 1 << 20)?;
    let mut left = row;
    while let Some(block) = blocks.next()? {
        let row_count = format.row_count(&block);
        if left < row_count {
            return Ok(format.line_of(&block, usize::try_from(left).unwrap_or(usize::MAX)));
        }
        left -= row_count;
    }
    Ok(blocks.line)
}

/// The blocks of a file behind its header.
struct Blocks<'a> {
    format: &'a dyn TextFormat,
    path: &'a Path,
    input: Box<dyn Read + Send + 'a>,
    /// What was read and not handed out.
    buffer: Vec<u8>,
    /// Memory of blocks that came back: new pages cost about as much as what is read into them.
    spare: Vec<Vec<u8>>,
    block_byte_len: usize,
    /// The number of the first line in the buffer.
    line: u64,
    is_at_end: bool,
    names: Vec<String>,
}

impl<'a> Blocks<'a> {
    fn open(
        format: &'a dyn TextFormat,
        path: &'a Path,
        input: Box<dyn Read + Send + 'a>,
        block_byte_len: usize,
    ) -> Outcome<Self> {
        let mut blocks = Blocks {
            format,
            path,
            input,
            buffer: Vec::new(),
            spare: Vec::new(),
            block_byte_len,
            line: 1,
            is_at_end: false,
            names: Vec::new(),
        };
        blocks.fill(block_byte_len)?;
        if blocks.buffer.starts_with(b"\xef\xbb\xbf") {
            blocks.buffer.drain(..3);
        }
        // A header may be longer than a block.
        while format.cut(&blocks.buffer).is_none()
            && !blocks.is_at_end
            && blocks.buffer.len() < MAX_RECORD_BYTE_LEN
        {
            blocks.fill(blocks.buffer.len() + block_byte_len)?;
        }
        let (names, byte_len, line_count) =
            format.header(&blocks.buffer).map_err(|fault| blocks.failure(fault.line, &fault.problem))?;
        blocks.buffer.drain(..byte_len);
        blocks.line += line_count;
        blocks.names = names;
        Ok(blocks)
    }

    /// The next blocks, as many as there are up to a number.
    fn group(&mut self, block_count: usize) -> Outcome<Vec<Block>> {
        let mut group = Vec::with_capacity(block_count);
        while group.len() < block_count {
            match self.next()? {
                Some(block) => group.push(block),
                None => break,
            }
        }
        Ok(group)
    }

    /// The next block; `None` at the end.
    fn next(&mut self) -> Outcome<Option<Block>> {
        let mut wanted = self.block_byte_len;
        loop {
            self.fill(wanted)?;
            if self.is_at_end && self.buffer.last().is_some_and(|byte| *byte != b'\n') {
                self.buffer.push(b'\n');
            }
            if self.buffer.is_empty() {
                return Ok(None);
            }
            let end = match self.format.cut(&self.buffer) {
                Some(end) => end,
                None if self.is_at_end => {
                    return Err(self.failure(self.line, "a quote is not closed; close it, or give --quote"));
                }
                None if self.buffer.len() >= MAX_RECORD_BYTE_LEN => {
                    return Err(self.failure(
                        self.line,
                        &format!(
                            "the record is longer than {} MiB; a quote or a line end is missing, or --quote or --delimiter is \
                             another",
                            MAX_RECORD_BYTE_LEN >> 20
                        ),
                    ));
                }
                None => {
                    wanted = self.buffer.len() + self.block_byte_len;
                    continue;
                }
            };
            let mut rest = self.spare.pop().unwrap_or_default();
            rest.extend_from_slice(self.buffer.get(end..).unwrap_or_default());
            self.buffer.truncate(end);
            let bytes = std::mem::replace(&mut self.buffer, rest);
            let line = self.line;
            self.line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
            return Ok(Some(Block { bytes, line }));
        }
    }

    /// Takes the memory of blocks that are done with.
    fn take_back(&mut self, blocks: Vec<Block>) {
        // A record longer than a block makes a long buffer, which is not kept.
        let kept = blocks.into_iter().map(|block| block.bytes);
        self.spare.extend(kept.filter(|bytes| bytes.capacity() <= 2 * self.block_byte_len).map(
            |mut bytes| {
                bytes.clear();
                bytes
            },
        ));
    }

    /// Reads until the buffer has some bytes.
    fn fill(&mut self, byte_len: usize) -> Outcome {
        let missing = byte_len.saturating_sub(self.buffer.len());
        if missing > 0 && !self.is_at_end {
            self.buffer.reserve(missing);
            let read = self.input.by_ref().take(missing as u64).read_to_end(&mut self.buffer);
            let read = read.map_err(|error| Failure::from(error).at(self.path.display().to_string()))?;
            self.is_at_end = read < missing;
        }
        Ok(())
    }

    fn failure(&self, line: u64, problem: &str) -> Failure {
        Failure::invalid(format!("line {line}: {problem}")).at(self.path.display().to_string())
    }
}
