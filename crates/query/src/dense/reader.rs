//! Reads cells of dense arrays: plan, fetch, decode and copy, one batch at a time.

use super::ahead::Told;
use super::boxes::{Part, contiguous_parts, slow_to_fast};
use super::coordinates::write_coordinates;
use super::plan::{DenseField, DenseFragment, DensePlan, FragmentTiles, contains};
use super::target::{Piece, Target, part_len};
use super::task::{Purpose, Share, Task};
use crate::dest::{Dest, Pieces};
use crate::fetch::MAX_GAP;
use crate::folded::{self, Folded};
use crate::gather::{CellRun, Room, gather_whole, places};
use crate::request::Batch;
use crate::source::FieldSource;
use crate::whole::{Whole, wanted_whole};
use crate::workspace::{Workspace, Workspaces, room};
use rayon::prelude::*;
use smalti_array::{Plane, Snapshot};
use smalti_space::{CELLS_BETWEEN_CHECKS, Check, Interval, Pace};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::parallel::{self, Shareable as _};
use smalti_types::{CellValNum, Error, Result, Stores};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Tasks of whole rows of tiles for each thread, so that the last one leaves others idle for a short time only.
pub(super) const TASKS_PER_THREAD: u64 = 4;

/// Of several parts, or tiles of an aggregate, that are read at once those with fewer cells are not shared out.
const LEAST_TASK_CELL_COUNT: u64 = 1 << 14;

impl DensePlan {
    /// Reads parts of the result in row-major or column-major order, one behind the other, into `rooms` where they hold them.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn read_parts(&self, parts: &[Part], rooms: &mut [Room<'_>]) -> Result<Batch> {
        let mut tasks = Vec::new();
        for part in parts {
            let task_cell_count = match parts {
                [_] => self.task_cell_count(part),
                _ => self.task_cell_count(part).max(LEAST_TASK_CELL_COUNT),
            };
            for part in contiguous_parts(&self.axes, part.clone(), self.layout, task_cell_count) {
                let cell_count = part_len(&part)?;
                let target = Target::of_part(&self.grid, &self.axes, &part, self.layout)?;
                tasks.push(Task::new(target, cell_count));
            }
        }
        self.run(tasks, rooms)
    }

    /// Reads the wanted cells of some tiles in global order: tile after tile, each in its cell order, into `rooms` where they hold them.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn read_tiles(&self, rects: Vec<Vec<Interval>>, rooms: &mut [Room<'_>]) -> Result<Batch> {
        self.run(self.tasks_of_tiles(rects)?, rooms)
    }

    /// Folds the wanted cells of some tiles, each while it is in the processor's cache; small ones that follow each other together.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(super) fn fold_tiles(&self, rects: Vec<Vec<Interval>>, folded: &mut [Folded]) -> Result<()> {
        let tasks = self.tasks_of_tiles(rects)?;
        self.ask_ahead(&tasks)?;
        let mut groups: Vec<(u64, Vec<Task>)> = Vec::new();
        for task in tasks {
            let cell_count = task.cell_count as u64;
            match groups.last_mut() {
                Some((count, group)) if *count + cell_count <= LEAST_TASK_CELL_COUNT => {
                    *count += cell_count;
                    group.push(task);
                }
                _ => groups.push((cell_count, vec![task])),
            }
        }
        let kinds = folded::kinds(folded);
        let fold = |(_, group)| {
            let batch = self.run_asked(group, &mut [])?;
            Ok((batch.cell_count, folded::gather(&kinds, &batch, 0..batch.cell_count)))
        };
        for (cell_count, gathered) in groups.into_par_iter().steps(fold)? {
            folded::add(folded, &gathered, cell_count as u64);
        }
        Ok(())
    }

    fn tasks_of_tiles(&self, rects: Vec<Vec<Interval>>) -> Result<Vec<Task>> {
        let task = |rect: Vec<Interval>| {
            let cell_count = rect.iter().map(|side| (side.hi - side.lo + 1) as usize).product();
            Ok(Task::new(Target::of_tile(&self.grid, &rect, self.cell_order)?, cell_count))
        };
        rects.into_iter().map(task).collect()
    }

    /// Cells of a task: whole rows of tiles where that leaves work for every thread, so that no tile is decoded twice. Of ranges in
    /// no order each task may need every tile, so there is one for each thread.
    fn task_cell_count(&self, part: &Part) -> u64 {
        let threads = parallel::thread_count() as u64;
        let slowest = slow_to_fast(part.len(), self.layout)
            .into_iter()
            .find(|&dim| part[dim].end - part[dim].start > 1)
            .unwrap_or(0);
        let len = part[slowest].end - part[slowest].start;
        let total = super::boxes::part_cell_count(part).unwrap_or(u64::MAX);
        let inner = total / len.max(1);
        let step = self.axes[slowest].step.min(len);
        let rows = len.div_ceil(step.max(1));
        if self.axes[slowest].ascends && (rows >= threads || threads == 1) {
            inner.saturating_mul(step).saturating_mul(rows.div_ceil(threads * TASKS_PER_THREAD))
        } else {
            total.div_ceil(threads)
        }
    }

    fn run(&self, tasks: Vec<Task>, rooms: &mut [Room<'_>]) -> Result<Batch> {
        self.ask_ahead(&tasks)?;
        self.run_asked(tasks, rooms)
    }

    /// Reads tasks whose tiles were asked for.
    fn run_asked(&self, tasks: Vec<Task>, rooms: &mut [Room<'_>]) -> Result<Batch> {
        let cell_count = tasks.iter().map(|task| task.cell_count).sum();
        if let Some(filter) = &self.filter {
            return self.run_filtered(filter, tasks, cell_count);
        }
        let mut rooms = rooms.iter_mut();
        let fields: Vec<_> = self.fields.iter().map(|field| (field, rooms.next())).collect();
        // The last tasks of a field leave no thread idle: there are those of the next.
        let columns: Vec<Result<Column>> = fields
            .into_par_iter()
            .shared()
            .map(|(field, room)| self.read_field(field, &tasks, cell_count, Purpose::Result, room))
            .collect();
        Ok(Batch { cell_count, columns: columns.into_iter().collect::<Result<_>>()? })
    }

    pub(super) fn read_field(
        &self,
        field: &DenseField,
        tasks: &[Task],
        cell_count: usize,
        purpose: Purpose,
        room: Option<&mut Room<'_>>,
    ) -> Result<Column> {
        let check = || self.fetch.check();
        let to = self.fetch.output(&check);
        let mut column = Column::default();
        match field {
            DenseField::Dimension { dim, datatype } => {
                let shape =
                    CellShape { datatype: *datatype, cell_val_num: CellValNum::ONE, is_nullable: false };
                let byte_len = datatype.byte_len();
                let made = places(room, &mut column, shape, (cell_count, cell_count * byte_len), to)?;
                for_each_task(tasks, made.data, byte_len, |task, out| {
                    write_coordinates(&task.target, *dim, *datatype, out, &check)
                })?;
            }
            DenseField::Attribute { shape, fill, fill_valid, sources } if shape.is_var() => {
                return self.read_var(*shape, (fill, *fill_valid), sources, tasks, purpose, room);
            }
            DenseField::Attribute { shape, fill, fill_valid, sources } => {
                let byte_len = shape.cell_byte_len();
                let made = places(room, &mut column, *shape, (cell_count, cell_count * byte_len), to)?;
                self.read_plane((Plane::Fixed, byte_len), fill, sources, tasks, made.data, purpose)?;
                if shape.is_nullable {
                    let fill = [u8::from(*fill_valid)];
                    self.read_plane((Plane::Validity, 1), &fill, sources, tasks, made.validity, purpose)?;
                }
            }
        }
        Ok(column)
    }

    /// Reads values or validity of a fixed-size attribute: every task fills its own piece of the output.
    fn read_plane(
        &self,
        (plane, byte_len): (Plane, usize),
        fill: &[u8],
        sources: &[Option<FieldSource>],
        tasks: &[Task],
        out: &mut [u8],
        purpose: Purpose,
    ) -> Result<()> {
        let stores = Stores::for_result(out.len());
        for_each_task(tasks, out, byte_len, |task, out| {
            self.workspaces.with(|workspace| {
                let mut told = Told::default();
                for (at, piece) in task.pieces(purpose).enumerate() {
                    self.fetch.check()?;
                    self.tell_pieces(&mut told, sources, at, || task.pieces(purpose))?;
                    let (shares, is_covered) = self.shares(&piece, sources)?;
                    if !is_covered {
                        piece.cells(&piece.rect).fill(out, &task.target.strides, fill)?;
                    }
                    for share in shares {
                        self.copy_share(
                            plane,
                            byte_len,
                            &share,
                            sources,
                            &task.target,
                            (out, stores),
                            workspace,
                        )?;
                    }
                }
                Ok(())
            })
        })
    }

    fn copy_share(
        &self,
        plane: Plane,
        byte_len: usize,
        share: &Share<'_>,
        sources: &[Option<FieldSource>],
        target: &Target,
        (out, stores): (&mut [u8], Stores),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let Some(source) = &sources[share.fragment_idx] else { return Ok(()) };
        let cells = share.cells();
        if let Some(cell) = share.cell {
            let column = self.point_column(source, share)?;
            let values = match plane {
                Plane::Validity => column.validity.as_ref(),
                _ => Some(&column.data),
            };
            let value = values.and_then(|values| values.as_slice().get(cell * byte_len..)?.get(..byte_len));
            let value = value.ok_or_else(|| Error::corrupt(format!("a tile without cell {cell}")))?;
            return cells.fill(out, &target.strides, value);
        }
        let tile_strides = self.grid.cell_strides(self.cell_order)?;
        let cell_count = self.tile_cell_count()?;
        let tile_byte_len = self.fetch.tile_byte_len(source, plane, share.tile_idx, cell_count, byte_len)?;
        let is_whole = cells.is_box() && share.rect == share.piece.tile_rect;
        let Workspace { scratch, filtered, tile, .. } = workspace;
        if is_whole && same_order(&tile_strides, &target.strides, &share.rect) {
            let offset = cells.first_place(&target.strides)?;
            let place = Dest::Tile(&mut out[offset * byte_len..][..tile_byte_len]);
            let all = 0..tile_byte_len;
            return self.fetch.bytes(source, plane, share.tile_idx, &[all], place, (scratch, filtered));
        }
        let wanted: Vec<Range<usize>> = if is_whole {
            std::iter::once(0..tile_byte_len).collect()
        } else {
            let runs = cells.source_runs(&tile_strides, MAX_GAP as usize / byte_len)?.into_iter();
            runs.map(|run| run.start * byte_len..run.end * byte_len).collect()
        };
        if !same_fastest(&tile_strides, &target.strides, &share.rect) {
            // Few cells of a chunk would follow each other in the output: all of the tile has more of them.
            let tile = room(tile, tile_byte_len)?;
            let bytes = Dest::Tile(&mut *tile);
            self.fetch.bytes(source, plane, share.tile_idx, &wanted, bytes, (scratch, filtered))?;
            return cells.copy(out, &target.strides, tile, &tile_strides, byte_len, stores);
        }
        let extents: Vec<usize> = self.grid.tile_shape().into_iter().map(|extent| extent as usize).collect();
        let mut copy = |place: Range<usize>, bytes: &[u8]| {
            if place.len() == tile_byte_len {
                return cells.copy(out, &target.strides, bytes, &tile_strides, byte_len, stores);
            }
            let (to, part) = ((&mut *out, &target.strides[..]), (bytes, place.start / byte_len));
            cells.copy_part(to, part, (&extents, &tile_strides), byte_len, stores)
        };
        let pieces = Pieces { tile_byte_len, cell_byte_len: byte_len, buffer: tile, visit: &mut copy };
        let pieces = Dest::Pieces(pieces);
        self.fetch.bytes(source, plane, share.tile_idx, &wanted, pieces, (scratch, filtered))
    }

    /// Reads a var-sized attribute: traces every output cell to the tile that it comes from, then gathers.
    fn read_var(
        &self,
        shape: CellShape,
        (fill, fill_valid): (&[u8], bool),
        sources: &[Option<FieldSource>],
        tasks: &[Task],
        purpose: Purpose,
        room: Option<&mut Room<'_>>,
    ) -> Result<Column> {
        let trace = |task: &Task| self.trace(sources, task, purpose);
        let mut traces: Vec<Trace> = match tasks {
            [task] => vec![trace(task)?],
            _ => tasks.par_iter().steps(trace)?,
        };
        // The tasks number their tiles from 0; here all have one numbering, with the fill value last.
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        let mut slots = HashMap::new();
        for trace in &mut traces {
            for tile in &mut trace.tiles {
                tile.slot = *slots.entry(tile.place).or_insert_with(|| {
                    wanted.push(tile.place);
                    wanted.len() as u32 - 1
                });
            }
        }
        let fill_slot = wanted.len() as u32;
        let check = || self.fetch.check();
        let lists: Vec<Vec<CellRun>> = traces.into_par_iter().steps(|Trace { tiles, mut runs }| {
            for runs in runs.chunks_mut(CELLS_BETWEEN_CHECKS) {
                check()?;
                for run in runs {
                    run.slot = tiles.get(run.slot as usize).map_or(fill_slot, |tile| tile.slot);
                }
            }
            Ok(runs)
        })?;
        let tile_cell_count = self.tile_cell_count()?;
        let cell_count = |source: &FieldSource, tile_idx: usize| match source.fragment.is_dense() {
            true => Ok(tile_cell_count),
            false => source.fragment.cell_count_of_tile(tile_idx as u64),
        };
        let is_whole = wanted_whole(lists.iter().flatten(), wanted.len(), |_| tile_cell_count);
        let tell = |at: usize| self.tell_tiles(sources, &wanted, at);
        let mut whole = Whole::new(&self.fetch, &self.workspaces, wanted.len(), &tell);
        for (slot, &(fragment_idx, tile_idx)) in wanted.iter().enumerate().filter(|(slot, _)| is_whole[*slot])
        {
            let source = sources[fragment_idx].as_ref().filter(|source| source.fragment.is_dense());
            if let Some(source) = source
                && let Some(byte_len) = self.fetch.whole_var_byte_len(source, tile_idx, tile_cell_count)
            {
                whole.take(slot, source, tile_idx, byte_len);
            }
        }
        let columns: Vec<Option<Arc<Column>>> =
            wanted.par_iter().enumerate().steps(|(at, &(fragment_idx, tile_idx))| {
                if whole.has(at) {
                    return Ok(None);
                }
                tell(at);
                let source = sources[fragment_idx]
                    .as_ref()
                    .ok_or_else(|| Error::corrupt("a tile without a source"))?;
                let cell_count = cell_count(source, tile_idx)?;
                let read =
                    |workspace: &mut Workspace| self.fetch.tile(source, tile_idx, cell_count, workspace);
                self.workspaces.with(read).map(Some)
            })?;
        let fill_offsets = [0, fill.len() as u64];
        let fill_validity = [u8::from(fill_valid)];
        let nothing = || ColumnRef::var(&[], &[0]);
        let cells = columns.iter().map(|column| column.as_deref().map_or_else(nothing, Column::as_ref));
        let mut tiles: Vec<ColumnRef<'_>> = cells.collect();
        tiles.push(ColumnRef::var(fill, &fill_offsets).with_validity(&fill_validity));
        gather_whole(&lists, &tiles, &whole, shape, (self.fetch.output(&check), room))
    }

    /// Where the cells of a task come from.
    fn trace(&self, sources: &[Option<FieldSource>], task: &Task, purpose: Purpose) -> Result<Trace> {
        let tile_strides = self.grid.cell_strides(self.cell_order)?;
        if let Some(trace) = self.trace_in_order(sources, task, purpose, &tile_strides)? {
            return Ok(trace);
        }
        // By cell of the output `slot + 1 << 32 | cell`; 0 for the fill value, so that memory is fresh where nothing is.
        let mut origins = vec![0u64; task.cell_count];
        let mut slots = Slots::default();
        let check = || self.fetch.check();
        let mut pace = Pace::new(&check);
        for piece in task.pieces(purpose) {
            check()?;
            for share in self.shares(&piece, sources)?.0 {
                if sources[share.fragment_idx].is_none() {
                    continue;
                }
                let slot = u64::from(slots.of((share.fragment_idx, share.tile_idx))) + 1;
                share.cells().for_each_run(&task.target.strides, &tile_strides, |at, cell, len| {
                    let first = slot << 32 | share.cell.unwrap_or(cell) as u64;
                    for (place, from) in origins[at..at + len].iter_mut().zip(first..) {
                        *place = from;
                    }
                    pace.went(len)
                })?;
            }
        }
        Ok(Trace { tiles: slots.tiles, runs: runs_of(&origins, &check)? })
    }

    /// As [`trace`](DensePlan::trace), where the pieces follow each other in the output, and one tile gives all of each as it has it;
    /// `None` elsewhere.
    fn trace_in_order(
        &self,
        sources: &[Option<FieldSource>],
        task: &Task,
        purpose: Purpose,
        tile_strides: &[usize],
    ) -> Result<Option<Trace>> {
        let (mut slots, mut runs) = (Slots::default(), Vec::<CellRun>::new());
        let mut next = 0;
        for piece in task.pieces(purpose) {
            self.fetch.check()?;
            let (shares, is_covered) = self.shares(&piece, sources)?;
            let [share] = &shares[..] else { return Ok(None) };
            let cells = share.cells();
            let is_run = cells.is_box() && same_order(tile_strides, &task.target.strides, &share.rect);
            if !is_covered || !is_run || share.is_single_cell() || sources[share.fragment_idx].is_none() {
                return Ok(None);
            }
            let slot = slots.of((share.fragment_idx, share.tile_idx));
            let mut is_next = true;
            cells.for_each_run(&task.target.strides, tile_strides, |at, cell, len| {
                is_next &= at == next;
                next += len;
                match runs.last_mut() {
                    Some(run) if run.slot == slot && (run.start + run.len) as usize == cell => {
                        run.len += len as u32
                    }
                    _ => runs.push(CellRun { slot, start: cell as u32, len: len as u32 }),
                }
                Ok(())
            })?;
            if !is_next {
                return Ok(None);
            }
        }
        Ok((next == task.cell_count).then_some(Trace { tiles: slots.tiles, runs }))
    }

    /// Which fragments give the cells of a piece, oldest first, none that newer ones hide; and whether they give all.
    pub(super) fn shares<'p>(
        &self,
        piece: &'p Piece<'p>,
        sources: &[Option<FieldSource>],
    ) -> Result<(Vec<Share<'p>>, bool)> {
        let mut shares = Vec::new();
        let mut is_covered = false;
        // Fragments without the field leave what older ones have of it in the tile, as in libtiledb: unless they wrote
        // all the cells that an older one has there, so that it is passed over before any field is looked at.
        let mut lacking: Vec<Vec<Interval>> = Vec::new();
        for fragment_idx in self.rects.meeting(&piece.rect) {
            let fragment = &self.fragments[fragment_idx];
            let mut rect = vec![Interval::ALL; piece.rect.len()];
            if !smalti_space::intersect_rects(&fragment.rect, &piece.rect, &mut rect) || !piece.meets(&rect) {
                continue;
            }
            let block = match &fragment.tiles {
                FragmentTiles::Space(block) => block,
                FragmentTiles::Points(points) => {
                    let shown = points.inside(&rect).map(|point| Share {
                        fragment_idx,
                        tile_idx: point.tile_idx,
                        rect: point.coords.iter().map(|&at| Interval { lo: at, hi: at }).collect(),
                        piece,
                        cell: Some(point.cell),
                    });
                    shares.extend(shown.filter(|share| piece.meets(&share.rect)));
                    continue;
                }
            };
            let is_lacking = sources[fragment_idx].is_none();
            if is_lacking || !lacking.is_empty() {
                let mut in_tile = rect.clone();
                smalti_space::intersect_rects(&fragment.rect, &piece.tile_rect, &mut in_tile);
                if lacking.iter().any(|newer| contains(newer, &in_tile)) {
                    continue;
                }
                if is_lacking {
                    lacking.push(in_tile);
                    continue;
                }
            }
            let tile_idx = block
                .tile_idx(&piece.tile)
                .ok_or_else(|| Error::corrupt("a fragment's tiles do not cover its non-empty domain"))?;
            let covers = rect == piece.rect;
            shares.push(Share { fragment_idx, tile_idx: tile_idx as usize, rect, piece, cell: None });
            if covers {
                is_covered = true;
                break;
            }
        }
        shares.reverse();
        Ok((shares, is_covered))
    }

    /// The tile that holds a cell that was written alone.
    fn point_column(&self, source: &FieldSource, share: &Share<'_>) -> Result<Arc<Column>> {
        match &self.fragments[share.fragment_idx].tiles {
            FragmentTiles::Points(points) => {
                // The caller has a workspace already.
                points.column(source, share.tile_idx, &self.fetch, &Workspaces::default())
            }
            FragmentTiles::Space(_) => Err(Error::corrupt("a fragment of space tiles without them")),
        }
    }

    /// The mean bytes of the values of a cell of an attribute of any length, as far as something is known of them.
    pub(crate) fn mean_var_byte_len(&self, field: usize) -> Option<usize> {
        let Some(DenseField::Attribute { sources, .. }) = self.fields.get(field) else { return None };
        let cell_count = self.tile_cell_count().ok();
        let whole = sources.iter().flatten().filter(|source| source.fragment.is_dense());
        self.fetch.mean_var_byte_len(whole, |_, _| cell_count)
    }

    pub(super) fn tile_cell_count(&self) -> Result<usize> {
        self.grid
            .cell_count_per_tile()
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| Error::unsupported("the space tiles have more cells than memory can address"))
    }
}

/// Runs tasks in parallel, each on its own piece of the output.
fn for_each_task(
    tasks: &[Task],
    mut out: &mut [u8],
    byte_len: usize,
    work: impl Fn(&Task, &mut [u8]) -> Result<()> + Sync,
) -> Result<()> {
    let mut places = Vec::with_capacity(tasks.len());
    for task in tasks {
        let (place, rest) = out.split_at_mut(task.cell_count * byte_len);
        places.push((task, place));
        out = rest;
    }
    if let [(task, place)] = &mut places[..] {
        return work(task, place);
    }
    places.into_par_iter().shared().try_for_each(|(task, place)| work(task, place))
}

/// Whether a box of these sides lies the same way in both buffers, so that it is one run of the output.
fn same_order(tile: &[usize], out: &[usize], rect: &[Interval]) -> bool {
    rect.iter().zip(tile).zip(out).all(|((side, tile), out)| side.lo == side.hi || tile == out)
}

/// Whether the cells of a box that follow each other in its tile do so in the output.
fn same_fastest(tile: &[usize], out: &[usize], rect: &[Interval]) -> bool {
    let long = || rect.iter().enumerate().filter(|(_, side)| side.lo < side.hi).map(|(dim, _)| dim);
    let fastest = |strides: &[usize]| long().min_by_key(|&dim| strides[dim]);
    fastest(tile) == fastest(out)
}

/// Where the cells of a task come from.
struct Trace {
    tiles: Vec<TracedTile>,
    /// The cells in the task's order; the slot is a place in `tiles`, or [`FILL_SLOT`] for the fill value.
    runs: Vec<CellRun>,
}

struct TracedTile {
    /// The fragment and its tile.
    place: (usize, usize),
    /// The slot among the tiles of all tasks, once it is known.
    slot: u32,
}

/// The tiles of a trace, each with a place of its own.
#[derive(Default)]
struct Slots {
    tiles: Vec<TracedTile>,
    known: HashMap<(usize, usize), u32>,
}

impl Slots {
    /// The place of a tile of a fragment.
    fn of(&mut self, place: (usize, usize)) -> u32 {
        *self.known.entry(place).or_insert_with(|| {
            self.tiles.push(TracedTile { place, slot: 0 });
            self.tiles.len() as u32 - 1
        })
    }
}

const FILL_SLOT: u32 = u32::MAX;

/// Runs of cells from their origins.
fn runs_of(origins: &[u64], check: Check<'_>) -> Result<Vec<CellRun>> {
    let mut runs: Vec<CellRun> = Vec::new();
    for (at, &origin) in origins.iter().enumerate() {
        if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
            check()?;
        }
        let (slot, start) = ((origin >> 32) as u32, origin as u32);
        let slot = slot.wrapping_sub(1);
        match runs.last_mut() {
            Some(run) if slot != FILL_SLOT && run.slot == slot && run.start + run.len == start => {
                run.len += 1
            }
            _ => runs.push(CellRun { slot, start, len: 1 }),
        }
    }
    Ok(runs)
}

/// The source of an attribute in each fragment, by the fragment's own schema.
pub(crate) fn attribute_sources(
    snapshot: &Snapshot,
    fragments: &[DenseFragment],
    name: &str,
    shape: CellShape,
) -> Result<Vec<Option<FieldSource>>> {
    fragments.iter().map(|dense| FieldSource::of_attribute(snapshot, &dense.fragment, name, shape)).collect()
}
