//! A read that is planned, but not begun: what it will give, and the splits that it divides into.

use crate::condition::BoundField;
use crate::count::Count;
use crate::explain::explain;
use crate::explanation::Explanation;
use crate::field_statistics::FieldStatistics;
use crate::labels;
use crate::progress::Progress;
use crate::read::{Batches, read};
use crate::request::{ReadRequest, ResultField};
use crate::split::Split;
use smalti_array::{FieldId, Snapshot, find_field};
use smalti_types::{Error, Result};
use std::sync::Arc;

/// The most splits of a scan.
const MAX_SPLIT_COUNT: usize = 1 << 16;

/// A planned read of a snapshot, which it owns.
#[derive(Debug)]
pub struct Scan {
    snapshot: Snapshot,
    /// With ranges of dimensions for those of labels; without progress.
    request: ReadRequest,
    /// Of the reads that it starts.
    progress: Option<Arc<Progress>>,
    planned: Batches,
}

impl Scan {
    /// Plans a read.
    ///
    /// # Errors
    /// As [`read`].
    pub fn new(snapshot: &Snapshot, request: &ReadRequest) -> Result<Scan> {
        if request.part.is_some() {
            return Err(Error::invalid("a part of a read is not divided again; divide the whole read"));
        }
        let request_alone = ReadRequest { progress: None, ..request.clone() };
        let planned = read(snapshot, &request_alone)?;
        let resolved = match request_alone.label_ranges.is_empty() {
            true => Some(request_alone.clone()),
            false => labels::resolved(snapshot, &request_alone)?,
        };
        // Where labels lead to no position there is nothing, wherever it is read.
        let resolved = resolved.unwrap_or_else(|| ReadRequest {
            label_ranges: Vec::new(),
            limit: Some(0),
            ..request_alone.clone()
        });
        // Ranges were checked; their parts may lie outside of what they were cut to.
        let resolved = ReadRequest { is_strict: false, ..resolved };
        Ok(Scan {
            snapshot: snapshot.clone(),
            request: resolved,
            progress: request.progress.clone(),
            planned,
        })
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The fields of every batch.
    pub fn fields(&self) -> &[ResultField] {
        self.planned.fields()
    }

    /// How many cells the read gives.
    pub fn cell_count(&self) -> Count {
        self.planned.cell_count().limited(self.request.limit)
    }

    /// How many bytes their columns take; `None` where values of any length of a dense array are read, or labels.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub fn byte_len(&self) -> Result<Option<Count>> {
        let fields = self.planned.fields();
        if fields.iter().all(|field| !field.shape.is_var()) {
            let cell =
                fields.iter().map(|field| field.shape.cell_byte_len() + usize::from(field.shape.is_nullable));
            let cell = cell.sum::<usize>() as u64;
            return Ok(Some(match self.cell_count() {
                Count::Exact(count) => Count::Exact(count.saturating_mul(cell)),
                Count::AtMost(count) => Count::AtMost(count.saturating_mul(cell)),
            }));
        }
        self.planned.byte_len()
    }

    /// What the metadata says about the values of each field: no tile is read for it.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub fn statistics(&self) -> Result<Vec<FieldStatistics>> {
        let one = |field: &ResultField| {
            let unknown = || FieldStatistics::unknown(&field.name, field.shape, self.cell_count());
            let schema = self.snapshot.schema();
            let Some(id) = find_field(schema, &field.name).filter(|_| schema.label(&field.name).is_none())
            else {
                return Ok(unknown());
            };
            let attribute = match id {
                FieldId::Attribute(idx) => schema.attributes.get(idx),
                _ => None,
            };
            let field = BoundField {
                name: field.name.clone(),
                id,
                schema_idx: 0,
                shape: field.shape,
                fill: attribute.map(|attribute| attribute.fill_value.clone()).unwrap_or_default(),
                fill_valid: attribute.is_some_and(|attribute| attribute.fill_valid),
            };
            Ok(self.planned.field_statistics(&field, self.cell_count())?.unwrap_or_else(unknown))
        };
        self.planned.fields().iter().map(one).collect()
    }

    /// How the read would be carried out.
    ///
    /// # Errors
    /// As [`explain`].
    pub fn explain(&self) -> Result<Explanation> {
        explain(&self.snapshot, &self.request)
    }

    /// Starts the read.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self) -> Result<Batches> {
        read(&self.snapshot, &ReadRequest { progress: self.progress.clone(), ..self.request.clone() })
    }

    /// Divides the read into at most so many splits that take about as many bytes each: fewer where it is too small, or its order does
    /// not divide. Read one after the other they give the cells of the read, in its order. Each gives no more cells than the limit.
    ///
    /// # Errors
    /// `InvalidArgument` for no split, or too many; `NotFound` when the time range has lost cells; `Corrupt` and `Permission` from the
    /// metadata.
    pub fn splits(&self, count: usize) -> Result<Vec<Split>> {
        if !(1..=MAX_SPLIT_COUNT).contains(&count) {
            return Err(Error::invalid(format!(
                "a read is divided into 1 to {MAX_SPLIT_COUNT} splits, not into {count}"
            )));
        }
        let manifest = self.snapshot.manifest()?;
        let parts = self.planned.divided(&self.request, count)?;
        let count = parts.len();
        let split = |(number, (request, byte_len)): (usize, (ReadRequest, u64))| Split {
            uri: self.snapshot.place().uri(),
            manifest: manifest.clone(),
            request,
            number: number as u32 + 1,
            count: count as u32,
            byte_len,
            snapshot: Some(self.snapshot.clone()),
        };
        Ok(parts.into_iter().enumerate().map(split).collect())
    }
}
