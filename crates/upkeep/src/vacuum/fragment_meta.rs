//! Vacuum of consolidated fragment metadata.

use crate::report::remove;
use crate::{FileReport, Options, Report};
use smalti_array::{ArrayPlace, fragment_meta_files};
use smalti_store::Store;
use smalti_types::{ErrorKind, Result};

/// Removes consolidated fragment metadata whose times end before those of the newest, as libtiledb does: files that end
/// with it stay, however many. Each fragment has its own metadata, so that nothing is lost whichever file goes.
///
/// # Errors
/// `NotFound` when no array is here; what the store reports.
pub fn vacuum_fragment_meta(place: &ArrayPlace, options: &Options) -> Result<Report> {
    place.newest_schema()?;
    let mut report = Report::default();
    let root = place.store().list_names(place.path())?;
    let files = fragment_meta_files(place, &root)?;
    let newest = files.first().map(|(name, _)| name.range().end);
    let mut old = Vec::new();
    for (_, path) in files.into_iter().filter(|(name, _)| Some(name.range().end) != newest) {
        match place.store().byte_len(&place.join(&path)) {
            Ok(byte_len) => old.push(FileReport { path, byte_len }),
            // Gone already, or a folder: nothing that was ever written here.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    remove(place, options, &old, &mut report)?;
    Ok(report)
}
