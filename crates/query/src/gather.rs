//! The last stage of every read: copies runs of cells out of decoded tiles into output columns.
//!
//! All read paths end here with a list of [`CellRun`]s in output order; fixed values, var-sized values and validity
//! are each copied by one loop. Long lists are cut into pieces that threads copy side by side.

use rayon::prelude::*;
use smalti_space::{CELLS_BETWEEN_CHECKS, Check, Pace};
use smalti_tile::{CellShape, Column, ColumnRef};
use smalti_types::parallel::Shareable as _;
use smalti_types::{AlignedBuf, Error, Result, Spares};
use std::ops::Range;
use std::sync::Arc;

/// Where columns are made, and whether the work goes on.
#[derive(Clone, Copy)]
pub(crate) struct Output<'a> {
    spares: Option<&'a Arc<Spares>>,
    /// Whether the work goes on.
    pub(crate) check: Check<'a>,
}

impl<'a> Output<'a> {
    /// In buffers that earlier results gave back.
    pub(crate) fn in_spares(spares: &'a Arc<Spares>, check: Check<'a>) -> Self {
        Output { spares: Some(spares), check }
    }

    /// In memory of the allocator, for columns that stay.
    pub(crate) fn fresh(check: Check<'a>) -> Self {
        Output { spares: None, check }
    }

    /// A buffer of which every byte will be written: the content is arbitrary.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses; what the check returns.
    pub(crate) fn buffer(&self, byte_len: usize) -> Result<AlignedBuf> {
        match self.spares {
            Some(spares) => AlignedBuf::from_spares(spares, byte_len, self.check),
            None => {
                (self.check)()?;
                AlignedBuf::zeroed(byte_len)
            }
        }
    }
}

/// Where a caller has room for the next cells of a field, so that a column is made there and not in a buffer of its own.
pub(crate) struct Room<'b> {
    pub(crate) data: &'b mut [u8],
    /// For fields of any length, with a place for the end of the last cell.
    pub(crate) offsets: &'b mut [u64],
    /// For nullable fields.
    pub(crate) validity: &'b mut [u8],
    /// What offsets count from: the bytes of values in front of `data`.
    pub(crate) base: u64,
    /// The bytes of values of the column that was made here.
    pub(crate) filled: Option<usize>,
}

/// The memory of a column in the making.
pub(crate) struct Places<'p> {
    pub(crate) data: &'p mut [u8],
    /// One more than cells where they are of any length, the first of them set; otherwise none.
    offsets: &'p mut [u64],
    /// As many as cells where they may be null; otherwise none.
    pub(crate) validity: &'p mut [u8],
    base: u64,
}

impl Room<'_> {
    fn holds(&self, shape: CellShape, cell_count: usize, byte_len: usize) -> bool {
        byte_len <= self.data.len()
            && (!shape.is_var() || cell_count < self.offsets.len())
            && (!shape.is_nullable || cell_count <= self.validity.len())
    }
}

/// The memory for a column of so many cells, whose values take so many bytes: the room of a caller if it is there and they fit, and otherwise
/// buffers that the column gets. Every byte is to be written.
///
/// # Errors
/// `OutOfMemory` when the allocator refuses; what the check returns.
pub(crate) fn places<'p>(
    room: Option<&'p mut Room<'_>>,
    column: &'p mut Column,
    shape: CellShape,
    (cell_count, byte_len): (usize, usize),
    to: Output<'_>,
) -> Result<Places<'p>> {
    let offset_count = if shape.is_var() { cell_count + 1 } else { 0 };
    let flag_count = if shape.is_nullable { cell_count } else { 0 };
    let places = match room.filter(|room| room.holds(shape, cell_count, byte_len)) {
        Some(room) => {
            room.filled = Some(byte_len);
            Places {
                data: &mut room.data[..byte_len],
                offsets: &mut room.offsets[..offset_count],
                validity: &mut room.validity[..flag_count],
                base: room.base,
            }
        }
        None => {
            column.data = to.buffer(byte_len)?;
            column.offsets = shape.is_var().then(|| to.buffer(offset_count * 8)).transpose()?;
            column.validity = shape.is_nullable.then(|| to.buffer(flag_count)).transpose()?;
            Places {
                data: column.data.as_mut_slice(),
                offsets: column.offsets.as_mut().map(AlignedBuf::values_mut).unwrap_or_default(),
                validity: column.validity.as_mut().map(AlignedBuf::as_mut_slice).unwrap_or_default(),
                base: 0,
            }
        }
    };
    if let [first, ..] = &mut *places.offsets {
        *first = places.base;
    }
    Ok(places)
}

/// A run of neighbouring cells of one decoded tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellRun {
    /// Which of the decoded tiles.
    pub(crate) slot: u32,
    /// The first cell in it.
    pub(crate) start: u32,
    /// The number of cells.
    pub(crate) len: u32,
}

/// Cells that one task copies: enough to outweigh the cost of handing it out.
const CELLS_PER_TASK: usize = 1 << 15;

/// Bytes that are copied in one go.
const BYTES_BETWEEN_CHECKS: usize = 1 << 20;

/// A piece of the list of runs, with the number of cells before and in it.
struct Piece<'r> {
    runs: &'r [CellRun],
    cell_count: usize,
}

/// Tiles of which every cell is wanted, in their order and once: they are decoded where they go.
pub(crate) trait WholeTiles: Sync {
    /// The bytes of the values of a tile that goes whole; `None` for one whose cells are copied.
    fn var_byte_len(&self, slot: u32) -> Option<usize>;

    /// Decodes its values, the offset in them at which each cell ends, and the validity where cells may be null.
    ///
    /// # Errors
    /// What store and codecs report.
    fn decode(&self, slot: u32, data: &mut [u8], ends: &mut [u64], validity: &mut [u8]) -> Result<()>;
}

/// None of them.
struct NoWhole;

impl WholeTiles for NoWhole {
    fn var_byte_len(&self, _: u32) -> Option<usize> {
        None
    }

    fn decode(&self, _: u32, _: &mut [u8], _: &mut [u64], _: &mut [u8]) -> Result<()> {
        Ok(())
    }
}

/// Copies the cells of `runs` out of `tiles` into a new column.
///
/// # Errors
/// `OutOfMemory` when the output cannot be allocated; what `check` returns.
///
/// # Panics
/// When a run leaves its tile; the stages before select only cells that are there.
pub(crate) fn gather(
    runs: &[CellRun],
    tiles: &[ColumnRef<'_>],
    shape: CellShape,
    to: Output<'_>,
) -> Result<Column> {
    gather_lists(&[runs], tiles, shape, to)
}

/// As [`gather`], the runs in several lists that follow each other.
///
/// # Errors
/// As [`gather`].
///
/// # Panics
/// As [`gather`].
pub(crate) fn gather_lists(
    lists: &[impl AsRef<[CellRun]>],
    tiles: &[ColumnRef<'_>],
    shape: CellShape,
    to: Output<'_>,
) -> Result<Column> {
    gather_into(lists, tiles, shape, (to, None))
}

/// As [`gather_lists`], in the room of a caller, if that is there and holds the column.
///
/// # Errors
/// As [`gather`].
///
/// # Panics
/// As [`gather`].
pub(crate) fn gather_into(
    lists: &[impl AsRef<[CellRun]>],
    tiles: &[ColumnRef<'_>],
    shape: CellShape,
    (to, room): (Output<'_>, Option<&mut Room<'_>>),
) -> Result<Column> {
    let check = to.check;
    let pieces = cut(lists, check)?;
    let total = pieces.iter().map(|piece| piece.cell_count).sum::<usize>();
    if shape.is_var() {
        return gather_var(&pieces, total, tiles, &NoWhole, shape, (to, room));
    }
    let mut column = Column::default();
    let byte_len = shape.cell_byte_len();
    let made = places(room, &mut column, shape, (total, total * byte_len), to)?;
    gather_fixed(&pieces, made.data, byte_len, |slot| tiles[slot].data, check)?;
    if shape.is_nullable {
        let source = |slot: usize| tiles[slot].validity.unwrap_or_default();
        gather_fixed(&pieces, made.validity, 1, source, check)?;
    }
    Ok(column)
}

/// As [`gather_lists`] for cells of any length, of tiles some of which go whole: the slots of these are not looked at in `tiles`. The column is made in
/// the room of a caller, if that is there and holds it.
///
/// # Errors
/// As [`gather`]; what the tiles that go whole return.
///
/// # Panics
/// As [`gather`].
pub(crate) fn gather_whole(
    lists: &[impl AsRef<[CellRun]>],
    tiles: &[ColumnRef<'_>],
    whole: &impl WholeTiles,
    shape: CellShape,
    (to, room): (Output<'_>, Option<&mut Room<'_>>),
) -> Result<Column> {
    let pieces = cut(lists, to.check)?;
    let total = pieces.iter().map(|piece| piece.cell_count).sum::<usize>();
    gather_var(&pieces, total, tiles, whole, shape, (to, room))
}

/// Some neighbouring cells of a column.
///
/// # Errors
/// `OutOfMemory`; what `check` returns.
///
/// # Panics
/// When the column does not have the cells.
pub(crate) fn part(column: &Column, shape: CellShape, cells: Range<usize>, to: Output<'_>) -> Result<Column> {
    let copied = |from: &[u8]| {
        let mut copy = to.buffer(from.len())?;
        let steps = copy.as_mut_slice().chunks_mut(BYTES_BETWEEN_CHECKS);
        for (copy, from) in steps.zip(from.chunks(BYTES_BETWEEN_CHECKS)) {
            (to.check)()?;
            copy.copy_from_slice(from);
        }
        Ok::<_, Error>(copy)
    };
    let mut part = Column::default();
    let bytes = match &column.offsets {
        Some(offsets) => {
            let offsets: &[u64] = &offsets.values()[cells.start..=cells.end];
            let first = offsets[0];
            let mut shifted = to.buffer(offsets.len() * 8)?;
            shifted.values_mut::<u64>().iter_mut().zip(offsets).for_each(|(to, from)| *to = from - first);
            part.offsets = Some(shifted);
            first as usize..offsets[cells.len()] as usize
        }
        None => cells.start * shape.cell_byte_len()..cells.end * shape.cell_byte_len(),
    };
    part.data = copied(&column.data.as_slice()[bytes])?;
    if let Some(validity) = &column.validity {
        part.validity = Some(copied(&validity.as_slice()[cells])?);
    }
    Ok(part)
}

/// A column in which every cell has the same value.
///
/// # Errors
/// `OutOfMemory`; what `check` returns.
pub(crate) fn constant(
    shape: CellShape,
    value: &[u8],
    is_valid: bool,
    cell_count: usize,
    to: Output<'_>,
) -> Result<Column> {
    let check = to.check;
    let mut data = to.buffer(value.len() * cell_count)?;
    if !value.is_empty() {
        fill(data.as_mut_slice(), value.len(), check, |_, cell| cell.copy_from_slice(value))?;
    }
    let mut column = Column { data, ..Column::default() };
    if shape.is_var() {
        let mut offsets = to.buffer((cell_count + 1) * 8)?;
        fill(offsets.values_mut(), 1, check, |cell, offset| offset[0] = (cell * value.len()) as u64)?;
        column.offsets = Some(offsets);
    }
    if shape.is_nullable {
        let mut validity = to.buffer(cell_count)?;
        fill(validity.as_mut_slice(), 1, check, |_, cell| cell[0] = u8::from(is_valid))?;
        column.validity = Some(validity);
    }
    Ok(column)
}

/// Fills cells of `len` elements each, by their index.
fn fill<T: Send>(
    out: &mut [T],
    len: usize,
    check: Check<'_>,
    put: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let step = |(step, cells): (usize, &mut [T])| {
        check()?;
        let cells = cells.chunks_exact_mut(len).enumerate();
        cells.for_each(|(at, cell)| put(step * CELLS_BETWEEN_CHECKS + at, cell));
        Ok(())
    };
    if out.len() <= len * CELLS_BETWEEN_CHECKS {
        return step((0, out));
    }
    out.par_chunks_mut(len * CELLS_BETWEEN_CHECKS).enumerate().shared().try_for_each(step)
}

/// Cuts lists of runs into pieces.
fn cut<'r>(lists: &'r [impl AsRef<[CellRun]>], check: Check<'_>) -> Result<Vec<Piece<'r>>> {
    let mut pieces = Vec::new();
    let mut pace = Pace::new(check);
    for list in lists {
        let runs = list.as_ref();
        let (mut start, mut cell_count) = (0, 0);
        for (i, run) in runs.iter().enumerate() {
            cell_count += run.len as usize;
            if cell_count >= CELLS_PER_TASK {
                pace.went(cell_count)?;
                pieces.push(Piece { runs: &runs[start..=i], cell_count });
                (start, cell_count) = (i + 1, 0);
            }
        }
        if cell_count > 0 {
            pieces.push(Piece { runs: &runs[start..], cell_count });
        }
    }
    Ok(pieces)
}

fn gather_fixed<'t>(
    pieces: &[Piece<'_>],
    mut out: &mut [u8],
    byte_len: usize,
    tile: impl Fn(usize) -> &'t [u8] + Sync,
    check: Check<'_>,
) -> Result<()> {
    let mut tasks = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (head, rest) = out.split_at_mut(piece.cell_count * byte_len);
        tasks.push((piece, head));
        out = rest;
    }
    for_each(tasks, check, |(piece, out)| {
        match byte_len {
            1 => copy_runs::<1>(piece.runs, out, &tile),
            2 => copy_runs::<2>(piece.runs, out, &tile),
            4 => copy_runs::<4>(piece.runs, out, &tile),
            8 => copy_runs::<8>(piece.runs, out, &tile),
            _ => {
                let mut at = 0;
                for run in piece.runs {
                    let from = run.start as usize * byte_len;
                    let len = run.len as usize * byte_len;
                    out[at..at + len].copy_from_slice(&tile(run.slot as usize)[from..from + len]);
                    at += len;
                }
            }
        }
        Ok(())
    })
}

/// Copies with the cell length known to the compiler, so that runs of one cell are plain moves.
fn copy_runs<'t, const N: usize>(runs: &[CellRun], out: &mut [u8], tile: &impl Fn(usize) -> &'t [u8]) {
    let mut cells = out.as_chunks_mut::<N>().0;
    for run in runs {
        let source = tile(run.slot as usize).as_chunks::<N>().0;
        let (head, rest) = cells.split_at_mut(run.len as usize);
        if let [cell] = head {
            *cell = source[run.start as usize];
        } else {
            head.copy_from_slice(&source[run.start as usize..][..run.len as usize]);
        }
        cells = rest;
    }
}

fn gather_var(
    pieces: &[Piece<'_>],
    total: usize,
    tiles: &[ColumnRef<'_>],
    whole: &impl WholeTiles,
    shape: CellShape,
    (to, room): (Output<'_>, Option<&mut Room<'_>>),
) -> Result<Column> {
    let check = to.check;
    let source = |slot: u32| {
        let tile = &tiles[slot as usize];
        (tile.data, tile.offsets.unwrap_or_default())
    };
    let byte_lens: Vec<usize> = pieces
        .par_iter()
        .shared()
        .map(|piece| {
            let span = |run: &CellRun| match whole.var_byte_len(run.slot) {
                Some(byte_len) => byte_len,
                None => {
                    let offsets = source(run.slot).1;
                    (offsets[(run.start + run.len) as usize] - offsets[run.start as usize]) as usize
                }
            };
            check()?;
            Ok(piece.runs.iter().map(span).sum())
        })
        .collect::<Result<_>>()?;
    let mut column = Column::default();
    let made = places(room, &mut column, shape, (total, byte_lens.iter().sum()), to)?;
    let (mut out, mut ends, mut valid) = (made.data, &mut made.offsets[1..], made.validity);
    let mut tasks = Vec::with_capacity(pieces.len());
    let mut base = made.base;
    for (piece, &byte_len) in pieces.iter().zip(&byte_lens) {
        let (bytes, bytes_rest) = out.split_at_mut(byte_len);
        let (cells, cells_rest) = ends.split_at_mut(piece.cell_count);
        let (flags, flags_rest) = valid.split_at_mut(if shape.is_nullable { piece.cell_count } else { 0 });
        tasks.push(VarTask { runs: piece.runs, bytes, ends: cells, validity: flags, base });
        (out, ends, valid) = (bytes_rest, cells_rest, flags_rest);
        base += byte_len as u64;
    }
    for_each(tasks, check, |task: VarTask<'_>| {
        let VarTask { runs, mut bytes, mut ends, mut validity, mut base } = task;
        for run in runs {
            let cells = run.start as usize..(run.start + run.len) as usize;
            let (ends_here, ends_behind) = ends.split_at_mut(cells.len());
            let (flags, flags_behind) =
                validity.split_at_mut(if shape.is_nullable { cells.len() } else { 0 });
            let byte_len = if let Some(byte_len) = whole.var_byte_len(run.slot) {
                whole.decode(run.slot, &mut bytes[..byte_len], ends_here, flags)?;
                ends_here.iter_mut().for_each(|end| *end += base);
                byte_len
            } else {
                let (data, offsets) = source(run.slot);
                let offsets = &offsets[cells.start..=cells.end];
                let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
                bytes[..last - first].copy_from_slice(&data[first..last]);
                let shift = base.wrapping_sub(first as u64);
                for (end, &offset) in ends_here.iter_mut().zip(&offsets[1..]) {
                    *end = offset.wrapping_add(shift);
                }
                if shape.is_nullable {
                    let from = tiles[run.slot as usize].validity.unwrap_or_default();
                    match flags {
                        [flag] => *flag = from[cells.start],
                        _ => flags.copy_from_slice(&from[cells]),
                    }
                }
                last - first
            };
            (bytes, ends, validity) = (&mut bytes[byte_len..], ends_behind, flags_behind);
            base += byte_len as u64;
        }
        Ok(())
    })?;
    Ok(column)
}

/// A piece of a column of cells of any length: the runs that go there, and the place.
struct VarTask<'t> {
    runs: &'t [CellRun],
    bytes: &'t mut [u8],
    ends: &'t mut [u64],
    validity: &'t mut [u8],
    /// What its first offset is.
    base: u64,
}

fn for_each<T: Send>(
    tasks: Vec<T>,
    check: Check<'_>,
    work: impl Fn(T) -> Result<()> + Sync + Send,
) -> Result<()> {
    let work = |task| check().and_then(|()| work(task));
    if tasks.len() <= 1 {
        tasks.into_iter().try_for_each(work)
    } else {
        tasks.into_par_iter().shared().try_for_each(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_space::UNSTOPPED;
    use smalti_types::{CellValNum, Datatype};

    fn shape(datatype: Datatype, cell_val_num: CellValNum, is_nullable: bool) -> CellShape {
        CellShape { datatype, cell_val_num, is_nullable }
    }

    #[test]
    fn runs_are_copied_in_their_order() {
        let (a, b): (Vec<u32>, Vec<u32>) = ((0..10).collect(), (100..110).collect());
        let tiles = [ColumnRef::fixed(bytemuck::cast_slice(&a)), ColumnRef::fixed(bytemuck::cast_slice(&b))];
        let runs = [
            CellRun { slot: 1, start: 9, len: 1 },
            CellRun { slot: 0, start: 2, len: 3 },
            CellRun { slot: 1, start: 0, len: 2 },
        ];
        let shape = shape(Datatype::UInt32, CellValNum::ONE, false);
        let column = gather(&runs, &tiles, shape, Output::fresh(UNSTOPPED)).unwrap();
        assert_eq!(column.data.values::<u32>(), [109, 2, 3, 4, 100, 101]);
    }

    #[test]
    fn var_sized_cells_get_new_offsets() {
        let offsets = [0u64, 1, 3, 3, 6];
        let tile = ColumnRef::var(b"abbccc", &offsets).with_validity(&[1, 0, 1, 1]);
        let runs = [CellRun { slot: 0, start: 3, len: 1 }, CellRun { slot: 0, start: 0, len: 3 }];
        let shape = shape(Datatype::Blob, CellValNum::Var, true);
        let column = gather(&runs, &[tile], shape, Output::fresh(UNSTOPPED)).unwrap();
        assert_eq!(column.data.as_slice(), b"cccabb");
        assert_eq!(column.offsets.unwrap().values::<u64>(), [0, 3, 4, 6, 6]);
        assert_eq!(column.validity.unwrap().as_slice(), [1, 1, 0, 1]);
    }

    #[test]
    fn long_lists_are_copied_in_pieces() {
        let cells: Vec<u16> = (0..60_000).map(|i| i as u16).collect();
        let tiles = [ColumnRef::fixed(bytemuck::cast_slice(&cells))];
        let runs: Vec<CellRun> =
            (0..120_000u32).map(|i| CellRun { slot: 0, start: i * 7 % 60_000, len: 1 }).collect();
        let shape = shape(Datatype::UInt16, CellValNum::ONE, false);
        let column = gather(&runs, &tiles, shape, Output::fresh(UNSTOPPED)).unwrap();
        assert!(column.data.values::<u16>().iter().zip(&runs).all(|(&v, run)| v == run.start as u16));
    }
}
