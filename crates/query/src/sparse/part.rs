//! A part of the order of a sparse read: its tiles, its cells, and where an order is best divided.
//!
//! A part is to the order what a range is to a dimension: tiles that lie outside by their bounding rectangles are left out, of
//! those that may lie across an end the coordinates are decoded, and all versions of a cell lie in the same part. So parts that follow
//! each other give the cells of the whole order, each once.

use super::cost::TileCost;
use super::key_range::{KeyRange, is_bounded, key_layout, keys_of, order_of_parts};
use super::order::is_one_tile;
use super::plan::{SparseFragment, SparsePlan, TileRef};
use super::select::coord_column;
use super::stretches::Corner;
use crate::part::{Coordinate, OrderPart};
use smalti_format::Rule;
use smalti_space::{BitMask, CELLS_BETWEEN_CHECKS, OrderKeys, UNSTOPPED, sort_cells};
use smalti_tile::Column;
use smalti_types::{Datatype, ExtentRef, Layout, Result, Scalar};
use std::cmp::Ordering;
use std::sync::Arc;

/// Places that are looked at for each part where tiles are few.
const PLACES_PER_PART: usize = 8;

/// Places that are looked at within one tile at most.
const MAX_PLACES_PER_TILE: usize = 64;

/// Places that are looked at in all, unless there are more tiles.
const MAX_PLACE_COUNT: usize = 1 << 20;

impl SparsePlan {
    /// Leaves out the tiles outside the wanted part of the order, and notes those that lie in it as a whole.
    ///
    /// # Errors
    /// `InvalidArgument` for a part of another array; `Corrupt` and `Permission` from the metadata.
    pub(super) fn narrow_to_part(&mut self, part: Option<&OrderPart>) -> Result<()> {
        let Some(part) = part.filter(|part| **part != OrderPart::default()) else { return Ok(()) };
        let range = KeyRange::new(&self.snapshot, self.layout, part)?;
        let is_sound = |plan: &SparsePlan, tile: &TileRef| {
            range.is_bounded && !plan.fragments[tile.fragment_idx].fragment.version().has(Rule::UnsoundBounds)
        };
        let slots: Vec<u32> = (0..self.tiles.len() as u32).collect();
        let (lows, highs) = match range.is_bounded {
            true => (
                self.corner_keys(&range.layout, &slots, Corner::Least)?,
                self.corner_keys(&range.layout, &slots, Corner::Greatest)?,
            ),
            false => (OrderKeys::U64(Vec::new()), OrderKeys::U64(Vec::new())),
        };
        let mut is_met = Vec::with_capacity(self.tiles.len());
        for slot in 0..self.tiles.len() {
            let tile = self.tiles[slot];
            if !is_sound(self, &tile) {
                self.tiles[slot].is_in_part = false;
                is_met.push(true);
                continue;
            }
            let is_open = self.is_open(&tile)?;
            is_met.push(range.ends_behind(&lows, slot) && (is_open || range.begins_before(&highs, slot)));
            self.tiles[slot].is_in_part = range.begins_before(&lows, slot)
                && (range.until.is_none() || (!is_open && range.ends_behind(&highs, slot)));
        }
        let mut is_met = is_met.into_iter();
        self.tiles.retain(|_| is_met.next().unwrap_or(false));
        self.part = Some(range);
        Ok(())
    }

    /// Leaves out the cells of a tile that lie outside the wanted part of the order.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(super) fn select_by_part(
        &self,
        tile: &TileRef,
        coords: &mut [Option<Arc<Column>>],
        mask: &mut Option<BitMask>,
    ) -> Result<()> {
        let Some(range) = &self.part else { return Ok(()) };
        if mask.as_ref().is_some_and(|mask| !mask.any()) {
            return Ok(());
        }
        let sources = &self.fragments[tile.fragment_idx].dims;
        for (source, column) in sources.iter().zip(coords.iter_mut()) {
            if column.is_none() {
                *column = Some(self.tile_column(source, tile)?);
            }
        }
        let columns = coords.iter().flatten().zip(sources);
        let columns = columns.map(|(column, source)| coord_column(column, source.codec.shape().datatype));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let keys = range.layout.keys(&columns, &|| self.fetch.check())?;
        let mask = mask.get_or_insert_with(|| BitMask::ones(tile.cell_count));
        for cell in 0..tile.cell_count.min(keys.len()) {
            if cell.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            if !(range.begins_before(&keys, cell) && range.ends_behind(&keys, cell)) {
                mask.unset(cell);
            }
        }
        Ok(())
    }

    /// Divides the order of the read into at most so many parts that take about as many bytes each, and tells how many. They begin where
    /// tiles may begin; where tiles are few, within them. An order of which rectangles say nothing stays whole: that of a Hilbert curve, and
    /// of fragments with unsound bounds, whose cells may not even be stored in it.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn divided(&self, count: usize) -> Result<Vec<(OrderPart, u64)>> {
        let schema = self.snapshot.schema();
        let layout = order_of_parts(schema, self.layout);
        let weight = |tile: &TileRef| {
            let TileCost { coords, fields, .. } = self.cost(tile)?;
            Ok(coords.saturating_add(fields))
        };
        let weights = self.tiles.iter().map(weight).collect::<Result<Vec<u64>>>()?;
        let total = weights.iter().fold(0, |sum: u64, weight| sum.saturating_add(*weight));
        let is_unsound = |fragment: &SparseFragment| fragment.fragment.version().has(Rule::UnsoundBounds);
        let is_known = is_bounded(schema, layout) && !self.fragments.iter().any(is_unsound);
        if count < 2 || self.tiles.is_empty() || !is_known {
            return Ok(vec![(OrderPart::default(), total)]);
        }
        let slowest = self.slowest_dimension(layout)?;
        let tiles_per_fragment = self.tiles.len().div_ceil(self.fragments.len().max(1));
        let wanted = count.saturating_mul(PLACES_PER_PART).div_ceil(tiles_per_fragment);
        let places_per_tile = wanted.min(MAX_PLACES_PER_TILE).min(MAX_PLACE_COUNT / self.tiles.len()).max(1);
        let (mut places, mut shares) = (Vec::new(), Vec::new());
        for (tile, weight) in self.tiles.iter().zip(weights) {
            let before = places.len();
            self.push_places(tile, slowest, places_per_tile, &mut places)?;
            let added = (places.len() - before).max(1) as u64;
            shares.extend((0..added).map(|_| weight / added));
        }
        let keys = keys_of(schema, &key_layout(schema, layout)?, &places)?;
        let sum = shares.iter().fold(0u128, |sum, share| sum + u128::from(*share)).max(1);
        let mut parts: Vec<(OrderPart, u64)> = vec![(OrderPart::default(), 0)];
        let mut last: Option<usize> = None;
        let mut before = 0u128;
        for at in sort_cells(&keys, UNSTOPPED)?.iter() {
            let is_new = last.is_none_or(|last| keys.compare(at, &keys, last) == Ordering::Greater);
            let is_due = before * count as u128 >= sum * parts.len() as u128;
            if is_new
                && is_due
                && parts.len() < count
                && let Some((part, _)) = parts.last_mut().filter(|_| last.is_some())
            {
                part.until = Some(places[at].clone());
                parts.push((OrderPart { from: Some(places[at].clone()), until: None }, 0));
            }
            if let Some((_, byte_len)) = parts.last_mut() {
                *byte_len = byte_len.saturating_add(shares[at]);
            }
            before += u128::from(shares[at]);
            last = Some(at);
        }
        Ok(parts)
    }

    /// The dimension along which the order goes on slowest, of those along which the tiles differ.
    fn slowest_dimension(&self, layout: Layout) -> Result<usize> {
        let schema = self.snapshot.schema();
        let dimensions = &schema.dimensions;
        let slow_to_fast = |layout: Layout| -> Vec<usize> {
            match layout {
                Layout::ColMajor => (0..dimensions.len()).rev().collect(),
                _ => (0..dimensions.len()).collect(),
            }
        };
        let order = match layout {
            Layout::RowMajor | Layout::ColMajor => slow_to_fast(layout),
            // Space tiles first, the cells in them behind.
            _ => {
                let mut order = slow_to_fast(schema.tile_order);
                order.retain(|&dim| !is_one_tile(&dimensions[dim]));
                order.extend(slow_to_fast(schema.cell_order));
                order
            }
        };
        for &dim in &order {
            let mut hull: Option<smalti_types::Extent> = None;
            for tile in &self.tiles {
                let leaves = self.fragments[tile.fragment_idx].fragment.tile_tree()?.leaves()?;
                let extent = leaves.extent(tile.tile_idx, dim)?;
                hull = Some(hull.map_or_else(|| extent.to_owned(), |hull| hull.as_ref().hull(extent)));
            }
            let is_spread = match hull {
                Some(smalti_types::Extent::Num { lo, hi }) => lo < hi,
                Some(smalti_types::Extent::Str { lo, hi }) => hi.is_none_or(|hi| lo < hi),
                None => false,
            };
            if is_spread {
                return Ok(dim);
            }
        }
        Ok(0)
    }

    /// Adds places in the order that lie in a tile, from the least on, which they may divide into equal shares.
    fn push_places(
        &self,
        tile: &TileRef,
        slowest: usize,
        count: usize,
        places: &mut Vec<Vec<Coordinate>>,
    ) -> Result<()> {
        let dimensions = &self.snapshot.schema().dimensions;
        let leaves = self.fragments[tile.fragment_idx].fragment.tile_tree()?.leaves()?;
        let mut least: Vec<Coordinate> = Vec::with_capacity(dimensions.len());
        for (dim, dimension) in dimensions.iter().enumerate() {
            least.push(match leaves.extent(tile.tile_idx, dim)? {
                ExtentRef::Num { lo, .. } => Coordinate::Number(less_zero(dimension.datatype, lo)),
                ExtentRef::Str { lo, .. } => Coordinate::Text(lo.into()),
            });
        }
        let extent = leaves.extent(tile.tile_idx, slowest)?;
        places.push(least.clone());
        for at in 1..count {
            let between = match extent {
                ExtentRef::Num { lo, hi } if lo < hi => {
                    let ordinal = lo + share(hi - lo, at, count);
                    Coordinate::Number(less_zero(dimensions[slowest].datatype, ordinal))
                }
                ExtentRef::Str { lo, hi: Some(hi) } if lo < hi => {
                    Coordinate::Text(text_between(lo, hi, at, count).into())
                }
                _ => break,
            };
            let mut place = least.clone();
            place[slowest] = between;
            places.push(place);
        }
        Ok(())
    }
}

/// So many of `count` equal shares of a length.
fn share(len: u64, at: usize, count: usize) -> u64 {
    (u128::from(len) * at as u128 / count.max(1) as u128) as u64
}

/// No part begins between the two zeros.
pub(super) fn less_zero(datatype: Datatype, ordinal: u64) -> u64 {
    let zero = match datatype {
        Datatype::Float32 => Scalar::F32(0.0).ordinal(),
        Datatype::Float64 => Scalar::F64(0.0).ordinal(),
        _ => return ordinal,
    };
    if ordinal == zero { zero - 1 } else { ordinal }
}

/// A text between two others, by the bytes behind what they share.
fn text_between(lo: &[u8], hi: &[u8], at: usize, count: usize) -> Vec<u8> {
    let shared = lo.iter().zip(hi).take_while(|(a, b)| a == b).count();
    let number = |text: &[u8]| {
        let mut bytes = [0; 8];
        let tail = text.get(shared..).unwrap_or_default();
        bytes.iter_mut().zip(tail).for_each(|(byte, tail)| *byte = *tail);
        u64::from_be_bytes(bytes)
    };
    let (first, last) = (number(lo), number(hi));
    let between = first + share(last.saturating_sub(first), at, count);
    let mut text = lo[..shared.min(lo.len())].to_vec();
    text.extend_from_slice(&between.to_be_bytes());
    while text.len() > shared && text.last() == Some(&0) {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_between_two_others_ascend() {
        let texts: Vec<Vec<u8>> = (0..5).map(|at| text_between(b"gene_a", b"gene_q", at, 5)).collect();
        assert!(texts.is_sorted() && texts[0] == b"gene_a" && texts[4] < b"gene_q".to_vec(), "{texts:?}");
        assert!(texts.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(text_between(b"", b"", 1, 2), b"");
    }

    #[test]
    fn no_part_begins_between_the_two_zeros() {
        let ordinal = |value: f64| Scalar::F64(value).ordinal();
        assert_eq!(less_zero(Datatype::Float64, ordinal(0.0)), ordinal(-0.0));
        assert_eq!(less_zero(Datatype::Float64, ordinal(1.0)), ordinal(1.0));
        assert_eq!(less_zero(Datatype::Int64, 7), 7);
    }
}
