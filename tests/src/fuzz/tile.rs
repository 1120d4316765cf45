//! The target of long generic tiles: found and decoded chunk by chunk, they are what they are as a whole.

use bytes::Bytes;
use smalti_format::{GenericTileHeader, Version};
use smalti_tile::{ChunkedTile, Scratch, read_generic_tile, write_generic_tile};
use smalti_types::Result;
use std::ops::Range;

/// The most bytes of a tile that is looked at.
const LIMIT: u64 = 4 << 20;

/// Reads a generic tile as a whole and block by block.
pub fn fuzz_chunked_tile(input: &[u8]) {
    let Ok((header, filtered)) = GenericTileHeader::split(input) else { return };
    if header.unfiltered_len > LIMIT {
        return;
    }
    let whole = read_generic_tile(input, None, LIMIT, &mut Scratch::new()).ok().map(|(tile, _)| tile);
    let filtered = Bytes::copy_from_slice(filtered);
    let part = |range: Range<u64>| filtered.slice(range.start as usize..range.end as usize);
    for window_byte_len in [0, 1000] {
        let opened = ChunkedTile::open(&header, None, LIMIT, window_byte_len, |range| Ok(part(range)));
        let tile = match opened {
            Ok(Some(tile)) => tile,
            Ok(None) => continue,
            Err(_) => {
                assert!(whole.is_none(), "a tile is only refused chunk by chunk");
                continue;
            }
        };
        let mut scratch = Scratch::new();
        let blocks: Result<Vec<_>> = (0..tile.block_count())
            .map(|idx| tile.decode(idx, &part(tile.filtered_block(idx)), &mut scratch))
            .collect();
        assert_eq!(blocks.is_ok(), whole.is_some());
        let (Ok(blocks), Some(whole)) = (blocks, &whole) else { continue };
        let mut at = 0;
        for (idx, block) in blocks.iter().enumerate() {
            assert_eq!(tile.block(idx), at..at + block.len() as u64);
            assert_eq!(&whole.as_slice()[at as usize..at as usize + block.len()], block.as_slice());
            at += block.len() as u64;
        }
        assert_eq!(at, tile.byte_len());
        for byte in [0, at / 2, at.saturating_sub(1)].into_iter().filter(|byte| *byte < at) {
            assert!(tile.block(tile.block_of(byte).expect("a byte of the tile")).contains(&byte));
        }
    }
}

/// Tiles of one and of several chunks, as inputs.
///
/// # Errors
/// None that is expected: no randomness is asked for.
pub fn seeds() -> Result<Vec<(String, Vec<u8>)>> {
    let mut seeds = Vec::new();
    for len in [0_u32, 1, 100, 16_384, 16_385, 60_000] {
        let payload: Vec<u8> = (0..len).flat_map(|at| (at / 500).to_le_bytes()).collect();
        let mut tile = Vec::new();
        write_generic_tile(&payload, Version::DEFAULT, None, &mut tile, &mut Scratch::new())?;
        seeds.push((format!("numbers_{len}"), tile));
    }
    Ok(seeds)
}
