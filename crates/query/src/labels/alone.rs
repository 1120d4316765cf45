//! Reads of nothing but labels of one dimension: a row for each position, not for each cell, as in the reference.

use super::write::side_of;
use crate::gather::{CellRun, gather};
use crate::read::read_cells;
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT, ReadRequest, ResultField};
use smalti_array::{Snapshot, label_shape};
use smalti_format::DimensionLabel;
use smalti_tile::Column;
use smalti_types::{Error, Result};

/// The fields and batches of a read of labels alone; `None` when other fields are asked for, or several dimensions.
///
/// # Errors
/// What reading labels reports.
pub(crate) fn read_alone(
    snapshot: &Snapshot,
    request: &ReadRequest,
) -> Result<Option<(Vec<ResultField>, Vec<Batch>)>> {
    let schema = snapshot.schema();
    let labels: Option<Vec<&DimensionLabel>> = request.fields.iter().map(|name| schema.label(name)).collect();
    let labels = labels.unwrap_or_default();
    let Some(first) = labels.first() else { return Ok(None) };
    if labels.iter().any(|label| label.dimension_idx != first.dimension_idx) {
        return Ok(None);
    }
    let dim = first.dimension_idx as usize;
    let ranges = match request.ranges.get(dim) {
        Some(asked) if !asked.is_empty() => asked.clone(),
        _ => vec![side_of(schema, first, None)?],
    };
    let mut columns = Vec::with_capacity(labels.len());
    let mut cell_count = 0;
    for label in &labels {
        let array = snapshot.open_label(label)?;
        let request = ReadRequest {
            fields: vec![label.attribute.clone()],
            ranges: vec![ranges.clone()],
            batch_cell_count: Some(usize::MAX),
            ..ReadRequest::default()
        };
        let mut batches = read_cells(&array, &request)?;
        let batch = batches.next().transpose()?;
        columns.push(match batch {
            Some(batch) => {
                cell_count = batch.cell_count;
                batch.columns.into_iter().next().ok_or_else(|| Error::corrupt("a read gave no column"))?
            }
            None => Column::default(),
        });
    }
    let fields = labels.iter().map(|label| ResultField {
        name: label.name.clone(),
        shape: label_shape(label),
        is_dimension: false,
    });
    let fields: Vec<ResultField> = fields.collect();
    let step = request.batch_cell_count.unwrap_or(DEFAULT_BATCH_CELL_COUNT).clamp(1, u32::MAX as usize);
    let mut batches = Vec::new();
    for start in (0..cell_count).step_by(step) {
        let len = step.min(cell_count - start);
        let run = CellRun { slot: 0, start: start as u32, len: len as u32 };
        let cut = columns
            .iter()
            .zip(&fields)
            .map(|(column, field)| gather(&[run], &[column.as_ref()], field.shape));
        batches.push(Batch { cell_count: len, columns: cut.collect::<Result<_>>()? });
    }
    Ok(Some((fields, batches)))
}
