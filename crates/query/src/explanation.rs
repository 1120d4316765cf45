//! What is told of how a read would be carried out.

use crate::source::FieldSource;
use smalti_array::{Plane, Snapshot};
use smalti_types::{ArrayType, Layout, Result};

/// What becomes of a fragment in a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FragmentFate {
    /// Some of its tiles are read.
    Read,
    /// Its non-empty domain does not meet the ranges.
    OutsideRanges,
    /// None of the bounding rectangles of its tiles meets the ranges.
    NoTileMet,
    /// In none of its tiles can a cell fulfil the condition, as their statistics say.
    RuledOut,
}

/// A fragment in the time range of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedFragment {
    /// Its name.
    pub name: String,
    /// What becomes of it.
    pub fate: FragmentFate,
    /// Its tiles.
    pub tile_count: u64,
    /// Those that the ranges meet.
    pub met_tile_count: u64,
    /// Those of them that are read.
    pub read_tile_count: u64,
}

/// How a read puts cells into its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Parts of the result one after the other, each filled from the tiles that it meets.
    DenseParts,
    /// Tile after tile: no cell hides another but its neighbours, and the order is that of the tiles, or none.
    TileByTile,
    /// All cells in memory, sorted by their coordinates.
    SortedAtOnce,
    /// Window after window of the sorted result, as memory allows.
    SortedByWindows,
    /// Stretches of the result one after the other: tile after tile where fragments do not interleave, sorted where they do, or slab after slab
    /// of the dimension on which the order goes slowest.
    Stretches,
    /// Nothing is left to read.
    Nothing,
}

impl Strategy {
    /// The strategy in words.
    pub fn describe(self) -> &'static str {
        match self {
            Strategy::DenseParts => {
                "parts of the result one after the other, each from the tiles that it meets"
            }
            Strategy::TileByTile => "tile after tile; no cell hides another, and none is sorted",
            Strategy::SortedAtOnce => "all cells at once, sorted by their coordinates",
            Strategy::SortedByWindows => "window after window of the sorted result, as memory allows",
            Strategy::Stretches => {
                "stretch after stretch; tile after tile where fragments do not interleave, sorted where they do"
            }
            Strategy::Nothing => "nothing is left to read",
        }
    }
}

/// How a read would be carried out. Of the figures, bytes and requests count every tile once; a read with little memory may
/// fetch some again, and one that finds no cell in a tile leaves out the tile's other fields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// Dense or sparse.
    pub array_type: ArrayType,
    /// The order of the result.
    pub layout: Layout,
    /// How it comes about.
    pub strategy: Strategy,
    /// Fragments that are outside the time range.
    pub fragments_outside_time: u64,
    /// The fragments in the time range, oldest first.
    pub fragments: Vec<ExplainedFragment>,
    /// Delete conditions that cells are asked for.
    pub delete_count: u64,
    /// Bytes of data files to read.
    pub byte_len: u64,
    /// Ranges of data files to ask the store for.
    pub request_count: u64,
    /// How often a store far away has to be waited for at least, until it answered them: those of a step of the read, or of a share of
    /// its tiles, go out together. A near store is asked by each thread for one tile after the other.
    pub round_count: u64,
    /// The memory that the read may hold.
    pub memory_byte_len: u64,
}

impl Explanation {
    /// Tiles that are read, over all fragments.
    pub fn read_tile_count(&self) -> u64 {
        self.fragments.iter().map(|fragment| fragment.read_tile_count).sum()
    }
}

/// The requests for a tile of a field, and their bytes.
pub(crate) fn stored_cost(source: &FieldSource, tile_idx: usize) -> Result<(u64, u64)> {
    let shape = source.codec.shape();
    let (mut requests, mut bytes) = (0, 0);
    let planes = [(Plane::Fixed, true), (Plane::Var, shape.is_var()), (Plane::Validity, shape.is_nullable)];
    for (plane, _) in planes.into_iter().filter(|(_, is_there)| *is_there) {
        let place = source.fragment.tile_place(source.field, plane, tile_idx)?;
        requests += 1;
        bytes = u64::saturating_add(bytes, place.end - place.start);
    }
    Ok((requests, bytes))
}

/// Explanations start from here.
pub(crate) fn blank(snapshot: &Snapshot, layout: Layout, strategy: Strategy) -> Explanation {
    Explanation {
        array_type: snapshot.schema().array_type,
        layout,
        strategy,
        fragments_outside_time: 0,
        fragments: Vec::new(),
        delete_count: snapshot.delete_count() as u64,
        byte_len: 0,
        request_count: 0,
        round_count: 0,
        memory_byte_len: 0,
    }
}
