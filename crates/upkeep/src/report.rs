//! What an operation is asked for, and what it says it did.

use smalti_array::ArrayPlace;
use smalti_store::Store;
use smalti_types::Result;

/// How an operation on files runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether to change nothing, and only report what would be done.
    pub dry_run: bool,
}

/// A file that an operation has read, written or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// Its path, relative to the array or group.
    pub path: String,
    /// Its size in bytes.
    pub byte_len: u64,
}

/// What an operation did, or with [`Options::dry_run`] would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Files whose content was merged.
    pub read: Vec<FileReport>,
    /// New files. In a dry run their names end as they would, but are others.
    pub written: Vec<FileReport>,
    /// Files that are gone.
    pub removed: Vec<FileReport>,
    /// What was left as it is although it is not in order.
    pub warnings: Vec<String>,
}

impl Report {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty()
    }

    pub(crate) fn note_read(&mut self, path: &str, byte_len: u64) {
        self.read.push(FileReport { path: path.to_owned(), byte_len });
    }

    pub(crate) fn note_written(&mut self, path: &str, byte_len: u64) {
        self.written.push(FileReport { path: path.to_owned(), byte_len });
    }

    pub(crate) fn note_removed(&mut self, path: &str, byte_len: u64) {
        self.removed.push(FileReport { path: path.to_owned(), byte_len });
    }
}

/// Removes files of an array, durably on return, and reports them; those of one call may go in any order.
///
/// # Errors
/// After an error any of the files are gone; the same operation again removes the others.
pub(crate) fn remove(
    place: &ArrayPlace,
    options: &Options,
    files: &[FileReport],
    report: &mut Report,
) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    if !options.dry_run {
        let paths: Vec<String> = files.iter().map(|file| place.join(&file.path)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        place.store().delete_files(&paths)?;
    }
    for file in files {
        report.note_removed(&file.path, file.byte_len);
    }
    Ok(())
}
