//! `smalti read`: cells out, in one of several formats.

use crate::args::{Global, OpenTimes, OutputFormat, ReadArgs};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::progress::Bar;
use crate::statistics;
use crate::warning::{warn, warnings};
use serde_json::json;
use smalti::format::ArraySchema;
use smalti::{
    Array, Batch, Batches, DEFAULT_BATCH_CELL_COUNT, Extent, LabelRange, Layout, Progress, ReadRequest, Split,
};
use smalti_tools::cells::Field;
use smalti_tools::condition;
use smalti_tools::formats::{
    ArrowSink, CsvSink, JsonlSink, MatrixSink, NpySink, ParquetSink, Sink, TableSink,
};
use smalti_tools::human;
use smalti_tools::output::OutputFile;
use smalti_tools::ranges::{self, Ranges};
use smalti_tools::report::statistics::Reading;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

/// What is said of dense reads that no fragment has cells of.
pub(super) const UNWRITTEN: &str = "nothing is written there: these are fill values";

/// Rows of a table for people when they give no limit.
const TABLE_LIMIT: u64 = 50;

pub(super) fn run(global: &Global, args: &ReadArgs) -> Outcome {
    match &args.split {
        Some(file) => read_split(global, args, file),
        None => read_from(global, args, &engine::open(global, &args.array, args.times)?),
    }
}

/// Refuses the split of commands that plan reads.
pub(super) fn refuse_split(args: &ReadArgs) -> Outcome {
    match args.split {
        Some(_) => Err(Failure::usage("--split is for `smalti read`; a split is planned already")),
        None => Ok(()),
    }
}

/// The longest split that is read.
const MAX_SPLIT_BYTE_LEN: u64 = 1 << 30;

/// Carries a split out.
fn read_split(global: &Global, args: &ReadArgs, file: &Path) -> Outcome {
    let named = |error: std::io::Error| Failure::from(error).at(file.display().to_string());
    let byte_len = std::fs::metadata(file).map_err(named)?.len();
    if byte_len > MAX_SPLIT_BYTE_LEN {
        let shown = human::bytes(byte_len);
        return Err(Failure::invalid(format!("{} is no split: it has {shown}", file.display())));
    }
    let bytes = std::fs::read(file).map_err(named)?;
    let options = engine::options(global, OpenTimes::default())?;
    let split = Split::from_bytes_at(&bytes, &args.array, &options);
    let split = split.map_err(|error| error.at_uri(file.display().to_string()))?;
    let array = split.array()?;
    let schema = array.schema();
    let format = output_format(global, args)?;
    if matches!(format, OutputFormat::Npy | OutputFormat::Matrix) {
        return Err(Failure::usage("a split is a part of a shape; use another format than npy and matrix"));
    }
    let (all, labels) = (Field::of_array(&array, args.notation)?, Field::labels_of(&schema, args.notation));
    let fields = match &split.request().fields[..] {
        [] => all,
        names => Field::select(all, labels, &[json!(names).to_string()], false)?,
    };
    let reading = Reading::start(&array);
    let read = Arc::new(Progress::new());
    let batches = split.columns_with(Some(Arc::clone(&read)))?;
    hand_out(args, batches, &read, &fields, None, |out| {
        sink(args, out, format, &schema, &fields, &Vec::new(), None)
    })?;
    if args.stats {
        statistics::print(global, &reading.end(read.statistics()));
    }
    Ok(())
}

/// Hands the cells of a read on; true if there are more than the limit.
fn hand_out<'f>(
    args: &ReadArgs,
    batches: Batches,
    read: &Arc<Progress>,
    fields: &[Field],
    limit: Option<u64>,
    sink: impl FnOnce(Box<dyn Write + Send>) -> Outcome<Box<dyn Sink + 'f>>,
) -> Outcome<bool> {
    let (file, out) = output(args)?;
    let watch = Watch::start(read, file.as_ref().and_then(OutputFile::partial).map(Path::to_path_buf))?;
    let mut sink = sink(out)?;
    let to_terminal = args.output.is_none() && std::io::stdout().is_terminal();
    let bar = if to_terminal { Bar::hidden() } else { Bar::of(read) };
    let copied = copy(batches, fields, limit, sink.as_mut());
    let copied = copied.and_then(|is_cut| Ok(sink.finish().map(|()| is_cut)?));
    drop((bar, sink));
    let is_cut = watch.end(copied)?;
    if let Some(file) = file {
        file.keep()?;
    }
    Ok(is_cut)
}

/// As the command, from an array that is open.
pub(super) fn read_from(global: &Global, args: &ReadArgs, array: &Array) -> Outcome {
    let schema = array.schema();
    let labels = Field::labels_of(&schema, args.notation);
    let format = output_format(global, args)?;
    let mut all = Field::of_array(array, args.notation)?;
    if format == OutputFormat::Npy && args.select.is_empty() {
        // The place of a cell says where it is.
        all.retain(|field| !field.is_dimension);
    }
    let fields = Field::select(all, labels, &args.select, args.timestamps)?;
    let (ranges, label_ranges) = ranges::of_read(array, &args.ranges, &args.array, &warnings(global))?;
    let fields = match format {
        OutputFormat::Matrix => MatrixSink::<Vec<u8>>::fields(
            Field::of_array(array, args.notation)?,
            &fields,
            !args.select.is_empty(),
        )?,
        _ => fields,
    };
    let is_people = format == OutputFormat::Table && args.limit.is_none();
    let limit = if is_people { Some(TABLE_LIMIT) } else { args.limit };
    if format == OutputFormat::Npy && (limit.is_some() || args.matching_only || !schema.is_dense()) {
        return Err(Failure::usage(
            "npy holds all cells of the ranges of a dense array; leave out --limit and --matching-only, or use another format",
        ));
    }
    // One cell more tells whether there are more.
    let asked = if is_people { Some(TABLE_LIMIT + 1) } else { args.limit };
    let mut request = request(global, args, array, &fields, (ranges, label_ranges), asked)?;
    if format == OutputFormat::Npy && !request.label_ranges.is_empty() {
        return Err(Failure::usage("ranges of labels tell no shape for npy; use another format"));
    }
    let reading = Reading::start(array);
    let read = Arc::clone(request.progress.get_or_insert_default());
    let ranges = &request.ranges;
    // What is wrong with the request is told before there is a file.
    let batches = array.read_raw(&request)?;
    if schema.is_dense() && request.label_ranges.is_empty() && !args.matching_only {
        let lengths = lengths(&schema, ranges).into_iter().map(|len| len as u128);
        let cell_count = lengths.fold(1, u128::saturating_mul).min(limit.map_or(u128::MAX, u128::from));
        check_room(args, format, &fields, cell_count)?;
    }
    if batches.is_unwritten() {
        warn(global, &args.array, UNWRITTEN);
    }
    let is_cut = hand_out(args, batches, &read, &fields, limit, |out| {
        sink(args, out, format, &schema, &fields, ranges, request.layout)
    })?;
    if args.stats {
        statistics::print(global, &reading.end(read.statistics()));
    }
    if is_cut && is_people {
        eprintln!("the first {} cells; --limit N shows more", human::count(TABLE_LIMIT));
    }
    Ok(())
}

/// What the arguments ask for.
pub(super) fn request(
    global: &Global,
    args: &ReadArgs,
    array: &Array,
    fields: &[Field],
    (ranges, label_ranges): (Ranges, Vec<LabelRange>),
    limit: Option<u64>,
) -> Outcome<ReadRequest> {
    Ok(ReadRequest {
        is_strict: args.ranges.strict,
        fields: fields.iter().map(|field| field.name.clone()).collect(),
        ranges,
        label_ranges,
        layout: args.layout.map(Layout::from),
        batch_cell_count: batch_cell_count(global, fields),
        limit,
        memory_byte_len: global.memory.map(|byte_len| usize::try_from(byte_len).unwrap_or(usize::MAX)),
        condition: condition::parse(array, args.condition.as_deref(), &args.array, &warnings(global))?,
        leaves_out: args.matching_only,
        ..ReadRequest::default()
    })
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

/// Where the cells go: standard output, or a file.
fn output(args: &ReadArgs) -> Outcome<(Option<OutputFile>, Box<dyn Write + Send>)> {
    match &args.output {
        Some(path) if path.as_os_str() != "-" => {
            let (output, file) = OutputFile::create(path)?;
            Ok((Some(output), Box::new(file)))
        }
        _ => Ok((None, Box::new(std::io::stdout()))),
    }
}

fn sink(
    args: &ReadArgs,
    out: Box<dyn Write + Send>,
    format: OutputFormat,
    schema: &ArraySchema,
    fields: &[Field],
    ranges: &Ranges,
    layout: Option<Layout>,
) -> Outcome<Box<dyn Sink>> {
    let out = BufWriter::new(out);
    Ok(match format {
        OutputFormat::Table => Box::new(TableSink::new(out, fields)),
        OutputFormat::Matrix => Box::new(MatrixSink::new(out, fields)),
        OutputFormat::Jsonl => Box::new(JsonlSink::new(out, fields)),
        OutputFormat::Csv => Box::new(CsvSink::new(out, fields)),
        OutputFormat::Npy => {
            let is_fortran = match layout.unwrap_or(Layout::RowMajor) {
                Layout::RowMajor => false,
                Layout::ColMajor => true,
                _ => return Err(Failure::usage("npy holds cells in row or col layout")),
            };
            Box::new(NpySink::new(out, fields, &lengths(schema, ranges), is_fortran)?)
        }
        OutputFormat::Arrow => Box::new(ArrowSink::new(out, fields, is_stream(args))?),
        OutputFormat::Parquet => Box::new(ParquetSink::new(out, fields)?),
    })
}

/// Refuses what cannot fit where it is to go, before any of it is written: of formats whose size follows from the cells.
fn check_room(args: &ReadArgs, format: OutputFormat, fields: &[Field], cell_count: u128) -> Outcome {
    let stored = |field: &Field| match field.cell_val_num.is_var() {
        true => 4,
        false => field.cell_byte_len() as u128,
    };
    let cell_byte_len: u128 = match format {
        OutputFormat::Npy | OutputFormat::Arrow => fields.iter().map(stored).sum(),
        // A character, and what parts it from the next one.
        OutputFormat::Csv | OutputFormat::Jsonl => 2 * fields.len() as u128,
        // Equal values take no room in the one, and the others are for people.
        OutputFormat::Parquet | OutputFormat::Table | OutputFormat::Matrix => return Ok(()),
    };
    let byte_len = cell_count.saturating_mul(cell_byte_len);
    let path = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let room = match path {
        Some(path) => smalti::free_byte_len(path).unwrap_or(i64::MAX as u64),
        None if matches!(format, OutputFormat::Csv | OutputFormat::Jsonl) => return Ok(()),
        None => i64::MAX as u64,
    };
    if byte_len <= u128::from(room) {
        return Ok(());
    }
    let shown = human::bytes(u64::try_from(byte_len).unwrap_or(u64::MAX));
    let place = path.map_or("the output".to_owned(), |path| path.display().to_string());
    Err(Failure::invalid(format!(
        "the ranges hold {cell_count} cells, at least {byte_len} bytes ({shown}); there is room for {} at {place}: \
         narrow the ranges, or give --limit or --matching-only",
        human::bytes(room)
    )))
}

/// The number of positions that a dense read takes of each dimension.
fn lengths(schema: &ArraySchema, ranges: &Ranges) -> Vec<usize> {
    let one = |(idx, list): (usize, &Vec<Extent>)| match list.as_slice() {
        [] => length(&[ranges::whole(schema, idx)]),
        list => length(list),
    };
    ranges.iter().enumerate().map(one).collect()
}

/// The number of positions in some ranges of one dimension.
fn length(ranges: &[Extent]) -> usize {
    let one = |range: &Extent| match range {
        Extent::Num { lo, hi } => usize::try_from(hi - lo).unwrap_or(usize::MAX).saturating_add(1),
        Extent::Str { .. } => 0,
    };
    ranges.iter().map(one).fold(0, usize::saturating_add)
}

/// Whether Arrow output is a stream, which can be read from a pipe, rather than a file.
fn is_stream(args: &ReadArgs) -> bool {
    match &args.output {
        Some(path) => path.as_os_str() == "-" || path.extension().is_some_and(|ending| ending == "arrows"),
        None => true,
    }
}

/// Cells of a batch that keep a read within its memory budget.
fn batch_cell_count(global: &Global, fields: &[Field]) -> Option<usize> {
    /// What a cell of any size is taken for.
    const VAR_BYTE_LEN: usize = 64;
    /// A batch, the tiles that it comes from and what it is turned into share the budget.
    const SHARES: u64 = 4;
    let byte_len = |field: &Field| match field.cell_val_num.is_var() {
        true => VAR_BYTE_LEN,
        false => field.cell_byte_len() + usize::from(field.nullable),
    };
    let cell_byte_len = fields.iter().map(byte_len).fold(1, usize::saturating_add) as u64;
    let within_budget = global.memory.map(|budget| (budget / SHARES / cell_byte_len).max(1));
    let within_budget = within_budget.filter(|count| *count < DEFAULT_BATCH_CELL_COUNT as u64);
    within_budget.and_then(|count| usize::try_from(count).ok())
}

/// Hands cells on until there are no more, or the limit is reached; true if there are more.
fn copy(batches: Batches, fields: &[Field], limit: Option<u64>, sink: &mut dyn Sink) -> Outcome<bool> {
    let mut left = limit.unwrap_or(u64::MAX);
    for batch in batches {
        let batch: Batch = batch?;
        let cell_count = batch.cell_count;
        let taken = cell_count.min(usize::try_from(left).unwrap_or(usize::MAX));
        sink.batch(if taken < cell_count { first_cells(batch, fields, taken)? } else { batch })?;
        left -= taken as u64;
        if taken < cell_count {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The first cells of a batch.
fn first_cells(mut batch: Batch, fields: &[Field], cell_count: usize) -> smalti::Result<Batch> {
    for (column, field) in batch.columns.iter_mut().zip(fields) {
        let byte_len = match &mut column.offsets {
            Some(offsets) => {
                offsets.resize((cell_count + 1) * 8)?;
                offsets.values::<u64>().last().map_or(0, |end| *end as usize)
            }
            None => cell_count * field.cell_byte_len(),
        };
        column.data.resize(byte_len)?;
        if let Some(validity) = &mut column.validity {
            validity.resize(cell_count)?;
        }
    }
    batch.cell_count = cell_count;
    Ok(batch)
}
