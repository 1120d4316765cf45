//! How fragments are merged, and what comes of it.

use crate::progress::Progress;
use smalti_array::NewFragment;
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
