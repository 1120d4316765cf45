//! Fragments made one: the cells of some, written as a fragment that says the same.
//!
//! Sparse fragments keep every version of a cell with its time, and deleted cells with the time and condition of their
//! delete, as far as the format version has room for these: so the merged fragment answers for every time. A dense one
//! holds what its fragments show at the end of their times. Nothing is committed here.

mod dense;
mod request;
mod sparse;

pub use request::{MergePart, MergeRequest, Merged};

use crate::progress::Phase;
use crate::request::ReadRequest;
use crate::scan::Scan;
use crate::split::Split;
use smalti_array::Snapshot;
use smalti_types::{Error, Layout, Result, TimeRange};

/// Divides the merge of all fragments of a snapshot into at most so many parts of about as many bytes, each of which another process may
/// merge: fewer where there is too little, or the global order does not divide.
///
/// # Errors
/// `InvalidArgument` when there is no fragment, or for no part; `Corrupt` and `Permission` from the metadata.
pub fn split_merge(snapshot: &Snapshot, count: usize) -> Result<Vec<Split>> {
    let hull =
        snapshot.non_empty_domain().ok_or_else(|| Error::invalid("there are no fragments to merge"))?;
    let ranges = match snapshot.schema().is_dense() {
        true => hull.into_iter().map(|side| vec![side]).collect(),
        false => Vec::new(),
    };
    let request = ReadRequest { ranges, layout: Some(Layout::GlobalOrder), ..ReadRequest::default() };
    Scan::new(snapshot, &request)?.splits(count)
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
