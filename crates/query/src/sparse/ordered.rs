//! Reads in an order that the tiles do not have, and reads in which newer cells hide older ones.
//!
//! The coordinates of all wanted cells become sort keys, computed once; the sorted keys give the order, and equal
//! neighbours the cells that hide each other: the latest write wins.

use super::order::cell_order;
use super::plan::{SparseField, SparsePlan, TileRef};
use super::select::{Selection, coord_column};
use crate::gather::{CellRun, constant, gather};
use crate::request::Batch;
use rayon::prelude::*;
use smalti_array::FieldId;
use smalti_space::{
    BitMask, CELLS_BETWEEN_CHECKS, Check, Column as CoordColumn, Interval, KeyLayout, Pace, Permutation,
    column_bounds, sort_cells, sort_items,
};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// The wanted cells in their order, and everything decoded that they are copied from.
pub(crate) struct OrderedCells {
    /// `slot << 32 | cell` per result cell.
    cells: Vec<u64>,
    next: usize,
    /// Per field of the read the column of every slot; the last slot holds the fill value.
    columns: Vec<Vec<Arc<Column>>>,
}

impl SparsePlan {
    /// Finds the order of the wanted cells of some tiles and decodes what the read returns of them. Of tiles whose cells may
    /// hide each other those of newer fragments come first.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn ordered_cells(&self, slots: Range<usize>) -> Result<OrderedCells> {
        let first_slot = slots.start;
        let tiles = &self.tiles[slots];
        let schema = self.snapshot.schema();
        let check: Check<'_> = &|| self.fetch.check();
        let wants_times = self.wants_times();
        let mut selected: Vec<Selection> = tiles
            .par_iter()
            .shared()
            .map(|tile| self.select(tile, true, wants_times))
            .collect::<Result<_>>()?;
        let mut runs = Vec::new();
        for (slot, (tile, selection)) in tiles.iter().zip(&selected).enumerate() {
            check()?;
            selection.push_runs(slot as u32, tile.cell_count, &mut runs);
        }
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
                gather(&runs, &decoded, shape, self.fetch.output(check))
            })
            .collect::<Result<_>>()?;
        let columns = coords
            .iter()
            .zip(&schema.dimensions)
            .map(|(column, dimension)| coord_column(column, dimension.datatype))
            .collect::<Result<Vec<_>>>()?;
        let bounds = columns.iter().map(|column| bounds_of(column, check)).collect::<Result<Vec<_>>>()?;
        let layout = KeyLayout::new(&cell_order(schema, self.layout)?, &bounds)?;
        let keys = layout.keys(&columns, check)?;
        let order = sort_cells(&keys, check)?;
        let mut cells = origins(&runs, &order, check)?;
        if self.drops_repeats() {
            let repeats = keys.repeats(&order, check)?;
            self.keep_newest(tiles, &mut cells, &repeats, &mut selected)?;
        } else if self.history.is_some() && wants_times {
            let repeats = keys.repeats(&order, check)?;
            self.newest_first(tiles, &mut cells, &repeats, &selected)?;
        }
        if self.has_predicates() && tiles.iter().any(|tile| tile.hides) {
            self.keep_survivors(tiles, &mut cells, &mut selected)?;
        }
        let met = (first_slot..).zip(&selected).filter(|(_, selection)| selection.count > 0);
        self.ask_rest(met.map(|(slot, _)| slot));
        let columns = self.decode_fields(tiles, &mut selected)?;
        Ok(OrderedCells { cells, next: 0, columns })
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
                let times = selection.timestamps.as_deref();
                self.apply_predicates(&tiles[slot], mask, &selection.coords, times)?;
                selection.count = mask.count();
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

    fn decode_fields(&self, tiles: &[TileRef], selected: &mut [Selection]) -> Result<Vec<Vec<Arc<Column>>>> {
        let mut fields = Vec::with_capacity(self.fields.len());
        for (idx, field) in self.fields.iter().enumerate() {
            let mut columns: Vec<Arc<Column>> = match field.id {
                FieldId::Dimension(dim) => {
                    let is_last_use = !self.fields[idx + 1..].iter().any(|other| other.id == field.id);
                    selected
                        .iter_mut()
                        .map(|selection| match is_last_use {
                            true => selection.coords[dim].take().unwrap_or_default(),
                            false => selection.coords[dim].clone().unwrap_or_default(),
                        })
                        .collect()
                }
                _ => tiles
                    .par_iter()
                    .zip(&*selected)
                    .shared()
                    .map(|(tile, selection)| match selection.count {
                        0 => Ok(Arc::default()),
                        _ => self.field_column(idx, tile),
                    })
                    .collect::<Result<_>>()?,
            };
            columns.shrink_to_fit();
            fields.push(columns);
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

    /// The next cells of an ordered read; `None` at the end.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn next_ordered(
        &self,
        ordered: &mut OrderedCells,
        max_cell_count: usize,
    ) -> Result<Option<Batch>> {
        let cells = &ordered.cells[ordered.next..];
        if cells.is_empty() {
            return Ok(None);
        }
        let cells = &cells[..cells.len().min(max_cell_count)];
        let mut runs: Vec<CellRun> = Vec::new();
        for (at, &origin) in cells.iter().enumerate() {
            if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.fetch.check()?;
            }
            let (slot, start) = ((origin >> 32) as u32, origin as u32);
            match runs.last_mut() {
                Some(run) if run.slot == slot && run.start + run.len == start => run.len += 1,
                _ => runs.push(CellRun { slot, start, len: 1 }),
            }
        }
        let columns = self
            .fields
            .iter()
            .zip(&ordered.columns)
            .map(|(field, columns)| {
                let tiles: Vec<ColumnRef<'_>> = columns.iter().map(|column| Column::as_ref(column)).collect();
                gather(&runs, &tiles, field.shape, self.fetch.output(&|| self.fetch.check()))
            })
            .collect::<Result<_>>()?;
        ordered.next += cells.len();
        Ok(Some(Batch { cell_count: cells.len(), columns }))
    }
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
