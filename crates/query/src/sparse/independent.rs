//! Reads tile after tile: where no cell hides another but its neighbours, and the order is that of the tiles, or none.
//!
//! Tiles that are wholly wanted are decoded straight into the output. Several batches are made at once, as memory allows, so
//! that small ones keep all threads busy too.

use super::neighbours::Ahead;
use super::plan::{SparseField, SparsePlan, TileRef};
use super::select::Selection;
use crate::dest::{Dest, Pieces, lacking};
use crate::gather::{CellRun, Room, gather_whole, places};
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT};
use crate::whole::Whole;
use crate::workspace::Workspace;
use rayon::prelude::*;
use smalti_array::{FieldId, Plane};
use smalti_space::BitMask;
use smalti_tile::{Column, ColumnRef};
use smalti_types::Result;
use smalti_types::parallel::{self, Shareable as _};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Tasks that every thread should find when tiles are decoded: fewer are out of balance.
const TASKS_PER_THREAD: usize = 4;

/// Bytes of a step, for each thread, from which on no more tiles are decoded for the sake of balance: whoever takes batch by batch gives their memory back
/// while it is in the cache, for the next step to use.
const ENOUGH_BYTE_LEN: u64 = 3 << 19;

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
struct Reading<'p, 'b> {
    tiles: &'p [TileRef],
    selected: Vec<Selection>,
    cell_count: usize,
    /// Those that are made in a room of the caller's stay empty.
    columns: Vec<Column>,
    /// By field, if the caller has any.
    rooms: &'p mut [Room<'b>],
    /// By field, the tiles of values of any length, of which the column is made when all are there.
    decoded: Vec<Vec<VarTile>>,
}

/// Where the values of a tile come from that are of any length.
#[derive(Clone)]
enum VarTile {
    /// From nowhere yet, or no source has any.
    Unknown,
    Decoded(Arc<Column>),
    /// They are decoded where they go, so many bytes.
    Whole(usize),
}

/// A piece of work that threads share.
enum Task<'r> {
    /// Decodes a tile into its share of the output.
    Fill { field: usize, plane: Plane, byte_len: usize, share: Share<'r> },
    /// Decodes a tile of values of any length.
    Decode { field: usize, tile: &'r TileRef, out: &'r mut VarTile },
}

impl StoredCells {
    /// The start of a stretch.
    pub(crate) fn new(tiles: Range<usize>) -> Self {
        StoredCells { tiles, ahead: Ahead::new(), ready: VecDeque::new(), is_fruitless: false }
    }

    /// Whether nothing is left of the stretch.
    pub(crate) fn is_over(&self) -> bool {
        self.tiles.is_empty() && self.ready.is_empty()
    }

    /// Whether the next batch was made with the last one.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.ready.front(), Some(Ok(batch)) if batch.cell_count > 0)
    }
}

impl SparsePlan {
    /// The next cells of a stretch that is read tile after tile, into `rooms` where they hold them; `None` at the end.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn next_stored(
        &self,
        stored: &mut StoredCells,
        max_cell_count: usize,
        rooms: &mut [Room<'_>],
    ) -> Result<Option<Batch>> {
        let wanted_tile_count = match (self.limit, self.tiles.get(stored.tiles.start)) {
            (None, Some(tile)) => self.balanced_tile_count(tile)?,
            // What lies behind the cells that are asked for may never be.
            _ => 1,
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
            let until = self.waiting_until(stored.tiles.start);
            let wanted_tile_count =
                until.map_or(wanted_tile_count, |end| wanted_tile_count.max(end - stored.tiles.start));
            let groups = self.next_groups(stored.tiles.clone(), max_cell_count, wanted_tile_count)?;
            let Some(last) = groups.last() else { return Ok(None) };
            let start = std::mem::replace(&mut stored.tiles.start, last.end);
            self.run_ahead(start..last.end);
            let selected = self.select_stored(start..last.end, &mut stored.ahead, stored.tiles.end);
            let has_cells =
                |selection: &Result<Selection>| selection.as_ref().is_ok_and(|selection| selection.count > 0);
            self.ask_rest(
                (start..).zip(&selected).filter(|(_, found)| has_cells(found)).map(|(slot, _)| slot),
            );
            // What is handed out later has no place there yet.
            let rooms = if groups.len() == 1 { &mut *rooms } else { &mut [] };
            stored.ready.extend(self.read_groups(&groups, selected, rooms));
        }
    }

    /// How many tiles like one are decoded in a step, so that each thread finds something to do.
    fn balanced_tile_count(&self, tile: &TileRef) -> Result<usize> {
        let thread_count = parallel::thread_count();
        let task_count = thread_count.saturating_mul(TASKS_PER_THREAD);
        let most = task_count.div_ceil(self.fields.len().max(1));
        let enough = ENOUGH_BYTE_LEN.saturating_mul(thread_count as u64);
        let enough = enough.div_ceil(self.cost(tile)?.fields.max(1)).max(thread_count as u64);
        Ok(most.min(usize::try_from(enough).unwrap_or(usize::MAX)))
    }

    /// Reads the wanted cells of groups of tiles that follow each other, each into a batch, in the order of the tiles.
    fn read_groups(
        &self,
        groups: &[Range<usize>],
        selected: Vec<Result<Selection>>,
        rooms: &mut [Room<'_>],
    ) -> Vec<Result<Batch>> {
        let (mut selected, mut rooms) = (selected.into_iter(), Some(rooms));
        let mut readings: Vec<Result<Reading<'_, '_>>> = groups
            .iter()
            .map(|group| {
                // All of the group's, so that an error leaves none of them to the next one.
                let selected: Vec<Result<Selection>> = selected.by_ref().take(group.len()).collect();
                let selected = selected.into_iter().collect::<Result<_>>()?;
                self.reading(&self.tiles[group.clone()], selected, rooms.take().unwrap_or_default())
            })
            .collect();
        let (mut tasks, mut refused): (Vec<(usize, Task<'_>)>, Vec<(usize, Result<()>)>) = Default::default();
        for (at, reading) in readings.iter_mut().enumerate() {
            if let Ok(reading) = reading {
                refused.push((at, self.push_tasks(at, reading, &mut tasks)));
            }
        }
        let mut done: Vec<(usize, Result<()>)> =
            tasks.into_par_iter().shared().map(|(at, task)| (at, self.run(task))).collect();
        done.extend(refused);
        for (at, done) in done {
            if let (Err(error), Ok(_)) = (done, &readings[at]) {
                readings[at] = Err(error);
            }
        }
        readings.into_par_iter().shared().map(|reading| self.finish(reading?)).collect()
    }

    /// Readies a batch: checks what tiles claim, so that memory may be taken for it.
    fn reading<'p, 'b>(
        &self,
        tiles: &'p [TileRef],
        selected: Vec<Selection>,
        rooms: &'p mut [Room<'b>],
    ) -> Result<Reading<'p, 'b>> {
        let cell_count = selected.iter().map(|selection| selection.count).sum();
        let mut decoded = Vec::with_capacity(self.fields.len());
        for (field, SparseField { shape, .. }) in self.fields.iter().enumerate() {
            if shape.is_var() {
                decoded.push(vec![VarTile::Unknown; tiles.len()]);
            } else {
                self.check_claims(field, tiles, &selected)?;
                decoded.push(Vec::new());
            }
        }
        let columns = vec![Column::default(); self.fields.len()];
        Ok(Reading { tiles, selected, cell_count, columns, rooms, decoded })
    }

    /// Takes the memory for a batch, and tells what is to be done for it.
    fn push_tasks<'r>(
        &self,
        at: usize,
        reading: &'r mut Reading<'_, '_>,
        tasks: &mut Vec<(usize, Task<'r>)>,
    ) -> Result<()> {
        let Reading { tiles, selected, columns, decoded, rooms, cell_count } = reading;
        let (tiles, selected): (&'r [TileRef], &'r [Selection]) = (tiles, selected);
        let mut rooms = rooms.iter_mut();
        for (field, (column, decoded)) in columns.iter_mut().zip(decoded).enumerate() {
            let (SparseField { id, shape, .. }, room) = (&self.fields[field], rooms.next());
            if shape.is_var() {
                for ((tile, selection), out) in tiles.iter().zip(selected).zip(decoded) {
                    let source = self.fragments[tile.fragment_idx].sources[field].as_ref();
                    if selection.count == 0 || selection.known(*id, source).is_some() {
                        continue;
                    }
                    match self.whole_byte_len(field, tile, selection) {
                        Some(byte_len) => *out = VarTile::Whole(byte_len),
                        None => tasks.push((at, Task::Decode { field, tile, out })),
                    }
                }
                continue;
            }
            let byte_len = *cell_count * shape.cell_byte_len();
            let check = || self.fetch.check();
            let made = places(room, column, *shape, (*cell_count, byte_len), self.fetch.output(&check))?;
            let mut planes = vec![(Plane::Fixed, shape.cell_byte_len(), made.data)];
            if shape.is_nullable {
                planes.push((Plane::Validity, 1, made.validity));
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
        Ok(())
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
                    *out = VarTile::Decoded(self.tile_column(source, tile)?);
                }
                Ok(())
            }
        }
    }

    fn finish(&self, reading: Reading<'_, '_>) -> Result<Batch> {
        let Reading { tiles, selected, cell_count, mut columns, rooms, decoded } = reading;
        let mut rooms = rooms.iter_mut();
        for (field, (column, decoded)) in columns.iter_mut().zip(decoded).enumerate() {
            let room = rooms.next();
            if self.fields[field].shape.is_var() {
                *column = self.gather_field(field, tiles, &selected, &decoded, room)?;
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
        if let Some(column) = selection.known(*id, fragment.sources[field].as_ref()) {
            let cells = match plane {
                Plane::Validity => column.validity.as_ref().ok_or_else(lacking)?,
                _ => &column.data,
            };
            copy_selected(selection, cells.as_slice(), byte_len, out);
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
        let workspace = (scratch, filtered);
        let Some(mask) = &selection.mask else {
            let whole = Dest::Tile(out);
            return self.fetch.bytes(source, plane, tile.tile_idx, &[all], whole, workspace);
        };
        let wanted: Vec<Range<usize>> = match source.codec.data().is_plain() {
            true => mask.iter_runs().map(|run| run.start * byte_len..run.end * byte_len).collect(),
            false => mask
                .first()
                .zip(mask.last())
                .map(|(first, last)| first * byte_len..(last + 1) * byte_len)
                .into_iter()
                .collect(),
        };
        let mut filled = 0;
        let mut visit = |place: Range<usize>, bytes: &[u8]| {
            let rest = out.get_mut(filled..).unwrap_or_default();
            filled += copy_masked(mask, place.start / byte_len, bytes, byte_len, rest);
            Ok(())
        };
        let pieces = Pieces { tile_byte_len, cell_byte_len: byte_len, buffer, visit: &mut visit };
        self.fetch.bytes(source, plane, tile.tile_idx, &wanted, Dest::Pieces(pieces), workspace)?;
        match filled == out.len() {
            true => Ok(()),
            false => Err(lacking()),
        }
    }

    /// The bytes of the values of a tile, if all of its cells are wanted as they are, and can be decoded where they go.
    fn whole_byte_len(&self, field: usize, tile: &TileRef, selection: &Selection) -> Option<usize> {
        let source = self.fragments[tile.fragment_idx].sources[field].as_ref();
        let source = source.filter(|source| selection.mask.is_none() && source.coordinate.is_none())?;
        self.fetch.whole_var_byte_len(source, tile.tile_idx, tile.cell_count)
    }

    /// Makes a column of cells of any length: copies the wanted cells of decoded tiles, and decodes those that go whole.
    fn gather_field(
        &self,
        field: usize,
        tiles: &[TileRef],
        selected: &[Selection],
        decoded: &[VarTile],
        room: Option<&mut Room<'_>>,
    ) -> Result<Column> {
        let SparseField { id, shape, fill, fill_valid } = &self.fields[field];
        let fill_offsets = [0, fill.len() as u64];
        let fill_validity = [u8::from(*fill_valid)];
        let mut columns: Vec<ColumnRef<'_>> = Vec::with_capacity(tiles.len() + 1);
        let mut runs: Vec<CellRun> = Vec::new();
        let fill_slot = tiles.len() as u32;
        let mut whole = Whole::new(&self.fetch, &self.workspaces, tiles.len(), &|_| {});
        for (slot, ((tile, selection), decoded)) in tiles.iter().zip(selected).zip(decoded).enumerate() {
            let source = self.fragments[tile.fragment_idx].sources[field].as_ref();
            let known = match decoded {
                VarTile::Decoded(column) => Some(column),
                _ => selection.known(*id, source),
            };
            match (known, decoded, source) {
                (Some(column), ..) => {
                    columns.push(Column::as_ref(column));
                    selection.push_runs(slot as u32, tile.cell_count, &mut runs);
                }
                (None, VarTile::Whole(byte_len), Some(source)) => {
                    whole.take(slot, source, tile.tile_idx, *byte_len);
                    columns.push(ColumnRef::var(&[], &[0]));
                    selection.push_runs(slot as u32, tile.cell_count, &mut runs);
                }
                _ => {
                    columns.push(ColumnRef::var(&[], &[0]));
                    runs.extend((0..selection.count).map(|_| CellRun { slot: fill_slot, start: 0, len: 1 }));
                }
            }
        }
        columns.push(ColumnRef::var(fill, &fill_offsets).with_validity(&fill_validity));
        let check = || self.fetch.check();
        gather_whole(&[runs], &columns, &whole, *shape, (self.fetch.output(&check), room))
    }
}

fn copy_selected(selection: &Selection, cells: &[u8], byte_len: usize, out: &mut [u8]) {
    match &selection.mask {
        None => out.copy_from_slice(cells),
        Some(mask) => drop(copy_masked(mask, 0, cells, byte_len, out)),
    }
}

/// Copies those of `cells`, of which the first is the tile's `first`, that a mask selects, and tells how many bytes they are.
fn copy_masked(mask: &BitMask, first: usize, cells: &[u8], byte_len: usize, out: &mut [u8]) -> usize {
    let count = match byte_len {
        1 => mask.gather(first, cells, out),
        2 => mask.gather(first, cells.as_chunks::<2>().0, out.as_chunks_mut::<2>().0),
        4 => mask.gather(first, cells.as_chunks::<4>().0, out.as_chunks_mut::<4>().0),
        8 => mask.gather(first, cells.as_chunks::<8>().0, out.as_chunks_mut::<8>().0),
        _ => mask.iter_runs_in(first..first + cells.len() / byte_len).fold(0, |count, run| {
            let len = (run.end - run.start) * byte_len;
            out[count * byte_len..][..len].copy_from_slice(&cells[(run.start - first) * byte_len..][..len]);
            count + run.len()
        }),
    };
    count * byte_len
}
