//! How the cells of a picture are read.

use super::options::DrawOptions;
use super::plan::Slice;
use super::values::Drawable;
use crate::environment::Environment;
use crate::failure::Outcome;
use crate::picture::Series;
use smalti::{Array, Batch, Condition, Layout, ReadRequest};
use std::sync::Arc;

/// What all panels are read with.
pub(super) struct Source<'a> {
    pub(super) environment: &'a Environment<'a>,
    pub(super) args: &'a DrawOptions,
    pub(super) uri: &'a str,
    pub(super) condition: Option<Condition>,
}

/// A line for each field.
pub(super) fn series(fields: &[Drawable], points: impl IntoIterator<Item = Vec<(f64, f64)>>) -> Vec<Series> {
    let named = fields.iter().zip(points);
    named.map(|(field, points)| Series { name: field.name.clone(), points }).collect()
}

impl Source<'_> {
    /// A request for fields of the cells of a slice.
    pub(super) fn request<'f>(
        &self,
        slice: &Slice,
        fields: impl IntoIterator<Item = &'f Drawable>,
        layout: Layout,
    ) -> ReadRequest {
        ReadRequest {
            fields: fields.into_iter().map(|field| field.name.clone()).collect(),
            ranges: slice.ranges.clone(),
            layout: Some(layout),
            condition: self.condition.clone(),
            memory_byte_len: self
                .environment
                .memory
                .map(|byte_len| usize::try_from(byte_len).unwrap_or(usize::MAX)),
            ..ReadRequest::default()
        }
    }

    /// Hands on the cells of a read, batch after batch.
    pub(super) fn each_batch(
        &self,
        array: &Array,
        mut request: ReadRequest,
        mut take: impl FnMut(&Batch) -> Outcome,
    ) -> Outcome {
        request.progress = Some(Arc::clone(self.environment.work));
        if let Some(byte_len) = request.memory_byte_len {
            // A batch and the numbers that it becomes share the budget.
            request.batch_cell_count =
                Some((byte_len / 256).clamp(1 << 12, smalti::DEFAULT_BATCH_CELL_COUNT));
        }
        for batch in array.read_raw(&request)? {
            take(&batch?)?;
        }
        Ok(())
    }
}
