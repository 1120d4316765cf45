//! How arrays and groups are opened.

use crate::context::Context;
use crate::errors::ForPython;
use pyo3::prelude::*;
use smalti::{EncryptionKey, SyncLevel};

/// Time, key, durability and context of what is opened.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Options {
    pub(crate) options: smalti::Options,
    context: smalti::Context,
}

#[pymethods]
impl Options {
    /// Times are milliseconds since 1970.
    #[new]
    #[pyo3(signature = (*, at=None, since=None, created_at=None, key=None, sync=None, metadata_limit=None, context=None))]
    fn new(
        py: Python<'_>,
        at: Option<u64>,
        since: Option<u64>,
        created_at: Option<u64>,
        key: Option<&[u8]>,
        sync: Option<&str>,
        metadata_limit: Option<u64>,
        context: Option<&Bound<'_, Context>>,
    ) -> PyResult<Self> {
        let mut options = smalti::Options::new();
        if let Some(time) = at {
            options = options.at(time);
        }
        if let Some(time) = since {
            options = options.since(time);
        }
        if let Some(time) = created_at {
            options = options.created_at(time);
        }
        if let Some(bytes) = key {
            options = options.key(EncryptionKey::new(bytes).for_python(py)?);
        }
        if let Some(level) = sync {
            options = options.sync(level.parse::<SyncLevel>().for_python(py)?);
        }
        if let Some(byte_len) = metadata_limit {
            options = options.metadata_limit(byte_len);
        }
        let context = context.map_or_else(smalti::Context::default, |context| context.get().context.clone());
        Ok(Options { options: options.context(&context), context })
    }
}

/// The options that were given, or those of whoever gives none.
pub(crate) fn given(options: Option<&Bound<'_, Options>>) -> smalti::Options {
    options.map_or_else(smalti::Options::new, |options| options.get().options.clone())
}

/// The context of the options that were given.
pub(crate) fn context_of(options: Option<&Bound<'_, Options>>) -> smalti::Context {
    options.map_or_else(smalti::Context::default, |options| options.get().context.clone())
}
