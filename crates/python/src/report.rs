//! What people look at: descriptions, plans, histories, pictures.

use crate::array::Array;
use crate::call::{tool_error, work};
use crate::errors::ForPython;
use crate::group::Group;
use crate::options::{Options, context_of, given};
use crate::scan::Scan;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smalti::{HistoryEntry, Progress};
use smalti_tools::draw::{DrawOptions, figure};
use smalti_tools::ranges::RangeOptions;
use smalti_tools::report;
use smalti_tools::{Environment, Outcome};
use std::sync::{Arc, Mutex, PoisonError};

/// A text, and the same for programs as JSON.
type Told = (String, String);

fn text_of(write: impl FnOnce(&mut dyn std::io::Write) -> Outcome) -> smalti::Result<String> {
    let mut out = Vec::new();
    write(&mut out).map_err(tool_error)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// An array on one page.
#[pyfunction]
pub(crate) fn describe_array(py: Python<'_>, array: &Bound<'_, Array>) -> PyResult<Told> {
    let array = &array.get().array;
    work(py, &Arc::new(Progress::new()), None, || {
        let uri = array.uri();
        let json = report::describe::array_json(array, &uri).map_err(tool_error)?;
        Ok((text_of(|out| report::describe::array_text(array, &uri, out))?, json.to_string()))
    })
}

/// A group on one page.
#[pyfunction]
pub(crate) fn describe_group(py: Python<'_>, group: &Bound<'_, Group>) -> PyResult<Told> {
    let group = &group.get().group;
    work(py, &Arc::new(Progress::new()), None, || {
        let uri = group.uri();
        let json = report::describe::group_json(group, &uri).map_err(tool_error)?;
        Ok((text_of(|out| report::describe::group_text(group, &uri, out))?, json.to_string()))
    })
}

fn lines(entries: &[HistoryEntry]) -> Vec<Told> {
    let one = |entry: &HistoryEntry| {
        (report::history::text(entry, None), report::history::json(entry, None).to_string())
    };
    entries.iter().map(one).collect()
}

/// What happened to an array, the oldest change first.
#[pyfunction]
pub(crate) fn history_of_array(py: Python<'_>, array: &Bound<'_, Array>) -> PyResult<Vec<Told>> {
    let array = &array.get().array;
    Ok(lines(&work(py, &Arc::new(Progress::new()), None, || array.history())?))
}

/// What happened to a group, the oldest change first.
#[pyfunction]
pub(crate) fn history_of_group(py: Python<'_>, group: &Bound<'_, Group>) -> PyResult<Vec<Told>> {
    let group = &group.get().group;
    Ok(lines(&work(py, &Arc::new(Progress::new()), None, || group.history())?))
}

/// How a read would be carried out.
#[pyfunction]
pub(crate) fn explain(py: Python<'_>, array: &Bound<'_, Array>, scan: &Bound<'_, Scan>) -> PyResult<Told> {
    let (array, read) = (&array.get().array, scan.get().read.clone());
    let explanation = work(py, &Arc::new(Progress::new()), None, || read.explain())?;
    let opening = array.traffic();
    let json = report::explain::json(&explanation, &opening, None);
    let text = text_of(|out| report::explain::text(&explanation, &opening, None, out)).for_python(py)?;
    Ok((text, json.to_string()))
}

/// What is drawn of an array, and how; the attributes of the object that it is taken from have these names.
#[derive(FromPyObject)]
pub(crate) struct Draw {
    fields: Vec<String>,
    dims: Vec<String>,
    /// Ranges in the command line's notation.
    ranges: Vec<String>,
    condition: Option<String>,
    versions: bool,
    panels: u8,
    size: Option<(usize, usize)>,
    log: bool,
    min: Option<f64>,
    max: Option<f64>,
    flip: bool,
    title: Option<String>,
}

/// Draws an array: a picture as `png` or `svg`, and notes on what was chosen.
#[pyfunction]
#[pyo3(signature = (array, request, format, options=None, hook=None))]
pub(crate) fn draw(
    py: Python<'_>,
    array: &Bound<'_, Array>,
    request: Draw,
    format: &str,
    options: Option<&Bound<'_, Options>>,
    hook: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Vec<u8>, Vec<String>)> {
    if !matches!(format, "png" | "svg") {
        return Err(PyValueError::new_err(format!("a picture is png or svg, not {format:?}")));
    }
    let array = &array.get().array;
    let (engine, context) = (given(options), context_of(options));
    let wanted = DrawOptions {
        field: request.fields,
        dims: request.dims,
        ranges: RangeOptions { range: request.ranges, ..RangeOptions::default() },
        condition: request.condition,
        time: request.versions,
        panels: request.panels,
        size: request.size,
        log: request.log,
        min: request.min,
        max: request.max,
        flip: request.flip,
        title: request.title,
        ..DrawOptions::default()
    };
    let notes = Mutex::new(Vec::new());
    let progress = Arc::new(Progress::new());
    let picture = work(py, &progress, hook, || {
        let warn = |warning: smalti_tools::Warning| {
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(warning.message);
        };
        let environment =
            Environment { engine: &engine, memory: None, folder: None, work: &progress, warn: &warn };
        let uri = array.uri();
        let scene = context.run(|| figure(array, &uri, &wanted, &environment)).map_err(tool_error)?.scene();
        if format == "svg" {
            return Ok(scene.svg().into_bytes());
        }
        let mut png = Vec::new();
        let drawn = scene.canvas().write_png(&mut png);
        drawn.map_err(|error| smalti::Error::invalid(format!("the picture cannot be written: {error}")))?;
        Ok(png)
    })?;
    Ok((picture, notes.into_inner().unwrap_or_else(PoisonError::into_inner)))
}
