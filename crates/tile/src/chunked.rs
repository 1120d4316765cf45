//! Generic tiles that are too long to be held: their chunks are found once, and decoded when bytes of them are wanted.
//!
//! Chunks are filtered, and encrypted, one by one, and none needs another. So all that has to be known of a tile of gigabytes is where
//! each chunk lies, and that the headers between the chunks tell. Neighbours that are shorter than a chunk of the reference make one
//! *block*, so that the list of blocks is small against the tile whatever its chunks are.

use crate::generic::{MAX_EXPANSION, codec_of};
use bytes::Bytes;
use smalti_codecs::{ChunkHeader, Codec, Encryption as Cipher, Scratch};
use smalti_format::GenericTileHeader;
use smalti_types::{AlignedBuf, Error, Result};
use std::ops::Range;

/// Bytes, filtered or not, from which on a block ends with the chunk that it has: what every writer's chunks hold.
const BLOCK_BYTE_LEN: u64 = 64 << 10;

/// The longest chunk, filtered or not, of tiles that are opened so. No writer is known that makes longer ones.
const MAX_CHUNK_BYTE_LEN: u64 = 16 << 20;

/// Bytes that the chunks of a tile have on average at least. Shorter ones are read as a whole.
const LEAST_CHUNK_BYTE_LEN: u64 = 4 << 10;

/// Chunks that may be shorter than that before they are found to be so: a file of holes is not walked over to its end.
const SHORT_CHUNK_COUNT: u64 = 1 << 10;

/// Bytes in front of the first chunk: their number.
const COUNT_BYTE_LEN: u64 = 8;

/// A generic tile of which the places of its blocks are known, and nothing else is held.
#[derive(Debug)]
pub struct ChunkedTile {
    codec: Codec,
    blocks: Vec<BlockPlace>,
    byte_len: u64,
    filtered_byte_len: u64,
}

/// Where a block begins; it ends where the next one begins.
#[derive(Debug, Clone, Copy)]
struct BlockPlace {
    /// Its first byte in the tile.
    start: u64,
    /// Its first byte among the filtered ones.
    filtered_start: u64,
}

impl ChunkedTile {
    /// Finds the chunks of the tile with a header. `read` gives bytes out of the filtered ones, which follow the header; it is asked for so
    /// many at once, at most, and only for such as hold the header of a chunk: with few bytes at once the chunks between them are
    /// passed over, with many the tile is read through. `None` for a tile that has to be read as a whole: few and large, or many and tiny
    /// chunks, or filters that know no chunks.
    ///
    /// # Errors
    /// What `read` reports; `Corrupt` when chunks are cut short, or do not hold what the header says; `OutOfMemory` when the places would
    /// take more than `limit` bytes; those of the header as [`read_generic_tile`](crate::read_generic_tile).
    pub fn open(
        header: &GenericTileHeader,
        cipher: Option<&Cipher>,
        limit: u64,
        window_byte_len: u64,
        mut read: impl FnMut(Range<u64>) -> Result<Bytes>,
    ) -> Result<Option<ChunkedTile>> {
        let codec = codec_of(header, cipher)?;
        let (byte_len, filtered_byte_len) = (header.unfiltered_len, header.filtered_len);
        if codec.folds_offsets() {
            return Ok(None);
        }
        let window_byte_len = window_byte_len.max(COUNT_BYTE_LEN + ChunkHeader::BYTE_LEN);
        let cut_short = |index: u64| {
            Error::corrupt(format!("chunk {index} is cut short")).in_field("tile", format!("chunks[{index}]"))
        };
        if filtered_byte_len < COUNT_BYTE_LEN {
            let message = format!("a filtered tile has at least 8 bytes, this one has {filtered_byte_len}");
            return Err(Error::corrupt(message).in_field("tile", "chunk_count"));
        }
        let mut window_start = 0;
        let mut window = read(0..window_byte_len.min(filtered_byte_len))?;
        let count = window.first_chunk().map_or(0, |count| u64::from_le_bytes(*count));
        if count > byte_len / LEAST_CHUNK_BYTE_LEN + 1 {
            return Ok(None);
        }
        let mut blocks: Vec<BlockPlace> = Vec::new();
        let (mut start, mut at) = (0_u64, COUNT_BYTE_LEN);
        for index in 0..count {
            if filtered_byte_len.saturating_sub(at) < ChunkHeader::BYTE_LEN {
                return Err(cut_short(index));
            }
            let in_window = |window: &Bytes, window_start: u64| {
                let offset = usize::try_from(at.checked_sub(window_start)?).ok()?;
                ChunkHeader::decode(window.get(offset..)?)
            };
            let chunk = match in_window(&window, window_start) {
                Some(chunk) => chunk,
                None => {
                    window = read(at..at.saturating_add(window_byte_len).min(filtered_byte_len))?;
                    window_start = at;
                    in_window(&window, window_start).ok_or_else(|| cut_short(index))?
                }
            };
            let original_byte_len = u64::from(chunk.original_byte_len);
            if chunk.chunk_byte_len().max(original_byte_len) > MAX_CHUNK_BYTE_LEN
                || original_byte_len > chunk.chunk_byte_len() * MAX_EXPANSION
                || index > start / LEAST_CHUNK_BYTE_LEN + SHORT_CHUNK_COUNT
            {
                return Ok(None);
            }
            let is_new = blocks
                .last()
                .is_none_or(|block| (start - block.start).max(at - block.filtered_start) >= BLOCK_BYTE_LEN);
            if is_new {
                let places_byte_len = (blocks.len() as u64 + 1) * size_of::<BlockPlace>() as u64;
                if places_byte_len > limit {
                    return Err(crate::beyond_limit(places_byte_len, limit));
                }
                blocks.push(BlockPlace { start, filtered_start: at });
            }
            start += original_byte_len;
            at += chunk.chunk_byte_len();
            if at > filtered_byte_len {
                return Err(cut_short(index));
            }
            if start > byte_len {
                break;
            }
        }
        if start != byte_len {
            let more = if start > byte_len { "more than " } else { "" };
            let held = start.min(byte_len);
            let message = format!("the tile's chunks hold {more}{held} bytes, its header says {byte_len}");
            return Err(Error::corrupt(message).in_field("generic tile header", "unfiltered_len"));
        }
        if at != filtered_byte_len {
            let message = format!("{} bytes behind the last chunk", filtered_byte_len - at);
            return Err(Error::corrupt(message).in_field("tile", "chunk_count"));
        }
        blocks.shrink_to_fit();
        Ok(Some(ChunkedTile { codec, blocks, byte_len, filtered_byte_len }))
    }

    /// Bytes of the tile, unfiltered.
    pub fn byte_len(&self) -> u64 {
        self.byte_len
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The block that holds a byte of the tile.
    pub fn block_of(&self, byte: u64) -> Option<usize> {
        if byte >= self.byte_len {
            return None;
        }
        // Empty blocks begin where the next one does, which is the one that counts.
        self.blocks.partition_point(|block| block.start <= byte).checked_sub(1)
    }

    /// The bytes of the tile that a block holds; none behind the last block.
    pub fn block(&self, idx: usize) -> Range<u64> {
        let start = |idx: usize| self.blocks.get(idx).map_or(self.byte_len, |block| block.start);
        start(idx)..start(idx.saturating_add(1))
    }

    /// The filtered bytes of a block.
    pub fn filtered_block(&self, idx: usize) -> Range<u64> {
        let start =
            |idx: usize| self.blocks.get(idx).map_or(self.filtered_byte_len, |block| block.filtered_start);
        start(idx)..start(idx.saturating_add(1))
    }

    /// Unfilters a block.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are damaged; `Permission` when they do not decrypt; `OutOfMemory`.
    pub fn decode(&self, idx: usize, filtered: &[u8], scratch: &mut Scratch) -> Result<AlignedBuf> {
        let bytes = self.block(idx);
        let byte_len = usize::try_from(bytes.end - bytes.start)
            .map_err(|_| Error::corrupt("a block that is longer than all memory"))?;
        let mut block = AlignedBuf::zeroed(byte_len)?;
        self.codec
            .decode_part(filtered, block.as_mut_slice(), scratch)
            .map_err(|error| error.in_field("tile", format!("bytes {}..{}", bytes.start, bytes.end)))?;
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DEFAULT_GENERIC_TILE_LIMIT, read_generic_tile, write_generic_tile};
    use smalti_codecs::fuzz::fixed_encryption;
    use smalti_format::{Reader, Version};
    use smalti_types::ErrorKind;
    use std::cell::Cell;

    const LIMIT: u64 = DEFAULT_GENERIC_TILE_LIMIT;

    fn parts(file: &[u8]) -> (GenericTileHeader, Bytes) {
        let mut reader = Reader::new(file);
        let header = GenericTileHeader::decode(&mut reader).unwrap();
        let len = GenericTileHeader::header_len(file).unwrap() as usize;
        (header, Bytes::copy_from_slice(&file[len..]))
    }

    fn file(payload: &[u8], cipher: Option<&Cipher>) -> Vec<u8> {
        let mut file = Vec::new();
        write_generic_tile(payload, Version::DEFAULT, cipher, &mut file, &mut Scratch::new()).unwrap();
        file
    }

    fn open(file: &[u8], cipher: Option<&Cipher>, window: u64) -> Result<Option<ChunkedTile>> {
        let (mut header, filtered) = parts(file);
        header.filtered_len = filtered.len() as u64;
        let slice = |range: Range<u64>| Ok(filtered.slice(range.start as usize..range.end as usize));
        ChunkedTile::open(&header, cipher, LIMIT, window, slice)
    }

    /// The whole tile, block after block.
    fn joined(tile: &ChunkedTile, file: &[u8]) -> Result<Vec<u8>> {
        let (_, filtered) = parts(file);
        let mut all = Vec::new();
        for idx in 0..tile.block_count() {
            let range = tile.filtered_block(idx);
            assert_eq!(tile.block(idx).start, all.len() as u64);
            let bytes = &filtered[range.start as usize..range.end as usize];
            all.extend_from_slice(tile.decode(idx, bytes, &mut Scratch::new())?.as_slice());
        }
        Ok(all)
    }

    fn payload(len: u32) -> Vec<u8> {
        (0..len).flat_map(|at| (at / 3).wrapping_mul(0x9E37_79B1).to_le_bytes()).collect()
    }

    #[test]
    fn blocks_joined_are_the_tile_with_windows_of_any_length_and_encrypted_too() {
        let cipher = fixed_encryption();
        for cipher in [None, Some(&cipher)] {
            for len in [1, 1000, 16_384, 16_385, 200_000] {
                let payload = payload(len);
                let file = file(&payload, cipher);
                assert_eq!(
                    read_generic_tile(&file, cipher, LIMIT, &mut Scratch::new()).unwrap().0.as_slice(),
                    payload
                );
                for window in [0, 100, 70_000, 1 << 30] {
                    let tile = open(&file, cipher, window).unwrap().unwrap();
                    assert_eq!(tile.byte_len(), payload.len() as u64);
                    assert_eq!(joined(&tile, &file).unwrap(), payload, "{len} numbers, {window}");
                    for byte in (0..payload.len() as u64).step_by(7919) {
                        assert!(tile.block(tile.block_of(byte).unwrap()).contains(&byte));
                    }
                    assert_eq!(tile.block_of(payload.len() as u64), None);
                }
            }
        }
    }

    #[test]
    fn few_bytes_are_read_to_find_the_chunks_of_a_long_tile() {
        let file = file(&payload(500_000), None);
        let (header, filtered) = parts(&file);
        let read_byte_len = Cell::new(0);
        let tile = ChunkedTile::open(&header, None, LIMIT, 64, |range| {
            read_byte_len.set(read_byte_len.get() + range.end - range.start);
            Ok(filtered.slice(range.start as usize..range.end as usize))
        });
        let count = tile.unwrap().unwrap().block_count();
        assert_eq!(count, 31);
        assert!(read_byte_len.get() <= 64 * (count as u64 + 1), "{}", read_byte_len.get());
    }

    #[test]
    fn truncations_and_edits_are_errors_and_never_other_bytes_of_another_length() {
        let payload = payload(40_000);
        let file = file(&payload, None);
        let header_len = GenericTileHeader::header_len(&file).unwrap() as usize;
        for len in (header_len..file.len()).step_by(997) {
            assert!(open(&file[..len], None, 64).is_err(), "{len} bytes");
        }
        for at in (0..8 + 12).chain([file.len() / 2 - header_len]) {
            for value in [0, 1, 0xFF] {
                let mut damaged = file.clone();
                damaged[header_len + at] ^= value;
                let read = open(&damaged, None, 64).and_then(|tile| match tile {
                    Some(tile) => joined(&tile, &damaged),
                    None => Ok(payload.clone()),
                });
                assert!(read.is_err() || read.unwrap().len() == payload.len(), "byte {at}");
            }
        }
    }

    #[test]
    fn tiles_of_tiny_chunks_are_not_for_this_and_places_have_a_limit() {
        let payload = payload(40_000);
        let file = file(&payload, None);
        let (mut header, filtered) = parts(&file);
        let slice = |range: Range<u64>| Ok(filtered.slice(range.start as usize..range.end as usize));
        let error = ChunkedTile::open(&header, None, 32, 64, slice).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        header.unfiltered_len = 100;
        assert!(ChunkedTile::open(&header, None, LIMIT, 64, slice).unwrap().is_none());
    }
}
