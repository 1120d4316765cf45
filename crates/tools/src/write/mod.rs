//! Writes of cells from files or streams into an array that is there, in bounded memory: piece by piece where they are more than the
//! budget has room for.

mod format;
mod labels;
mod pieces;
#[cfg(test)]
mod tests;

use crate::cells::{Field, Region, cell_count_of, place};
use crate::counted::Counted;
use crate::failure::{Failure, Outcome};
use crate::formats::{
    Budget, Cells, Held, RecordBatches, Room, Take, arrow_failure, behind, check_cells, columns_of,
    cut_batches, gather, open_arrow, open_file, open_npy, open_parquet, read_csv, read_jsonl,
    written_out_byte_len,
};
use crate::notation::Notation;
use crate::ranges;
use arrow_array::RecordBatchReader;
pub use format::Format;
pub use pieces::Written;
use pieces::{Chunks, Pieces, Rows, held};
use smalti::{
    Array, Column, ColumnRef, Columns, DEFAULT_MEMORY_BYTE_LEN, Duplicates, Extent, Layout, Phase, Progress,
    SharedWrite, Unit, WriteRequest, WrittenFragment,
};
use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a write reads its cells from.
pub enum Input {
    /// A file.
    File(PathBuf, Format),
    /// Standard input.
    Stdin(Format),
    /// Record batches, whose columns have the names of fields.
    Batches(Box<dyn RecordBatchReader + Send>),
}

impl Input {
    /// The file to read.
    fn path(&self) -> Option<&Path> {
        match self {
            Input::File(path, _) => Some(path),
            Input::Stdin(_) | Input::Batches(_) => None,
        }
    }
}

/// How cells are written.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// The part of a dense array that is written: its current domain or domain, if it is `None`. Cells come in row-major order of it, or
    /// in any order with their coordinates.
    pub subarray: Option<Vec<Extent>>,
    /// The cells come in the global order of a sparse array, and make one fragment however many there are.
    pub global_order: bool,
    /// The time of the write in milliseconds since 1970; now, if it is `None`.
    pub at: Option<u64>,
    /// The memory budget in bytes. If it is `None`, files of honest size may take what they need, and record batches
    /// [`DEFAULT_MEMORY_BYTE_LEN`].
    pub memory: Option<u64>,
    /// The fragments are parts of a write that several processes do together, and wait for [its
    /// commit](Array::commit_shared): at the time of that, whatever [`at`](WriteOptions::at) is.
    pub share: Option<SharedWrite>,
    /// How dates and values of enumerations are written in the input.
    pub notation: Notation,
    /// How messages call the array: its address, if it is `None`.
    pub name: Option<String>,
}

/// The part of a dense array that ranges as people write them tell; `None` where there are none.
///
/// # Errors
/// Ranges that have no meaning, or are for a sparse array.
pub fn subarray(array: &Array, range: &[String], ranges_json: Option<&str>) -> Outcome<Option<Vec<Extent>>> {
    if range.is_empty() && ranges_json.is_none() {
        return Ok(None);
    }
    let schema = array.schema();
    check_range(schema.is_dense())?;
    ranges::one_each(&schema, ranges::parse(&schema, range, ranges_json)?).map(Some)
}

fn check_range(is_dense: bool) -> Outcome {
    match is_dense {
        true => Ok(()),
        false => {
            Err(Failure::usage("--range is for dense arrays; cells of sparse ones carry their coordinates"))
        }
    }
}

/// Writes all cells of an input. Of a sparse array those for which the budget has no room at once come to be in several fragments, which
/// become visible together; of a dense array they are written row after row of tiles, where they come so.
///
/// # Errors
/// Options that do not fit the array; what is wrong with the input, with the place; `OutOfMemory` with the budget that would do, where
/// cells have to be in memory together; what the engine reports. Nothing is visible then.
pub fn write(array: &Array, input: Input, options: &WriteOptions, work: &Arc<Progress>) -> Outcome<Written> {
    let is_dense = array.schema().is_dense();
    let mut fields = Field::of_array(array, options.notation)?;
    fields.extend(Field::labels_of(&array.schema(), options.notation));
    if options.subarray.is_some() {
        check_range(is_dense)?;
    }
    if is_dense && options.global_order {
        return Err(Failure::usage(
            "--global-order is for sparse arrays; cells of dense ones go where their coordinates say",
        ));
    }
    let budget = match (options.memory, &input) {
        // Nobody knows how long a stream is.
        (None, Input::Batches(_)) => Budget::asked(DEFAULT_MEMORY_BYTE_LEN as u64),
        (memory, _) => Budget::of(memory),
    };
    let byte_len = input.path().and_then(|path| path.metadata().ok()).map(|metadata| metadata.len());
    let room = Room::new(budget, byte_len, work);
    let (format, name) = match &input {
        Input::File(path, format) => (Some(*format), Some(path.display().to_string())),
        Input::Stdin(format) => (Some(*format), Some("-".to_owned())),
        Input::Batches(_) => (None, None),
    };
    let uri = options.name.clone().unwrap_or_else(|| array.uri());
    let input = Work { options, format, name, uri, input: Cell::new(Some(input)), budget, room, work };
    all(array, &input, &fields)
}

/// A write.
struct Work<'a> {
    options: &'a WriteOptions,
    /// Of a file.
    format: Option<Format>,
    /// Of a file, for messages.
    name: Option<String>,
    /// The array, for messages.
    uri: String,
    /// Until it is opened.
    input: Cell<Option<Input>>,
    budget: Budget,
    /// Where the cells go before they are written.
    room: Room,
    work: &'a Arc<Progress>,
}

/// Record batches that are read.
struct Opened {
    batches: RecordBatches,
    /// The number of their rows, if it is told.
    row_count: Option<u64>,
    /// Whether their bytes are counted as they are read.
    is_counted: bool,
}

fn all(array: &Array, input: &Work<'_>, fields: &[Field]) -> Outcome<Written> {
    let options = input.options;
    let is_dense = array.schema().is_dense();
    let has_rows = matches!(input.format, Some(Format::Csv | Format::Jsonl | Format::Npy));
    if !is_dense && options.global_order && !has_rows && options.share.is_none() {
        return write_batches(array, input, fields).map(Written::one);
    }
    let mut phases = vec![Phase::Reading];
    phases.extend(if is_dense { Phase::DENSE_WRITE } else { Phase::SPARSE_WRITE });
    let _announced = input.work.announce(&phases);
    if is_dense {
        return match input.format {
            Some(Format::Npy) => write_npy(array, input, fields),
            _ => write_dense(array, input, fields),
        };
    }
    let layout = if options.global_order { Layout::GlobalOrder } else { Layout::Unordered };
    let mut chunks = Chunks::new(input.pieces(array), layout);
    let room = input.room.clone();
    let room = match options.global_order || array.commits_together() {
        true => room.cleared(),
        false => room,
    };
    let columns = input.row_columns(fields, &room, &mut |cells| chunks.add(cells))?;
    if chunks.is_begun() {
        chunks.finish(columns).map_err(input.in_file())
    } else if labels::are_alone(&array.schema(), &columns) {
        labels::write(array, &input.uri, options.at, columns, input.work)
            .map_err(input.in_file())
            .map(Written::one)
    } else {
        write_columns(array, input, columns, layout, None).map(Written::one)
    }
}

fn write_npy(array: &Array, input: &Work<'_>, fields: &[Field]) -> Outcome<Written> {
    let subarray = input.rectangle(array);
    let region = Region::new(&subarray)?;
    // Labels are where they were written; a file of one attribute has none.
    let schema = array.schema();
    let cells: Vec<Field> =
        fields.iter().filter(|field| schema.label(&field.name).is_none()).cloned().collect();
    let mut values = open_npy(input.open()?, &cells, &region.shape()).map_err(input.in_file())?;
    let pieces = input.pieces(array);
    if input.options.share.is_none()
        && let Some(writer) = pieces.rows(&subarray, values.layout())
    {
        return pieces.write_npy(values, writer).map_err(input.in_file());
    }
    let (layout, byte_len) = (values.layout(), values.byte_len());
    let held = Held { byte_len: byte_len as u64, cell_count: region.cell_count()? as u64, ..Held::default() };
    input.room.check_work(held, 0).map_err(input.in_file())?;
    let column = values.next(byte_len).map_err(input.in_file())?;
    values.end().map_err(input.in_file())?;
    write_columns(array, input, vec![column], layout, Some(subarray)).map(Written::one)
}

fn write_dense(array: &Array, input: &Work<'_>, fields: &[Field]) -> Outcome<Written> {
    let options = input.options;
    let schema = array.schema();
    let subarray = input.rectangle(array);
    let region = Region::new(&subarray)?;
    let is_alone = options.share.is_none() && schema.dimension_labels.is_empty();
    let mut rows = match input.budget.is_asked_for() && is_alone {
        true => Rows::new(input.pieces(array), &subarray)?,
        false => None,
    };
    // Beside the rows that are read, a row of tiles waits.
    let room = match &rows {
        Some(_) => input.room.clone().part(PARTS).cleared(),
        None => input.room.clone(),
    };
    let mut add = |cells: Cells| rows.as_mut().map_or(Ok(()), |rows| rows.add(cells));
    let columns = input.row_columns(fields, &room, &mut add)?;
    if let Some(rows) = rows.filter(Rows::is_begun) {
        return rows.finish(columns).map_err(input.in_file());
    }
    if labels::are_alone(&schema, &columns) {
        return labels::write(array, &input.uri, options.at, columns, input.work)
            .map_err(input.in_file())
            .map(Written::one);
    }
    // The row of each cell of the region, and the largest column once more.
    let held = held(&columns);
    let rows = (region.cell_count()? as u64).saturating_mul(16).min(held.cell_count.saturating_mul(32));
    input.room.check_work(held, held.beside.saturating_add(rows)).map_err(input.in_file())?;
    let placed = place(columns, &region).and_then(|columns| labels::cut(&schema, columns, &region));
    let columns = placed.map_err(input.in_file())?;
    let (fragment, _) = write_columns(array, input, columns, Layout::RowMajor, Some(subarray))?;
    Ok(Written::one((fragment, region.cell_count()?)))
}

/// Parts of the budget, of which the rows that are read at once have one.
const PARTS: u64 = 4;

fn write_columns(
    array: &Array,
    input: &Work<'_>,
    columns: Vec<(Field, Column)>,
    layout: Layout,
    subarray: Option<Vec<Extent>>,
) -> Outcome<(WrittenFragment, usize)> {
    let cell_count = columns.first().map_or(0, |(field, column)| cell_count_of(field, column));
    let named: Vec<(String, ColumnRef<'_>)> =
        columns.iter().map(|(field, column)| (field.name.clone(), column.as_ref())).collect();
    let duplicates = Duplicates::default();
    input.work.complete(Phase::Reading);
    let progress = Some(Arc::clone(input.work));
    let request =
        WriteRequest { columns: named, subarray, layout, at: input.options.at, duplicates, progress };
    let work = array.write_byte_len(&request);
    input.room.check_work(held(&columns), work).map_err(input.in_file())?;
    let fragment = match &input.options.share {
        Some(share) => array.put_raw(&request, share),
        None => array.write_raw(&request),
    };
    let fragment = fragment.map_err(|error| error.at_uri(&input.uri))?;
    Ok((fragment, cell_count))
}

/// Writes record batches that come in global order, each as it is read.
fn write_batches(array: &Array, input: &Work<'_>, fields: &[Field]) -> Outcome<(WrittenFragment, usize)> {
    let refused = |error: smalti::Error| Failure::Error(error.at_uri(&input.uri));
    let mut cell_count = 0;
    let Opened { batches, row_count, .. } = input.batches(input.budget).map_err(input.in_file())?;
    let writer = array.global_writer().progress(Arc::clone(input.work), row_count);
    let mut writer = input.options.at.map_or(writer.clone(), |at| writer.at(at)).start().map_err(refused)?;
    for batch in batches {
        let columns = batch.and_then(|batch| {
            let held =
                Held { byte_len: written_out_byte_len(&batch), beside: 0, cell_count: cell_count as u64 };
            // Beside the rows that wait for a tile to be full.
            input.room.check_work(held, held.byte_len.saturating_mul(3))?;
            columns_of(&batch, fields)
        });
        let columns = columns.map_err(|failure| input.in_file()(behind(failure, cell_count as u64)))?;
        check_cells(&columns, cell_count as u64).map_err(input.in_file())?;
        let named = columns
            .iter()
            .fold(Columns::new(), |named, (field, column)| named.column(field.name.clone(), column.as_ref()));
        writer.submit(named).map_err(refused)?;
        cell_count += columns.first().map_or(0, |(field, column)| cell_count_of(field, column));
    }
    Ok((writer.commit().map_err(refused)?, cell_count))
}

impl Work<'_> {
    fn pieces<'p>(&'p self, array: &'p Array) -> Pieces<'p> {
        let WriteOptions { at, share, .. } = *self.options;
        Pieces { array, at, share, room: &self.room, work: self.work, uri: &self.uri }
    }

    /// The columns of an input that holds rows, in the order of the array's fields, by which cells are put in their places. Where the
    /// room is full, `take` is given those before; the rest is returned.
    fn row_columns(&self, fields: &[Field], room: &Room, take: &mut Take<'_>) -> Outcome<Cells> {
        let in_order = |mut cells: Cells| {
            cells.sort_by_key(|(field, _)| fields.iter().position(|known| known.name == field.name));
            cells
        };
        let take: &mut Take<'_> = &mut |cells| take(in_order(cells));
        let columns = match self.format {
            Some(Format::Jsonl) => read_jsonl(self.open()?, fields, room, take),
            Some(Format::Csv) => read_csv(self.open()?, fields, room, take),
            Some(Format::Npy) => {
                Err(Failure::usage("npy is for dense arrays; use csv, jsonl, arrow or parquet"))
            }
            Some(Format::Arrow | Format::Parquet) | None => self.batches(room.budget()).and_then(|opened| {
                if !opened.is_counted {
                    self.work.enter(Phase::Reading, Unit::Cells, opened.row_count);
                }
                let work = Arc::clone(self.work);
                let watched = opened.batches.map(move |batch| {
                    work.check()?;
                    let batch = batch?;
                    work.advance(Phase::Reading, Unit::Cells, batch.num_rows() as u64);
                    Ok(batch)
                });
                gather(Box::new(watched), fields, room, take)
            }),
        };
        columns.map(in_order).map_err(self.in_file())
    }

    /// What is left to be opened, which is done once.
    fn take(&self) -> Outcome<Input> {
        self.input.take().ok_or_else(|| Failure::invalid("the input was read already"))
    }

    /// The record batches of a file of Arrow or Parquet, or of a stream.
    fn batches(&self, budget: Budget) -> Outcome<Opened> {
        let input = self.take()?;
        let path = input.path();
        if self.format == Some(Format::Parquet) {
            let (batches, row_count) = open_parquet(path, budget)?;
            return Ok(Opened { batches, row_count: Some(row_count), is_counted: false });
        }
        if let Input::Batches(reader) = input {
            let batches = Box::new(reader.map(|batch| batch.map_err(arrow_failure)));
            let batches = cut_batches(batches, budget.piece_byte_len());
            return Ok(Opened { batches, row_count: None, is_counted: false });
        }
        let batches = open_arrow(path, budget, self.work, Phase::Reading)?;
        Ok(Opened { batches, row_count: None, is_counted: true })
    }

    fn open(&self) -> Outcome<Box<dyn BufRead>> {
        let input = self.take()?;
        let Some(path) = input.path() else {
            return Ok(Box::new(BufReader::new(Counted::new(std::io::stdin(), None, self.work))));
        };
        let file = open_file(path).map_err(self.in_file())?;
        let byte_len = file.metadata().ok().map(|metadata| metadata.len());
        Ok(Box::new(BufReader::with_capacity(1 << 18, Counted::new(file, byte_len, self.work))))
    }

    /// The part of a dense array that is written.
    fn rectangle(&self, array: &Array) -> Vec<Extent> {
        let schema = array.schema();
        let whole = || (0..schema.dimensions.len()).map(|idx| ranges::whole(&schema, idx)).collect();
        self.options.subarray.clone().unwrap_or_else(whole)
    }

    /// Names the file in failures that name nothing yet.
    fn in_file(&self) -> impl Fn(Failure) -> Failure {
        |failure| match &self.name {
            Some(name) => failure.at(name.clone()),
            None => failure,
        }
    }
}
