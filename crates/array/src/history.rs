//! Folders whose files each tell of one change, with the time in their names: metadata of arrays and groups, members
//! of groups.

use crate::ArrayPlace;
use crate::commits::read_list;
use smalti_format::Version;
use smalti_format::names::{TimestampedName, VACUUM_ENDING};
use smalti_store::{Entry, join};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Result, TimeRange};
use std::collections::HashSet;

/// The files of such a folder that a time range sees, oldest first: those wholly inside it that no vacuum file inside it
/// lists. Files with other names are passed over.
///
/// # Errors
/// What the store reports.
pub(crate) fn visible_files(
    place: &ArrayPlace,
    folder: &str,
    time: TimeRange,
) -> Result<Vec<TimestampedName>> {
    let mut files = Vec::new();
    let mut hidden = HashSet::new();
    for entry in place.store().list(&place.join(folder))?.into_iter().filter(Entry::is_file) {
        let stem = entry.name.strip_suffix(VACUUM_ENDING);
        let Ok(name) = TimestampedName::parse(stem.unwrap_or(&entry.name)) else { continue };
        if !time.contains(name.range()) {
            continue;
        }
        if stem.is_some() {
            hidden.extend(read_list(place, &join(folder, &entry.name), &mut Vec::new())?.names);
        } else {
            files.push(name);
        }
    }
    files.retain(|name| !hidden.contains(name.as_str()));
    files.sort();
    Ok(files)
}

/// The name of a file of such a folder for a change at an instant.
///
/// # Errors
/// `Io` when there is no randomness.
pub(crate) fn new_name(place: &ArrayPlace, at: u64) -> Result<TimestampedName> {
    Ok(TimestampedName::new(TimeRange { start: at, end: at }, place.new_id()?, None))
}

/// Puts a file into such a folder, atomic and durable: one generic tile with the payload.
///
/// # Errors
/// What the store reports.
pub(crate) fn put(place: &ArrayPlace, folder: &str, name: &str, payload: &[u8]) -> Result<()> {
    let mut tile = Vec::new();
    write_generic_tile(payload, Version::DEFAULT, place.cipher(), &mut tile, &mut Scratch::new())?;
    place.store().put(&place.join(&join(folder, name)), &[&tile])
}
