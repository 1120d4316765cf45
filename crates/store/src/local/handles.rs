//! Open file handles, kept for reuse: opening costs several times a small read.

use super::os::OpenFile;
use quick_cache::sync::Cache;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many files stay open, well below the usual limit of 1024 a process.
const CAPACITY: usize = 256;

/// Kept handles by the absolute paths of their files. Clones share them: those of a context, in which many arrays share the limit, and
/// a file that one store deletes is forgotten by every other.
#[derive(Clone)]
pub(crate) struct Handles {
    kept: Arc<Cache<OsString, Arc<OpenFile>>>,
}

impl Default for Handles {
    fn default() -> Self {
        Handles { kept: Arc::new(Cache::new(CAPACITY)) }
    }
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles").field("len", &self.kept.len()).finish()
    }
}

impl Handles {
    /// The kept handle of an absolute path.
    pub(super) fn find(&self, path: &Path) -> Option<Arc<OpenFile>> {
        self.kept.get(path.as_os_str())
    }

    /// Keeps a handle, in place of an older one of that path. Those that are not used again make room; they are closed once nobody waits
    /// for this.
    pub(super) fn keep(&self, path: PathBuf, file: Arc<OpenFile>) {
        self.kept.insert(path.into_os_string(), file);
    }

    /// Closes the handles of a path and of everything below it.
    pub(super) fn forget(&self, path: &Path) {
        self.kept.retain(|kept, _| !is_in(kept, path));
    }

    /// Closes the handle of a file.
    pub(super) fn forget_file(&self, path: &Path) {
        self.kept.remove::<OsStr>(path.as_os_str());
    }

    /// Closes all handles that nobody uses: the process ran out of them.
    pub(super) fn forget_all(&self) {
        self.kept.clear();
    }
}

/// Whether a path is a folder, or below it. Both are put together in one way, so that their bytes tell: of each folder that is renamed, all kept paths
/// are asked.
fn is_in(path: &OsStr, folder: &Path) -> bool {
    let below = path.as_encoded_bytes().strip_prefix(folder.as_os_str().as_encoded_bytes());
    below.is_some_and(|below| below.first().is_none_or(|next| std::path::is_separator(char::from(*next))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_in_it_what_is_below_it_and_no_longer_names() {
        let is_in = |path: &str| is_in(OsStr::new(path), Path::new("/a/b"));
        assert!(["/a/b", "/a/b/c", "/a/b/c/d"].into_iter().all(is_in));
        assert!(!["/a", "/a/bc", "/a/bc/d", "/a/c", "/b", "a/b", ""].into_iter().any(is_in));
    }
}
