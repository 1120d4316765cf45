//! What a sparse read needs to know before it decodes a tile: fields, fragments, and the tiles that ranges may meet.

use super::announced::Announced;
use super::history::DeleteHistory;
use super::key_range::KeyRange;
use super::predicate::FragmentPredicate;
use crate::budget::Budget;
use crate::fetch::Fetch;
use crate::source::FieldSource;
use crate::workspace::Workspaces;
use smalti_array::{FieldId, Fragment, Snapshot};
use smalti_space::{Interval, RangeSet};
use smalti_tile::CellShape;
use smalti_types::Layout;
use std::ops::Range;
use std::sync::Arc;

/// A field of a sparse read.
#[derive(Debug)]
pub(crate) struct SparseField {
    pub(crate) id: FieldId,
    pub(crate) shape: CellShape,
    /// What cells have whose fragment lacks the field.
    pub(crate) fill: Vec<u8>,
    pub(crate) fill_valid: bool,
}

/// A fragment of a sparse read.
pub(crate) struct SparseFragment {
    pub(crate) fragment: Arc<Fragment>,
    /// Where the coordinates of each dimension are.
    pub(crate) dims: Vec<FieldSource>,
    /// Where each field of the read is; `None` where the fragment lacks it.
    pub(crate) sources: Vec<Option<FieldSource>>,
    /// Where the times of cells are, if each has one.
    pub(crate) timestamps: Option<FieldSource>,
    /// Where the times are at which cells were deleted, if some were.
    pub(crate) delete_times: Option<FieldSource>,
    /// Where the conditions are that deleted cells, if some were.
    pub(crate) delete_conditions: Option<FieldSource>,
    /// What else cells of it have to fulfil.
    pub(crate) predicates: Vec<FragmentPredicate>,
    /// Whether some of its cells may lie outside the time range.
    pub(crate) splits_in_time: bool,
}

impl SparseFragment {
    pub(super) fn has_predicates(&self) -> bool {
        !self.predicates.is_empty() || self.delete_times.is_some()
    }
}

/// A tile that the ranges may meet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileRef {
    pub(crate) fragment_idx: usize,
    pub(crate) tile_idx: usize,
    pub(crate) cell_count: usize,
    /// Whether the ranges select all of its cells.
    pub(crate) is_covered: bool,
    /// Whether all of its cells lie in the wanted part of the order.
    pub(crate) is_in_part: bool,
    /// Whether all of its cells are known to fulfil the read's condition.
    pub(crate) fulfils: bool,
    /// The number of the group of tiles whose cells may be mixed in the order of the read.
    pub(crate) group: u32,
    /// Whether cells of it may hide others, or be hidden, so that conditions and deletes are asked of those that are left.
    pub(crate) hides: bool,
    /// Whether these others can only be the cells that are stored right before and behind it.
    pub(crate) is_side_by_side: bool,
}

/// Everything that a sparse read needs to know.
pub(crate) struct SparsePlan {
    pub(crate) snapshot: Snapshot,
    pub(crate) fetch: Fetch,
    pub(crate) layout: Layout,
    pub(crate) ranges: Vec<RangeSet>,
    pub(crate) fields: Vec<SparseField>,
    /// Newest first.
    pub(crate) fragments: Vec<SparseFragment>,
    /// Whether cells of some fragment have times of their own.
    pub(super) has_times: bool,
    /// Whether cells of some fragment have to fulfil something beside the ranges.
    pub(super) has_predicates: bool,
    /// Stretch by stretch.
    pub(crate) tiles: Vec<TileRef>,
    /// One behind the other in the order of the read.
    pub(crate) stretches: Vec<Stretch>,
    /// Cells up to which a stretch that has to be sorted goes with its neighbour.
    pub(crate) least_sorted_cell_count: usize,
    pub(crate) workspaces: Workspaces,
    /// How far the requests for its tiles are ahead.
    pub(super) announced: Announced,
    pub(crate) budget: Budget,
    /// The most cells that the read hands out.
    pub(crate) limit: Option<u64>,
    /// The part of the order that is wanted, if not all.
    pub(crate) part: Option<KeyRange>,
    /// Of a read of all that the fragments hold: the deletes by which cells may be gone.
    pub(crate) history: Option<DeleteHistory>,
    /// What became of each fragment of the snapshot, newest first, before the condition was looked at.
    pub(crate) seen: Vec<SeenFragment>,
}

/// A fragment of the snapshot as the plan met it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenFragment {
    /// Its place among the plan's fragments, if tiles of it are met.
    pub(crate) fragment_idx: Option<usize>,
    pub(crate) is_in_ranges: bool,
    pub(crate) met_tile_count: usize,
}

/// Tiles whose cells follow those of the stretch before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its tiles, by their places among the plan's.
    pub(crate) tiles: Range<usize>,
    /// Whether the cells are wanted in the order in which they are stored, tile after tile, and none hides another but its
    /// neighbours.
    pub(crate) is_stored: bool,
    pub(crate) cell_count: usize,
}

/// Tiles whose cells are decoded and sorted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slab {
    /// Its tiles, by their places among the plan's, in their order.
    pub(crate) tiles: Vec<u32>,
    /// The intervals of the dimension on which the order goes slowest, one behind the other, whose cells are sorted apart from each other;
    /// none when the slab is a whole stretch.
    pub(crate) pieces: Vec<Interval>,
}

impl SparsePlan {
    /// Reads what is not known yet of the metadata of all fragments, for one who asks for statistics of their tiles.
    pub(super) fn read_metadata(&self) {
        let fragments: Vec<&Fragment> = self.fragments.iter().map(|fragment| &*fragment.fragment).collect();
        self.snapshot.read_metadata(&fragments);
    }

    /// Whether of several cells at the same coordinates only the latest is wanted.
    pub(crate) fn drops_repeats(&self) -> bool {
        !self.snapshot.schema().allows_dups && self.history.is_none()
    }
}
