//! How far the requests for tiles are ahead of a read.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The shares of tiles that were asked for ahead of a read.
#[derive(Debug, Default)]
pub(super) struct Announced(Mutex<Shares>);

#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The ends of the last two shares, by places among the plan's tiles.
    pub(super) before: usize,
    pub(super) end: usize,
    /// The tiles of which only the coordinates were asked for, and what else tells which cells are wanted.
    pub(super) waiting: BTreeSet<usize>,
}

impl Announced {
    pub(super) fn shares(&self) -> MutexGuard<'_, Shares> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
