//! Reads of nothing but labels of one dimension: a row for each position, not for each cell, as in the reference.

use super::lookup::Lookup;
use super::side::side_of;
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT, ReadRequest, ResultField};
use smalti_array::{Snapshot, intervals};
use smalti_format::DimensionLabel;
use smalti_space::Interval;
use smalti_types::{Error, Extent, Result};
use std::collections::VecDeque;

/// A read of labels alone, position after position.
#[derive(Debug)]
pub(crate) struct LabelsAlone {
    labels: Vec<Lookup>,
    /// The dimension that they belong to.
    dimension_idx: usize,
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
        let dimension_idx = first.dimension_idx as usize;
        Ok(Some((fields, LabelsAlone { labels, dimension_idx, left })))
    }

    /// The positions that are left.
    pub(crate) fn cell_count(&self) -> u64 {
        let counts = self.left.iter().map(|side| (side.hi - side.lo).saturating_add(1));
        counts.fold(0, u64::saturating_add)
    }

    /// The positions in at most so many equal parts, each as the ranges of a read, and about how many bytes each takes.
    pub(crate) fn divided(&self, asked: &[Vec<Extent>], count: usize) -> Vec<(Vec<Vec<Extent>>, u64)> {
        let cell_count = self.cell_count();
        let mut ranges = asked.to_vec();
        ranges.resize(ranges.len().max(self.dimension_idx + 1), Vec::new());
        let count = (count as u64).min(cell_count.max(1));
        if count < 2 {
            return vec![(asked.to_vec(), cell_count)];
        }
        let end_of = |part: u64| (u128::from(cell_count) * u128::from(part) / u128::from(count)) as u64;
        let part = |part: u64| {
            let (from, until) = (end_of(part), end_of(part + 1));
            let (mut before, mut sides) = (0u64, Vec::new());
            for side in &self.left {
                let behind = before.saturating_add((side.hi - side.lo).saturating_add(1));
                let (first, end) = (from.max(before), until.min(behind));
                if first < end {
                    let hi = side.lo + (end - 1 - before);
                    sides.push(Interval { lo: side.lo + (first - before), hi }.into());
                }
                before = behind;
            }
            let mut ranges = ranges.clone();
            ranges[self.dimension_idx] = sides;
            (ranges, until - from)
        };
        (0..count).map(part).collect()
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
