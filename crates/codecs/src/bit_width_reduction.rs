//! Bit-width reduction: cuts a part into windows and stores each window's values less its minimum in the narrowest of
//! 8, 16, 32 or 64 bits that holds them.
//!
//! Specification: `tile.md`, bit-width reduction filter. The filter acts on integers of 2 to 8 bytes and, from format
//! version 20 on, dates and times.
//!
//! ```text
//! metadata  ┌ u32 unfiltered length ┬ u32 window count ┬ window ┬ window ┬ ... ┐
//! window    ┌ minimum, in the values' type ┬ u8 bits ┬ u32 unfiltered length ┐
//! data      ┌ values less the minimum, in `bits` bits each ┐   for each window
//! ```
//!
//! A window of `bits` not below the type's own, or of a length that is no whole number of values, is stored as it is. The
//! width is that of the window's range plus one (signed values: in signed integers). Where that sum overflows the type,
//! libtiledb leaves the minimum uninitialised: in practice that of the window before, which is what is written here; the
//! reader ignores it.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "what is cut off is behind the length from before the output grew; a chunk has less than 4 GiB, as the codec checks before every filter"
)]

use crate::context::{ChunkContext, ChunkFilter, MetadataReader};
use crate::parts::Parts;
use crate::words::{Word, dispatch_integer, words, words_mut};
use multiversion::multiversion;
use smalti_types::{Error, Result};

/// The bit-width reduction filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BitWidthReduction {
    /// The greatest length of a window in bytes; windows are cut to whole values.
    pub(crate) max_window_byte_len: u32,
}

impl ChunkFilter for BitWidthReduction {
    fn encode(&self, input: &Parts, output: &mut Parts, context: &ChunkContext) -> Result<()> {
        dispatch_integer!(context.datatype.physical(), W => self.encode_words::<W>(input, output))
    }

    fn decoded_len(
        &self,
        metadata: MetadataReader<'_>,
        data: &[u8],
        context: &ChunkContext,
    ) -> Result<usize> {
        dispatch_integer!(context.datatype.physical(), W => decoded_byte_len::<W>(metadata, data))
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

/// The length of a window: the greatest multiple of the value's width in `max_window_byte_len`.
///
/// # Errors
/// `InvalidArgument` when not even one value fits.
pub(crate) fn window_byte_len<W: Word>(filter: &'static str, max_window_byte_len: u32) -> Result<usize> {
    let max = max_window_byte_len as usize;
    if max < size_of::<W>() {
        return Err(Error::invalid(format!(
            "filter {filter}: no value of {} bytes fits in a window of {max} bytes",
            size_of::<W>()
        )));
    }
    Ok(max - max % size_of::<W>())
}

impl BitWidthReduction {
    fn encode_words<W: Word>(&self, input: &Parts, output: &mut Parts) -> Result<()> {
        let window_byte_len = window_byte_len::<W>("bit_width_reduction", self.max_window_byte_len)?;
        let windows = || input.data.iter().flat_map(|part| part.chunks(window_byte_len));
        let Parts { metadata, data } = output;
        metadata.push_with(|own| {
            own.extend_from_slice(&(input.data.bytes().len() as u32).to_le_bytes());
            own.extend_from_slice(&(windows().count() as u32).to_le_bytes());
            data.push_with(|out| {
                let mut minimum = W::ZERO;
                for window in windows() {
                    let (values, tail) = words::<W>(window);
                    let bits = reduced_bits(values, &mut minimum);
                    own.extend_from_slice(bytemuck::bytes_of(&minimum.store()));
                    own.push(bits as u8);
                    own.extend_from_slice(&(window.len() as u32).to_le_bytes());
                    match bits {
                        _ if bits >= W::BITS || !tail.is_empty() => out.extend_from_slice(window),
                        8 => narrow::<W, u8>(values, minimum, out),
                        16 => narrow::<W, u16>(values, minimum, out),
                        _ => narrow::<W, u32>(values, minimum, out),
                    }
                }
            });
        });
        input.metadata.iter().for_each(|part| output.metadata.push(part));
        Ok(())
    }
}

/// The bits that the values take less their minimum, which is stored in `minimum` unless range plus one overflows.
#[inline(always)]
fn reduced_bits<W: Word>(values: &[W::Bytes], minimum: &mut W) -> u32 {
    let (mut least, mut greatest) = (W::MAX, W::MIN);
    for value in values {
        let value = W::load(*value);
        least = least.min(value);
        greatest = greatest.max(value);
    }
    let count = greatest.widen() - least.widen() + 1;
    if values.is_empty() || count > W::MAX.widen() {
        return W::BITS;
    }
    *minimum = least;
    let sign_bits = u32::from(W::MIN < W::ZERO);
    [8, 16, 32].into_iter().find(|bits| count < 1 << (bits - sign_bits)).unwrap_or(64)
}

#[inline(always)]
fn narrow<W: Word, N: Word>(values: &[W::Bytes], minimum: W, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + size_of_val(values) / size_of::<W>() * size_of::<N>(), 0);
    for (value, out) in values.iter().zip(words_mut::<N>(&mut out[start..]).0) {
        *out = N::truncate(W::load(*value).minus(minimum).to_u64()).store();
    }
}

#[inline(always)]
fn widen<W: Word, N: Word>(stored: &[u8], minimum: W, out: &mut [u8]) {
    for (stored, out) in words::<N>(stored).0.iter().zip(words_mut::<W>(out).0) {
        *out = W::truncate(N::load(*stored).to_u64()).plus(minimum).store();
    }
}

/// A window as its header describes it.
struct Window<W> {
    minimum: W,
    /// Bits of a stored value; those of the type where the window is stored as it is.
    bits: u32,
    byte_len: usize,
    stored_byte_len: usize,
}

/// Inlined, as a window is of some dozen values: to hand its header over by memory took longer than the values.
#[inline(always)]
fn read_window<W: Word>(metadata: &mut MetadataReader<'_>) -> Result<Window<W>> {
    let minimum = W::load(metadata.value("window.minimum")?);
    let bits = u32::from(metadata.u8("window.bits")?);
    let byte_len = metadata.len32("window.byte_len")?;
    if bits >= W::BITS || !byte_len.is_multiple_of(size_of::<W>()) {
        return Ok(Window { minimum, bits: W::BITS, byte_len, stored_byte_len: byte_len });
    }
    if !matches!(bits, 8 | 16 | 32) {
        return Err(metadata.corrupt("window.bits", format!("{bits} bits are none of 8, 16, 32 and 64")));
    }
    let stored_byte_len = byte_len / size_of::<W>() * (bits as usize / 8);
    Ok(Window { minimum, bits, byte_len, stored_byte_len })
}

fn read_header<W: Word>(metadata: &mut MetadataReader<'_>) -> Result<(usize, usize)> {
    let byte_len = metadata.len32("original_length")?;
    Ok((byte_len, metadata.count(size_of::<W>() + 5, "window_count")?))
}

fn decoded_byte_len<W: Word>(mut metadata: MetadataReader<'_>, data: &[u8]) -> Result<usize> {
    let (byte_len, window_count) = read_header::<W>(&mut metadata)?;
    let (mut windows_byte_len, mut stored_byte_len) = (0usize, 0usize);
    for _ in 0..window_count {
        let window = read_window::<W>(&mut metadata)?;
        windows_byte_len = windows_byte_len.saturating_add(window.byte_len);
        stored_byte_len = stored_byte_len.saturating_add(window.stored_byte_len);
    }
    if windows_byte_len != byte_len || stored_byte_len != data.len() {
        return Err(metadata.corrupt(
            "original_length",
            format!(
                "windows of {windows_byte_len} bytes stored in {stored_byte_len} do not make {byte_len} bytes stored in {}",
                data.len()
            ),
        ));
    }
    Ok(byte_len)
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn decode_words<W: Word>(
    metadata: &mut MetadataReader<'_>,
    mut data: &[u8],
    mut out: &mut [u8],
) -> Result<()> {
    let (_, window_count) = read_header::<W>(metadata)?;
    for _ in 0..window_count {
        let window = read_window::<W>(metadata)?;
        let room = std::mem::take(&mut out);
        let (Some((stored, data_rest)), Some((values, out_rest))) =
            (data.split_at_checked(window.stored_byte_len), room.split_at_mut_checked(window.byte_len))
        else {
            return Err(metadata.corrupt(
                "window.byte_len",
                format!("{} bytes are stored and {} are left", window.stored_byte_len, data.len()),
            ));
        };
        match (window.bits, W::MIN < W::ZERO) {
            (bits, _) if bits >= W::BITS => values.copy_from_slice(stored),
            (8, false) => widen::<W, u8>(stored, window.minimum, values),
            (8, true) => widen::<W, i8>(stored, window.minimum, values),
            (16, false) => widen::<W, u16>(stored, window.minimum, values),
            (16, true) => widen::<W, i16>(stored, window.minimum, values),
            (_, false) => widen::<W, u32>(stored, window.minimum, values),
            (_, true) => widen::<W, i32>(stored, window.minimum, values),
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
    use smalti_types::Datatype;

    fn bits<W: Word>(values: &[W]) -> u32 {
        reduced_bits::<W>(&values.iter().map(|value| value.store()).collect::<Vec<_>>(), &mut W::ZERO.clone())
    }

    #[test]
    fn the_range_plus_one_decides_the_width() {
        assert_eq!(bits(&[5i32, 131]), 8);
        assert_eq!(bits(&[5i32, 132]), 16);
        assert_eq!(bits(&[5u32, 259]), 8);
        assert_eq!(bits(&[5u32, 260]), 16);
        assert_eq!(bits(&[-1i16, 32765]), 16);
        assert_eq!(bits(&[i32::MIN, i32::MAX]), 32);
        assert_eq!(bits(&[0u64, u64::MAX - 1]), 64);
        assert_eq!(bits::<u64>(&[]), 64);
    }

    #[test]
    fn chunks_are_those_of_the_reference_up_to_uninitialised_minima() {
        golden::check_chunk_filter_masked(
            "bit_width_reduction",
            |record| BitWidthReduction { max_window_byte_len: record.number("window") },
            |metadata, datatype| {
                // Until a window has a minimum, libtiledb writes what was on its stack.
                for window in metadata[8..].chunks_mut(datatype.byte_len() + 5) {
                    let (minimum, rest) = window.split_at_mut(datatype.byte_len());
                    if usize::from(rest[0]) < 8 * datatype.byte_len() {
                        break;
                    }
                    minimum.fill(0);
                }
            },
        );
    }

    #[test]
    fn damaged_chunks_are_errors() {
        golden::check_damage(&BitWidthReduction { max_window_byte_len: 40 });
    }

    #[test]
    fn a_window_without_room_for_a_value_is_refused() {
        let context = ChunkContext { datatype: Datatype::Int64, cell_byte_len: 8 };
        let filter = BitWidthReduction { max_window_byte_len: 7 };
        assert!(filter.encode(&Parts::default(), &mut Parts::default(), &context).is_err());
    }

    proptest! {
        #[test]
        fn parts_of_every_length_return(
            values in proptest::collection::vec(any::<u64>(), 0..60), shift in 0..64u32, cut in 0..8usize, window in 8..100u32,
        ) {
            let values: Vec<u64> = values.iter().map(|value| value >> shift).collect();
            let bytes: &[u8] = bytemuck::cast_slice(&values);
            let filter = BitWidthReduction { max_window_byte_len: window };
            golden::check_return(&filter, &bytes[..bytes.len().saturating_sub(cut)], &golden::INTEGERS);
        }
    }
}
