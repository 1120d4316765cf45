//! Parallel radix sort of machine words.

use crate::check::{CELLS_BETWEEN_CHECKS, Check};
use crate::merge_sort::{MergeSort, part_ends};
use smalti_types::Result;
use smalti_types::parallel;

/// Below this many words per thread a further split costs more than it gives.
const MIN_PART: usize = 1 << 15;
/// The widest digit: its counters and the ends of its buckets stay in the first-level cache.
const DIGIT_BITS: u32 = 11;
/// The narrowest, of few words: the counters of a wider one would take longer than the words.
const LEAST_DIGIT_BITS: u32 = 6;
/// Words that stay in the second-level cache, with as many beside them, while digit after digit is looked at.
const CACHED_PART: usize = 1 << 16;
/// The digit by which more words are split into parts: so many pages are written to at a time that the processor remembers where they are.
const SPLIT_BITS: u32 = 8;
/// Words that are sorted by comparisons.
const SHORT_PART: usize = 1 << 7;
/// Counters of a digit, as many as the widest has values: that their number is known spares the check of each index.
type Counters = [u32; 1 << DIGIT_BITS];

/// Sorts words that are 0 from bit `high` on, and that already ascend where the bits from `low` on are equal.
///
/// # Errors
/// What `check` returns; the words are in no order then.
pub(crate) fn sort_words(words: &mut [u64], low: u32, high: u32, check: Check<'_>) -> Result<()> {
    if words.len() <= 1 << 9 {
        words.sort_unstable();
        return Ok(());
    }
    let mut scratch = vec![0u64; words.len()];
    let part_count = if words.len() < 2 * MIN_PART {
        1
    } else {
        (words.len() / MIN_PART).min(parallel::thread_count()).next_power_of_two()
    };
    let leaf = |part: &mut [u64], scratch: &mut [u64]| {
        sort_part((part, scratch), (low, high), false, &mut Vec::new(), check).map(|()| false)
    };
    let ends = part_ends(words.len(), part_count);
    MergeSort { leaf, compare: u64::cmp, check }.sort(words, &mut scratch, &ends)
}

/// Sorts words by their bits from `low` to `high`, into the buffer beside them where that is wanted. Many are split by their highest digit first, so
/// that the rest is done in the cache, part by part.
fn sort_part(
    (words, beside): (&mut [u64], &mut [u64]),
    (low, high): (u32, u32),
    into_beside: bool,
    counts: &mut Vec<Counters>,
    check: Check<'_>,
) -> Result<()> {
    if words.len() <= CACHED_PART {
        check()?;
        let is_beside = sort_digits(words, beside, (low, high), counts);
        match (is_beside, into_beside) {
            (true, false) => words.copy_from_slice(beside),
            (false, true) => beside.copy_from_slice(words),
            _ => {}
        }
        return Ok(());
    }
    let bits = high.saturating_sub(low);
    let split = high - bits.min(SPLIT_BITS);
    let part_of = |word: u64| (word >> split) as usize & ((1 << SPLIT_BITS) - 1);
    let mut starts = [0usize; 1 << SPLIT_BITS];
    for words in words.chunks(CELLS_BETWEEN_CHECKS) {
        check()?;
        for &word in words {
            starts[part_of(word)] += 1;
        }
    }
    let is_one_part = bits == 0 || starts.contains(&words.len());
    if is_one_part {
        if split > low {
            return sort_part((words, beside), (low, split), into_beside, counts, check);
        }
        if into_beside {
            beside.copy_from_slice(words);
        }
        return Ok(());
    }
    let mut start = 0;
    for at in &mut starts {
        start += std::mem::replace(at, start);
    }
    for words in words.chunks(CELLS_BETWEEN_CHECKS) {
        check()?;
        for &word in words {
            let at = &mut starts[part_of(word)];
            beside[*at] = word;
            *at += 1;
        }
    }
    // Each part ends where the next begins.
    let mut start = 0;
    for end in starts {
        let part = (&mut beside[start..end], &mut words[start..end]);
        sort_part(part, (low, split), !into_beside, counts, check)?;
        start = end;
    }
    Ok(())
}

/// Sorts by digits from the least significant on; says whether the result is in the buffer beside the words.
fn sort_digits(
    words: &mut [u64],
    beside: &mut [u64],
    (low, high): (u32, u32),
    counts: &mut Vec<Counters>,
) -> bool {
    if words.len() <= SHORT_PART {
        // Their bits below `low` ascend where the others are equal, and there are none above `high` in which they differ.
        words.sort_unstable();
        return false;
    }
    let bits = high.saturating_sub(low);
    if bits == 0 {
        return false;
    }
    let widest = words.len().ilog2().clamp(LEAST_DIGIT_BITS, DIGIT_BITS);
    let passes = bits.div_ceil(widest);
    let digit_bits = bits.div_ceil(passes);
    let radix = 1usize << digit_bits;
    counts.resize(counts.len().max(passes as usize), [0; 1 << DIGIT_BITS]);
    for counts in counts.iter_mut().take(passes as usize) {
        counts[..radix].fill(0);
    }
    let first = Digit { shift: low, bits: digit_bits };
    match &mut counts[..passes as usize] {
        [a] => count(words, first, [a]),
        [a, b] => count(words, first, [a, b]),
        [a, b, c] => count(words, first, [a, b, c]),
        [a, b, c, d] => count(words, first, [a, b, c, d]),
        all => all.iter_mut().zip(0..).for_each(|(counts, pass)| count(words, first.behind(pass), [counts])),
    }
    let (mut from, mut to) = (words, beside);
    let mut is_beside = false;
    for (pass, counts) in (0..passes).zip(counts) {
        if counts[..radix].iter().any(|&count| count as usize == from.len()) {
            continue;
        }
        let mut start = 0;
        for count in &mut counts[..radix] {
            start += std::mem::replace(count, start);
        }
        let digit = first.behind(pass);
        for &word in &*from {
            let at = &mut counts[digit.of(word)];
            to[*at as usize] = word;
            *at += 1;
        }
        (from, to) = (to, from);
        is_beside = !is_beside;
    }
    is_beside
}

/// Some neighbouring bits of a word.
#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    bits: u32,
}

impl Digit {
    /// The digit so many behind.
    fn behind(self, count: u32) -> Digit {
        Digit { shift: self.shift + count * self.bits, ..self }
    }

    #[inline(always)]
    fn of(self, word: u64) -> usize {
        (word >> self.shift) as usize & ((1 << self.bits) - 1) & ((1 << DIGIT_BITS) - 1)
    }
}

/// Counts the values of a digit and of those behind it.
#[inline(always)]
fn count<const N: usize>(words: &[u64], first: Digit, mut counts: [&mut Counters; N]) {
    let digits: [Digit; N] = std::array::from_fn(|at| first.behind(at as u32));
    for &word in words {
        for (counts, digit) in counts.iter_mut().zip(digits) {
            counts[digit.of(word)] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::UNSTOPPED;

    #[test]
    fn words_are_sorted_for_any_count_and_width() {
        let mut seed = 3u64;
        for count in [0, 1, 2, 513, 5_000, 70_000, 200_000] {
            for bits in [0u32, 1, 7, 11, 12, 30, 44] {
                // Spread evenly, or most of them among few.
                for crowd in [0, bits / 2, bits] {
                    let mut words: Vec<u64> = (0..count as u64)
                        .map(|idx| {
                            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            let taken = if seed >> 9 & 7 == 0 { bits } else { bits - crowd };
                            seed.checked_shr(64 - taken).unwrap_or(0) << 20 | idx
                        })
                        .collect();
                    let mut expected = words.clone();
                    expected.sort_unstable();
                    sort_words(&mut words, 20, 20 + bits, UNSTOPPED).unwrap();
                    assert_eq!(words, expected, "{count} words of {bits} bits, {crowd} of them mostly 0");
                }
            }
        }
    }
}
