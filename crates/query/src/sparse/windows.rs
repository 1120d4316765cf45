//! Ordered reads whose cells do not fit in memory at once: window after window of the result's order.
//!
//! A window takes the next cells in order. Tiles are visited by the least key that their MBR allows, as long as that
//! can belong to the window; of each only the keys and places of cells are kept that come after the window before. When too many
//! are kept, the later half is let go and the window ends sooner. So a tile may be decoded once a window, but memory never
//! grows with the result. The fields of the window's cells are then decoded batch by batch.

use super::cost::decoded_byte_len;
use super::order::cell_order;
use super::ordered::retain_cells;
use super::plan::{SparsePlan, TileRef};
use super::select::{Wants, coord_columns};
use crate::gather::{CellRun, gather};
use crate::request::Batch;
use rayon::prelude::*;
use smalti_format::Rule;
use smalti_space::{
    BitMask, CELLS_BETWEEN_CHECKS, Check, Interval, KeyLayout, OrderKeys, Permutation, merge_runs, sort_cells,
};
use smalti_tile::{Column, ColumnRef};
use smalti_types::parallel::Shareable as _;
use smalti_types::{Layout, Result};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

/// Bytes that a kept cell takes beside its key: its place, and its position, twice, while the window is sorted.
const KEPT_CELL_BYTE_LEN: u64 = 40;

/// Cells that a window of a read with a limit keeps at least, so that large tiles are not looked at again for a few.
const LEAST_WINDOW_CELL_COUNT: usize = 1 << 12;

/// Where an ordered read with little memory is.
pub(crate) struct Windows {
    layout: KeyLayout,
    /// The tiles by the least key that they can hold; unknown ones first.
    order: Vec<u32>,
    /// The least keys, in that order; `None` for tiles before `bounded_from`.
    lows: OrderKeys,
    bounded_from: usize,
    visits: Vec<Visit>,
    /// The most cells that are kept of a window, and looked at side by side: of a read with a limit.
    most: usize,
    /// The last cell of the windows so far.
    from: Option<Cut>,
    is_done: bool,
    /// `slot << 32 | cell` of the window's cells that are still to be handed out, in order.
    cells: Vec<u64>,
    next: usize,
}

/// What is known of a tile from earlier windows.
#[derive(Debug, Clone, Copy, Default)]
struct Visit {
    /// Whether cells of it were handed out.
    is_known: bool,
    /// Whether all of them were.
    is_done: bool,
}

/// A place between two cells of the result.
#[derive(Clone)]
struct Cut {
    key: OrderKeys,
    /// The tile and cell behind which it lies among equal keys; `None`: behind all of them.
    origin: Option<u64>,
}

impl Cut {
    /// Whether a cell comes at or before the cut.
    fn takes(&self, keys: &OrderKeys, position: usize, origin: u64) -> bool {
        match keys.compare(position, &self.key, 0) {
            Ordering::Less => true,
            Ordering::Equal => self.origin.is_none_or(|last| origin <= last),
            Ordering::Greater => false,
        }
    }
}

/// Cells of one tile that may belong to the window.
struct Kept {
    slot: u32,
    keys: OrderKeys,
    cells: Vec<u32>,
    /// The times of the cells, where they may decide which of them hides the others.
    times: Vec<u64>,
    /// Whether cells of the tile come after the window.
    has_more: bool,
}

impl Kept {
    fn byte_len(&self) -> u64 {
        self.keys.byte_len() as u64 + KEPT_CELL_BYTE_LEN * self.cells.len() as u64
    }

    fn origin(&self, position: usize) -> u64 {
        u64::from(self.slot) << 32 | u64::from(self.cells[position])
    }
}

impl SparsePlan {
    /// Readies an ordered read of some tiles with little memory.
    ///
    /// # Errors
    /// `OutOfMemory` when not even single tiles fit; `Corrupt` from metadata.
    pub(crate) fn windows(&self, tiles: Range<usize>) -> Result<Windows> {
        let schema = self.snapshot.schema();
        let bounds = vec![Interval::ALL; schema.dimensions.len()];
        let layout = KeyLayout::new(&cell_order(schema, self.layout)?, &bounds)?;
        let is_hilbert = schema.cell_order == Layout::Hilbert && self.layout == Layout::GlobalOrder;
        let is_bounded = |tile: &TileRef| {
            let version = self.fragments[tile.fragment_idx].fragment.version();
            !is_hilbert && !version.has(Rule::UnsoundBounds)
        };
        let slots = tiles.start as u32..tiles.end as u32;
        let (mut order, mut bounded): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for slot in slots {
            if is_bounded(&self.tiles[slot as usize]) { bounded.push(slot) } else { order.push(slot) }
        }
        let (bounded, lows) = self.by_least_key(&layout, &bounded)?;
        let bounded_from = order.len();
        order.extend(bounded);
        Ok(Windows {
            layout,
            order,
            lows,
            bounded_from,
            visits: vec![Visit::default(); self.tiles.len()],
            most: self.limit.map_or(usize::MAX, |limit| {
                usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(2).max(LEAST_WINDOW_CELL_COUNT)
            }),
            from: None,
            is_done: false,
            cells: Vec::new(),
            next: 0,
        })
    }

    /// The next cells of the read, at most so many; `None` at the end.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn next_of_windows(
        &self,
        windows: &mut Windows,
        max_cell_count: usize,
    ) -> Result<Option<Batch>> {
        while windows.next == windows.cells.len() {
            if windows.is_done {
                return Ok(None);
            }
            self.find_window(windows)?;
        }
        let cells = &windows.cells[windows.next..];
        let mut cells = &cells[..self.batch_len(cells, max_cell_count)?];
        loop {
            if let Some(batch) = self.emit(cells)? {
                windows.next += cells.len();
                return Ok(Some(batch));
            }
            cells = &cells[..cells.len().div_ceil(2)];
        }
    }

    /// Finds the cells of the next window.
    fn find_window(&self, windows: &mut Windows) -> Result<()> {
        let share = self.budget.share();
        let mut kept: Vec<Kept> = Vec::new();
        let (mut kept_byte_len, mut kept_count) = (0, 0);
        let mut until: Option<Cut> = None;
        let mut at = 0;
        while let Some(group) = self.next_group(windows, &mut at, until.as_ref())? {
            self.announce_group(group.iter().map(|&slot| slot as usize));
            let found: Vec<Kept> =
                group.par_iter().steps(|&slot| self.keep_cells(windows, slot, until.as_ref()))?;
            kept_byte_len += found.iter().map(Kept::byte_len).sum::<u64>();
            kept_count += found.iter().map(|kept| kept.cells.len()).sum::<usize>();
            kept.extend(found);
            if kept_byte_len > share || kept_count > windows.most {
                until = Some(self.cut_short(&mut kept));
                kept_byte_len = kept.iter().map(Kept::byte_len).sum();
                kept_count = kept.iter().map(|kept| kept.cells.len()).sum();
            }
        }
        for kept in &kept {
            windows.visits[kept.slot as usize] = Visit { is_known: true, is_done: !kept.has_more };
        }
        windows.is_done = until.is_none();
        windows.from = until;
        windows.cells = self.order_window(kept)?;
        if self.has_predicates() {
            self.keep_survivors_of_window(&mut windows.cells)?;
        }
        windows.next = 0;
        Ok(())
    }

    /// Tiles that may have cells of the window, as many as may be decoded at once; `None` when there are no more.
    fn next_group(&self, windows: &Windows, at: &mut usize, until: Option<&Cut>) -> Result<Option<Vec<u32>>> {
        let (mut group, mut group_byte_len, mut group_cell_count) = (Vec::new(), 0u64, 0usize);
        while let Some(&slot) = windows.order.get(*at) {
            let visit = windows.visits[slot as usize];
            if let (false, Some(low), Some(cut)) =
                (visit.is_known, at.checked_sub(windows.bounded_from), until)
                && windows.lows.compare(low, &cut.key, 0) == Ordering::Greater
            {
                // The tiles behind it begin later still, and those that earlier windows met come before it.
                *at = windows.order.len();
                break;
            }
            if !visit.is_done {
                let tile = &self.tiles[slot as usize];
                let is_enough = group_cell_count >= windows.most;
                group_byte_len = group_byte_len.saturating_add(self.cost(tile)?.finding());
                group_cell_count = group_cell_count.saturating_add(tile.cell_count);
                if !group.is_empty() && (is_enough || group_byte_len > self.budget.share()) {
                    break;
                }
                group.push(slot);
            }
            *at += 1;
        }
        Ok(Some(group).filter(|group| !group.is_empty()))
    }

    /// The cells of a tile behind the window before and up to the cut.
    fn keep_cells(&self, windows: &Windows, slot: u32, until: Option<&Cut>) -> Result<Kept> {
        let tile = &self.tiles[slot as usize];
        let fragment = &self.fragments[tile.fragment_idx];
        let check: Check<'_> = &|| self.fetch.check();
        let wants_times = self.wants_times();
        let selection = self.select(tile, Wants { coords: true, times: wants_times, values: false })?;
        let mut runs = Vec::new();
        selection.push_runs(0, tile.cell_count, &mut runs);
        let mut places: Vec<u32> = Vec::with_capacity(selection.count);
        places.extend(runs.iter().flat_map(|run| run.start..run.start + run.len));
        let coords = selection
            .coords
            .iter()
            .flatten()
            .zip(&fragment.dims)
            .map(|(column, source)| {
                gather(&runs, &[Column::as_ref(column)], source.column_shape(), self.fetch.output(check))
            })
            .collect::<Result<Vec<_>>>()?;
        let keys = windows.layout.keys(&coord_columns(&coords, fragment.dims.iter())?, check)?;
        let sorted = sort_cells(&keys, check)?;
        let from = windows.from.as_ref().filter(|_| windows.visits[slot as usize].is_known);
        let mut has_more = false;
        let mut wanted: Vec<u32> = Vec::with_capacity(sorted.len());
        for position in sorted.iter() {
            let origin = u64::from(slot) << 32 | u64::from(places[position]);
            if from.is_some_and(|cut| cut.takes(&keys, position, origin)) {
                continue;
            }
            if until.is_some_and(|cut| !cut.takes(&keys, position, origin)) {
                has_more = true;
                break;
            }
            wanted.push(position as u32);
        }
        let cells: Vec<u32> = wanted.iter().map(|&position| places[position as usize]).collect();
        let times = match (&selection.timestamps, wants_times) {
            (Some(times), true) => {
                let times: &[u64] = times.data.values();
                cells.iter().map(|&cell| times[cell as usize]).collect()
            }
            (None, true) => vec![fragment.fragment.time().start; cells.len()],
            _ => Vec::new(),
        };
        let keys = keys.permuted(&Permutation::Indices(wanted));
        Ok(Kept { slot, keys, cells, times, has_more })
    }

    /// Lets go at least a quarter of the cells, the latest, and not more than three; the cut behind those that stay.
    fn cut_short(&self, kept: &mut [Kept]) -> Cut {
        let (list, position) = middle(kept);
        let list = &kept[list as usize];
        let position = position as usize;
        let cut = Cut {
            key: list.keys.permuted(&Permutation::Indices(vec![position as u32])),
            // Cells that may hide each other stay together.
            origin: (!self.drops_repeats() && self.history.is_none()).then(|| list.origin(position)),
        };
        for kept in kept.iter_mut() {
            let (mut low, mut high) = (0, kept.cells.len());
            while low < high {
                let middle = (low + high) / 2;
                if cut.takes(&kept.keys, middle, kept.origin(middle)) {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            if low < kept.cells.len() {
                kept.has_more = true;
                kept.keys = kept.keys.permuted(&Permutation::Indices((0..low as u32).collect()));
                kept.cells.truncate(low);
                kept.cells.shrink_to_fit();
                kept.times.truncate(low);
                kept.times.shrink_to_fit();
            }
        }
        cut
    }

    /// The window's cells in order, without those that others hide.
    fn order_window(&self, kept: Vec<Kept>) -> Result<Vec<u64>> {
        let mut entries: Vec<(u32, u32)> = Vec::with_capacity(kept.iter().map(|list| list.cells.len()).sum());
        let mut ends = Vec::with_capacity(kept.len());
        for (idx, list) in kept.iter().enumerate() {
            self.fetch.check()?;
            entries.extend((0..list.cells.len() as u32).map(|position| (idx as u32, position)));
            ends.push(entries.len());
        }
        merge_runs(&mut entries, &ends, |&a, &b| compare(&kept, a, b), &|| self.fetch.check())?;
        let mut cells: Vec<u64> = Vec::with_capacity(entries.len());
        let allows_dups = !self.drops_repeats();
        let mut last: Option<(u32, u32)> = None;
        for (at, &entry) in entries.iter().enumerate() {
            if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            let (list, position) = (&kept[entry.0 as usize], entry.1 as usize);
            let hider = last.filter(|_| !allows_dups).filter(|&(other, at)| {
                list.keys.compare(position, &kept[other as usize].keys, at as usize) == Ordering::Equal
            });
            match (hider, cells.last_mut()) {
                (Some((other, at)), Some(cell)) => {
                    let (time, latest) =
                        (list.times.get(position), kept[other as usize].times.get(at as usize));
                    if time > latest {
                        *cell = list.origin(position);
                        last = Some(entry);
                    }
                }
                _ => {
                    cells.push(list.origin(position));
                    last = Some(entry);
                }
            }
        }
        Ok(cells)
    }

    /// Takes out the cells that were deleted, or do not fulfil the condition, after those that others hide.
    fn keep_survivors_of_window(&self, cells: &mut Vec<u64>) -> Result<()> {
        let mut masks: HashMap<u32, BitMask> = HashMap::new();
        for (at, &origin) in cells.iter().enumerate() {
            if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            let slot = (origin >> 32) as u32;
            if !self.tiles[slot as usize].hides {
                continue;
            }
            let mask =
                masks.entry(slot).or_insert_with(|| BitMask::zeros(self.tiles[slot as usize].cell_count));
            mask.set(origin as u32 as usize);
        }
        masks.iter_mut().collect::<Vec<_>>().into_par_iter().shared().try_for_each(|(slot, mask)| {
            self.apply_predicates(&self.tiles[*slot as usize], mask, &[], None, None)
        })?;
        let survives = |origin: u64| {
            masks.get(&((origin >> 32) as u32)).is_none_or(|mask| mask.is_set(origin as u32 as usize))
        };
        retain_cells(cells, survives, &|| self.fetch.check())
    }

    /// How many of the next cells a batch holds: as many as asked for, unless they are likely to take too much memory.
    fn batch_len(&self, cells: &[u64], max_cell_count: usize) -> Result<usize> {
        let share = self.budget.share();
        let (mut byte_lens, mut byte_len): (HashMap<u32, u64>, u64) = (HashMap::new(), 0);
        for (count, &origin) in cells.iter().enumerate().take(max_cell_count.max(1)) {
            if count.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            let slot = (origin >> 32) as u32;
            let of_cell = match byte_lens.get(&slot) {
                Some(byte_len) => *byte_len,
                None => {
                    let tile = &self.tiles[slot as usize];
                    let of_cell = self.cost(tile)?.fields / tile.cell_count.max(1) as u64 + 16;
                    byte_lens.insert(slot, of_cell);
                    of_cell
                }
            };
            byte_len = byte_len.saturating_add(of_cell);
            if count > 0 && byte_len > share {
                return Ok(count);
            }
        }
        Ok(cells.len().min(max_cell_count.max(1)))
    }

    /// The fields of some cells, decoded a few tiles at a time; `None` when several cells take more memory than their share.
    fn emit(&self, cells: &[u64]) -> Result<Option<Batch>> {
        let (mut tiles, mut places) = (Vec::new(), HashMap::new());
        let mut runs: Vec<CellRun> = Vec::new();
        for (at, &origin) in cells.iter().enumerate() {
            if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            let (tile, start) = ((origin >> 32) as u32, origin as u32);
            let slot = *places.entry(tile).or_insert_with(|| {
                tiles.push(tile);
                tiles.len() as u32 - 1
            });
            match runs.last_mut() {
                Some(run) if run.slot == slot && run.start + run.len == start => run.len += 1,
                _ => runs.push(CellRun { slot, start, len: 1 }),
            }
        }
        // Of each tile the wanted cells in the order of the result, and the runs of the result in these.
        let mut of_tile: Vec<Vec<CellRun>> = vec![Vec::new(); tiles.len()];
        let mut lens = vec![0u32; tiles.len()];
        for (at, run) in runs.iter_mut().enumerate() {
            if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            let slot = run.slot as usize;
            of_tile[slot].push(CellRun { slot: 0, ..*run });
            run.start = lens[slot];
            lens[slot] += run.len;
        }
        self.announce_fields(tiles.iter().map(|&slot| slot as usize));
        let mut columns = Vec::with_capacity(self.fields.len());
        let mut left = if cells.len() > 1 { self.budget.share().saturating_mul(2) } else { u64::MAX };
        for field in 0..self.fields.len() {
            let Some(pieces) = self.pieces(field, &tiles, &of_tile, left)? else { return Ok(None) };
            let pieces: Vec<ColumnRef<'_>> = pieces.iter().map(Column::as_ref).collect();
            let column =
                gather(&runs, &pieces, self.fields[field].shape, self.fetch.output(&|| self.fetch.check()))?;
            left = left.saturating_sub(column.byte_len() as u64);
            columns.push(column);
        }
        Ok(Some(Batch { cell_count: cells.len(), columns }))
    }

    /// The wanted cells of each tile of a field; `None` when they take more than `most` bytes.
    fn pieces(
        &self,
        field: usize,
        tiles: &[u32],
        of_tile: &[Vec<CellRun>],
        most: u64,
    ) -> Result<Option<Vec<Column>>> {
        let shape = self.fields[field].shape;
        let mut pieces = Vec::with_capacity(tiles.len());
        let mut at = 0;
        while at < tiles.len() {
            let (start, mut byte_len) = (at, 0u64);
            while at < tiles.len() {
                let tile = &self.tiles[tiles[at] as usize];
                let source = &self.fragments[tile.fragment_idx].sources[field];
                let next = source.as_ref().map_or(Ok(0), |source| decoded_byte_len(source, tile))?;
                if at > start && byte_len.saturating_add(next) > self.budget.share() {
                    break;
                }
                byte_len = byte_len.saturating_add(next);
                at += 1;
            }
            let decoded = tiles[start..at].par_iter().zip(&of_tile[start..at]).steps(|(&slot, runs)| {
                let column = self.field_column(field, &self.tiles[slot as usize])?;
                gather(runs, &[Column::as_ref(&column)], shape, self.fetch.output(&|| self.fetch.check()))
            });
            pieces.extend(decoded?);
            if pieces.iter().map(|piece| piece.byte_len() as u64).sum::<u64>() > most {
                return Ok(None);
            }
        }
        Ok(Some(pieces))
    }
}

/// A cell with at least a quarter of the kept cells on either side, by its list and position: among the middle cells of the
/// lists, which are sorted, the one in the middle where each counts as many cells as its list has.
fn middle(kept: &[Kept]) -> (u32, u32) {
    let lists = kept.iter().enumerate().filter(|(_, list)| !list.cells.is_empty());
    let mut middles: Vec<(u32, u32)> =
        lists.map(|(idx, list)| (idx as u32, (list.cells.len() as u32 - 1) / 2)).collect();
    middles.sort_unstable_by(|&a, &b| compare(kept, a, b));
    let cell_count: usize = kept.iter().map(|list| list.cells.len()).sum();
    let mut before = 0;
    let in_the_middle = middles.iter().find(|(list, _)| {
        before += kept[*list as usize].cells.len();
        before * 2 >= cell_count
    });
    in_the_middle.copied().unwrap_or_default()
}

fn compare(kept: &[Kept], a: (u32, u32), b: (u32, u32)) -> Ordering {
    let (first, second) = (&kept[a.0 as usize], &kept[b.0 as usize]);
    let (a, b) = (a.1 as usize, b.1 as usize);
    let later_first = || second.times.get(b).cmp(&first.times.get(a));
    first
        .keys
        .compare(a, &second.keys, b)
        .then_with(later_first)
        .then_with(|| first.origin(a).cmp(&second.origin(b)))
}
