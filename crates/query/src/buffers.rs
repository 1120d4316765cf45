//! Reads into buffers of the caller, as many whole cells a time as fit.

use crate::read::Batches;
use crate::request::{Batch, ResultField};
use smalti_tile::Column;
use smalti_types::{Error, Result};

/// The buffers of one field.
#[derive(Debug)]
pub struct FieldBuffers<'b> {
    /// Takes the values.
    pub data: &'b mut [u8],
    /// Takes where each cell starts in `data`, in bytes; for fields of any length.
    pub offsets: Option<&'b mut [u64]>,
    /// Takes a validity byte a cell; for nullable fields.
    pub validity: Option<&'b mut [u8]>,
}

/// What a call put into buffers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Filled {
    /// The number of cells, the same in all fields.
    pub cell_count: usize,
    /// The bytes of values of each field.
    pub data_byte_lens: Vec<usize>,
    /// Whether that were the last cells of the read.
    pub is_complete: bool,
}

/// A read that goes on where the buffers of the last call were full.
#[derive(Debug)]
pub struct BufferedRead {
    batches: Batches,
    /// The batch that is being handed out, and its next cell.
    current: Option<Batch>,
    next: usize,
    is_complete: bool,
}

impl BufferedRead {
    /// Hands out the cells of a read.
    pub fn new(batches: Batches) -> Self {
        BufferedRead { batches, current: None, next: 0, is_complete: false }
    }

    /// The fields, in the order of the buffers.
    pub fn fields(&self) -> &[ResultField] {
        self.batches.fields()
    }

    /// Fills buffers with the next cells: as many as fit in all of them, whole cells only.
    ///
    /// # Errors
    /// `InvalidArgument` when there are not as many buffers as fields, a field lacks a buffer that it needs, or the next cell alone
    /// does not fit: the message says how much it needs, and the call may be repeated with larger buffers. What the
    /// read reports.
    pub fn fill(&mut self, buffers: &mut [FieldBuffers<'_>]) -> Result<Filled> {
        self.check(buffers)?;
        let mut filled =
            Filled { cell_count: 0, data_byte_lens: vec![0; buffers.len()], is_complete: self.is_complete };
        while !self.is_complete {
            let batch = match &self.current {
                Some(batch) => batch,
                None => match self.batches.next().transpose()? {
                    Some(batch) => {
                        self.next = 0;
                        self.current.insert(batch)
                    }
                    None => {
                        self.is_complete = true;
                        filled.is_complete = true;
                        break;
                    }
                },
            };
            let left = batch.cell_count - self.next;
            let mut count = left;
            let fields = self.batches.fields().iter().zip(&batch.columns).zip(&*buffers);
            for (((field, column), buffer), used) in fields.zip(&filled.data_byte_lens) {
                let fits = fitting_cells(field, column, buffer, self.next, left, (*used, filled.cell_count));
                if fits == 0 && left > 0 && filled.cell_count == 0 {
                    return Err(too_small(field, column, self.next));
                }
                count = count.min(fits);
            }
            let cells = (self.next, count);
            for (((field, column), buffer), used) in self
                .batches
                .fields()
                .iter()
                .zip(&batch.columns)
                .zip(&mut *buffers)
                .zip(&mut filled.data_byte_lens)
            {
                *used += copy(field, column, buffer, cells, (*used, filled.cell_count));
            }
            filled.cell_count += count;
            self.next += count;
            if count < left {
                break;
            }
            self.current = None;
        }
        Ok(filled)
    }

    fn check(&self, buffers: &[FieldBuffers<'_>]) -> Result<()> {
        if buffers.len() != self.fields().len() {
            return Err(Error::invalid(format!(
                "{} buffers were given for {} fields",
                buffers.len(),
                self.fields().len()
            )));
        }
        for (field, buffer) in self.fields().iter().zip(buffers) {
            let needs =
                |what: &str| Err(Error::invalid(format!("field {:?} needs a buffer of {what}", field.name)));
            if field.shape.is_var() && buffer.offsets.is_none() {
                return needs("offsets");
            }
            if field.shape.is_nullable && buffer.validity.is_none() {
                return needs("validity bytes");
            }
        }
        Ok(())
    }
}

/// How many cells from `next` on fit behind what is in a buffer, `left` at most.
fn fitting_cells(
    field: &ResultField,
    column: &Column,
    buffer: &FieldBuffers<'_>,
    next: usize,
    left: usize,
    (used_byte_len, used_cells): (usize, usize),
) -> usize {
    let room = buffer.data.len() - used_byte_len;
    let mut fits = left;
    if let (true, Some(validity)) = (field.shape.is_nullable, &buffer.validity) {
        fits = fits.min(validity.len().saturating_sub(used_cells));
    }
    let (Some(offsets), Some(starts)) = (&column.offsets, &buffer.offsets) else {
        return fits.min(room / field.shape.cell_byte_len().max(1));
    };
    fits = fits.min(starts.len().saturating_sub(used_cells));
    let offsets: &[u64] = &offsets.values()[next..=next + fits];
    offsets.partition_point(|end| end - offsets[0] <= room as u64).saturating_sub(1)
}

/// Copies cells behind what is in a buffer; the bytes of values that were added.
fn copy(
    field: &ResultField,
    column: &Column,
    buffer: &mut FieldBuffers<'_>,
    (next, count): (usize, usize),
    (used_byte_len, used_cells): (usize, usize),
) -> usize {
    if let (Some(from), Some(to)) = (&column.validity, &mut buffer.validity) {
        to[used_cells..][..count].copy_from_slice(&from.as_slice()[next..][..count]);
    }
    let bytes = match (&column.offsets, &mut buffer.offsets) {
        (Some(offsets), Some(starts)) => {
            let offsets: &[u64] = &offsets.values()[next..=next + count];
            let first = offsets[0];
            for (start, offset) in starts[used_cells..][..count].iter_mut().zip(offsets) {
                *start = offset - first + used_byte_len as u64;
            }
            first as usize..offsets[count] as usize
        }
        _ => {
            let cell_byte_len = field.shape.cell_byte_len();
            next * cell_byte_len..(next + count) * cell_byte_len
        }
    };
    let byte_len = bytes.len();
    buffer.data[used_byte_len..][..byte_len].copy_from_slice(&column.data.as_slice()[bytes]);
    byte_len
}

fn too_small(field: &ResultField, column: &Column, next: usize) -> Error {
    let byte_len = match &column.offsets {
        Some(offsets) => {
            let offsets: &[u64] = offsets.values();
            offsets[next + 1] - offsets[next]
        }
        None => field.shape.cell_byte_len() as u64,
    };
    Error::invalid(format!(
        "the buffers of field {:?} do not hold its next cell: it takes {byte_len} bytes of values{}{}",
        field.name,
        if field.shape.is_var() { ", an offset" } else { "" },
        if field.shape.is_nullable { ", a validity byte" } else { "" },
    ))
}
