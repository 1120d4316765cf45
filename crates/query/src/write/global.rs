//! Writes in an order over several submissions, as one fragment.

use super::codes::check_codes;
use super::columns::{InputColumn, cell_count, written_fields};
use super::dense::rectangle;
use super::dense_tiles::{DensePieces, DenseTiles};
use super::ordered::check_ordered;
use super::request::{Duplicates, Unchecked, WriteRequest, check_layout};
use super::sparse::{
    SparseWriter, check_domain, check_global_order, compares_cells, coordinates, order_keys, take,
    without_repeats,
};
use crate::progress::{Announced, Phase, Progress, Unit};
use crate::request::Batch;
use crate::workspace::SpareColumn;
use smalti_array::{FieldId, NewFragment, Snapshot, dense_grid};
use smalti_format::DataOrder;
use smalti_space::Permutation;
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::{AlignedBuf, Error, Extent, Layout, Result};
use std::sync::Arc;

/// A write of one fragment in pieces. Sparse cells come sorted in global order, piece after piece; those of a dense array in global
/// order of a rectangle of whole space tiles, or in row-major or column-major order of any rectangle. Whole tiles go to disk as they
/// fill: of a dense array in the latter orders, rows of tiles. The cells of those that are not full wait in memory.
/// Nothing is visible before [`finalize`](GlobalWriter::finalize).
pub struct GlobalWriter {
    snapshot: Snapshot,
    at: Option<u64>,
    target: Target,
    /// Attributes, then for sparse arrays dimensions.
    fields: Vec<(FieldId, String, CellShape)>,
    /// Cells that do not fill a tile yet.
    waiting: Pieces,
    /// The coordinates of the cell before those that wait.
    last: Option<Vec<Column>>,
    duplicates: Duplicates,
    unchecked: Unchecked,
    progress: Arc<Progress>,
    announced: Option<Announced>,
}

/// Where the cells go.
#[expect(clippy::large_enum_variant, reason = "there is one of it in a write, which holds tiles")]
enum Target {
    /// A sparse fragment, from the first cells on.
    Sparse(Option<SparseWriter>),
    Dense(Box<DenseTarget>),
}

/// A dense fragment.
struct DenseTarget {
    /// Until the first cells come.
    pieces: Option<DensePieces>,
    tiles: Option<DenseTiles>,
    layout: Layout,
    /// How many cells the rectangle has, and how many came.
    cell_count: u64,
    given: u64,
    /// Whether the values of an attribute are ordered along the array.
    is_ordered: bool,
}

impl std::fmt::Debug for GlobalWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GlobalWriter").field("waiting", &self.waiting.cell_count).finish_non_exhaustive()
    }
}

impl GlobalWriter {
    /// Starts a write in global order, at a timestamp or now. A dense write takes its rectangle here; `None` is the whole current domain,
    /// which is the domain where there is none.
    ///
    /// # Errors
    /// As [`in_order`](GlobalWriter::in_order).
    pub fn new(snapshot: &Snapshot, at: Option<u64>, subarray: Option<Vec<Extent>>) -> Result<Self> {
        GlobalWriter::in_order(snapshot, at, subarray, Layout::GlobalOrder)
    }

    /// As [`new`](GlobalWriter::new), with the cells in another order: dense ones may come in row-major or column-major order of the
    /// rectangle where the array's tiles follow each other so.
    ///
    /// # Errors
    /// `InvalidArgument` when a sparse write is given a rectangle, for a rectangle that is not inside the domain, and for an order that does not
    /// fit the array; `Unsupported` when space tiles do not fit in memory.
    pub fn in_order(
        snapshot: &Snapshot,
        at: Option<u64>,
        subarray: Option<Vec<Extent>>,
        layout: Layout,
    ) -> Result<Self> {
        let schema = snapshot.schema();
        if subarray.is_some() && !schema.is_dense() {
            return Err(Error::invalid("a sparse write takes no range: its cells bring their coordinates"));
        }
        check_layout(schema, layout)?;
        if !schema.is_dense() && layout != Layout::GlobalOrder {
            return Err(Error::invalid("a sparse write in several pieces takes its cells in global order"));
        }
        let target = if schema.is_dense() {
            let grid = dense_grid(schema)?;
            let rect = rectangle(schema, &grid, subarray.as_deref())?;
            let pieces = DensePieces::new(grid, schema.cell_order, rect, layout)?;
            let is_ordered =
                schema.attributes.iter().any(|attribute| attribute.order != DataOrder::Unordered);
            let cell_count = pieces.cell_count()?;
            Target::Dense(Box::new(DenseTarget {
                pieces: Some(pieces),
                tiles: None,
                layout,
                cell_count,
                given: 0,
                is_ordered,
            }))
        } else {
            Target::Sparse(None)
        };
        let mut ids: Vec<FieldId> = (0..schema.attributes.len()).map(FieldId::Attribute).collect();
        if !schema.is_dense() {
            ids.extend((0..schema.dimensions.len()).map(FieldId::Dimension));
        }
        let fields = ids
            .into_iter()
            .map(|id| {
                let shape = smalti_array::field_shape(schema, id)?;
                Ok((id, smalti_array::field_name(schema, id).to_owned(), shape))
            })
            .collect::<Result<Vec<_>>>()?;
        let waiting = Pieces::new(fields.iter().map(|(_, _, shape)| *shape))?;
        Ok(GlobalWriter {
            snapshot: snapshot.clone(),
            at,
            target,
            fields,
            waiting,
            last: None,
            duplicates: Duplicates::Refuse,
            unchecked: Unchecked::default(),
            progress: Arc::default(),
            announced: None,
        })
    }

    /// What happens to sparse cells of equal coordinates, and what of the cells nobody checks.
    #[must_use]
    pub fn trusting(mut self, duplicates: Duplicates, unchecked: Unchecked) -> Self {
        (self.duplicates, self.unchecked) = (duplicates, unchecked);
        self
    }

    /// Tells a progress how far the write is, and listens to it for the word to stop. `cell_count` is the number of cells that are
    /// going to be submitted, where it is known.
    #[must_use]
    pub fn watched(mut self, progress: Arc<Progress>, cell_count: Option<u64>) -> Self {
        self.announced = Some(progress.announce(&[Phase::Writing, Phase::Syncing]));
        match &self.target {
            Target::Sparse(_) => progress.enter(Phase::Writing, Unit::Cells, cell_count),
            Target::Dense(dense) => {
                let tile_count = dense.pieces.as_ref().map_or(0, DensePieces::tile_count) as u64;
                let tile_count = tile_count.saturating_mul(self.fields.len() as u64);
                progress.enter(Phase::Writing, Unit::Tiles, Some(tile_count));
            }
        }
        self.progress = progress;
        self
    }

    /// How many cells fill the tiles of a dense write that are due: a piece of so many is written without a copy. 0 where that
    /// hangs on the cells, and behind the last.
    pub fn due_cell_count(&self) -> usize {
        let Target::Dense(dense) = &self.target else { return 0 };
        let whole = match (&dense.tiles, &dense.pieces) {
            (Some(tiles), _) => tiles.pieces().row_cell_count(tiles.next_tile()),
            (None, Some(pieces)) => pieces.row_cell_count(0),
            (None, None) => 0,
        };
        whole.saturating_sub(self.waiting.cell_count)
    }

    /// Takes the next cells.
    ///
    /// # Errors
    /// `InvalidArgument` when columns do not fit, there are more cells than a dense write has room for, or a cell is out of order,
    /// repeats or lies outside the domain; the write is as before then. `Cancelled`, and what codecs and store report; the write
    /// can only be dropped then.
    pub fn submit(&mut self, columns: &[(String, ColumnRef<'_>)]) -> Result<()> {
        self.progress.check()?;
        let schema = Arc::clone(self.snapshot.schema());
        let request = WriteRequest {
            columns: columns.to_vec(),
            subarray: None,
            layout: Layout::GlobalOrder,
            at: self.at,
            duplicates: Duplicates::Refuse,
            progress: None,
        };
        let _taken = request.take_memory(&self.snapshot)?;
        let count = cell_count(&schema, &request)?;
        if schema.is_dense() {
            let input = InputColumn::of_attributes(&schema, &request, count)?;
            check_codes(&self.snapshot, &input)?;
            return self.submit_dense(&input, count);
        }
        let input = InputColumn::of_fields(&schema, &request, count)?;
        check_codes(&self.snapshot, &input)?;
        let cells: Vec<ColumnRef<'_>> = input.iter().map(|column| column.cells).collect();
        let mut all = self.waiting.joined(&cells)?;
        let total = self.check(&input, &mut all)?;
        let Target::Sparse(sparse) = &mut self.target else { return Ok(()) };
        let writer = match sparse {
            Some(writer) => writer,
            none => {
                let fields = written_fields(&self.snapshot, &input)?;
                let new = NewFragment::new(&self.snapshot, self.at)?;
                none.insert(SparseWriter::new(new, fields, &schema, Arc::clone(&self.progress)))
            }
        };
        let full = total / writer.capacity() * writer.capacity();
        let last = full.checked_sub(1).map(|cell| coords_of(&self.fields, &all, cell)).transpose()?;
        self.waiting.set(all, total);
        self.waiting.write_full(writer)?;
        self.last = last.or(self.last.take());
        self.progress.advance(Phase::Writing, Unit::Cells, count as u64);
        Ok(())
    }

    fn submit_dense(&mut self, input: &[InputColumn<'_>], count: usize) -> Result<()> {
        let Target::Dense(dense) = &mut self.target else { return Ok(()) };
        let given = dense.given.saturating_add(count as u64);
        if given > dense.cell_count {
            return Err(Error::invalid(format!(
                "the rectangle has {} cells, {given} are given; widen its range",
                dense.cell_count
            )));
        }
        let cells: Vec<ColumnRef<'_>> = input.iter().map(|column| column.cells).collect();
        let order = Permutation::Identity(count);
        let taken_as = |cells: &[ColumnRef<'_>], range: std::ops::Range<usize>| -> Result<Vec<Column>> {
            let order = Permutation::Identity(range.end);
            let columns = cells.iter().zip(&self.fields);
            columns
                .map(|(cells, (_, _, shape))| {
                    take(*cells, *shape, &order, range.clone(), &mut SpareColumn::default())
                })
                .collect()
        };
        if dense.is_ordered {
            // Behind the last cell that was given.
            let behind = match &self.last {
                Some(last) => joined_all(last, &cells, &self.fields)?,
                None => taken_as(&cells, 0..count)?,
            };
            let behind = input.iter().zip(&behind);
            let behind: Vec<InputColumn<'_>> =
                behind.map(|(column, cells)| InputColumn { cells: cells.as_ref(), ..*column }).collect();
            check_ordered(self.snapshot.schema(), &behind)?;
        }
        let last = match count.checked_sub(1) {
            Some(last) if dense.is_ordered => Some(taken_as(&cells, last..count)?),
            _ => self.last.take(),
        };
        let tiles = match (&mut dense.tiles, dense.pieces.take()) {
            (Some(tiles), _) => tiles,
            (none, Some(pieces)) => {
                let fields = written_fields(&self.snapshot, input)?;
                let new = NewFragment::new(&self.snapshot, self.at)?;
                none.insert(DenseTiles::new(new, pieces, fields, Arc::clone(&self.progress)))
            }
            (None, None) => return Ok(()),
        };
        if self.waiting.cell_count == 0 {
            let taken = tiles.append(count, &cells)?;
            let rest = cells.iter().zip(&self.fields);
            let rest = rest.map(|(cells, (_, _, shape))| {
                take(*cells, *shape, &order, taken..count, &mut SpareColumn::default())
            });
            self.waiting.set(rest.collect::<Result<_>>()?, count - taken);
        } else {
            self.waiting.push(&cells, count)?;
            let all: Vec<ColumnRef<'_>> = self.waiting.columns.iter().map(Column::as_ref).collect();
            let total = self.waiting.cell_count;
            let taken = tiles.append(total, &all)?;
            if taken > 0 {
                let rest = taken_as(&all, taken..total)?;
                self.waiting.set(rest, total - taken);
            }
        }
        (self.last, dense.given) = (last, given);
        Ok(())
    }

    /// Writes what is left and commits: the fragment becomes visible. Returns its name.
    ///
    /// # Errors
    /// `InvalidArgument` when there are no cells, or those of a dense write do not fill its rectangle. What codecs and store
    /// report; the array is as before then.
    pub fn finalize(mut self) -> Result<String> {
        self.progress.check()?;
        let none = || Error::invalid("there are no cells to write");
        match self.target {
            Target::Dense(dense) if dense.given < dense.cell_count => Err(Error::invalid(format!(
                "the rectangle has {} cells, and {} were given in {} order",
                dense.cell_count, dense.given, dense.layout
            ))),
            Target::Dense(dense) => dense.tiles.ok_or_else(none)?.commit(),
            Target::Sparse(writer) => {
                let mut writer = writer.ok_or_else(none)?;
                self.waiting.write_rest(&mut writer)?;
                if writer.is_empty() {
                    return Err(none());
                }
                writer.commit()
            }
        }
    }

    /// Checks new cells behind those that wait, and behind the last one written, takes out those that repeat where that is wanted, and
    /// says how many are left.
    fn check(&self, input: &[InputColumn<'_>], all: &mut [Column]) -> Result<usize> {
        let schema = self.snapshot.schema();
        check_domain(schema, &coordinates(schema, input)?, self.unchecked)?;
        let mut behind: Vec<Column> = Vec::new();
        let mut skipped = self.waiting.cell_count;
        let mut dim = 0;
        for ((id, _, shape), column) in self.fields.iter().zip(&*all) {
            if matches!(id, FieldId::Dimension(_)) {
                behind.push(match &self.last {
                    Some(last) => joined(last[dim].as_ref(), column.as_ref(), *shape)?,
                    None => column.clone(),
                });
                dim += 1;
            }
        }
        skipped += usize::from(self.last.is_some());
        let coords = behind
            .iter()
            .zip(&schema.dimensions)
            .map(|(column, dimension)| super::sparse::coord_column(column.as_ref(), dimension.datatype))
            .collect::<Result<Vec<_>>>()?;
        let progress = &self.progress;
        let check = || progress.check();
        let keys = order_keys(schema, &coords, &check)?;
        check_global_order(schema, &coords, &keys, skipped, self.unchecked)?;
        let order = Permutation::Identity(keys.len());
        let kept = match compares_cells(schema, self.duplicates) {
            true => {
                let repeats = keys.repeats(&order, &check)?;
                without_repeats(schema, &coords, order, &repeats, self.duplicates, skipped)?
            }
            false => order,
        };
        let written = usize::from(self.last.is_some());
        if let Permutation::Indices(kept) = &kept {
            let kept = kept.iter().filter_map(|cell| cell.checked_sub(written as u32)).collect();
            let order = Permutation::Indices(kept);
            for (column, (_, _, shape)) in all.iter_mut().zip(&self.fields) {
                *column = take(column.as_ref(), *shape, &order, 0..order.len(), &mut SpareColumn::default())?;
            }
        }
        Ok(kept.len() - written)
    }
}

/// The cells of columns, those of others behind them.
fn joined_all(
    first: &[Column],
    second: &[ColumnRef<'_>],
    fields: &[(FieldId, String, CellShape)],
) -> Result<Vec<Column>> {
    let pairs = first.iter().zip(second).zip(fields);
    pairs.map(|((first, second), (_, _, shape))| joined(first.as_ref(), *second, *shape)).collect()
}

/// The coordinates of a cell.
fn coords_of(fields: &[(FieldId, String, CellShape)], all: &[Column], cell: usize) -> Result<Vec<Column>> {
    let order = Permutation::Identity(cell + 1);
    let dims = fields.iter().zip(all).filter(|((id, _, _), _)| matches!(id, FieldId::Dimension(_)));
    dims.map(|((_, _, shape), column)| {
        take(column.as_ref(), *shape, &order, cell..cell + 1, &mut SpareColumn::default())
    })
    .collect()
}

/// Cells in their order that wait until they fill tiles.
pub(crate) struct Pieces {
    shapes: Vec<CellShape>,
    columns: Vec<Column>,
    cell_count: usize,
}

impl Pieces {
    /// No cells yet.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn new(shapes: impl Iterator<Item = CellShape>) -> Result<Self> {
        let shapes: Vec<CellShape> = shapes.collect();
        let columns = shapes.iter().map(|shape| empty(*shape)).collect::<Result<_>>()?;
        Ok(Pieces { shapes, columns, cell_count: 0 })
    }

    /// The cells that wait, and others behind them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn joined(&self, cells: &[ColumnRef<'_>]) -> Result<Vec<Column>> {
        let waiting = self.columns.iter().zip(cells).zip(&self.shapes);
        waiting.map(|((waiting, cells), shape)| joined(waiting.as_ref(), *cells, *shape)).collect()
    }

    /// Lets more cells wait.
    fn push(&mut self, cells: &[ColumnRef<'_>], count: usize) -> Result<()> {
        for (column, cells) in self.columns.iter_mut().zip(cells) {
            push(column, *cells)?;
        }
        self.cell_count += count;
        Ok(())
    }

    /// Lets the cells of a batch wait behind those that do.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn take_in(&mut self, batch: Batch) -> Result<()> {
        let cell_count = self.cell_count + batch.cell_count;
        let columns = match self.cell_count {
            0 => batch.columns,
            _ => self.joined(&batch.columns.iter().map(Column::as_ref).collect::<Vec<_>>())?,
        };
        self.set(columns, cell_count);
        Ok(())
    }

    /// Lets other cells wait instead.
    fn set(&mut self, columns: Vec<Column>, cell_count: usize) {
        (self.columns, self.cell_count) = (columns, cell_count);
    }

    /// Writes the cells that fill whole tiles.
    ///
    /// # Errors
    /// What codecs and store report.
    pub(crate) fn write_full(&mut self, writer: &mut SparseWriter) -> Result<()> {
        let full = self.cell_count / writer.capacity() * writer.capacity();
        if full == 0 {
            return Ok(());
        }
        let order = Permutation::Identity(self.cell_count);
        let cells: Vec<ColumnRef<'_>> = self.columns.iter().map(Column::as_ref).collect();
        writer.append(&cells, &order, None, 0..full)?;
        let rest = cells.iter().zip(&self.shapes);
        let rest = rest.map(|(cells, shape)| {
            take(*cells, *shape, &order, full..self.cell_count, &mut SpareColumn::default())
        });
        let rest = rest.collect::<Result<_>>()?;
        self.set(rest, self.cell_count - full);
        Ok(())
    }

    /// Writes all cells that wait.
    ///
    /// # Errors
    /// What codecs and store report.
    pub(crate) fn write_rest(&mut self, writer: &mut SparseWriter) -> Result<()> {
        if self.cell_count > 0 {
            let cells: Vec<ColumnRef<'_>> = self.columns.iter().map(Column::as_ref).collect();
            writer.append(&cells, &Permutation::Identity(self.cell_count), None, 0..self.cell_count)?;
        }
        Ok(())
    }
}

fn empty(shape: CellShape) -> Result<Column> {
    Ok(Column {
        data: AlignedBuf::new(),
        offsets: shape.is_var().then(|| AlignedBuf::zeroed(8)).transpose()?,
        validity: shape.is_nullable.then(AlignedBuf::new),
    })
}

/// The cells of two columns, one after the other.
fn joined(first: ColumnRef<'_>, second: ColumnRef<'_>, shape: CellShape) -> Result<Column> {
    let mut column = empty(shape)?;
    push(&mut column, first)?;
    push(&mut column, second)?;
    Ok(column)
}

/// Appends cells, whose offsets begin at 0.
fn push(column: &mut Column, cells: ColumnRef<'_>) -> Result<()> {
    let base = column.data.len() as u64;
    column.data.extend_from_slice(cells.data)?;
    if let (Some(offsets), Some(more)) = (&mut column.offsets, cells.offsets) {
        let ends: Vec<u64> = more.iter().skip(1).map(|end| base + end).collect();
        offsets.extend_from_slice(bytemuck::cast_slice(&ends))?;
    }
    if let (Some(validity), Some(more)) = (&mut column.validity, cells.validity) {
        validity.extend_from_slice(more)?;
    }
    Ok(())
}
