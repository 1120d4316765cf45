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
use crate::when::When;
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
    let watch = Watch::over_imports(&work)?;
    let bar = Bar::of(&work);
    let outcome = engine::context(global)?.run(|| Import { global, args, work: &work }.run());
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
    let watch = Watch::over_imports(&work)?;
    let files = [file.to_path_buf()];
    let bar = Bar::of(&work);
    let plan = engine::context(global)?.run(|| match grid_members(table, &files, None)? {
        Some((members, _)) => plan_of_grid(table, &members),
        None => {
            let source = Source::open(global, table, &files, memory(global))?;
            let _announced = work.announce(&[Phase::Inferring]);
            let watched = Watched { phase: Phase::Inferring, work: &work };
            survey_new(&source, table, &watched, None)
                .and_then(|survey| plan_of_table(&source, table, &survey))
        }
    });
    drop(bar);
    Ok(watch.end(plan)?.schema.to_string())
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
        let is_dense = existing.as_ref().map_or(args.table.dense, |array| array.schema().is_dense());
        let _announced = self.work.announce(&self.phases(Some(Phase::Inferring), is_dense));
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

    fn new_array(&self, plan: &Plan, is_staged: bool) -> Outcome<NewArray<'_>> {
        NewArray::create(
            self.global,
            &self.args.array,
            &plan.schema.to_string(),
            self.args.at.map(When::moment),
            is_staged,
        )
    }

    /// The phases of the import: what is written of it goes through those of a write, chunk by chunk.
    fn phases(&self, first: Option<Phase>, is_dense: bool) -> Vec<Phase> {
        let mut phases: Vec<Phase> = first.into_iter().collect();
        if self.args.dry_run {
            return phases;
        }
        phases.push(Phase::Reading);
        phases.extend(if is_dense { Phase::DENSE_WRITE } else { Phase::SPARSE_WRITE });
        if !self.args.as_it_goes && !self.args.resume {
            phases.push(Phase::Publishing);
        }
        phases
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
        let target = self.new_array(&plan, is_staged)?;
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
        let _announced = self.work.announce(&self.phases(None, true));
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
        let target = self.new_array(&plan, true)?;
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
    let target = |name: &str| {
        let renamed = table.rename.iter().filter_map(|text| text.split_once('='));
        let to = renamed.into_iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to);
        let is_kept = table.columns.is_empty() || table.columns.iter().any(|column| column == to);
        is_kept.then(|| to.to_owned())
    };
    let mut members = npy::members(path, format, &target)?;
    for member in &mut members {
        member.name = target(&member.name).unwrap_or_default();
    }
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
    if members.is_empty() {
        return Err(Failure::usage("--columns: no array of the file is named"));
    }
    npy::check_shapes(path, &members)?;
    Ok(Some((members, format)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    /// Runs an import in a folder of its own, and gives its phases, each of which is done.
    fn phases(file: &str, content: &[u8], options: &[&str]) -> Vec<Phase> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path(file), content).unwrap();
        let line = ["smalti".to_owned(), "import".to_owned(), path(file), path("array")];
        let line = line.into_iter().chain(options.iter().map(|&option| option.to_owned()));
        let cli = Cli::try_parse_from(line).unwrap();
        let Command::Import(args) = &cli.command else { panic!("{:?}", cli.command) };
        let work = Arc::new(Progress::new());
        Import { global: &cli.global, args, work: &work }.run().map_err(|failure| failure.report()).unwrap();
        for phase in work.phases() {
            assert!(phase.total.is_some() && phase.total == Some(phase.done), "{phase:?}");
        }
        work.phases().iter().map(|phase| phase.phase).collect()
    }

    #[test]
    fn an_import_goes_through_the_phases_of_its_writes_each_with_a_total() {
        use Phase::*;
        let written = [Validating, Sorting, Writing, Syncing, Publishing];
        let short = phases("short.csv", b"x,a\n1,2\n2,3\n", &["--dims", "x"]);
        assert_eq!(short, [&[Inferring][..], &written].concat());
        let mut long = String::from("x,a\n");
        (0..200_000).for_each(|row| long.push_str(&format!("{row},{row}\n")));
        let long = phases("long.csv", long.as_bytes(), &["--dims", "x", "--memory", "4MiB"]);
        // Reading goes on between the chunks: where all of them are written it began before the last.
        let mut both = long.clone();
        both.sort_by_key(|phase| *phase as u8);
        let mut all = [&[Inferring, Reading][..], &written].concat();
        all.sort_by_key(|phase| *phase as u8);
        assert_eq!((both, long[0], long.last()), (all, Inferring, Some(&Publishing)));
        let dry = phases("dry.csv", b"x,a\n1,2\n2,3\n", &["--dims", "x", "--dry-run"]);
        assert_eq!(dry, [Inferring]);
        let header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }\n";
        let start = [&b"\x93NUMPY\x01\x00"[..], &[header.len() as u8, 0]].concat();
        let npy = [&start[..], header, &[0; 16]];
        let grid = phases("grid.npy", &npy.concat(), &[]);
        let mut all = [Reading, Validating, Writing, Syncing, Publishing];
        all.sort_by_key(|phase| *phase as u8);
        let mut sorted = grid.clone();
        sorted.sort_by_key(|phase| *phase as u8);
        assert_eq!((sorted.as_slice(), grid.last()), (&all[..], Some(&Publishing)));
    }
}
