//! Tests run over cells, 64 at a time, into the bits of words.

use super::set::LookUp;
use super::test::Test;
use super::tree::Relation;
use multiversion::multiversion;
use smalti_tile::{CellShape, ColumnRef};
use smalti_types::{Error, Physical, Result, dispatch_physical};
use std::borrow::Cow;
use std::ops::Range;

/// Runs a test over a range of the cells of a column; `words` has a bit for each, those beyond the last stay 0.
///
/// # Errors
/// `Corrupt` when the column has fewer cells than the range, or lacks a part that its shape has.
pub(super) fn run_test(
    test: &Test,
    shape: CellShape,
    column: ColumnRef<'_>,
    cells: Range<usize>,
    words: &mut [u64],
) -> Result<()> {
    let validity = match (shape.is_nullable, column.validity) {
        (false, _) => None,
        (true, Some(validity)) => Some(validity.get(cells.clone()).ok_or_else(short)?),
        (true, None) => return Err(Error::corrupt("a nullable column without validity bytes")),
    };
    match test {
        Test::Null { is_null } => {
            return match validity {
                Some(validity) => {
                    fill(validity, words, |valid| (valid == 0) == *is_null);
                    Ok(())
                }
                None => Err(Error::corrupt("a null test of a column without validity bytes")),
            };
        }
        Test::Always(holds) => fill_all(cells.len(), *holds, words),
        Test::Number { relation, value } => {
            let data = fixed_data(shape, column, &cells)?;
            dispatch_physical!(shape.datatype, T => compare_numbers::<T>(*relation, value, data, words));
        }
        Test::NumberSet { set, is_in } => {
            let data = fixed_data(shape, column, &cells)?;
            dispatch_physical!(shape.datatype, T => {
                set.look_up(InSet { cells: &numbers::<T>(data), words: &mut *words, is_in: *is_in });
            });
        }
        Test::Text { relation, value } => {
            let value = value.as_slice();
            match relation {
                Relation::Lt => texts(shape, column, cells, words, |cell| cell < value)?,
                Relation::Le => texts(shape, column, cells, words, |cell| cell <= value)?,
                Relation::Gt => texts(shape, column, cells, words, |cell| cell > value)?,
                Relation::Ge => texts(shape, column, cells, words, |cell| cell >= value)?,
                Relation::Eq => texts(shape, column, cells, words, |cell| cell == value)?,
                Relation::Ne => texts(shape, column, cells, words, |cell| cell != value)?,
            }
        }
        Test::TextSet { set, is_in } => {
            texts(shape, column, cells, words, |cell| set.contains(cell) == *is_in)?;
        }
    }
    if let Some(validity) = validity {
        for (validity, word) in validity.chunks(64).zip(words) {
            *word &= packed(validity, |valid| valid != 0);
        }
    }
    Ok(())
}

fn short() -> Error {
    Error::corrupt("a column has fewer cells than the condition is evaluated for")
}

fn fixed_data<'a>(shape: CellShape, column: ColumnRef<'a>, cells: &Range<usize>) -> Result<&'a [u8]> {
    let byte_len = shape.cell_byte_len();
    let range = cells.start.checked_mul(byte_len).zip(cells.end.checked_mul(byte_len));
    range.and_then(|(start, end)| column.data.get(start..end)).ok_or_else(short)
}

/// The cells as numbers, copied where their bytes are not aligned.
#[inline(always)]
fn numbers<T: Physical>(data: &[u8]) -> Cow<'_, [T]> {
    bytemuck::try_cast_slice(data)
        .map_or_else(|_| Cow::Owned(bytemuck::pod_collect_to_vec(data)), Cow::Borrowed)
}

/// With the vectors that the processor has.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn compare_numbers<T: Physical>(relation: Relation, value: &[u8; 8], data: &[u8], words: &mut [u64]) {
    compare_numbers_plain::<T>(relation, value, data, words);
}

#[inline(always)]
fn compare_numbers_plain<T: Physical>(relation: Relation, value: &[u8; 8], data: &[u8], words: &mut [u64]) {
    let value: T = bytemuck::pod_read_unaligned(&value[..size_of::<T>()]);
    let cells = &*numbers::<T>(data);
    match relation {
        Relation::Lt => fill(cells, words, |cell| cell < value),
        Relation::Le => fill(cells, words, |cell| cell <= value),
        Relation::Gt => fill(cells, words, |cell| cell > value),
        Relation::Ge => fill(cells, words, |cell| cell >= value),
        Relation::Eq => fill(cells, words, |cell| cell == value),
        Relation::Ne => fill(cells, words, |cell| cell != value),
    }
}

struct InSet<'a, T> {
    cells: &'a [T],
    words: &'a mut [u64],
    is_in: bool,
}

impl<T: Physical> LookUp<()> for InSet<'_, T> {
    fn with(self, is_member: impl Fn(u64) -> bool) {
        fill(self.cells, self.words, |cell| is_member(cell.ordinal()) == self.is_in);
    }
}

fn texts(
    shape: CellShape,
    column: ColumnRef<'_>,
    cells: Range<usize>,
    words: &mut [u64],
    holds: impl Fn(&[u8]) -> bool,
) -> Result<()> {
    let Some(offsets) = column.offsets.filter(|_| shape.is_var()) else {
        let data = fixed_data(shape, column, &cells)?;
        let cells = data.chunks_exact(shape.cell_byte_len());
        for (idx, cell) in cells.enumerate() {
            if idx % 64 == 0 {
                words[idx / 64] = 0;
            }
            words[idx / 64] |= u64::from(holds(cell)) << (idx % 64);
        }
        return Ok(());
    };
    let offsets = offsets.get(cells.start..cells.end + 1).ok_or_else(short)?;
    for (start, word) in (0..cells.len()).step_by(64).zip(words) {
        *word = 0;
        let bounds = &offsets[start..offsets.len().min(start + 65)];
        for (bit, bounds) in bounds.windows(2).enumerate() {
            let range = usize::try_from(bounds[0]).ok().zip(usize::try_from(bounds[1]).ok());
            let cell = range.and_then(|(start, end)| column.data.get(start..end));
            let cell = cell.ok_or_else(|| Error::corrupt("offsets of a column fall or leave its data"))?;
            *word |= u64::from(holds(cell)) << bit;
        }
    }
    Ok(())
}

fn fill_all(cell_count: usize, holds: bool, words: &mut [u64]) {
    for (idx, word) in words.iter_mut().enumerate() {
        let bits = cell_count.saturating_sub(idx * 64).min(64);
        *word = match (holds, bits) {
            (false, _) => 0,
            (true, 64) => u64::MAX,
            (true, bits) => (1 << bits) - 1,
        };
    }
}

#[inline(always)]
fn fill<T: Copy>(cells: &[T], words: &mut [u64], holds: impl Fn(T) -> bool) {
    let (lines, rest) = cells.as_chunks::<64>();
    let (full, tail) = words.split_at_mut(lines.len());
    for (line, word) in lines.iter().zip(full) {
        *word = packed_line(line, &holds);
    }
    if let Some(word) = tail.first_mut() {
        *word = packed(rest, holds);
    }
}

/// Bytes of truth first, which compilers turn into vector instructions; then eight of them at once into bits.
#[inline(always)]
fn packed_line<T: Copy>(cells: &[T; 64], holds: impl Fn(T) -> bool) -> u64 {
    let mut flags = [0u8; 64];
    for (flag, cell) in flags.iter_mut().zip(cells) {
        *flag = u8::from(holds(*cell));
    }
    let mut word = 0;
    for (idx, bytes) in flags.as_chunks::<8>().0.iter().enumerate() {
        // The product's highest byte has the lowest bit of byte k at place k.
        word |= (u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (idx * 8);
    }
    word
}

/// At most 64 cells.
#[inline(always)]
fn packed<T: Copy>(cells: &[T], holds: impl Fn(T) -> bool) -> u64 {
    match cells.first_chunk::<64>() {
        Some(line) => packed_line(line, holds),
        None => cells.iter().enumerate().map(|(bit, cell)| u64::from(holds(*cell)) << bit).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::Datatype;

    /// Whether the processor has wide vectors or not, the same cells are found.
    #[test]
    fn comparisons_in_wide_vectors_are_those_of_the_plain_code() {
        use Relation::{Eq, Ge, Gt, Le, Lt, Ne};
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 24).to_le_bytes()
        };
        let datatypes = [
            Datatype::Int8,
            Datatype::UInt16,
            Datatype::Int32,
            Datatype::UInt64,
            Datatype::Float32,
            Datatype::Float64,
        ];
        for datatype in datatypes {
            let byte_len = datatype.byte_len();
            let data: Vec<u8> = (0..1000).flat_map(|_| random()[..byte_len].to_vec()).collect();
            let mut value = [0; 8];
            value[..byte_len].copy_from_slice(&data[500 * byte_len..][..byte_len]);
            for relation in [Lt, Le, Gt, Ge, Eq, Ne] {
                let (mut wide, mut plain) = ([0; 16], [0; 16]);
                dispatch_physical!(datatype, T => {
                    compare_numbers::<T>(relation, &value, &data, &mut wide);
                    compare_numbers_plain::<T>(relation, &value, &data, &mut plain);
                });
                assert_eq!(wide, plain, "{datatype} {relation:?}");
                assert!(plain.iter().any(|word| *word != 0), "{datatype} {relation:?}");
            }
        }
    }
}
