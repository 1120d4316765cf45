//! Blocks of long sections that were decoded: a few, shared by all fragments of a context.

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use smalti_types::AlignedBuf;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What a block is expected to have: that many are looked for room.
const EXPECTED_BLOCK_BYTE_LEN: u64 = 64 << 10;

/// The decoded blocks of sections that are too long to be held.
pub(crate) struct SectionBlocks {
    capacity: u64,
    /// Made with the first of them: most arrays have none.
    kept: OnceLock<Cache<(u64, usize), Arc<AlignedBuf>, ByteLen>>,
    section_count: AtomicU64,
    decoded_byte_len: AtomicU64,
}

#[derive(Clone)]
struct ByteLen;

impl Weighter<(u64, usize), Arc<AlignedBuf>> for ByteLen {
    fn weight(&self, _: &(u64, usize), block: &Arc<AlignedBuf>) -> u64 {
        block.len() as u64
    }
}

impl SectionBlocks {
    /// Room for so many bytes.
    pub(crate) fn new(byte_len: u64) -> SectionBlocks {
        SectionBlocks {
            capacity: byte_len,
            kept: OnceLock::new(),
            section_count: AtomicU64::new(0),
            decoded_byte_len: AtomicU64::new(0),
        }
    }

    /// A name for the blocks of another section.
    pub(crate) fn new_section(&self) -> u64 {
        self.section_count.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn block(&self, section: u64, idx: usize) -> Option<Arc<AlignedBuf>> {
        self.kept.get()?.get(&(section, idx))
    }

    /// Keeps a block that was just decoded.
    pub(crate) fn keep(&self, section: u64, idx: usize, block: &Arc<AlignedBuf>) {
        self.decoded_byte_len.fetch_add(block.len() as u64, Ordering::Relaxed);
        let kept = self.kept.get_or_init(|| {
            let expected_count =
                usize::try_from(self.capacity / EXPECTED_BLOCK_BYTE_LEN).unwrap_or(usize::MAX);
            Cache::with_weighter(expected_count.min(1 << 16), self.capacity, ByteLen)
        });
        kept.insert((section, idx), Arc::clone(block));
    }

    /// Bytes of all blocks that were decoded so far.
    pub(crate) fn decoded_byte_len(&self) -> u64 {
        self.decoded_byte_len.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for SectionBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SectionBlocks").field("byte_len", &self.kept.get().map_or(0, Cache::weight)).finish()
    }
}
