//! Where the chunks of a filtered tile are, for those who decode some of them, one at a time.

use crate::chunks::{CHUNK_HEADER_BYTE_LEN, ChunkHeader, Chunks, TILE_HEADER_BYTE_LEN};
use smalti_types::{Error, Result};
use std::ops::Range;

/// The places of a tile's chunks, in the tile and in its filtered form: of all, or of those up to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkDirectory {
    /// Where each chunk ends in the tile, and, header included, in its filtered form. The first row is where the first begins.
    ends: Vec<(u64, u64)>,
    /// The number of chunks, those whose places are not known included.
    chunk_count: usize,
}

/// The lengths of a tile whose headers are read alone.
#[derive(Debug, Clone, Copy)]
pub struct TileLens {
    /// Bytes of the tile.
    pub tile: usize,
    /// Bytes of its filtered form.
    pub filtered: u64,
}

const TILE_HEADER: u64 = TILE_HEADER_BYTE_LEN as u64;

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
        let chunk_count = ends.len() - 1;
        let directory = ChunkDirectory { ends, chunk_count };
        directory.check(tile_byte_len)?;
        Ok(directory)
    }

    /// Reads the headers of a filtered tile's chunks up to the one that holds the last of `reach` bytes of the tile, and nothing else; `None`
    /// where there are more than `most_chunks`. `read` gives the bytes from a place in the filtered tile on.
    ///
    /// # Errors
    /// As [`new`](ChunkDirectory::new), as far as the headers tell; what `read` returns.
    pub fn from_headers(
        lens: TileLens,
        most_chunks: u64,
        reach: usize,
        read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
    ) -> Result<Option<Self>> {
        let mut bytes = [0; TILE_HEADER_BYTE_LEN + CHUNK_HEADER_BYTE_LEN];
        if lens.filtered < bytes.len() as u64 {
            return Ok(None);
        }
        // The header of the first chunk comes with the number of chunks.
        read(0, &mut bytes)?;
        let (count, header) = bytes.split_at(TILE_HEADER_BYTE_LEN);
        let count = count.first_chunk().map_or(0, |count| u64::from_le_bytes(*count));
        if count > most_chunks.min((lens.filtered - TILE_HEADER) / ChunkHeader::BYTE_LEN) {
            return Ok(None);
        }
        let Ok(chunk_count) = usize::try_from(count) else { return Ok(None) };
        let none = ChunkDirectory { ends: vec![(0, TILE_HEADER)], chunk_count };
        none.reaching(lens, reach, &mut |offset, dest: &mut [u8]| match offset {
            TILE_HEADER => {
                dest.copy_from_slice(header);
                Ok(())
            }
            _ => read(offset, dest),
        })
        .map(Some)
    }

    /// Reads on in the headers, up to that of the chunk that holds the last of `reach` bytes of the tile.
    ///
    /// # Errors
    /// As [`from_headers`](ChunkDirectory::from_headers).
    pub fn reaching(
        mut self,
        lens: TileLens,
        reach: usize,
        read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        while !self.reaches(reach) {
            let idx = self.ends.len() - 1;
            let cut_short = || {
                let error = Error::corrupt(format!("chunk {idx} is cut short"));
                error.in_field("tile", format!("chunks[{idx}]"))
            };
            let (tile_end, end) = self.known_end();
            if lens.filtered.saturating_sub(end) < ChunkHeader::BYTE_LEN {
                return Err(cut_short());
            }
            let mut header = [0; CHUNK_HEADER_BYTE_LEN];
            read(end, &mut header)?;
            let chunk = ChunkHeader::decode(&header).ok_or_else(cut_short)?;
            let end = end + chunk.chunk_byte_len();
            if end > lens.filtered {
                return Err(cut_short());
            }
            self.ends.push((tile_end + u64::from(chunk.original_byte_len), end));
        }
        self.check(lens.tile)?;
        Ok(self)
    }

    /// Whether it has the places of all chunks that hold some of the tile's first `reach` bytes.
    pub fn reaches(&self, reach: usize) -> bool {
        self.known_end().0 >= reach as u64 || self.ends.len() > self.chunk_count
    }

    /// Whether the chunks hold as much as the tile, as far as is known.
    fn check(&self, tile_byte_len: usize) -> Result<()> {
        let (tile_end, tile_byte_len) = (self.known_end().0, tile_byte_len as u64);
        let is_all = self.ends.len() > self.chunk_count;
        if tile_end == tile_byte_len || (!is_all && tile_end < tile_byte_len) {
            return Ok(());
        }
        let or_more = if is_all { "" } else { " or more" };
        Err(Error::corrupt(format!(
            "the tile's chunks hold {tile_end} bytes{or_more}, its cells need {tile_byte_len}"
        )))
    }

    /// The end of the last chunk whose place is known.
    fn known_end(&self) -> (u64, u64) {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The number of chunks.
    pub fn chunk_count(&self) -> usize {
        self.chunk_count
    }

    /// The bytes of the tile that a chunk holds; empty behind the last known one.
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

    /// The known chunks that hold some bytes of the tile.
    pub fn meeting(&self, wanted: &Range<usize>) -> Range<usize> {
        let (start, end) = (wanted.start as u64, wanted.end as u64);
        let first = self.ends.partition_point(|&(tile_end, _)| tile_end <= start);
        let last = self.ends.partition_point(|&(tile_end, _)| tile_end < end);
        let first = first.saturating_sub(1);
        if start >= end { first..first } else { first..last.min(self.ends.len() - 1) }
    }

    fn places(&self, idx: usize) -> ((u64, u64), (u64, u64)) {
        let at = |idx: usize| self.ends.get(idx).copied().unwrap_or(self.known_end());
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
        let lens = |filtered: &[u8], tile| TileLens { tile, filtered: filtered.len() as u64 };
        let from_headers = |filtered: &[u8], tile_byte_len, most_chunks, reach| {
            let mut reads = Vec::new();
            let read = &mut |offset: u64, dest: &mut [u8]| {
                dest.copy_from_slice(&filtered[offset as usize..][..dest.len()]);
                reads.push(dest.len());
                Ok(())
            };
            let found = ChunkDirectory::from_headers(lens(filtered, tile_byte_len), most_chunks, reach, read);
            (found, reads)
        };
        let (found, reads) = from_headers(&filtered, 4000, 10, 4000);
        assert_eq!(found.unwrap().unwrap(), directory);
        assert_eq!((reads.len(), reads.iter().sum::<usize>()), (10, 8 + 10 * 12));
        let (found, reads) = from_headers(&filtered, 4000, 9, 4000);
        assert!(found.unwrap().is_none() && reads == [20]);
        let (found, reads) = from_headers(&filtered, 4000, 10, 401);
        let part = found.unwrap().unwrap();
        assert_eq!(reads, [20, 12]);
        assert!(part.reaches(800) && !part.reaches(801) && part.chunk_count() == 10);
        assert_eq!((part.meeting(&(399..401)), part.meeting(&(0..4000))), (0..2, 0..2));
        let mut reads = Vec::new();
        let rest = part.reaching(lens(&filtered, 4000), 4000, &mut |offset, dest| {
            dest.copy_from_slice(&filtered[offset as usize..][..dest.len()]);
            reads.push(offset);
            Ok(())
        });
        assert_eq!(rest.unwrap(), directory);
        let starts: Vec<u64> = (2..10).map(|idx| directory.filtered_range(idx..idx + 1).start).collect();
        assert_eq!(reads, starts);
        let (longer, _) = from_headers(&filtered, 399, 10, 399);
        assert!(longer.unwrap_err().to_string().contains("hold 400 bytes or more, its cells need 399"));
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
        assert!(from_headers(&filtered, 4004, 10, 4004).0.is_err());
        for len in 0..filtered.len() {
            assert!(ChunkDirectory::new(&filtered[..len], 4000).is_err());
            assert!(from_headers(&filtered[..len], 4000, 10, 4000).0.map_or(true, |found| found.is_none()));
        }
    }
}
