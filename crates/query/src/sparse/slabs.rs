//! Slabs of an ordered stretch: parts of the result, one behind the other, that are sorted one at a time.
//!
//! In row-major and column-major order cells follow each other by their coordinate on one dimension first. A slab is an interval of it.
//! The bounding rectangles of tiles tell which of them may have cells there. A tile is decoded for the first slab that it
//! meets, and held until the last one; where tiles do not reach across many slabs a read holds a few of them at a
//! time, and not all. Intervals end where tiles begin, and not before a good part of the tiles that are held has ended: each slab
//! looks at all cells of these, so that few cells are looked at more than a few times.

use super::ordered::{Found, OrderedCells};
use super::part::less_zero;
use super::plan::{Slab, SparsePlan, Stretch, TileRef};
use super::select::{Selection, coord_column};
use super::stretches::both_zeros;
use crate::gather::Room;
use crate::request::Batch;
use smalti_format::Rule;
use smalti_space::{BitMask, Interval, select_places};
use smalti_types::{ExtentRef, Layout, Result};
use std::collections::HashMap;
use std::vec;

/// Cells of tiles that end in a slab, at least.
const LEAST_CELL_COUNT: usize = 1 << 16;

/// One in so many of the cells of all tiles of a slab, at least, are of tiles that end in it.
const LEAST_ENDED: usize = 4;

/// About how many cells of a slab a thread sorts at a time: so many that they stay in its cache.
const PIECE_CELL_COUNT: usize = 1 << 14;

/// The most pieces of a slab: each looks at all cells of the tiles that reach into it.
const MAX_PIECE_COUNT: usize = 8;

/// Where a read is in the slabs of a stretch.
pub(crate) struct Slabs {
    slabs: vec::IntoIter<Slab>,
    /// Whether the tiles of the whole stretch were asked for.
    are_announced: bool,
    current: OrderedCells,
    /// What was decoded of tiles that the next slab meets as well.
    held: HashMap<u32, Found>,
}

impl Slabs {
    /// Whether nothing is left of the stretch.
    pub(super) fn is_over(&self) -> bool {
        self.slabs.as_slice().is_empty() && self.current.is_over()
    }
}

impl SparsePlan {
    /// Divides a stretch into slabs, or into one where its order or its tiles allow no more.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn slabs_of(&self, stretch: &Stretch) -> Result<Vec<Slab>> {
        let whole = || {
            let tiles = stretch.tiles.start as u32..stretch.tiles.end as u32;
            vec![Slab { tiles: tiles.collect(), pieces: Vec::new() }]
        };
        let tiles = &self.tiles[stretch.tiles.clone()];
        let Some(along) = self.slab_dimension().filter(|_| stretch.cell_count > LEAST_CELL_COUNT) else {
            return Ok(whole());
        };
        // Deletes and conditions are asked once of each tile.
        let is_unfit = |tile: &TileRef| {
            let version = self.fragments[tile.fragment_idx].fragment.version();
            version.has(Rule::UnsoundBounds) || (self.has_predicates() && tile.hides)
        };
        if tiles.iter().any(is_unfit) {
            return Ok(whole());
        }
        let mut sides = Vec::with_capacity(tiles.len());
        for (slot, tile) in stretch.tiles.clone().zip(tiles) {
            sides.push((self.side_of(tile, along)?, slot as u32));
        }
        sides.sort_unstable_by_key(|(side, slot)| (side.lo, *slot));
        let mut slabs: Vec<Slab> = Vec::new();
        let mut open: Vec<(Interval, u32)> = Vec::new();
        let (mut from, mut begun, mut held) = (0, 0_usize, 0_usize);
        for (side, slot) in sides {
            let least = LEAST_CELL_COUNT.max(held / LEAST_ENDED);
            if begun >= least && side.lo > from {
                // Where it is too early for an end it is not asked again before as many cells more, so that all of it is asked of each tile a few times.
                begun = 0;
                let ended = open.iter().filter(|(other, _)| other.hi < side.lo);
                let ended = self.cell_count_of(ended.map(|(_, slot)| *slot));
                if ended >= least {
                    slabs.push(self.slab(&open, Interval { lo: from, hi: side.lo - 1 }, along));
                    open.retain(|(other, _)| other.hi >= side.lo);
                    (from, held) = (side.lo, held.saturating_sub(ended));
                }
            }
            let cell_count = self.tiles[slot as usize].cell_count;
            (begun, held) = (begun.saturating_add(cell_count), held.saturating_add(cell_count));
            open.push((side, slot));
        }
        if slabs.is_empty() {
            return Ok(whole());
        }
        slabs.push(self.slab(&open, Interval { lo: from, hi: u64::MAX }, along));
        Ok(slabs)
    }

    fn cell_count_of(&self, slots: impl Iterator<Item = u32>) -> usize {
        slots.map(|slot| self.tiles[slot as usize].cell_count).fold(0, usize::saturating_add)
    }

    /// The dimension on which the order goes slowest, if it has numbers.
    fn slab_dimension(&self) -> Option<usize> {
        let dimensions = &self.snapshot.schema().dimensions;
        let slowest = match self.layout {
            Layout::RowMajor => 0,
            Layout::ColMajor => dimensions.len().checked_sub(1)?,
            _ => return None,
        };
        (!dimensions[slowest].is_var()).then_some(slowest)
    }

    /// The places on a dimension of numbers at which a tile may have cells. No interval begins between the two zeros.
    fn side_of(&self, tile: &TileRef, dim: usize) -> Result<Interval> {
        let leaves = self.fragments[tile.fragment_idx].fragment.tile_tree()?.leaves()?;
        Ok(match leaves.extent(tile.tile_idx, dim)? {
            ExtentRef::Num { lo, hi } => {
                both_zeros(self.snapshot.schema().dimensions[dim].datatype, Interval { lo, hi })
            }
            ExtentRef::Str { .. } => Interval::ALL,
        })
    }

    /// Whether each slab, decoded and in order, fits in the budget.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn holds_each(&self, slabs: &[Slab]) -> Result<bool> {
        for slab in slabs {
            let tiles = slab.tiles.iter().map(|slot| &self.tiles[*slot as usize]);
            if !self.holds_at_once(tiles)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Readies the read of a stretch in slabs.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn begin_slabs(&self, stretch: &Stretch, slabs: Vec<Slab>) -> Result<Slabs> {
        let are_announced = slabs.len() == 1 || self.holds_at_once(&self.tiles[stretch.tiles.clone()])?;
        if are_announced {
            self.run_ahead(stretch.tiles.clone());
        }
        Ok(Slabs {
            slabs: slabs.into_iter(),
            are_announced,
            current: OrderedCells::default(),
            held: HashMap::new(),
        })
    }

    /// The next cells of a stretch in slabs, into `rooms` where they hold them; `None` at the end.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(super) fn next_of_slabs(
        &self,
        slabs: &mut Slabs,
        max_cell_count: usize,
        rooms: &mut [Room<'_>],
    ) -> Result<Option<Batch>> {
        loop {
            if let Some(batch) = self.next_ordered(&mut slabs.current, max_cell_count, rooms)? {
                return Ok(Some(batch));
            }
            // What the last slab holds goes before the next one takes memory.
            slabs.current = OrderedCells::default();
            let Some(slab) = slabs.slabs.next() else { return Ok(None) };
            if !slabs.are_announced {
                let is_new = |slot: &&u32| !slabs.held.contains_key(*slot);
                self.announce_group(slab.tiles.iter().filter(is_new).map(|slot| *slot as usize));
            }
            slabs.current = self.ordered_cells(&slab, &mut slabs.held)?;
        }
    }

    /// A slab of some tiles, in pieces that have about as many cells each if those of tiles lie evenly.
    fn slab(&self, open: &[(Interval, u32)], within: Interval, along: usize) -> Slab {
        let datatype = self.snapshot.schema().dimensions[along].datatype;
        let hull = open.iter().fold(Interval { lo: u64::MAX, hi: 0 }, |hull, (side, _)| Interval {
            lo: hull.lo.min(side.lo),
            hi: hull.hi.max(side.hi),
        });
        let (lo, hi) = (within.lo.max(hull.lo), within.hi.min(hull.hi));
        let cells_of = |(side, slot): &(Interval, u32)| {
            let cell_count = self.tiles[*slot as usize].cell_count as f64;
            let inside = side.hi.min(hi).saturating_sub(side.lo.max(lo)) as f64 + 1.0;
            cell_count * inside / (side.hi.saturating_sub(side.lo) as f64 + 1.0)
        };
        let cell_count = open.iter().map(cells_of).sum::<f64>() as usize;
        let count = cell_count.div_ceil(PIECE_CELL_COUNT).clamp(1, MAX_PIECE_COUNT) as u64;
        let mut pieces: Vec<Interval> = Vec::new();
        let mut from = within.lo;
        for at in 1..count {
            let begin = less_zero(datatype, lo + (hi.saturating_sub(lo) / count) * at);
            if begin > from {
                pieces.push(Interval { lo: from, hi: begin - 1 });
                from = begin;
            }
        }
        pieces.push(Interval { lo: from, hi: within.hi });
        let mut tiles: Vec<u32> = open.iter().map(|(_, slot)| *slot).collect();
        // Newest fragments first, as ties are decided.
        tiles.sort_unstable();
        Slab { tiles, pieces }
    }

    /// Of the wanted cells of a tile those in a piece of a slab.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn select_piece(&self, tile: &TileRef, all: &Selection, piece: Interval) -> Result<Selection> {
        let mut selection = all.clone();
        let Some(along) = self.slab_dimension() else { return Ok(selection) };
        let side = self.side_of(tile, along)?;
        if piece.hi < side.lo || side.hi < piece.lo {
            (selection.mask, selection.count) = (Some(BitMask::zeros(tile.cell_count)), 0);
        } else if let (Some(column), false) =
            (&selection.coords[along], piece.lo <= side.lo && side.hi <= piece.hi)
        {
            let datatype = self.snapshot.schema().dimensions[along].datatype;
            let mut mask = selection.mask.take().unwrap_or_else(|| BitMask::ones(tile.cell_count));
            select_places(&coord_column(column, datatype)?, piece, &mut mask)?;
            selection.count = mask.count();
            selection.mask = Some(mask).filter(|_| selection.count < tile.cell_count);
        }
        Ok(selection)
    }

    /// Whether a tile reaches into the slab behind one.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn goes_on(&self, tile: &TileRef, slab: &Slab) -> Result<bool> {
        let (Some(last), Some(along)) = (slab.pieces.last(), self.slab_dimension()) else { return Ok(false) };
        Ok(self.side_of(tile, along)?.hi > last.hi)
    }
}
