//! Writes a rectangle of a dense array.
//!
//! The cells come in row-major or column-major order of the rectangle, or in global order (a rectangle of whole tiles).
//! Tiles on the rectangle's edge are padded with zeros; the fragment's non-empty domain says which cells count.

use super::codes::check_codes;
use super::columns::{InputColumn, written_fields};
use super::fragment_writer::{Counted, FragmentExtent, FragmentWriter, TileCells, WrittenField};
use super::ordered::check_ordered;
use super::request::{Naming, WriteRequest, check_layout};
use crate::progress::{Phase, Unit};
use crate::workspace::SpareColumn;
use smalti_array::{NewFragment, Snapshot, dense_grid, intervals};
use smalti_format::ArraySchema;
use smalti_space::{Geometry, Interval, TileBlock, TileGrid, box_runs, copy_box, intersect_rects, strides};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::parallel;
use smalti_types::{Error, Extent, Layout, Result, Stores};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of unfiltered cells of a group of tiles: what waits at most for a store that is slow.
pub(super) const GROUP_BYTE_LEN: usize = 32 << 20;

/// A dense write, checked.
pub(super) struct DenseWrite {
    pub(super) grid: TileGrid,
    cell_order: Layout,
    pub(super) block: TileBlock,
    pub(super) rect: Vec<Interval>,
    tile_strides: Vec<usize>,
    tile_cell_count: usize,
}

/// Where the cells of a tile are in the input.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// In one piece, from a cell on, in the order of the array's cells.
    Tile(usize),
    /// In a rectangle with these strides.
    Box { rect: &'a [Interval], strides: &'a [usize] },
}

/// Writes a rectangle as a fragment without its commit.
///
/// # Errors
/// `InvalidArgument` when the rectangle is not in the domain, a column is missing, unknown or of another length than
/// the rectangle has cells; what codecs and store report. An error leaves the array as it was.
pub(super) fn seal_dense(
    snapshot: &Snapshot,
    request: &WriteRequest<'_>,
    name: Naming<'_>,
) -> Result<NewFragment> {
    let schema = snapshot.schema();
    let grid = dense_grid(schema)?;
    let (rect, columns) = checked(snapshot, request, &grid)?;
    let fields = written_fields(snapshot, &columns)?;
    let write = DenseWrite::new(grid, schema.cell_order, rect)?;
    write.run(name, request, &columns, &fields)
}

/// Checks a write without carrying it out.
///
/// # Errors
/// As [`seal_dense`].
pub(crate) fn check_dense(snapshot: &Snapshot, request: &WriteRequest<'_>) -> Result<()> {
    let grid = dense_grid(snapshot.schema())?;
    checked(snapshot, request, &grid).map(|_| ())
}

/// The rectangle and the columns of a write.
fn checked<'a>(
    snapshot: &Snapshot,
    request: &WriteRequest<'a>,
    grid: &TileGrid,
) -> Result<(Vec<Interval>, Vec<InputColumn<'a>>)> {
    let schema = snapshot.schema();
    check_layout(schema, request.layout)?;
    let rect = rectangle(schema, grid, request.subarray.as_deref())?;
    let cell_count =
        smalti_space::cell_count(&rect).and_then(|count| usize::try_from(count).ok()).ok_or_else(|| {
            Error::invalid("the rectangle has more cells than memory can address; write it in pieces")
        })?;
    let progress = request.progress.clone().unwrap_or_default();
    progress.enter(Phase::Validating, Unit::Cells, Some(cell_count as u64));
    let columns = InputColumn::of_attributes(schema, request, cell_count)?;
    check_codes(snapshot, &columns)?;
    progress.check()?;
    check_ordered(schema, &columns)?;
    progress.complete(Phase::Validating);
    Ok((rect, columns))
}

/// Strides of the input of a write in an order; `None` for global order, in which it must be of whole tiles.
fn input_strides(grid: &TileGrid, rect: &[Interval], layout: Layout) -> Result<Option<Vec<usize>>> {
    if layout == Layout::GlobalOrder {
        check_aligned(grid, rect)?;
        return Ok(None);
    }
    strides(&side_lens(rect), layout).map(Some)
}

/// Checks that a rectangle of a write in global order is of whole tiles.
pub(super) fn check_aligned(grid: &TileGrid, rect: &[Interval]) -> Result<()> {
    match grid.is_tile_aligned(rect) {
        true => Ok(()),
        false => Err(Error::invalid(
            "a dense write in global order covers whole space tiles; widen the range to the tiles' borders",
        )),
    }
}

/// The cells of a rectangle along each dimension.
pub(super) fn side_lens(rect: &[Interval]) -> Vec<u64> {
    rect.iter().map(|side| side.hi - side.lo + 1).collect()
}

impl DenseWrite {
    pub(super) fn new(grid: TileGrid, cell_order: Layout, rect: Vec<Interval>) -> Result<Self> {
        let tile_cell_count = grid
            .cell_count_per_tile()
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| Error::unsupported("the space tiles have more cells than memory can address"))?;
        let tile_strides = grid.cell_strides(cell_order)?;
        let block = grid.block(&rect)?;
        Ok(DenseWrite { grid, cell_order, block, rect, tile_strides, tile_cell_count })
    }

    fn run(
        &self,
        name: Naming<'_>,
        request: &WriteRequest<'_>,
        columns: &[InputColumn<'_>],
        fields: &Arc<[WrittenField]>,
    ) -> Result<NewFragment> {
        let progress = request.progress.clone().unwrap_or_default();
        progress.check()?;
        let mut writer = FragmentWriter::new(name()?, Arc::clone(fields), Arc::clone(&progress));
        let tile_count = self.tile_count()?;
        progress.enter(Phase::Writing, Unit::Tiles, Some(tile_count as u64 * fields.len() as u64));
        let strides = input_strides(&self.grid, &self.rect, request.layout)?;
        let starts = if strides.is_none() { self.global_starts(tile_count) } else { Vec::new() };
        writer.append(0..tile_count, self.group_len(fields), |tile, field, spare| {
            let source = match &strides {
                Some(strides) => Source::Box { rect: &self.rect, strides },
                None => Source::Tile(starts[tile]),
            };
            self.tile(tile, source, columns[field].cells, fields[field].shape, spare)
        })?;
        writer.seal(self.extent())
    }

    pub(super) fn tile_count(&self) -> Result<usize> {
        usize::try_from(self.block.tile_count())
            .map_err(|_| Error::invalid("the rectangle meets more tiles than memory can address"))
    }

    /// How many tiles are filtered at once.
    pub(super) fn group_len(&self, fields: &[WrittenField]) -> usize {
        let cell_byte_len: usize = fields.iter().map(|field| field.shape.cell_byte_len()).sum();
        (GROUP_BYTE_LEN / (self.tile_cell_count * cell_byte_len).max(1)).max(parallel::thread_count()).max(1)
    }

    pub(super) fn extent(&self) -> FragmentExtent {
        FragmentExtent {
            rects: None,
            non_empty_domain: self.rect.iter().map(|&side| Extent::from(side)).collect(),
            tile_count: self.block.tile_count(),
            last_tile_cell_count: 0,
        }
    }

    /// The cells of one tile of one field, in spare memory as far as it goes.
    pub(super) fn tile(
        &self,
        tile_idx: usize,
        source: Source<'_>,
        input: ColumnRef<'_>,
        shape: CellShape,
        spare: &mut SpareColumn,
    ) -> Result<TileCells> {
        let dim_count = self.rect.len();
        let mut tile = vec![0; dim_count];
        self.block.tile_coords(tile_idx as u64, &mut tile);
        let mut tile_rect = vec![Interval::ALL; dim_count];
        self.grid.tile_rect(&tile, &mut tile_rect);
        let mut part = tile_rect.clone();
        if !intersect_rects(&tile_rect, &self.rect, &mut part) {
            return Err(Error::invalid("a tile of the rectangle does not meet it"));
        }
        let extents = side_lens(&part);
        let to = Geometry::of_part(&self.tile_strides, &tile_rect, &part)?;
        let tile_input_strides;
        let from = match source {
            Source::Box { rect, strides } => Geometry::of_part(strides, rect, &part)?,
            Source::Tile(start) => {
                tile_input_strides = strides(&extents, self.cell_order)?;
                Geometry { offset: start, strides: &tile_input_strides }
            }
        };
        let is_whole = part == tile_rect;
        let counted = if is_whole {
            Counted::All
        } else {
            let runs: Arc<[Range<usize>]> =
                box_runs(to, to, &extents)?.map(|(_, cell, len)| cell..cell + len).collect();
            Counted::Runs(runs)
        };
        let validity_len = input.validity.map(|_| self.tile_cell_count);
        let mut column = match shape.is_var() {
            true => {
                self.var_tile(input, (to, from), &extents, shape.cell_byte_len(), (spare, validity_len))?
            }
            false => {
                let byte_len = shape.cell_byte_len();
                let mut column = spare.column(self.tile_cell_count * byte_len, None, validity_len)?;
                let values = column.data.as_mut_slice();
                if !is_whole {
                    values.fill(0);
                }
                copy_box(values, to, input.data, from, &extents, byte_len, Stores::Cached)?;
                column
            }
        };
        if let (Some(validity), Some(flags)) = (input.validity, &mut column.validity) {
            let flags = flags.as_mut_slice();
            if !is_whole {
                flags.fill(0);
            }
            copy_box(flags, to, validity, from, &extents, 1, Stores::Cached)?;
        }
        Ok(TileCells { column, counted })
    }

    /// Var-sized cells of a tile, and room for their validity; a cell that pads it is one zero value, as the reference has it.
    fn var_tile(
        &self,
        input: ColumnRef<'_>,
        (to, from): (Geometry<'_>, Geometry<'_>),
        extents: &[u64],
        padding_byte_len: usize,
        (spare, validity_len): (&mut SpareColumn, Option<usize>),
    ) -> Result<Column> {
        let offsets = input.offsets.unwrap_or_default();
        // They come in the order of the tile.
        let runs = box_runs(to, from, extents)?;
        let bytes_of = |cell: usize, len: usize| offsets[cell] as usize..offsets[cell + len] as usize;
        let (byte_len, cell_count) = runs
            .clone()
            .fold((0, 0), |(bytes, cells), (_, cell, len)| (bytes + bytes_of(cell, len).len(), cells + len));
        let padding = (self.tile_cell_count - cell_count) * padding_byte_len;
        let mut column =
            spare.column(byte_len + padding, Some((self.tile_cell_count + 1) * 8), validity_len)?;
        let Some(ends) = &mut column.offsets else { return Ok(column) };
        let (mut values, places) = (column.data.as_mut_slice(), ends.values_mut::<u64>());
        let (first, mut places) = places.split_at_mut(1);
        first.fill(0);
        let mut end = 0;
        let pad = |places: &mut [u64], values: &mut [u8], end: &mut u64| {
            values.fill(0);
            for place in places {
                *end += padding_byte_len as u64;
                *place = *end;
            }
        };
        let mut cell_end = 0;
        for (at, cell, len) in runs {
            let gap = at - cell_end;
            let (padded, rest) = places.split_at_mut(gap);
            let (zeros, value_rest) = values.split_at_mut(gap * padding_byte_len);
            pad(padded, zeros, &mut end);
            let bytes = bytes_of(cell, len);
            let (taken, rest) = rest.split_at_mut(len);
            let (copied, value_rest) = value_rest.split_at_mut(bytes.len());
            copied.copy_from_slice(&input.data[bytes.clone()]);
            for (place, cell_end) in taken.iter_mut().zip(&offsets[cell + 1..=cell + len]) {
                *place = end + (cell_end - bytes.start as u64);
            }
            end += bytes.len() as u64;
            (places, values) = (rest, value_rest);
            cell_end = at + len;
        }
        pad(places, values, &mut end);
        Ok(column)
    }

    /// For input in global order: the first input cell of every tile.
    fn global_starts(&self, tile_count: usize) -> Vec<usize> {
        let mut start = 0;
        let starts = (0..tile_count).map(|tile_idx| {
            let first = start;
            start += self.part_cell_count(tile_idx);
            first
        });
        starts.collect()
    }

    /// The cells of a tile that lie in the rectangle.
    pub(super) fn part_cell_count(&self, tile_idx: usize) -> usize {
        let dim_count = self.rect.len();
        let (mut tile, mut tile_rect) = (vec![0; dim_count], vec![Interval::ALL; dim_count]);
        let mut part = vec![Interval::ALL; dim_count];
        self.block.tile_coords(tile_idx as u64, &mut tile);
        self.grid.tile_rect(&tile, &mut tile_rect);
        match intersect_rects(&tile_rect, &self.rect, &mut part) {
            true => part.iter().map(|side| (side.hi - side.lo + 1) as usize).product(),
            false => 0,
        }
    }
}

/// The rectangle to write: the one that is asked for, or the whole current domain, which is the domain where there is none.
pub(super) fn rectangle(
    schema: &ArraySchema,
    grid: &TileGrid,
    asked: Option<&[Extent]>,
) -> Result<Vec<Interval>> {
    let (mut rect, what) = match schema.current_domain.rectangle() {
        Some(current) => (intervals(current)?, "current domain"),
        None => (grid.domain(), "domain"),
    };
    let Some(asked) = asked else { return Ok(rect) };
    if asked.len() != rect.len() {
        return Err(Error::invalid(format!(
            "the rectangle has {} dimensions, the array {}",
            asked.len(),
            rect.len()
        )));
    }
    for ((side, extent), dimension) in rect.iter_mut().zip(asked).zip(&schema.dimensions) {
        let wanted = Interval::of_extent(extent.as_ref())
            .ok_or_else(|| Error::invalid(format!("dimension {:?} is numeric", dimension.name)))?;
        if !side.covers(wanted) || wanted.lo > wanted.hi {
            return Err(Error::invalid(format!(
                "the range {} of dimension {:?} is not inside its {what} {}",
                crate::show::interval(dimension, wanted),
                dimension.name,
                crate::show::interval(dimension, *side),
            )));
        }
        *side = wanted;
    }
    Ok(rect)
}
