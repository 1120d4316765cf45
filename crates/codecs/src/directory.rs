//! Where the chunks of a filtered tile are, for those who decode some of them, one at a time.

use crate::chunks::{CHUNK_HEADER_BYTE_LEN, ChunkHeader, Chunks, TILE_HEADER_BYTE_LEN};
use smalti_types::{Error, Result};
use std::ops::Range;

/// The places of a tile's chunks, in the tile and in its filtered form.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        ChunkDirectory { ends }.of_tile(tile_byte_len)
    }

    /// Reads the headers of a filtered tile's chunks, and nothing else of it; `None` where there are more than `most_chunks`.
    /// `read` gives the bytes from a place in the filtered tile on.
    ///
    /// # Errors
    /// As [`new`](ChunkDirectory::new); what `read` returns.
    pub fn from_headers(
        filtered_byte_len: u64,
        tile_byte_len: usize,
        most_chunks: u64,
        read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
    ) -> Result<Option<Self>> {
        const TILE_HEADER: u64 = TILE_HEADER_BYTE_LEN as u64;
        const HEADER: u64 = ChunkHeader::BYTE_LEN;
        let mut bytes = [0; TILE_HEADER_BYTE_LEN + CHUNK_HEADER_BYTE_LEN];
        if filtered_byte_len < bytes.len() as u64 {
            return Ok(None);
        }
        // The header of the first chunk comes with the number of chunks.
        read(0, &mut bytes)?;
        let (count, header) = bytes.split_at_mut(TILE_HEADER_BYTE_LEN);
        let count = count.first_chunk().map_or(0, |count| u64::from_le_bytes(*count));
        if count > most_chunks.min((filtered_byte_len - TILE_HEADER) / HEADER) {
            return Ok(None);
        }
        let mut ends = vec![(0, TILE_HEADER)];
        let (mut tile_end, mut end) = (0, TILE_HEADER);
        for idx in 0..count {
            let cut_short = || {
                let error = Error::corrupt(format!("chunk {idx} is cut short"));
                error.in_field("tile", format!("chunks[{idx}]"))
            };
            if filtered_byte_len - end < HEADER {
                return Err(cut_short());
            }
            if idx > 0 {
                read(end, header)?;
            }
            let chunk = ChunkHeader::decode(header).ok_or_else(cut_short)?;
            tile_end += u64::from(chunk.original_byte_len);
            end += chunk.chunk_byte_len();
            if end > filtered_byte_len {
                return Err(cut_short());
            }
            ends.push((tile_end, end));
        }
        ChunkDirectory { ends }.of_tile(tile_byte_len).map(Some)
    }

    /// The directory, if its chunks hold as much as the tile.
    fn of_tile(self, tile_byte_len: usize) -> Result<Self> {
        let tile_end = self.ends.last().map_or(0, |&(tile_end, _)| tile_end);
        if tile_end != tile_byte_len as u64 {
            return Err(Error::corrupt(format!(
                "the tile's chunks hold {tile_end} bytes, its cells need {tile_byte_len}"
            )));
        }
        Ok(self)
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
        let from_headers = |filtered: &[u8], tile_byte_len, most_chunks| {
            let mut reads = Vec::new();
            let read = &mut |offset: u64, dest: &mut [u8]| {
                dest.copy_from_slice(&filtered[offset as usize..][..dest.len()]);
                reads.push(dest.len());
                Ok(())
            };
            let found = ChunkDirectory::from_headers(filtered.len() as u64, tile_byte_len, most_chunks, read);
            (found, reads)
        };
        let (found, reads) = from_headers(&filtered, 4000, 10);
        assert_eq!(found.unwrap().unwrap().ends, directory.ends);
        assert_eq!((reads.len(), reads.iter().sum::<usize>()), (10, 8 + 10 * 12));
        let (found, reads) = from_headers(&filtered, 4000, 9);
        assert!(found.unwrap().is_none() && reads == [20]);
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
        assert!(from_headers(&filtered, 4004, 10).0.is_err());
        for len in 0..filtered.len() {
            assert!(ChunkDirectory::new(&filtered[..len], 4000).is_err());
            assert!(from_headers(&filtered[..len], 4000, 10).0.map_or(true, |found| found.is_none()));
        }
    }
}
