//! `smalti import`: from files to an array, without a schema written by hand. The rules are in docs/import.md.

mod columnar;
mod csv;
mod extents;
mod fit;
mod grid;
mod jsonl;
mod kind;
mod npy;
mod plan;
mod source;
mod state;
mod survey;
mod target;
mod text;
mod times;
mod types;
mod write;

use crate::args::{Global, ImportArgs, ImportFormat, TableArgs};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::progress::Bar;
use crate::{engine, human};
use arrow_array::RecordBatch;
use plan::Plan;
use smalti::{Array, DEFAULT_MEMORY_BYTE_LEN, Phase, Progress};
use source::{Rows, Source, Watched};
use state::State;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use survey::{Question, Survey};
use target::NewArray;
use write::{Origin, Visible, Writer, Written, WrittenField};

/// Runs `smalti import`.
pub(crate) fn run(global: &Global, args: &ImportArgs) -> Outcome {
    let start = Instant::now();
    if args.dry_run && (args.as_it_goes || args.resume) {
        return Err(Failure::usage("--dry-run writes nothing; leave out --as-it-goes and --resume"));
    }
    let work = Arc::new(Progress::new());
    let watch = Watch::over_writes(&work)?;
    let bar = Bar::of(&work);
    let outcome = with_threads(global, || Import { global, args, work: &work }.run());
    drop(bar);
    let Some((written, is_new)) = watch.end(outcome)? else { return Ok(()) };
    if global.json {
        let Written { row_count, fragments, timestamp } = written;
        println!(
            "{}",
            serde_json::json!({"created": is_new, "cells": row_count, "fragments": fragments, "timestamp": timestamp})
        );
        return Ok(());
    }
    let cells = human::count(written.row_count);
    let noun = if written.row_count == 1 { "cell" } else { "cells" };
    let fragments = match written.fragments.as_slice() {
        [only] => only.clone(),
        several => format!("{} fragments", several.len()),
    };
    let into = if is_new { "the new array" } else { "the array" };
    println!(
        "imported {cells} {noun} into {into} {} as {fragments}{} in {}",
        args.array,
        human::at(written.timestamp),
        human::duration(start.elapsed())
    );
    Ok(())
}

/// The schema of `smalti create --from`.
///
/// # Errors
/// As [`run`].
pub(crate) fn schema_from(global: &Global, table: &TableArgs, file: &std::path::Path) -> Outcome<String> {
    let work = Arc::new(Progress::new());
    let watch = Watch::over_writes(&work)?;
    let files = [file.to_path_buf()];
    let bar = Bar::of(&work);
    let plan = with_threads(global, || match grid_members(table, &files, None)? {
        Some((members, _)) => plan_of_grid(table, &members),
        None => {
            let source = Source::open(global, table, &files, memory(global))?;
            let watched = Watched { phase: Phase::Inferring, work: &work };
            survey_new(&source, table, &watched, None)
                .and_then(|survey| plan_of_table(&source, table, &survey))
        }
    });
    drop(bar);
    Ok(watch.end(plan)?.schema.to_string())
}

/// Runs work with the threads that were asked for.
fn with_threads<T: Send>(global: &Global, work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    let Some(threads) = global.threads else { return work() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build();
    let pool =
        pool.map_err(|error| Failure::invalid(format!("{threads} threads cannot be started: {error}")))?;
    pool.install(work)
}

fn memory(global: &Global) -> usize {
    global.memory.map_or(DEFAULT_MEMORY_BYTE_LEN, |byte_len| usize::try_from(byte_len).unwrap_or(usize::MAX))
}

/// One import.
struct Import<'a> {
    global: &'a Global,
    args: &'a ImportArgs,
    work: &'a Arc<Progress>,
}

impl Import<'_> {
    /// What was written, and whether the array is new; `None` where nothing was to be.
    fn run(&self) -> Outcome<Option<(Written, bool)>> {
        let args = self.args;
        let existing = target::existing(self.global, &args.array)?;
        if existing.is_none() {
            target::check_free(&args.array)?;
        }
        if let Some((members, format)) = grid_members(&args.table, &args.files, existing.as_ref())? {
            return self.grid(existing, &members, format);
        }
        let source = Source::open(self.global, &args.table, &args.files, memory(self.global))?;
        match existing {
            Some(array) => self.append(&source, array),
            None if args.resume => {
                Err(Failure::invalid("there is no array to go on with; leave out --resume").at(&args.array))
            }
            None => self.table(&source),
        }
    }

    fn at(&self) -> Option<u64> {
        engine::change_time(self.global, &self.args.array, self.args.at)
    }

    fn watched(&self, phase: Phase) -> Watched<'_> {
        Watched { phase, work: self.work }
    }

    /// A table into a new array.
    fn table(&self, source: &Source<'_>) -> Outcome<Option<(Written, bool)>> {
        let args = self.args;
        let mut retained = Retained::new(memory(self.global) / 3);
        let keeps = !args.dry_run;
        let survey =
            survey_new(source, &args.table, &self.watched(Phase::Inferring), keeps.then_some(&mut retained))?;
        let plan = plan_of_table(source, &args.table, &survey)?;
        if args.dry_run {
            self.show(&plan);
            return Ok(None);
        }
        if survey.row_count == 0 {
            return Err(
                Failure::invalid("there are no rows to import").at(args.files[0].display().to_string())
            );
        }
        let is_staged = !args.as_it_goes;
        let target = NewArray::create(self.global, &args.array, &plan.schema.to_string(), is_staged)?;
        let fields = fit::fields_of_new(source, target.array()?)?;
        let written = self.write(source, target.array()?, fields, &survey, true, retained, 0)?;
        target.keep()?;
        Ok(Some((written, true)))
    }

    /// A table into an array that is there.
    fn append(&self, source: &Source<'_>, array: Array) -> Outcome<Option<(Written, bool)>> {
        let args = self.args;
        fit::check_options(&args.table)?;
        let mut survey = fit::questions(source, &array, args.extend_enums)?;
        let mut retained = Retained::new(memory(self.global) / 3);
        source.survey(&self.watched(Phase::Inferring), &mut |rows: Rows| {
            survey.add(source, &rows)?;
            retained.take(rows);
            Ok(())
        })?;
        let fields = fit::fields_of_existing(source, &array)?;
        let more = fit::new_labels(&array, &survey);
        if args.dry_run {
            self.show_fit(&array, &fields, &more)?;
            return Ok(None);
        }
        if survey.row_count == 0 {
            return Err(
                Failure::invalid("there are no rows to import").at(args.files[0].display().to_string())
            );
        }
        let array = match more.is_empty() {
            true => array,
            false => {
                let extend_enumerations = more;
                array.evolve_raw(&smalti::SchemaChange {
                    extend_enumerations,
                    ..smalti::SchemaChange::default()
                })?;
                array.reopen()?
            }
        };
        let row_number = write::next_row_number(&array)?;
        let written = self.write(source, &array, fields, &survey, false, retained, row_number)?;
        Ok(Some((written, false)))
    }

    fn write(
        &self,
        source: &Source<'_>,
        array: &Array,
        fields: Vec<WrittenField>,
        survey: &Survey,
        is_new: bool,
        retained: Retained,
        row_number: u64,
    ) -> Outcome<Written> {
        let args = self.args;
        let watched = self.watched(Phase::Reading);
        if array.schema().is_dense() {
            if args.as_it_goes || args.resume {
                return Err(Failure::usage("--as-it-goes is for sparse arrays"));
            }
            drop(retained);
            let sides = fit::sides(array, survey)?;
            let number = std::cell::Cell::new(row_number);
            let converted = |rows: Rows| fit::converted(source, &fields, rows, &number);
            let budget = (survey.row_count, self.at(), memory(self.global));
            return grid::write_table(source, array, is_new, &sides, &converted, budget, &watched);
        }
        let mut state = match (args.resume, args.as_it_goes) {
            (true, _) => Some(State::resume(&args.array, array, &source.files)?),
            (_, true) => Some(State::start(&args.array, &source.files, row_number)?),
            _ => None,
        };
        let row_number = state.as_ref().map_or(row_number, State::first_row_number);
        let visible = match &mut state {
            Some(state) => Visible::AsItGoes(state),
            None => Visible::Together,
        };
        let mut writer = Writer::new(array, source, &watched, fields, memory(self.global), visible);
        writer.at = self.at();
        writer.row_number = row_number;
        match retained.all(source) {
            Some(all) => all.into_iter().try_for_each(|rows| writer.add(rows))?,
            None => source.stream(&watched, &mut |rows| writer.add(rows))?,
        }
        writer.finish()
    }

    /// A NumPy file into a dense array.
    fn grid(
        &self,
        existing: Option<Array>,
        members: &[npy::Member],
        format: ImportFormat,
    ) -> Outcome<Option<(Written, bool)>> {
        let args = self.args;
        if args.as_it_goes || args.resume {
            return Err(Failure::usage("--as-it-goes is for tables"));
        }
        let path = &args.files[0];
        let memory = memory(self.global);
        let watched = self.watched(Phase::Reading);
        if let Some(array) = existing {
            fit::check_options(&args.table)?;
            fit::check_grid(&array, members)?;
            if args.dry_run {
                return Ok(None);
            }
            let written = grid::write_npy(path, format, members, &array, self.at(), memory, &watched)?;
            return Ok(Some((written, false)));
        }
        let plan = plan_of_grid(&args.table, members)?;
        if args.dry_run {
            self.show(&plan);
            return Ok(None);
        }
        let target = NewArray::create(self.global, &args.array, &plan.schema.to_string(), true)?;
        let written = grid::write_npy(path, format, members, target.array()?, self.at(), memory, &watched)?;
        target.keep()?;
        Ok(Some((written, true)))
    }

    /// The schema on standard output, the reasons on standard error.
    fn show(&self, plan: &Plan) {
        println!("{}", crate::commands::schema_text(&plan.schema));
        if self.global.json {
            let reasons = plan.reasons.iter().map(|(what, why)| (what.clone(), why.as_str().into()));
            let reasons: serde_json::Map<String, serde_json::Value> = reasons.collect();
            eprintln!("{}", serde_json::json!({"kind": "reasons", "reasons": reasons}));
            return;
        }
        for (what, why) in &plan.reasons {
            eprintln!("{what}: {why}");
        }
    }

    /// What an import into an array that is there would do.
    fn show_fit(&self, array: &Array, fields: &[WrittenField], more: &[(String, Vec<Vec<u8>>)]) -> Outcome {
        let definitions: Vec<_> = array.schema().enumerations.iter().map(|(name, _)| name.clone()).collect();
        let enumerations = definitions
            .iter()
            .map(|name| array.enumeration(name).map(|one| (*one).clone()))
            .collect::<smalti::Result<Vec<_>>>()?;
        println!(
            "{}",
            crate::commands::schema_text(&smalti::json::schema_to_json(&array.schema(), &enumerations))
        );
        for field in fields {
            let told = match &field.origin {
                Origin::Column(_) => "the column of this name",
                Origin::RowNumber => "the numbers of the rows, behind those that are there",
                Origin::Null => "null: there is no column of this name",
                Origin::Fill(_) => "the fill value: there is no column of this name",
            };
            eprintln!("{}: {told}", field.name);
        }
        for (name, labels) in more {
            eprintln!("{name}: {} new labels", labels.len());
        }
        Ok(())
    }
}

/// Rows of the first pass that need not be read again.
struct Retained {
    byte_len: usize,
    limit: usize,
    rows: Option<Vec<Rows>>,
}

impl Retained {
    fn new(limit: usize) -> Retained {
        Retained { byte_len: 0, limit, rows: Some(Vec::new()) }
    }

    fn take(&mut self, rows: Rows) {
        self.byte_len += rows.batch.get_array_memory_size();
        if self.byte_len > self.limit {
            self.rows = None;
        }
        if let Some(all) = &mut self.rows {
            all.push(rows);
        }
    }

    /// All rows, in the types that their columns have become; `None` when the files have to be read again.
    fn all(self, source: &Source<'_>) -> Option<Vec<Rows>> {
        let fields = source.fields.borrow();
        let rows = self.rows.filter(|rows| !rows.is_empty())?;
        rows.into_iter().map(|rows| widened(&fields, rows)).collect()
    }
}

/// Rows in the types that their columns have become; `None` where only the file tells them, as text that was read as numbers.
fn widened(fields: &[arrow_schema::Field], rows: Rows) -> Option<Rows> {
    let mut columns = Vec::new();
    let mut own = Vec::new();
    for (field, array) in rows.batch.schema().fields().iter().zip(rows.batch.columns()) {
        let wanted = fields.iter().find(|wanted| wanted.name() == field.name())?.data_type();
        let is_text = matches!(wanted, arrow_schema::DataType::Utf8) && field.data_type() != wanted;
        if is_text && array.null_count() < array.len() {
            return None;
        }
        let array = types::cast(array, wanted).ok()?;
        own.push(field.as_ref().clone().with_data_type(array.data_type().clone()));
        columns.push(array);
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.batch.num_rows()));
    let schema = Arc::new(arrow_schema::Schema::new(own));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options).ok()?;
    Some(Rows { batch, ..rows })
}

/// The first pass over the files of a new array.
fn survey_new(
    source: &Source<'_>,
    table: &TableArgs,
    watched: &Watched<'_>,
    mut retained: Option<&mut Retained>,
) -> Outcome<Survey> {
    let mut survey =
        Survey { is_text: source.files.iter().all(|file| file.format.is_text()), ..Survey::default() };
    for name in &table.dims {
        let question = Question {
            wants_bounds: true,
            refuses_nulls: Some("it is a dimension, and coordinates are never null"),
            is_ascii: true,
            ..Question::default()
        };
        survey.questions.insert(name.clone(), question);
    }
    let dictionaries = source.dictionaries()?;
    for name in table.enumerate.iter().chain(&dictionaries).filter(|name| !table.dims.contains(name)) {
        survey.questions.entry(name.clone()).or_default().wants_labels = true;
    }
    let needs_rows = survey.questions.values().any(|question| question.wants_labels);
    if !needs_rows && source.survey_by_statistics(&mut survey, &table.dims)? {
        if let Some(retained) = &mut retained {
            retained.rows = None;
        }
        return Ok(survey);
    }
    source.survey(watched, &mut |rows: Rows| {
        survey.add(source, &rows)?;
        if let Some(retained) = &mut retained {
            retained.take(rows);
        }
        Ok(())
    })?;
    Ok(survey)
}

fn plan_of_table(source: &Source<'_>, table: &TableArgs, survey: &Survey) -> Outcome<Plan> {
    let fields = source.fields.borrow();
    let in_file = |failure: Failure| failure.at(source.files[0].path.display().to_string());
    plan::check_dimensions(table, &fields).map_err(in_file)?;
    plan::of_table(table, &fields, survey).map_err(in_file)
}

/// The arrays of a NumPy file that is a grid; `None` for tables.
fn grid_members(
    table: &TableArgs,
    files: &[PathBuf],
    existing: Option<&Array>,
) -> Outcome<Option<(Vec<npy::Member>, ImportFormat)>> {
    let format_of = |path: &PathBuf| table.format.or_else(|| ImportFormat::of_path(path));
    let is_numpy = |path: &PathBuf| matches!(format_of(path), Some(ImportFormat::Npy | ImportFormat::Npz));
    let Some((path, format)) =
        files.iter().find(|path| is_numpy(path)).zip(files.first().and_then(format_of))
    else {
        return Ok(None);
    };
    let members = npy::members(path, format)?;
    let is_line = members.iter().all(|member| member.shape.len() == 1);
    // Columns that are named as dimensions make a table of arrays of one axis.
    let names_columns =
        is_line && table.dims.iter().any(|name| members.iter().any(|member| member.name == *name));
    let is_table = match existing {
        Some(array) => !array.schema().is_dense() || names_columns,
        None => table.sparse || table.index || names_columns,
    };
    if is_table {
        return Ok(None);
    }
    if files.len() > 1 {
        return Err(Failure::usage(
            "a dense array is made of one NumPy file; join them with numpy.stack, or import one after the other",
        ));
    }
    let kept = |name: &String| table.columns.is_empty() || table.columns.contains(name);
    let mut renamed = Vec::new();
    for mut member in members {
        let to = table
            .rename
            .iter()
            .filter_map(|text| text.split_once('='))
            .find(|(from, _)| *from == member.name);
        if let Some((_, to)) = to {
            member.name = to.to_owned();
        }
        if kept(&member.name) {
            renamed.push(member);
        }
    }
    if renamed.is_empty() {
        return Err(Failure::usage("--columns: no array of the file is named"));
    }
    Ok(Some((renamed, format)))
}

fn plan_of_grid(table: &TableArgs, members: &[npy::Member]) -> Outcome<Plan> {
    let Some(first) = members.first() else { return Err(Failure::invalid("there are no arrays")) };
    if first.shape.is_empty() || first.shape.contains(&0) {
        return Err(Failure::invalid(format!(
            "{:?} has shape {:?}, which holds no cells to import",
            first.name, first.shape
        )));
    }
    if !table.enumerate.is_empty() {
        return Err(Failure::usage("--enum is for columns of text"));
    }
    if !table.dims.is_empty() && table.dims.len() != first.shape.len() {
        return Err(Failure::usage(format!(
            "--dims names {} axes; the file has {}, of {:?} positions",
            table.dims.len(),
            first.shape.len(),
            first.shape
        )));
    }
    let name = |idx: usize| table.dims.get(idx).cloned().unwrap_or_else(|| format!("dim_{idx}"));
    let dimensions = first.shape.iter().enumerate();
    let dimensions = dimensions.map(|(idx, len)| plan::PlannedDimension::of_axis(name(idx), *len)).collect();
    let attribute = |member: &npy::Member| plan::PlannedAttribute {
        name: member.name.clone(),
        shape: member.cell_shape(),
        labels: None,
        reason: format!("the values of the file are {}", member.datatype),
    };
    let cells = first.shape.iter().fold(1_u64, |count, len| count.saturating_mul(*len as u64));
    plan::of_parts(table, true, dimensions, members.iter().map(attribute).collect(), cells)
}
