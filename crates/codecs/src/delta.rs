//! Delta: the first value and the differences of neighbours, modulo the width of the type.
//!
//! Specification: `filters/delta.md`. A compressor: it sits in the frame of `compression.rs` and treats each part on its own.
//!
//! ```text
//! ┌ u64 value count ┬ v0 ┬ v1 - v0 ┬ v2 - v1 ┬ ... ┐
//! ```
#![expect(
    clippy::indexing_slicing,
    reason = "what is cut off is behind the length from before the output grew"
)]

use crate::context::{ChunkContext, PartCodec};
use crate::words::{Word, delta_kind, dispatch_integer, pairs, prefix_scan, words, words_mut};
use smalti_types::{Datatype, Error, PhysicalKind, Result};

/// The delta compressor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delta {
    /// The type to take the bytes for; `None` or `ANY` for the field's own.
    pub(crate) reinterpret: Option<Datatype>,
}

impl PartCodec for Delta {
    fn compress(&self, part: &[u8], out: &mut Vec<u8>, context: &ChunkContext) -> Result<()> {
        let kind = integer_kind("delta", self.reinterpret, context.datatype)?;
        dispatch_integer!(kind, W => compress::<W>(part, out))
    }

    fn decompress(&self, compressed: &[u8], out: &mut [u8], context: &ChunkContext) -> Result<()> {
        let kind = integer_kind("delta", self.reinterpret, context.datatype)?;
        dispatch_integer!(kind, W => decompress::<W>(compressed, out))
    }
}

/// The integers that delta and double delta see.
///
/// # Errors
/// `Unsupported` for floats.
pub(crate) fn integer_kind(
    filter: &'static str,
    reinterpret: Option<Datatype>,
    datatype: Datatype,
) -> Result<PhysicalKind> {
    let seen = reinterpret.filter(|reinterpret| *reinterpret != Datatype::Any).unwrap_or(datatype);
    delta_kind(seen).ok_or_else(|| {
        Error::unsupported(format!(
            "filter {filter} does not take {seen}; reinterpret the values as integers"
        ))
    })
}

/// The words of a part that is to be compressed.
///
/// # Errors
/// `InvalidArgument` when there is no value or a value is cut; libtiledb refuses those too.
pub(crate) fn whole_words<'a, W: Word>(filter: &'static str, part: &'a [u8]) -> Result<&'a [W::Bytes]> {
    match words::<W>(part) {
        (values, []) if !values.is_empty() => Ok(values),
        _ => Err(Error::invalid(format!(
            "filter {filter}: {} bytes are not one or more whole values of {} bytes",
            part.len(),
            size_of::<W>()
        ))),
    }
}

/// Takes the u64 value count from the front of a compressed part and checks it against the bytes wanted.
///
/// # Errors
/// `Corrupt` when they differ.
pub(crate) fn take_value_count<'a, W: Word>(
    filter: &'static str,
    compressed: &'a [u8],
    out: &[u8],
) -> Result<&'a [u8]> {
    let Some((count, rest)) = compressed.split_first_chunk::<8>() else {
        return Err(Error::corrupt(format!(
            "filter {filter}: {} bytes are too few for a value count",
            compressed.len()
        ))
        .in_field("chunk", "value_count"));
    };
    let count = u64::from_le_bytes(*count);
    if count.checked_mul(size_of::<W>() as u64) != Some(out.len() as u64) {
        return Err(Error::corrupt(format!(
            "filter {filter}: {count} values of {} bytes do not make {} bytes",
            size_of::<W>(),
            out.len()
        ))
        .in_field("chunk", "value_count"));
    }
    Ok(rest)
}

fn compress<W: Word>(part: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let values = whole_words::<W>("delta", part)?;
    out.extend_from_slice(&(values.len() as u64).to_le_bytes());
    let start = out.len();
    out.resize(start + part.len(), 0);
    pairs::<W>(values, words_mut::<W>(&mut out[start..]).0, |before, value| value.minus(before));
    Ok(())
}

fn decompress<W: Word>(compressed: &[u8], out: &mut [u8]) -> Result<()> {
    let rest = take_value_count::<W>("delta", compressed, out)?;
    let Some(deltas) = rest.get(..out.len()) else {
        return Err(Error::corrupt(format!(
            "filter delta: {} bytes of differences are left, {} are wanted",
            rest.len(),
            out.len()
        ))
        .in_field("chunk", "data"));
    };
    prefix_scan(words::<W>(deltas).0, words_mut::<W>(out).0, W::ZERO, W::plus);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;

    #[test]
    fn differences_wrap_at_the_width_of_the_type() {
        let mut out = Vec::new();
        compress::<u8>(&[250, 5, 4], &mut out).unwrap();
        assert_eq!(out, [3, 0, 0, 0, 0, 0, 0, 0, 250, 11, 255]);
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        golden::check_part_codec("delta", || Delta { reinterpret: None });
    }

    #[test]
    fn damaged_parts_are_errors() {
        golden::check_part_damage(&Delta { reinterpret: None });
    }

    #[test]
    fn values_can_be_reinterpreted() {
        let context = ChunkContext { datatype: Datatype::Float32, cell_byte_len: 4 };
        let mut out = Vec::new();
        assert!(Delta { reinterpret: None }.compress(&[0; 4], &mut out, &context).is_err());
        Delta { reinterpret: Some(Datatype::UInt16) }.compress(&[1, 0, 3, 0], &mut out, &context).unwrap();
        assert_eq!(out, [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0]);
        assert!(Delta { reinterpret: None }.compress(&[], &mut out, &context).is_err());
    }

    proptest! {
        #[test]
        fn values_of_every_width_return(input in proptest::collection::vec(any::<u64>(), 1..90)) {
            let input: &[u8] = bytemuck::cast_slice(&input);
            let mut back = vec![0; input.len()];
            macro_rules! check {
                ($($w:ty)*) => {$(
                    let mut compressed = Vec::new();
                    compress::<$w>(input, &mut compressed).unwrap();
                    decompress::<$w>(&compressed, &mut back).unwrap();
                    prop_assert_eq!(&back, input);
                )*};
            }
            check!(u8 u16 u32 u64 i8 i16 i32 i64);
        }
    }
}
