//! Where the bytes of an unfiltered tile lie on disk, so that some rows can be read without the rest.
#![expect(clippy::indexing_slicing, reason = "the prefix is longer than each place in it")]

use crate::chunks::{CHUNK_HEADER_BYTE_LEN, TILE_HEADER_BYTE_LEN};
use smalti_types::{Error, Result};
use std::ops::Range;

/// The places of the bytes of a tile that no filter touched: chunks of one length (the last one shorter), each behind a
/// header of 12 bytes.
///
/// The length of the chunks is the writer's choice: libtiledb has used 64 KiB whatever the schema says. It is therefore read
/// from the first chunk's header; the layout is only given out if the sizes leave no other division into equal chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainLayout {
    tile_byte_len: u64,
    chunk_byte_len: u64,
}

/// A run of a tile's bytes that is contiguous on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainRun {
    /// Where the run starts in the unfiltered tile.
    pub tile_byte_offset: u64,
    /// Where the run starts on disk, from the start of the filtered tile.
    pub filtered_byte_offset: u64,
    /// Its length.
    pub byte_len: u64,
}

impl PlainLayout {
    /// The bytes at the start of a filtered tile that [`PlainLayout::new`] wants to see.
    pub const PREFIX_BYTE_LEN: usize = TILE_HEADER_BYTE_LEN + CHUNK_HEADER_BYTE_LEN;

    /// The layout of a tile from the first bytes on disk and its two lengths. `None` when the tile has chunks of unequal
    /// lengths (var-sized data), or when the division is not beyond doubt: decode the whole tile then.
    ///
    /// # Errors
    /// `Corrupt` when the lengths contradict each other.
    pub fn new(
        prefix: &[u8; PlainLayout::PREFIX_BYTE_LEN],
        tile_byte_len: u64,
        filtered_byte_len: u64,
    ) -> Result<Option<PlainLayout>> {
        let u32_at = |start: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&prefix[start..start + 4]);
            u64::from(u32::from_le_bytes(bytes))
        };
        let chunk_count = u32_at(0) | u32_at(4) << 32;
        let [chunk_byte_len, filtered, metadata] = [u32_at(8), u32_at(12), u32_at(16)];
        let expected = chunk_count
            .checked_mul(CHUNK_HEADER_BYTE_LEN as u64)
            .and_then(|headers| headers.checked_add(TILE_HEADER_BYTE_LEN as u64))
            .and_then(|headers| headers.checked_add(tile_byte_len));
        if expected != Some(filtered_byte_len) || filtered != chunk_byte_len || metadata != 0 {
            return Err(Error::corrupt(format!(
                "{chunk_count} unfiltered chunks, the first of {chunk_byte_len} bytes stored as {filtered} bytes with {metadata} \
                 bytes of metadata, do not make a tile of {tile_byte_len} bytes in {filtered_byte_len} bytes"
            ))
            .in_field("tile", "chunks[0]"));
        }
        if chunk_byte_len == 0 || tile_byte_len.div_ceil(chunk_byte_len) != chunk_count {
            return Ok(None);
        }
        Ok(Some(PlainLayout { tile_byte_len, chunk_byte_len }))
    }

    /// The runs on disk of a range of the tile's bytes, in order. A range that leaves the tile is cut.
    pub fn runs(&self, range: Range<u64>) -> impl Iterator<Item = PlainRun> + use<> {
        let PlainLayout { tile_byte_len, chunk_byte_len } = *self;
        let end = range.end.min(tile_byte_len);
        let mut start = range.start;
        std::iter::from_fn(move || {
            if start >= end {
                return None;
            }
            let chunk_idx = start / chunk_byte_len;
            let run_end = end.min((chunk_idx + 1) * chunk_byte_len);
            let headers = TILE_HEADER_BYTE_LEN as u64 + (chunk_idx + 1) * CHUNK_HEADER_BYTE_LEN as u64;
            let run = PlainRun {
                tile_byte_offset: start,
                filtered_byte_offset: start + headers,
                byte_len: run_end - start,
            };
            start = run_end;
            Some(run)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codec, CodecRules, FieldKind, Scratch};
    use smalti_types::{CellValNum, Datatype, FilterPipeline};

    #[test]
    fn runs_find_the_bytes_of_an_unfiltered_tile() {
        let pipeline = FilterPipeline { max_chunk_size: 10, filters: vec![] };
        let field = FieldKind::data(Datatype::Int32, CellValNum::ONE);
        let codec = Codec::new(&pipeline, field, CodecRules::NEWEST, None).unwrap();
        let tile: Vec<u8> = (0..100).collect();
        let mut filtered = Vec::new();
        codec.encode(&tile, &mut filtered, &mut Scratch::new()).unwrap();
        let prefix = filtered.first_chunk().unwrap();
        let layout = PlainLayout::new(prefix, 100, filtered.len() as u64).unwrap().unwrap();
        for start in 0..=100 {
            for end in start..=110 {
                let mut found: Vec<u8> = Vec::new();
                for run in layout.runs(start..end) {
                    assert_eq!(run.tile_byte_offset, start + found.len() as u64);
                    let at = run.filtered_byte_offset as usize;
                    found.extend(&filtered[at..at + run.byte_len as usize]);
                }
                assert_eq!(found, tile[start as usize..end.min(100) as usize]);
            }
        }
        assert!(PlainLayout::new(prefix, 99, filtered.len() as u64).is_err());
    }
}
