//! The frame of a filtered tile: u64 number of chunks; each chunk u32 unfiltered length, u32 filtered length,
//! u32 metadata length, metadata, filtered data (specification: `tile.md`).
#![expect(clippy::cast_possible_truncation, reason = "offsets lie within the tile, which is in memory")]

use smalti_types::{Error, Result};

/// Bytes in front of the first chunk.
pub(crate) const TILE_HEADER_BYTE_LEN: usize = 8;

/// Bytes in front of a chunk's metadata.
pub(crate) const CHUNK_HEADER_BYTE_LEN: usize = 12;

/// One chunk of a filtered tile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'a> {
    /// Unfiltered length in bytes.
    pub(crate) original_byte_len: usize,
    /// The metadata of the last filter, with that of the filters before it inside or behind it.
    pub(crate) metadata: &'a [u8],
    /// The filtered bytes.
    pub(crate) data: &'a [u8],
}

/// What stands in front of a chunk: enough to find the next one without the bytes of this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Unfiltered length in bytes.
    pub original_byte_len: u32,
    /// Bytes of filtered data.
    pub filtered_byte_len: u32,
    /// Bytes of the filters' metadata.
    pub metadata_byte_len: u32,
}

impl ChunkHeader {
    /// Bytes of a header.
    pub const BYTE_LEN: u64 = CHUNK_HEADER_BYTE_LEN as u64;

    /// The header at the start of `bytes`; `None` where they are too few.
    pub fn decode(bytes: &[u8]) -> Option<ChunkHeader> {
        let (original, rest) = bytes.split_first_chunk::<4>()?;
        let (filtered, rest) = rest.split_first_chunk::<4>()?;
        let (metadata, _) = rest.split_first_chunk::<4>()?;
        Some(ChunkHeader {
            original_byte_len: u32::from_le_bytes(*original),
            filtered_byte_len: u32::from_le_bytes(*filtered),
            metadata_byte_len: u32::from_le_bytes(*metadata),
        })
    }

    /// Bytes from this header to the next one.
    pub fn chunk_byte_len(&self) -> u64 {
        ChunkHeader::BYTE_LEN + u64::from(self.metadata_byte_len) + u64::from(self.filtered_byte_len)
    }
}

/// Walks over the chunks of a filtered tile; every length is checked against the bytes that are left.
#[derive(Debug, Clone)]
pub(crate) struct Chunks<'a> {
    rest: &'a [u8],
    left: u64,
    index: u64,
}

impl<'a> Chunks<'a> {
    /// Reads the number of chunks.
    ///
    /// # Errors
    /// `Corrupt` when the tile has no room for that many chunk headers.
    pub(crate) fn new(filtered: &'a [u8]) -> Result<Self> {
        let (count, rest) = filtered.split_first_chunk::<TILE_HEADER_BYTE_LEN>().ok_or_else(|| {
            Error::corrupt(format!("a filtered tile has at least 8 bytes, this one has {}", filtered.len()))
                .in_field("tile", "chunk_count")
        })?;
        let left = u64::from_le_bytes(*count);
        if left > (rest.len() / CHUNK_HEADER_BYTE_LEN) as u64 {
            return Err(Error::corrupt(format!("{left} chunks do not fit in {} bytes", rest.len()))
                .in_field("tile", "chunk_count"));
        }
        Ok(Chunks { rest, left, index: 0 })
    }

    /// Chunks without the number in front of them, from the header of one to the end of another.
    pub(crate) fn of_part(part: &'a [u8]) -> Self {
        Chunks { rest: part, left: u64::MAX, index: 0 }
    }

    /// The number of chunks that were not taken yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The bytes behind the chunks taken so far.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn read(&mut self) -> Option<Chunk<'a>> {
        let header = ChunkHeader::decode(self.rest)?;
        let rest = self.rest.get(CHUNK_HEADER_BYTE_LEN..)?;
        let (metadata, rest) = rest.split_at_checked(header.metadata_byte_len as usize)?;
        let (data, rest) = rest.split_at_checked(header.filtered_byte_len as usize)?;
        self.rest = rest;
        Some(Chunk { original_byte_len: header.original_byte_len as usize, metadata, data })
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let chunk = self.read();
        let index = self.index;
        self.left = if chunk.is_some() { self.left - 1 } else { 0 };
        self.index += 1;
        Some(chunk.ok_or_else(|| {
            Error::corrupt(format!("chunk {index} is cut short")).in_field("tile", format!("chunks[{index}]"))
        }))
    }
}

/// The bytes that one filtered tile takes at the start of `bytes`, from its chunk headers alone. For files whose tile
/// sizes are unknown.
///
/// # Errors
/// `Corrupt` when the tile is cut short.
pub fn filtered_tile_byte_len(bytes: &[u8]) -> Result<usize> {
    let mut chunks = Chunks::new(bytes)?;
    chunks.by_ref().try_for_each(|chunk| chunk.map(|_| ()))?;
    Ok(bytes.len() - chunks.rest().len())
}

/// The chunk length for cells of a fixed size: `max_chunk_size` cut to whole cells, at least one cell.
pub(crate) fn fixed_chunk_byte_len(max_chunk_size: usize, cell_byte_len: usize) -> usize {
    let cell_byte_len = cell_byte_len.max(1);
    (max_chunk_size / cell_byte_len * cell_byte_len).max(cell_byte_len)
}

/// The ends of the chunks of var-sized data, so that chunks hold whole cells (specification: `filter_pipeline.md`).
/// A cell that does not fit joins the chunk if that is at most half full, or if the chunk stays within one and a half
/// times its length; otherwise it starts the next chunk, which it has for itself if it is longer than a chunk.
pub(crate) fn var_chunk_ends(chunk_byte_len: usize, byte_len: usize, offsets: &[u64], ends: &mut Vec<usize>) {
    ends.clear();
    let mut chunk_start = 0;
    let mut close = |end: usize, chunk_start: &mut usize| {
        if end > *chunk_start && end < byte_len {
            ends.push(end);
        }
        *chunk_start = end;
    };
    for (cell, &start) in offsets.iter().enumerate() {
        let start = start as usize;
        let end = offsets.get(cell + 1).map_or(byte_len, |&end| end as usize);
        let with_cell = end - chunk_start;
        if with_cell <= chunk_byte_len {
            continue;
        }
        let half = chunk_byte_len / 2;
        if start - chunk_start <= half || with_cell <= chunk_byte_len + half {
            close(end, &mut chunk_start);
        } else {
            close(start, &mut chunk_start);
            if end - start > chunk_byte_len {
                close(end, &mut chunk_start);
            }
        }
    }
    ends.push(byte_len);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(chunk: usize, lens: &[usize]) -> Vec<usize> {
        let mut offsets = Vec::new();
        let mut end = 0;
        for len in lens {
            offsets.push(end as u64);
            end += len;
        }
        let mut ends = Vec::new();
        var_chunk_ends(chunk, end, &offsets, &mut ends);
        ends
    }

    #[test]
    fn var_chunks_hold_whole_cells() {
        assert_eq!(ends(100, &[]), [0]);
        assert_eq!(ends(100, &[40, 40, 20, 1, 7]), [101, 108]);
        assert_eq!(ends(100, &[50, 500, 10]), [550, 560]);
        assert_eq!(ends(100, &[60, 90, 10]), [150, 160]);
        assert_eq!(ends(100, &[60, 95, 10]), [60, 165]);
        assert_eq!(ends(100, &[60, 200, 10]), [60, 260, 270]);
        assert_eq!(ends(100, &[60, 200]), [60, 260]);
        assert_eq!(ends(100, &[0, 0, 101, 0]), [101]);
    }

    #[test]
    fn a_truncated_chunk_is_corrupt() {
        let mut tile = 1u64.to_le_bytes().to_vec();
        for len in [3u32, 3, 0] {
            tile.extend(len.to_le_bytes());
        }
        tile.extend([1, 2, 3, 9]);
        assert_eq!(filtered_tile_byte_len(&tile).unwrap(), 23);
        for len in 0..23 {
            assert!(filtered_tile_byte_len(&tile[..len]).is_err());
        }
    }

    #[test]
    fn a_chunk_count_beyond_the_tile_is_corrupt() {
        assert!(filtered_tile_byte_len(&u64::MAX.to_le_bytes()).is_err());
    }
}
