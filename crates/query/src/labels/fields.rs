//! Labels as fields of a read: looked up by the positions of the cells.

use super::lookup::Lookup;
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT, ReadRequest, ResultField};
use smalti_array::Snapshot;
use smalti_tile::Column;
use smalti_types::{Datatype, Error, Physical, Result, dispatch_physical};

/// What turns the batches of a read of cells into batches with labels.
#[derive(Debug)]
pub(crate) struct LabelFields {
    columns: Vec<Output>,
    labels: Vec<Lookup>,
}

/// Where a column of the result comes from.
#[derive(Debug, Clone, Copy)]
enum Output {
    /// A column of the read of cells.
    Cells(usize),
    /// A label, by the column of its dimension in the read of cells and the type of that.
    Label { label: usize, dimension: usize, datatype: Datatype },
}

impl LabelFields {
    /// Takes the labels out of the fields of a read: what is to be read instead, and what makes labels of it. `None` when there
    /// are no labels among the fields.
    ///
    /// # Errors
    /// What opening labels reports.
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
            let dimension = &schema.dimensions[label.dimension_idx as usize];
            let known = fields.iter().position(|field| *field == dimension.name);
            let column = known.unwrap_or_else(|| {
                fields.push(dimension.name.clone());
                fields.len() - 1
            });
            columns.push(Output::Label {
                label: labels.len(),
                dimension: column,
                datatype: dimension.datatype,
            });
            let named = |error: Error| error.context(format_args!("dimension label {name:?}"));
            labels.push(Lookup::open(snapshot, label, request).map_err(named)?);
        }
        let batch_cell_count = request.batch_cell_count.map(|asked| asked.min(DEFAULT_BATCH_CELL_COUNT));
        let cells = ReadRequest { fields, batch_cell_count, ..request.clone() };
        Ok(Some((cells, LabelFields { columns, labels })))
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
    /// What reading labels reports.
    pub(crate) fn apply(&self, batch: Batch) -> Result<Batch> {
        let Batch { cell_count, mut columns } = batch;
        let mut with_labels = Vec::with_capacity(self.columns.len());
        for output in &self.columns {
            with_labels.push(match *output {
                // Each column of cells goes to one place, but others may still look at it: it is moved below.
                Output::Cells(_) => Column::default(),
                Output::Label { label, dimension, datatype } => {
                    self.labels[label].at(&ordinals(&columns[dimension], datatype))?
                }
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

fn ordinals(positions: &Column, datatype: Datatype) -> Vec<u64> {
    dispatch_physical!(datatype, T => {
        positions.data.values::<T>().iter().map(|position| position.ordinal()).collect()
    })
}
