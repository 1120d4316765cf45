//! Sorting cells by their keys.

use crate::keys::{byte_key, word_key};
use crate::radix::sort_words;
use crate::{OrderKeys, Permutation};
use rayon::prelude::*;
use smalti_types::{Error, ErrorKind, Result};
use std::cmp::Ordering;

/// Cells above which ties are resolved in parallel.
const TIE_TASK: usize = 1 << 14;

/// The order of cells by their keys; cells with equal keys keep the order that they are in.
///
/// As many leading bits of every key as leave room for the cell's number are packed with it into one word; the words
/// are sorted digit by digit, and where keys are longer, cells with equal leading bits by the rest. Cells that are in
/// order already are found out first and give [`Permutation::Identity`].
///
/// # Errors
/// `Unsupported` for 2^32 cells or more.
pub fn sort_cells(keys: &OrderKeys) -> Result<Permutation> {
    let cell_count = keys.len();
    if u32::try_from(cell_count).is_err() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("{cell_count} cells are too many to sort at once; sort fewer than 2^32"),
        ));
    }
    if keys.first_descent().is_none() {
        return Ok(Permutation::Identity(cell_count));
    }
    // A descent needs two cells, so that there is at least one bit.
    let idx_bits = (cell_count - 1).ilog2() + 1;
    let room = u64::BITS - idx_bits;
    let (mut words, prefix_bits, is_whole) = packed_prefixes(keys, idx_bits, room);
    sort_words(&mut words, idx_bits, idx_bits + prefix_bits);
    let idx_mask = (1u64 << idx_bits) - 1;
    let mut indices: Vec<u32> = words.par_iter().map(|word| (word & idx_mask) as u32).collect();
    if !is_whole {
        match keys {
            OrderKeys::U64(keys) => {
                resolve_ties(&words, &mut indices, idx_bits, &|a, b| keys[a].cmp(&keys[b]))
            }
            OrderKeys::U128(keys) => {
                resolve_ties(&words, &mut indices, idx_bits, &|a, b| keys[a].cmp(&keys[b]))
            }
            _ => resolve_ties(&words, &mut indices, idx_bits, &|a, b| keys.compare(a, keys, b)),
        }
    }
    Ok(Permutation::Indices(indices))
}

/// The leading bits of every key, `prefix_bits` many and at most `room`, above the cell's number; and whether they are
/// the whole key.
fn packed_prefixes(keys: &OrderKeys, idx_bits: u32, room: u32) -> (Vec<u64>, u32, bool) {
    let pack = |(idx, prefix): (usize, u64)| prefix << idx_bits | idx as u64;
    match keys {
        OrderKeys::U64(keys) => {
            let bits = u64::BITS - keys.iter().fold(0, |all, key| all | key).leading_zeros();
            let shift = bits.saturating_sub(room);
            let words = keys.par_iter().map(|key| key >> shift).enumerate().map(pack).collect();
            (words, bits.min(room), shift == 0)
        }
        OrderKeys::U128(keys) => {
            let bits = u128::BITS - keys.iter().fold(0, |all, key| all | key).leading_zeros();
            let shift = bits.saturating_sub(room);
            let words = keys.par_iter().map(|key| (key >> shift) as u64).enumerate().map(pack).collect();
            (words, bits.min(room), shift == 0)
        }
        OrderKeys::Words { width, words } => {
            let top = |cell: usize| {
                let key = word_key(words, *width, cell);
                u128::from(key[0]) << 64 | u128::from(key.get(1).copied().unwrap_or(0))
            };
            let bits = u128::BITS - (0..keys.len()).fold(0, |all, cell| all | top(cell)).leading_zeros();
            let shift = bits.saturating_sub(room);
            let packed = (0..keys.len())
                .into_par_iter()
                .map(|cell| pack((cell, (top(cell) >> shift) as u64)))
                .collect();
            (packed, bits.min(room), false)
        }
        OrderKeys::Bytes { ends, bytes } => {
            let code = ByteCode::new(keys.len(), |cell| byte_key(ends, bytes, cell), room);
            let prefix = |cell: usize| code.encode(byte_key(ends, bytes, cell)) << idx_bits | cell as u64;
            ((0..keys.len()).into_par_iter().map(prefix).collect(), code.bits, code.is_whole)
        }
    }
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

impl ByteCode {
    fn new<'a>(cell_count: usize, key: impl Fn(usize) -> &'a [u8] + Sync, room: u32) -> Self {
        let first = key(0);
        let common = (1..cell_count).fold(first.len(), |common, cell| {
            let key = key(cell);
            if key.starts_with(&first[..common]) {
                return common;
            }
            first[..common].iter().zip(key).take_while(|(a, b)| a == b).count()
        });
        let mut bounds = [(u8::MAX, 0u8); CODE_POSITIONS];
        let mut longest = 0;
        for cell in 0..cell_count {
            let rest = &key(cell)[common..];
            longest = longest.max(rest.len());
            for ((lo, hi), &byte) in bounds.iter_mut().zip(rest) {
                *lo = byte.min(*lo);
                *hi = byte.max(*hi);
            }
        }
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
        code
    }

    #[inline]
    fn encode(&self, key: &[u8]) -> u64 {
        let rest = &key[self.common..];
        self.positions.iter().enumerate().fold(0, |code, (at, &(lo, bits))| {
            code << bits | rest.get(at).map_or(0, |byte| u64::from(byte - lo) + 1)
        })
    }
}

/// Sorts the cells of equal leading bits by whole keys, then by cell.
fn resolve_ties(
    words: &[u64],
    indices: &mut [u32],
    idx_bits: u32,
    compare: &(impl Fn(usize, usize) -> Ordering + Sync),
) {
    let prefix = |at: usize| words[at] >> idx_bits;
    if words.len() > TIE_TASK {
        let middle = words.len() / 2;
        let ahead = words[middle..].partition_point(|word| word >> idx_bits == prefix(middle));
        let behind = words[..middle].partition_point(|word| word >> idx_bits < prefix(middle));
        // The border of the middle's ties that is nearer to the middle.
        let border = if behind > 0 && middle - behind < ahead { behind } else { middle + ahead };
        if border > 0 && border < words.len() {
            let (left, right) = words.split_at(border);
            let (left_indices, right_indices) = indices.split_at_mut(border);
            rayon::join(
                || resolve_ties(left, left_indices, idx_bits, compare),
                || resolve_ties(right, right_indices, idx_bits, compare),
            );
        } else {
            indices.par_sort_unstable_by(|&a, &b| compare(a as usize, b as usize).then(a.cmp(&b)));
        }
        return;
    }
    let mut start = 0;
    while start < words.len() {
        let mut end = start + 1;
        while end < words.len() && prefix(end) == prefix(start) {
            end += 1;
        }
        if end - start > 1 {
            indices[start..end].sort_unstable_by(|&a, &b| compare(a as usize, b as usize).then(a.cmp(&b)));
        }
        start = end;
    }
}
