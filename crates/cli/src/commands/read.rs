//! `smalti read`: cells out, in one of several formats.

use super::fields_of;
use crate::args::{Global, OutputFormat, ReadArgs};
use crate::cells::Field;
use crate::failure::{Failure, Outcome};
use crate::formats::{CsvSink, JsonlSink, NpySink, Sink, TableSink};
use crate::progress::Progress;
use crate::ranges::{self, Ranges};
use crate::{engine, human};
use smalti::format::ArraySchema;
use smalti::{Array, Batch, ColumnRef, Extent, Layout, ReadRequest};
use std::io::{BufWriter, IsTerminal, Write};

/// Rows of a table for people when they give no limit.
const TABLE_LIMIT: u64 = 50;

pub(super) fn run(global: &Global, args: &ReadArgs) -> Outcome {
    if args.condition.is_some() {
        return Err(smalti::Error::unsupported(
            "this release has no --where yet; filter what it prints instead",
        )
        .into());
    }
    let array = engine::open(global, &args.array, args.times)?;
    let schema = array.schema();
    let fields = Field::select(fields_of(&array, args.notation)?, &args.select, args.timestamps)?;
    let ranges = ranges::parse(schema, &args.range, args.ranges_json.as_deref())?;
    let format = output_format(global, args)?;
    let is_people = format == OutputFormat::Table && args.limit.is_none();
    let limit = if is_people { Some(TABLE_LIMIT) } else { args.limit };
    if format == OutputFormat::Npy && (limit.is_some() || !schema.is_dense()) {
        return Err(Failure::usage(
            "npy holds all cells of the ranges of a dense array; leave out --limit, or use another format",
        ));
    }
    let layout = args.layout.map(Layout::from);
    let mut sink = sink(args, format, schema, &fields, &ranges, layout)?;
    let to_terminal = args.output.is_none() && std::io::stdout().is_terminal();
    let progress = if to_terminal { Progress::hidden() } else { Progress::new("reading", None) };
    let is_cut = copy(&array, &fields, ranges, layout, limit, &progress, sink.as_mut())?;
    drop(progress);
    sink.finish()?;
    if is_cut && is_people {
        eprintln!("the first {} cells; --limit N shows more", human::count(TABLE_LIMIT));
    }
    Ok(())
}

fn output_format(global: &Global, args: &ReadArgs) -> Outcome<OutputFormat> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    match &args.output {
        Some(path) if path.as_os_str() != "-" => OutputFormat::of_path(path).ok_or_else(|| {
            Failure::usage(format!("the ending of {} tells no format; give --format", path.display()))
        }),
        _ if global.json => Ok(OutputFormat::Jsonl),
        _ => Ok(OutputFormat::Table),
    }
}

fn sink(
    args: &ReadArgs,
    format: OutputFormat,
    schema: &ArraySchema,
    fields: &[Field],
    ranges: &Ranges,
    layout: Option<Layout>,
) -> Outcome<Box<dyn Sink>> {
    let out: Box<dyn Write + Send> = match &args.output {
        Some(path) if path.as_os_str() != "-" => {
            let file = std::fs::File::create(path);
            Box::new(file.map_err(|error| Failure::from(error).at(path.display().to_string()))?)
        }
        _ => Box::new(std::io::stdout()),
    };
    let out = BufWriter::new(out);
    Ok(match format {
        OutputFormat::Table => Box::new(TableSink::new(out, fields)),
        OutputFormat::Jsonl => Box::new(JsonlSink::new(out, fields)),
        OutputFormat::Csv => Box::new(CsvSink::new(out, fields)),
        OutputFormat::Npy => {
            let is_fortran = match layout.unwrap_or(Layout::RowMajor) {
                Layout::RowMajor => false,
                Layout::ColMajor => true,
                _ => return Err(Failure::usage("npy holds cells in row or col layout")),
            };
            let all = ranges.iter().enumerate().map(|(idx, list)| match list.as_slice() {
                [] => length(&[ranges::whole(schema, idx)]),
                list => length(list),
            });
            Box::new(NpySink::new(out, fields, &all.collect::<Vec<_>>(), is_fortran)?)
        }
        OutputFormat::Arrow | OutputFormat::Parquet => {
            return Err(smalti::Error::unsupported(
                "this release has no arrow and parquet output yet; use jsonl or csv",
            )
            .into());
        }
    })
}

/// The number of positions in some ranges of one dimension.
fn length(ranges: &[Extent]) -> usize {
    let one = |range: &Extent| match range {
        Extent::Num { lo, hi } => usize::try_from(hi - lo).unwrap_or(usize::MAX).saturating_add(1),
        Extent::Str { .. } => 0,
    };
    ranges.iter().map(one).fold(0, usize::saturating_add)
}

/// Hands cells on until there are no more, or the limit is reached; true if there are more.
fn copy(
    array: &Array,
    fields: &[Field],
    ranges: Ranges,
    layout: Option<Layout>,
    limit: Option<u64>,
    progress: &Progress,
    sink: &mut dyn Sink,
) -> Outcome<bool> {
    let mut left = limit.unwrap_or(u64::MAX);
    let request = ReadRequest {
        fields: fields.iter().map(|field| field.name.clone()).collect(),
        ranges,
        layout,
        // One cell more than the limit tells whether there are more.
        batch_cell_count: limit
            .and_then(|limit| usize::try_from(limit).ok()?.checked_add(1))
            .filter(|count| *count < 1 << 16),
    };
    for batch in array.read_raw(&request)? {
        let Batch { cell_count, columns, .. } = batch?;
        let taken = cell_count.min(usize::try_from(left).unwrap_or(usize::MAX));
        let columns: Vec<ColumnRef<'_>> = columns.iter().map(|column| column.as_ref()).collect();
        sink.batch(taken, &columns)?;
        left -= taken as u64;
        progress.add(taken as u64);
        if taken < cell_count {
            return Ok(true);
        }
    }
    Ok(false)
}
