//! Contexts.

use pyo3::prelude::*;

/// What arrays and groups of a program share: threads, stores, memory and the cache of decoded tiles.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Context {
    pub(crate) context: smalti::Context,
}

#[pymethods]
impl Context {
    /// A context with so many threads (0: as many as there are cores), so many bytes of memory, and a cache or none.
    #[new]
    #[pyo3(signature = (threads=0, memory=None, cache=true))]
    fn new(threads: usize, memory: Option<u64>, cache: bool) -> Self {
        let mut context = smalti::Context::new().threads(threads);
        if let Some(byte_len) = memory {
            context = context.memory(byte_len);
        }
        if !cache {
            context = context.without_cache();
        }
        Context { context }
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
