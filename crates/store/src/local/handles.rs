//! Open file handles, kept for reuse: opening costs several times a small read.

use super::os::OpenFile;
use std::collections::HashMap;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// How many files stay open for the whole process, well below the usual limit of 1024 a process.
const CAPACITY: usize = 256;
/// How many are closed at once when there are too many.
const EVICTED: usize = CAPACITY / 8;

/// The handles of the process. One for all stores: many arrays share the limit, and a file that one store deletes
/// is forgotten by every other.
static HANDLES: LazyLock<Mutex<Handles>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct Handles {
    by_path: HashMap<PathBuf, (Arc<OpenFile>, u64)>,
    /// Counts uses; the smallest stamp is the least recently used.
    use_count: u64,
}

fn handles() -> MutexGuard<'static, Handles> {
    // Every change is a single insertion or removal, so that a panic elsewhere leaves the map usable.
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kept handle of an absolute path.
pub(super) fn find(path: &Path) -> Option<Arc<OpenFile>> {
    let mut handles = handles();
    handles.use_count += 1;
    let stamp = handles.use_count;
    let (file, last_use) = handles.by_path.get_mut(path)?;
    *last_use = stamp;
    Some(Arc::clone(file))
}

/// Keeps a handle, in place of an older one of that path. Those that were not used for the longest time make room.
pub(super) fn keep(path: PathBuf, file: Arc<OpenFile>) {
    let mut handles = handles();
    handles.use_count += 1;
    let stamp = handles.use_count;
    if handles.by_path.len() >= CAPACITY && !handles.by_path.contains_key(&path) {
        // Many at once: to find the oldest takes a look at each.
        let mut stamps: Vec<u64> = handles.by_path.values().map(|(_, stamp)| *stamp).collect();
        let (_, &mut oldest_kept, _) = stamps.select_nth_unstable(EVICTED);
        handles.by_path.retain(|_, (_, stamp)| *stamp >= oldest_kept);
    }
    handles.by_path.insert(path, (file, stamp));
}

/// Closes the handles of a path and of everything below it.
pub(super) fn forget(path: &Path) {
    handles().by_path.retain(|kept, _| !kept.starts_with(path));
}

/// Closes the handle of a file.
pub(super) fn forget_file(path: &Path) {
    handles().by_path.remove(path);
}

/// Closes all handles that nobody uses: the process ran out of them.
pub(super) fn forget_all() {
    handles().by_path.clear();
}
