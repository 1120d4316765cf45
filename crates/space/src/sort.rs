//! Sorting cells by their keys.

use crate::check::{CELLS_BETWEEN_CHECKS, Check};
use crate::keys::{byte_key, mark_repeats, word_key};
use crate::merge_sort::sort_items;
use crate::radix::sort_words;
use crate::{BitMask, OrderKeys, Permutation};
use rayon::prelude::*;
use smalti_types::parallel::{self, Shareable as _};
use smalti_types::{Error, ErrorKind, Result};
use std::cmp::Ordering;
use std::ops::Range;

/// Cells above which ties are resolved in parallel.
const TIE_TASK: usize = 1 << 14;

/// The order of cells by their keys; cells with equal keys keep the order that they are in.
///
/// As many leading bits of every key as leave room for the cell's number are packed with it into one word; the words
/// are sorted digit by digit, and where keys are longer, cells with equal leading bits by the rest. Cells that are in
/// order already are found out first and give [`Permutation::Identity`].
///
/// # Errors
/// `Unsupported` for 2^32 cells or more; what `check` returns.
pub fn sort_cells(keys: &OrderKeys, check: Check<'_>) -> Result<Permutation> {
    Ok(SortedCells::new(keys, check)?.into_parts().0)
}

/// Cells in the order of their keys, as of [`sort_cells`], with what the sorting tells beside the order.
#[derive(Debug)]
pub struct SortedCells {
    order: Permutation,
    /// Leading bits of keys above the numbers of cells, by the leading bits; none of cells that were in order already.
    words: Vec<u64>,
    idx_bits: u32,
    /// Whether the leading bits are the whole key.
    is_whole: bool,
    /// Whether they are a key of one word as it was made.
    is_plain: bool,
}

/// The keys of sorted cells, each a word.
#[derive(Debug)]
pub struct SortedKeys {
    words: Vec<u64>,
    shift: u32,
}

impl SortedKeys {
    /// The keys at some positions; none where there are fewer.
    pub(crate) fn iter(&self, positions: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        self.words.get(positions).unwrap_or_default().iter().map(|word| word >> self.shift)
    }
}

impl SortedCells {
    /// Sorts cells.
    ///
    /// # Errors
    /// As [`sort_cells`].
    pub fn new(keys: &OrderKeys, check: Check<'_>) -> Result<SortedCells> {
        let cell_count = keys.len();
        if u32::try_from(cell_count).is_err() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{cell_count} cells are too many to sort at once; sort fewer than 2^32"),
            ));
        }
        if !descends(keys, check)? {
            let order = Permutation::Identity(cell_count);
            return Ok(SortedCells {
                order,
                words: Vec::new(),
                idx_bits: 0,
                is_whole: false,
                is_plain: false,
            });
        }
        // A descent needs two cells, so that there is at least one bit.
        let idx_bits = (cell_count - 1).ilog2() + 1;
        let room = u64::BITS - idx_bits;
        let (mut words, prefix_bits, is_whole) = packed_prefixes(keys, idx_bits, room, check)?;
        sort_words(&mut words, idx_bits, idx_bits + prefix_bits, check)?;
        let idx_mask = (1u64 << idx_bits) - 1;
        let mut indices = vec![0u32; cell_count];
        indices
            .par_chunks_mut(CELLS_BETWEEN_CHECKS)
            .zip(words.par_chunks(CELLS_BETWEEN_CHECKS))
            .shared()
            .try_for_each(|(indices, words)| {
                check()?;
                indices.iter_mut().zip(words).for_each(|(idx, word)| *idx = (word & idx_mask) as u32);
                Ok::<(), Error>(())
            })?;
        if !is_whole {
            let ties = Ties { words: &words, idx_bits, check };
            match keys {
                OrderKeys::U64(keys) => ties.resolve(&mut indices, &|a, b| keys[a].cmp(&keys[b])),
                OrderKeys::U128(keys) => ties.resolve(&mut indices, &|a, b| keys[a].cmp(&keys[b])),
                _ => ties.resolve(&mut indices, &|a, b| keys.compare(a, keys, b)),
            }?;
        }
        let is_plain = is_whole && matches!(keys, OrderKeys::U64(_));
        Ok(SortedCells { order: Permutation::Indices(indices), words, idx_bits, is_whole, is_plain })
    }

    /// The [repeats](OrderKeys::repeats) of the order, by the leading bits that were sorted: they tell most of them without going back to
    /// the keys.
    ///
    /// # Errors
    /// What `check` returns.
    pub fn repeats(&self, keys: &OrderKeys, check: Check<'_>) -> Result<BitMask> {
        let SortedCells { order, words, idx_bits, is_whole, .. } = self;
        let Permutation::Indices(indices) = order else { return keys.repeats(order, check) };
        let is_tie = |at: usize| (words[at - 1] ^ words[at]) >> idx_bits == 0;
        let is_equal =
            |at: usize| keys.compare(indices[at - 1] as usize, keys, indices[at] as usize) == Ordering::Equal;
        match is_whole {
            true => mark_repeats(words.len(), check, is_tie),
            false => mark_repeats(words.len(), check, |at| is_tie(at) && is_equal(at)),
        }
    }

    /// The order, and the keys in it where the sorting left them: those of one word that had room beside the numbers of cells.
    pub fn into_parts(self) -> (Permutation, Option<SortedKeys>) {
        let keys = self.is_plain.then_some(SortedKeys { words: self.words, shift: self.idx_bits });
        (self.order, keys)
    }
}

/// Whether a cell belongs before its predecessor.
fn descends(keys: &OrderKeys, check: Check<'_>) -> Result<bool> {
    for start in (0..keys.len()).step_by(CELLS_BETWEEN_CHECKS) {
        check()?;
        let pairs = start.max(1)..(start + CELLS_BETWEEN_CHECKS).min(keys.len());
        if keys.first_descent_in(pairs).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The leading bits of every key, `prefix_bits` many and at most `room`, above the cell's number; and whether they are
/// the whole key.
fn packed_prefixes(
    keys: &OrderKeys,
    idx_bits: u32,
    room: u32,
    check: Check<'_>,
) -> Result<(Vec<u64>, u32, bool)> {
    let cell_count = keys.len();
    match keys {
        OrderKeys::U64(keys) => {
            let all = all_bits(cell_count, check, |cells| keys[cells].iter().fold(0, |all, key| all | key))?;
            let bits = u64::BITS - all.leading_zeros();
            let shift = bits.saturating_sub(room);
            Ok((pack(cell_count, idx_bits, check, |cell| keys[cell] >> shift)?, bits.min(room), shift == 0))
        }
        OrderKeys::U128(keys) => {
            let all = all_bits(cell_count, check, |cells| keys[cells].iter().fold(0, |all, key| all | key))?;
            let bits = u128::BITS - all.leading_zeros();
            let shift = bits.saturating_sub(room);
            let words = pack(cell_count, idx_bits, check, |cell| (keys[cell] >> shift) as u64)?;
            Ok((words, bits.min(room), shift == 0))
        }
        OrderKeys::Words { width, words } => {
            let top = |cell: usize| {
                let key = word_key(words, *width, cell);
                u128::from(key[0]) << 64 | u128::from(key.get(1).copied().unwrap_or(0))
            };
            let all = all_bits(cell_count, check, |cells| cells.fold(0, |all, cell| all | top(cell)))?;
            let bits = u128::BITS - all.leading_zeros();
            let shift = bits.saturating_sub(room);
            let packed = pack(cell_count, idx_bits, check, |cell| (top(cell) >> shift) as u64)?;
            Ok((packed, bits.min(room), false))
        }
        OrderKeys::Bytes { ends, bytes } => {
            let key = |cell: usize| byte_key(ends, bytes, cell);
            let code = ByteCode::new(cell_count, key, room, check)?;
            let words = pack(cell_count, idx_bits, check, |cell| code.encode(key(cell)))?;
            Ok((words, code.bits, code.is_whole))
        }
    }
}

/// The prefix of every cell above its number.
fn pack(
    cell_count: usize,
    idx_bits: u32,
    check: Check<'_>,
    prefix: impl Fn(usize) -> u64 + Sync,
) -> Result<Vec<u64>> {
    let mut packed = vec![0u64; cell_count];
    packed.par_chunks_mut(CELLS_BETWEEN_CHECKS).enumerate().shared().try_for_each(|(step, packed)| {
        check()?;
        for (cell, word) in (step * CELLS_BETWEEN_CHECKS..).zip(packed) {
            *word = prefix(cell) << idx_bits | cell as u64;
        }
        Ok::<(), Error>(())
    })?;
    Ok(packed)
}

/// The bits that are set in any key.
fn all_bits<K: Copy + Default + Send + std::ops::BitOr<Output = K>>(
    cell_count: usize,
    check: Check<'_>,
    of_cells: impl Fn(Range<usize>) -> K + Sync,
) -> Result<K> {
    steps(cell_count)
        .map(|cells| {
            check()?;
            Ok(of_cells(cells))
        })
        .try_reduce(K::default, |a, b| Ok(a | b))
}

/// Cells in steps, for threads to share.
fn steps(cell_count: usize) -> impl ParallelIterator<Item = Range<usize>> {
    let range =
        move |step: usize| step * CELLS_BETWEEN_CHECKS..((step + 1) * CELLS_BETWEEN_CHECKS).min(cell_count);
    (0..cell_count.div_ceil(CELLS_BETWEEN_CHECKS)).into_par_iter().shared().map(range)
}

/// An order-preserving code for the bytes of keys that follow their common start: every position takes the bits that
/// its least and greatest byte need, so that digits and letters take up four or five bits instead of eight.
struct ByteCode {
    common: usize,
    /// Least byte and bits of every position. A byte is coded as its distance from the least, plus one; the end of a
    /// key as 0.
    positions: Vec<(u8, u32)>,
    bits: u32,
    /// Whether no key goes on beyond the positions.
    is_whole: bool,
}

/// Positions that are looked at.
const CODE_POSITIONS: usize = 24;
/// The least and the greatest byte of every position of no keys at all.
const NO_BOUNDS: [(u8, u8); CODE_POSITIONS] = [(u8::MAX, 0); CODE_POSITIONS];

impl ByteCode {
    fn new<'a>(
        cell_count: usize,
        key: impl Fn(usize) -> &'a [u8] + Sync,
        room: u32,
        check: Check<'_>,
    ) -> Result<Self> {
        let first = key(0);
        let common = steps(cell_count)
            .map(|cells| {
                check()?;
                Ok(cells.fold(first.len(), |common, cell| {
                    let key = key(cell);
                    if key.starts_with(&first[..common]) {
                        return common;
                    }
                    first[..common].iter().zip(key).take_while(|(a, b)| a == b).count()
                }))
            })
            .try_reduce(|| first.len(), |a, b| Ok::<_, Error>(a.min(b)))?;
        let (bounds, longest) = steps(cell_count)
            .map(|cells| {
                check()?;
                let mut bounds = NO_BOUNDS;
                let mut longest = 0;
                for cell in cells {
                    let rest = &key(cell)[common..];
                    longest = longest.max(rest.len());
                    for ((lo, hi), &byte) in bounds.iter_mut().zip(rest) {
                        *lo = byte.min(*lo);
                        *hi = byte.max(*hi);
                    }
                }
                Ok((bounds, longest))
            })
            .try_reduce(
                || (NO_BOUNDS, 0),
                |(mut bounds, longest), (others, other_longest)| {
                    for ((lo, hi), (other_lo, other_hi)) in bounds.iter_mut().zip(others) {
                        *lo = other_lo.min(*lo);
                        *hi = other_hi.max(*hi);
                    }
                    Ok::<_, Error>((bounds, longest.max(other_longest)))
                },
            )?;
        let mut code = ByteCode { common, positions: Vec::new(), bits: 0, is_whole: false };
        for &(lo, hi) in bounds.iter().take(longest) {
            let bits = u32::BITS - (u32::from(hi.saturating_sub(lo)) + 1).leading_zeros();
            if code.bits + bits > room {
                break;
            }
            code.positions.push((lo, bits));
            code.bits += bits;
        }
        code.is_whole = code.positions.len() >= longest;
        Ok(code)
    }

    #[inline]
    fn encode(&self, key: &[u8]) -> u64 {
        let rest = &key[self.common..];
        self.positions.iter().enumerate().fold(0, |code, (at, &(lo, bits))| {
            code << bits | rest.get(at).map_or(0, |byte| u64::from(byte - lo) + 1)
        })
    }
}

/// Cells sorted by leading bits; those of equal leading bits are still in the order that they were in.
struct Ties<'a> {
    words: &'a [u64],
    idx_bits: u32,
    check: Check<'a>,
}

impl Ties<'_> {
    /// Sorts the cells of equal leading bits by whole keys.
    fn resolve(
        &self,
        indices: &mut [u32],
        compare: &(impl Fn(usize, usize) -> Ordering + Sync),
    ) -> Result<()> {
        let Ties { words, idx_bits, check } = *self;
        let prefix = |at: usize| words[at] >> idx_bits;
        let by_key = |&a: &u32, &b: &u32| compare(a as usize, b as usize);
        if words.len() > TIE_TASK {
            let middle = words.len() / 2;
            let ahead = words[middle..].partition_point(|word| word >> idx_bits == prefix(middle));
            let behind = words[..middle].partition_point(|word| word >> idx_bits < prefix(middle));
            // The border of the middle's ties that is nearer to the middle.
            let border = if behind > 0 && middle - behind < ahead { behind } else { middle + ahead };
            if border == 0 || border == words.len() {
                return sort_items(indices, by_key, check);
            }
            let (left, right) = words.split_at(border);
            let (left_indices, right_indices) = indices.split_at_mut(border);
            let (left, right) = parallel::join(
                || Ties { words: left, ..*self }.resolve(left_indices, compare),
                || Ties { words: right, ..*self }.resolve(right_indices, compare),
            );
            return left.and(right);
        }
        check()?;
        let mut start = 0;
        while start < words.len() {
            let mut end = start + 1;
            while end < words.len() && prefix(end) == prefix(start) {
                end += 1;
            }
            if end - start > 1 {
                indices[start..end].sort_by(by_key);
            }
            start = end;
        }
        Ok(())
    }
}
