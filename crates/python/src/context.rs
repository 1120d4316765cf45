//! Contexts.

use crate::errors::exception;
use pyo3::prelude::*;
use smalti::storage::{KEYS, Settings};

/// What arrays and groups of a program share: threads, stores, memory and the cache of decoded tiles.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Context {
    pub(crate) context: smalti::Context,
    /// What its stores are set to, if that was said.
    settings: Option<Settings>,
}

#[pymethods]
impl Context {
    /// A context with so many threads (0: as many as there are cores), so many bytes of memory, a cache or none, and settings of
    /// stores and the network over those of the environment.
    #[new]
    #[pyo3(signature = (threads=0, memory=None, cache=true, config=Vec::new()))]
    fn new(
        py: Python<'_>,
        threads: usize,
        memory: Option<u64>,
        cache: bool,
        config: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let mut context = smalti::Context::new().threads(threads);
        let mut settings = None;
        if !config.is_empty() {
            let set = settings_with(&config).map_err(|error| exception(py, &error))?;
            context = context.storage(set.clone());
            settings = Some(set);
        }
        if let Some(byte_len) = memory {
            context = context.memory(byte_len);
        }
        if !cache {
            context = context.without_cache();
        }
        Ok(Context { context, settings })
    }

    /// What its stores are set to: keys, values as people may see them, and who set them.
    #[getter]
    fn settings(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, Option<String>, Option<String>)>> {
        let settings = match &self.settings {
            Some(settings) => settings.clone(),
            None => Settings::from_env().map_err(|error| exception(py, &error))?,
        };
        let shown = settings.shown().into_iter();
        Ok(shown.map(|shown| (shown.key.name, shown.value, shown.source)).collect())
    }

    /// The bytes of decoded tiles and metadata that it keeps.
    #[getter]
    fn kept_bytes(&self) -> u64 {
        self.context.kept_byte_len()
    }

    /// The bytes that reads and writes under way have taken.
    #[getter]
    fn taken_bytes(&self) -> u64 {
        self.context.taken_byte_len()
    }

    /// Lets go of what it keeps.
    fn forget(&self) {
        self.context.forget_kept();
    }

    /// The bytes of memory that results gave back.
    #[getter]
    fn spare_bytes(&self) -> u64 {
        self.context.spare_byte_len()
    }

    /// Gives them back to the system.
    fn trim(&self) {
        self.context.trim();
    }
}

/// The keys whose values are never shown.
#[pyfunction]
pub(crate) fn secret_keys() -> Vec<&'static str> {
    KEYS.iter().filter(|key| key.is_secret()).map(|key| key.name).collect()
}

fn settings_with(config: &[(String, String)]) -> smalti::Result<Settings> {
    let mut settings = Settings::from_env()?;
    config.iter().try_for_each(|(name, value)| settings.set(name, value))?;
    Ok(settings)
}
