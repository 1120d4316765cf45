//! Double delta: the first two values, then the differences of differences as sign and magnitude in the least number
//! of bits that holds them all. Regular sequences, such as timestamps, take a few bits a value.
//!
//! Specification: `filters/double_delta.md`. A compressor: it sits in the frame of `compression.rs` and treats each part on
//! its own.
//!
//! ```text
//! ┌ u8 bits ┬ u64 value count ┬ v0 ┬ v1 ┬ bit stream ┐      bits < width of the type - 1
//! ┌ u8 bits ┬ u64 value count ┬ v0 ┬ v1 ┬ v2 ┬ ...   ┐      otherwise: nothing would be gained
//!
//! bit stream   for each value from v2 on: 1 bit sign (1 is negative), `bits` bits magnitude, highest first,
//!              cut into words of 64 bits that are filled from the top and stored little-endian; zeros at the end
//! ```
//!
//! `bits` holds the magnitudes of all second differences and of the very first difference, and is at least 1; with fewer
//! than three values it is 0. All differences are taken in signed 64-bit integers; values whose differences
//! do not fit are refused, as libtiledb refuses them.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "bits are moved on purpose; the length of the stream is checked before it is unpacked"
)]

use crate::context::{ChunkContext, PartCodec};
use crate::delta::{integer_kind, take_value_count, whole_words};
use crate::words::{Word, dispatch_integer, words_mut};
use multiversion::multiversion;
use smalti_types::{Datatype, Error, Result};

/// The double delta compressor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DoubleDelta {
    /// The type to take the bytes for; `None` or `ANY` for the field's own.
    pub(crate) reinterpret: Option<Datatype>,
}

impl PartCodec for DoubleDelta {
    fn compress(&self, part: &[u8], out: &mut Vec<u8>, context: &ChunkContext) -> Result<()> {
        let kind = integer_kind("double_delta", self.reinterpret, context.datatype)?;
        dispatch_integer!(kind, W => compress::<W>(part, out))
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8], context: &ChunkContext) -> Result<()> {
        let kind = integer_kind("double_delta", self.reinterpret, context.datatype)?;
        dispatch_integer!(kind, W => decompress::<W>(compressed, out))
    }
}

fn compress<W: Word>(part: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let values = whole_words::<W>("double_delta", part)?;
    let bits = magnitude_bits::<W>(values).ok_or_else(|| {
        Error::invalid(
            "filter double_delta: differences of neighbouring values, or of such differences, do not fit in a signed \
             64-bit integer",
        )
    })?;
    out.push(bits as u8);
    out.extend_from_slice(&(values.len() as u64).to_le_bytes());
    match values {
        [first, second, ..] if bits < W::BITS - 1 => {
            out.extend_from_slice(bytemuck::bytes_of(first));
            out.extend_from_slice(bytemuck::bytes_of(second));
            pack::<W>(values, bits, out);
        }
        _ => out.extend_from_slice(part),
    }
    Ok(())
}

/// The bits that hold every magnitude; `None` when a difference overflows.
fn magnitude_bits<W: Word>(values: &[W::Bytes]) -> Option<u32> {
    let [first, second, _, ..] = values else { return Some(0) };
    let first_delta = difference(W::load(*second), W::load(*first))?;
    // The bit length of the union of all magnitudes is that of the greatest.
    let union = first_delta.unsigned_abs() | 1;
    let union = match W::BITS < 64 {
        true => union | narrow_magnitudes::<W>(values),
        false => union | wide_magnitudes::<W>(first_delta, &values[1..])?,
    };
    Some(u64::BITS - union.leading_zeros())
}

/// The union of the magnitudes of all second differences of values of at most 32 bits, which no difference overflows.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn narrow_magnitudes<W: Word>(values: &[W::Bytes]) -> u64 {
    let triples = values.iter().zip(&values[1..]).zip(&values[2..]);
    triples.fold(0, |union, ((a, b), c)| {
        union | second_difference(W::load(*a), W::load(*b), W::load(*c)).unsigned_abs()
    })
}

/// As [`narrow_magnitudes`], of values of 64 bits behind a first difference; `None` when a difference overflows.
fn wide_magnitudes<W: Word>(mut delta: i64, values: &[W::Bytes]) -> Option<u64> {
    let mut union = 0;
    for (before, next) in values.iter().zip(&values[1..]) {
        let next_delta = difference(W::load(*next), W::load(*before))?;
        union |= next_delta.checked_sub(delta)?.unsigned_abs();
        delta = next_delta;
    }
    Some(union)
}

#[inline(always)]
fn difference<W: Word>(value: W, before: W) -> Option<i64> {
    if W::BITS < 64 {
        Some(value.to_u64() as i64 - before.to_u64() as i64)
    } else {
        i64::try_from(value.widen() - before.widen()).ok()
    }
}

/// The difference of the differences of three values in a row; it does not overflow where [`magnitude_bits`] found none.
#[inline(always)]
fn second_difference<W: Word>(a: W, b: W, c: W) -> i64 {
    let (a, b, c) = (a.to_u64(), b.to_u64(), c.to_u64());
    c.wrapping_sub(b).wrapping_sub(b.wrapping_sub(a)) as i64
}

/// Second differences that are packed at once: whatever their width, they fill whole words.
const BLOCK_LEN: usize = 64;

/// Appends the bit stream of three values or more.
fn pack<W: Word>(values: &[W::Bytes], bits: u32, out: &mut Vec<u8>) {
    let width = bits as usize + 1;
    let word_count = ((values.len() - 2) * width).div_ceil(64);
    out.reserve(word_count * 8);
    let mut words_left = word_count;
    // Each block takes two values more than it packs: those in front of its first.
    for start in (0..values.len() - 2).step_by(BLOCK_LEN) {
        let end = values.len().min(start + BLOCK_LEN + 2);
        let words = packed_block::<W>(&values[start..end], bits);
        let word_count = words_left.min(width);
        words_left -= word_count;
        out.extend_from_slice(bytemuck::cast_slice(&words[..word_count]));
    }
}

/// The words, in little-endian order, of the second differences of up to `BLOCK_LEN` + 2 values; those behind the last are 0.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn packed_block<W: Word>(values: &[W::Bytes], bits: u32) -> [u64; BLOCK_LEN] {
    packed_block_plain::<W>(values, bits)
}

#[inline(always)]
fn packed_block_plain<W: Word>(values: &[W::Bytes], bits: u32) -> [u64; BLOCK_LEN] {
    let mut fields = [0; BLOCK_LEN];
    let triples = values.iter().zip(&values[1..]).zip(&values[2..]);
    for (field, ((a, b), c)) in fields.iter_mut().zip(triples) {
        let second_difference = second_difference(W::load(*a), W::load(*b), W::load(*c));
        *field = u64::from(second_difference < 0) << bits | second_difference.unsigned_abs();
    }
    // Neighbours become one field, as long as two of them fit in a word: there are fewer to be cut at the ends of words.
    let (mut len, mut width) = (BLOCK_LEN, bits + 1);
    while width <= 32 {
        len /= 2;
        for idx in 0..len {
            fields[idx] = fields[2 * idx] << width | fields[2 * idx + 1];
        }
        width *= 2;
    }
    let mut words = [0; BLOCK_LEN];
    let (mut pending, mut room, mut word_idx) = (0, 64, 0);
    for field in &fields[..len] {
        if width < room {
            pending = pending << width | field;
            room -= width;
        } else {
            let left = width - room;
            // `pending << room`, which is 0 where a whole word is free.
            words[word_idx] = (pending << (room - 1) << 1 | field >> left).to_le();
            word_idx += 1;
            // Bits of the word before leave at the top.
            (pending, room) = (*field, 64 - left);
        }
    }
    words
}

fn decompress<W: Word>(compressed: &[u8], out: &mut [u8]) -> Result<()> {
    let corrupt =
        |message: String| Error::corrupt(format!("filter double_delta: {message}")).in_field("chunk", "data");
    let Some((&bits, rest)) = compressed.split_first() else {
        return Err(corrupt("a compressed part is empty".into()));
    };
    let bits = u32::from(bits);
    let rest = take_value_count::<W>("double_delta", rest, out)?;
    if bits >= W::BITS - 1 {
        if rest.len() != out.len() {
            return Err(corrupt(format!(
                "{} bytes are stored as they are, {} are wanted",
                rest.len(),
                out.len()
            )));
        }
        out.copy_from_slice(rest);
        return Ok(());
    }
    let head_byte_len = out.len().min(2 * size_of::<W>());
    let Some((head, stream)) = rest.split_at_checked(head_byte_len) else {
        return Err(corrupt(format!("{} bytes are too few for the first values", rest.len())));
    };
    let (out_head, out) = out.split_at_mut(head_byte_len);
    out_head.copy_from_slice(head);
    let ([first, second], out) = (
        match words_mut::<W>(out_head).0 {
            [first, second] => [W::load(*first), W::load(*second)],
            _ => return Ok(()),
        },
        words_mut::<W>(out).0,
    );
    let (stream, _) = stream.as_chunks::<8>();
    if stream.len() < (out.len() * (bits as usize + 1)).div_ceil(64) {
        return Err(corrupt(format!(
            "{} words do not hold {} second differences of {} bits",
            stream.len(),
            out.len(),
            bits + 1
        )));
    }
    unpack(first, second, stream, bits, out);
    Ok(())
}

/// Reads one second difference for each word of `out`; the caller has checked that the stream is long enough.
fn unpack<W: Word>(first: W, second: W, stream: &[[u8; 8]], bits: u32, out: &mut [W::Bytes]) {
    let value = second.to_u64();
    let mut last = Last { value, delta: value.wrapping_sub(first.to_u64()) };
    for (out, words) in out.chunks_mut(BLOCK_LEN).zip(stream.chunks(bits as usize + 1)) {
        unpack_block::<W>(&mut last, words, bits, out);
    }
}

/// The value in front of those to come, and what it has more than the one before it.
#[derive(Clone, Copy)]
struct Last {
    value: u64,
    delta: u64,
}

/// Undoes [`packed_block`], for up to `BLOCK_LEN` values; `words` holds the fields of all.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn unpack_block<W: Word>(last: &mut Last, words: &[[u8; 8]], bits: u32, out: &mut [W::Bytes]) {
    unpack_block_plain::<W>(last, words, bits, out);
}

#[inline(always)]
fn unpack_block_plain<W: Word>(last: &mut Last, words: &[[u8; 8]], bits: u32, out: &mut [W::Bytes]) {
    // From the last word to the first they are one number, whose highest bits are the first field.
    let mut number = [0; BLOCK_LEN + 1];
    for (word, stored) in number[..=bits as usize].iter_mut().rev().zip(words) {
        *word = u64::from_le_bytes(*stored);
    }
    // Neighbours are one field at first, as many as fit in a word: there are fewer to be looked for across words.
    let halvings = (64 / (bits + 1)).ilog2();
    let (mut len, mut width) = (BLOCK_LEN >> halvings, (bits + 1) << halvings);
    let [mut fields, mut halves] = [&mut [0; BLOCK_LEN], &mut [0; BLOCK_LEN]];
    let mut bit_idx = len * width as usize;
    for field in &mut fields[..len] {
        bit_idx -= width as usize;
        let (word_idx, shift) = (bit_idx / 64 % BLOCK_LEN, bit_idx % 64);
        // `high << (64 - shift)`, which is 0 where `shift` is 0.
        *field = number[word_idx] >> shift | number[word_idx + 1] << 1 << (63 - shift);
    }
    while len < BLOCK_LEN {
        width /= 2;
        halve(&fields[..len], halves, width);
        (fields, halves) = (halves, fields);
        len *= 2;
    }
    // Bits above a field are those of others.
    let magnitude_mask = (1_u64 << bits) - 1;
    for field in &mut *fields {
        let (sign, magnitude) = (*field >> bits & 1, *field & magnitude_mask);
        *field = (magnitude ^ sign.wrapping_neg()).wrapping_add(sign);
    }
    let Last { mut value, mut delta } = *last;
    for (out, second_difference) in out.iter_mut().zip(&*fields) {
        delta = delta.wrapping_add(*second_difference);
        value = value.wrapping_add(delta);
        *out = W::truncate(value).store();
    }
    *last = Last { value, delta };
}

/// Divides each field into its upper bits and its `width` lower ones.
#[inline(always)]
fn halve(fields: &[u64], halves: &mut [u64; BLOCK_LEN], width: u32) {
    let mask = (1_u64 << width) - 1;
    let (fields, rest) = fields.as_chunks::<4>();
    let (halves, halves_of_rest) = halves.split_at_mut(8 * fields.len());
    for (halves, fields) in halves.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
        // In two steps, which the compiler turns into vectors.
        let (upper, lower) = (fields.map(|field| field >> width), fields.map(|field| field & mask));
        *halves = std::array::from_fn(|idx| if idx % 2 == 0 { upper[idx / 2] } else { lower[idx / 2] });
    }
    for (halves, field) in halves_of_rest.as_chunks_mut::<2>().0.iter_mut().zip(rest) {
        *halves = [field >> width, field & mask];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;

    fn packed<W: Word>(values: &[W]) -> Result<Vec<u8>> {
        let part: Vec<u8> =
            values.iter().flat_map(|value| bytemuck::bytes_of(&value.store()).to_vec()).collect();
        let mut out = Vec::new();
        compress::<W>(&part, &mut out)?;
        let mut back = vec![0xAA; part.len()];
        decompress::<W>(&out, &mut back).unwrap();
        assert_eq!(back, part);
        Ok(out)
    }

    #[test]
    fn signs_and_magnitudes_are_packed_from_the_top() {
        // First difference 1; second differences 0, 2, -3: two bits and a sign each.
        let bytes = packed::<u16>(&[10, 11, 12, 15, 15]).unwrap();
        assert_eq!(bytes[..9], [2, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[9..13], [10, 0, 11, 0]);
        assert_eq!(bytes[13..], (0b000_010_111u64 << 55).to_le_bytes());
    }

    #[test]
    fn the_first_difference_counts_for_the_width() {
        assert_eq!(packed::<u32>(&[0, 1000, 2000]).unwrap()[0], 10);
        assert_eq!(packed::<u32>(&[0, 1000]).unwrap()[0], 0);
        assert_eq!(packed::<u32>(&[7, 7, 7]).unwrap()[0], 1);
    }

    #[test]
    fn narrow_types_that_gain_nothing_are_stored_as_they_are() {
        assert_eq!(packed::<i8>(&[-128, 127, -128]).unwrap(), [9, 3, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x7F, 0x80]);
    }

    #[test]
    fn differences_beyond_64_bits_are_refused() {
        assert!(packed(&[i64::MIN, i64::MAX, 0]).is_err());
        assert!(packed(&[0, u64::MAX, 0]).is_err());
        assert!(packed(&[0, i64::MAX, 0]).is_err());
        packed(&[0, i64::MIN, i64::MIN]).unwrap_err();
        assert_eq!(
            packed(&[0u64, 1 << 63, 1 << 63]).unwrap_err().kind(),
            smalti_types::ErrorKind::InvalidArgument
        );
        packed(&[i64::MIN, i64::MAX]).unwrap();
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        golden::check_part_codec("double_delta", || DoubleDelta { reinterpret: None });
    }

    #[test]
    fn damaged_parts_are_errors() {
        golden::check_part_damage(&DoubleDelta { reinterpret: None });
    }

    /// The bit stream, bit by bit.
    fn packed_slowly<W: Word>(values: &[W::Bytes], bits: u32) -> Vec<u8> {
        let mut stream: Vec<bool> = Vec::new();
        for triple in values.windows(3) {
            let [a, b, c] = [0, 1, 2].map(|at| W::load(triple[at]).widen());
            let second_difference = c - b - (b - a);
            stream.push(second_difference < 0);
            let magnitude = second_difference.unsigned_abs();
            stream.extend((0..bits).rev().map(|bit| magnitude >> bit & 1 == 1));
        }
        let words = stream.chunks(64).map(|word| {
            word.iter().enumerate().fold(0_u64, |sum, (at, bit)| sum | u64::from(*bit) << (63 - at))
        });
        words.flat_map(u64::to_le_bytes).collect()
    }

    proptest! {
        #[test]
        fn blocks_of_every_width_are_those_made_bit_by_bit_with_vectors_and_without(
            (steps, shift) in (proptest::collection::vec(any::<i64>(), 3..300), 3..63_u32), start: i64,
        ) {
            let mut value = start;
            let values: Vec<[u8; 8]> = steps.iter().map(|step| {
                value = value.wrapping_add(step >> shift);
                value.to_le_bytes()
            }).collect();
            if let Some(bits) = magnitude_bits::<i64>(&values).filter(|bits| *bits < 63) {
                let mut stream = Vec::new();
                pack::<i64>(&values, bits, &mut stream);
                prop_assert_eq!(stream, packed_slowly::<i64>(&values, bits));
            }
            let narrow: Vec<[u8; 4]> = values.iter().map(|value| [value[0], value[1], value[2], value[3]]).collect();
            let bits = magnitude_bits::<u32>(&narrow).unwrap();
            let numbers: Vec<i64> = narrow.iter().map(|value| u32::from_le_bytes(*value).into()).collect();
            let deltas: Vec<i64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let second_differences = deltas.windows(2).map(|pair| pair[1] - pair[0]);
            let greatest = second_differences.chain([deltas[0], 1]).map(i64::unsigned_abs).max().unwrap();
            prop_assert_eq!(bits, u64::BITS - greatest.leading_zeros());
            let mut stream = Vec::new();
            pack::<u32>(&narrow, bits, &mut stream);
            prop_assert_eq!(stream, packed_slowly::<u32>(&narrow, bits));
            for block in narrow.chunks(BLOCK_LEN + 2).filter(|block| block.len() > 2) {
                let words = packed_block::<u32>(block, bits);
                prop_assert_eq!(words, packed_block_plain::<u32>(block, bits));
                let [first, second] = [block[0], block[1]].map(|bytes| u64::from(u32::from_le_bytes(bytes)));
                let before = Last { value: second, delta: second.wrapping_sub(first) };
                let words = words.map(u64::to_ne_bytes);
                for unpack_block in [unpack_block::<u32>, unpack_block_plain::<u32>] {
                    let (mut last, mut back) = (before, block[2..].to_vec());
                    back.fill([0xAA; 4]);
                    unpack_block(&mut last, &words, bits, &mut back);
                    prop_assert_eq!(&back, &block[2..]);
                }
            }
        }

        #[test]
        fn sequences_of_every_bit_width_return(
            steps in proptest::collection::vec(any::<i64>(), 1..200), shift in 2..64u32, start: i64,
        ) {
            let (mut value, mut delta) = (start, 0i64);
            let values: Vec<i64> = steps.iter().map(|step| {
                delta = delta.wrapping_add(step >> shift);
                value = value.wrapping_add(delta);
                value
            }).collect();
            macro_rules! check {
                ($($w:ty)*) => {$(
                    let narrow: Vec<$w> = values.iter().map(|value| *value as $w).collect();
                    let _ = packed::<$w>(&narrow);
                )*};
            }
            check!(u8 u16 u32 u64 i8 i16 i32 i64);
        }
    }
}
