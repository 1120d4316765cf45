//! `smalti write`: cells in, from one of several formats.

use super::{fields_of, labels};
use crate::args::{Global, InputFormat, OpenTimes, WriteArgs};
use crate::cells::{Field, Region, cell_count_of, place};
use crate::failure::{Failure, Outcome};
use crate::formats::{
    Budget, Held, RecordBatches, Room, behind, check_cells, columns_of, gather, open_arrow, open_file,
    open_parquet, read_csv, read_jsonl, read_npy, written_out_byte_len,
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
    let (fragment, cell_count) = watch.end(written)?;
    if global.json {
        println!(
            "{}",
            serde_json::json!({"fragment": fragment.name(), "timestamp": fragment.timestamp(), "cells": cell_count})
        );
    } else {
        let cells = human::count(cell_count as u64);
        let noun = if cell_count == 1 { "cell" } else { "cells" };
        println!(
            "wrote {cells} {noun} as {}{} in {}",
            fragment.name(),
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

fn write(array: &Array, input: &Input<'_>, fields: &[Field]) -> Outcome<(WrittenFragment, usize)> {
    let args = input.args;
    let is_dense = array.schema().is_dense();
    if !is_dense && args.global_order && matches!(input.format, InputFormat::Arrow | InputFormat::Parquet) {
        return write_batches(array, input, fields);
    }
    let mut phases = vec![Phase::Reading];
    phases.extend(if is_dense { Phase::DENSE_WRITE } else { Phase::SPARSE_WRITE });
    let _announced = input.work.announce(&phases);
    if is_dense {
        return write_dense(array, input, fields);
    }
    let layout = if args.global_order { Layout::GlobalOrder } else { Layout::Unordered };
    let columns = input.row_columns(fields)?;
    if labels::are_alone(&array.schema(), &columns) {
        labels::write(array, args, columns, &input.work).map_err(in_file(args))
    } else {
        write_columns(array, input, columns, layout, None)
    }
}

fn write_dense(array: &Array, input: &Input<'_>, fields: &[Field]) -> Outcome<(WrittenFragment, usize)> {
    let args = input.args;
    let schema = array.schema();
    let ranges = ranges::parse(&schema, &args.range, args.ranges_json.as_deref())?;
    let subarray = ranges::one_each(&schema, ranges)?;
    let region = Region::new(&subarray)?;
    let (columns, layout) = if input.format == InputFormat::Npy {
        // Labels are where they were written; a file of one attribute has none.
        let cells: Vec<Field> =
            fields.iter().filter(|field| schema.label(&field.name).is_none()).cloned().collect();
        read_npy(input.open()?, &cells, &region.shape(), &input.room).map_err(in_file(args))?
    } else {
        let columns = input.row_columns(fields)?;
        if labels::are_alone(&schema, &columns) {
            return labels::write(array, args, columns, &input.work).map_err(in_file(args));
        }
        // The row of each cell of the region, and the largest column once more.
        let held = held(&columns);
        let rows = (region.cell_count()? as u64).saturating_mul(16).min(held.cell_count.saturating_mul(32));
        input.room.check_work(held, held.beside.saturating_add(rows)).map_err(in_file(args))?;
        let placed = place(columns, &region).and_then(|columns| labels::cut(&schema, columns, &region));
        (placed.map_err(in_file(args))?, Layout::RowMajor)
    };
    let (fragment, _) = write_columns(array, input, columns, layout, Some(subarray))?;
    Ok((fragment, region.cell_count()?))
}

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

/// What the columns of a write take.
fn held(columns: &[(Field, Column)]) -> Held {
    let byte_len = |column: &Column| {
        let parts = [Some(&column.data), column.offsets.as_ref(), column.validity.as_ref()];
        parts.into_iter().flatten().map(|part| part.len() as u64).sum::<u64>()
    };
    let byte_lens = || columns.iter().map(|(_, column)| byte_len(column));
    let cell_count = columns.first().map_or(0, |(field, column)| cell_count_of(field, column)) as u64;
    Held { byte_len: byte_lens().sum(), beside: byte_lens().max().unwrap_or(0), cell_count }
}

/// Writes record batches that come in global order, each as it is read.
fn write_batches(array: &Array, input: &Input<'_>, fields: &[Field]) -> Outcome<(WrittenFragment, usize)> {
    let args = input.args;
    let refused = |error: smalti::Error| Failure::Error(error.at_uri(&args.array));
    let mut cell_count = 0;
    let (batches, row_count) = input.batches().map_err(in_file(args))?;
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
    /// The columns of a file that holds rows.
    fn row_columns(&self, fields: &[Field]) -> Outcome<Vec<(Field, Column)>> {
        let columns = match self.format {
            InputFormat::Jsonl => read_jsonl(self.open()?, fields, &self.room),
            InputFormat::Csv => read_csv(self.open()?, fields, &self.room),
            InputFormat::Npy => {
                Err(Failure::usage("npy is for dense arrays; use csv, jsonl, arrow or parquet"))
            }
            InputFormat::Arrow | InputFormat::Parquet => self.batches().and_then(|(batches, row_count)| {
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
                gather(Box::new(watched), fields, &self.room)
            }),
        };
        columns.map_err(in_file(self.args))
    }

    /// The record batches of a file of Arrow or Parquet, and the number of their rows, if the file tells it.
    fn batches(&self) -> Outcome<(RecordBatches, Option<u64>)> {
        let path = path(self.args);
        if self.format == InputFormat::Parquet {
            return open_parquet(path, self.budget).map(|(batches, row_count)| (batches, Some(row_count)));
        }
        Ok((open_arrow(path, self.budget, &self.work, Phase::Reading)?, None))
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
