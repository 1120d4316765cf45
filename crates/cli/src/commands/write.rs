//! `smalti write`: cells in, from one of several formats.

use super::pieces::{Chunks, Pieces, Rows, Written, held};
use super::{fields_of, labels};
use crate::args::{Global, InputFormat, OpenTimes, WriteArgs};
use crate::cells::{Field, Region, cell_count_of, place};
use crate::failure::{Failure, Outcome};
use crate::formats::{
    Budget, Cells, Held, RecordBatches, Room, Take, behind, check_cells, columns_of, gather, open_arrow,
    open_file, open_npy, open_parquet, read_csv, read_jsonl, written_out_byte_len,
};
use crate::interrupt::Watch;
use crate::progress::{Bar, Counted};
use crate::when::When;
use crate::{engine, human, ranges};
use smalti::{
    Array, Column, ColumnRef, Columns, Duplicates, Extent, Layout, Phase, Progress, Unit, WriteRequest,
    WrittenFragment,
};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub(super) fn run(global: &Global, args: &WriteArgs) -> Outcome {
    let start = Instant::now();
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    engine::warn_of_seconds(global, &args.array, args.at);
    let is_dense = array.schema().is_dense();
    let mut fields = fields_of(&array, args.notation)?;
    fields.extend(Field::labels_of(&array.schema(), args.notation));
    let has_ranges = !args.range.is_empty() || args.ranges_json.is_some();
    if !is_dense && has_ranges {
        return Err(Failure::usage(
            "--range is for dense arrays; cells of sparse ones carry their coordinates",
        ));
    }
    if is_dense && args.global_order {
        return Err(Failure::usage(
            "--global-order is for sparse arrays; cells of dense ones go where their coordinates say",
        ));
    }
    let work = Arc::new(Progress::new());
    let budget = Budget::of(global);
    let byte_len = path(args).and_then(|path| path.metadata().ok()).map(|metadata| metadata.len());
    let room = Room::new(budget, byte_len, &work);
    let input = Input { args, format: input_format(args)?, budget, room, work };
    let watch = Watch::over_writes(&input.work)?;
    let bar = Bar::of(&input.work);
    let written = write(&array, &input, &fields);
    drop(bar);
    let Written { fragments, cell_count } = watch.end(written)?;
    let Some(fragment) = fragments.first() else { return Ok(()) };
    if global.json {
        let mut line = serde_json::json!({"fragment": fragment.name(), "timestamp": fragment.timestamp(), "cells": cell_count});
        if fragments.len() > 1 {
            line["fragments"] = fragments.iter().map(WrittenFragment::name).collect();
        }
        println!("{line}");
    } else {
        let cells = human::count(cell_count as u64);
        let noun = if cell_count == 1 { "cell" } else { "cells" };
        let what = match fragments.len() {
            1 => fragment.name().to_owned(),
            count => format!("{} fragments", human::count(count as u64)),
        };
        println!(
            "wrote {cells} {noun} as {what}{} in {}",
            human::at(fragment.timestamp()),
            human::duration(start.elapsed())
        );
    }
    Ok(())
}

/// What is written.
struct Input<'a> {
    args: &'a WriteArgs,
    format: InputFormat,
    budget: Budget,
    /// Where the cells go before they are written.
    room: Room,
    work: Arc<Progress>,
}

fn write(array: &Array, input: &Input<'_>, fields: &[Field]) -> Outcome<Written> {
    let args = input.args;
    let is_dense = array.schema().is_dense();
    if !is_dense && args.global_order && matches!(input.format, InputFormat::Arrow | InputFormat::Parquet) {
        return write_batches(array, input, fields).map(Written::one);
    }
    let mut phases = vec![Phase::Reading];
    phases.extend(if is_dense { Phase::DENSE_WRITE } else { Phase::SPARSE_WRITE });
    let _announced = input.work.announce(&phases);
    if is_dense {
        return match input.format {
            InputFormat::Npy => write_npy(array, input, fields),
            _ => write_dense(array, input, fields),
        };
    }
    let layout = if args.global_order { Layout::GlobalOrder } else { Layout::Unordered };
    let mut chunks = Chunks::new(input.pieces(array), layout);
    let room = input.room.clone();
    let room = match args.global_order || array.commits_together() {
        true => room.cleared(),
        false => room,
    };
    let columns = input.row_columns(fields, &room, &mut |cells| chunks.add(cells))?;
    if chunks.is_begun() {
        chunks.finish(columns).map_err(in_file(args))
    } else if labels::are_alone(&array.schema(), &columns) {
        labels::write(array, args, columns, &input.work).map_err(in_file(args)).map(Written::one)
    } else {
        write_columns(array, input, columns, layout, None).map(Written::one)
    }
}

/// The part of a dense array that is written.
fn rectangle(array: &Array, args: &WriteArgs) -> Outcome<Vec<Extent>> {
    let schema = array.schema();
    let ranges = ranges::parse(&schema, &args.range, args.ranges_json.as_deref())?;
    ranges::one_each(&schema, ranges)
}

fn write_npy(array: &Array, input: &Input<'_>, fields: &[Field]) -> Outcome<Written> {
    let subarray = rectangle(array, input.args)?;
    let region = Region::new(&subarray)?;
    // Labels are where they were written; a file of one attribute has none.
    let schema = array.schema();
    let cells: Vec<Field> =
        fields.iter().filter(|field| schema.label(&field.name).is_none()).cloned().collect();
    let mut values = open_npy(input.open()?, &cells, &region.shape()).map_err(in_file(input.args))?;
    let pieces = input.pieces(array);
    if let Some(writer) = pieces.rows(&subarray, values.layout()) {
        return pieces.write_npy(values, writer).map_err(in_file(input.args));
    }
    let (layout, byte_len) = (values.layout(), values.byte_len());
    let held = Held { byte_len: byte_len as u64, cell_count: region.cell_count()? as u64, ..Held::default() };
    input.room.check_work(held, 0).map_err(in_file(input.args))?;
    let column = values.next(byte_len).map_err(in_file(input.args))?;
    values.end().map_err(in_file(input.args))?;
    write_columns(array, input, vec![column], layout, Some(subarray)).map(Written::one)
}

fn write_dense(array: &Array, input: &Input<'_>, fields: &[Field]) -> Outcome<Written> {
    let args = input.args;
    let schema = array.schema();
    let subarray = rectangle(array, args)?;
    let region = Region::new(&subarray)?;
    let mut rows = match input.budget.is_asked_for() && schema.dimension_labels.is_empty() {
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
        return rows.finish(columns).map_err(in_file(args));
    }
    if labels::are_alone(&schema, &columns) {
        return labels::write(array, args, columns, &input.work).map_err(in_file(args)).map(Written::one);
    }
    // The row of each cell of the region, and the largest column once more.
    let held = held(&columns);
    let rows = (region.cell_count()? as u64).saturating_mul(16).min(held.cell_count.saturating_mul(32));
    input.room.check_work(held, held.beside.saturating_add(rows)).map_err(in_file(args))?;
    let placed = place(columns, &region).and_then(|columns| labels::cut(&schema, columns, &region));
    let columns = placed.map_err(in_file(args))?;
    let (fragment, _) = write_columns(array, input, columns, Layout::RowMajor, Some(subarray))?;
    Ok(Written::one((fragment, region.cell_count()?)))
}

/// Parts of the budget, of which the rows that are read at once have one.
const PARTS: u64 = 4;

fn write_columns(
    array: &Array,
    input: &Input<'_>,
    columns: Vec<(Field, Column)>,
    layout: Layout,
    subarray: Option<Vec<Extent>>,
) -> Outcome<(WrittenFragment, usize)> {
    let cell_count = columns.first().map_or(0, |(field, column)| cell_count_of(field, column));
    let named: Vec<(String, ColumnRef<'_>)> =
        columns.iter().map(|(field, column)| (field.name.clone(), column.as_ref())).collect();
    let duplicates = Duplicates::default();
    input.work.complete(Phase::Reading);
    let progress = Some(Arc::clone(&input.work));
    let request = WriteRequest {
        columns: named,
        subarray,
        layout,
        at: input.args.at.map(When::moment),
        duplicates,
        progress,
    };
    let work = array.write_byte_len(&request);
    input.room.check_work(held(&columns), work).map_err(in_file(input.args))?;
    let fragment = array.write_raw(&request).map_err(|error| error.at_uri(&input.args.array))?;
    Ok((fragment, cell_count))
}

/// Writes record batches that come in global order, each as it is read.
fn write_batches(array: &Array, input: &Input<'_>, fields: &[Field]) -> Outcome<(WrittenFragment, usize)> {
    let args = input.args;
    let refused = |error: smalti::Error| Failure::Error(error.at_uri(&args.array));
    let mut cell_count = 0;
    let (batches, row_count) = input.batches(input.budget).map_err(in_file(args))?;
    let writer = array.global_writer().progress(Arc::clone(&input.work), row_count);
    let at = args.at.map(When::moment);
    let mut writer = at.map_or(writer.clone(), |at| writer.at(at)).start().map_err(refused)?;
    for batch in batches {
        let columns = batch.and_then(|batch| {
            let held =
                Held { byte_len: written_out_byte_len(&batch), beside: 0, cell_count: cell_count as u64 };
            // Beside the rows that wait for a tile to be full.
            input.room.check_work(held, held.byte_len.saturating_mul(3))?;
            columns_of(&batch, fields)
        });
        let columns = columns.map_err(|failure| in_file(args)(behind(failure, cell_count as u64)))?;
        check_cells(&columns, cell_count as u64).map_err(in_file(args))?;
        let named = columns
            .iter()
            .fold(Columns::new(), |named, (field, column)| named.column(field.name.clone(), column.as_ref()));
        writer.submit(named).map_err(refused)?;
        cell_count += columns.first().map_or(0, |(field, column)| cell_count_of(field, column));
    }
    Ok((writer.commit().map_err(refused)?, cell_count))
}

impl Input<'_> {
    fn pieces<'p>(&'p self, array: &'p Array) -> Pieces<'p> {
        Pieces { array, at: self.args.at, room: &self.room, work: &self.work, uri: &self.args.array }
    }

    /// The columns of a file that holds rows. Where the room is full, `take` is given those before; the rest is returned.
    fn row_columns(&self, fields: &[Field], room: &Room, take: &mut Take<'_>) -> Outcome<Cells> {
        let columns = match self.format {
            InputFormat::Jsonl => read_jsonl(self.open()?, fields, room, take),
            InputFormat::Csv => read_csv(self.open()?, fields, room, take),
            InputFormat::Npy => {
                Err(Failure::usage("npy is for dense arrays; use csv, jsonl, arrow or parquet"))
            }
            InputFormat::Arrow | InputFormat::Parquet => {
                self.batches(room.budget()).and_then(|(batches, row_count)| {
                    // Of Arrow the bytes are counted.
                    if row_count.is_some() {
                        self.work.enter(Phase::Reading, Unit::Cells, row_count);
                    }
                    let work = Arc::clone(&self.work);
                    let watched = batches.map(move |batch| {
                        work.check()?;
                        let batch = batch?;
                        work.advance(Phase::Reading, Unit::Cells, batch.num_rows() as u64);
                        Ok(batch)
                    });
                    gather(Box::new(watched), fields, room, take)
                })
            }
        };
        columns.map_err(in_file(self.args))
    }

    /// The record batches of a file of Arrow or Parquet, and the number of their rows, if the file tells it.
    fn batches(&self, budget: Budget) -> Outcome<(RecordBatches, Option<u64>)> {
        let path = path(self.args);
        if self.format == InputFormat::Parquet {
            return open_parquet(path, budget).map(|(batches, row_count)| (batches, Some(row_count)));
        }
        Ok((open_arrow(path, budget, &self.work, Phase::Reading)?, None))
    }

    fn open(&self) -> Outcome<Box<dyn BufRead>> {
        let Some(path) = path(self.args) else {
            return Ok(Box::new(BufReader::new(Counted::new(std::io::stdin(), None, &self.work))));
        };
        let file = open_file(path).map_err(in_file(self.args))?;
        let byte_len = file.metadata().ok().map(|metadata| metadata.len());
        Ok(Box::new(BufReader::with_capacity(1 << 18, Counted::new(file, byte_len, &self.work))))
    }
}

fn input_format(args: &WriteArgs) -> Outcome<InputFormat> {
    let format = args.format.or_else(|| InputFormat::of_path(&args.from));
    format.ok_or_else(|| {
        let name = match path(args) {
            Some(path) => format!("the ending of {}", path.display()),
            None => "standard input".to_string(),
        };
        Failure::usage(format!("{name} tells no format; give --format csv, jsonl, arrow, parquet or npy"))
    })
}

/// The file to read; `None` for standard input.
fn path(args: &WriteArgs) -> Option<&Path> {
    Some(args.from.as_path()).filter(|path| path.as_os_str() != "-")
}

/// Names the file in failures that name nothing yet.
fn in_file(args: &WriteArgs) -> impl Fn(Failure) -> Failure {
    |failure| failure.at(args.from.display().to_string())
}
