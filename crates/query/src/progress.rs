//! Watching a read from outside, and stopping it.

use smalti_types::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What a read has done so far. Other threads may look at it, and stop the read.
///
/// A read that was [cancelled](ReadProgress::cancel) ends with an error of kind `Cancelled` before the next tile is fetched,
/// or, where it sorts, filters, copies or converts, within some 65,000 cells of each thread or the values of one column.
#[derive(Debug, Default)]
pub struct ReadProgress {
    is_cancelled: AtomicBool,
    tiles_to_read: AtomicU64,
    tile_reads: AtomicU64,
    requests: AtomicU64,
    byte_len: AtomicU64,
    cells: AtomicU64,
}

/// What a read did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadStatistics {
    /// Tiles that the plan of a sparse read names, each counted for every field that is read of it; 0 for dense reads.
    pub planned_tile_count: u64,
    /// Tiles that were fetched, counted alike; a tile that is looked at twice counts twice.
    pub tile_count: u64,
    /// Byte ranges of data files that were asked of the store.
    pub request_count: u64,
    /// The bytes in them.
    pub byte_len: u64,
    /// Cells that were handed out.
    pub cell_count: u64,
}

impl ReadProgress {
    /// Nothing done yet.
    pub fn new() -> Self {
        ReadProgress::default()
    }

    /// Stops the read that this is the progress of.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Relaxed);
    }

    /// What was done so far.
    pub fn statistics(&self) -> ReadStatistics {
        ReadStatistics {
            planned_tile_count: self.tiles_to_read.load(Relaxed),
            tile_count: self.tile_reads.load(Relaxed),
            request_count: self.requests.load(Relaxed),
            byte_len: self.byte_len.load(Relaxed),
            cell_count: self.cells.load(Relaxed),
        }
    }

    /// Whether the read goes on.
    ///
    /// # Errors
    /// `Cancelled` once it was stopped.
    pub fn check(&self) -> Result<()> {
        match self.is_cancelled.load(Relaxed) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Cancelled, "the read was stopped")),
        }
    }

    pub(crate) fn plan(&self, tile_count: u64) {
        self.tiles_to_read.fetch_add(tile_count, Relaxed);
    }

    pub(crate) fn count_tile(&self) {
        self.tile_reads.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_requests(&self, count: u64, byte_len: u64) {
        self.requests.fetch_add(count, Relaxed);
        self.byte_len.fetch_add(byte_len, Relaxed);
    }

    pub(crate) fn count_cells(&self, count: u64) {
        self.cells.fetch_add(count, Relaxed);
    }
}
