//! What an import reads as one table: record batches with the columns of the array.

use super::columnar::{self, BinaryReading};
use super::csv::Csv;
use super::input::Input;
use super::jsonl::JsonLines;
use super::kind::{Kind, zone};
use super::options::{Format, TableOptions};
use super::stream::Stream;
use super::survey::{ColumnFacts, Survey, bounds};
use super::text::{BLOCKS_PER_THREAD, Naming, TextColumn, TextFormat, TextReading, line_of_row};
use crate::counted::Counted;
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::formats::Budget;
use crate::warning::{Warn, Warning};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use jiff::tz::TimeZone;
use smalti::parallel;
use smalti::{Phase, Progress, Unit};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a file, with the names of the array.
pub(super) struct Rows {
    pub(super) batch: RecordBatch,
    /// The index of the file or stream.
    pub(super) file: usize,
    /// The number of the first row in it, from 0.
    pub(super) first_row: u64,
}

/// Takes rows as they come.
pub(super) type Visit<'a> = dyn FnMut(Rows) -> Outcome + 'a;

/// A phase of the work: its bar, and whether it goes on.
pub(super) struct Watched<'a> {
    pub(super) phase: Phase,
    pub(super) work: &'a Arc<Progress>,
}

impl Watched<'_> {
    pub(super) fn check(&self) -> Outcome {
        Ok(self.work.check()?)
    }

    /// A file whose bytes are counted.
    pub(super) fn counted(&self, path: &Path) -> Outcome<Counted<File>> {
        let file = open(path)?;
        let byte_len = file.metadata().ok().map(|metadata| metadata.len());
        Ok(Counted::in_phase(file, byte_len, self.work, self.phase))
    }

    /// Begins to count.
    pub(super) fn begin(&self, unit: Unit, total: Option<u64>) {
        self.work.enter(self.phase, unit, total);
    }

    /// Goes on to count behind what was written meanwhile.
    pub(super) fn resume(&self) {
        self.work.resume(self.phase);
    }

    /// Counts.
    pub(super) fn advance(&self, unit: Unit, count: u64) {
        self.work.advance(self.phase, unit, count);
    }
}

/// Opens a file that can be read twice.
///
/// # Errors
/// Those of the system, and whatever is no plain file.
pub(super) fn open(path: &Path) -> Outcome<File> {
    let named = |failure: Failure| failure.at(path.display().to_string());
    let metadata = std::fs::metadata(path).map_err(|error| named(error.into()))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a folder" } else { "a pipe or device" };
        return Err(named(Failure::invalid(format!(
            "{what}, but an import reads a file twice; give a plain file, or use `smalti create` and `smalti write --from -`"
        ))));
    }
    File::open(path).map_err(|error| named(error.into()))
}

/// A file of the import.
#[derive(Debug, Clone)]
pub(super) struct InputFile {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    /// How much of it may be in memory at once.
    pub(super) budget: Budget,
}

/// What an import reads.
pub(super) enum Part {
    File(InputFile),
    Stream(Stream),
}

impl Part {
    fn file(&self) -> Option<&InputFile> {
        match self {
            Part::File(file) => Some(file),
            Part::Stream(_) => None,
        }
    }

    /// Whether it is text, whose types are told by the values.
    fn is_text(&self) -> bool {
        self.file().is_some_and(|file| file.format.is_text())
    }

    /// The columns, where it is no text.
    fn fields(&self, naming: Naming<'_>) -> Outcome<Vec<Field>> {
        match self {
            Part::File(file) => columnar::fields(file, naming),
            Part::Stream(stream) => {
                Ok(stream.schema().fields().iter().map(|field| field.as_ref().clone()).collect())
            }
        }
    }

    /// A failure that names the file.
    fn named(&self, failure: Failure) -> Failure {
        match self {
            Part::File(file) => failure.at(file.path.display().to_string()),
            Part::Stream(_) => failure,
        }
    }
}

/// The files or the stream of an import, read as one table.
pub(super) struct Source<'a> {
    warn: &'a Warn<'a>,
    parts: Vec<Part>,
    csv: Csv,
    zone: TimeZone,
    /// New names by the names in the files.
    rename: HashMap<String, String>,
    /// The columns to take, by their new names; empty for all.
    columns: Vec<String>,
    block_byte_len: usize,
    /// What is known of the columns of text, by their names in the files.
    text: RefCell<Vec<TextColumn>>,
    /// The columns of the table once it was read through.
    pub(super) fields: RefCell<Vec<Field>>,
}

impl<'a> Source<'a> {
    /// # Errors
    /// Options that have no meaning, and files that cannot be opened.
    pub(super) fn open(
        input: Input,
        args: &TableOptions,
        environment: &Environment<'a>,
    ) -> Outcome<Source<'a>> {
        let memory = environment.memory();
        let budget = Budget::of(environment.memory);
        let parts = match input {
            Input::Files(paths) => {
                let files =
                    paths.iter().map(|path| input_file(args, path, budget)).collect::<Outcome<Vec<_>>>()?;
                for file in &files {
                    open(&file.path)?;
                }
                files.into_iter().map(Part::File).collect()
            }
            Input::Batches(_) if args.format.is_some() => {
                return Err(Failure::usage("--format is for files; a stream of record batches has none"));
            }
            Input::Batches(reader) => {
                vec![Part::Stream(Stream::new(reader, memory / 3, budget, environment.folder))]
            }
        };
        let files = || parts.iter().filter_map(Part::file);
        if parts.is_empty() {
            return Err(Failure::usage("there is no file to import"));
        }
        let is_text = files().any(|file| file.format.is_text());
        let is_csv = files().any(|file| file.format == Format::Csv);
        let for_csv = [
            ("--delimiter", args.delimiter.is_some()),
            ("--quote", args.quote.is_some()),
            ("--na", !args.na.is_empty()),
            ("--no-header", args.no_header),
        ];
        if let Some((option, _)) = for_csv.iter().find(|(_, is_given)| *is_given && !is_csv) {
            return Err(Failure::usage(format!("{option} is for csv")));
        }
        if args.time_zone.is_some() && !is_text {
            return Err(Failure::usage(
                "--time-zone is for csv and jsonl; the times of other formats have their zone",
            ));
        }
        let is_tab = files().any(|file| file.path.extension().is_some_and(|ending| ending == "tsv"));
        let delimiter = args.delimiter.unwrap_or(if is_tab { b'\t' } else { b',' });
        // Those that are parsed, and those that are read at the same time.
        let blocks = 2 * BLOCKS_PER_THREAD * parallel::thread_count();
        let mut rename = HashMap::new();
        for text in &args.rename {
            let (from, to) = text
                .split_once('=')
                .filter(|(from, to)| !from.is_empty() && !to.is_empty())
                .ok_or_else(|| Failure::usage(format!("--rename {text}: write it like old=new")))?;
            if rename.insert(from.to_owned(), to.to_owned()).is_some() {
                return Err(Failure::usage(format!("--rename {text}: {from:?} is renamed twice")));
            }
        }
        Ok(Source {
            warn: environment.warn,
            parts,
            csv: Csv::new(delimiter, args.quote.unwrap_or(b'"'), !args.no_header, &args.na)?,
            zone: zone(args.time_zone.as_deref()).map_err(Failure::usage)?,
            rename,
            columns: args.columns.clone(),
            block_byte_len: (memory / 16 / blocks).clamp(64 << 10, 1 << 20),
            text: RefCell::default(),
            fields: RefCell::default(),
        })
    }

    /// Whether a file is text, whose types are told by the values.
    pub(super) fn has_text(&self) -> bool {
        self.parts.iter().any(Part::is_text)
    }

    /// Whether all files are text.
    pub(super) fn is_text(&self) -> bool {
        self.parts.iter().all(Part::is_text)
    }

    /// Whether it keeps what it has read by itself, to read it again.
    pub(super) fn is_stream(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Stream(_)))
    }

    /// The files.
    pub(super) fn files(&self) -> Vec<InputFile> {
        self.parts.iter().filter_map(Part::file).cloned().collect()
    }

    /// A failure that names a file.
    pub(super) fn in_file(&self, idx: usize, failure: Failure) -> Failure {
        match self.parts.get(idx) {
            Some(part) => part.named(failure),
            None => failure,
        }
    }

    /// A failure that is about all of it, and names the first file.
    pub(super) fn in_all(&self, failure: Failure) -> Failure {
        self.in_file(0, failure)
    }

    /// The name of a column in the array; `None` if it is left out.
    fn target(&self, name: &str) -> Option<String> {
        let name = self.rename.get(name).map_or(name, String::as_str);
        (self.columns.is_empty() || self.columns.iter().any(|column| column == name)).then(|| name.to_owned())
    }

    /// Says which types the columns have, before the files are read: those of an array that is there.
    pub(super) fn expect(&self, kinds: impl IntoIterator<Item = (String, Kind)>) {
        let source_name = |target: &str| {
            let renamed = self.rename.iter().find(|(_, to)| *to == target);
            renamed.map_or(target, |(from, _)| from.as_str()).to_owned()
        };
        let columns = kinds.into_iter().map(|(name, kind)| TextColumn {
            name: source_name(&name),
            target: self.target(&source_name(&name)),
            kind,
            is_found: false,
        });
        *self.text.borrow_mut() = columns.collect();
    }

    /// Reads all files, and learns what their columns are.
    ///
    /// # Errors
    /// Name the file, the line or row, the column, the value, and what can be done.
    pub(super) fn survey(&self, watched: &Watched<'_>, visit: &mut Visit<'_>) -> Outcome {
        // What the files say of themselves is looked at before they are read.
        self.conclude(false)?;
        for idx in 0..self.parts.len() {
            self.read(idx, watched, true, visit)?;
        }
        self.conclude(true)
    }

    /// Learns the same from the statistics of the files, if they tell it all; whether they do.
    ///
    /// # Errors
    /// As there.
    pub(super) fn survey_by_statistics(&self, survey: &mut Survey, dims: &[String]) -> Outcome<bool> {
        let is_told = |part: &Part| part.file().is_some_and(|file| file.format == Format::Parquet);
        if !self.parts.iter().all(is_told) {
            return Ok(false);
        }
        let source_name = |target: &String| {
            let renamed = self.rename.iter().find(|(_, to)| *to == target);
            renamed.map_or(target, |(from, _)| from).clone()
        };
        let columns: Vec<String> = dims.iter().map(source_name).collect();
        let mut found = Vec::new();
        for file in self.parts.iter().filter_map(Part::file) {
            match columnar::bounds(file, &columns)? {
                Some(told) => found.push(told),
                None => return Ok(false),
            }
        }
        let mut facts: HashMap<String, ColumnFacts> = HashMap::new();
        let mut row_count = 0;
        for (rows, columns) in found {
            row_count += rows;
            for (name, (least, greatest)) in dims.iter().zip(columns) {
                let (Ok(Some((lo, _))), Ok(Some((_, hi)))) = (bounds(&least), bounds(&greatest)) else {
                    return Ok(false);
                };
                facts.entry(name.clone()).or_default().take_bounds(least.data_type(), lo, hi);
            }
        }
        self.conclude(true)?;
        (survey.facts, survey.row_count) = (facts, row_count);
        Ok(true)
    }

    /// The columns whose files say that they are dictionaries of text, by their new names.
    ///
    /// # Errors
    /// Content that is none of a file's format.
    pub(super) fn dictionaries(&self) -> Outcome<Vec<String>> {
        let mut names = Vec::new();
        for part in self.parts.iter().filter(|part| !part.is_text()) {
            for field in part.fields(&|name| self.target(name))? {
                let is_text = |values: &DataType| {
                    matches!(values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
                };
                if let (DataType::Dictionary(_, values), Some(name)) =
                    (field.data_type(), self.target(field.name()))
                    && is_text(values)
                {
                    names.push(name);
                }
            }
        }
        Ok(names)
    }

    /// Puts together what is known of the columns.
    fn conclude(&self, is_end: bool) -> Outcome {
        let mut found: Vec<String> = Vec::new();
        let mut fields: Vec<Field> = Vec::new();
        for column in self.text.borrow().iter().filter(|column| column.is_found) {
            found.push(column.name.clone());
            if let Some(target) = &column.target {
                let data_type = match column.kind {
                    Kind::Nested => DataType::Struct(arrow_schema::Fields::empty()),
                    _ => column.kind.data_type(),
                };
                push_field(&mut fields, Field::new(target, data_type, true))?;
            }
        }
        for part in self.parts.iter().filter(|part| !part.is_text()) {
            let naming = |name: &str| self.target(name);
            for field in part.fields(&naming)? {
                found.push(field.name().clone());
                if let Some(target) = naming(field.name()) {
                    push_field(&mut fields, field.with_name(target))?;
                }
            }
        }
        if !is_end {
            return Ok(());
        }
        self.check_names(&found)?;
        if fields.is_empty() {
            return Err(self.in_all(Failure::invalid("there are no columns")));
        }
        *self.fields.borrow_mut() = fields;
        Ok(())
    }

    /// Reads all files, in the types that [`survey`](Source::survey) found.
    ///
    /// # Errors
    /// As there.
    pub(super) fn stream(&self, watched: &Watched<'_>, visit: &mut Visit<'_>) -> Outcome {
        (0..self.parts.len()).try_for_each(|idx| self.read(idx, watched, false, visit))
    }

    /// Reads the first rows, as long as `visit` wants more.
    ///
    /// # Errors
    /// As there.
    pub(super) fn first_rows(&self, watched: &Watched<'_>, visit: &mut dyn FnMut(Rows) -> bool) -> Outcome {
        let mut wants_more = true;
        let read = self.stream(watched, &mut |rows| {
            wants_more = visit(rows);
            match wants_more {
                true => Ok(()),
                false => Err(Failure::invalid("enough rows")),
            }
        });
        if wants_more { read } else { Ok(()) }
    }

    fn read(&self, idx: usize, watched: &Watched<'_>, is_survey: bool, visit: &mut Visit<'_>) -> Outcome {
        let count = self.parts.len() as u64;
        watched.work.part(idx as u64 + 1, count);
        let outcome = self.read_one(idx, watched, is_survey, visit);
        watched.work.complete(watched.phase);
        if idx as u64 + 1 == count {
            watched.work.part(1, 1);
        }
        outcome
    }

    fn read_one(&self, idx: usize, watched: &Watched<'_>, is_survey: bool, visit: &mut Visit<'_>) -> Outcome {
        let naming = |name: &str| self.target(name);
        let file = match &self.parts[idx] {
            Part::File(file) => file,
            Part::Stream(stream) => return stream.read(idx, &naming, watched, visit),
        };
        let Some(format) = self.text_format(file) else {
            return BinaryReading { file, file_idx: idx, naming: &naming, watched }.run(visit);
        };
        let on_text = |name: &str, line: u64, value: String| {
            let uri = file.path.display().to_string();
            (self.warn)(Warning::new(
                uri,
                format_args!(
                    "line {line}: column {name:?}: {value:?} is no value as those before it; all of the column is text. If it \
                     means null, say so with --na"
                ),
            ));
        };
        let reading = TextReading {
            format,
            path: &file.path,
            file_idx: idx,
            naming: &naming,
            zone: self.zone.clone(),
            block_byte_len: self.block_byte_len,
            watched,
            on_text: &on_text,
        };
        let mut columns = self.text.borrow().clone();
        reading.run(&mut columns, is_survey, visit)?;
        *self.text.borrow_mut() = columns;
        Ok(())
    }

    fn text_format(&self, file: &InputFile) -> Option<&dyn TextFormat> {
        match file.format {
            Format::Csv => Some(&self.csv),
            Format::Jsonl => Some(&JsonLines),
            _ => None,
        }
    }

    /// Options that name columns which no file has.
    fn check_names(&self, found: &[String]) -> Outcome {
        let known = || found.join(", ");
        if let Some(name) = self.rename.keys().find(|name| !found.contains(name)) {
            return Err(Failure::invalid(format!(
                "--rename: there is no column {name:?}; there are {}",
                known()
            )));
        }
        let targets: Vec<String> = found.iter().filter_map(|name| self.target(name)).collect();
        match self.columns.iter().find(|name| !targets.contains(name)) {
            Some(name) => Err(Failure::invalid(format!(
                "--columns: there is no column {name:?}; there are {}",
                known()
            ))),
            None => Ok(()),
        }
    }

    /// What is wrong with a row: an error that names the file, and the line or row.
    pub(super) fn failure(&self, file: usize, row: u64, problem: &str) -> Failure {
        self.in_file(file, Failure::invalid(format!("{}: {problem}", self.place_inside(file, row))))
    }

    /// Where a row stands, for messages: `cities.csv: line 7`.
    pub(super) fn place(&self, file: usize, row: u64) -> String {
        let inside = self.place_inside(file, row);
        match self.parts.get(file).and_then(Part::file) {
            Some(file) => format!("{}: {inside}", file.path.display()),
            None => inside,
        }
    }

    /// Where a row stands in its file or stream.
    fn place_inside(&self, file: usize, row: u64) -> String {
        let line = self.parts.get(file).and_then(Part::file).and_then(|file| {
            let format = self.text_format(file)?;
            line_of_row(format, &file.path, row).ok()
        });
        line.map_or_else(|| format!("row {}", row + 1), |line| format!("line {line}"))
    }
}

fn input_file(args: &TableOptions, path: &Path, budget: Budget) -> Outcome<InputFile> {
    let format = args.format.or_else(|| Format::of_path(path)).ok_or_else(|| {
        Failure::usage(format!(
            "the ending of {} tells no format; give --format csv, jsonl, arrow, parquet, npy or npz",
            path.display()
        ))
    })?;
    Ok(InputFile { path: path.to_path_buf(), format, budget })
}

/// Adds a column of a file to those of the files before it.
fn push_field(fields: &mut Vec<Field>, field: Field) -> Outcome {
    let Some(known) = fields.iter_mut().find(|known| known.name() == field.name()) else {
        fields.push(field);
        return Ok(());
    };
    let both = common_type(known.data_type(), field.data_type()).ok_or_else(|| {
        Failure::invalid(format!(
            "column {:?}: {} in one file and {} in another; import them into arrays of their own, or leave the column out with \
             --columns",
            field.name(),
            known.data_type(),
            field.data_type()
        ))
    })?;
    let is_nullable = known.is_nullable() || field.is_nullable();
    *known = known.clone().with_data_type(both).with_nullable(is_nullable);
    Ok(())
}

/// The type that holds the values of both without loss.
fn common_type(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    if a == b {
        return Some(a.clone());
    }
    let rank = |data_type: &DataType| match data_type {
        Int8 => Some((true, 8)),
        Int16 => Some((true, 16)),
        Int32 => Some((true, 32)),
        Int64 => Some((true, 64)),
        UInt8 => Some((false, 8)),
        UInt16 => Some((false, 16)),
        UInt32 => Some((false, 32)),
        UInt64 => Some((false, 64)),
        _ => None,
    };
    match (a, b) {
        (Null, other) | (other, Null) => Some(other.clone()),
        (Float32, Float64) | (Float64, Float32) => Some(Float64),
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => Some(LargeUtf8),
        (Dictionary(_, values), other) | (other, Dictionary(_, values)) => {
            let other = if let Dictionary(_, other) = other { other } else { other };
            common_type(values, other)
        }
        _ => match (rank(a)?, rank(b)?) {
            ((true, x), (true, y)) | ((false, x), (false, y)) => {
                Some(if x > y { a.clone() } else { b.clone() })
            }
            ((true, x), (false, y)) if x > y => Some(a.clone()),
            ((false, x), (true, y)) if y > x => Some(b.clone()),
            _ => None,
        },
    }
}

/// A record batch with other names for its columns, and without those that are left out.
pub(super) fn named(batch: &RecordBatch, naming: &dyn Fn(&str) -> Option<String>) -> Outcome<RecordBatch> {
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        if let Some(name) = naming(field.name()) {
            fields.push(field.as_ref().clone().with_name(name));
            arrays.push(Arc::clone(array));
        }
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(arrow_schema::Schema::new(fields)), arrays, &options)
        .map_err(|error| Failure::invalid(error.to_string()))
}
