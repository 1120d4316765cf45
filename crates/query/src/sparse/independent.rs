//! Reads tile after tile: where no cell hides another but its neighbours, and the order is that of the tiles, or none.
//!
//! Tiles that are wholly wanted are decoded straight into the output. Several batches are made at once, as memory allows, so
//! that small ones keep all threads busy too.

use super::neighbours::Ahead;
use super::plan::{SparseField, SparsePlan, TileRef};
use super::select::Selection;
use crate::gather::{CellRun, gather};
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT};
use crate::workspace::{Workspace, room};
use rayon::prelude::*;
use smalti_array::{FieldId, Plane};
use smalti_tile::{Column, ColumnRef};
use smalti_types::Result;
use smalti_types::parallel::{self, Shareable as _};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Tasks that every thread should find when tiles are decoded: fewer are out of balance.
const TASKS_PER_THREAD: usize = 4;

/// A selected tile and its share of the output of one plane.
type Share<'s> = (&'s TileRef, &'s Selection, &'s mut [u8]);

/// Where a read of a stretch tile after tile is.
pub(crate) struct StoredCells {
    /// The tiles that are still to be read.
    tiles: Range<usize>,
    /// What the last of the tiles that were read had to know of these.
    ahead: Ahead,
    /// Batches that were read at once with the last one, or what went wrong.
    ready: VecDeque<Result<Batch>>,
    /// Whether none of the tiles that were read last had a wanted cell.
    is_fruitless: bool,
}

/// A batch in the making.
struct Reading<'p> {
    tiles: &'p [TileRef],
    selected: Vec<Selection>,
    cell_count: usize,
    columns: Vec<Column>,
    /// By field, the decoded tiles of values of any length, which are copied when all are there.
    decoded: Vec<Vec<Option<Arc<Column>>>>,
}

/// A piece of work that threads share.
enum Task<'r> {
    /// Decodes a tile into its share of the output.
    Fill { field: usize, plane: Plane, byte_len: usize, share: Share<'r> },
    /// Decodes a tile of values of any length.
    Decode { field: usize, tile: &'r TileRef, out: &'r mut Option<Arc<Column>> },
}

impl StoredCells {
    /// The start of a stretch.
    pub(crate) fn new(tiles: Range<usize>) -> Self {
        StoredCells { tiles, ahead: Ahead::new(), ready: VecDeque::new(), is_fruitless: false }
    }

    /// Whether the next batch was made with the last one.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.ready.front(), Some(Ok(batch)) if batch.cell_count > 0)
    }
}

impl SparsePlan {
    /// The next cells of a stretch that is read tile after tile; `None` at the end.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn next_stored(
        &self,
        stored: &mut StoredCells,
        max_cell_count: usize,
    ) -> Result<Option<Batch>> {
        let task_count = parallel::thread_count().saturating_mul(TASKS_PER_THREAD);
        let wanted_tile_count = match self.limit {
            // What lies behind the cells that are asked for may never be.
            Some(_) => 1,
            None => task_count.div_ceil(self.fields.len().max(1)),
        };
        let mut max_cell_count = max_cell_count;
        loop {
            while let Some(batch) = stored.ready.pop_front() {
                let batch = batch?;
                if batch.cell_count > 0 {
                    stored.is_fruitless = false;
                    return Ok(Some(batch));
                }
            }
            if stored.is_fruitless && self.limit.is_some() {
                max_cell_count =
                    max_cell_count.saturating_mul(2).min(DEFAULT_BATCH_CELL_COUNT.max(max_cell_count));
            }
            stored.is_fruitless = true;
            let groups = self.next_groups(stored.tiles.clone(), max_cell_count, wanted_tile_count)?;
            let Some(last) = groups.last() else { return Ok(None) };
            let start = std::mem::replace(&mut stored.tiles.start, last.end);
            self.run_ahead(start..last.end);
            let selected = self.select_stored(start..last.end, &mut stored.ahead, stored.tiles.end);
            stored.ready.extend(self.read_groups(&groups, selected));
        }
    }

    /// Reads the wanted cells of groups of tiles that follow each other, each into a batch, in the order of the tiles.
    fn read_groups(&self, groups: &[Range<usize>], selected: Vec<Result<Selection>>) -> Vec<Result<Batch>> {
        let mut selected = selected.into_iter();
        let mut readings: Vec<Result<Reading<'_>>> = groups
            .iter()
            .map(|group| {
                // All of the group's, so that an error leaves none of them to the next one.
                let selected: Vec<Result<Selection>> = selected.by_ref().take(group.len()).collect();
                self.reading(&self.tiles[group.clone()], selected.into_iter().collect::<Result<_>>()?)
            })
            .collect();
        let mut tasks: Vec<(usize, Task<'_>)> = Vec::new();
        for (at, reading) in readings.iter_mut().enumerate() {
            if let Ok(reading) = reading {
                self.push_tasks(at, reading, &mut tasks);
            }
        }
        let done: Vec<(usize, Result<()>)> =
            tasks.into_par_iter().shared().map(|(at, task)| (at, self.run(task))).collect();
        for (at, done) in done {
            if let (Err(error), Ok(_)) = (done, &readings[at]) {
                readings[at] = Err(error);
            }
        }
        readings.into_iter().map(|reading| self.finish(reading?)).collect()
    }

    /// Readies a batch: checks what tiles claim, then takes the memory for it.
    fn reading<'p>(&self, tiles: &'p [TileRef], selected: Vec<Selection>) -> Result<Reading<'p>> {
        let cell_count = selected.iter().map(|selection| selection.count).sum();
        let mut columns = Vec::with_capacity(self.fields.len());
        let mut decoded = Vec::with_capacity(self.fields.len());
        for (field, SparseField { shape, .. }) in self.fields.iter().enumerate() {
            let mut column = Column::default();
            if shape.is_var() {
                decoded.push(vec![None; tiles.len()]);
            } else {
                self.check_claims(field, tiles, &selected)?;
                let buffer = |byte_len| self.fetch.output(&|| self.fetch.check()).buffer(byte_len);
                column.data = buffer(cell_count * shape.cell_byte_len())?;
                column.validity = shape.is_nullable.then(|| buffer(cell_count)).transpose()?;
                decoded.push(Vec::new());
            }
            columns.push(column);
        }
        Ok(Reading { tiles, selected, cell_count, columns, decoded })
    }

    fn push_tasks<'r>(&self, at: usize, reading: &'r mut Reading<'_>, tasks: &mut Vec<(usize, Task<'r>)>) {
        let Reading { tiles, selected, columns, decoded, .. } = reading;
        let (tiles, selected): (&'r [TileRef], &'r [Selection]) = (tiles, selected);
        for (field, (column, decoded)) in columns.iter_mut().zip(decoded).enumerate() {
            let SparseField { id, shape, .. } = &self.fields[field];
            if shape.is_var() {
                for ((tile, selection), out) in tiles.iter().zip(selected).zip(decoded) {
                    let is_known = matches!(id, FieldId::Dimension(dim) if selection.coords[*dim].is_some());
                    if selection.count > 0 && !is_known {
                        tasks.push((at, Task::Decode { field, tile, out }));
                    }
                }
                continue;
            }
            let mut planes = vec![(Plane::Fixed, shape.cell_byte_len(), column.data.as_mut_slice())];
            if let Some(validity) = &mut column.validity {
                planes.push((Plane::Validity, 1, validity.as_mut_slice()));
            }
            for (plane, byte_len, mut out) in planes {
                for (tile, selection) in tiles.iter().zip(selected) {
                    let (share, rest) = out.split_at_mut(selection.count * byte_len);
                    if selection.count > 0 {
                        let share = (tile, selection, share);
                        tasks.push((at, Task::Fill { field, plane, byte_len, share }));
                    }
                    out = rest;
                }
            }
        }
    }

    fn run(&self, task: Task<'_>) -> Result<()> {
        match task {
            Task::Fill { field, byte_len, share: (tile, selection, out), .. } if self.is_made(field) => {
                let column = self.field_column(field, tile)?;
                copy_selected(selection, column.data.as_slice(), byte_len, out);
                Ok(())
            }
            Task::Fill { field, plane, byte_len, share } => {
                self.workspaces.with(|workspace| self.fill_share(field, plane, byte_len, share, workspace))
            }
            Task::Decode { field, tile, out } => {
                if let Some(source) = &self.fragments[tile.fragment_idx].sources[field] {
                    *out = Some(self.tile_column(source, tile)?);
                }
                Ok(())
            }
        }
    }

    fn finish(&self, reading: Reading<'_>) -> Result<Batch> {
        let Reading { tiles, selected, cell_count, mut columns, decoded } = reading;
        for (field, (column, decoded)) in columns.iter_mut().zip(decoded).enumerate() {
            if self.fields[field].shape.is_var() {
                *column = self.gather_field(field, tiles, &selected, &decoded)?;
            }
        }
        Ok(Batch { cell_count, columns })
    }

    /// Checks the cells that the fragments say their tiles have, before the output is allocated.
    fn check_claims(&self, field: usize, tiles: &[TileRef], selected: &[Selection]) -> Result<()> {
        for (tile, selection) in tiles.iter().zip(selected) {
            let fragment = &self.fragments[tile.fragment_idx];
            // A field that is not in the fragment is filled for the cells that its coordinates are for.
            let source = fragment.sources[field].as_ref().or(fragment.dims.first());
            let Some(source) = source.filter(|_| selection.count > 0) else { continue };
            if !source.codec.shape().is_var() {
                let cell_byte_len = source.codec.shape().cell_byte_len();
                let plane = Plane::Fixed;
                self.fetch.tile_byte_len(source, plane, tile.tile_idx, tile.cell_count, cell_byte_len)?;
            }
        }
        Ok(())
    }

    fn fill_share(
        &self,
        field: usize,
        plane: Plane,
        byte_len: usize,
        (tile, selection, out): Share<'_>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let SparseField { id, fill, fill_valid, .. } = &self.fields[field];
        let fragment = &self.fragments[tile.fragment_idx];
        let known = match id {
            FieldId::Dimension(dim) => selection.coords[*dim].as_ref(),
            FieldId::Timestamps => selection.timestamps.as_ref(),
            _ => None,
        };
        if let Some(column) = known {
            copy_selected(selection, column.data.as_slice(), byte_len, out);
            return Ok(());
        }
        let Some(source) = &fragment.sources[field] else {
            let time = fragment.fragment.time().start.to_le_bytes();
            let valid = [u8::from(*fill_valid)];
            let value: &[u8] = match (id, plane) {
                (FieldId::Timestamps, _) => &time,
                (_, Plane::Validity) => &valid,
                _ => fill,
            };
            out.chunks_exact_mut(byte_len).for_each(|cell| cell.copy_from_slice(value));
            return Ok(());
        };
        if source.coordinate.is_some() {
            let column = self.fetch.tile(source, tile.tile_idx, tile.cell_count, workspace)?;
            copy_selected(selection, column.data.as_slice(), byte_len, out);
            return Ok(());
        }
        let tile_byte_len = tile.cell_count * byte_len;
        let all = 0..tile_byte_len;
        let Workspace { scratch, filtered, tile: buffer, .. } = workspace;
        if selection.mask.is_none() {
            return self.fetch.bytes(source, plane, tile.tile_idx, &[all], out, (scratch, filtered));
        }
        let buffer = room(buffer, tile_byte_len)?;
        let wanted: Vec<Range<usize>> = match &selection.mask {
            Some(mask) if source.codec.data().is_plain() => {
                mask.iter_runs().map(|run| run.start * byte_len..run.end * byte_len).collect()
            }
            Some(mask) => hull(mask.iter_runs())
                .map(|run| run.start * byte_len..run.end * byte_len)
                .into_iter()
                .collect(),
            None => vec![all],
        };
        self.fetch.bytes(source, plane, tile.tile_idx, &wanted, buffer, (scratch, filtered))?;
        copy_selected(selection, buffer, byte_len, out);
        Ok(())
    }

    /// Copies the wanted cells of decoded tiles of a field.
    fn gather_field(
        &self,
        field: usize,
        tiles: &[TileRef],
        selected: &[Selection],
        decoded: &[Option<Arc<Column>>],
    ) -> Result<Column> {
        let SparseField { id, shape, fill, fill_valid } = &self.fields[field];
        let fill_offsets = [0, fill.len() as u64];
        let fill_validity = [u8::from(*fill_valid)];
        let mut columns: Vec<ColumnRef<'_>> = Vec::with_capacity(tiles.len() + 1);
        let mut runs: Vec<CellRun> = Vec::new();
        let fill_slot = tiles.len() as u32;
        for (slot, ((tile, selection), column)) in tiles.iter().zip(selected).zip(decoded).enumerate() {
            let known = match id {
                FieldId::Dimension(dim) => selection.coords[*dim].as_ref(),
                _ => None,
            };
            match column.as_ref().or(known) {
                Some(column) => {
                    columns.push(Column::as_ref(column));
                    selection.push_runs(slot as u32, tile.cell_count, &mut runs);
                }
                None => {
                    columns.push(ColumnRef::var(&[], &[0]));
                    runs.extend((0..selection.count).map(|_| CellRun { slot: fill_slot, start: 0, len: 1 }));
                }
            }
        }
        columns.push(ColumnRef::var(fill, &fill_offsets).with_validity(&fill_validity));
        gather(&runs, &columns, *shape, self.fetch.output(&|| self.fetch.check()))
    }
}

fn hull(runs: impl Iterator<Item = Range<usize>>) -> Option<Range<usize>> {
    runs.reduce(|all, run| all.start.min(run.start)..all.end.max(run.end))
}

fn copy_selected(selection: &Selection, cells: &[u8], byte_len: usize, out: &mut [u8]) {
    let Some(mask) = &selection.mask else {
        out.copy_from_slice(cells);
        return;
    };
    let mut at = 0;
    for run in mask.iter_runs() {
        let len = (run.end - run.start) * byte_len;
        out[at..at + len].copy_from_slice(&cells[run.start * byte_len..][..len]);
        at += len;
    }
}
