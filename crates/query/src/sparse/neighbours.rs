//! Fragments whose cells have times of their own, read tile after tile.
//!
//! A merged fragment holds the versions of a cell one behind the other. So where no other fragment has a say, a cell is hidden
//! by its neighbours at most, and nothing needs to be sorted: of equal coordinates that follow each other the newest stays.
//! Versions may go on in the next tile, which is then selected ahead of its batch.

use super::plan::{SparsePlan, TileRef};
use super::select::{Selection, Wants};
use rayon::prelude::*;
use smalti_space::BitMask;
use smalti_tile::Column;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Datatype, ExtentRef, Layout, Result, Scalar};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The selections of tiles that come next, made because the ones before had to know them.
pub(super) type Ahead = VecDeque<Result<Selection>>;

impl SparsePlan {
    /// Whether the cells of a fragment with times of its own are hidden by their neighbours only, if at all by cells of the same
    /// fragment: cells of equal coordinates must follow each other. Two zeros that differ in sign may lie between each other.
    pub(super) fn has_versions_side_by_side(&self, fragment_idx: usize) -> bool {
        let schema = self.snapshot.schema();
        let domain = self.fragments[fragment_idx].fragment.non_empty_domain();
        let zero_of = |datatype| match datatype {
            Datatype::Float32 => Some(Scalar::F32(0.0).ordinal()),
            Datatype::Float64 => Some(Scalar::F64(0.0).ordinal()),
            _ => None,
        };
        schema.cell_order != Layout::Hilbert
            && matches!(self.layout, Layout::Unordered | Layout::GlobalOrder)
            && schema.dimensions.iter().zip(domain).all(|(dimension, side)| {
                match (zero_of(dimension.datatype), side.as_ref()) {
                    // -0.0 comes right before 0.0.
                    (Some(zero), ExtentRef::Num { lo, hi }) => hi < zero - 1 || lo > zero,
                    _ => true,
                }
            })
    }

    /// The wanted cells of some tiles of a stretch that is read tile after tile. `ahead` holds selections of the first of them,
    /// and takes those of tiles behind them, of which none is at or behind `end`.
    pub(super) fn select_stored(
        &self,
        tiles: Range<usize>,
        ahead: &mut Ahead,
        end: usize,
    ) -> Vec<Result<Selection>> {
        let known: Vec<Result<Selection>> = ahead.drain(..ahead.len().min(tiles.len())).collect();
        let start = tiles.start;
        let mut selected = known;
        let unknown = &self.tiles[start + selected.len()..tiles.end];
        selected.par_extend(unknown.par_iter().shared().map(|tile| self.select_alone(tile)));
        selected.extend(ahead.drain(..));
        loop {
            self.hide_across(&self.tiles[start..], &mut selected);
            let next = start + selected.len();
            let goes_on = next < end && are_neighbours(&self.tiles[tiles.end - 1], &self.tiles[next]);
            let is_settled = selected[tiles.len()..]
                .iter()
                .any(|selection| selection.as_ref().map_or(true, |selection| selection.count > 0));
            if !goes_on || is_settled {
                break;
            }
            selected.push(self.select_alone(&self.tiles[next]));
        }
        ahead.extend(selected.drain(tiles.len()..));
        let asked = self.tiles[tiles].par_iter().zip(selected).shared().map(|(tile, selection)| {
            let mut selection = selection?;
            if tile.is_side_by_side && self.has_predicates() && selection.count > 0 {
                let Selection { mask, coords, timestamps, values, .. } = &mut selection;
                let mask = mask.get_or_insert_with(|| BitMask::ones(tile.cell_count));
                self.apply_predicates(tile, mask, coords, timestamps.as_deref(), Some(values))?;
                selection.count = mask.count();
            }
            Ok(selection)
        });
        asked.collect()
    }

    /// The wanted cells of a tile that no other cell of the tile hides.
    fn select_alone(&self, tile: &TileRef) -> Result<Selection> {
        let mut selection =
            self.select(tile, Wants { coords: tile.is_side_by_side, times: false, values: true })?;
        if !tile.is_side_by_side || selection.count < 2 {
            return Ok(selection);
        }
        let repeats = self.repeats_of(tile, &selection.coords);
        if !repeats.any() {
            return Ok(selection);
        }
        self.read_times(tile, &mut selection)?;
        let Selection { mask, timestamps, count, .. } = &mut selection;
        let times: &[u64] = timestamps.as_ref().map(|times| times.data.values()).unwrap_or_default();
        let mask = mask.get_or_insert_with(|| BitMask::ones(tile.cell_count));
        for run in repeats.iter_runs() {
            let versions = run.start - 1..run.end;
            // Of equal times the first.
            let newest =
                versions.clone().filter(|&cell| mask.is_set(cell)).rev().max_by_key(|&cell| times[cell]);
            for cell in versions.filter(|&cell| Some(cell) != newest) {
                mask.unset(cell);
            }
        }
        *count = mask.count();
        Ok(selection)
    }

    /// The cells that have the coordinates of the one before them.
    fn repeats_of(&self, tile: &TileRef, coords: &[Option<Arc<Column>>]) -> BitMask {
        // Most cells differ in the first dimension, and the others are not looked at.
        let first = match (coords[0].as_deref(), self.snapshot.schema().dimensions[0].datatype.byte_len()) {
            (Some(Column { data, offsets: None, .. }), 1) => repeats_of_values::<1>(data.as_slice()),
            (Some(Column { data, offsets: None, .. }), 2) => repeats_of_values::<2>(data.as_slice()),
            (Some(Column { data, offsets: None, .. }), 4) => repeats_of_values::<4>(data.as_slice()),
            (Some(Column { data, offsets: None, .. }), 8) => repeats_of_values::<8>(data.as_slice()),
            _ => BitMask::ones(tile.cell_count),
        };
        let mut repeats = BitMask::zeros(tile.cell_count);
        for cell in first.iter_cells().filter(|cell| (1..tile.cell_count).contains(cell)) {
            if self.have_equal_coords((coords, cell - 1), (coords, cell)) {
                repeats.set(cell);
            }
        }
        repeats
    }

    fn have_equal_coords(
        &self,
        a: (&[Option<Arc<Column>>], usize),
        b: (&[Option<Arc<Column>>], usize),
    ) -> bool {
        a.0.iter().zip(b.0).zip(&self.snapshot.schema().dimensions).all(|((of_a, of_b), dimension)| {
            let (Some(of_a), Some(of_b)) = (of_a, of_b) else { return false };
            let byte_len = dimension.datatype.byte_len();
            Column::as_ref(of_a).cell(a.1, byte_len) == Column::as_ref(of_b).cell(b.1, byte_len)
        })
    }

    fn read_times(&self, tile: &TileRef, selection: &mut Selection) -> Result<()> {
        if let (None, Some(source)) = (&selection.timestamps, &self.fragments[tile.fragment_idx].timestamps) {
            selection.timestamps = Some(self.tile_column(source, tile)?);
        }
        Ok(())
    }

    /// Of versions of a cell in several tiles, each of which has one at most, keeps the newest.
    fn hide_across(&self, tiles: &[TileRef], selected: &mut [Result<Selection>]) {
        // The tile of the last cell so far.
        let mut last: Option<usize> = None;
        for at in 0..selected.len() {
            let (before, rest) = selected.split_at_mut(at);
            let Ok(selection) = &mut rest[0] else {
                last = None;
                continue;
            };
            let Some(first) = selection.first_cell(&tiles[at]) else { continue };
            let previous = last.replace(at);
            let Some(place) = previous.filter(|&place| are_neighbours(&tiles[place], &tiles[at])) else {
                continue;
            };
            let Ok(other) = &mut before[place] else { continue };
            let Some(end) = other.last_cell(&tiles[place]) else { continue };
            if !self.have_equal_coords((&other.coords, end), (&selection.coords, first)) {
                continue;
            }
            let read = self.read_times(&tiles[place], other);
            if let Err(error) = read.and_then(|()| self.read_times(&tiles[at], selection)) {
                before[place] = Err(error);
            } else if selection.time_of(first) > other.time_of(end) {
                other.leave_out(&tiles[place], end);
            } else {
                selection.leave_out(&tiles[at], first);
                if selection.count == 0 {
                    last = Some(place);
                }
            }
        }
    }
}

/// Whether cells of two tiles may hide each other.
fn are_neighbours(a: &TileRef, b: &TileRef) -> bool {
    a.is_side_by_side && b.is_side_by_side && a.fragment_idx == b.fragment_idx
}

/// The values that equal the one before them.
fn repeats_of_values<const N: usize>(data: &[u8]) -> BitMask {
    let values = data.as_chunks::<N>().0;
    let mut words = vec![0u64; values.len().div_ceil(64)];
    for (word_idx, word) in words.iter_mut().enumerate() {
        let start = (word_idx * 64).max(1);
        let pairs = values[start - 1..values.len().min(word_idx * 64 + 64)].windows(2);
        for (bit, pair) in (start % 64..).zip(pairs) {
            *word |= u64::from(pair[0] == pair[1]) << bit;
        }
    }
    BitMask::from_words(words, values.len())
}

impl Selection {
    fn first_cell(&self, tile: &TileRef) -> Option<usize> {
        match &self.mask {
            None => (tile.cell_count > 0).then_some(0),
            Some(mask) => mask.first(),
        }
    }

    fn last_cell(&self, tile: &TileRef) -> Option<usize> {
        match &self.mask {
            None => tile.cell_count.checked_sub(1),
            Some(mask) => mask.last(),
        }
    }

    fn leave_out(&mut self, tile: &TileRef, cell: usize) {
        let mask = self.mask.get_or_insert_with(|| BitMask::ones(tile.cell_count));
        mask.unset(cell);
        self.count = mask.count();
    }

    fn time_of(&self, cell: usize) -> u64 {
        let times = self.timestamps.as_ref().map(|times| times.data.values::<u64>());
        times.and_then(|times| times.get(cell).copied()).unwrap_or_default()
    }
}
