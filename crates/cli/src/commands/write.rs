//! `smalti write`: cells in, from one of several formats.

use super::fields_of;
use crate::args::{Global, InputFormat, OpenTimes, WriteArgs};
use crate::cells::{Field, Region, cell_count_of, place};
use crate::failure::{Failure, Outcome};
use crate::formats::{read_csv, read_jsonl, read_npy};
use crate::{engine, human, ranges};
use smalti::{Column, ColumnRef, Duplicates, Extent, Layout, WriteRequest};
use std::io::{BufRead, BufReader};
use std::time::Instant;

pub(super) fn run(global: &Global, args: &WriteArgs) -> Outcome {
    let start = Instant::now();
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    let schema = array.schema();
    let fields = fields_of(&array, args.notation)?;
    let has_ranges = !args.range.is_empty() || args.ranges_json.is_some();
    if !schema.is_dense() && has_ranges {
        return Err(Failure::usage(
            "--range is for dense arrays; cells of sparse ones carry their coordinates",
        ));
    }
    if schema.is_dense() && args.global_order {
        return Err(Failure::usage(
            "--global-order is for sparse arrays; cells of dense ones go where their coordinates say",
        ));
    }
    let (columns, layout, subarray) = if schema.is_dense() {
        let ranges = ranges::parse(schema, &args.range, args.ranges_json.as_deref())?;
        let subarray = ranges::one_each(schema, ranges)?;
        let (columns, layout) = dense_columns(args, &fields, &subarray)?;
        (columns, layout, Some(subarray))
    } else {
        let layout = if args.global_order { Layout::GlobalOrder } else { Layout::Unordered };
        (row_columns(args, &fields)?, layout, None)
    };
    let cell_count = columns.first().map_or(0, |(field, column)| cell_count_of(field, column));
    let named: Vec<(String, ColumnRef<'_>)> =
        columns.iter().map(|(field, column)| (field.name.clone(), column.as_ref())).collect();
    let request =
        WriteRequest { columns: named, subarray, layout, at: args.at, duplicates: Duplicates::default() };
    let fragment = array.write_raw(&request).map_err(|error| error.at_uri(&args.array))?;
    if global.json {
        println!(
            "{}",
            serde_json::json!({"fragment": fragment.name(), "timestamp": fragment.timestamp(), "cells": cell_count})
        );
    } else {
        let cells = human::count(cell_count as u64);
        println!("wrote {cells} cells as {} in {}", fragment.name(), human::duration(start.elapsed()));
    }
    Ok(())
}

fn dense_columns(
    args: &WriteArgs,
    fields: &[Field],
    subarray: &[Extent],
) -> Outcome<(Vec<(Field, Column)>, Layout)> {
    let region = Region::new(subarray)?;
    if input_format(args)? == InputFormat::Npy {
        let read = read_npy(open(args)?, fields, &region.shape());
        return read.map_err(|failure| failure.at(args.from.display().to_string()));
    }
    let columns = row_columns(args, fields)?;
    let placed = place(columns, &region).map_err(|failure| failure.at(args.from.display().to_string()))?;
    Ok((placed, Layout::RowMajor))
}

/// The columns of a file that holds rows.
fn row_columns(args: &WriteArgs, fields: &[Field]) -> Outcome<Vec<(Field, Column)>> {
    let columns = match input_format(args)? {
        InputFormat::Jsonl => read_jsonl(open(args)?, fields),
        InputFormat::Csv => read_csv(open(args)?, fields),
        InputFormat::Npy => Err(Failure::usage("npy is for dense arrays; use csv, jsonl, arrow or parquet")),
        InputFormat::Arrow | InputFormat::Parquet => Err(smalti::Error::unsupported(
            "this release has no arrow and parquet input yet; use jsonl or csv",
        )
        .into()),
    };
    columns.map_err(|failure| failure.at(args.from.display().to_string()))
}

fn input_format(args: &WriteArgs) -> Outcome<InputFormat> {
    let format = args.format.or_else(|| InputFormat::of_path(&args.from));
    format.ok_or_else(|| {
        let name = args.from.display();
        Failure::usage(format!(
            "the ending of {name} tells no format; give --format csv, jsonl, arrow, parquet or npy"
        ))
    })
}

fn open(args: &WriteArgs) -> Outcome<Box<dyn BufRead>> {
    if args.from.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let file = std::fs::File::open(&args.from);
    let file = file.map_err(|error| Failure::from(error).at(args.from.display().to_string()))?;
    Ok(Box::new(BufReader::with_capacity(1 << 18, file)))
}
