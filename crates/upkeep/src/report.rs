//! What an operation is asked for, and what it says it did.

use smalti_array::ArrayPlace;
use smalti_query::{Announced, Phase, Progress, Unit};
use smalti_store::Store;
use smalti_types::Result;
use std::sync::Arc;

/// How an operation on files runs.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether to change nothing, and only report what would be done.
    pub dry_run: bool,
    /// Where the operation tells how far it is, and listens for the word to stop.
    pub progress: Option<Arc<Progress>>,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

/// The phases of putting files together in one.
const PUT_TOGETHER: &[Phase] = &[Phase::Reading, Phase::Publishing];

impl Options {
    /// The progress, with the phases of putting files together in one announced.
    pub(crate) fn announce(&self) -> (Arc<Progress>, Announced) {
        let progress = self.progress.clone().unwrap_or_default();
        let announced = progress.announce(PUT_TOGETHER);
        (progress, announced)
    }
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
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
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
        let progress = options.progress.clone().unwrap_or_default();
        let _announced = progress.announce(&[Phase::Removing]);
        progress.check()?;
        progress.enter(Phase::Removing, Unit::Files, Some(files.len() as u64));
        let paths: Vec<String> = files.iter().map(|file| place.join(&file.path)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        place.store().delete_files(&paths)?;
        progress.complete(Phase::Removing);
    }
    for file in files {
        report.note_removed(&file.path, file.byte_len);
    }
    Ok(())
}
