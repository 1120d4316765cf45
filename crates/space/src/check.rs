//! Stopping long work.

use smalti_types::Result;

/// Asked again and again by work on many cells, at least once every few milliseconds; its error ends the work.
pub type Check<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// For work that nobody stops.
pub const UNSTOPPED: Check<'static> = &|| Ok(());

/// Cells that a loop of one thread goes over before it asks whether the work goes on.
pub const CELLS_BETWEEN_CHECKS: usize = 1 << 16;

/// Asks every [`CELLS_BETWEEN_CHECKS`] cells, for loops whose steps take more or fewer of them.
pub struct Pace<'a> {
    check: Check<'a>,
    cell_count: usize,
}

impl<'a> Pace<'a> {
    /// The pace of one loop.
    pub fn new(check: Check<'a>) -> Self {
        Pace { check, cell_count: 0 }
    }

    /// Tells how many cells the last step took.
    ///
    /// # Errors
    /// What the check returns.
    #[inline]
    pub fn went(&mut self, cell_count: usize) -> Result<()> {
        self.cell_count += cell_count;
        if self.cell_count < CELLS_BETWEEN_CHECKS {
            return Ok(());
        }
        self.cell_count = 0;
        (self.check)()
    }
}

impl std::fmt::Debug for Pace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pace").field("cell_count", &self.cell_count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn small_and_large_steps_are_checked_alike() {
        let count = AtomicUsize::new(0);
        let check = || {
            count.fetch_add(1, Relaxed);
            Ok(())
        };
        let mut pace = Pace::new(&check);
        (0..10 * CELLS_BETWEEN_CHECKS).try_for_each(|_| pace.went(1)).unwrap();
        assert_eq!(count.load(Relaxed), 10);
        pace.went(5 * CELLS_BETWEEN_CHECKS).unwrap();
        assert_eq!(count.load(Relaxed), 11);
    }
}
