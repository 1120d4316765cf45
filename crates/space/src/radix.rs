//! Parallel radix sort of machine words.

/// Below this many words per thread a further split costs more than it gives.
const MIN_PART: usize = 1 << 15;
/// Words that one task of a parallel merge writes.
const MERGE_TASK: usize = 1 << 16;
/// The widest digit: its counters and the ends of its buckets stay in the first-level cache.
const DIGIT_BITS: u32 = 11;

/// Sorts words that are 0 from bit `high` on, and that already ascend where the bits from `low` on are equal.
pub(crate) fn sort_words(words: &mut [u64], low: u32, high: u32) {
    if words.len() <= 1 << 9 {
        words.sort_unstable();
        return;
    }
    let mut scratch = vec![0u64; words.len()];
    let parts = if words.len() < 2 * MIN_PART {
        1
    } else {
        (words.len() / MIN_PART).min(rayon::current_num_threads()).next_power_of_two()
    };
    sort_part(words, &mut scratch, low, high, parts.trailing_zeros(), false);
}

/// Sorts a part, with the result in `scratch` where that is wanted: halves are sorted into the other buffer and merged.
fn sort_part(words: &mut [u64], scratch: &mut [u64], low: u32, high: u32, splits: u32, into_scratch: bool) {
    if splits == 0 {
        let is_in_scratch = sort_digits(words, scratch, low, high);
        match (is_in_scratch, into_scratch) {
            (true, false) => words.copy_from_slice(scratch),
            (false, true) => scratch.copy_from_slice(words),
            _ => {}
        }
        return;
    }
    let middle = words.len() / 2;
    {
        let (left, right) = words.split_at_mut(middle);
        let (left_scratch, right_scratch) = scratch.split_at_mut(middle);
        rayon::join(
            || sort_part(left, left_scratch, low, high, splits - 1, !into_scratch),
            || sort_part(right, right_scratch, low, high, splits - 1, !into_scratch),
        );
    }
    let (from, to) = if into_scratch { (words, scratch) } else { (scratch, words) };
    let (left, right) = from.split_at(middle);
    merge(left, right, to);
}

/// Sorts by digits from the least significant on; says whether the result is in `scratch`.
fn sort_digits(words: &mut [u64], scratch: &mut [u64], low: u32, high: u32) -> bool {
    let bits = high.saturating_sub(low);
    if bits == 0 {
        return false;
    }
    let passes = bits.div_ceil(DIGIT_BITS);
    let digit_bits = bits.div_ceil(passes);
    let radix = 1usize << digit_bits;
    let digit = |word: u64, pass: u32| (word >> (low + pass * digit_bits)) as usize & (radix - 1);
    let mut counts = vec![0u32; radix * passes as usize];
    for &word in words.iter() {
        for pass in 0..passes {
            counts[pass as usize * radix + digit(word, pass)] += 1;
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
        for &word in from.iter() {
            let at = &mut counts[digit(word, pass)];
            to[*at as usize] = word;
            *at += 1;
        }
        (from, to) = (to, from);
        is_in_scratch = !is_in_scratch;
    }
    is_in_scratch
}

/// Merges two ascending parts into `out`, in parallel where that pays.
fn merge(left: &[u64], right: &[u64], out: &mut [u64]) {
    if out.len() > MERGE_TASK {
        let (long, short) = if left.len() >= right.len() { (left, right) } else { (right, left) };
        let (long_low, long_high) = long.split_at(long.len() / 2);
        let pivot = long_high[0];
        let (short_low, short_high) = short.split_at(short.partition_point(|&word| word < pivot));
        let (out_low, out_high) = out.split_at_mut(long_low.len() + short_low.len());
        rayon::join(|| merge(long_low, short_low, out_low), || merge(long_high, short_high, out_high));
        return;
    }
    let (mut l, mut r) = (0, 0);
    let mut at = 0;
    while let (Some(&a), Some(&b)) = (left.get(l), right.get(r)) {
        let is_left = a <= b;
        out[at] = if is_left { a } else { b };
        l += usize::from(is_left);
        r += usize::from(!is_left);
        at += 1;
    }
    let rest = if l < left.len() { &left[l..] } else { &right[r..] };
    out[at..].copy_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

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
                sort_words(&mut words, 20, 20 + bits);
                assert_eq!(words, expected, "{count} words of {bits} bits");
            }
        }
    }
}
