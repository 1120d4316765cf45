//! Parallel radix sort of machine words.

use crate::check::{CELLS_BETWEEN_CHECKS, Check};
use crate::merge_sort::{MergeSort, part_ends};
use smalti_types::Result;
use smalti_types::parallel;

/// Below this many words per thread a further split costs more than it gives.
const MIN_PART: usize = 1 << 15;
/// The widest digit: its counters and the ends of its buckets stay in the first-level cache.
const DIGIT_BITS: u32 = 11;

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
    let leaf = |part: &mut [u64], scratch: &mut [u64]| sort_digits(part, scratch, low, high, check);
    let ends = part_ends(words.len(), part_count);
    MergeSort { leaf, compare: u64::cmp, check }.sort(words, &mut scratch, &ends)
}

/// Sorts by digits from the least significant on; says whether the result is in `scratch`.
fn sort_digits(
    words: &mut [u64],
    scratch: &mut [u64],
    low: u32,
    high: u32,
    check: Check<'_>,
) -> Result<bool> {
    let bits = high.saturating_sub(low);
    if bits == 0 {
        return Ok(false);
    }
    let passes = bits.div_ceil(DIGIT_BITS);
    let digit_bits = bits.div_ceil(passes);
    let radix = 1usize << digit_bits;
    let digit = |word: u64, pass: u32| (word >> (low + pass * digit_bits)) as usize & (radix - 1);
    let mut counts = vec![0u32; radix * passes as usize];
    for words in words.chunks(CELLS_BETWEEN_CHECKS) {
        check()?;
        for &word in words {
            for pass in 0..passes {
                counts[pass as usize * radix + digit(word, pass)] += 1;
            }
        }
    }
    let (mut from, mut to) = (words, scratch);
    let mut is_in_scratch = false;
    for (pass, counts) in (0..passes).zip(counts.chunks_exact_mut(radix)) {
        if counts.iter().any(|&count| count as usize == from.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for words in from.chunks(CELLS_BETWEEN_CHECKS) {
            check()?;
            for &word in words {
                let at = &mut counts[digit(word, pass)];
                to[*at as usize] = word;
                *at += 1;
            }
        }
        (from, to) = (to, from);
        is_in_scratch = !is_in_scratch;
    }
    Ok(is_in_scratch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::UNSTOPPED;

    #[test]
    fn words_are_sorted_for_any_count_and_width() {
        let mut seed = 3u64;
        for count in [0, 1, 2, 513, 5_000, 70_000, 200_000] {
            for bits in [1u32, 7, 11, 12, 30, 44] {
                let mut words: Vec<u64> = (0..count as u64)
                    .map(|idx| {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (seed >> (64 - bits)) << 20 | idx
                    })
                    .collect();
                let mut expected = words.clone();
                expected.sort_unstable();
                sort_words(&mut words, 20, 20 + bits, UNSTOPPED).unwrap();
                assert_eq!(words, expected, "{count} words of {bits} bits");
            }
        }
    }
}
