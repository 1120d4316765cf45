//! Reads.

use super::buffers::{Buffers, OffsetForm};
use super::resume::Resume;
use super::state::{ORIGIN, QueryHandle, Status};
use crate::boundary::handle::locked;
use crate::failure::{Failure, Fallible, fail};
use crate::values::index;
use smalti::{ErrorKind, Layout, ReadRequest};
use std::sync::Arc;

impl QueryHandle {
    /// The read in the engine's words.
    pub(super) fn request(&mut self, fields: Vec<String>) -> Fallible<ReadRequest> {
        let condition = match self.condition.clone() {
            Some(node) => Some(node.bound(&mut self.schema)?),
            None => None,
        };
        let layout = match (self.is_dense(), self.layout) {
            (true, Layout::Unordered) => Layout::RowMajor,
            // Where no two cells are in one place, libtiledb reads them in global order.
            (false, Layout::Unordered) if !self.schema.schema.allows_dups => Layout::GlobalOrder,
            (_, layout) => layout,
        };
        Ok(ReadRequest {
            fields,
            ranges: self.subarray.wanted()?,
            label_ranges: self.subarray.labels.clone(),
            layout: Some(layout),
            condition,
            leaves_out: self.is_dense() && self.config.flag("sm.query.dense.qc_coords_mode")?,
            progress: Some(Arc::clone(&self.progress)),
            skips_checksums: self.skips_checksums,
            memory_byte_len: self.memory_byte_len()?,
            ..ReadRequest::default()
        })
    }

    /// The budget that somebody set; where nobody did, the engine has its own.
    fn memory_byte_len(&self) -> Fallible<Option<usize>> {
        let byte_len: u64 = self.config.parse("sm.mem.total_budget")?;
        // The readers that libtiledb has for sorted sparse cells know no such budget.
        let is_sorted = matches!(self.layout, Layout::RowMajor | Layout::ColMajor);
        let holds = self.config.differs("sm.mem.total_budget") && (self.is_dense() || !is_sorted);
        Ok(holds.then(|| index(byte_len)))
    }

    /// The fields that are read, each with its buffers and the room in them now.
    fn wanted_buffers(&self) -> Vec<(String, Buffers)> {
        self.fields.iter().filter(|(name, _)| self.aggregates.named(name).is_none()).cloned().collect()
    }

    /// Reads as much as fits.
    pub(super) fn read(&mut self) -> Fallible<Status> {
        if self.is_dense() && !self.subarray.is_set() {
            return fail("DenseReader", "Cannot initialize reader; Dense reads must have a subarray set");
        }
        if self.status == Status::Completed {
            return Ok(Status::Completed);
        }
        let wanted = self.wanted_buffers();
        let has_aggregates = !self.aggregates.is_empty();
        if wanted.is_empty() && !has_aggregates && !self.subarray.labels.is_empty() {
            self.resolve_labels()?;
            return Ok(Status::Completed);
        }
        if wanted.is_empty() && !has_aggregates {
            return fail("Reader", "Cannot initialize reader; Buffers not set");
        }
        let is_first = self.status != Status::Incomplete;
        if is_first && has_aggregates {
            self.aggregate()?;
        }
        for (name, buffers) in &wanted {
            self.check_buffers(name, buffers)?;
        }
        let form = OffsetForm::of(&self.config)?;
        let (labels, wanted): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(name, _)| self.is_label(name));
        if is_first {
            self.check_label_ranges()?;
            for (name, buffers) in labels {
                self.read_label(&name, buffers, form)?;
            }
        }
        if wanted.is_empty() {
            return Ok(Status::Completed);
        }
        let fields: Vec<String> = wanted.iter().map(|(name, _)| name.clone()).collect();
        if is_first {
            let request = self.request(fields)?;
            let batches = self.array.read_raw(&request).map_err(|error| self.told(error))?;
            *locked(&self.reading) = Some(Resume::new(batches, form));
        }
        let mut reading = locked(&self.reading);
        let Some(resume) = reading.as_mut() else { return fail(ORIGIN, "Cannot resume; the read is over") };
        let mut buffers = resume
            .fields()
            .iter()
            .map(|field| {
                let found = wanted.iter().find(|(name, _)| *name == field.name);
                found.map(|(_, buffers)| *buffers).ok_or_else(|| {
                    Failure::told(ORIGIN, format!("the buffer of field '{}' was taken away", field.name))
                })
            })
            .collect::<Fallible<Vec<_>>>()?;
        buffers.iter_mut().for_each(Buffers::measure);
        let is_complete = resume.fill(&mut buffers, form)?;
        if is_complete {
            *reading = None;
        }
        drop(reading);
        self.reason = i32::from(!is_complete);
        Ok(if is_complete { Status::Completed } else { Status::Incomplete })
    }

    /// A failure of a read at its start; one of its budget in words that say what to do, as libtiledb's do.
    fn told(&self, error: smalti::Error) -> Failure {
        match error.kind() {
            ErrorKind::OutOfMemory => {
                let reader = match (self.is_dense(), self.schema.schema.allows_dups) {
                    (true, _) => "DenseReader",
                    (false, true) if self.layout == Layout::Unordered => "SparseUnorderedWithDupsReader",
                    (false, _) => "SparseGlobalOrderReader",
                };
                Failure::told(reader, format!("Cannot read, increase memory budget: {}", error.message()))
            }
            _ => Failure::told("Reader", error),
        }
    }

    fn check_buffers(&self, name: &str, buffers: &Buffers) -> Fallible<()> {
        let Some(shape) = self.shape(name) else {
            return fail(ORIGIN, format!("There is no field '{name}'"));
        };
        if shape.is_var() && buffers.offsets.is_none() {
            return fail(
                "Reader",
                format!(
                    "Cannot initialize reader; Var-sized input attribute/dimension '{name}' is not set correctly. Offsets buffer is not set."
                ),
            );
        }
        if buffers.data.is_none() {
            return fail(
                "Reader",
                format!(
                    "Cannot initialize reader; Input attribute/dimension '{name}' is not set correctly. Data buffer is not set."
                ),
            );
        }
        if shape.is_nullable && buffers.validity.is_none() {
            return fail(
                "Reader",
                format!(
                    "Cannot initialize reader; Nullable input attribute/dimension '{name}' is not set correctly. Validity buffer is not set"
                ),
            );
        }
        Ok(())
    }
}
