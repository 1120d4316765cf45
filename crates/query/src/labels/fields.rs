//! Labels as fields of a read: looked up by the positions of the cells.

use crate::gather::{CellRun, gather};
use crate::read::read_cells;
use crate::request::{Batch, ReadRequest, ResultField};
use smalti_array::{Snapshot, intervals, label_shape};
use smalti_format::DimensionLabel;
use smalti_space::Interval;
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::{AlignedBuf, Datatype, Error, Extent, Physical, Result, dispatch_physical};

/// What turns the batches of a read of cells into batches with labels.
#[derive(Debug)]
pub(crate) struct LabelFields {
    columns: Vec<Output>,
    labels: Vec<Labels>,
}

/// Where a column of the result comes from.
#[derive(Debug, Clone, Copy)]
enum Output {
    /// A column of the read of cells.
    Cells(usize),
    /// A label, by the column of its dimension in the read of cells.
    Label { label: usize, dimension: usize },
}

/// The labels of a dimension, as far as a read needs them.
#[derive(Debug)]
struct Labels {
    shape: CellShape,
    /// The type of positions.
    positions: Datatype,
    /// The first position of each part, in ordinals.
    starts: Vec<u64>,
    /// The labels of each part, and behind them one that stands for positions without a label.
    parts: Vec<Column>,
    /// The first position behind the last part.
    end: u64,
}

impl LabelFields {
    /// Takes the labels out of the fields of a read: what is to be read instead, and what makes labels of it. `None` when there
    /// are no labels among the fields.
    ///
    /// # Errors
    /// What reading labels reports.
    pub(crate) fn new(
        snapshot: &Snapshot,
        request: &ReadRequest,
    ) -> Result<Option<(ReadRequest, LabelFields)>> {
        let schema = snapshot.schema();
        if request.fields.iter().all(|name| schema.label(name).is_none()) {
            return Ok(None);
        }
        let mut fields: Vec<String> =
            request.fields.iter().filter(|name| schema.label(name).is_none()).cloned().collect();
        let (mut columns, mut labels, mut cell_column) = (Vec::new(), Vec::new(), 0);
        for name in &request.fields {
            let Some(label) = schema.label(name) else {
                columns.push(Output::Cells(cell_column));
                cell_column += 1;
                continue;
            };
            let dim = label.dimension_idx as usize;
            let dimension = &schema.dimensions[dim];
            let known = fields.iter().position(|field| *field == dimension.name);
            let column = known.unwrap_or_else(|| {
                fields.push(dimension.name.clone());
                fields.len() - 1
            });
            columns.push(Output::Label { label: labels.len(), dimension: column });
            let asked = request.ranges.get(dim).map(Vec::as_slice).unwrap_or_default();
            let named = |error: Error| error.context(format_args!("dimension label {name:?}"));
            labels.push(Labels::read(snapshot, label, dimension.datatype, asked).map_err(named)?);
        }
        Ok(Some((ReadRequest { fields, ..request.clone() }, LabelFields { columns, labels })))
    }

    /// The fields of the result, from those of the read of cells and the names that were asked for.
    pub(crate) fn fields(&self, cells: &[ResultField], asked: &[String]) -> Vec<ResultField> {
        let one = |(output, name): (&Output, &String)| match *output {
            Output::Cells(column) => cells[column].clone(),
            Output::Label { label, .. } => {
                ResultField { name: name.clone(), shape: self.labels[label].shape, is_dimension: false }
            }
        };
        self.columns.iter().zip(asked).map(one).collect()
    }

    /// Adds labels to a batch.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn apply(&self, batch: Batch) -> Result<Batch> {
        let Batch { cell_count, mut columns } = batch;
        let mut with_labels = Vec::with_capacity(self.columns.len());
        for output in &self.columns {
            with_labels.push(match *output {
                // Each column of cells goes to one place, but others may still look at it: it is moved below.
                Output::Cells(_) => Column::default(),
                Output::Label { label, dimension } => self.labels[label].of(columns[dimension].as_ref())?,
            });
        }
        for (place, output) in with_labels.iter_mut().zip(&self.columns) {
            if let Output::Cells(column) = *output {
                *place = std::mem::take(&mut columns[column]);
            }
        }
        Ok(Batch { cell_count, columns: with_labels })
    }
}

impl Labels {
    /// Reads the labels of the positions that the ranges of their dimension span.
    fn read(
        snapshot: &Snapshot,
        label: &DimensionLabel,
        positions: Datatype,
        asked: &[Extent],
    ) -> Result<Labels> {
        let array = snapshot.open_label(label)?;
        let shape = label_shape(label);
        let mut labels = Labels { shape, positions, starts: Vec::new(), parts: Vec::new(), end: 0 };
        let written = array.non_empty_domain().map(|domain| intervals(&domain)).transpose()?;
        let written = written.and_then(|sides| sides.into_iter().next());
        let span = written.and_then(|written| written.intersect(hull(asked)));
        if let Some(span) = span {
            let request = ReadRequest {
                fields: vec![label.attribute.clone()],
                ranges: vec![vec![span.into()]],
                ..ReadRequest::default()
            };
            labels.end = span.lo;
            for batch in read_cells(&array, &request)? {
                let Batch { cell_count, columns } = batch?;
                labels.starts.push(labels.end);
                labels.end = labels.end.saturating_add(cell_count as u64);
                labels.parts.extend(columns);
            }
        }
        let (_, attribute) = array
            .schema()
            .attribute(&label.attribute)
            .ok_or_else(|| Error::corrupt("the array of a label lacks its attribute"))?;
        labels.parts.push(one_cell(shape, &attribute.fill_value)?);
        Ok(labels)
    }

    /// The label of each of some positions.
    fn of(&self, positions: ColumnRef<'_>) -> Result<Column> {
        let runs: Vec<CellRun> = dispatch_physical!(self.positions, T => {
            let positions = positions.data.chunks_exact(size_of::<T>());
            positions.map(|bytes| self.run(bytemuck::pod_read_unaligned::<T>(bytes).ordinal())).collect()
        });
        let parts: Vec<ColumnRef<'_>> = self.parts.iter().map(Column::as_ref).collect();
        gather(&runs, &parts, self.shape)
    }

    fn run(&self, position: u64) -> CellRun {
        let none = CellRun { slot: (self.parts.len() - 1) as u32, start: 0, len: 1 };
        let part = self.starts.partition_point(|&start| start <= position);
        match part.checked_sub(1) {
            Some(part) if position < self.end => {
                CellRun { slot: part as u32, start: (position - self.starts[part]) as u32, len: 1 }
            }
            _ => none,
        }
    }
}

fn one_cell(shape: CellShape, bytes: &[u8]) -> Result<Column> {
    let mut column = Column::default();
    column.data.extend_from_slice(bytes)?;
    if shape.is_var() {
        let mut offsets = AlignedBuf::new();
        offsets.extend_from_slice(bytemuck::cast_slice(&[0, bytes.len() as u64]))?;
        column.offsets = Some(offsets);
    }
    Ok(column)
}

/// From the least to the greatest position of some ranges; everything when there are none.
fn hull(ranges: &[Extent]) -> Interval {
    let ranges = ranges.iter().filter_map(|range| Interval::of_extent(range.as_ref()));
    ranges
        .reduce(|a, b| Interval { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) })
        .unwrap_or(Interval { lo: 0, hi: u64::MAX })
}
