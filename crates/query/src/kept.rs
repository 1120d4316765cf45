//! Which decoded tiles of a read stay for later ones.
//!
//! Reads with ranges keep what they decode: boxes come again where boxes were. Reads of everything neither look for tiles nor keep any.

use crate::request::ReadRequest;
use smalti_array::{CachedChunks, CachedFile, CachedTile, Resources, TileKey, TilePart};
use smalti_tile::ChunkDirectory;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The cache of the context, as far as a read uses it.
pub(crate) struct KeptTiles {
    resources: Option<Arc<Resources>>,
    /// Whether the store learns versions from what it answers.
    is_distant: bool,
    /// What it may still add.
    left: AtomicU64,
}

/// The files of a field of a fragment by their versions, asked of a near store once a read. A distant one may know them when it has answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptName(OnceLock<Option<Arc<CachedFile>>>);

impl KeptTiles {
    /// For a read that may add so many bytes.
    pub(crate) fn new(
        resources: &Arc<Resources>,
        request: &ReadRequest,
        is_distant: bool,
        byte_len: u64,
    ) -> Self {
        let is_plain = !request.is_fresh && !request.skips_checksums;
        let uses = is_plain && request.ranges.iter().any(|ranges| !ranges.is_empty());
        let uses = uses && resources.tiles().capacity() > 0;
        let resources = uses.then(|| Arc::clone(resources));
        KeptTiles { resources, is_distant, left: AtomicU64::new(byte_len) }
    }

    /// Whether the read looks for tiles, and keeps some.
    pub(crate) fn are_used(&self) -> bool {
        self.resources.is_some()
    }

    /// The name of a tile of a file; `None` where the read keeps nothing, or the store does not know the file from others of its name.
    pub(crate) fn key(
        &self,
        name: &KeptName,
        file: impl FnOnce() -> Option<CachedFile>,
        tile_idx: usize,
        part: TilePart,
    ) -> Option<TileKey> {
        self.resources.as_ref()?;
        let file = match (name.0.get(), self.is_distant) {
            (Some(file), _) => file.clone()?,
            (None, false) => name.0.get_or_init(|| file().map(Arc::new)).clone()?,
            (None, true) => {
                let file = file().map(Arc::new)?;
                name.0.get_or_init(|| Some(file)).clone()?
            }
        };
        Some(TileKey { file, tile_idx, part })
    }

    /// The name for a tile that was read, whose name was `before` then: from far away, of the versions that the files have now; `None` where they are not
    /// those that the read began with.
    pub(crate) fn key_after(
        &self,
        before: Option<TileKey>,
        name: &KeptName,
        file: impl FnOnce() -> Option<CachedFile>,
        tile_idx: usize,
        part: TilePart,
    ) -> Option<TileKey> {
        self.resources.as_ref()?;
        if !self.is_distant {
            return before;
        }
        let now = file()?;
        let key = before.or_else(|| self.key(name, || Some(now.clone()), tile_idx, part))?;
        (*key.file == now).then_some(key)
    }

    pub(crate) fn find(&self, key: &TileKey) -> Option<CachedTile> {
        self.resources.as_ref()?.tiles().find(key)
    }

    /// Keeps a tile, if the read may keep so much more.
    pub(crate) fn keep(&self, key: TileKey, tile: CachedTile) {
        let Some(resources) = &self.resources else { return };
        let byte_len = tile.byte_len();
        let less = |left: u64| left.checked_sub(byte_len);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            resources.tiles().keep(key, tile);
        }
    }

    /// Keeps more of a tile that is kept.
    pub(crate) fn replace(&self, key: TileKey, tile: CachedTile) {
        if let Some(resources) = &self.resources {
            resources.tiles().keep(key, tile);
        }
    }

    /// Whether the read may keep another tile.
    pub(crate) fn has_room(&self, tile_byte_len: usize) -> bool {
        self.left.load(Ordering::Relaxed) >= tile_byte_len as u64
    }

    /// A tile by chunks, if the read may keep so much more.
    pub(crate) fn room_for(
        &self,
        directory: ChunkDirectory,
        tile_byte_len: usize,
    ) -> Option<Arc<CachedChunks>> {
        if !self.has_room(tile_byte_len) {
            return None;
        }
        CachedChunks::new(directory, tile_byte_len).map(Arc::new)
    }
}
