//! A dense fragment that grows from cells which come piece by piece.
//!
//! The cells come in global order, or in row-major or column-major order of the rectangle. In the first case a tile can be written as
//! soon as its cells are there, in the others a row of tiles: all that lie beside each other across the dimension which varies
//! slowest. Tiles are written in their order, so the tiles of a row must follow each other in it.

use super::dense::{DenseWrite, Source, check_aligned, side_lens};
use super::fragment_writer::{FragmentWriter, WrittenField};
use crate::progress::Progress;
use smalti_array::NewFragment;
use smalti_space::{Interval, TileGrid, strides};
use smalti_tile::ColumnRef;
use smalti_types::{Error, Layout, Result};
use std::ops::Range;
use std::sync::Arc;

/// A dense fragment that grows tile by tile.
pub(crate) struct DenseTiles {
    pieces: DensePieces,
    writer: FragmentWriter,
    fields: Arc<[WrittenField]>,
    next_tile: usize,
}

/// How the cells of a rectangle become tiles, piece by piece.
pub(crate) struct DensePieces {
    write: DenseWrite,
    order: Order,
    tile_count: usize,
}

/// The order in which the cells come.
enum Order {
    /// Tile after tile, of each the cells in the rectangle.
    Tiles,
    /// The cells of the rectangle in a layout, of which this dimension varies slowest.
    Rows { layout: Layout, dim: usize, row_tile_count: usize },
}

/// Tiles that are written together, and their cells.
struct Row {
    tiles: Range<usize>,
    cell_count: usize,
    rect: Vec<Interval>,
}

impl DensePieces {
    /// Tiles from whole ones in global order; those on the edge of the rectangle are given as far as they lie in it.
    ///
    /// # Errors
    /// `Unsupported` when tiles do not fit in memory.
    pub(crate) fn of_tiles(grid: TileGrid, cell_order: Layout, rect: Vec<Interval>) -> Result<Self> {
        let write = DenseWrite::new(grid, cell_order, rect)?;
        let tile_count = write.tile_count()?;
        Ok(DensePieces { write, order: Order::Tiles, tile_count })
    }

    /// Tiles from the cells of a rectangle in a layout.
    ///
    /// # Errors
    /// `InvalidArgument` for a rectangle in global order that is not of whole tiles, and for an order in which no row of tiles is whole before
    /// the end; `Unsupported` when tiles do not fit in memory.
    pub(crate) fn new(
        grid: TileGrid,
        cell_order: Layout,
        rect: Vec<Interval>,
        layout: Layout,
    ) -> Result<Self> {
        if layout == Layout::GlobalOrder {
            check_aligned(&grid, &rect)?;
            return DensePieces::of_tiles(grid, cell_order, rect);
        }
        let write = DenseWrite::new(grid, cell_order, rect)?;
        let counts: Vec<u64> = write.block.tiles().iter().map(|side| side.hi - side.lo + 1).collect();
        let dim = if layout == Layout::RowMajor { 0 } else { counts.len().saturating_sub(1) };
        let tile_order = write.grid.tile_order();
        let is_slower = |other: usize| match tile_order {
            Layout::RowMajor => other < dim,
            _ => other > dim,
        };
        let is_split = (0..counts.len()).any(|other| is_slower(other) && counts[other] > 1);
        if is_split && counts.get(dim).is_some_and(|count| *count > 1) {
            return Err(Error::invalid(format!(
                "tiles that follow each other in {tile_order} order cannot be written from cells that come piece by piece in {layout} \
                 order; give them in {tile_order} or global order"
            )));
        }
        let tile_count = write.tile_count()?;
        let row_count = counts.get(dim).and_then(|count| usize::try_from(*count).ok()).unwrap_or(1).max(1);
        let row_tile_count = (tile_count / row_count).max(1);
        Ok(DensePieces { write, order: Order::Rows { layout, dim, row_tile_count }, tile_count })
    }

    /// The number of cells of the rectangle.
    ///
    /// # Errors
    /// `InvalidArgument` beyond 64 bits.
    pub(crate) fn cell_count(&self) -> Result<u64> {
        smalti_space::cell_count(&self.write.rect)
            .ok_or_else(|| Error::invalid("the rectangle has more cells than 64 bits can count"))
    }

    /// The number of tiles.
    pub(crate) fn tile_count(&self) -> usize {
        self.tile_count
    }

    /// The tiles that can be written next; `None` behind the last.
    fn row(&self, next_tile: usize) -> Option<Row> {
        if next_tile >= self.tile_count {
            return None;
        }
        let mut rect = self.write.rect.clone();
        match &self.order {
            Order::Tiles => {
                let cell_count = self.write.part_cell_count(next_tile);
                Some(Row { tiles: next_tile..next_tile + 1, cell_count, rect })
            }
            Order::Rows { dim, row_tile_count, .. } => {
                let mut tile = vec![0; rect.len()];
                self.write.block.tile_coords(next_tile as u64, &mut tile);
                let side = self.write.grid.tile_interval(*dim, tile[*dim])?;
                let own = &mut rect[*dim];
                *own = Interval { lo: own.lo.max(side.lo), hi: own.hi.min(side.hi) };
                let cell_count = smalti_space::cell_count(&rect)?;
                let cell_count = usize::try_from(cell_count).unwrap_or(usize::MAX);
                let tiles = next_tile..(next_tile + row_tile_count).min(self.tile_count);
                Some(Row { tiles, cell_count, rect })
            }
        }
    }

    /// How many cells the tiles take that can be written next; 0 behind the last.
    pub(crate) fn row_cell_count(&self, next_tile: usize) -> usize {
        self.row(next_tile).map_or(0, |row| row.cell_count)
    }
}

impl DenseTiles {
    /// Starts a fragment whose cells fill a rectangle.
    pub(crate) fn new(
        new: NewFragment,
        pieces: DensePieces,
        fields: Arc<[WrittenField]>,
        progress: Arc<Progress>,
    ) -> Self {
        let writer = FragmentWriter::new(new, Arc::clone(&fields), progress);
        DenseTiles { pieces, writer, fields, next_tile: 0 }
    }

    /// How the cells become tiles.
    pub(crate) fn pieces(&self) -> &DensePieces {
        &self.pieces
    }

    /// The tile that is due.
    pub(crate) fn next_tile(&self) -> usize {
        self.next_tile
    }

    /// Writes the tiles that the next cells fill. Returns the number of cells that are in them: the others are to be given again.
    ///
    /// # Errors
    /// What codecs and store report.
    pub(crate) fn append(&mut self, cell_count: usize, columns: &[ColumnRef<'_>]) -> Result<usize> {
        let first = self.next_tile;
        let (mut starts, mut taken) = (Vec::new(), 0);
        while let Some(row) = self.pieces.row(self.next_tile)
            && row.cell_count <= cell_count - taken
        {
            if let Order::Rows { layout, .. } = self.pieces.order {
                self.append_row(&row, layout, taken, columns)?;
            }
            starts.push(taken);
            taken += row.cell_count;
            self.next_tile = row.tiles.end;
        }
        if let (Order::Tiles, false) = (&self.pieces.order, starts.is_empty()) {
            let (write, fields) = (&self.pieces.write, &self.fields);
            self.writer.append(first..self.next_tile, write.group_len(fields), |tile, field, spare| {
                let source = Source::Tile(starts[tile - first]);
                write.tile(tile, source, columns[field], fields[field].shape, spare)
            })?;
        }
        Ok(taken)
    }

    fn append_row(
        &mut self,
        row: &Row,
        layout: Layout,
        start: usize,
        columns: &[ColumnRef<'_>],
    ) -> Result<()> {
        let (write, fields) = (&self.pieces.write, &self.fields);
        let strides = strides(&side_lens(&row.rect), layout)?;
        let cells: Vec<ColumnRef<'_>> = columns
            .iter()
            .zip(&**fields)
            .map(|(column, field)| part(*column, field.shape.cell_byte_len(), start..start + row.cell_count))
            .collect();
        self.writer.append(row.tiles.clone(), write.group_len(fields), |tile, field, spare| {
            let source = Source::Box { rect: &row.rect, strides: &strides };
            write.tile(tile, source, cells[field], fields[field].shape, spare)
        })
    }

    /// Makes all of the fragment durable but its commit.
    ///
    /// # Errors
    /// `InvalidArgument` when tiles are missing; what the store reports.
    pub(crate) fn seal(self) -> Result<NewFragment> {
        self.writer.seal(self.pieces.write.extent())
    }

    /// Makes the fragment durable and visible. Returns its name.
    ///
    /// # Errors
    /// As [`seal`](DenseTiles::seal); `Cancelled`.
    pub(crate) fn commit(self) -> Result<String> {
        self.writer.commit(self.pieces.write.extent())
    }
}

/// Some cells of a column. Offsets stay those of the whole data.
pub(super) fn part(column: ColumnRef<'_>, cell_byte_len: usize, cells: Range<usize>) -> ColumnRef<'_> {
    let data = match column.offsets {
        Some(_) => column.data,
        None => &column.data[cells.start * cell_byte_len..cells.end * cell_byte_len],
    };
    ColumnRef {
        data,
        offsets: column.offsets.map(|offsets| &offsets[cells.start..cells.end + 1]),
        validity: column.validity.map(|validity| &validity[cells]),
    }
}
