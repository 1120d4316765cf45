//! Bitshuffle: transposes the bits of blocks of values, so that bits of equal weight come together.
//!
//! Specification: `tile.md`, bitshuffle filter; the bit order is that of the bitshuffle library
//! (Masui et al. 2015, <https://doi.org/10.1016/j.ascom.2015.07.002>). Only parts whose length is a multiple of 8 and of the
//! value's width are shuffled, in blocks of 8192 bytes; values of the last block beyond a multiple of 8 stay where they
//! are. A part whose length is not a multiple of 8 is recorded as two: the largest multiple of 8, and the rest.
//!
//! ```text
//! metadata  ┌ u32 part count ┬ u32 byte length ┬ ... one for each part ┐
//! data      ┌ bit 0 of 8n values ┬ bit 1 of 8n values ┬ ... ┬ up to 7 values as they are ┐   for each block
//! ```
//!
//! A block is done in three transpositions over bytes in the first-level cache, each of which vectorises: values to
//! byte planes; in each group of 8 bytes of a plane the 8 x 8 bits; and each plane's groups to bit planes.
#![expect(
    clippy::indexing_slicing,
    reason = "what is cut off is behind the length from before the output grew; planes are as long as a block"
)]

use crate::byteshuffle::{for_each_part, part_lens, shuffle, unshuffle};
use crate::context::{ChunkContext, ChunkFilter, MetadataReader};
use crate::parts::Parts;
use smalti_types::Result;

/// Bytes that are transposed together.
const BLOCK_BYTE_LEN: usize = 8192;

/// The bitshuffle filter; the datatype gives the width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bitshuffle;

impl ChunkFilter for Bitshuffle {
    fn encode(&self, input: &Parts, output: &mut Parts, context: &ChunkContext) -> Result<()> {
        let width = context.datatype.byte_len();
        let parts: Vec<&[u8]> = input.data.iter().flat_map(split_at_multiple_of_8).collect();
        output.metadata.push_with(|own| part_lens(own, parts.iter().copied()));
        input.metadata.iter().for_each(|part| output.metadata.push(part));
        output.data.push_with(|out| {
            for part in parts {
                let start = out.len();
                out.resize(start + part.len(), 0);
                bitshuffle(part, &mut out[start..], width);
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
            bitunshuffle(part, out, context.datatype.byte_len());
            Ok(())
        })
    }
}

fn split_at_multiple_of_8(part: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (body, rest) = part.split_at(part.len() - part.len() % 8);
    [Some(body), (!rest.is_empty()).then_some(rest)].into_iter().flatten()
}

/// Shuffles one part of values of `width` bytes (1, 2, 4 or 8); both slices have the same length.
pub(crate) fn bitshuffle(input: &[u8], out: &mut [u8], width: usize) {
    let mut planes = [0; BLOCK_BYTE_LEN];
    for_each_block(input, out, width, |block, out| {
        let planes = &mut planes[..block.len()];
        shuffle(block, planes, width);
        transpose_bits(planes);
        let plane_byte_len = block.len() / width;
        for (plane, out) in planes.chunks_exact(plane_byte_len).zip(out.chunks_exact_mut(plane_byte_len)) {
            shuffle(plane, out, 8);
        }
    });
}

/// Undoes [`bitshuffle`].
pub(crate) fn bitunshuffle(input: &[u8], out: &mut [u8], width: usize) {
    let mut planes = [0; BLOCK_BYTE_LEN];
    for_each_block(input, out, width, |block, out| {
        let planes = &mut planes[..block.len()];
        let plane_byte_len = block.len() / width;
        for (bits, plane) in block.chunks_exact(plane_byte_len).zip(planes.chunks_exact_mut(plane_byte_len)) {
            unshuffle(bits, plane, 8);
        }
        transpose_bits(planes);
        unshuffle(planes, out, width);
    });
}

/// Calls `transpose` for what is shuffled of each block, and copies what is not.
#[inline(always)]
fn for_each_block(input: &[u8], out: &mut [u8], width: usize, mut transpose: impl FnMut(&[u8], &mut [u8])) {
    if !input.len().is_multiple_of(width) || !input.len().is_multiple_of(8) {
        return out.copy_from_slice(input);
    }
    for (block, out) in input.chunks(BLOCK_BYTE_LEN).zip(out.chunks_mut(BLOCK_BYTE_LEN)) {
        let shuffled_byte_len = block.len() - block.len() % (8 * width);
        let (block, left_over) = block.split_at(shuffled_byte_len);
        let (out, out_left_over) = out.split_at_mut(shuffled_byte_len);
        out_left_over.copy_from_slice(left_over);
        if !block.is_empty() {
            transpose(block, out);
        }
    }
}

/// Transposes the 8 x 8 bits of every group of 8 bytes: bit `b` of byte `i` changes places with bit `i` of byte `b`
/// (Warren, Hacker's Delight, 7-3).
#[inline(always)]
fn transpose_bits(bytes: &mut [u8]) {
    let (groups, _) = bytes.as_chunks_mut::<8>();
    for group in groups {
        let mut bits = u64::from_le_bytes(*group);
        for (shift, mask) in
            [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
        {
            let differing = (bits ^ (bits >> shift)) & mask;
            bits ^= differing ^ (differing << shift);
        }
        *group = bits.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;

    #[test]
    fn the_lowest_bits_of_eight_bytes_make_the_first_byte() {
        let mut out = [0; 8];
        bitshuffle(&[1, 0, 1, 0, 0, 0, 0, 0x83], &mut out, 1);
        assert_eq!(out, [0b1000_0101, 0b1000_0000, 0, 0, 0, 0, 0, 0b1000_0000]);
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        golden::check_chunk_filter("bitshuffle", |_| Bitshuffle);
    }

    #[test]
    fn damaged_chunks_are_errors() {
        golden::check_damage(&Bitshuffle);
    }

    proptest! {
        #[test]
        fn every_length_and_width_returns(
            seed in proptest::collection::vec(any::<u8>(), 1..50), byte_len in 0..20_000usize, width in 0..4u32,
        ) {
            let width = 1 << width;
            let input: Vec<u8> = (0..byte_len).map(|i| seed[i % seed.len()] ^ (i / 7) as u8).collect();
            let (mut shuffled, mut back) = (vec![0; byte_len], vec![0; byte_len]);
            bitshuffle(&input, &mut shuffled, width);
            bitunshuffle(&shuffled, &mut back, width);
            prop_assert_eq!(back, input);
        }
    }
}
