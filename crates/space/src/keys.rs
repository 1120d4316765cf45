//! Sort keys of cells.

use crate::check::{CELLS_BETWEEN_CHECKS, Check};
use crate::{BitMask, Permutation};
use rayon::prelude::*;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Result};
use std::cmp::Ordering;
use std::ops::Range;

/// One key per cell, in one of four widths. Of two cells under the same [`KeyLayout`](crate::KeyLayout) the one that
/// comes first has the lesser key, and keys are equal exactly where all coordinates are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderKeys {
    /// Keys of up to 64 bits.
    U64(Vec<u64>),
    /// Keys of up to 128 bits.
    U128(Vec<u128>),
    /// Wider keys of numeric dimensions: `width` words per cell, the most significant first.
    Words {
        /// Words per key.
        width: usize,
        /// All keys, one after the other.
        words: Vec<u64>,
    },
    /// Keys with string dimensions, compared byte by byte.
    Bytes {
        /// The end of each key in `bytes`; it begins where the one before ends.
        ends: Vec<usize>,
        /// All keys, one after the other.
        bytes: Vec<u8>,
    },
}

impl OrderKeys {
    /// The number of cells.
    pub fn len(&self) -> usize {
        match self {
            OrderKeys::U64(keys) => keys.len(),
            OrderKeys::U128(keys) => keys.len(),
            OrderKeys::Words { width, words } => words.len() / (*width).max(1),
            OrderKeys::Bytes { ends, .. } => ends.len(),
        }
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The order of cell `cell` here and cell `other_cell` there. Keys of different widths, which come of different
    /// layouts, are ordered by width alone.
    ///
    /// # Panics
    /// When there is no such cell.
    #[inline]
    pub fn compare(&self, cell: usize, other: &OrderKeys, other_cell: usize) -> Ordering {
        match (self, other) {
            (OrderKeys::U64(a), OrderKeys::U64(b)) => a[cell].cmp(&b[other_cell]),
            (OrderKeys::U128(a), OrderKeys::U128(b)) => a[cell].cmp(&b[other_cell]),
            (
                OrderKeys::Words { width, words },
                OrderKeys::Words { width: other_width, words: other_words },
            ) => word_key(words, *width, cell).cmp(word_key(other_words, *other_width, other_cell)),
            (OrderKeys::Bytes { ends, bytes }, OrderKeys::Bytes { ends: other_ends, bytes: other_bytes }) => {
                byte_key(ends, bytes, cell).cmp(byte_key(other_ends, other_bytes, other_cell))
            }
            _ => self.variant().cmp(&other.variant()),
        }
    }

    /// The first cell that belongs before its predecessor; `None` when the cells are in order.
    pub fn first_descent(&self) -> Option<usize> {
        self.first_descent_in(1..self.len())
    }

    /// The first of some cells, none of them the first of all, that belongs before its predecessor.
    pub(crate) fn first_descent_in(&self, mut cells: Range<usize>) -> Option<usize> {
        if cells.is_empty() {
            return None;
        }
        match self {
            OrderKeys::U64(keys) => {
                first_pair(&keys[cells.start - 1..cells.end], |a, b| a > b).map(|at| cells.start - 1 + at)
            }
            OrderKeys::U128(keys) => {
                first_pair(&keys[cells.start - 1..cells.end], |a, b| a > b).map(|at| cells.start - 1 + at)
            }
            _ => cells.find(|&cell| self.compare(cell - 1, self, cell) == Ordering::Greater),
        }
    }

    /// The first cell at the same coordinates as its predecessor.
    pub fn first_repeat(&self) -> Option<usize> {
        match self {
            OrderKeys::U64(keys) => first_pair(keys, |a, b| a == b),
            OrderKeys::U128(keys) => first_pair(keys, |a, b| a == b),
            _ => (1..self.len()).find(|&cell| self.compare(cell - 1, self, cell) == Ordering::Equal),
        }
    }

    /// The positions, in the order that `permutation` gives, whose cell has the same coordinates as the cell before
    /// it. Finds all duplicates when the permutation sorts the keys.
    ///
    /// # Errors
    /// What `check` returns.
    pub fn repeats(&self, permutation: &Permutation, check: Check<'_>) -> Result<BitMask> {
        match (self, permutation) {
            (OrderKeys::U64(keys), Permutation::Indices(indices)) => {
                mark_repeats(indices.len(), check, |at| {
                    keys.get(indices[at] as usize)
                        .is_some_and(|key| keys.get(indices[at - 1] as usize) == Some(key))
                })
            }
            (_, Permutation::Indices(indices)) => mark_repeats(indices.len(), check, |at| {
                let (a, b) = (indices[at - 1] as usize, indices[at] as usize);
                a.max(b) < self.len() && self.compare(a, self, b) == Ordering::Equal
            }),
            (_, Permutation::Identity(len)) => mark_repeats(*len, check, |cell| {
                cell < self.len() && self.compare(cell - 1, self, cell) == Ordering::Equal
            }),
        }
    }

    /// The keys in the order that `permutation` gives; cells that do not exist are left out.
    #[must_use]
    pub fn permuted(&self, permutation: &Permutation) -> OrderKeys {
        let Permutation::Indices(indices) = permutation else { return self.clone() };
        let cells = || indices.iter().map(|&cell| cell as usize).filter(|&cell| cell < self.len());
        match self {
            OrderKeys::U64(keys) => OrderKeys::U64(cells().map(|cell| keys[cell]).collect()),
            OrderKeys::U128(keys) => OrderKeys::U128(cells().map(|cell| keys[cell]).collect()),
            OrderKeys::Words { width, words } => OrderKeys::Words {
                width: *width,
                words: cells().flat_map(|cell| word_key(words, *width, cell).iter().copied()).collect(),
            },
            OrderKeys::Bytes { ends, bytes } => {
                let mut sorted = Vec::with_capacity(bytes.len());
                let ends = cells()
                    .map(|cell| {
                        sorted.extend_from_slice(byte_key(ends, bytes, cell));
                        sorted.len()
                    })
                    .collect();
                sorted.shrink_to_fit();
                OrderKeys::Bytes { ends, bytes: sorted }
            }
        }
    }

    /// Bytes that the keys take up in memory.
    pub fn byte_len(&self) -> usize {
        match self {
            OrderKeys::U64(keys) => size_of_val(keys.as_slice()),
            OrderKeys::U128(keys) => size_of_val(keys.as_slice()),
            OrderKeys::Words { words, .. } => size_of_val(words.as_slice()),
            OrderKeys::Bytes { ends, bytes } => size_of_val(ends.as_slice()) + bytes.len(),
        }
    }

    fn variant(&self) -> u8 {
        match self {
            OrderKeys::U64(_) => 0,
            OrderKeys::U128(_) => 1,
            OrderKeys::Words { .. } => 2,
            OrderKeys::Bytes { .. } => 3,
        }
    }
}

#[inline]
pub(crate) fn word_key(words: &[u64], width: usize, cell: usize) -> &[u64] {
    &words[cell * width..(cell + 1) * width]
}

#[inline]
pub(crate) fn byte_key<'a>(ends: &[usize], bytes: &'a [u8], cell: usize) -> &'a [u8] {
    let start = if cell == 0 { 0 } else { ends[cell - 1] };
    &bytes[start..ends[cell]]
}

fn first_pair<T: Copy>(keys: &[T], holds: impl Fn(T, T) -> bool) -> Option<usize> {
    keys.windows(2).position(|pair| holds(pair[0], pair[1])).map(|at| at + 1)
}

/// The positions of which `is_repeat` holds; it is not asked of the first.
pub(crate) fn mark_repeats(
    len: usize,
    check: Check<'_>,
    is_repeat: impl Fn(usize) -> bool + Sync,
) -> Result<BitMask> {
    let mut mask = BitMask::zeros(len);
    mask.words_mut().par_chunks_mut(CELLS_BETWEEN_CHECKS / 64).enumerate().shared().try_for_each(
        |(step, words)| {
            check()?;
            for (word_idx, word) in (step * (CELLS_BETWEEN_CHECKS / 64)..).zip(words) {
                for at in (word_idx * 64).max(1)..((word_idx + 1) * 64).min(len) {
                    *word |= u64::from(is_repeat(at)) << (at % 64);
                }
            }
            Ok::<(), Error>(())
        },
    )?;
    Ok(mask)
}
