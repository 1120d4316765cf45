//! Which filter each part of a chunk's metadata belongs to, for those who explain files.

use crate::codec::{Codec, Stage, Step};
use std::ops::Range;

impl Codec {
    /// The filters that left the metadata of a chunk, each with its bytes, in the order of the bytes: the last filter of the
    /// pipeline first. Metadata of filters before a compressor or before encryption lies inside the chunk's data.
    ///
    /// Bytes that cannot be told apart are left out; nothing else is checked here.
    pub fn metadata_spans(&self, metadata: &[u8]) -> Vec<(&'static str, Range<usize>)> {
        let mut spans = Vec::new();
        let mut at = 0;
        for (idx, step) in self.steps.iter().enumerate().rev() {
            let rest = metadata.get(at..).unwrap_or_default();
            // A string codec comes first in a pipeline, compressors and encryption take in what was there before them.
            let takes_all = idx == 0 || !matches!(step.stage, Stage::Chunk(_));
            let own = if takes_all { Some(rest.len()) } else { step.own_metadata_byte_len(rest) };
            let Some(end) = own.and_then(|own| at.checked_add(own)).filter(|end| *end <= metadata.len())
            else {
                break;
            };
            if end > at {
                spans.push((step.name, at..end));
            }
            at = end;
            if takes_all {
                break;
            }
        }
        spans
    }
}

impl Step {
    /// The length of what the filter itself wrote at the start of the metadata.
    fn own_metadata_byte_len(&self, metadata: &[u8]) -> Option<usize> {
        let number = |at: usize| {
            let bytes = metadata.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
        };
        let width = self.context.datatype.byte_len();
        let (header, count, record) = match self.name {
            "bit_width_reduction" => (8, number(4)?, width + 5),
            "positive_delta" => (4, number(0)?, width + 4),
            "md5" => (8, number(0)?.checked_add(number(4)?)?, 8 + 16),
            "sha256" => (8, number(0)?.checked_add(number(4)?)?, 8 + 32),
            _ => (4, number(0)?, 4),
        };
        count.checked_mul(record)?.checked_add(header)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Codec, CodecRules, FieldKind, Scratch};
    use smalti_types::{CellValNum, Datatype, Filter, FilterPipeline};

    #[test]
    fn the_metadata_of_a_chunk_is_told_apart_down_to_the_last_compressor() {
        let filters = [
            Filter::PositiveDelta { max_window: 1024 },
            Filter::BitWidthReduction { max_window: 256 },
            Filter::Bitshuffle,
            Filter::Byteshuffle,
            Filter::Sha256,
            Filter::Md5,
        ];
        let tile: Vec<u8> = (0..1000u32).map(|cell| cell * 7).flat_map(u32::to_le_bytes).collect();
        for count in 0..=filters.len() {
            let pipeline = FilterPipeline::new(filters[..count].to_vec());
            let field = FieldKind::data(Datatype::UInt32, CellValNum::ONE);
            let codec = Codec::new(&pipeline, field, CodecRules::NEWEST, None).unwrap();
            let mut out = Vec::new();
            codec.encode(&tile, &mut out, &mut Scratch::new()).unwrap();
            let byte_len = u32::from_le_bytes(out[16..20].try_into().unwrap()) as usize;
            let spans = codec.metadata_spans(&out[20..20 + byte_len]);
            let names: Vec<_> = spans.iter().map(|(name, _)| *name).collect();
            let wanted: Vec<_> = filters[..count].iter().rev().map(Filter::name).collect();
            assert_eq!(names, wanted);
            assert_eq!(spans.last().map_or(0, |(_, span)| span.end), byte_len);
            // The first filter takes what is left: what it wrote itself must be all of that.
            if let Some((_, span)) = spans.last() {
                let own = codec.steps[0].own_metadata_byte_len(&out[20 + span.start..20 + span.end]);
                assert_eq!(own, Some(span.len()), "{:?}", wanted.last());
            }
        }
    }
}
