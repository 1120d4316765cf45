//! Sparse fragments made one, in global order.

use super::request::{MergeRequest, Merged};
use crate::gather::{CellRun, Output, gather};
use crate::progress::{Phase, Unit};
use crate::read::{Batches, read_cells, read_history};
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT, ReadRequest};
use crate::sparse::DeleteHistory;
use crate::write::{Pieces, SparseWriter, fields_of_fragment};
use smalti_array::{CellHistory, FieldId, NewFragment, Snapshot, field_name, field_shape};
use smalti_format::{ArraySchema, Rule};
use smalti_space::UNSTOPPED;
use smalti_tile::{CellShape, Column};
use smalti_types::{Layout, Result, TimeRange};
use std::sync::Arc;

/// The time of a delete of cells that were not deleted.
const NOT_DELETED: u64 = u64::MAX;

pub(super) fn merge(snapshot: &Snapshot, range: TimeRange, request: &MergeRequest) -> Result<Merged> {
    let mut merged = Merged { fragments: Vec::new(), cell_count: 0 };
    match Merge::new(snapshot, range, request)?.run(&mut merged) {
        Ok(()) => Ok(merged),
        Err(error) => {
            merged.discard();
            Err(error)
        }
    }
}

struct Merge<'a> {
    snapshot: &'a Snapshot,
    range: TimeRange,
    request: &'a MergeRequest,
    /// What the new fragments say of their cells.
    history: CellHistory,
    deletes: DeleteHistory,
    /// Attributes, dimensions, and what cells say of themselves, in the order of the columns.
    fields: Vec<FieldId>,
}

impl<'a> Merge<'a> {
    fn new(snapshot: &'a Snapshot, range: TimeRange, request: &'a MergeRequest) -> Result<Self> {
        let schema = snapshot.schema();
        let keeps_times = schema.write_version().has(Rule::CellTimestamps);
        let deletes = if keeps_times { DeleteHistory::new(snapshot)? } else { DeleteHistory::default() };
        let has_deletes = snapshot.deletes()?.iter().any(|delete| delete.at() >= range.start)
            || snapshot.fragments().iter().any(|fragment| fragment.outline().includes_delete_metadata);
        let keeps_deletes = keeps_times && has_deletes && !request.purges;
        let mut fields: Vec<FieldId> = (0..schema.attributes.len()).map(FieldId::Attribute).collect();
        fields.extend((0..schema.dimensions.len()).map(FieldId::Dimension));
        if keeps_times {
            fields.push(FieldId::Timestamps);
        }
        if keeps_times && has_deletes {
            fields.extend([FieldId::DeleteTimestamps, FieldId::DeleteConditionIndex]);
        }
        let history = CellHistory { keeps_times, keeps_deletes, processed_conditions: deletes.paths.clone() };
        Ok(Merge { snapshot, range, request, history, deletes, fields })
    }

    fn read(&self) -> Result<Batches> {
        let schema = self.snapshot.schema();
        let mut read = ReadRequest {
            layout: Some(Layout::GlobalOrder),
            memory_byte_len: self.request.memory_byte_len,
            is_fresh: true,
            progress: self.request.progress.clone(),
            batch_cell_count: Some(self.piece_cell_count()),
            part: self.request.part.as_ref().and_then(|part| part.order.clone()),
            ..ReadRequest::default()
        };
        if self.history.keeps_times {
            return read_history(self.snapshot, &self.fields, &self.deletes, &read);
        }
        read.fields = self.fields.iter().map(|field| field_name(schema, *field).to_owned()).collect();
        read_cells(self.snapshot, &read)
    }

    /// Cells that are read at a time: whole tiles, so that few cells are copied to wait for the rest of theirs. Where fragments have a limit, no
    /// more than fill an eighth of it.
    fn piece_cell_count(&self) -> usize {
        let capacity = usize::try_from(self.snapshot.schema().capacity).unwrap_or(usize::MAX).max(1);
        let most =
            self.request.max_fragment_byte_len.map_or(u64::MAX, |most| most / 8 / self.cell_byte_len());
        let cells = most.clamp(1, DEFAULT_BATCH_CELL_COUNT as u64) as usize;
        match (cells / capacity, self.request.max_fragment_byte_len) {
            // Larger tiles than are read at once take several pieces.
            (0, None) => cells,
            (tiles, _) => tiles.max(1) * capacity,
        }
    }

    /// About the bytes on disk of a cell.
    fn cell_byte_len(&self) -> u64 {
        let fragments = self.snapshot.fragments();
        let byte_len: u64 = fragments.iter().map(|fragment| fragment.data_byte_len()).sum();
        let cells =
            fragments.iter().filter_map(|fragment| fragment.cell_count()).fold(0, u64::saturating_add);
        (byte_len / cells.max(1)).max(1)
    }

    /// Writes the fragments. `merged` takes those that are on the disk, so that the caller can remove them after an error.
    fn run(&self, merged: &mut Merged) -> Result<()> {
        let schema = self.snapshot.schema();
        let kept = match self.history.keeps_deletes {
            true => self.fields.len(),
            false => self
                .fields
                .iter()
                .position(|field| *field == FieldId::DeleteTimestamps)
                .unwrap_or(self.fields.len()),
        };
        let fields = &self.fields[..kept];
        let mut purge = (self.request.purges && kept < self.fields.len())
            .then(|| Purge { allows_dups: schema.allows_dups, last: None });
        let mut writer: Option<(SparseWriter, Pieces)> = None;
        let next_byte_len = self.piece_cell_count() as u64 * self.cell_byte_len();
        let progress = self.request.progress.clone().unwrap_or_default();
        let total = self.snapshot.held_cell_count().filter(|_| self.request.part.is_none());
        progress.enter(Phase::Merging, Unit::Cells, total);
        for batch in self.read()? {
            let mut batch = batch?;
            let read_cell_count = batch.cell_count as u64;
            if let Some(purge) = &mut purge {
                purge.apply(&mut batch, &self.fields, schema)?;
            }
            if batch.cell_count == 0 {
                progress.advance(Phase::Merging, Unit::Cells, read_cell_count);
                continue;
            }
            merged.cell_count += batch.cell_count as u64;
            let (open, pieces) = match &mut writer {
                Some(writer) => writer,
                none => {
                    let new = self.request.new_fragment(self.snapshot, self.range, self.history.clone())?;
                    let written = fields_of_fragment(self.snapshot, &new.content(), fields)?;
                    let pieces = Pieces::new(written.iter().map(|field| field.shape))?;
                    none.insert((SparseWriter::new(new, written, schema, Arc::clone(&progress)), pieces))
                }
            };
            batch.columns.truncate(kept);
            pieces.take_in(batch)?;
            pieces.write_full(open)?;
            progress.advance(Phase::Merging, Unit::Cells, read_cell_count);
            let is_full = self.request.max_fragment_byte_len.is_some_and(|most| {
                open.fragment_writer().byte_len() + next_byte_len > most && !open.is_empty()
            });
            if is_full && let Some((open, pieces)) = writer.take() {
                merged.fragments.push(finish(open, pieces)?);
            }
        }
        if let Some((open, pieces)) = writer {
            merged.fragments.push(finish(open, pieces)?);
        }
        Ok(())
    }
}

fn finish(mut writer: SparseWriter, mut pieces: Pieces) -> Result<NewFragment> {
    pieces.write_rest(&mut writer)?;
    writer.seal()
}

/// Takes out cells that were deleted, and in arrays without duplicates the versions that are older than these.
struct Purge {
    allows_dups: bool,
    /// The coordinates of the cell before, and whether it is gone.
    last: Option<(Vec<Vec<u8>>, bool)>,
}

impl Purge {
    fn apply(&mut self, batch: &mut Batch, fields: &[FieldId], schema: &ArraySchema) -> Result<()> {
        let dims: Vec<(&Column, CellShape)> = fields
            .iter()
            .zip(&batch.columns)
            .filter(|(field, _)| matches!(field, FieldId::Dimension(_)))
            .map(|(field, column)| Ok((column, field_shape(schema, *field)?)))
            .collect::<Result<_>>()?;
        let deleted = fields.iter().position(|field| *field == FieldId::DeleteTimestamps);
        let Some(times) = deleted.and_then(|at| batch.columns.get(at)) else { return Ok(()) };
        let mut runs: Vec<CellRun> = Vec::new();
        let mut kept_count = 0;
        for (cell, &time) in times.data.values::<u64>().iter().enumerate() {
            let mut is_gone = time != NOT_DELETED;
            if !self.allows_dups {
                let coords = dims.iter().map(|(column, shape)| cell_bytes(column, *shape, cell));
                match &mut self.last {
                    Some((last, last_is_gone)) if last.iter().map(Vec::as_slice).eq(coords.clone()) => {
                        is_gone |= *last_is_gone;
                        *last_is_gone = is_gone;
                    }
                    last => *last = Some((coords.map(<[u8]>::to_vec).collect(), is_gone)),
                }
            }
            if is_gone {
                continue;
            }
            kept_count += 1;
            match runs.last_mut() {
                Some(run) if (run.start + run.len) as usize == cell => run.len += 1,
                _ => runs.push(CellRun { slot: 0, start: cell as u32, len: 1 }),
            }
        }
        if kept_count < batch.cell_count {
            let kept = fields.iter().zip(&batch.columns).map(|(field, column)| {
                gather(&runs, &[column.as_ref()], field_shape(schema, *field)?, Output::fresh(UNSTOPPED))
            });
            batch.columns = kept.collect::<Result<_>>()?;
            batch.cell_count = kept_count;
        }
        Ok(())
    }
}

fn cell_bytes(column: &Column, shape: CellShape, cell: usize) -> &[u8] {
    let range = match &column.offsets {
        Some(offsets) => {
            let offsets = offsets.values::<u64>();
            offsets[cell] as usize..offsets[cell + 1] as usize
        }
        None => cell * shape.cell_byte_len()..(cell + 1) * shape.cell_byte_len(),
    };
    &column.data.as_slice()[range]
}
