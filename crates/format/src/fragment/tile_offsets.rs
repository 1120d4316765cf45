//! Offsets of tiles in a data file, checked once.

use smalti_types::{Error, Result};
use std::ops::Range;

/// Where the tiles of a data file lie. Only the check on construction makes this: tiles follow one another without
/// overlap and end inside the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileOffsets {
    starts: Box<[u64]>,
    file_len: u64,
}

impl TileOffsets {
    /// Takes the start of each of `tile_count` tiles in a file of `file_len` bytes.
    ///
    /// # Errors
    /// `Corrupt` when the number is wrong, an offset falls, or the last lies beyond the file.
    pub fn new(starts: Vec<u64>, tile_count: u64, file_len: u64) -> Result<Self> {
        if starts.len() as u64 != tile_count {
            return Err(Error::corrupt(format!("{} offsets for {tile_count} tiles", starts.len())));
        }
        let mut pairs = starts.iter().zip(starts.iter().skip(1)).enumerate();
        if let Some((at, (start, next))) = pairs.find(|(_, (start, next))| start > next) {
            return Err(Error::corrupt(format!(
                "tile {} starts at byte {next}, before tile {at} at byte {start}",
                at + 1
            )));
        }
        if let Some(last) = starts.last().filter(|last| **last > file_len) {
            return Err(Error::corrupt(format!(
                "the last tile starts at byte {last} of a file of {file_len}"
            )));
        }
        Ok(TileOffsets { starts: starts.into(), file_len })
    }

    /// The number of tiles.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no tiles.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The bytes of a tile in the file.
    pub fn byte_range(&self, tile_idx: usize) -> Option<Range<u64>> {
        let start = *self.starts.get(tile_idx)?;
        Some(start..self.starts.get(tile_idx + 1).copied().unwrap_or(self.file_len))
    }

    /// Where each tile starts.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Bytes of the file.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_lie_between_their_offsets_and_the_last_ends_with_the_file() {
        let offsets = TileOffsets::new(vec![0, 10, 25], 3, 30).unwrap();
        assert_eq!(offsets.byte_range(0), Some(0..10));
        assert_eq!(offsets.byte_range(2), Some(25..30));
        assert_eq!(offsets.byte_range(3), None);
    }

    #[test]
    fn offsets_that_fall_or_leave_the_file_are_corrupt() {
        for (starts, tile_count, file_len) in
            [(vec![0, 10, 5], 3, 30), (vec![0, 31], 2, 30), (vec![0], 2, 30)]
        {
            assert!(TileOffsets::new(starts, tile_count, file_len).is_err());
        }
    }
}
