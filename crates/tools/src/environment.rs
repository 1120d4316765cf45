//! What work takes from the program around it.

use crate::warning::Warn;
use smalti::{DEFAULT_MEMORY_BYTE_LEN, Progress};
use std::path::Path;
use std::sync::Arc;

/// What work takes from the program around it.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// How arrays are opened and made.
    pub engine: &'a smalti::Options,
    /// The memory budget in bytes; [`DEFAULT_MEMORY_BYTE_LEN`], if it is `None`.
    pub memory: Option<u64>,
    /// The folder of temporary files; that of the system, if it is `None`.
    pub folder: Option<&'a Path>,
    /// Is told how far the work is, and may stop it.
    pub work: &'a Arc<Progress>,
    /// Takes warnings.
    pub warn: &'a Warn<'a>,
}

impl Environment<'_> {
    pub(crate) fn memory(&self) -> usize {
        self.memory
            .map_or(DEFAULT_MEMORY_BYTE_LEN, |byte_len| usize::try_from(byte_len).unwrap_or(usize::MAX))
    }
}
