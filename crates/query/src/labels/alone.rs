//! Reads of nothing but labels of one dimension: a row for each position, not for each cell, as in the reference.

use super::lookup::Lookup;
use super::write::side_of;
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT, ReadRequest, ResultField};
use smalti_array::{Snapshot, intervals};
use smalti_format::DimensionLabel;
use smalti_space::Interval;
use smalti_types::{Error, Result};
use std::collections::VecDeque;

/// A read of labels alone, position after position.
#[derive(Debug)]
pub(crate) struct LabelsAlone {
    labels: Vec<Lookup>,
    /// The positions that are left.
    left: VecDeque<Interval>,
}

impl LabelsAlone {
    /// The fields of a read and what reads them; `None` when other fields are asked for, or labels of several dimensions.
    ///
    /// # Errors
    /// What opening labels reports.
    pub(crate) fn new(
        snapshot: &Snapshot,
        request: &ReadRequest,
    ) -> Result<Option<(Vec<ResultField>, LabelsAlone)>> {
        let schema = snapshot.schema();
        let labels: Option<Vec<&DimensionLabel>> =
            request.fields.iter().map(|name| schema.label(name)).collect();
        let labels = labels.unwrap_or_default();
        let Some(first) = labels.first() else { return Ok(None) };
        if labels.iter().any(|label| label.dimension_idx != first.dimension_idx) {
            return Ok(None);
        }
        let whole = intervals(&[side_of(schema, first, None)?])?;
        let left = match request.ranges.get(first.dimension_idx as usize) {
            Some(asked) if !asked.is_empty() => {
                let asked = intervals(asked).map_err(|error| Error::invalid(error.message()))?;
                asked.iter().filter_map(|side| side.intersect(whole[0])).collect()
            }
            _ => whole.into(),
        };
        let fields = labels.iter().map(|label| ResultField {
            name: label.name.clone(),
            shape: smalti_array::label_shape(label),
            is_dimension: false,
        });
        let fields = fields.collect();
        let labels =
            labels.iter().map(|label| Lookup::open(snapshot, label, request)).collect::<Result<_>>()?;
        Ok(Some((fields, LabelsAlone { labels, left })))
    }

    /// The labels of the next positions, at most so many.
    ///
    /// # Errors
    /// What reading labels reports.
    pub(crate) fn pull(&mut self, max_cell_count: usize) -> Result<Option<Batch>> {
        let mut ranges = Vec::new();
        let max_cell_count = max_cell_count.min(DEFAULT_BATCH_CELL_COUNT) as u64;
        let mut room = max_cell_count;
        while room > 0 {
            let Some(side) = self.left.pop_front() else { break };
            let taken = (side.hi - side.lo).saturating_add(1).min(room);
            let hi = side.lo + (taken - 1);
            ranges.push(Interval { lo: side.lo, hi });
            room -= taken;
            if hi < side.hi {
                self.left.push_front(Interval { lo: hi + 1, hi: side.hi });
            }
        }
        if ranges.is_empty() {
            return Ok(None);
        }
        let columns = self.labels.iter().map(|label| label.in_ranges(&ranges)).collect::<Result<_>>()?;
        Ok(Some(Batch { cell_count: (max_cell_count - room) as usize, columns }))
    }
}
