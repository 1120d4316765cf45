//! Reads into buffers of the caller, as many whole cells a time as fit.

use crate::count::Count;
use crate::gather::{Output, Room, part};
use crate::read::Batches;
use crate::request::{Batch, DEFAULT_BATCH_CELL_COUNT, ResultField};
use rayon::prelude::*;
use smalti_tile::Column;
use smalti_types::parallel::Shareable as _;
use smalti_types::{AlignedBuf, Error, Result};
use std::ops::Range;

/// The buffers of one field.
#[derive(Debug)]
pub struct FieldBuffers<'b> {
    /// Takes the values.
    pub data: &'b mut [u8],
    /// Takes where each cell starts in `data`, in bytes; for fields of any length. Where there is room, the end of the last cell stands behind.
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

/// A read that goes on where the buffers of the last call were full. Tiles of which all cells are wanted are decoded in the buffers where
/// they fit; other cells are copied there.
#[derive(Debug)]
pub struct BufferedRead {
    batches: Batches,
    /// The batch that is being handed out, and its next cell.
    current: Option<Batch>,
    next: usize,
    /// By field, about how many bytes of values a cell has; empty until it is asked.
    mean_byte_lens: Vec<usize>,
    handed_out: u64,
    is_complete: bool,
    /// Offsets that are left free behind those of the cells.
    ends: usize,
    /// The cells of the read, where they are known.
    cell_count: Option<u64>,
}

/// Steps are not smaller for the sake of smaller buffers: what each costs beside its cells would show.
const LEAST_STEP_CELL_COUNT: usize = 1 << 14;

/// The most bytes of a step: where it does not fit into the buffers it is held beside them.
const MAX_STEP_BYTE_LEN: usize = 256 << 20;

/// Buffers with that much in them are not filled up with the beginning of a step of which most would have to wait elsewhere.
const ENOUGH_BYTE_LEN: usize = 1 << 20;
const ENOUGH_OF: usize = 4;

impl BufferedRead {
    /// Hands out the cells of a read.
    pub fn new(mut batches: Batches) -> Self {
        batches.widen();
        let cell_count = match batches.cell_count() {
            Count::Exact(count) => Some(count),
            Count::AtMost(_) => None,
        };
        BufferedRead {
            batches,
            current: None,
            next: 0,
            mean_byte_lens: Vec::new(),
            handed_out: 0,
            is_complete: false,
            ends: 0,
            cell_count,
        }
    }

    /// From now on there is always room for the end of the last cell behind the offsets of a field: cells for which there is none do not fit.
    #[must_use]
    pub fn with_ends(mut self) -> Self {
        self.ends = 1;
        self
    }

    /// The fields, in the order of the buffers.
    pub fn fields(&self) -> &[ResultField] {
        self.batches.fields()
    }

    /// Fills buffers with the next cells: whole cells only, as many as fit in all of them, or nearly so; large reads that take several calls have
    /// about as many cells in each. `InvalidArgument` is not the end: the
    /// call may be repeated with larger buffers.
    ///
    /// # Errors
    /// `InvalidArgument` when there are not as many buffers as fields, a field lacks a buffer that it needs, or the next cell alone
    /// does not fit: the message says how much it needs. What the read reports.
    pub fn fill(&mut self, buffers: &mut [FieldBuffers<'_>]) -> Result<Filled> {
        let filled = self.fill_what_fits(buffers)?;
        match (&self.current, filled.cell_count, filled.is_complete) {
            (Some(batch), 0, false) => Err(self.too_small(batch, buffers)),
            _ => Ok(filled),
        }
    }

    /// As [`fill`](BufferedRead::fill), without an error where the next cell does not fit: there are no cells then.
    ///
    /// # Errors
    /// `InvalidArgument` when there are not as many buffers as fields, or a field lacks a buffer that it needs; what the read reports.
    pub fn fill_what_fits(&mut self, buffers: &mut [FieldBuffers<'_>]) -> Result<Filled> {
        self.check(buffers)?;
        let mut filled =
            Filled { cell_count: 0, data_byte_lens: vec![0; buffers.len()], is_complete: self.is_complete };
        let share = self.even_share(buffers, &filled);
        while !self.is_complete {
            let goes_on = match self.current.take() {
                Some(batch) => self.copy_cells(batch, buffers, &mut filled)?,
                None => {
                    let fits =
                        self.about_fitting(buffers, &filled).min(share.saturating_sub(filled.cell_count));
                    if self.are_full_enough(fits, &filled) {
                        break;
                    }
                    self.next_cells(fits, buffers, &mut filled)?
                }
            };
            if !goes_on {
                break;
            }
        }
        filled.is_complete = self.is_complete;
        Ok(filled)
    }

    /// About how many cells there is room for.
    fn about_fitting(&mut self, buffers: &[FieldBuffers<'_>], filled: &Filled) -> usize {
        if self.mean_byte_lens.is_empty() {
            self.mean_byte_lens = self.batches.mean_byte_lens();
        }
        let of_field = |((buffer, used), mean): ((&FieldBuffers<'_>, &usize), &usize)| {
            let places = |len: usize| len.saturating_sub(filled.cell_count);
            let values = (buffer.data.len() - used) / (*mean).max(1);
            // Behind the last offset is room for the end.
            let offsets =
                buffer.offsets.as_ref().map_or(usize::MAX, |offsets| places(offsets.len()).saturating_sub(1));
            let validity = buffer.validity.as_ref().map_or(usize::MAX, |validity| places(validity.len()));
            values.min(offsets).min(validity)
        };
        let fields = buffers.iter().zip(&filled.data_byte_lens).zip(&self.mean_byte_lens);
        fields.map(of_field).min().unwrap_or(usize::MAX)
    }

    /// How many cells a call takes at most, so that the calls that the rest of a large read needs take about as many each: where one field is
    /// what makes it more than one call, its neighbours do not look too small to programs that enlarge whatever is nearly full.
    fn even_share(&mut self, buffers: &[FieldBuffers<'_>], filled: &Filled) -> usize {
        let Some(count) = self.cell_count else { return usize::MAX };
        let left = count.saturating_sub(self.handed_out);
        let fits = self.about_fitting(buffers, filled);
        // Room for an end behind the offsets is not needed.
        let fits = fits.saturating_add(1) as u64;
        let share = left.div_ceil(left.div_ceil(fits).max(1));
        let byte_len = share.saturating_mul(self.cell_byte_len() as u64);
        if left <= fits || byte_len < ENOUGH_BYTE_LEN as u64 { usize::MAX } else { share as usize }
    }

    /// About how many bytes of values a cell has.
    fn cell_byte_len(&self) -> usize {
        self.mean_byte_lens.iter().fold(1, |sum: usize, mean| sum.saturating_add(*mean))
    }

    /// Whether it is better to come back than to begin a step for the room that is left.
    fn are_full_enough(&self, fits: usize, filled: &Filled) -> bool {
        fits < filled.cell_count / ENOUGH_OF
            && filled.data_byte_lens.iter().sum::<usize>() >= ENOUGH_BYTE_LEN
            && self.cell_count.is_some_and(|count| count > self.handed_out)
    }

    /// Reads a step, into the buffers where they hold it; whether there is more to fill in.
    fn next_cells(
        &mut self,
        fits: usize,
        buffers: &mut [FieldBuffers<'_>],
        filled: &mut Filled,
    ) -> Result<bool> {
        let is_worth = fits >= LEAST_STEP_CELL_COUNT && self.batches.goes_tile_after_tile();
        let least = if is_worth { fits } else { fits.max(DEFAULT_BATCH_CELL_COUNT) };
        let step = least.min(MAX_STEP_BYTE_LEN / self.cell_byte_len()).max(1);
        let start = filled.cell_count;
        let shapes = self.batches.fields().iter().map(|field| field.shape);
        let mut rooms: Vec<Room<'_>> = buffers
            .iter_mut()
            .zip(&filled.data_byte_lens)
            .zip(shapes)
            .map(|((buffer, used), shape)| Room {
                data: &mut buffer.data[*used..],
                offsets: rest(&mut buffer.offsets, if shape.is_var() { start } else { usize::MAX }),
                validity: rest(&mut buffer.validity, start),
                base: *used as u64,
                filled: None,
            })
            .collect();
        let Some(batch) = self.batches.next_into(step, &mut rooms).transpose()? else {
            self.is_complete = true;
            return Ok(false);
        };
        let made: Vec<Option<usize>> = rooms.iter().map(|room| room.filled).collect();
        drop(rooms);
        self.next = 0;
        if made.iter().all(Option::is_none) {
            return self.copy_cells(batch, buffers, filled);
        }
        self.take_made(batch, &made, buffers, filled)
    }

    /// Takes a step of which some columns were made in the buffers: copies the others, and as many cells as fit of these are taken of all.
    fn take_made(
        &mut self,
        batch: Batch,
        made: &[Option<usize>],
        buffers: &mut [FieldBuffers<'_>],
        filled: &mut Filled,
    ) -> Result<bool> {
        let fields = || self.batches.fields().iter().zip(&batch.columns).zip(made);
        let elsewhere =
            fields().zip(&*buffers).zip(&filled.data_byte_lens).filter(|(((_, made), _), _)| made.is_none());
        let fitting = elsewhere.map(|((((field, column), _), buffer), used)| {
            fitting_cells(field, column, buffer, 0, batch.cell_count, self.ends, (*used, filled.cell_count))
        });
        let count = fitting.min().unwrap_or(batch.cell_count);
        let start = filled.cell_count;
        let mut left = Vec::with_capacity(made.len());
        for (idx, (((field, column), made), buffer)) in fields().zip(buffers).enumerate() {
            let used = filled.data_byte_lens[idx];
            let byte_len = match made {
                None => copy(field, column, buffer, (0, count), (used, start)),
                Some(byte_len) if count == batch.cell_count => *byte_len,
                Some(_) => match &buffer.offsets {
                    Some(offsets) if field.shape.is_var() => offsets[start + count] as usize - used,
                    _ => count * field.shape.cell_byte_len(),
                },
            };
            if count < batch.cell_count {
                let check = || self.batches.progress().check();
                left.push(match made {
                    None => part(column, field.shape, count..batch.cell_count, Output::fresh(&check))?,
                    Some(end) => {
                        let cells = start + count..start + batch.cell_count;
                        taken_back(field, buffer, cells, used + byte_len..used + end)?
                    }
                });
            }
            filled.data_byte_lens[idx] += byte_len;
        }
        filled.cell_count += count;
        self.handed_out += count as u64;
        if count < batch.cell_count {
            self.current = Some(Batch { cell_count: batch.cell_count - count, columns: left });
        }
        Ok(count == batch.cell_count)
    }

    /// Copies cells of a batch that is there, as many as fit; whether these were all.
    fn copy_cells(
        &mut self,
        batch: Batch,
        buffers: &mut [FieldBuffers<'_>],
        filled: &mut Filled,
    ) -> Result<bool> {
        let left = batch.cell_count - self.next;
        let fields = self.batches.fields().iter().zip(&batch.columns);
        let fitting = fields.zip(&*buffers).zip(&filled.data_byte_lens);
        let count = fitting
            .map(|(((field, column), buffer), used)| {
                fitting_cells(field, column, buffer, self.next, left, self.ends, (*used, filled.cell_count))
            })
            .min()
            .unwrap_or(left);
        let cells = (self.next, count);
        let start = filled.cell_count;
        let places = self.batches.fields().to_vec();
        let copied: Vec<usize> = self.batches.run(|_| {
            let fields: Vec<_> =
                places.iter().zip(&batch.columns).zip(buffers).zip(&filled.data_byte_lens).collect();
            let copied = fields
                .into_par_iter()
                .shared()
                .map(|(((field, column), buffer), used)| copy(field, column, buffer, cells, (*used, start)));
            copied.collect()
        });
        filled.data_byte_lens.iter_mut().zip(copied).for_each(|(used, copied)| *used += copied);
        filled.cell_count += count;
        self.handed_out += count as u64;
        self.next += count;
        if count < left {
            self.current = Some(batch);
        }
        Ok(count == left)
    }

    /// What to say when the next cell of a batch does not fit.
    fn too_small(&self, batch: &Batch, buffers: &[FieldBuffers<'_>]) -> Error {
        let fields = self.batches.fields().iter().zip(&batch.columns).zip(buffers);
        let mut small = fields.filter(|((field, column), buffer)| {
            fitting_cells(field, column, buffer, self.next, batch.cell_count - self.next, self.ends, (0, 0))
                == 0
        });
        match small.next() {
            Some(((field, column), _)) => too_small(field, column, self.next),
            None => Error::invalid("the buffers do not hold the next cell"),
        }
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

/// The part of a buffer from a place on.
fn rest<'r, T>(buffer: &'r mut Option<&mut [T]>, start: usize) -> &'r mut [T] {
    buffer.as_mut().and_then(|buffer| buffer.get_mut(start..)).unwrap_or_default()
}

/// Cells out of a buffer, which are not handed out yet.
fn taken_back(
    field: &ResultField,
    buffer: &FieldBuffers<'_>,
    cells: Range<usize>,
    bytes: Range<usize>,
) -> Result<Column> {
    let mut column = Column::default();
    column.data.extend_from_slice(&buffer.data[bytes.clone()])?;
    if let (true, Some(offsets)) = (field.shape.is_var(), &buffer.offsets) {
        let mut taken = AlignedBuf::zeroed((cells.len() + 1) * 8)?;
        let from = &offsets[cells.start..=cells.end];
        for (to, offset) in taken.values_mut::<u64>().iter_mut().zip(from) {
            *to = offset - bytes.start as u64;
        }
        column.offsets = Some(taken);
    }
    if let (true, Some(validity)) = (field.shape.is_nullable, &buffer.validity) {
        let mut taken = AlignedBuf::default();
        taken.extend_from_slice(&validity[cells])?;
        column.validity = Some(taken);
    }
    Ok(column)
}

/// How many cells from `next` on fit behind what is in a buffer, `left` at most, with so many offsets left free.
fn fitting_cells(
    field: &ResultField,
    column: &Column,
    buffer: &FieldBuffers<'_>,
    next: usize,
    left: usize,
    ends: usize,
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
    fits = fits.min(starts.len().saturating_sub(used_cells + ends));
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
            in_pieces(&mut starts[used_cells..][..count], offsets, |starts, offsets| {
                for (start, offset) in starts.iter_mut().zip(offsets) {
                    *start = offset - first + used_byte_len as u64;
                }
            });
            first as usize..offsets[count] as usize
        }
        _ => {
            let cell_byte_len = field.shape.cell_byte_len();
            next * cell_byte_len..(next + count) * cell_byte_len
        }
    };
    let byte_len = bytes.len();
    let to = &mut buffer.data[used_byte_len..][..byte_len];
    in_pieces(to, &column.data.as_slice()[bytes], |to, from| to.copy_from_slice(from));
    byte_len
}

/// Copies pieces of a long list side by side.
fn in_pieces<T: Copy + Send + Sync>(to: &mut [T], from: &[T], copy: impl Fn(&mut [T], &[T]) + Sync) {
    let from = &from[..to.len()];
    match to.len() <= PIECE_LEN {
        true => copy(to, from),
        false => {
            let pieces = to.par_chunks_mut(PIECE_LEN).zip(from.par_chunks(PIECE_LEN));
            pieces.shared().for_each(|(to, from)| copy(to, from));
        }
    }
}

/// Elements that one thread copies in one go.
const PIECE_LEN: usize = 1 << 18;

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
