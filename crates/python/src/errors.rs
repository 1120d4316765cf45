//! Errors of the engine as Python's exceptions.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use smalti::{Error, ErrorKind};

/// The exception for an error: of the class that `smalti.errors` has for its kind, with its parts as attributes.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let location = error.location();
    let made = MAKE.import(py, "smalti.errors", "of_kind").and_then(|make| {
        make.call1((
            kind_name(error.kind()),
            error.to_string(),
            error.message(),
            location.uri.as_deref(),
            location.structure,
            location.field.as_deref(),
            location.byte_offset,
        ))
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "not_found",
        ErrorKind::AlreadyExists => "already_exists",
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::InvalidArgument => "invalid_argument",
        ErrorKind::Permission => "permission",
        ErrorKind::Io => "io",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::OutOfMemory => "out_of_memory",
        _ => "other",
    }
}

/// What the engine returned, for Python.
pub(crate) trait ForPython<T> {
    /// The value, or the exception.
    fn for_python(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> ForPython<T> for smalti::Result<T> {
    fn for_python(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
