//! Imports: from files or a stream of record batches to an array, without a schema written by hand. The rules are in docs/import.md.

mod columnar;
mod csv;
mod extents;
mod filters;
mod fit;
mod grid;
mod held;
mod input;
mod joined;
mod jsonl;
mod kind;
mod npy;
mod options;
mod plan;
mod retained;
mod source;
mod state;
mod stream;
mod survey;
mod target;
mod text;
mod times;
mod types;
mod write;

use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::warning::Warning;
pub use input::Input;
pub use options::{Format, ImportOptions, TableOptions};
pub use plan::Plan;
use retained::Retained;
use smalti::{Array, Phase};
use source::{Rows, Source, Watched};
use state::State;
use std::path::PathBuf;
use survey::{Question, Survey};
use target::NewArray;
use write::{Visible, Writer, Written, WrittenField};

/// What an import did.
#[derive(Debug)]
pub struct Imported {
    /// Whether it made the array.
    pub is_new: bool,
    /// How many cells it wrote.
    pub cell_count: u64,
    /// The names of the fragments it wrote.
    pub fragments: Vec<String>,
    /// The time of the first of them, in milliseconds since 1970.
    pub timestamp: u64,
}

/// What an import would do: the schema of the array that it would make, or how the input fits the array that is there. Nothing is made
/// or written. Without a `uri` the array is a new one.
///
/// # Errors
/// As those of [`import`].
pub fn plan(
    input: Input,
    uri: Option<&str>,
    options: &ImportOptions,
    environment: &Environment<'_>,
) -> Outcome<Plan> {
    let existing = uri.map(|uri| target::existing(environment, uri)).transpose()?.flatten();
    if let (Some(uri), None) = (uri, &existing) {
        target::check_free(uri)?;
    }
    if let Some(grid) = grid(&options.table, &input, existing.as_ref())? {
        return match &existing {
            Some(array) => {
                fit::check_options(&options.table)?;
                fit::check_grid(array, &grid.members)?;
                fit::plan(array, &[], &[])
            }
            None => plan_of_grid(&options.table, &grid.members),
        };
    }
    let source = Source::open(input, &options.table, environment)?;
    let _announced = environment.work.announce(&[Phase::Inferring]);
    let watched = Watched { phase: Phase::Inferring, work: environment.work };
    match &existing {
        Some(array) => {
            let survey = survey_existing(&source, array, options, &watched, None)?;
            let fields = fit::fields_of_existing(&source, array)?;
            fit::plan(array, &fields, &fit::new_labels(array, &survey))
        }
        None => {
            let survey = survey_new(&source, &options.table, &watched, None)?;
            plan_of_table(&source, &options.table, &survey)
        }
    }
}

/// Imports into an array, which is made unless it is there. It works in the [context](smalti::Context::run) of its thread.
///
/// # Errors
/// Options that do not fit each other or the input; content that is none of its format, or does not fit the array: errors name the file,
/// the line or row, the column, the value, and what can be done. What the engine reports. An array that was not there is not there then,
/// unless chunks are visible as they are written.
pub fn import(
    input: Input,
    uri: &str,
    options: &ImportOptions,
    environment: &Environment<'_>,
) -> Outcome<Imported> {
    let (written, is_new) = Import { uri, options, environment }.run(input)?;
    let Written { row_count, fragments, timestamp } = written;
    Ok(Imported { is_new, cell_count: row_count, fragments, timestamp })
}

/// The extents of tiles that an import chooses for a dense array with so many positions on each dimension.
#[must_use]
pub fn dense_tiles(shape: &[u64]) -> Vec<u64> {
    let lens: Vec<Option<f64>> = shape.iter().map(|&len| Some(len as f64)).collect();
    let extents = extents::dense_extents(&lens);
    extents
        .iter()
        .zip(shape)
        .map(|(extent, &len)| extent.map_or(len, |extent| extent as u64).max(1))
        .collect()
}

/// One import.
struct Import<'a> {
    uri: &'a str,
    options: &'a ImportOptions,
    environment: &'a Environment<'a>,
}

impl Import<'_> {
    /// What was written, and whether the array is new.
    fn run(&self, input: Input) -> Outcome<(Written, bool)> {
        let table = &self.options.table;
        let existing = target::existing(self.environment, self.uri)?;
        if existing.is_none() {
            target::check_free(self.uri)?;
        }
        if let Some(grid) = grid(table, &input, existing.as_ref())? {
            return self.grid(existing, &grid);
        }
        let source = Source::open(input, table, self.environment)?;
        let is_dense = existing.as_ref().map_or(table.dense, |array| array.schema().is_dense());
        let _announced = self.environment.work.announce(&self.phases(Some(Phase::Inferring), is_dense));
        match existing {
            Some(array) => self.append(&source, array),
            None if self.options.resume => {
                Err(Failure::invalid("there is no array to go on with; leave out --resume").at(self.uri))
            }
            None => self.table(&source),
        }
    }

    /// The time of the write, with a warning of one that looks like seconds.
    fn at(&self) -> Option<u64> {
        let at = self.options.at?;
        if let Some(doubt) = at.doubt() {
            (self.environment.warn)(Warning::new(self.uri, doubt));
        }
        Some(at.moment())
    }

    fn new_array(&self, plan: &Plan, is_staged: bool) -> Outcome<NewArray<'_>> {
        let at = self.options.at.map(|at| at.moment());
        NewArray::create(self.environment, self.uri, &plan.schema.to_string(), at, is_staged)
    }

    /// The phases of the import: what is written of it goes through those of a write, chunk by chunk.
    fn phases(&self, first: Option<Phase>, is_dense: bool) -> Vec<Phase> {
        let mut phases: Vec<Phase> = first.into_iter().collect();
        phases.push(Phase::Reading);
        phases.extend(if is_dense { Phase::DENSE_WRITE } else { Phase::SPARSE_WRITE });
        if !self.options.as_it_goes && !self.options.resume {
            phases.push(Phase::Publishing);
        }
        phases
    }

    fn watched(&self, phase: Phase) -> Watched<'_> {
        Watched { phase, work: self.environment.work }
    }

    /// A table into a new array.
    fn table(&self, source: &Source<'_>) -> Outcome<(Written, bool)> {
        let table = &self.options.table;
        let mut retained = Retained::of(source, self.environment.memory() / 3);
        let survey = survey_new(source, table, &self.watched(Phase::Inferring), Some(&mut retained))?;
        let plan = plan_of_table(source, table, &survey)?;
        check_rows(source, &survey)?;
        let is_staged = !self.options.as_it_goes;
        let target = self.new_array(&plan, is_staged)?;
        let fields = fit::fields_of_new(source, target.array()?)?;
        let written = self.write(source, target.array()?, fields, &survey, true, retained, 0)?;
        target.keep()?;
        Ok((written, true))
    }

    /// A table into an array that is there.
    fn append(&self, source: &Source<'_>, array: Array) -> Outcome<(Written, bool)> {
        let mut retained = Retained::of(source, self.environment.memory() / 3);
        let watched = self.watched(Phase::Inferring);
        let survey = survey_existing(source, &array, self.options, &watched, Some(&mut retained))?;
        let fields = fit::fields_of_existing(source, &array)?;
        let more = fit::new_labels(&array, &survey);
        check_rows(source, &survey)?;
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
        Ok((written, false))
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
        let ImportOptions { as_it_goes, resume, .. } = *self.options;
        let memory = self.environment.memory();
        let watched = self.watched(Phase::Reading);
        if array.schema().is_dense() {
            if as_it_goes || resume {
                return Err(Failure::usage("--as-it-goes is for sparse arrays"));
            }
            drop(retained);
            let sides = fit::sides(array, survey)?;
            let number = std::cell::Cell::new(row_number);
            let converted = |rows: Rows| fit::converted(source, &fields, rows, &number);
            let budget = (survey.row_count, self.at(), memory);
            return grid::write_table(source, array, is_new, &sides, &converted, budget, &watched);
        }
        if (as_it_goes || resume) && source.is_stream() {
            return Err(Failure::usage(
                "--as-it-goes is for files, which can be read again from where the import stopped",
            ));
        }
        let mut state = match (resume, as_it_goes) {
            (true, _) => Some(State::resume(self.uri, array, &source.files())?),
            (_, true) => Some(State::start(self.uri, &source.files(), row_number)?),
            _ => None,
        };
        let row_number = state.as_ref().map_or(row_number, State::first_row_number);
        let visible = match &mut state {
            Some(state) => Visible::AsItGoes(state),
            None => Visible::Together,
        };
        let mut writer = Writer::new(array, source, &watched, fields, memory, visible);
        writer.at = self.at();
        writer.row_number = row_number;
        match retained.all(source) {
            Some(all) => all.into_iter().try_for_each(|rows| writer.add(rows))?,
            None => source.stream(&watched, &mut |rows| writer.add(rows))?,
        }
        writer.finish()
    }

    /// A NumPy file into a dense array.
    fn grid(&self, existing: Option<Array>, grid: &Grid) -> Outcome<(Written, bool)> {
        if self.options.as_it_goes || self.options.resume {
            return Err(Failure::usage("--as-it-goes is for tables"));
        }
        let Grid { path, format, members } = grid;
        let memory = self.environment.memory();
        let _announced = self.environment.work.announce(&self.phases(None, true));
        let watched = self.watched(Phase::Reading);
        if let Some(array) = existing {
            fit::check_options(&self.options.table)?;
            fit::check_grid(&array, members)?;
            let written = grid::write_npy(path, *format, members, &array, self.at(), memory, &watched)?;
            return Ok((written, false));
        }
        let plan = plan_of_grid(&self.options.table, members)?;
        let target = self.new_array(&plan, true)?;
        let written = grid::write_npy(path, *format, members, target.array()?, self.at(), memory, &watched)?;
        target.keep()?;
        Ok((written, true))
    }
}

fn check_rows(source: &Source<'_>, survey: &Survey) -> Outcome {
    match survey.row_count {
        0 => Err(source.in_all(Failure::invalid("there are no rows to import"))),
        _ => Ok(()),
    }
}

/// The first pass over a table for an array that is there.
fn survey_existing(
    source: &Source<'_>,
    array: &Array,
    options: &ImportOptions,
    watched: &Watched<'_>,
    mut retained: Option<&mut Retained>,
) -> Outcome<Survey> {
    fit::check_options(&options.table)?;
    let mut survey = fit::questions(source, array, options.extend_enums)?;
    source.survey(watched, &mut |rows: Rows| {
        survey.add(source, &rows)?;
        if let Some(retained) = &mut retained {
            retained.take(rows);
        }
        Ok(())
    })?;
    Ok(survey)
}

/// The first pass over the files of a new array.
fn survey_new(
    source: &Source<'_>,
    table: &TableOptions,
    watched: &Watched<'_>,
    mut retained: Option<&mut Retained>,
) -> Outcome<Survey> {
    let mut survey = Survey { is_text: source.is_text(), ..Survey::default() };
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
            retained.clear();
        }
        source.first_rows(watched, &mut |rows: Rows| {
            survey.sample.take(&rows.batch);
            !survey.sample.is_full()
        })?;
        return Ok(survey);
    }
    source.survey(watched, &mut |rows: Rows| {
        survey.sample.take(&rows.batch);
        survey.add(source, &rows)?;
        if let Some(retained) = &mut retained {
            retained.take(rows);
        }
        Ok(())
    })?;
    Ok(survey)
}

fn plan_of_table(source: &Source<'_>, table: &TableOptions, survey: &Survey) -> Outcome<Plan> {
    let fields = source.fields.borrow();
    let in_all = |failure: Failure| source.in_all(failure);
    plan::check_dimensions(table, &fields).map_err(in_all)?;
    plan::of_table(table, &fields, survey).map_err(in_all)
}

/// A NumPy file that is a grid.
struct Grid {
    path: PathBuf,
    format: Format,
    /// Its arrays.
    members: Vec<npy::Member>,
}

/// The NumPy file that is a grid; `None` for tables.
fn grid(table: &TableOptions, input: &Input, existing: Option<&Array>) -> Outcome<Option<Grid>> {
    let Input::Files(files) = input else { return Ok(None) };
    let format_of = |path: &PathBuf| table.format.or_else(|| Format::of_path(path));
    let is_numpy = |path: &PathBuf| matches!(format_of(path), Some(Format::Npy | Format::Npz));
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
    Ok(Some(Grid { path: path.clone(), format, members }))
}

fn plan_of_grid(table: &TableOptions, members: &[npy::Member]) -> Outcome<Plan> {
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
        filters: filters::Chosen::default(),
        reason: format!("the values of the file are {}", member.datatype),
    };
    let cells = first.shape.iter().fold(1_u64, |count, len| count.saturating_mul(*len as u64));
    plan::of_parts(table, true, dimensions, members.iter().map(attribute).collect(), cells)
}

#[cfg(test)]
mod tests;
