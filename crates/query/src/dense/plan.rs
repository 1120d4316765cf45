//! What a dense read needs to know before any tile is read: fields, fragments, and where they lie.

use super::boxes::Axis;
use super::points::Points;
use crate::budget::Budget;
use crate::condition::BoundCondition;
use crate::fetch::Fetch;
use crate::source::FieldSource;
use crate::tile_statistics::TileStatistics;
use crate::workspace::Workspaces;
use smalti_array::Fragment;
use smalti_space::{Interval, RectIndex, TileBlock, TileGrid};
use smalti_tile::CellShape;
use smalti_types::{Datatype, Layout};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A field of a dense read.
pub(crate) enum DenseField {
    /// Coordinates, which are computed.
    Dimension { dim: usize, datatype: Datatype },
    /// An attribute, with its source in every fragment (none where the fragment's schema lacks it).
    Attribute { shape: CellShape, fill: Vec<u8>, fill_valid: bool, sources: Vec<Option<FieldSource>> },
}

/// A fragment of a dense read.
pub(crate) struct DenseFragment {
    pub(crate) fragment: Arc<Fragment>,
    /// The cells that it wrote, or the least rectangle around them.
    pub(crate) rect: Vec<Interval>,
    pub(crate) tiles: FragmentTiles,
}

/// What the tiles of a fragment are.
pub(crate) enum FragmentTiles {
    /// Space tiles.
    Space(TileBlock),
    /// Tiles of single cells.
    Points(Points),
}

/// Everything that a dense read needs to know, worked out before any tile is read.
pub(crate) struct DensePlan {
    pub(crate) fetch: Fetch,
    pub(crate) grid: TileGrid,
    pub(crate) cell_order: Layout,
    pub(crate) layout: Layout,
    pub(crate) axes: Arc<[Axis]>,
    pub(crate) fields: Vec<DenseField>,
    /// Oldest first.
    pub(crate) fragments: Vec<DenseFragment>,
    /// Their rectangles.
    pub(crate) rects: RectIndex,
    pub(crate) workspaces: Workspaces,
    /// The number of the next batch.
    pub(crate) turn: AtomicU64,
    pub(crate) budget: Budget,
    /// Whether all values of any length fit in a share of the budget at once.
    pub(crate) is_small: bool,
    /// What cells have to fulfil.
    pub(crate) filter: Option<DenseFilter>,
    /// Whether cells that no fragment covers are left out as far as whole boxes of them are.
    pub(crate) is_written_only: bool,
}

/// The condition of a dense read.
pub(crate) struct DenseFilter {
    pub(crate) condition: BoundCondition,
    /// The fields that it looks at, in its order.
    pub(crate) fields: Vec<DenseField>,
    /// For each of these, the field of the result that is the same.
    pub(crate) results: Vec<Option<usize>>,
    /// By fragment, what is known about the fields' values in its tiles.
    pub(super) statistics: Vec<FragmentStatistics>,
    /// By dimension, the ordinals at which a test of it may change its mind.
    pub(super) turns: Vec<Vec<u64>>,
    /// Whether cells that do not fulfil it are left out.
    pub(crate) leaves_out: bool,
}

/// The statistics of a fragment for each field of the condition.
pub(super) type FragmentStatistics = Vec<Option<TileStatistics>>;

/// Whether a box lies in another.
pub(super) fn contains(outer: &[Interval], inner: &[Interval]) -> bool {
    outer.iter().zip(inner).all(|(outer, inner)| outer.lo <= inner.lo && inner.hi <= outer.hi)
}
