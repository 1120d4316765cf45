//! Reads in an order that the tiles do not have, and reads in which newer cells hide older ones.
//!
//! The coordinates of all wanted cells become sort keys, computed once; the sorted keys give the order, and equal
//! neighbours the cells that hide each other: the latest write wins.

use super::order::cell_order;
use super::plan::{Slab, SparseField, SparsePlan, TileRef};
use super::select::{Selection, Wants, coord_column};
use crate::gather::{CellRun, Output, Room, constant, gather, gather_into};
use crate::request::Batch;
use rayon::prelude::*;
use smalti_array::FieldId;
use smalti_space::{
    BitMask, CELLS_BETWEEN_CHECKS, Check, Column as CoordColumn, Interval, KeyLayout, OrderKeys, Pace,
    Permutation, SortedCells, column_bounds, sort_items,
};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Result};
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

/// The wanted cells in their order, and everything decoded that they are copied from.
#[derive(Default)]
pub(super) struct OrderedCells {
    /// The result's cells, in lists that follow each other.
    runs: VecDeque<Vec<CellRun>>,
    /// The first run of the first list that was not handed out, of which the first cells may have been.
    next: usize,
    /// Per field of the read the column of every slot; the last slot holds the fill value.
    columns: Vec<Vec<Arc<Column>>>,
}

impl OrderedCells {
    /// Whether all cells were handed out.
    pub(super) fn is_over(&self) -> bool {
        self.runs.is_empty()
    }

    /// The next cells, at most so many, and how many they are.
    fn take(&mut self, most: usize, check: Check<'_>) -> Result<(Vec<Vec<CellRun>>, usize)> {
        let (mut lists, mut taken, mut pace) = (Vec::new(), 0, Pace::new(check));
        while let Some(runs) = self.runs.front_mut().filter(|_| taken < most) {
            let mut end = self.next;
            while let Some(run) = runs.get(end).filter(|run| taken + run.len as usize <= most) {
                pace.went(1)?;
                taken += run.len as usize;
                end += 1;
            }
            if self.next == 0 && end == runs.len() {
                lists.extend(self.runs.pop_front());
                continue;
            }
            let mut part = runs[self.next..end].to_vec();
            self.next = end;
            match runs.get_mut(end) {
                Some(run) => {
                    let len = (most - taken) as u32;
                    part.extend((len > 0).then_some(CellRun { len, ..*run }));
                    (run.start, run.len, taken) = (run.start + len, run.len - len, most);
                }
                None => {
                    self.runs.pop_front();
                    self.next = 0;
                }
            }
            lists.push(part);
        }
        Ok((lists, taken))
    }
}

/// What was found and decoded of a tile.
pub(super) struct Found {
    selection: Selection,
    /// The columns of fields of the read that are no dimensions, if they were decoded.
    fields: Vec<Option<Arc<Column>>>,
}

impl SparsePlan {
    /// Finds the order of the wanted cells of a slab and decodes what the read returns of them. Of tiles whose cells may
    /// hide each other those of newer fragments come first. What is decoded of tiles that reach into the next slab goes into `held`, and is taken from there.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(super) fn ordered_cells(&self, slab: &Slab, held: &mut HashMap<u32, Found>) -> Result<OrderedCells> {
        let tiles: Vec<TileRef> = slab.tiles.iter().map(|slot| self.tiles[*slot as usize]).collect();
        let mut found = self.find(slab, &tiles, held)?;
        let (runs, counts) = match &slab.pieces[..] {
            [] => {
                // No other slab wants them.
                let mut selected: Vec<Selection> =
                    found.iter_mut().map(|found| mem::take(&mut found.selection)).collect();
                let runs = self.runs_in_order(&tiles, &mut selected, true)?;
                let counts = counts_of(&selected);
                found.iter_mut().zip(selected).for_each(|(found, selected)| found.selection = selected);
                (runs, counts)
            }
            pieces => {
                let sorted = pieces.par_iter().steps(|piece| {
                    let selected = tiles.iter().zip(&found);
                    let selected =
                        selected.map(|(tile, found)| self.select_piece(tile, &found.selection, *piece));
                    let mut selected = selected.collect::<Result<Vec<_>>>()?;
                    Ok((self.runs_in_order(&tiles, &mut selected, false)?, counts_of(&selected)))
                });
                let (runs, counts): (Vec<_>, Vec<Vec<usize>>) = sorted?.into_iter().unzip();
                (
                    runs.concat(),
                    (0..tiles.len()).map(|tile| counts.iter().map(|counts| counts[tile]).sum()).collect(),
                )
            }
        };
        let met = slab.tiles.iter().zip(&counts).filter(|(_, count)| **count > 0);
        self.ask_rest(met.map(|(slot, _)| *slot as usize));
        let columns = self.decode_fields(&tiles, &counts, &mut found)?;
        for ((slot, tile), found) in slab.tiles.iter().zip(&tiles).zip(found) {
            if self.goes_on(tile, slab)? {
                held.insert(*slot, found);
            }
        }
        Ok(OrderedCells { runs: runs.into(), next: 0, columns })
    }

    /// The wanted cells of tiles, with their coordinates, and the other fields of tiles of which all cells are.
    fn find(&self, slab: &Slab, tiles: &[TileRef], held: &mut HashMap<u32, Found>) -> Result<Vec<Found>> {
        enum Task {
            Select,
            Decode(usize),
        }
        enum Done {
            Selected(Selection),
            Decoded(usize, Arc<Column>),
        }
        let wants_times = self.wants_times();
        let mut found: Vec<Option<Found>> = slab.tiles.iter().map(|slot| held.remove(slot)).collect();
        let mut tasks = Vec::new();
        for (at, tile) in tiles.iter().enumerate().filter(|(at, _)| found[*at].is_none()) {
            tasks.push((at, Task::Select));
            let is_wanted = tile.is_covered && tile.is_in_part && !tile.hides && !self.has_predicates();
            if is_wanted && !self.fetch.is_distant() {
                let is_attribute = |idx: &usize| !matches!(self.fields[*idx].id, FieldId::Dimension(_));
                tasks.extend((0..self.fields.len()).filter(is_attribute).map(|idx| (at, Task::Decode(idx))));
            }
        }
        let done = tasks.par_iter().steps(|(at, task)| {
            Ok(match task {
                Task::Select => (
                    *at,
                    Done::Selected(
                        self.select(&tiles[*at], Wants { coords: true, times: wants_times, values: true })?,
                    ),
                ),
                Task::Decode(idx) => (*at, Done::Decoded(*idx, self.field_column(*idx, &tiles[*at])?)),
            })
        });
        for (at, done) in done? {
            match (done, &mut found[at]) {
                (Done::Selected(selection), found) => {
                    *found = Some(Found { selection, fields: vec![None; self.fields.len()] });
                }
                (Done::Decoded(idx, column), Some(found)) => found.fields[idx] = Some(column),
                (Done::Decoded(..), None) => {}
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The cells of some tiles in their order, in lists that follow each other; those that are hidden or deleted are left out. Where `keeps_values`, fields of the
    /// result that are decoded for that stay with the selections; else pieces of a slab would each hold them.
    fn runs_in_order(
        &self,
        tiles: &[TileRef],
        selected: &mut [Selection],
        keeps_values: bool,
    ) -> Result<Vec<Vec<CellRun>>> {
        let check: Check<'_> = &|| self.fetch.check();
        let mut runs = Vec::new();
        for (slot, (tile, selection)) in tiles.iter().zip(&*selected).enumerate() {
            check()?;
            selection.push_runs(slot as u32, tile.cell_count, &mut runs);
        }
        let keys = self.keys_of_runs(&runs, selected)?;
        let sorted = SortedCells::new(&keys, check)?;
        let repeats = match self.drops_repeats() || (self.history.is_some() && self.wants_times()) {
            true => Some(sorted.repeats(&keys, check)?),
            false => None,
        };
        let order = sorted.into_parts().0;
        drop(keys);
        let mut cells = origins(&runs, &order, check)?;
        drop((order, runs));
        match repeats {
            Some(repeats) if self.drops_repeats() => {
                self.keep_newest(tiles, &mut cells, &repeats, selected)?
            }
            Some(repeats) => self.newest_first(tiles, &mut cells, &repeats, selected)?,
            None => {}
        }
        if self.has_predicates() && tiles.iter().any(|tile| tile.hides) {
            self.keep_survivors(tiles, &mut cells, selected, keeps_values)?;
        }
        // Pieces are shared out as they are.
        let step = if keeps_values { CELLS_BETWEEN_CHECKS } else { usize::MAX };
        runs_of(&cells, step, check)
    }

    /// The sort keys of the cells of some runs.
    fn keys_of_runs(&self, runs: &[CellRun], selected: &[Selection]) -> Result<OrderKeys> {
        let schema = self.snapshot.schema();
        let check: Check<'_> = &|| self.fetch.check();
        let coords: Vec<Column> = (0..schema.dimensions.len())
            .map(|dim| {
                let dimension = &schema.dimensions[dim];
                let shape = CellShape {
                    datatype: dimension.datatype,
                    cell_val_num: dimension.cell_val_num,
                    is_nullable: false,
                };
                let decoded: Vec<ColumnRef<'_>> = selected
                    .iter()
                    .filter_map(|selection| selection.coords[dim].as_ref())
                    .map(|column| Column::as_ref(column))
                    .collect();
                gather(runs, &decoded, shape, Output::fresh(check))
            })
            .collect::<Result<_>>()?;
        let columns = coords
            .iter()
            .zip(&schema.dimensions)
            .map(|(column, dimension)| coord_column(column, dimension.datatype))
            .collect::<Result<Vec<_>>>()?;
        let bounds = columns.iter().map(|column| bounds_of(column, check)).collect::<Result<Vec<_>>>()?;
        KeyLayout::new(&cell_order(schema, self.layout)?, &bounds)?.keys(&columns, check)
    }

    /// Keeps one of cells of equal coordinates, which are neighbours: fragments come newest first and the sort is stable, so
    /// that it is the first, unless cells have times of their own. The others count no more: of tiles all of whose cells they are no fields are read.
    fn keep_newest(
        &self,
        tiles: &[TileRef],
        cells: &mut Vec<u64>,
        repeats: &BitMask,
        selected: &mut [Selection],
    ) -> Result<()> {
        let wants_times = self.wants_times();
        let mut kept_count = 0;
        for position in 0..cells.len() {
            if position.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            let origin = cells[position];
            match cells[..kept_count].last_mut() {
                Some(kept) if repeats.is_set(position) => {
                    let is_newer = wants_times
                        && self.time_of(tiles, origin, selected) > self.time_of(tiles, *kept, selected);
                    let hidden = if is_newer { std::mem::replace(kept, origin) } else { origin };
                    let selection = &mut selected[(hidden >> 32) as usize];
                    selection.count = selection.count.saturating_sub(1);
                }
                _ => {
                    cells[kept_count] = origin;
                    kept_count += 1;
                }
            }
        }
        cells.truncate(kept_count);
        Ok(())
    }

    /// Puts cells of equal coordinates, which are neighbours, in the order of their times.
    fn newest_first(
        &self,
        tiles: &[TileRef],
        cells: &mut [u64],
        repeats: &BitMask,
        selected: &[Selection],
    ) -> Result<()> {
        let newest_first =
            |a: &u64, b: &u64| self.time_of(tiles, *b, selected).cmp(&self.time_of(tiles, *a, selected));
        let mut start = 0;
        for position in 1..=cells.len() {
            if position.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            if position == cells.len() || !repeats.is_set(position) {
                // Of equal times those of the newest fragment stay first.
                if position - start > 1 {
                    sort_items(&mut cells[start..position], newest_first, &|| self.fetch.check())?;
                }
                start = position;
            }
        }
        Ok(())
    }

    /// Takes out the cells that were deleted, or do not fulfil the condition, after those that others hide.
    fn keep_survivors(
        &self,
        tiles: &[TileRef],
        cells: &mut Vec<u64>,
        selected: &mut [Selection],
        keeps_values: bool,
    ) -> Result<()> {
        let mut masks: Vec<Option<BitMask>> = vec![None; tiles.len()];
        for (at, &origin) in cells.iter().enumerate() {
            if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            let slot = (origin >> 32) as usize;
            let mask = masks[slot].get_or_insert_with(|| BitMask::zeros(tiles[slot].cell_count));
            mask.set(origin as u32 as usize);
        }
        masks.par_iter_mut().zip(&mut *selected).enumerate().shared().try_for_each(
            |(slot, (mask, selection))| {
                let Some(mask) = mask else {
                    selection.count = 0;
                    return Ok::<(), Error>(());
                };
                if !tiles[slot].hides {
                    return Ok(());
                }
                let Selection { coords, timestamps, values, count, .. } = selection;
                let kept = keeps_values.then_some(values);
                self.apply_predicates(&tiles[slot], mask, coords, timestamps.as_deref(), kept)?;
                *count = mask.count();
                Ok(())
            },
        )?;
        let survives = |origin: u64| {
            masks[(origin >> 32) as usize].as_ref().is_some_and(|mask| mask.is_set(origin as u32 as usize))
        };
        retain_cells(cells, survives, &|| self.fetch.check())
    }

    fn time_of(&self, tiles: &[TileRef], origin: u64, selected: &[Selection]) -> u64 {
        let (slot, cell) = ((origin >> 32) as usize, origin as u32 as usize);
        match &selected[slot].timestamps {
            Some(times) => times.data.values::<u64>().get(cell).copied().unwrap_or_default(),
            None => self.fragments[tiles[slot].fragment_idx].fragment.time().start,
        }
    }

    /// The columns of each field of the read, by tile; empty ones of tiles without a wanted cell.
    fn decode_fields(
        &self,
        tiles: &[TileRef],
        counts: &[usize],
        found: &mut [Found],
    ) -> Result<Vec<Vec<Arc<Column>>>> {
        let mut fields = Vec::with_capacity(self.fields.len());
        for (idx, field) in self.fields.iter().enumerate() {
            fields.push(match field.id {
                FieldId::Dimension(dim) => found
                    .iter()
                    .map(|found| found.selection.coords[dim].clone().unwrap_or_default())
                    .collect(),
                _ => tiles.par_iter().zip(counts).zip(&mut *found).steps(|((tile, count), found)| {
                    let source = self.fragments[tile.fragment_idx].sources[idx].as_ref();
                    let Found { selection, fields } = found;
                    if *count == 0 {
                        return Ok(Arc::default());
                    }
                    if let Some(column) = fields[idx].as_ref().or(selection.known(field.id, source)) {
                        return Ok(Arc::clone(column));
                    }
                    Ok(Arc::clone(fields[idx].insert(self.field_column(idx, tile)?)))
                })?,
            });
        }
        Ok(fields)
    }

    /// All cells of a tile of a field of the result.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn field_column(&self, field: usize, tile: &TileRef) -> Result<Arc<Column>> {
        let fragment = &self.fragments[tile.fragment_idx];
        let SparseField { id, shape, fill, fill_valid } = &self.fields[field];
        if let (Some(history), FieldId::DeleteTimestamps | FieldId::DeleteConditionIndex) =
            (&self.history, id)
        {
            return self.delete_column(history, tile, *id).map(Arc::new);
        }
        match &fragment.sources[field] {
            Some(source) => self.tile_column(source, tile),
            None => {
                let time = fragment.fragment.time().start.to_le_bytes();
                let value = if *id == FieldId::Timestamps { &time[..] } else { fill };
                constant(
                    *shape,
                    value,
                    *fill_valid,
                    tile.cell_count,
                    self.fetch.output(&|| self.fetch.check()),
                )
                .map(Arc::new)
            }
        }
    }

    /// Whether the times of cells decide which of them hides the others.
    pub(crate) fn wants_times(&self) -> bool {
        (self.drops_repeats() || self.history.is_some()) && self.has_times
    }

    /// The next cells of a slab, into `rooms` where they hold them; `None` at the end.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn next_ordered(
        &self,
        ordered: &mut OrderedCells,
        max_cell_count: usize,
        rooms: &mut [Room<'_>],
    ) -> Result<Option<Batch>> {
        let (lists, cell_count) = ordered.take(max_cell_count, &|| self.fetch.check())?;
        if cell_count == 0 {
            return Ok(None);
        }
        let mut rooms = rooms.iter_mut();
        let columns = self
            .fields
            .iter()
            .zip(&ordered.columns)
            .map(|(field, columns)| {
                let tiles: Vec<ColumnRef<'_>> = columns.iter().map(|column| Column::as_ref(column)).collect();
                let check = || self.fetch.check();
                gather_into(&lists, &tiles, field.shape, (self.fetch.output(&check), rooms.next()))
            })
            .collect::<Result<_>>()?;
        Ok(Some(Batch { cell_count, columns }))
    }
}

/// How many cells are wanted of each tile.
fn counts_of(selected: &[Selection]) -> Vec<usize> {
    selected.iter().map(|selection| selection.count).collect()
}

/// The runs of cells that follow each other in their tiles, in lists that do, of so many cells each.
fn runs_of(cells: &[u64], list_len: usize, check: Check<'_>) -> Result<Vec<Vec<CellRun>>> {
    cells.par_chunks(list_len).steps(|cells| {
        let mut runs: Vec<CellRun> = Vec::new();
        for (at, &origin) in cells.iter().enumerate() {
            if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                check()?;
            }
            let (slot, start) = ((origin >> 32) as u32, origin as u32);
            match runs.last_mut() {
                Some(run) if run.slot == slot && run.start + run.len == start => run.len += 1,
                _ => runs.push(CellRun { slot, start, len: 1 }),
            }
        }
        Ok(runs)
    })
}

/// The least interval around a column of numbers; all numbers for strings, or without cells.
fn bounds_of(column: &CoordColumn<'_>, check: Check<'_>) -> Result<Interval> {
    let cell_count = column.cell_count();
    let bounds = (0..cell_count.div_ceil(CELLS_BETWEEN_CHECKS))
        .into_par_iter()
        .shared()
        .map(|step| {
            check()?;
            let start = step * CELLS_BETWEEN_CHECKS;
            Ok::<_, Error>(column_bounds(&column.slice(start..start + CELLS_BETWEEN_CHECKS)))
        })
        .try_reduce(
            || None,
            |a, b| {
                Ok(match (a, b) {
                    (Some(a), Some(b)) => Some(Interval { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) }),
                    _ => a.or(b),
                })
            },
        )?;
    Ok(bounds.unwrap_or(Interval::ALL))
}

/// `slot << 32 | cell` of the cells of some runs, in an order of them.
fn origins(runs: &[CellRun], order: &Permutation, check: Check<'_>) -> Result<Vec<u64>> {
    let mut origins: Vec<u64> = Vec::with_capacity(order.len());
    let mut pace = Pace::new(check);
    for run in runs {
        pace.went(run.len as usize)?;
        let first = u64::from(run.slot) << 32 | u64::from(run.start);
        origins.extend(first..first + u64::from(run.len));
    }
    let Permutation::Indices(indices) = order else { return Ok(origins) };
    let mut ordered = vec![0u64; indices.len()];
    let steps =
        ordered.par_chunks_mut(CELLS_BETWEEN_CHECKS).zip(indices.par_chunks(CELLS_BETWEEN_CHECKS)).shared();
    steps.try_for_each(|(ordered, indices)| {
        check()?;
        ordered.iter_mut().zip(indices).for_each(|(origin, &cell)| *origin = origins[cell as usize]);
        Ok::<(), Error>(())
    })?;
    Ok(ordered)
}

/// Keeps the cells that survive.
pub(super) fn retain_cells(
    cells: &mut Vec<u64>,
    survives: impl Fn(u64) -> bool,
    check: Check<'_>,
) -> Result<()> {
    let mut kept_count = 0;
    for at in 0..cells.len() {
        if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
            check()?;
        }
        let origin = cells[at];
        if survives(origin) {
            cells[kept_count] = origin;
            kept_count += 1;
        }
    }
    cells.truncate(kept_count);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_space::UNSTOPPED;

    #[test]
    fn cells_are_taken_in_their_order_however_many_at_a_time() {
        let run = |slot, start, len| CellRun { slot, start, len };
        let lists = [vec![run(0, 5, 4), run(1, 0, 1)], vec![], vec![run(0, 9, 1), run(2, 7, 10)]];
        let cells = |runs: &[CellRun]| -> Vec<(u32, u32)> {
            runs.iter()
                .flat_map(|run| (run.start..run.start + run.len).map(|cell| (run.slot, cell)))
                .collect()
        };
        let all = cells(&lists.concat());
        for most in [1, 2, 3, 4, 5, 6, 7, 15, 16, 17, usize::MAX] {
            let mut ordered = OrderedCells { runs: lists.to_vec().into(), ..OrderedCells::default() };
            let mut seen = Vec::new();
            loop {
                let (taken, cell_count) = ordered.take(most, UNSTOPPED).unwrap();
                let taken = cells(&taken.concat());
                assert_eq!(taken.len(), cell_count);
                assert_eq!(cell_count, most.min(all.len() - seen.len()));
                if taken.is_empty() {
                    break;
                }
                seen.extend(taken);
            }
            assert_eq!(seen, all, "{most} at a time");
        }
    }
}
