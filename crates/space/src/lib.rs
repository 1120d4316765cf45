//! Arithmetic of array space: tile grids, box copies, cell orders and their sort keys, the Hilbert curve,
//! range selection, rectangles and R-trees.
//!
//! Pure computation: no I/O, no file layout. Coordinates are [ordinals](smalti_types::Physical::ordinal), which keep
//! the order of every type in `u64`; types matter only where columns of cells are read and where the format itself
//! computes in the dimension's type (tile numbers of float dimensions, Hilbert buckets).
//!
//! | question | answer |
//! |---|---|
//! | which tile holds a cell, which tiles meet a rectangle | [`TileGrid`], [`TileBlock`], [`TileWalk`] |
//! | where is a cell inside its tile | [`strides`], [`Geometry`] |
//! | move a box of cells between two buffers | [`copy_box`], [`fill_box`], [`box_runs`] |
//! | the same for several ranges on each dimension | [`Cross`] |
//! | in which order do sparse cells come | [`CellOrder`], [`KeyLayout`], [`OrderKeys`], [`Permutation`] |
//! | which cells do ranges select | [`RangeSet`], [`select_cells`], [`BitMask`]; which need not be looked at: [`Zones`] |
//! | which tiles do ranges select | [`RTree`] |
//! | which of many rectangles meet one, the last first | [`RectIndex`] |
//! | what bounds some cells | [`tile_mbrs`], [`column_bounds`], [`hull`] |
#![forbid(unsafe_code)]

mod block;
mod box_plan;
mod check;
mod column;
mod copy;
mod cross;
mod grid;
mod hilbert;
mod hilbert_bucket;
mod interval;
mod key_fields;
mod key_layout;
mod keys;
mod mask;
mod mbr;
mod merge_sort;
mod order;
mod permutation;
mod radix;
mod ranges;
mod rect_index;
mod rtree;
mod select;
mod sort;
mod strides;
mod tile_number;
mod transpose;
mod zones;

pub use block::{TileBlock, TileWalk};
pub use box_plan::{BoxRuns, box_runs};
pub use check::{CELLS_BETWEEN_CHECKS, Check, Pace, UNSTOPPED};
pub use column::Column;
pub use copy::{copy_box, fill_box};
pub use cross::{Cross, Stretch};
pub use grid::{GridDim, TileGrid};
pub use hilbert::Hilbert;
pub use hilbert_bucket::hilbert_values;
pub use interval::{Interval, cell_count, intersect_rects};
pub use key_layout::KeyLayout;
pub use keys::OrderKeys;
pub use mask::{BitMask, MaskRuns};
pub use mbr::{column_bounds, column_extent, hull, stored_mbr_interval, tile_mbrs};
pub use merge_sort::{merge_runs, sort_items};
pub use order::{CellOrder, OrderDim};
pub use permutation::Permutation;
pub use ranges::RangeSet;
pub use rect_index::{RectIndex, RectsMet};
pub use rtree::{GROUP_NODE_COUNT, RTree, TileHit, TreeLevel, search_levels};
pub use select::{select_cells, select_column, select_places};
pub use sort::{SortedCells, SortedKeys, sort_cells};
pub use strides::{Geometry, strides};
pub use zones::Zones;
