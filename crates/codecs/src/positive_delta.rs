//! Positive delta: cuts a part into windows and stores the differences of neighbours, none of which may be negative.
//! Small differences then shrink under bit-width reduction or a compressor.
//!
//! Specification: `tile.md`, positive-delta encoding filter. The filter acts on integers, bytes and booleans and, from
//! format version 20 on, dates and times.
//!
//! ```text
//! metadata  ┌ u32 window count ┬ window ┬ window ┬ ... ┐
//! window    ┌ first value ┬ u32 length in bytes ┐
//! data      ┌ 0 ┬ v1 - v0 ┬ v2 - v1 ┬ ... ┐   for each window
//! ```
//!
//! A window whose length is no whole number of values is stored as it is; its header then holds as much of a first value
//! as there is, and zeros.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "windows of two have two values; what is cut off is behind the length from before the output grew; a chunk has less than 4 GiB, as the codec checks before every filter"
)]

use crate::bit_width_reduction::window_byte_len;
use crate::context::{ChunkContext, ChunkFilter, MetadataReader};
use crate::parts::Parts;
use crate::words::{Word, dispatch_integer, pairs, prefix_scan, words, words_mut};
use smalti_types::{Error, Result};

/// The positive delta filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PositiveDelta {
    /// The greatest length of a window in bytes; windows are cut to whole values.
    pub(crate) max_window_byte_len: u32,
}

impl ChunkFilter for PositiveDelta {
    fn encode(&self, input: &Parts, output: &mut Parts, context: &ChunkContext) -> Result<()> {
        dispatch_integer!(context.datatype.physical(), W => self.encode_words::<W>(input, output))
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
        dispatch_integer!(context.datatype.physical(), W => decode_words::<W>(metadata, data, out))
    }
}

impl PositiveDelta {
    fn encode_words<W: Word>(&self, input: &Parts, output: &mut Parts) -> Result<()> {
        let window_byte_len = window_byte_len::<W>("positive_delta", self.max_window_byte_len)?;
        let windows = || input.data.iter().flat_map(|part| part.chunks(window_byte_len));
        output.metadata.push_with(|own| {
            own.extend_from_slice(&(windows().count() as u32).to_le_bytes());
            for window in windows() {
                let mut first = W::ZERO.store();
                let byte_len = window.len().min(size_of::<W>());
                bytemuck::bytes_of_mut(&mut first)[..byte_len].copy_from_slice(&window[..byte_len]);
                own.extend_from_slice(bytemuck::bytes_of(&first));
                own.extend_from_slice(&(window.len() as u32).to_le_bytes());
            }
        });
        input.metadata.iter().for_each(|part| output.metadata.push(part));
        output.data.push_with(|out| {
            let start = out.len();
            out.extend_from_slice(input.data.bytes());
            let mut rest = &mut out[start..];
            for window in windows() {
                let (deltas, behind) = rest.split_at_mut(window.len());
                if let (values, []) = words::<W>(window) {
                    encode_window::<W>(values, words_mut::<W>(deltas).0)?;
                }
                rest = behind;
            }
            Ok(())
        })
    }
}

fn encode_window<W: Word>(values: &[W::Bytes], out: &mut [W::Bytes]) -> Result<()> {
    let falls = |pair: &[W::Bytes]| W::load(pair[1]) < W::load(pair[0]);
    // Without an early exit, so that the comparisons vectorise.
    if values.windows(2).fold(false, |any, pair| any | falls(pair)) {
        let pair = values.windows(2).find(|pair| falls(pair)).unwrap_or_default();
        return Err(Error::invalid(format!(
            "filter positive_delta: the values {:?} fall, and negative differences cannot be stored",
            pair.iter().map(|value| W::load(*value)).collect::<Vec<_>>()
        )));
    }
    pairs::<W>(values, out, |before, value| value.minus(before));
    if let Some(first) = out.first_mut() {
        *first = W::ZERO.store();
    }
    Ok(())
}

fn decode_words<W: Word>(
    metadata: &mut MetadataReader<'_>,
    mut data: &[u8],
    mut out: &mut [u8],
) -> Result<()> {
    for _ in 0..metadata.count(size_of::<W>() + 4, "window_count")? {
        let first = W::load(metadata.value("window.first")?);
        let byte_len = metadata.len32("window.byte_len")?;
        let room = std::mem::take(&mut out);
        let (Some((window, data_rest)), Some((values, out_rest))) =
            (data.split_at_checked(byte_len), room.split_at_mut_checked(byte_len))
        else {
            return Err(metadata.corrupt(
                "window.byte_len",
                format!("a window of {byte_len} bytes and {} bytes of data are left", data.len()),
            ));
        };
        match words::<W>(window) {
            (deltas, []) => prefix_scan(deltas, words_mut::<W>(values).0, first, W::plus),
            _ => values.copy_from_slice(window),
        }
        (data, out) = (data_rest, out_rest);
    }
    if !data.is_empty() || !out.is_empty() {
        return Err(
            metadata.corrupt("window_count", format!("{} bytes of data are in no window", data.len()))
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;
    use smalti_types::{Datatype, ErrorKind};

    #[test]
    fn windows_start_afresh() {
        let mut input = Parts::default();
        input.data.push(&[3, 4, 1, 2, 9]);
        let context = ChunkContext { datatype: Datatype::UInt8, cell_byte_len: 1 };
        let mut output = Parts::default();
        PositiveDelta { max_window_byte_len: 2 }.encode(&input, &mut output, &context).unwrap();
        assert_eq!(output.metadata.bytes(), [3, 0, 0, 0, 3, 2, 0, 0, 0, 1, 2, 0, 0, 0, 9, 1, 0, 0, 0]);
        assert_eq!(output.data.bytes(), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn falling_values_are_refused() {
        let error = encode_window::<i8>(&[[1], [255]], &mut [[0]; 2]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("[1, -1]"), "{error}");
        encode_window::<u8>(&[[1], [255]], &mut [[0]; 2]).unwrap();
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        golden::check_chunk_filter("positive_delta", |record| PositiveDelta {
            max_window_byte_len: record.number("window"),
        });
    }

    #[test]
    fn damaged_chunks_are_errors() {
        golden::check_damage(&PositiveDelta { max_window_byte_len: 40 });
    }

    proptest! {
        #[test]
        fn rising_parts_of_every_length_return(
            mut values in proptest::collection::vec(any::<u64>(), 0..60), cut in 0..8usize, window in 8..100u32,
        ) {
            values.iter_mut().for_each(|value| *value >>= 1);
            values.sort();
            let bytes: &[u8] = bytemuck::cast_slice(&values);
            let filter = PositiveDelta { max_window_byte_len: window };
            let bytes = &bytes[..bytes.len().saturating_sub(cut)];
            golden::check_return(&filter, bytes, &[Datatype::Int64, Datatype::UInt64]);
        }
    }
}
