//! Decoded tiles that reads share, so that boxes over the same tiles decode them once.
//!
//! A tile is known by its file and the version of that: what was written under a name that is used again is another file.

use quick_cache::Weighter;
use quick_cache::unsync::Cache;
use smalti_codecs::ChunkDirectory;
use smalti_space::Zones;
use smalti_store::FileVersion;
use smalti_tile::Column;
use smalti_types::AlignedBuf;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The files of a field of a fragment, as they were when somebody looked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CachedFile {
    /// The address of the first of them.
    pub address: String,
    /// The versions of those that there are: values or offsets, values of any length, validity.
    pub versions: [Option<FileVersion>; 3],
}

/// What is kept of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TilePart {
    /// All of it, as a column.
    Column,
    /// The coordinates of one dimension out of those of all, as a column.
    Coordinate(usize),
    /// Values of a fixed size, by chunks.
    Values,
    /// Validity, by chunks.
    Validity,
}

/// The name of something that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TileKey {
    /// The files it was decoded from.
    pub file: Arc<CachedFile>,
    /// The number of the tile in its fragment.
    pub tile_idx: usize,
    /// The part of the tile.
    pub part: TilePart,
}

/// What is kept.
#[derive(Debug, Clone)]
pub enum CachedTile {
    /// Nothing but that it was wanted once.
    Seen,
    /// A decoded tile.
    Column(Arc<CachedColumn>),
    /// Those chunks that were wanted so far.
    Chunks(Arc<CachedChunks>),
}

/// A decoded tile, and what a second read finds out about it.
#[derive(Debug)]
pub struct CachedColumn {
    column: Arc<Column>,
    zones: OnceLock<Zones>,
    zones_byte_len: usize,
}

impl CachedColumn {
    /// A tile with coordinates of so many cells, or without any.
    pub fn new(column: Arc<Column>, coordinate_count: usize) -> Self {
        CachedColumn { column, zones: OnceLock::new(), zones_byte_len: Zones::byte_len(coordinate_count) }
    }

    /// The tile.
    pub fn column(&self) -> &Arc<Column> {
        &self.column
    }

    /// The bounds of short runs of its coordinates, made when they are first wanted.
    pub fn zones(&self, make: impl FnOnce() -> Zones) -> &Zones {
        self.zones.get_or_init(make)
    }

    fn byte_len(&self) -> usize {
        self.column.byte_len().saturating_add(self.zones_byte_len)
    }
}

/// Chunks of a tile, each decoded when it is first wanted.
#[derive(Debug)]
pub struct CachedChunks {
    directory: ChunkDirectory,
    /// Shared with the same tile of other directories.
    chunks: Arc<[OnceLock<AlignedBuf>]>,
    tile_byte_len: usize,
}

impl CachedChunks {
    /// The tile of a directory, nothing of it decoded; `None` where its chunks are so small that keeping them costs more than they hold.
    pub fn new(directory: ChunkDirectory, tile_byte_len: usize) -> Option<Self> {
        const LEAST_CHUNK_BYTE_LEN: usize = 512;
        let chunk_count = directory.chunk_count();
        if chunk_count > 1 && tile_byte_len / chunk_count < LEAST_CHUNK_BYTE_LEN {
            return None;
        }
        let chunks = (0..chunk_count).map(|_| OnceLock::new()).collect();
        Some(CachedChunks { directory, chunks, tile_byte_len })
    }

    /// The same chunks, of which more places are known.
    #[must_use]
    pub fn with_directory(&self, directory: ChunkDirectory) -> Self {
        CachedChunks { directory, chunks: Arc::clone(&self.chunks), tile_byte_len: self.tile_byte_len }
    }

    /// Where its chunks are.
    pub fn directory(&self) -> &ChunkDirectory {
        &self.directory
    }

    /// The least range of chunks that has all that hold wanted bytes and are not decoded yet.
    pub fn missing(&self, wanted: &[Range<usize>]) -> Range<usize> {
        let met = wanted.iter().flat_map(|range| self.directory.meeting(range));
        let missing = met.filter(|&idx| self.chunk(idx).is_none());
        missing.fold(0..0, |all: Range<usize>, idx| match all.is_empty() {
            true => idx..idx + 1,
            false => all.start.min(idx)..all.end.max(idx + 1),
        })
    }

    /// A decoded chunk.
    pub fn chunk(&self, idx: usize) -> Option<&[u8]> {
        let chunk = self.chunks.get(idx)?.get()?.as_slice();
        (chunk.len() == self.directory.tile_range(idx).len()).then_some(chunk)
    }

    /// Takes a decoded chunk; one that is there stays.
    pub fn set(&self, idx: usize, bytes: AlignedBuf) {
        if let Some(chunk) = self.chunks.get(idx) {
            let _ = chunk.set(bytes);
        }
    }

    /// Copies decoded bytes of the tile to the same place of `out`, a buffer of the whole tile's length. Whether all were there.
    pub fn copy(&self, wanted: &Range<usize>, out: &mut [u8]) -> bool {
        self.directory.meeting(wanted).all(|idx| {
            let place = self.directory.tile_range(idx);
            let (start, end) = (wanted.start.max(place.start), wanted.end.min(place.end));
            let found = self.chunk(idx).and_then(|chunk| {
                let bytes = chunk.get(start.checked_sub(place.start)?..end.checked_sub(place.start)?)?;
                out.get_mut(start..end)?.copy_from_slice(bytes);
                Some(())
            });
            found.is_some()
        })
    }

    fn byte_len(&self) -> usize {
        self.tile_byte_len.saturating_add(self.chunks.len().saturating_mul(64))
    }
}

impl CachedTile {
    /// The memory that it takes, once all of it is decoded.
    pub fn byte_len(&self) -> u64 {
        /// What its name and its place take.
        const ROW_BYTE_LEN: usize = 160;
        let byte_len = match self {
            CachedTile::Seen => 0,
            CachedTile::Column(column) => column.byte_len(),
            CachedTile::Chunks(chunks) => chunks.byte_len(),
        };
        byte_len.saturating_add(ROW_BYTE_LEN) as u64
    }
}

/// Decoded tiles, up to a number of bytes: those that are wanted again stay longest.
pub struct TileCache {
    kept: Mutex<Cache<TileKey, CachedTile, ByBytes>>,
    capacity: u64,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<TileKey, CachedTile> for ByBytes {
    fn weight(&self, _: &TileKey, tile: &CachedTile) -> u64 {
        tile.byte_len()
    }
}

impl TileCache {
    /// A cache of so many bytes; 0 keeps nothing.
    pub fn new(byte_len: u64) -> Self {
        /// What tiles are thought to take, to make room for their names. It may be wrong by far.
        const TYPICAL_BYTE_LEN: u64 = 256 << 10;
        let expected = usize::try_from(byte_len / TYPICAL_BYTE_LEN).unwrap_or(usize::MAX).clamp(16, 1 << 16);
        TileCache { kept: Mutex::new(Cache::with_weighter(expected, byte_len, ByBytes)), capacity: byte_len }
    }

    fn kept(&self) -> MutexGuard<'_, Cache<TileKey, CachedTile, ByBytes>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that it may hold.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The bytes that it holds.
    pub fn byte_len(&self) -> u64 {
        self.kept().weight()
    }

    /// What is kept under a name.
    pub fn find(&self, key: &TileKey) -> Option<CachedTile> {
        self.kept().get(key).cloned()
    }

    /// Keeps something, in place of what was kept under its name; others may have to go for it.
    pub fn keep(&self, key: TileKey, tile: CachedTile) {
        if tile.byte_len() <= self.capacity {
            self.kept().insert(key, tile);
        }
    }

    /// Lets everything go.
    pub fn clear(&self) {
        self.kept().clear();
    }
}

impl fmt::Debug for TileCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TileCache")
            .field("byte_len", &self.byte_len())
            .field("capacity", &self.capacity)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tile_idx: usize) -> TileKey {
        let file = Arc::new(CachedFile { address: "a".to_owned(), versions: [None; 3] });
        TileKey { file, tile_idx, part: TilePart::Column }
    }

    fn column(byte_len: usize) -> CachedTile {
        let data = AlignedBuf::zeroed(byte_len).unwrap();
        let column = Arc::new(Column { data, ..Column::default() });
        CachedTile::Column(Arc::new(CachedColumn::new(column, 0)))
    }

    #[test]
    fn never_more_bytes_are_kept_than_there_is_room_for() {
        let cache = TileCache::new(100_000);
        for idx in 0..1000 {
            cache.keep(key(idx), column(idx * 37 % 5000));
            assert!(cache.byte_len() <= 100_000);
        }
        cache.keep(key(1000), column(100_000));
        assert!(cache.find(&key(1000)).is_none(), "what does not fit is not kept");
        assert!(cache.byte_len() > 50_000, "{cache:?}");
        cache.clear();
        assert_eq!(cache.byte_len(), 0);
        TileCache::new(0).keep(key(0), CachedTile::Seen);
    }

    #[test]
    fn files_of_the_same_name_and_another_version_are_others() {
        let cache = TileCache::new(1 << 20);
        let of = |number| {
            let versions = [Some(FileVersion::new([number, 0, 0, 0])), None, None];
            let file = Arc::new(CachedFile { address: "a".to_owned(), versions });
            TileKey { file, tile_idx: 0, part: TilePart::Values }
        };
        cache.keep(of(1), CachedTile::Seen);
        assert!(cache.find(&of(1)).is_some());
        assert!(cache.find(&of(2)).is_none());
    }
}
