//! Where the order of a read has clear cuts: stretches of it that share no place with each other.
//!
//! The bounding rectangles of tiles bound the keys of their cells. Where the tiles up to a place end before all others
//! begin, the result is what the former give, followed by what the latter give, and no cell of the one can hide a cell of the
//! other. So fragments that were appended one behind the other are read tile after tile, without a key for each cell, and
//! only the tiles that interleave are sorted, stretch by stretch.

use super::order::cell_order;
use super::plan::{SparsePlan, Stretch, TileRef};
use crate::request::{DEFAULT_BATCH_CELL_COUNT, ReadRequest};
use smalti_array::Leaves;
use smalti_format::{Dimension, Rule};
use smalti_space::{
    Column as CoordColumn, Interval, KeyLayout, OrderKeys, Permutation, RectIndex, UNSTOPPED, sort_cells,
    stored_mbr_interval,
};
use smalti_types::{Datatype, Extent, ExtentRef, Layout, Result, Scalar};
use std::cmp::Ordering;

/// Cells up to which a stretch is sorted together with its neighbour, unless batches are smaller: fewer are not worth a step
/// of their own.
const LEAST_SORTED_CELL_COUNT: usize = 1 << 16;

/// An end of a tile's bounding rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Corner {
    Least,
    Greatest,
}

impl SparsePlan {
    /// Numbers the groups of tiles between which the order has clear cuts, and notes the tiles whose cells others may hide.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn group_tiles(&mut self) -> Result<()> {
        let keeps_all = !self.drops_repeats();
        if !(keeps_all && self.layout == Layout::Unordered) {
            for (slot, group) in self.groups()?.into_iter().enumerate() {
                self.tiles[slot].group = group;
            }
        }
        if keeps_all {
            return Ok(());
        }
        let group_count = self.tiles.iter().map(|tile| tile.group as usize + 1).max().unwrap_or(0);
        let mut fragments: Vec<Vec<usize>> = vec![Vec::new(); group_count];
        for tile in &self.tiles {
            let fragments = &mut fragments[tile.group as usize];
            if fragments.last() != Some(&tile.fragment_idx) {
                fragments.push(tile.fragment_idx);
            }
        }
        let hides: Vec<bool> = fragments.iter().map(|fragments| self.may_hide(fragments)).collect();
        let side_by_side: Vec<bool> = fragments
            .iter()
            .zip(&hides)
            .map(|(fragments, hides)| {
                matches!(&fragments[..], [only] if *hides && self.has_versions_side_by_side(*only))
            })
            .collect();
        for tile in &mut self.tiles {
            tile.hides = hides[tile.group as usize];
            tile.is_side_by_side = side_by_side[tile.group as usize];
        }
        Ok(())
    }

    /// Whether a cell of one of some fragments may have the coordinates of one of another, or, in a fragment with times of
    /// its own, of one of the same.
    fn may_hide(&self, fragments: &[usize]) -> bool {
        if fragments.iter().any(|&idx| self.fragments[idx].timestamps.is_some()) {
            return true;
        }
        let domains = fragments.iter().map(|&idx| self.fragments[idx].fragment.non_empty_domain());
        let rects = rects_of(&domains.collect::<Vec<_>>(), self.snapshot.schema().dimensions.len());
        let index = RectIndex::new(self.snapshot.schema().dimensions.len(), rects.iter().map(Vec::as_slice));
        // Each meets itself.
        rects.iter().any(|rect| index.meeting(rect).nth(1).is_some())
    }

    /// The group of each tile, in the order of the read; one for all where the rectangles say nothing about it.
    fn groups(&self) -> Result<Vec<u32>> {
        let schema = self.snapshot.schema();
        let is_global = !matches!(self.layout, Layout::RowMajor | Layout::ColMajor);
        let mut groups = vec![0; self.tiles.len()];
        let is_unknown = (is_global && schema.cell_order == Layout::Hilbert)
            || self.fragments.iter().any(|fragment| fragment.fragment.version().has(Rule::UnsoundBounds));
        if is_unknown || self.tiles.len() < 2 || (is_global && self.fragments.len() == 1) {
            return Ok(groups);
        }
        let bounds = vec![Interval::ALL; schema.dimensions.len()];
        let layout = KeyLayout::new(&cell_order(schema, self.layout)?, &bounds)?;
        let slots: Vec<u32> = (0..self.tiles.len() as u32).collect();
        let lows = self.corner_keys(&layout, &slots, Corner::Least)?;
        let highs = self.corner_keys(&layout, &slots, Corner::Greatest)?;
        let is_open =
            (0..slots.len()).map(|slot| self.is_open(&self.tiles[slot])).collect::<Result<Vec<_>>>()?;
        // By tile, the tile whose bound is taken; no upper bound where the rectangle is open.
        let mut low_of: Vec<usize> = (0..slots.len()).collect();
        let mut high_of: Vec<Option<usize>> =
            is_open.iter().enumerate().map(|(slot, is_open)| (!is_open).then_some(slot)).collect();
        if is_global {
            // The tiles of a fragment follow each other in this order: none begins before, or ends behind, its neighbour.
            for (slot, pair) in self.tiles.windows(2).enumerate() {
                if pair[0].fragment_idx == pair[1].fragment_idx
                    && lows.compare(low_of[slot], &lows, slot + 1) == Ordering::Greater
                {
                    low_of[slot + 1] = low_of[slot];
                }
            }
            for (slot, pair) in self.tiles.windows(2).enumerate().rev() {
                if pair[0].fragment_idx == pair[1].fragment_idx
                    && let Some(next) = high_of[slot + 1]
                    && high_of[slot].is_none_or(|own| highs.compare(own, &highs, next) == Ordering::Greater)
                {
                    high_of[slot] = Some(next);
                }
            }
        }
        let mut order: Vec<usize> = (0..slots.len()).collect();
        order.sort_by(|&a, &b| lows.compare(low_of[a], &lows, low_of[b]));
        let (mut group, mut reach): (u32, Option<usize>) = (0, order.first().and_then(|&slot| high_of[slot]));
        let mut is_unbounded = order.first().is_some_and(|&slot| high_of[slot].is_none());
        for &slot in &order {
            let is_behind = |reach: usize| highs.compare(reach, &lows, low_of[slot]) == Ordering::Less;
            if !is_unbounded && reach.is_some_and(is_behind) {
                group += 1;
                reach = high_of[slot];
            }
            match (high_of[slot], reach) {
                (None, _) => is_unbounded = true,
                (Some(high), Some(furthest))
                    if highs.compare(high, &highs, furthest) == Ordering::Greater =>
                {
                    reach = Some(high);
                }
                _ => {}
            }
            groups[slot] = group;
        }
        Ok(groups)
    }

    /// Puts the tiles into the order of their groups and cuts them into stretches.
    pub(super) fn cut_into_stretches(&mut self) {
        let group_count = self.tiles.iter().map(|tile| tile.group as usize + 1).max().unwrap_or(0);
        let mut first_fragments: Vec<Option<usize>> = vec![None; group_count];
        let mut is_stored = vec![true; group_count];
        for tile in &self.tiles {
            let first = *first_fragments[tile.group as usize].get_or_insert(tile.fragment_idx);
            is_stored[tile.group as usize] &= (!tile.hides || tile.is_side_by_side)
                && match self.layout {
                    Layout::Unordered => true,
                    Layout::GlobalOrder => first == tile.fragment_idx,
                    _ => false,
                };
        }
        // Without an order all that needs no sorting comes first, fragment by fragment, as they were written.
        let is_ordered = self.layout != Layout::Unordered;
        let rank = |tile: &TileRef| match is_stored[tile.group as usize] {
            true if !is_ordered => 0,
            _ => tile.group + 1,
        };
        let last = self.fragments.len();
        let age = |tile: &TileRef| if is_ordered { tile.fragment_idx } else { last - tile.fragment_idx };
        self.tiles.sort_by_key(|tile| (rank(tile), age(tile), tile.tile_idx));
        let mut stretches: Vec<Stretch> = Vec::new();
        for run in self.tiles.chunk_by(|a, b| rank(a) == rank(b)) {
            let start = stretches.last().map_or(0, |stretch| stretch.tiles.end);
            let next = Stretch {
                tiles: start..start + run.len(),
                is_stored: is_stored[run[0].group as usize],
                cell_count: run.iter().map(|tile| tile.cell_count).fold(0, usize::saturating_add),
            };
            match stretches.last_mut() {
                Some(last) if self.go_together(last, &next) => {
                    last.tiles.end = next.tiles.end;
                    last.is_stored &= next.is_stored;
                    last.cell_count = last.cell_count.saturating_add(next.cell_count);
                }
                _ => stretches.push(next),
            }
        }
        for stretch in stretches.iter().filter(|stretch| !stretch.is_stored) {
            // Newest fragments first, as ties are decided.
            self.tiles[stretch.tiles.clone()].sort_by_key(|tile| (tile.fragment_idx, tile.tile_idx));
        }
        self.stretches = stretches;
    }

    /// Whether a stretch is read together with the one behind it. The order of cells does not depend on it.
    fn go_together(&self, stretch: &Stretch, next: &Stretch) -> bool {
        let is_short = stretch.cell_count.saturating_add(next.cell_count) <= self.least_sorted_cell_count;
        match (stretch.is_stored, next.is_stored) {
            (true, true) => true,
            (false, false) => is_short,
            _ => is_short && self.layout != Layout::Unordered,
        }
    }

    /// Whether the bounding rectangle of a tile has no greatest corner.
    pub(super) fn is_open(&self, tile: &TileRef) -> Result<bool> {
        let dimensions = &self.snapshot.schema().dimensions;
        if !dimensions.iter().any(Dimension::is_var) {
            return Ok(false);
        }
        let leaves = self.fragments[tile.fragment_idx].fragment.tile_tree()?.leaves()?;
        for dim in 0..dimensions.len() {
            if matches!(leaves.extent(tile.tile_idx, dim)?, ExtentRef::Str { hi: None, .. }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The keys of a corner of tiles' bounding rectangles: no cell of the tile has a lesser, or a greater one.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn corner_keys(&self, layout: &KeyLayout, slots: &[u32], corner: Corner) -> Result<OrderKeys> {
        let dimensions = &self.snapshot.schema().dimensions;
        let (mut bytes, mut starts) =
            (vec![Vec::new(); dimensions.len()], vec![Vec::new(); dimensions.len()]);
        let mut of_fragment: Option<(usize, Leaves<'_>)> = None;
        for &slot in slots {
            let tile = &self.tiles[slot as usize];
            let leaves = match &of_fragment {
                Some((idx, leaves)) if *idx == tile.fragment_idx => leaves,
                _ => {
                    let leaves = self.fragments[tile.fragment_idx].fragment.tile_tree()?.leaves()?;
                    &of_fragment.insert((tile.fragment_idx, leaves)).1
                }
            };
            for (dim, dimension) in dimensions.iter().enumerate() {
                starts[dim].push(bytes[dim].len() as u64);
                match leaves.extent(tile.tile_idx, dim)? {
                    ExtentRef::Num { lo, hi } => {
                        let bounds = both_zeros(dimension.datatype, Interval { lo, hi });
                        let ordinal = if corner == Corner::Least { bounds.lo } else { bounds.hi };
                        bytes[dim].extend_from_slice(&dimension.datatype.bytes_of_ordinal(ordinal));
                    }
                    ExtentRef::Str { lo, hi } => {
                        bytes[dim].extend_from_slice(match corner {
                            Corner::Least => lo,
                            Corner::Greatest => hi.unwrap_or_default(),
                        });
                    }
                }
            }
        }
        let columns = dimensions
            .iter()
            .enumerate()
            .map(|(dim, dimension)| match dimension.is_var() {
                true => CoordColumn::strings(&starts[dim], &bytes[dim]),
                false => CoordColumn::numbers(dimension.datatype, &bytes[dim]),
            })
            .collect::<Result<Vec<_>>>()?;
        layout.keys(&columns, UNSTOPPED)
    }

    /// The tiles of a stretch by the least key that they can hold, and these keys.
    ///
    /// # Errors
    /// As [`corner_keys`](SparsePlan::corner_keys).
    pub(super) fn by_least_key(&self, layout: &KeyLayout, slots: &[u32]) -> Result<(Vec<u32>, OrderKeys)> {
        let lows = self.corner_keys(layout, slots, Corner::Least)?;
        let sorted: Permutation = sort_cells(&lows, UNSTOPPED)?;
        Ok((sorted.iter().map(|at| slots[at]).collect(), lows.permuted(&sorted)))
    }
}

/// Rectangles that meet where some domains do: text becomes its place among all texts that bound one of them.
fn rects_of(domains: &[&[Extent]], dim_count: usize) -> Vec<Vec<Interval>> {
    let mut rects = vec![Vec::with_capacity(dim_count); domains.len()];
    for dim in 0..dim_count {
        let sides = || domains.iter().map(|domain| domain.get(dim).map(Extent::as_ref));
        let mut texts: Vec<&[u8]> = sides()
            .flat_map(|side| match side {
                Some(ExtentRef::Str { lo, hi }) => [Some(lo), hi],
                _ => [None, None],
            })
            .flatten()
            .collect();
        texts.sort_unstable();
        texts.dedup();
        let place = |text: &[u8]| texts.partition_point(|other| *other < text) as u64;
        for (rect, side) in rects.iter_mut().zip(sides()) {
            rect.push(match side {
                Some(ExtentRef::Num { lo, hi }) => Interval { lo, hi },
                Some(ExtentRef::Str { lo, hi }) => Interval { lo: place(lo), hi: hi.map_or(u64::MAX, place) },
                None => Interval::ALL,
            });
        }
    }
    rects
}

/// The bounds of a tile along a dimension with unknown ends opened, and both zeros inside where one of them is an end: which
/// of the two a writer kept says nothing about the cells.
pub(super) fn both_zeros(datatype: Datatype, stored: Interval) -> Interval {
    let bounds = stored_mbr_interval(datatype, stored);
    let zero = match datatype {
        Datatype::Float32 => Scalar::F32(0.0).ordinal(),
        Datatype::Float64 => Scalar::F64(0.0).ordinal(),
        _ => return bounds,
    };
    Interval {
        lo: if bounds.lo == zero { zero - 1 } else { bounds.lo },
        hi: if bounds.hi == zero - 1 { zero } else { bounds.hi },
    }
}

/// Cells up to which a stretch that has to be sorted goes with its neighbour.
pub(super) fn least_sorted_cell_count(request: &ReadRequest) -> usize {
    let limit = request.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    request.batch_cell_count.unwrap_or(DEFAULT_BATCH_CELL_COUNT).min(LEAST_SORTED_CELL_COUNT).min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_meet_as_their_rectangles_do() {
        let text = |lo: &str, hi: Option<&str>| Extent::Str {
            lo: lo.as_bytes().into(),
            hi: hi.map(|hi| hi.as_bytes().into()),
        };
        let texts = [
            text("a", Some("c")),
            text("c", Some("d")),
            text("ca", None),
            text("", Some("")),
            text("b", Some("bb")),
            text("x", Some("z")),
        ];
        let numbers = [(0, 5), (5, 6), (7, u64::MAX), (1, 1)].map(|(lo, hi)| Extent::Num { lo, hi });
        let domains: Vec<Vec<Extent>> = texts
            .iter()
            .flat_map(|text| numbers.iter().map(|number| vec![text.clone(), number.clone()]))
            .collect();
        let domains: Vec<&[Extent]> = domains.iter().map(Vec::as_slice).collect();
        let rects = rects_of(&domains, 2);
        for (a, first) in domains.iter().zip(&rects) {
            for (b, second) in domains.iter().zip(&rects) {
                let overlap = a.iter().zip(*b).all(|(a, b)| a.as_ref().overlaps(b.as_ref()));
                let rects_meet = first.iter().zip(second).all(|(a, b)| a.overlaps(*b));
                assert_eq!(overlap, rects_meet, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn both_zeros_lie_in_a_rectangle_that_ends_at_one() {
        let ordinal = |value: f64| Scalar::F64(value).ordinal();
        let stored = Interval { lo: ordinal(0.0), hi: ordinal(1.0) };
        assert_eq!(both_zeros(Datatype::Float64, stored).lo, ordinal(-0.0));
        let stored = Interval { lo: ordinal(-1.0), hi: ordinal(-0.0) };
        assert_eq!(both_zeros(Datatype::Float64, stored).hi, ordinal(0.0));
        let integers = Interval { lo: 0, hi: ordinal(-0.0) };
        assert_eq!(both_zeros(Datatype::Int64, integers), integers);
    }
}
