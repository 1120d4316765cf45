//! Open file handles, kept for reuse: opening costs several times a small read.

use super::os::OpenFile;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many files stay open, well below the usual limit of 1024 a process.
const CAPACITY: usize = 256;
/// How many are closed at once when there are too many.
const EVICTED: usize = CAPACITY / 8;

/// Kept handles by the absolute paths of their files. Clones share them: those of a context, in which many arrays share the limit, and
/// a file that one store deletes is forgotten by every other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handles {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    by_path: HashMap<PathBuf, (Arc<OpenFile>, u64)>,
    /// Counts uses; the smallest stamp is the least recently used.
    use_count: u64,
}

impl Handles {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Every change is a single insertion or removal, so that a panic elsewhere leaves the map usable.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kept handle of an absolute path.
    pub(super) fn find(&self, path: &Path) -> Option<Arc<OpenFile>> {
        let mut kept = self.kept();
        kept.use_count += 1;
        let stamp = kept.use_count;
        let (file, last_use) = kept.by_path.get_mut(path)?;
        *last_use = stamp;
        Some(Arc::clone(file))
    }

    /// Keeps a handle, in place of an older one of that path. Those that were not used for the longest time make room.
    pub(super) fn keep(&self, path: PathBuf, file: Arc<OpenFile>) {
        let mut kept = self.kept();
        kept.use_count += 1;
        let stamp = kept.use_count;
        if kept.by_path.len() >= CAPACITY && !kept.by_path.contains_key(&path) {
            // Many at once: to find the oldest takes a look at each.
            let mut stamps: Vec<u64> = kept.by_path.values().map(|(_, stamp)| *stamp).collect();
            let (_, &mut oldest_kept, _) = stamps.select_nth_unstable(EVICTED);
            kept.by_path.retain(|_, (_, stamp)| *stamp >= oldest_kept);
        }
        kept.by_path.insert(path, (file, stamp));
    }

    /// Closes the handles of a path and of everything below it.
    pub(super) fn forget(&self, path: &Path) {
        self.kept().by_path.retain(|kept, _| !kept.starts_with(path));
    }

    /// Closes the handle of a file.
    pub(super) fn forget_file(&self, path: &Path) {
        self.kept().by_path.remove(path);
    }

    /// Closes all handles that nobody uses: the process ran out of them.
    pub(super) fn forget_all(&self) {
        self.kept().by_path.clear();
    }
}
