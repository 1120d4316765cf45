//! Writes in global order over several submissions, as one fragment.

use super::codes::check_codes;
use super::columns::{InputColumn, cell_count, written_fields};
use super::request::{Duplicates, WriteRequest};
use super::sparse::{SparseWriter, check_domain, check_global_order, coordinates, order_keys, take};
use crate::progress::{Announced, Phase, Progress, Unit};
use crate::workspace::SpareColumn;
use smalti_array::{FieldId, NewFragment, Snapshot};
use smalti_space::Permutation;
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::{AlignedBuf, Error, Extent, Layout, Result};
use std::sync::Arc;

/// A write of one fragment in pieces. Sparse cells come sorted in global order, piece after piece, and whole tiles go to disk
/// as they fill. The cells of a dense array come in global order of a rectangle of whole space tiles; they are kept in
/// memory until the end. Nothing is visible before [`finalize`](GlobalWriter::finalize).
pub struct GlobalWriter {
    snapshot: Snapshot,
    at: Option<u64>,
    subarray: Option<Vec<Extent>>,
    sparse: Option<SparseWriter>,
    /// Attributes, then for sparse arrays dimensions.
    fields: Vec<(FieldId, String, CellShape)>,
    /// Cells that do not fill a tile yet.
    waiting: Pieces,
    /// The coordinates of the cell before those that wait.
    last: Option<Vec<Column>>,
    progress: Arc<Progress>,
    announced: Option<Announced>,
}

impl std::fmt::Debug for GlobalWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GlobalWriter").field("waiting", &self.waiting.cell_count).finish_non_exhaustive()
    }
}

impl GlobalWriter {
    /// Starts a write, at a timestamp or now. A dense write takes its rectangle here; `None` is the whole domain.
    ///
    /// # Errors
    /// `InvalidArgument` when a sparse write is given a rectangle.
    pub fn new(snapshot: &Snapshot, at: Option<u64>, subarray: Option<Vec<Extent>>) -> Result<Self> {
        let schema = snapshot.schema();
        if subarray.is_some() && !schema.is_dense() {
            return Err(Error::invalid("a sparse write takes no range: its cells bring their coordinates"));
        }
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
            subarray,
            sparse: None,
            fields,
            waiting,
            last: None,
            progress: Arc::default(),
            announced: None,
        })
    }

    /// Tells a progress how far the write is, and listens to it for the word to stop. `cell_count` is the number of cells that are
    /// going to be submitted, where it is known.
    #[must_use]
    pub fn watched(mut self, progress: Arc<Progress>, cell_count: Option<u64>) -> Self {
        if self.snapshot.schema().is_dense() {
            self.announced = Some(progress.announce(Phase::DENSE_WRITE));
        } else {
            self.announced = Some(progress.announce(&[Phase::Writing, Phase::Syncing]));
            progress.enter(Phase::Writing, Unit::Cells, cell_count);
        }
        self.progress = progress;
        self
    }

    /// Takes the next cells.
    ///
    /// # Errors
    /// `InvalidArgument` when columns do not fit, or a cell is out of order, repeats or lies outside the domain; the write
    /// is as before then. `Cancelled`, and what codecs and store report; the write can only be dropped then.
    pub fn submit(&mut self, columns: &[(String, ColumnRef<'_>)]) -> Result<()> {
        self.progress.check()?;
        let schema = self.snapshot.schema();
        let request = WriteRequest {
            columns: columns.to_vec(),
            subarray: None,
            layout: Layout::GlobalOrder,
            at: self.at,
            duplicates: Duplicates::Refuse,
            progress: None,
        };
        let count = cell_count(schema, &request)?;
        let input = if schema.is_dense() {
            InputColumn::of_attributes(schema, &request, count)?
        } else {
            InputColumn::of_fields(schema, &request, count)?
        };
        check_codes(&self.snapshot, &input)?;
        let cells: Vec<ColumnRef<'_>> = input.iter().map(|column| column.cells).collect();
        let (all, total) = (self.waiting.joined(&cells)?, self.waiting.cell_count + count);
        if schema.is_dense() {
            self.waiting.set(all, total);
            return Ok(());
        }
        self.check(&input, &all)?;
        if self.sparse.is_none() {
            let fields = written_fields(&self.snapshot, &input)?;
            let new = NewFragment::new(&self.snapshot, self.at)?;
            self.sparse = Some(SparseWriter::new(new, fields, schema, Arc::clone(&self.progress)));
        }
        let Some(writer) = &mut self.sparse else { return Ok(()) };
        let full = total / writer.capacity() * writer.capacity();
        let last = full.checked_sub(1).map(|cell| coords_of(&self.fields, &all, cell)).transpose()?;
        self.waiting.set(all, total);
        self.waiting.write_full(writer)?;
        self.last = last.or(self.last.take());
        self.progress.advance(Phase::Writing, Unit::Cells, count as u64);
        Ok(())
    }

    /// Writes what is left and commits: the fragment becomes visible. Returns its name.
    ///
    /// # Errors
    /// `InvalidArgument` when there are no cells, or those of a dense write do not fill its rectangle. What codecs and store
    /// report; the array is as before then.
    pub fn finalize(mut self) -> Result<String> {
        if self.snapshot.schema().is_dense() {
            let columns = self.fields.iter().zip(&self.waiting.columns);
            let request = WriteRequest {
                columns: columns.map(|((_, name, _), column)| (name.clone(), column.as_ref())).collect(),
                subarray: self.subarray.take(),
                layout: Layout::GlobalOrder,
                at: self.at,
                duplicates: Duplicates::Refuse,
                progress: Some(Arc::clone(&self.progress)),
            };
            return super::write(&self.snapshot, &request);
        }
        let Some(mut writer) = self.sparse.take() else {
            return Err(Error::invalid("there are no cells to write"));
        };
        self.waiting.write_rest(&mut writer)?;
        if writer.is_empty() {
            return Err(Error::invalid("there are no cells to write"));
        }
        writer.commit()
    }

    /// Checks new cells behind those that wait, and behind the last one written.
    fn check(&self, input: &[InputColumn<'_>], all: &[Column]) -> Result<()> {
        let schema = self.snapshot.schema();
        check_domain(schema, &coordinates(schema, input)?)?;
        let mut behind: Vec<Column> = Vec::new();
        let mut skipped = self.waiting.cell_count;
        let mut dim = 0;
        for ((id, _, shape), column) in self.fields.iter().zip(all) {
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
        let keys = order_keys(schema, &coords, &|| progress.check())?;
        check_global_order(schema, &coords, &keys, skipped)
    }
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

    /// The cells that wait.
    pub(crate) fn cell_count(&self) -> usize {
        self.cell_count
    }

    /// The cells that wait, and others behind them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn joined(&self, cells: &[ColumnRef<'_>]) -> Result<Vec<Column>> {
        let waiting = self.columns.iter().zip(cells).zip(&self.shapes);
        waiting.map(|((waiting, cells), shape)| joined(waiting.as_ref(), *cells, *shape)).collect()
    }

    /// Lets other cells wait instead.
    pub(crate) fn set(&mut self, columns: Vec<Column>, cell_count: usize) {
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
        writer.append(&cells, &order, 0..full)?;
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
            writer.append(&cells, &Permutation::Identity(self.cell_count), 0..self.cell_count)?;
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
    column.data.extend_from_slice(first.data)?;
    column.data.extend_from_slice(second.data)?;
    if let (Some(offsets), Some(a), Some(b)) = (&mut column.offsets, first.offsets, second.offsets) {
        let base = first.data.len() as u64;
        let ends: Vec<u64> =
            a.iter().skip(1).copied().chain(b.iter().skip(1).map(|end| base + end)).collect();
        offsets.extend_from_slice(bytemuck::cast_slice(&ends))?;
    }
    if let (Some(validity), Some(a), Some(b)) = (&mut column.validity, first.validity, second.validity) {
        validity.extend_from_slice(a)?;
        validity.extend_from_slice(b)?;
    }
    Ok(column)
}
