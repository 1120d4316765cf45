//! Writes one fragment: filters tiles in parallel, streams them to their files, and commits at the end.
//!
//! Order of durability: data files and fragment metadata, then the folders that name them, then the commit file, which alone
//! makes the fragment visible. Until then a failure leaves an orphan that no reader sees.

use crate::progress::{Phase, Progress, Unit};
use crate::workspace::{SpareColumn, Workspace, Workspaces};
use rayon::prelude::*;
use smalti_array::{FieldContent, FieldId, FragmentContent, NewFragment, Plane};
use smalti_store::{FileWriter, NewFile, finish_all};
use smalti_tile::{CellShape, Column, FieldCodec, FilteredTile, Stats, StatsBuilder, StatsKind};
use smalti_types::parallel::{self, Shareable as _};
use smalti_types::{Error, Extent, RectList, Result};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A field that a write stores.
pub(crate) struct WrittenField {
    pub(crate) field: FieldId,
    /// Its place in the lists of the fragment's metadata.
    pub(crate) slot: usize,
    pub(crate) shape: CellShape,
    pub(crate) codec: FieldCodec,
    pub(crate) stats: StatsKind,
}

/// The cells of one tile of one field, and those of them that statistics count.
pub(crate) struct TileCells {
    pub(crate) column: Column,
    pub(crate) counted: Counted,
}

/// The cells of a tile that were written; the others pad it.
pub(crate) enum Counted {
    All,
    Runs(Arc<[Range<usize>]>),
}

/// One tile of one field, filtered, with what the metadata says of it.
struct DoneTile {
    filtered: FilteredTile,
    var_byte_len: u64,
    stats: Stats,
}

/// A data file: small ones wait in memory, so that they are put together; large ones are streamed.
#[derive(Default)]
struct DataFile {
    waiting: Vec<u8>,
    writer: Option<Box<dyn FileWriter>>,
    byte_len: u64,
}

/// Files longer than this are streamed.
const STREAM_FROM: usize = 1 << 20;

/// From so many bytes on, those of a tile go to a streamed file by themselves: copied to what waits, they would be touched once more.
const ALONE_FROM: usize = STREAM_FROM / 4;

/// Tiles on their way to the store, which takes them in their order: whoever has filtered the next one hands it over, and all behind it that
/// are ready, while the others filter on.
struct Line<'w> {
    ready: Mutex<Ready>,
    /// For whom [`Ready::is_storing`].
    writer: Mutex<&'w mut FragmentWriter>,
    /// Filtered tiles that were stored: memory for those to come.
    spare: Mutex<Vec<FilteredTile>>,
    most_spare: usize,
}

/// Tiles that are filtered and not yet with the store.
struct Ready {
    /// The number of the first tile that is not with the store, among all of all fields.
    first: usize,
    /// From the first on; `None` while they are being filtered.
    tiles: VecDeque<Option<DoneTile>>,
    /// Whether a thread hands tiles over. After an error, for good.
    is_storing: bool,
}

/// A fragment that is being written. Dropped before it is sealed, it removes what it put.
pub(crate) struct FragmentWriter {
    fields: Arc<[WrittenField]>,
    /// Fixed, var and validity file of every written field.
    files: Vec<[DataFile; 3]>,
    content: FragmentContent,
    workspaces: Workspaces,
    /// Memory for filtered tiles, between calls.
    spare: Vec<FilteredTile>,
    progress: Arc<Progress>,
    /// Behind the files, whose writers go first.
    new: Unsealed,
}

/// A fragment that is removed when it is dropped.
struct Unsealed {
    new: NewFragment,
    /// Whether anything of it may be in the store.
    is_begun: bool,
}

impl Drop for Unsealed {
    fn drop(&mut self) {
        if self.is_begun {
            // What cannot be removed stays behind as an orphan, which no reader sees; the first error tells more.
            let _ = self.new.discard();
        }
    }
}

impl FragmentWriter {
    /// Starts a fragment under a new name.
    pub(crate) fn new(new: NewFragment, fields: Arc<[WrittenField]>, progress: Arc<Progress>) -> Self {
        let content = new.content();
        let files = fields.iter().map(|_| Default::default()).collect();
        let new = Unsealed { new, is_begun: false };
        let (workspaces, spare) = Default::default();
        FragmentWriter { fields, files, content, workspaces, spare, progress, new }
    }

    /// Filters and writes the tiles `tiles`. `cells` makes the cells of a tile of a field, in spare memory where it likes; it is called from many
    /// threads. Each tile is handed to the store as soon as those before it are, so that a disk is busy from the first on. Tiles are taken in groups
    /// of so many: no more of them ever wait for a store that is slow.
    ///
    /// # Errors
    /// `Cancelled`; what `cells`, the codecs and the store report.
    pub(crate) fn append(
        &mut self,
        tiles: Range<usize>,
        group_len: usize,
        cells: impl Fn(usize, usize, &mut SpareColumn) -> Result<TileCells> + Sync,
    ) -> Result<()> {
        let (fields, progress) = (Arc::clone(&self.fields), Arc::clone(&self.progress));
        let field_count = fields.len();
        let workspaces = std::mem::take(&mut self.workspaces);
        let line = Line::new(self);
        let jobs = tiles.len() * field_count;
        let group_job_count = group_len.max(1).saturating_mul(field_count).max(1);
        for start in (0..jobs).step_by(group_job_count) {
            let group = start..jobs.min(start.saturating_add(group_job_count));
            // In their order, whichever threads take them: the first is stored first.
            let next = AtomicUsize::new(start);
            group.into_par_iter().steps(|_| {
                progress.check()?;
                let job = next.fetch_add(1, Ordering::Relaxed);
                let (tile, field) = (tiles.start + job / field_count, job % field_count);
                let done = workspaces.with(|workspace| {
                    let cells = cells(tile, field, &mut workspace.cells)?;
                    filter_tile(&fields[field], cells, line.spare_tile(), workspace)
                })?;
                progress.advance(Phase::Writing, Unit::Tiles, 1);
                line.put(job, done)
            })?;
        }
        let spare = line.into_spare();
        (self.workspaces, self.spare) = (workspaces, spare);
        Ok(())
    }

    /// Hands the next tile of a field to the store. Returns the memory that it was in.
    fn store_tile(&mut self, idx: usize, tile: DoneTile) -> Result<FilteredTile> {
        let field = &self.fields[idx];
        let content = &mut self.content.fields[field.slot];
        let [fixed, var, validity] = &mut self.files[idx];
        content.tile_offsets.push(fixed.byte_len);
        content.var_offsets.push(var.byte_len);
        content.var_byte_lens.push(tile.var_byte_len);
        content.validity_offsets.push(validity.byte_len);
        content.stats.push(tile.stats);
        let planes = [
            (fixed, Plane::Fixed, &tile.filtered.fixed),
            (var, Plane::Var, &tile.filtered.var),
            (validity, Plane::Validity, &tile.filtered.validity),
        ];
        let unsealed = &mut self.new;
        for (file, plane, bytes) in planes {
            file.append(bytes, || {
                unsealed.is_begun = true;
                unsealed.new.create_data_file(field.field, plane)
            })?;
        }
        Ok(tile.filtered)
    }

    /// Writes what is left, then the metadata, then the commit: after this the fragment is visible and durable.
    ///
    /// # Errors
    /// `Cancelled`; what the store reports. An error before the commit file leaves the array as it was.
    pub(crate) fn commit(self, extent: FragmentExtent) -> Result<String> {
        let progress = Arc::clone(&self.progress);
        let sealed = self.seal(extent)?;
        if let Err(stopped) = progress.check() {
            let _ = sealed.discard();
            return Err(stopped);
        }
        sealed.commit()?;
        progress.complete(Phase::Syncing);
        Ok(sealed.name().to_string())
    }

    /// Bytes of data that were handed in so far, filtered.
    pub(crate) fn byte_len(&self) -> u64 {
        self.files.iter().flatten().map(|file| file.byte_len).sum()
    }

    /// Writes what is left, then the metadata: after this the fragment is durable, and only its commit is missing.
    ///
    /// # Errors
    /// `Cancelled`; what the store reports.
    pub(crate) fn seal(mut self, extent: FragmentExtent) -> Result<NewFragment> {
        let new = &self.new.new;
        let mut streamed = Vec::new();
        let mut small = Vec::new();
        for (field, files) in self.fields.iter().zip(self.files) {
            let content: &mut FieldContent = &mut self.content.fields[field.slot];
            let [fixed, var, validity] = files;
            content.byte_len = fixed.byte_len;
            content.var_byte_len = var.byte_len;
            content.validity_byte_len = validity.byte_len;
            let planes = [
                (fixed, Plane::Fixed, true),
                (var, Plane::Var, field.shape.is_var()),
                (validity, Plane::Validity, field.shape.is_nullable),
            ];
            for (mut file, plane, exists) in planes {
                match file.writer.take() {
                    Some(mut writer) => {
                        writer.write(&file.waiting)?;
                        streamed.push(writer);
                    }
                    None if exists => {
                        small.push((new.data_file(field.field, plane)?, file.waiting));
                    }
                    None => {}
                }
            }
        }
        self.content.set_extent(
            extent.rects,
            extent.non_empty_domain,
            extent.tile_count,
            extent.last_tile_cell_count,
        );
        for field in self.fields.iter() {
            let content = &self.content.fields[field.slot];
            if content.tile_offsets.len() as u64 != extent.tile_count {
                return Err(Error::invalid("the fields of a fragment have different numbers of tiles"));
            }
        }
        let metadata = new.encode_metadata(self.content)?;
        small.push((new.metadata_file(), metadata));
        let store = Arc::clone(new.place().store());
        self.progress.check()?;
        self.new.is_begun = true;
        let file_count = streamed.len() + small.len() + 1;
        self.progress.enter(Phase::Syncing, Unit::Files, Some(file_count as u64));
        if !streamed.is_empty() {
            let count = streamed.len() as u64;
            finish_all(streamed)?;
            self.progress.advance(Phase::Syncing, Unit::Files, count);
            self.progress.check()?;
        }
        let parts: Vec<[&[u8]; 1]> = small.iter().map(|(_, bytes)| [&bytes[..]]).collect();
        let files: Vec<NewFile<'_>> =
            small.iter().zip(&parts).map(|((path, _), parts)| NewFile { path, parts }).collect();
        store.put_batch(&files)?;
        self.progress.advance(Phase::Syncing, Unit::Files, files.len() as u64);
        self.new.is_begun = false;
        Ok(self.new.new.clone())
    }
}

/// What the metadata says of a fragment as a whole.
pub(crate) struct FragmentExtent {
    /// The rectangle of every tile of a sparse fragment; `None` for a dense one.
    pub(crate) rects: Option<RectList>,
    /// The least rectangle around all cells.
    pub(crate) non_empty_domain: Vec<Extent>,
    pub(crate) tile_count: u64,
    /// Cells in the last tile of a sparse fragment; 0 for a dense one.
    pub(crate) last_tile_cell_count: u64,
}

impl<'w> Line<'w> {
    /// The line to a writer.
    fn new(writer: &'w mut FragmentWriter) -> Self {
        let spare = Mutex::new(std::mem::take(&mut writer.spare));
        let ready = Ready { first: 0, tiles: VecDeque::new(), is_storing: false };
        let most_spare = 2 * parallel::thread_count();
        Line { ready: Mutex::new(ready), writer: Mutex::new(writer), spare, most_spare }
    }

    /// Takes a tile, by its number among all of all fields, and hands over what is ready unless another thread does.
    fn put(&self, job: usize, tile: DoneTile) -> Result<()> {
        let mut ready = self.ready();
        let place = job - ready.first;
        if ready.tiles.len() <= place {
            ready.tiles.resize_with(place + 1, || None);
        }
        ready.tiles[place] = Some(tile);
        while !ready.is_storing
            && let Some(Some(tile)) = ready.tiles.front_mut().map(Option::take)
        {
            let job = ready.first;
            ready.tiles.pop_front();
            ready.first += 1;
            ready.is_storing = true;
            drop(ready);
            self.store(job, tile)?;
            ready = self.ready();
            ready.is_storing = false;
        }
        Ok(())
    }

    fn store(&self, job: usize, tile: DoneTile) -> Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let field = job % writer.fields.len();
        let stored = writer.store_tile(field, tile)?;
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < self.most_spare {
            spare.push(stored);
        }
        Ok(())
    }

    /// Memory for a filtered tile.
    fn spare_tile(&self) -> FilteredTile {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn into_spare(self) -> Vec<FilteredTile> {
        self.spare.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn ready(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DataFile {
    fn append(&mut self, bytes: &[u8], create: impl FnOnce() -> Result<Box<dyn FileWriter>>) -> Result<()> {
        self.byte_len += bytes.len() as u64;
        let is_short = bytes.len() < ALONE_FROM;
        if self.waiting.len() + bytes.len() < STREAM_FROM {
            self.waiting.extend_from_slice(bytes);
            return Ok(());
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(create()?),
        };
        if is_short {
            self.waiting.extend_from_slice(bytes);
        }
        if !self.waiting.is_empty() {
            writer.write(&self.waiting)?;
            self.waiting.clear();
        }
        if is_short { Ok(()) } else { writer.write(bytes) }
    }
}

fn filter_tile(
    field: &WrittenField,
    cells: TileCells,
    mut filtered: FilteredTile,
    workspace: &mut Workspace,
) -> Result<DoneTile> {
    let column = cells.column.as_ref();
    let mut builder = StatsBuilder::new(field.stats);
    match &cells.counted {
        Counted::All => {
            let cell_count = match column.offsets {
                Some(offsets) => offsets.len().saturating_sub(1),
                None => column.data.len() / field.shape.cell_byte_len(),
            };
            builder.add(column, 0..cell_count);
        }
        Counted::Runs(runs) => runs.iter().for_each(|run| builder.add(column, run.clone())),
    }
    field.codec.encode_tile(column, &mut filtered, &mut workspace.scratch)?;
    let var_byte_len = if field.shape.is_var() { column.data.len() as u64 } else { 0 };
    workspace.cells.take_back(cells.column);
    Ok(DoneTile { filtered, var_byte_len, stats: builder.finish() })
}
