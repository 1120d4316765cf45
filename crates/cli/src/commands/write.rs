//! `smalti write`: cells in, from one of several formats.

use super::{fields_of, labels};
use crate::args::{Global, InputFormat, OpenTimes, WriteArgs};
use crate::cells::{Field, Region, cell_count_of, place};
use crate::failure::{Failure, Outcome};
use crate::formats::{
    Budget, RecordBatches, behind, check_cells, columns_of, gather, open_arrow, open_file, open_parquet,
    read_csv, read_jsonl, read_npy,
};
use crate::progress::Progress;
use crate::when::When;
use crate::{engine, human, ranges};
use smalti::{Array, Column, ColumnRef, Columns, Duplicates, Extent, Layout, WriteRequest, WrittenFragment};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

pub(super) fn run(global: &Global, args: &WriteArgs) -> Outcome {
    let start = Instant::now();
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    engine::warn_of_seconds(global, &args.array, args.at);
    let is_dense = array.schema().is_dense();
    let mut fields = fields_of(&array, args.notation)?;
    fields.extend(Field::labels_of(array.schema(), args.notation));
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
    let format = input_format(args)?;
    let budget = Budget::of(global);
    let (fragment, cell_count) = if is_dense {
        write_dense(&array, args, format, &fields, budget)?
    } else if args.global_order && matches!(format, InputFormat::Arrow | InputFormat::Parquet) {
        write_batches(&array, args, format, &fields, budget)?
    } else {
        let layout = if args.global_order { Layout::GlobalOrder } else { Layout::Unordered };
        let columns = row_columns(args, format, &fields, budget)?;
        if labels::are_alone(array.schema(), &columns) {
            labels::write(&array, args, columns).map_err(in_file(args))?
        } else {
            write_columns(&array, args, columns, layout, None)?
        }
    };
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

fn write_dense(
    array: &Array,
    args: &WriteArgs,
    format: InputFormat,
    fields: &[Field],
    budget: Budget,
) -> Outcome<(WrittenFragment, usize)> {
    let schema = array.schema();
    let ranges = ranges::parse(schema, &args.range, args.ranges_json.as_deref())?;
    let subarray = ranges::one_each(schema, ranges)?;
    let region = Region::new(&subarray)?;
    let (columns, layout) = if format == InputFormat::Npy {
        read_npy(open(args)?, fields, &region.shape()).map_err(in_file(args))?
    } else {
        let columns = row_columns(args, format, fields, budget)?;
        if labels::are_alone(schema, &columns) {
            return labels::write(array, args, columns).map_err(in_file(args));
        }
        let placed = place(columns, &region).and_then(|columns| labels::cut(schema, columns, &region));
        (placed.map_err(in_file(args))?, Layout::RowMajor)
    };
    let (fragment, _) = write_columns(array, args, columns, layout, Some(subarray))?;
    Ok((fragment, region.cell_count()?))
}

fn write_columns(
    array: &Array,
    args: &WriteArgs,
    columns: Vec<(Field, Column)>,
    layout: Layout,
    subarray: Option<Vec<Extent>>,
) -> Outcome<(WrittenFragment, usize)> {
    let cell_count = columns.first().map_or(0, |(field, column)| cell_count_of(field, column));
    let named: Vec<(String, ColumnRef<'_>)> =
        columns.iter().map(|(field, column)| (field.name.clone(), column.as_ref())).collect();
    let duplicates = Duplicates::default();
    let request =
        WriteRequest { columns: named, subarray, layout, at: args.at.map(When::moment), duplicates };
    let fragment = array.write_raw(&request).map_err(|error| error.at_uri(&args.array))?;
    Ok((fragment, cell_count))
}

/// Writes record batches that come in global order, each as it is read.
fn write_batches(
    array: &Array,
    args: &WriteArgs,
    format: InputFormat,
    fields: &[Field],
    budget: Budget,
) -> Outcome<(WrittenFragment, usize)> {
    let refused = |error: smalti::Error| Failure::Error(error.at_uri(&args.array));
    let mut cell_count = 0;
    let writer = array.global_writer();
    let at = args.at.map(When::moment);
    let mut writer = at.map_or(writer.clone(), |at| writer.at(at)).start().map_err(refused)?;
    for batch in batches(args, format, budget).map_err(in_file(args))? {
        let columns = batch.and_then(|batch| columns_of(&batch, fields));
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

/// The columns of a file that holds rows.
fn row_columns(
    args: &WriteArgs,
    format: InputFormat,
    fields: &[Field],
    budget: Budget,
) -> Outcome<Vec<(Field, Column)>> {
    let columns = match format {
        InputFormat::Jsonl => read_jsonl(open(args)?, fields, budget),
        InputFormat::Csv => read_csv(open(args)?, fields, budget),
        InputFormat::Npy => Err(Failure::usage("npy is for dense arrays; use csv, jsonl, arrow or parquet")),
        InputFormat::Arrow | InputFormat::Parquet => {
            batches(args, format, budget).and_then(|batches| gather(batches, fields))
        }
    };
    columns.map_err(in_file(args))
}

/// The record batches of a file of Arrow or Parquet.
fn batches(args: &WriteArgs, format: InputFormat, budget: Budget) -> Outcome<RecordBatches> {
    let path = path(args);
    let (batches, row_count) = if format == InputFormat::Parquet {
        let (batches, row_count) = open_parquet(path, budget)?;
        (batches, Some(row_count))
    } else {
        (open_arrow(path, budget)?, None)
    };
    let progress = Progress::new("reading", row_count);
    Ok(Box::new(batches.inspect(move |batch| {
        progress.add(batch.as_ref().map_or(0, |batch| batch.num_rows() as u64));
    })))
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

fn open(args: &WriteArgs) -> Outcome<Box<dyn BufRead>> {
    let Some(path) = path(args) else {
        let progress = Progress::of_bytes("reading", None);
        return Ok(Box::new(BufReader::new(progress.wrap(std::io::stdin()))));
    };
    let file = open_file(path).map_err(in_file(args))?;
    let progress = Progress::of_bytes("reading", file.metadata().ok().map(|metadata| metadata.len()));
    Ok(Box::new(BufReader::with_capacity(1 << 18, progress.wrap(file))))
}
