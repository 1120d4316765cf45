//! How fragments are merged, and what comes of it.

use crate::part::OrderPart;
use crate::progress::Progress;
use crate::split::Split;
use smalti_array::{CellHistory, NewFragment, SharedWrite, Snapshot};
use smalti_types::{Error, Extent, Layout, Result, TimeRange};
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
    /// The part of the cells that is merged, and the write of several processes that it belongs to; `None` for all, by this process alone.
    pub part: Option<MergePart>,
    /// Where the merge tells how far it is, and listens for the word to stop.
    pub progress: Option<Arc<Progress>>,
}

impl MergeRequest {
    /// Names a fragment for what is merged of some times.
    pub(super) fn new_fragment(
        &self,
        snapshot: &Snapshot,
        time: TimeRange,
        history: CellHistory,
    ) -> Result<NewFragment> {
        match &self.part {
            Some(part) if part.share.time() != time => {
                Err(Error::invalid("the fragments to merge are not those of the shared merge"))
            }
            Some(part) => NewFragment::of_shared_merge(snapshot, &part.share, history),
            None => NewFragment::merged(snapshot, time, history),
        }
    }
}

/// A part of a merge that several processes do together.
#[derive(Debug, Clone)]
pub struct MergePart {
    /// What all of them share.
    pub share: SharedWrite,
    /// The box of a dense array, in whole tiles; empty for sparse arrays.
    pub rectangle: Vec<Extent>,
    /// The part of the global order of a sparse array.
    pub order: Option<OrderPart>,
}

impl MergePart {
    /// The part that one of the [splits](super::split_merge) of a merge reads.
    ///
    /// # Errors
    /// `InvalidArgument` for a split of another read.
    pub fn new(split: &Split, share: SharedWrite) -> Result<Self> {
        let request = split.request();
        let side = |ranges: &Vec<Extent>| match ranges.as_slice() {
            [side] => Ok(side.clone()),
            _ => Err(Error::invalid("the split is of no merge: it reads several ranges of a dimension")),
        };
        if request.layout != Some(Layout::GlobalOrder)
            || request.condition.is_some()
            || request.limit.is_some()
        {
            return Err(Error::invalid("the split is of no merge: it reads some cells, or in another order"));
        }
        let rectangle = request.ranges.iter().map(side).collect::<Result<_>>()?;
        Ok(MergePart { share, rectangle, order: request.part.clone() })
    }
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
