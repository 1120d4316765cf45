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
use std::ops::Range;
use std::sync::Arc;

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

/// A fragment that is being written. Dropped before it is sealed, it removes what it put.
pub(crate) struct FragmentWriter {
    fields: Arc<[WrittenField]>,
    /// Fixed, var and validity file of every written field.
    files: Vec<[DataFile; 3]>,
    content: FragmentContent,
    workspaces: Workspaces,
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
        FragmentWriter { fields, files, content, workspaces: Workspaces::default(), progress, new }
    }

    /// Filters and writes the tiles `tiles`. `cells` makes the cells of a tile of a field, in spare memory where it likes; it is called from many
    /// threads. While a group of tiles is filtered, the group before it is handed to the store.
    ///
    /// # Errors
    /// `Cancelled`; what `cells`, the codecs and the store report.
    pub(crate) fn append(
        &mut self,
        tiles: Range<usize>,
        group_len: usize,
        cells: impl Fn(usize, usize, &mut SpareColumn) -> Result<TileCells> + Sync,
    ) -> Result<()> {
        let field_count = self.fields.len();
        let groups: Vec<Range<usize>> = tiles
            .clone()
            .step_by(group_len.max(1))
            .map(|at| at..(at + group_len.max(1)).min(tiles.end))
            .collect();
        let (fields, workspaces) = (Arc::clone(&self.fields), std::mem::take(&mut self.workspaces));
        let progress = Arc::clone(&self.progress);
        let filter = |group: &Range<usize>| -> Result<Vec<DoneTile>> {
            let jobs = group.len() * field_count;
            (0..jobs).into_par_iter().steps(|job| {
                progress.check()?;
                let (tile, field) = (group.start + job / field_count, job % field_count);
                let done = workspaces.with(|workspace| {
                    let cells = cells(tile, field, &mut workspace.cells)?;
                    filter_tile(&fields[field], cells, workspace)
                })?;
                progress.advance(Phase::Writing, Unit::Tiles, 1);
                Ok(done)
            })
        };
        let mut done: Option<Vec<DoneTile>> = None;
        for group in &groups {
            let before = done.take();
            let (written, filtered) =
                parallel::join(|| before.map_or(Ok(()), |tiles| self.store_tiles(tiles)), || filter(group));
            written?;
            done = Some(filtered?);
        }
        done.map_or(Ok(()), |tiles| self.store_tiles(tiles))?;
        self.workspaces = workspaces;
        Ok(())
    }

    fn store_tiles(&mut self, tiles: Vec<DoneTile>) -> Result<()> {
        let (unsealed, fields) = (&mut self.new, Arc::clone(&self.fields));
        for (job, tile) in tiles.into_iter().enumerate() {
            let idx = job % fields.len();
            let field = &fields[idx];
            let content = &mut self.content.fields[field.slot];
            let [fixed, var, validity] = &mut self.files[idx];
            content.tile_offsets.push(fixed.byte_len);
            content.var_offsets.push(var.byte_len);
            content.var_byte_lens.push(tile.var_byte_len);
            content.validity_offsets.push(validity.byte_len);
            content.stats.push(tile.stats);
            let planes = [
                (fixed, Plane::Fixed, tile.filtered.fixed),
                (var, Plane::Var, tile.filtered.var),
                (validity, Plane::Validity, tile.filtered.validity),
            ];
            for (file, plane, bytes) in planes {
                if !bytes.is_empty() {
                    file.append(bytes, || {
                        unsealed.is_begun = true;
                        unsealed.new.create_data_file(field.field, plane)
                    })?;
                }
            }
        }
        Ok(())
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

impl DataFile {
    fn append(&mut self, bytes: Vec<u8>, create: impl FnOnce() -> Result<Box<dyn FileWriter>>) -> Result<()> {
        self.byte_len += bytes.len() as u64;
        if self.waiting.is_empty() && self.writer.is_none() {
            self.waiting = bytes;
        } else {
            self.waiting.extend_from_slice(&bytes);
        }
        if self.waiting.len() >= STREAM_FROM {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                none => none.insert(create()?),
            };
            writer.write(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}

fn filter_tile(field: &WrittenField, cells: TileCells, workspace: &mut Workspace) -> Result<DoneTile> {
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
    let mut filtered = FilteredTile::default();
    field.codec.encode_tile(column, &mut filtered, &mut workspace.scratch)?;
    let var_byte_len = if field.shape.is_var() { column.data.len() as u64 } else { 0 };
    workspace.cells.take_back(cells.column);
    Ok(DoneTile { filtered, var_byte_len, stats: builder.finish() })
}
