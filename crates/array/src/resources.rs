//! What all reads, writes and upkeep of a program share: its memory, and what is kept in it.

use crate::TileCache;
use crate::decoders::Decoders;
use crate::section_blocks::SectionBlocks;
use smalti_store::KeptBytes;
use smalti_tile::KeptWorkspaces;
use smalti_types::{Error, ErrorKind, Result, Spares};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes of decoded tiles and metadata that are kept where nobody limits the memory.
pub const DEFAULT_CACHE_BYTE_LEN: u64 = 64 << 20;

/// The part of a limited memory that decoded tiles may take: one of so many.
pub const CACHE_SHARE: u64 = 8;

/// The part of the cache that metadata of distant stores may take: one of so many.
const METADATA_SHARE: u64 = 4;

/// The bytes of long sections of fragment metadata that are kept at most: what the levels of some trees, and the places of some
/// fields, need again and again.
const SECTION_BLOCKS_BYTE_LEN: u64 = 8 << 20;

/// The part of a limited memory that they may take: one of so many.
const SECTION_BLOCKS_SHARE: u64 = 16;

/// The bytes of buffers that results gave back which are kept at most for the next.
const SPARES_BYTE_LEN: u64 = 128 << 20;

/// The part of a limited memory that they may take: one of so many.
const SPARES_SHARE: u64 = 16;

/// The bytes of workspaces that are kept at most for the next read.
const WORKSPACES_BYTE_LEN: u64 = 16 << 20;

/// The part of a limited memory that they may take: one of so many.
const WORKSPACES_SHARE: u64 = 32;

/// The account of memory, and the cache of decoded tiles, which draws from it too.
#[derive(Debug)]
pub struct Resources {
    tiles: TileCache,
    metadata: Arc<KeptBytes>,
    metadata_capacity: u64,
    section_blocks: Arc<SectionBlocks>,
    decoders: Arc<Decoders>,
    spares: Arc<Spares>,
    workspaces: Arc<KeptWorkspaces>,
    /// What work may hold at once; `None` for no limit.
    limit: Option<u64>,
    taken: Mutex<u64>,
}

impl Default for Resources {
    /// No limit, and a cache of [`DEFAULT_CACHE_BYTE_LEN`].
    fn default() -> Self {
        Resources::new(DEFAULT_CACHE_BYTE_LEN, None)
    }
}

impl Resources {
    /// So many bytes for everything. A [share](CACHE_SHARE) of them, or [`DEFAULT_CACHE_BYTE_LEN`] if that is less, is for what is kept:
    /// decoded tiles, and a quarter of it metadata of distant stores.
    pub fn of(byte_len: u64) -> Self {
        let cache = (byte_len / CACHE_SHARE).min(DEFAULT_CACHE_BYTE_LEN);
        Resources::new(cache, Some(byte_len - cache))
    }

    /// The same limit for work, nothing taken of it, and no cache.
    #[must_use]
    pub fn uncached(&self) -> Self {
        let (spares, workspaces) = (Arc::clone(&self.spares), Arc::clone(&self.workspaces));
        Resources { spares, workspaces, ..Resources::new(0, self.limit) }
    }

    fn new(cache: u64, limit: Option<u64>) -> Self {
        let metadata_capacity = cache / METADATA_SHARE;
        let blocks = limit.map_or(SECTION_BLOCKS_BYTE_LEN, |limit| {
            SECTION_BLOCKS_BYTE_LEN.min(limit / SECTION_BLOCKS_SHARE)
        });
        let workspaces =
            limit.map_or(WORKSPACES_BYTE_LEN, |limit| WORKSPACES_BYTE_LEN.min(limit / WORKSPACES_SHARE));
        let spares = limit.map_or(SPARES_BYTE_LEN, |limit| SPARES_BYTE_LEN.min(limit / SPARES_SHARE));
        Resources {
            tiles: TileCache::new(cache - metadata_capacity),
            metadata: Arc::new(KeptBytes::new(metadata_capacity)),
            metadata_capacity,
            section_blocks: Arc::new(SectionBlocks::new(blocks)),
            decoders: Arc::default(),
            spares: Arc::new(Spares::new(spares)),
            workspaces: Arc::new(KeptWorkspaces::new(workspaces)),
            limit,
            taken: Mutex::default(),
        }
    }

    /// Decoders of metadata.
    pub(crate) fn decoders(&self) -> &Arc<Decoders> {
        &self.decoders
    }

    /// Decoded blocks of long sections of fragment metadata.
    pub(crate) fn section_blocks(&self) -> &Arc<SectionBlocks> {
        &self.section_blocks
    }

    /// Buffers of results.
    pub fn spares(&self) -> &Arc<Spares> {
        &self.spares
    }

    /// Memory and decoders of tasks that reads gave back.
    pub fn workspaces(&self) -> &Arc<KeptWorkspaces> {
        &self.workspaces
    }

    /// Metadata of distant stores. That of near ones is kept by the system.
    pub fn metadata(&self) -> &Arc<KeptBytes> {
        &self.metadata
    }

    /// The bytes of metadata that may be kept.
    pub fn metadata_capacity(&self) -> u64 {
        self.metadata_capacity
    }

    /// Decoded tiles.
    pub fn tiles(&self) -> &TileCache {
        &self.tiles
    }

    fn taken(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that work has taken.
    pub fn taken_byte_len(&self) -> u64 {
        *self.taken()
    }

    /// The bytes that work may still take; `None` for no limit.
    pub fn left_byte_len(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.taken_byte_len()))
    }

    /// Takes bytes, for as long as the outcome lives.
    ///
    /// # Errors
    /// `OutOfMemory` when there are not so many left.
    pub fn take(self: &Arc<Self>, byte_len: u64) -> Result<TakenMemory> {
        let mut taken = TakenMemory { resources: Arc::clone(self), byte_len: 0 };
        taken.grow(byte_len)?;
        Ok(taken)
    }
}

/// Memory that some work has taken out of an account; it goes back when this is dropped.
#[derive(Debug)]
pub struct TakenMemory {
    resources: Arc<Resources>,
    byte_len: u64,
}

impl TakenMemory {
    /// The bytes.
    pub fn byte_len(&self) -> u64 {
        self.byte_len
    }

    /// Takes more, up to so many bytes in all; less than there are changes nothing.
    ///
    /// # Errors
    /// `OutOfMemory` when there are not so many left; it has then what it had.
    pub fn grow(&mut self, byte_len: u64) -> Result<()> {
        let more = byte_len.saturating_sub(self.byte_len);
        let mut taken = self.resources.taken();
        if let Some(limit) = self.resources.limit
            && more > limit.saturating_sub(*taken)
        {
            return Err(Error::new(
                ErrorKind::OutOfMemory,
                format!(
                    "{byte_len} bytes of memory are asked for; of the {limit} that the context has for work, {} are taken by \
                     others: let them end, ask for less, or give the context more",
                    taken.saturating_sub(self.byte_len)
                ),
            ));
        }
        *taken = taken.saturating_add(more);
        self.byte_len = self.byte_len.saturating_add(more);
        Ok(())
    }
}

impl Drop for TakenMemory {
    fn drop(&mut self) {
        let mut taken = self.resources.taken();
        *taken = taken.saturating_sub(self.byte_len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_and_given_back() {
        let resources = Arc::new(Resources::of(800));
        assert_eq!((resources.tiles().capacity(), resources.left_byte_len()), (75, Some(700)));
        let mut first = resources.take(300).unwrap();
        let error = resources.take(500).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.message().contains("of the 700"), "{error}");
        first.grow(650).unwrap();
        assert!(first.grow(701).is_err());
        first.grow(10).unwrap();
        assert_eq!((first.byte_len(), resources.taken_byte_len()), (650, 650));
        drop(first);
        assert_eq!(resources.left_byte_len(), Some(700));
        let endless = Arc::new(Resources::default());
        assert_eq!(endless.take(1 << 60).unwrap().byte_len(), 1 << 60);
        assert_eq!(endless.left_byte_len(), None);
    }
}
