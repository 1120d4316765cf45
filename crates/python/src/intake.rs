//! Tables of Arrow as new arrays, and what people write for times.

use crate::array::Array;
use crate::call::{tool_error, work};
use crate::capsule;
use crate::options::{Options, context_of, given};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smalti::Progress;
use smalti_tools::import::{ImportOptions, Input, TableOptions};
use smalti_tools::{Environment, When};
use std::sync::{Arc, Mutex, PoisonError};

/// How a table becomes an array; the attributes of the object that it is taken from have these names.
#[derive(FromPyObject)]
pub(crate) struct Import {
    /// Columns that become dimensions; without them the rows are numbered.
    dims: Vec<String>,
    sparse: bool,
    /// Columns of text that become enumerations.
    enums: Vec<String>,
    /// Extents of tiles, by dimension, as text.
    tile: Vec<(String, String)>,
    capacity: Option<u64>,
    duplicates: bool,
    at: Option<u64>,
    memory: Option<u64>,
}

impl Import {
    fn options(&self) -> ImportOptions {
        let table = TableOptions {
            dims: self.dims.clone(),
            index: self.dims.is_empty(),
            dense: !self.sparse,
            sparse: self.sparse,
            tile: self.tile.iter().map(|(name, extent)| format!("{name}={extent}")).collect(),
            capacity: self.capacity,
            enumerate: self.enums.clone(),
            allow_dups: self.duplicates,
            ..TableOptions::default()
        };
        ImportOptions { table, at: self.at.map(When::Number), ..ImportOptions::default() }
    }
}

/// Makes an array of a table, and fills it: the array, and warnings.
#[pyfunction]
#[pyo3(signature = (uri, table, request, options=None, hook=None))]
pub(crate) fn import_stream(
    py: Python<'_>,
    uri: &str,
    table: &Bound<'_, PyAny>,
    request: Import,
    options: Option<&Bound<'_, Options>>,
    hook: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Array, Vec<String>)> {
    let reader = capsule::reader_of(table)?;
    let (engine, context) = (given(options), context_of(options));
    let warnings = Mutex::new(Vec::new());
    let progress = Arc::new(Progress::new());
    let array = work(py, &progress, hook, || {
        let warn = |warning: smalti_tools::Warning| {
            warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning.message);
        };
        let environment = Environment {
            engine: &engine,
            memory: request.memory,
            folder: None,
            work: &progress,
            warn: &warn,
        };
        let imported = context.run(|| {
            smalti_tools::import::import(Input::Batches(reader), uri, &request.options(), &environment)
        });
        imported.map_err(tool_error)?;
        smalti::Array::open_with(uri, &engine)
    })?;
    Ok((Array { array }, warnings.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// A time as people write it: its first and its last millisecond since 1970.
#[pyfunction]
pub(crate) fn span_of(text: &str) -> PyResult<(u64, u64)> {
    let when = When::parse(text, smalti_tools::when::clock_ms()).map_err(PyValueError::new_err)?;
    Ok((when.start(), when.end()))
}

/// The extents of tiles that an import chooses for a dense array of a shape.
#[pyfunction]
pub(crate) fn dense_tiles(shape: Vec<u64>) -> Vec<u64> {
    smalti_tools::import::dense_tiles(&shape)
}
