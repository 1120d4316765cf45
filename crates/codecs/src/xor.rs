//! Xor: replaces every value but the first by its exclusive-or with the value before it. Values that share most of their
//! bits become mostly zero.
//!
//! Specification: `filters/xor.md` (which speaks of 1 to 4 bytes; values of 8 bytes are treated as such too). Each data
//! part starts afresh. Parts must consist of whole values.
//!
//! ```text
//! metadata  ┌ u32 part count ┬ u32 byte length ┬ ... one for each part ┐
//! data      ┌ v0 ┬ v1 ^ v0 ┬ v2 ^ v1 ┬ ... ┐   for each part
//! ```
#![expect(
    clippy::indexing_slicing,
    reason = "what is cut off is behind the length from before the output grew"
)]

use crate::byteshuffle::{for_each_part, part_lens};
use crate::context::{ChunkContext, ChunkFilter, MetadataReader};
use crate::parts::Parts;
use crate::words::{Word, dispatch_width, pairs, prefix_scan, words, words_mut};
use smalti_types::{Error, Result};

/// The xor filter; the datatype gives the width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Xor;

impl ChunkFilter for Xor {
    fn encode(&self, input: &Parts, output: &mut Parts, context: &ChunkContext) -> Result<()> {
        let width = context.datatype.byte_len();
        if let Some(part) = input.data.iter().find(|part| part.len() % width != 0) {
            return Err(Error::invalid(format!(
                "filter xor: {} bytes are no whole number of values of {width} bytes",
                part.len()
            )));
        }
        output.metadata.push_with(|own| part_lens(own, input.data.iter()));
        input.metadata.iter().for_each(|part| output.metadata.push(part));
        output.data.push_with(|out| {
            for part in input.data.iter() {
                let start = out.len();
                out.resize(start + part.len(), 0);
                dispatch_width!(context.datatype, W => xor::<W>(part, &mut out[start..]));
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
        let width = context.datatype.byte_len();
        for_each_part(metadata, data, out, |part, out| {
            if part.len() % width != 0 {
                return Err(Error::corrupt(format!(
                    "filter xor: a part of {} bytes is no whole number of values of {width} bytes",
                    part.len()
                )));
            }
            dispatch_width!(context.datatype, W => unxor::<W>(part, out));
            Ok(())
        })
    }
}

/// Encodes whole words; both slices have the same length.
pub(crate) fn xor<W: Word>(input: &[u8], out: &mut [u8]) {
    pairs::<W>(words::<W>(input).0, words_mut::<W>(out).0, |before, value| value.xor(before));
}

/// Undoes [`xor`].
pub(crate) fn unxor<W: Word>(input: &[u8], out: &mut [u8]) {
    prefix_scan(words::<W>(input).0, words_mut::<W>(out).0, W::ZERO, W::xor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;

    #[test]
    fn the_first_value_stays_and_the_others_are_differences() {
        let mut out = [0; 6];
        xor::<u16>(&[0x0F, 0xF0, 0xFF, 0xF0, 0x00, 0x00], &mut out);
        assert_eq!(out, [0x0F, 0xF0, 0xF0, 0x00, 0xFF, 0xF0]);
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        golden::check_chunk_filter("xor", |_| Xor);
    }

    #[test]
    fn damaged_chunks_are_errors() {
        golden::check_damage(&Xor);
    }

    proptest! {
        #[test]
        fn values_of_every_width_return(input in proptest::collection::vec(any::<u64>(), 0..90)) {
            let input: &[u8] = bytemuck::cast_slice(&input);
            let (mut encoded, mut back) = (vec![0; input.len()], vec![0; input.len()]);
            macro_rules! check {
                ($($w:ty)*) => {$(
                    xor::<$w>(input, &mut encoded);
                    unxor::<$w>(&encoded, &mut back);
                    prop_assert_eq!(&back, input);
                )*};
            }
            check!(u8 u16 u32 u64);
        }
    }
}
