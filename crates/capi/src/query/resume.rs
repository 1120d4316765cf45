//! Cells into buffers of the caller, as many as fit, and the rest at the next submit.

use super::buffers::{Buffers, OffsetForm};
use crate::failure::{Failure, Fallible};
use crate::values::{count, index};
use smalti::{Batch, Batches, Column, ResultField};

/// A read under way: batches of the engine, and how far the current one is copied.
#[derive(Debug)]
pub(super) struct Resume {
    batches: Batches,
    fields: Vec<ResultField>,
    current: Option<Batch>,
    at: usize,
}

/// How much of a buffer is used.
#[derive(Debug, Default, Clone, Copy)]
struct Used {
    data: usize,
    cells: usize,
}

impl Resume {
    /// A read that starts.
    pub(super) fn new(batches: Batches) -> Resume {
        Resume { fields: batches.fields().to_vec(), batches, current: None, at: 0 }
    }

    /// The fields, in the order of the read's.
    pub(super) fn fields(&self) -> &[ResultField] {
        &self.fields
    }

    /// Copies what fits, tells each buffer its length, and says whether that was all. `rooms` are the lengths of the buffers,
    /// one for each field.
    pub(super) fn fill(&mut self, buffers: &mut [Buffers], form: OffsetForm) -> Fallible<bool> {
        let mut used = vec![Used::default(); buffers.len()];
        let is_complete = loop {
            let Some(batch) = &self.current else {
                match self.batches.next() {
                    Some(batch) => {
                        self.current = Some(batch.map_err(Failure::of("Reader"))?);
                        self.at = 0;
                        continue;
                    }
                    None => break true,
                }
            };
            let left = batch.cell_count.saturating_sub(self.at);
            let fits = self.fields.iter().zip(&batch.columns).zip(buffers.iter().zip(&used)).map(
                |((field, column), (buffer, used))| {
                    fitting(field, column, self.at, left, buffer, *used, form)
                },
            );
            let cells = fits.min().unwrap_or(left);
            let parts = self.fields.iter().zip(&batch.columns).zip(buffers.iter_mut().zip(&mut used));
            for ((field, column), (buffer, used)) in parts {
                copy(field, column, self.at, cells, buffer, used, form);
            }
            self.at = self.at.saturating_add(cells);
            if self.at < batch.cell_count {
                break false;
            }
            self.current = None;
        };
        for ((field, buffer), used) in self.fields.iter().zip(buffers.iter_mut()).zip(&used) {
            finish(field, buffer, *used, form);
        }
        Ok(is_complete)
    }
}

/// Where a cell of a column of cells of any length starts.
fn offset(column: &Column, idx: usize) -> usize {
    let offsets = column.offsets.as_ref().map(smalti::AlignedBuf::values::<u64>);
    offsets.and_then(|offsets| offsets.get(idx)).map_or(0, |offset| index(*offset))
}

fn fitting(
    field: &ResultField,
    column: &Column,
    at: usize,
    left: usize,
    buffer: &Buffers,
    used: Used,
    form: OffsetForm,
) -> usize {
    let data_room = index(buffer.data_room).saturating_sub(used.data);
    let mut cells = left;
    if field.shape.is_nullable {
        cells = cells.min(index(buffer.validity_room).saturating_sub(used.cells));
    }
    if !field.shape.is_var() {
        return cells.min(data_room / field.shape.cell_byte_len().max(1));
    }
    let extra = usize::from(form.extra);
    let slots = index(buffer.offsets_room) / form.width();
    cells = cells.min(slots.saturating_sub(used.cells).saturating_sub(extra));
    let start = offset(column, at);
    let fits = |cells: usize| offset(column, at + cells) - start <= data_room;
    if fits(cells) {
        return cells;
    }
    // The most cells whose values fit: their ends rise.
    let (mut low, mut high) = (0, cells);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

fn copy(
    field: &ResultField,
    column: &Column,
    at: usize,
    cells: usize,
    buffer: &mut Buffers,
    used: &mut Used,
    form: OffsetForm,
) {
    if cells == 0 {
        return;
    }
    if field.shape.is_nullable
        && let (Some(validity), Some(target)) = (&column.validity, &mut buffer.validity)
    {
        let from = validity.as_slice().get(at..at + cells).unwrap_or_default();
        put(target.bytes_mut(buffer.validity_room), used.cells, from);
    }
    let (start, end) = match field.shape.is_var() {
        true => (offset(column, at), offset(column, at + cells)),
        false => (at * field.shape.cell_byte_len(), (at + cells) * field.shape.cell_byte_len()),
    };
    let from = column.data.as_slice().get(start..end).unwrap_or_default();
    if let Some(target) = &mut buffer.data {
        put(target.bytes_mut(buffer.data_room), used.data, from);
    }
    if field.shape.is_var()
        && let Some(target) = &mut buffer.offsets
    {
        let bytes = target.bytes_mut(buffer.offsets_room);
        for cell in 0..cells {
            let value = count(used.data + offset(column, at + cell) - start);
            form.put(bytes, used.cells + cell, value, count(field.shape.datatype.byte_len()));
        }
    }
    used.data += end - start;
    used.cells += cells;
}

fn finish(field: &ResultField, buffer: &mut Buffers, used: Used, form: OffsetForm) {
    if let Some(data) = &buffer.data {
        data.set_byte_len(count(used.data));
    }
    if let Some(validity) = &buffer.validity {
        validity.set_byte_len(count(used.cells));
    }
    if field.shape.is_var()
        && let Some(target) = &mut buffer.offsets
    {
        let has_extra = form.extra && index(buffer.offsets_room) >= (used.cells + 1) * form.width();
        if has_extra {
            let bytes = target.bytes_mut(buffer.offsets_room);
            form.put(bytes, used.cells, count(used.data), count(field.shape.datatype.byte_len()));
        }
        target.set_byte_len(count((used.cells + usize::from(has_extra)) * form.width()));
    }
}

/// Copies bytes to a place in a buffer that has room for them.
fn put(target: &mut [u8], at: usize, from: &[u8]) {
    if let Some(place) = target.get_mut(at..at + from.len()) {
        place.copy_from_slice(from);
    }
}
