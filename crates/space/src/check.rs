//! Stopping long work.

use smalti_types::Result;

/// Asked again and again by work on many cells, at least once every few milliseconds; its error ends the work.
pub type Check<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// For work that nobody stops.
pub const UNSTOPPED: Check<'static> = &|| Ok(());

/// Cells between two questions.
pub(crate) const STEP: usize = 1 << 16;
