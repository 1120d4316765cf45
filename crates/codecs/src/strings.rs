//! What the two codecs of var-sized strings share: the frame in the metadata, and big-endian integers of few bytes.
//!
//! ```text
//! metadata  ┌ u32 0 ┬ u32 1 ┬ u32 strings byte length ┬ u32 encoded byte length ┬ u32 offsets byte length ┬ the codec's own ┐
//! ```
//!
//! The first two numbers stand where compressors count metadata and data parts.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a width is at most 8; offsets that leave the data are met by `get`"
)]

use crate::context::MetadataReader;
use smalti_types::{Error, Result};

/// The lengths in the frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StringFrame {
    /// Bytes of all strings.
    pub(crate) strings_byte_len: usize,
    /// Bytes of the encoded data.
    pub(crate) encoded_byte_len: usize,
    /// The number of strings; the frame has the byte length of the u64 offsets.
    pub(crate) string_count: usize,
}

impl StringFrame {
    /// Appends the frame.
    ///
    /// # Errors
    /// `InvalidArgument` when a length does not fit.
    pub(crate) fn write(self, own: &mut Vec<u8>) -> Result<()> {
        own.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        for byte_len in [self.strings_byte_len, self.encoded_byte_len, self.string_count.saturating_mul(8)] {
            let byte_len = u32::try_from(byte_len).map_err(|_| {
                Error::invalid(format!(
                    "{byte_len} bytes of strings or offsets in a tile do not fit in 32 bits"
                ))
            })?;
            own.extend_from_slice(&byte_len.to_le_bytes());
        }
        Ok(())
    }

    /// Takes the frame from the metadata and the encoded strings from the data.
    ///
    /// # Errors
    /// `Corrupt` when they contradict each other.
    pub(crate) fn read<'a>(metadata: &mut MetadataReader<'_>, data: &'a [u8]) -> Result<(Self, &'a [u8])> {
        metadata.bytes(8, "part_counts")?;
        let strings_byte_len = metadata.len32("strings_byte_len")?;
        let encoded_byte_len = metadata.len32("encoded_byte_len")?;
        let offsets_byte_len = metadata.len32("offsets_byte_len")?;
        let encoded = data.get(..encoded_byte_len).ok_or_else(|| {
            metadata.corrupt("encoded_byte_len", format!("{encoded_byte_len} bytes of {}", data.len()))
        })?;
        if !offsets_byte_len.is_multiple_of(8) {
            return Err(metadata.corrupt(
                "offsets_byte_len",
                format!("{offsets_byte_len} bytes are no whole number of offsets"),
            ));
        }
        Ok((StringFrame { strings_byte_len, encoded_byte_len, string_count: offsets_byte_len / 8 }, encoded))
    }
}

/// The strings of a tile, `data[offsets[i]..offsets[i + 1]]`. Offsets that leave the data, which the caller excludes, give
/// empty strings.
pub(crate) fn strings<'a>(data: &'a [u8], offsets: &[u64]) -> impl Iterator<Item = &'a [u8]> {
    let ends = offsets.iter().skip(1).copied().chain([data.len() as u64]);
    offsets.iter().zip(ends).map(|(&start, end)| data.get(start as usize..end as usize).unwrap_or_default())
}

/// The least of 1, 2, 4 and 8 bytes that holds a number.
pub(crate) fn byte_width(number: u64) -> u8 {
    match number {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

/// Takes a width from the metadata.
///
/// # Errors
/// `Corrupt` when it is none of 1, 2, 4 and 8.
pub(crate) fn read_width(metadata: &mut MetadataReader<'_>, field: &'static str) -> Result<usize> {
    match metadata.u8(field)? {
        width @ (1 | 2 | 4 | 8) => Ok(usize::from(width)),
        width => Err(metadata.corrupt(field, format!("{width} is none of the widths 1, 2, 4 and 8"))),
    }
}

/// Appends the lowest `width` bytes of a number, highest first.
pub(crate) fn push_be(out: &mut Vec<u8>, number: u64, width: u8) {
    out.extend_from_slice(&number.to_be_bytes()[8 - usize::from(width)..]);
}

/// Takes a number of `width` bytes (at most 8), highest first, from the front; `None` when there are too few.
pub(crate) fn take_be(bytes: &mut &[u8], width: usize) -> Option<u64> {
    let (number, rest) = bytes.split_at_checked(width)?;
    *bytes = rest;
    Some(number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
