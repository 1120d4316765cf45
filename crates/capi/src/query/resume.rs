//! Cells into buffers of the caller, as many as fit, and the rest at the next submit.

use super::buffers::{Buffers, OffsetForm};
use crate::failure::{Failure, Fallible};
use crate::values::{count, index};
use smalti::{Batches, BufferedRead, FieldBuffers, Filled, ResultField};

/// A read under way.
#[derive(Debug)]
pub(super) struct Resume {
    read: BufferedRead,
    fields: Vec<ResultField>,
}

impl Resume {
    /// A read that starts.
    pub(super) fn new(batches: Batches, form: OffsetForm) -> Resume {
        let fields = batches.fields().to_vec();
        let read = BufferedRead::new(batches);
        Resume { fields, read: if form.extra { read.with_ends() } else { read } }
    }

    /// The fields, in the order of the read's.
    pub(super) fn fields(&self) -> &[ResultField] {
        &self.fields
    }

    /// Fills the buffers, tells each its length, and says whether that was all.
    pub(super) fn fill(&mut self, buffers: &mut [Buffers], form: OffsetForm) -> Fallible<bool> {
        // Offsets of the engine are of 64 bits; elsewhere they are put into the caller's form when they are there.
        let mut apart: Vec<Option<Vec<u64>>> = self
            .fields
            .iter()
            .zip(buffers.iter_mut())
            .map(|(field, buffer)| {
                let slots = form.slots(buffer);
                let is_apart = field.shape.is_var() && form.wide(&mut buffer.offsets, slots).is_none();
                is_apart.then(|| vec![0; slots])
            })
            .collect();
        let mut places: Vec<FieldBuffers<'_>> = self
            .fields
            .iter()
            .zip(buffers.iter_mut().zip(&mut apart))
            .map(|(field, (buffer, apart))| {
                let slots = form.slots(buffer);
                let Buffers { data, offsets, validity, data_room, validity_room, .. } = buffer;
                let offsets = match apart {
                    Some(apart) => Some(apart.as_mut_slice()),
                    None => form.wide(offsets, slots),
                };
                FieldBuffers {
                    data: data.as_mut().map(|data| data.bytes_mut(*data_room)).unwrap_or_default(),
                    offsets: offsets.filter(|_| field.shape.is_var()),
                    validity: validity.as_mut().map(|validity| validity.bytes_mut(*validity_room)),
                }
            })
            .collect();
        let filled = self.read.fill_what_fits(&mut places).map_err(Failure::of("Reader"))?;
        drop(places);
        for (idx, (field, buffer)) in self.fields.iter().zip(buffers).enumerate() {
            let starts = apart.get(idx).and_then(Option::as_deref);
            finish(field, buffer, starts, idx, &filled, form);
        }
        Ok(filled.is_complete)
    }
}

/// Puts offsets into the form of the caller, and tells how much of the buffers is used.
fn finish(
    field: &ResultField,
    buffer: &mut Buffers,
    starts: Option<&[u64]>,
    idx: usize,
    filled: &Filled,
    form: OffsetForm,
) {
    let (cells, used) = (filled.cell_count, filled.data_byte_lens.get(idx).copied().map_or(0, count));
    if let Some(data) = &buffer.data {
        data.set_byte_len(used);
    }
    if let Some(validity) = &buffer.validity {
        validity.set_byte_len(count(cells));
    }
    if field.shape.is_var()
        && let Some(target) = &mut buffer.offsets
    {
        let has_extra = form.extra && index(buffer.offsets_room) >= (cells + 1) * form.width();
        let bytes = target.bytes_mut(buffer.offsets_room);
        let value_len = count(field.shape.datatype.byte_len());
        match starts {
            Some(starts) => {
                for (cell, start) in starts.iter().take(cells).enumerate() {
                    form.put(bytes, cell, *start, value_len);
                }
            }
            None if form.counts_values && value_len > 1 => {
                let (starts, _) = bytes.as_chunks_mut::<8>();
                for start in starts.iter_mut().take(cells) {
                    *start = (u64::from_ne_bytes(*start) / value_len).to_ne_bytes();
                }
            }
            None => {}
        }
        if has_extra {
            form.put(bytes, cells, used, value_len);
        }
        target.set_byte_len(count((cells + usize::from(has_extra)) * form.width()));
    }
}
