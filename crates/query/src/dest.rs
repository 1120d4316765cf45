//! Where the wanted bytes of tiles go: to their places in a buffer, or to somebody who takes them piece by piece.

use crate::workspace::room;
use smalti_array::CachedChunks;
use smalti_tile::{Codec, Scratch};
use smalti_types::{Error, Result};
use std::ops::Range;

/// Where the wanted bytes of a tile go.
pub(crate) enum Dest<'d> {
    /// To their places in a buffer of the whole tile's length, whose other bytes are arbitrary afterwards.
    Tile(&'d mut [u8]),
    /// To somebody who takes them from pieces of the tile, while those are in the processor's cache.
    Pieces(Pieces<'d>),
}

/// Who takes the wanted bytes of a tile out of pieces.
pub(crate) struct Pieces<'d> {
    /// The length of the whole tile.
    pub(crate) tile_byte_len: usize,
    /// Pieces are whole cells of so many bytes.
    pub(crate) cell_byte_len: usize,
    /// Room for a piece.
    pub(crate) buffer: &'d mut Vec<u8>,
    /// Takes a piece, and its place in the tile. They come in the order of the tile, and together hold all wanted bytes.
    pub(crate) visit: &'d mut dyn FnMut(Range<usize>, &[u8]) -> Result<()>,
}

impl Dest<'_> {
    pub(crate) fn tile_byte_len(&self) -> usize {
        match self {
            Dest::Tile(tile) => tile.len(),
            Dest::Pieces(pieces) => pieces.tile_byte_len,
        }
    }

    /// Bytes that are put to their places by somebody else.
    pub(crate) fn fill(self, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        match self {
            Dest::Tile(tile) => fill(tile),
            Dest::Pieces(Pieces { tile_byte_len, buffer, visit, .. }) => {
                let tile = room(buffer, tile_byte_len)?;
                fill(tile)?;
                visit(0..tile_byte_len, tile)
            }
        }
    }

    /// Bytes out of a filtered tile.
    pub(crate) fn decode(
        &mut self,
        codec: &Codec,
        filtered: &[u8],
        hull: Range<usize>,
        scratch: &mut Scratch,
        named: &dyn Fn(Error) -> Error,
    ) -> Result<()> {
        match self {
            Dest::Tile(tile) => codec.decode_range(filtered, hull, tile, scratch).map_err(named),
            Dest::Pieces(Pieces { tile_byte_len, cell_byte_len, buffer, visit }) => {
                let tile = (hull, *tile_byte_len);
                let decoded = codec.decode_pieces(filtered, tile, *cell_byte_len, (buffer, scratch), visit);
                decoded.map_err(named)
            }
        }
    }

    /// Bytes out of chunks that are kept.
    pub(crate) fn take(
        self,
        chunks: &CachedChunks,
        wanted: &[Range<usize>],
        hull: Range<usize>,
    ) -> Result<()> {
        let copy = |tile: &mut [u8]| match wanted.iter().all(|range| chunks.copy(range, tile)) {
            true => Ok(()),
            false => Err(lacking()),
        };
        let Dest::Pieces(pieces) = self else { return self.fill(copy) };
        let directory = chunks.directory();
        let met = directory.meeting(&hull);
        let has_whole_cells = |idx| directory.tile_range(idx).end.is_multiple_of(pieces.cell_byte_len.max(1));
        if !met.clone().all(has_whole_cells) {
            return Dest::Pieces(pieces).fill(copy);
        }
        let mut wanted = wanted.iter().peekable();
        for idx in met {
            let place = directory.tile_range(idx);
            while wanted.next_if(|range| range.end <= place.start).is_some() {}
            if wanted.peek().is_some_and(|range| range.start < place.end) {
                (pieces.visit)(place, chunks.chunk(idx).ok_or_else(lacking)?)?;
            }
        }
        Ok(())
    }
}

/// What is said where not all wanted bytes came.
pub(crate) fn lacking() -> Error {
    Error::corrupt("the chunks of a tile do not hold what its cells need")
}
