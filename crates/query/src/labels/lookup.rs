//! The labels at some positions of a dimension.

use crate::dense::DenseBatches;
use crate::fields::result_fields;
use crate::gather::{CellRun, Output, gather};
use crate::progress::Progress;
use crate::request::{DEFAULT_BATCH_CELL_COUNT, ReadRequest};
use smalti_array::{Snapshot, label_shape};
use smalti_format::DimensionLabel;
use smalti_space::{CELLS_BETWEEN_CHECKS, Interval};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::{Error, Layout, Result};
use std::sync::Arc;

/// The array of a label, open for looking labels up.
#[derive(Debug)]
pub(super) struct Lookup {
    array: Snapshot,
    attribute: String,
    pub(super) shape: CellShape,
    /// Of the read that asks for the labels, which may stop.
    progress: Arc<Progress>,
}

impl Lookup {
    /// Opens the array of a label for a read.
    pub(super) fn open(snapshot: &Snapshot, label: &DimensionLabel, request: &ReadRequest) -> Result<Lookup> {
        Ok(Lookup {
            array: snapshot.open_label(label)?,
            attribute: label.attribute.clone(),
            shape: label_shape(label),
            progress: request.progress.clone().unwrap_or_default(),
        })
    }

    /// The array of the label.
    pub(super) fn array(&self) -> &Snapshot {
        &self.array
    }

    /// The labels of positions in sorted ranges, one after the other; the fill value where there is none.
    pub(super) fn in_ranges(&self, ranges: &[Interval]) -> Result<Column> {
        let (parts, runs) = self.parts(ranges)?;
        let parts: Vec<ColumnRef<'_>> = parts.iter().map(Column::as_ref).collect();
        gather(&runs, &parts, self.shape, Output::fresh(&|| self.progress.check()))
    }

    /// The label of each of some positions, in their order.
    pub(super) fn at(&self, positions: &[u64]) -> Result<Column> {
        let mut distinct = positions.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let ranges: Vec<Interval> = distinct
            .chunk_by(|a, b| a.checked_add(1) == Some(*b))
            .filter_map(|run| Some(Interval { lo: *run.first()?, hi: *run.last()? }))
            .collect();
        let (parts, runs) = self.parts(&ranges)?;
        // The first of the distinct positions in each part.
        let mut starts = Vec::with_capacity(runs.len());
        let mut start = 0;
        for run in &runs {
            starts.push(start);
            start += run.len as usize;
        }
        let missing = || Error::corrupt("a label is not where its position is");
        let mut cells = Vec::with_capacity(positions.len());
        for (at, position) in positions.iter().enumerate() {
            if at.is_multiple_of(CELLS_BETWEEN_CHECKS) {
                self.progress.check()?;
            }
            let idx = distinct.binary_search(position).map_err(|_| missing())?;
            let part = starts.partition_point(|&start| start <= idx).checked_sub(1).ok_or_else(missing)?;
            if idx >= start {
                return Err(missing());
            }
            cells.push(CellRun { slot: part as u32, start: (idx - starts[part]) as u32, len: 1 });
        }
        let parts: Vec<ColumnRef<'_>> = parts.iter().map(Column::as_ref).collect();
        gather(&cells, &parts, self.shape, Output::fresh(&|| self.progress.check()))
    }

    /// The labels in some ranges in parts, and a run that takes in all of each part.
    fn parts(&self, ranges: &[Interval]) -> Result<(Vec<Column>, Vec<CellRun>)> {
        let (mut parts, mut runs) = (Vec::new(), Vec::new());
        if ranges.is_empty() {
            return Ok((parts, runs));
        }
        let request = ReadRequest {
            fields: vec![self.attribute.clone()],
            ranges: vec![ranges.iter().map(|&range| range.into()).collect()],
            ..ReadRequest::default()
        };
        self.array.check_history()?;
        let fields = result_fields(self.array.schema(), &request.fields)?;
        let layout = Layout::RowMajor;
        let mut batches = DenseBatches::new(&self.array, &request, layout, &fields, None, &Arc::default())?;
        while let Some(batch) = batches.pull(DEFAULT_BATCH_CELL_COUNT, &mut [])? {
            self.progress.check()?;
            let slot = parts.len() as u32;
            runs.push(CellRun { slot, start: 0, len: batch.cell_count as u32 });
            parts.extend(batch.columns);
        }
        Ok((parts, runs))
    }
}
