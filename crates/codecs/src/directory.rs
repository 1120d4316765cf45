//! Where the chunks of a filtered tile are, for those who decode some of them, one at a time.

use crate::chunks::Chunks;
use smalti_types::{Error, Result};
use std::ops::Range;

/// The places of a tile's chunks, in the tile and in its filtered form.
#[derive(Debug, Clone)]
pub struct ChunkDirectory {
    /// Where each chunk ends in the tile, and, header included, in its filtered form. The first row is where the first begins.
    ends: Vec<(u64, u64)>,
}

impl ChunkDirectory {
    /// Reads the headers of a filtered tile's chunks.
    ///
    /// # Errors
    /// `Corrupt` when the chunks are cut short, or hold another number of bytes than the tile.
    pub fn new(filtered: &[u8], tile_byte_len: usize) -> Result<Self> {
        let mut chunks = Chunks::new(filtered)?;
        let place = |rest: &[u8]| (filtered.len() - rest.len()) as u64;
        let mut tile_end = 0;
        let mut ends = vec![(0, place(chunks.rest()))];
        while let Some(chunk) = chunks.next() {
            tile_end += chunk?.original_byte_len as u64;
            ends.push((tile_end, place(chunks.rest())));
        }
        if tile_end != tile_byte_len as u64 {
            return Err(Error::corrupt(format!(
                "the tile's chunks hold {tile_end} bytes, its cells need {tile_byte_len}"
            )));
        }
        Ok(ChunkDirectory { ends })
    }

    /// The number of chunks.
    pub fn chunk_count(&self) -> usize {
        self.ends.len() - 1
    }

    /// The bytes of the tile that a chunk holds; empty behind the last chunk.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the ends are at most the tile's length, which was given as a usize"
    )]
    pub fn tile_range(&self, idx: usize) -> Range<usize> {
        let (start, end) = self.places(idx);
        start.0 as usize..end.0 as usize
    }

    /// The bytes of the filtered tile that some chunks take, headers included.
    pub fn filtered_range(&self, chunks: Range<usize>) -> Range<u64> {
        let start = self.places(chunks.start).0.1;
        let end = chunks.end.checked_sub(1).map_or(start, |last| self.places(last).1.1);
        start..end.max(start)
    }

    /// The chunks that hold some bytes of the tile.
    pub fn meeting(&self, wanted: &Range<usize>) -> Range<usize> {
        let (start, end) = (wanted.start as u64, wanted.end as u64);
        let first = self.ends.partition_point(|&(tile_end, _)| tile_end <= start);
        let last = self.ends.partition_point(|&(tile_end, _)| tile_end < end);
        let first = first.saturating_sub(1);
        if start >= end { first..first } else { first..last.min(self.chunk_count()) }
    }

    fn places(&self, idx: usize) -> ((u64, u64), (u64, u64)) {
        let last = self.ends.last().copied().unwrap_or_default();
        let at = |idx: usize| self.ends.get(idx).copied().unwrap_or(last);
        (at(idx), at(idx + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codec, CodecRules, FieldKind, Scratch};
    use smalti_types::{CellValNum, Datatype, Filter, FilterPipeline};

    #[test]
    fn chunks_are_found_and_decoded_one_by_one() {
        let mut pipeline = FilterPipeline::new([Filter::Zstd { level: 3 }]);
        pipeline.max_chunk_size = 400;
        let field = FieldKind::data(Datatype::Int32, CellValNum::ONE);
        let codec = Codec::new(&pipeline, field, CodecRules::NEWEST, None).unwrap();
        let tile: Vec<u8> = (0..1000i32).flat_map(i32::to_le_bytes).collect();
        let (mut filtered, mut scratch) = (Vec::new(), Scratch::new());
        codec.encode(&tile, &mut filtered, &mut scratch).unwrap();
        let directory = ChunkDirectory::new(&filtered, tile.len()).unwrap();
        assert_eq!(directory.chunk_count(), 10);
        assert_eq!(directory.filtered_range(0..10), 8..filtered.len() as u64);
        for (wanted, chunks) in
            [(0..1, 0..1), (399..401, 0..2), (400..800, 1..2), (0..4000, 0..10), (5..5, 0..0)]
        {
            assert_eq!(directory.meeting(&wanted), chunks, "{wanted:?}");
        }
        for idx in 0..10 {
            let filtered_range = directory.filtered_range(idx..idx + 1);
            let range = directory.tile_range(idx);
            let mut chunk = vec![0; range.len()];
            let bytes = &filtered[filtered_range.start as usize..filtered_range.end as usize];
            codec.decode_part(bytes, &mut chunk, &mut scratch).unwrap();
            assert_eq!(chunk, tile[range]);
            assert!(codec.decode_part(&bytes[1..], &mut chunk, &mut scratch).is_err());
            assert!(codec.decode_part(bytes, &mut chunk[1..], &mut scratch).is_err());
        }
        assert!(ChunkDirectory::new(&filtered, 4004).is_err());
        for len in 0..filtered.len() {
            assert!(ChunkDirectory::new(&filtered[..len], 4000).is_err());
        }
    }
}
