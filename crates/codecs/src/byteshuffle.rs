//! Byteshuffle: transposes a part so that the first bytes of all values come first, then all second bytes, and so on.
//! Bytes of equal weight resemble each other and compress better together.
//!
//! Specification: `tile.md`, byteshuffle filter. The transposition is that of Blosc; it treats each data part on its own
//! and leaves the bytes behind the last whole value where they are.
//!
//! ```text
//! metadata  ┌ u32 part count ┬ u32 byte length ┬ ... one for each part ┐
//! data      ┌ byte 0 of every value ┬ byte 1 of every value ┬ ... ┬ left-over bytes ┐   for each part
//! ```
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "the kernels index arrays of fixed lengths and cut words into bytes; a chunk has less than 4 GiB, as the codec checks before every filter"
)]

use crate::context::{ChunkContext, ChunkFilter, MetadataReader};
use crate::parts::Parts;
use multiversion::multiversion;
use smalti_types::Result;

/// The byteshuffle filter; the datatype gives the width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Byteshuffle;

impl ChunkFilter for Byteshuffle {
    fn encode(&self, input: &Parts, output: &mut Parts, context: &ChunkContext) -> Result<()> {
        output.metadata.push_with(|own| part_lens(own, input.data.iter()));
        input.metadata.iter().for_each(|part| output.metadata.push(part));
        output.data.push_with(|out| {
            for part in input.data.iter() {
                let start = out.len();
                out.resize(start + part.len(), 0);
                shuffle(part, &mut out[start..], context.datatype.byte_len());
            }
        });
        Ok(())
    }

    fn decoded_len(&self, _: MetadataReader<'_>, data: &[u8], _: &ChunkContext) -> Result<usize> {
        Ok(data.len())
    }

    fn decode(
        &self,
        metadata: &mut MetadataReader<'_>,
        data: &[u8],
        out: &mut [u8],
        context: &ChunkContext,
    ) -> Result<()> {
        for_each_part(metadata, data, out, |part, out| {
            unshuffle(part, out, context.datatype.byte_len());
            Ok(())
        })
    }
}

/// Writes a part count and the parts' byte lengths, the metadata that several filters share.
pub(crate) fn part_lens<'a>(own: &mut Vec<u8>, parts: impl ExactSizeIterator<Item = &'a [u8]>) {
    own.extend_from_slice(&(parts.len() as u32).to_le_bytes());
    for part in parts {
        own.extend_from_slice(&(part.len() as u32).to_le_bytes());
    }
}

/// Reads [`part_lens`] and calls `decode` with each part and the bytes of `out` at the same place.
///
/// # Errors
/// `Corrupt` when the lengths do not add up to those of `data` and `out`; those of `decode`.
pub(crate) fn for_each_part(
    metadata: &mut MetadataReader<'_>,
    mut data: &[u8],
    mut out: &mut [u8],
    mut decode: impl FnMut(&[u8], &mut [u8]) -> Result<()>,
) -> Result<()> {
    for _ in 0..metadata.count(4, "part_count")? {
        let byte_len = metadata.len32("part_byte_len")?;
        let rest = std::mem::take(&mut out);
        let (Some((part, data_rest)), Some((part_out, out_rest))) =
            (data.split_at_checked(byte_len), rest.split_at_mut_checked(byte_len))
        else {
            return Err(metadata.corrupt(
                "part_byte_len",
                format!("a part of {byte_len} bytes and {} bytes of data are left", data.len()),
            ));
        };
        decode(part, part_out)?;
        (data, out) = (data_rest, out_rest);
    }
    if !data.is_empty() || !out.is_empty() {
        return Err(
            metadata.corrupt("part_byte_len", format!("{} bytes of data belong to no part", data.len()))
        );
    }
    Ok(())
}

/// Transposes values of `width` bytes (1, 2, 4 or 8); both slices have the same length.
pub(crate) fn shuffle(input: &[u8], out: &mut [u8], width: usize) {
    match width {
        2 => shuffle_values(input, out, |values: &[[u8; 2]; 16]| {
            let plane = |shift: u32| values.map(|value| (u16::from_le_bytes(value) >> shift) as u8);
            [plane(0), plane(8)]
        }),
        4 => shuffle_values(input, out, |values: &[[u8; 4]; 16]| {
            let plane = |shift: u32| values.map(|value| (u32::from_le_bytes(value) >> shift) as u8);
            [plane(0), plane(8), plane(16), plane(24)]
        }),
        8 => shuffle_values(input, out, |values: &[[u8; 8]; 8]| transposed(*values)),
        _ => out.copy_from_slice(input),
    }
}

/// Undoes [`shuffle`], with the vectors that the processor has.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn unshuffle(input: &[u8], out: &mut [u8], width: usize) {
    unshuffle_plain(input, out, width);
}

#[inline(always)]
fn unshuffle_plain(input: &[u8], out: &mut [u8], width: usize) {
    match width {
        2 => unshuffle_values(input, out, |planes: [[u8; 8]; 2]| {
            let [low, high] = planes.map(|plane| spread(u64::from_le_bytes(plane)));
            let pairs = [low[0] | high[0] << 8, low[1] | high[1] << 8];
            std::array::from_fn(|i| ((pairs[i / 4] >> (16 * (i % 4))) as u16).to_le_bytes())
        }),
        // A loop that the compiler knows how to write for AVX2, with fewer steps than by blocks.
        4 => {
            let (values, [a, b, c, d]) = values_and_planes(input, out);
            for ((((value, a), b), c), d) in values.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *value = [*a, *b, *c, *d];
            }
        }
        8 => unshuffle_values(input, out, |planes: [[u8; 8]; 8]| transposed(planes)),
        _ => out.copy_from_slice(input),
    }
}

/// Transposes blocks of `LANES` values by `to_planes`, which the compiler turns into vector instructions.
#[inline(always)]
fn shuffle_values<const WIDTH: usize, const LANES: usize>(
    input: &[u8],
    out: &mut [u8],
    to_planes: impl Fn(&[[u8; WIDTH]; LANES]) -> [[u8; LANES]; WIDTH],
) {
    let (values, tail) = input.as_chunks::<WIDTH>();
    let (planes, out_tail) = out.split_at_mut(input.len() - tail.len());
    out_tail.copy_from_slice(tail);
    let mut planes_left = planes.chunks_exact_mut(values.len().max(1));
    let mut planes: [&mut [u8]; WIDTH] = std::array::from_fn(|_| planes_left.next().unwrap_or_default());
    let (blocks, rest) = values.as_chunks::<LANES>();
    for (block_idx, block) in blocks.iter().enumerate() {
        for (plane, bytes) in planes.iter_mut().zip(to_planes(block)) {
            plane[block_idx * LANES..][..LANES].copy_from_slice(&bytes);
        }
    }
    for (value_idx, value) in rest.iter().enumerate() {
        for (plane, byte) in planes.iter_mut().zip(value) {
            plane[blocks.len() * LANES + value_idx] = *byte;
        }
    }
}

/// Undoes [`shuffle_values`].
#[inline(always)]
fn unshuffle_values<const WIDTH: usize, const LANES: usize>(
    input: &[u8],
    out: &mut [u8],
    to_values: impl Fn([[u8; LANES]; WIDTH]) -> [[u8; WIDTH]; LANES],
) {
    let (values, planes) = values_and_planes(input, out);
    let (blocks, rest) = values.as_chunks_mut::<LANES>();
    let done = blocks.len() * LANES;
    for (block_idx, block) in blocks.iter_mut().enumerate() {
        // By value: given references, the compiler loads byte by byte.
        let mut rows = [[0; LANES]; WIDTH];
        for (row, plane) in rows.iter_mut().zip(planes) {
            row.copy_from_slice(&plane[block_idx * LANES..][..LANES]);
        }
        *block = to_values(rows);
    }
    for (value_idx, value) in rest.iter_mut().enumerate() {
        for (byte, plane) in value.iter_mut().zip(planes) {
            *byte = plane[done + value_idx];
        }
    }
}

/// The values of `out` and the planes of their bytes in `input`; the bytes behind the last whole value are copied.
#[inline(always)]
fn values_and_planes<'i, 'o, const WIDTH: usize>(
    input: &'i [u8],
    out: &'o mut [u8],
) -> (&'o mut [[u8; WIDTH]], [&'i [u8]; WIDTH]) {
    let (values, out_tail) = out.as_chunks_mut();
    let (planes, tail) = input.split_at(input.len() - out_tail.len());
    out_tail.copy_from_slice(tail);
    let mut planes_left = planes.chunks_exact(values.len().max(1));
    (values, std::array::from_fn(|_| planes_left.next().unwrap_or_default()))
}

/// The low and the high four bytes, each byte in 16 bits.
#[inline(always)]
fn spread(bytes: u64) -> [u64; 2] {
    [bytes & 0xFFFF_FFFF, bytes >> 32].map(|half| {
        let pairs = (half | half << 16) & 0x0000_FFFF_0000_FFFF;
        (pairs | pairs << 8) & 0x00FF_00FF_00FF_00FF
    })
}

/// Transposes a matrix of 8 x 8 bytes by swapping blocks of 4 x 4, 2 x 2 and 1 x 1 bytes across the diagonal.
#[inline(always)]
fn transposed(rows: [[u8; 8]; 8]) -> [[u8; 8]; 8] {
    let mut rows = rows.map(u64::from_le_bytes);
    swap_blocks::<4>(&mut rows, 0x0000_0000_FFFF_FFFF);
    swap_blocks::<2>(&mut rows, 0x0000_FFFF_0000_FFFF);
    swap_blocks::<1>(&mut rows, 0x00FF_00FF_00FF_00FF);
    rows.map(u64::to_le_bytes)
}

/// Swaps the upper right with the lower left `SIDE` x `SIDE` bytes of every square of twice that side.
#[inline(always)]
fn swap_blocks<const SIDE: usize>(rows: &mut [u64; 8], left: u64) {
    for upper in 0..8 {
        if upper & SIDE == 0 {
            let differing = ((rows[upper] >> (8 * SIDE)) ^ rows[upper + SIDE]) & left;
            rows[upper] ^= differing << (8 * SIDE);
            rows[upper + SIDE] ^= differing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;

    #[test]
    fn bytes_of_equal_weight_come_together() {
        let input = [0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0xEE];
        let mut out = [0; 13];
        shuffle(&input, &mut out, 4);
        assert_eq!(out, [0x01, 0x11, 0x21, 0x02, 0x12, 0x22, 0x03, 0x13, 0x23, 0x04, 0x14, 0x24, 0xEE]);
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        golden::check_chunk_filter("byteshuffle", |_| Byteshuffle);
    }

    #[test]
    fn damaged_chunks_are_errors() {
        golden::check_damage(&Byteshuffle);
    }

    proptest! {
        #[test]
        fn every_length_and_width_returns(input in proptest::collection::vec(any::<u8>(), 0..700), width in 0..4u32) {
            let width = 1 << width;
            let (mut shuffled, mut back) = (vec![0; input.len()], vec![0; input.len()]);
            shuffle(&input, &mut shuffled, width);
            let count = input.len() / width;
            for (idx, byte) in input[..count * width].iter().enumerate() {
                prop_assert_eq!(shuffled[idx % width * count + idx / width], *byte);
            }
            unshuffle(&shuffled, &mut back, width);
            prop_assert_eq!(&back, &input);
            back.fill(0);
            unshuffle_plain(&shuffled, &mut back, width);
            prop_assert_eq!(back, input);
        }
    }
}
