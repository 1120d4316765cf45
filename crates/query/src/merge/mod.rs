//! Fragments made one: the cells of some, written as a fragment that says the same.
//!
//! Sparse fragments keep every version of a cell with its time, and deleted cells with the time and condition of their
//! delete, as far as the format version has room for these: so the merged fragment answers for every time. A dense one
//! holds what its fragments show at the end of their times. Nothing is committed here.

mod dense;
mod sparse;

use crate::progress::{Phase, Progress};
use smalti_array::{NewFragment, Snapshot};
use smalti_types::{Error, Result, TimeRange};
use std::sync::Arc;

/// How fragments are merged.
#[derive(Debug, Clone, Default)]
pub struct MergeRequest {
    /// Leave out cells that were deleted, and older versions of these. Times before such a delete are gone then.
    pub purges: bool,
    /// The most bytes held at once; `None` for the default of reads.
    pub memory_byte_len: Option<usize>,
    /// Begin another fragment when one has this many bytes of data. Sparse arrays only.
    pub max_fragment_byte_len: Option<u64>,
    /// Where the merge tells how far it is, and listens for the word to stop.
    pub progress: Option<Arc<Progress>>,
}

/// What a merge wrote.
#[derive(Debug)]
pub struct Merged {
    /// The new fragments: durable, but for their commits. None when no cell is left.
    pub fragments: Vec<NewFragment>,
    /// The cells in them, every version counted.
    pub cell_count: u64,
}

impl Merged {
    /// Removes the fragments, as far as the store lets them be removed; what stays behind no reader sees.
    pub fn discard(&self) {
        for fragment in &self.fragments {
            let _ = fragment.discard();
        }
    }
}

/// Merges all fragments of a snapshot, which must be [made of some](Snapshot::of_fragments) for this. After an error nothing
/// that was written is left, as far as the store lets it be removed.
///
/// # Errors
/// `InvalidArgument` when there is no fragment; `Cancelled`; `OutOfMemory` when the budget cannot hold a tile; what codecs and
/// store report.
pub fn merge(snapshot: &Snapshot, request: &MergeRequest) -> Result<Merged> {
    let mut times = snapshot.fragments().iter().map(|fragment| fragment.time());
    let first = times.next().ok_or_else(|| Error::invalid("there are no fragments to merge"))?;
    let range = times
        .fold(first, |all, time| TimeRange { start: all.start.min(time.start), end: all.end.max(time.end) });
    let merged = match snapshot.schema().is_dense() {
        true => dense::merge(snapshot, range, request),
        false => sparse::merge(snapshot, range, request),
    }?;
    if let Some(progress) = &request.progress {
        progress.complete(Phase::Merging);
    }
    Ok(merged)
}
