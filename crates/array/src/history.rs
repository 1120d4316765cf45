//! Folders whose files each tell of one change, with the time in their names: metadata of arrays and groups, members
//! of groups.

use crate::ArrayPlace;
use crate::commits::{LISTING_ATTEMPTS, read_list};
use smalti_format::names::{TimestampedName, VACUUM_ENDING};
use smalti_format::{NameList, Version};
use smalti_store::{Entry, Store, join};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashSet;

/// What is in such a folder. Files with other names are passed over.
#[derive(Debug, Default)]
pub struct History {
    /// The files, oldest first, with their sizes in bytes.
    pub files: Vec<(TimestampedName, u64)>,
    /// The vacuum files: which files the file of the same name replaces.
    pub vacuums: Vec<HistoryVacuum>,
}

/// A vacuum file of such a folder.
#[derive(Debug)]
pub struct HistoryVacuum {
    /// Its name, without the ending: that of the file which replaces the others.
    pub name: TimestampedName,
    /// Its size in bytes.
    pub byte_len: u64,
    /// What it lists.
    pub list: NameList,
}

impl History {
    /// Reads a folder of an array or group. Where a vacuum runs at the same time, the folder is listed again.
    ///
    /// # Errors
    /// What the store reports.
    pub fn read(place: &ArrayPlace, folder: &str) -> Result<History> {
        let mut attempt = 1;
        loop {
            match History::read_once(place, folder) {
                Err(error) if error.kind() == ErrorKind::NotFound && attempt < LISTING_ATTEMPTS => {
                    attempt += 1
                }
                outcome => return outcome,
            }
        }
    }

    fn read_once(place: &ArrayPlace, folder: &str) -> Result<History> {
        let mut history = History::default();
        for entry in place.store().list(&place.join(folder))?.into_iter().filter(Entry::is_file) {
            let stem = entry.name.strip_suffix(VACUUM_ENDING);
            let Ok(name) = TimestampedName::parse(stem.unwrap_or(&entry.name)) else { continue };
            if stem.is_some() {
                let list = read_list(place, &join(folder, &entry.name), &mut Vec::new())?;
                history.vacuums.push(HistoryVacuum { name, byte_len: entry.byte_len, list });
            } else {
                history.files.push((name, entry.byte_len));
            }
        }
        history.files.sort();
        Ok(history)
    }

    /// The files that a time range sees, oldest first: those wholly inside it that no vacuum file inside it lists.
    pub fn visible(&self, time: TimeRange) -> Vec<TimestampedName> {
        let vacuums = self.vacuums.iter().filter(|vacuum| time.contains(vacuum.name.range()));
        let hidden: HashSet<&str> =
            vacuums.flat_map(|vacuum| &vacuum.list.names).map(String::as_str).collect();
        let files = self.files.iter().map(|(name, _)| name);
        files.filter(|name| time.contains(name.range()) && !hidden.contains(name.as_str())).cloned().collect()
    }

    /// A file that was merged from others of which some are gone, and that a time range cuts: what was in the range can no
    /// longer be told from what was outside it.
    ///
    /// A merged file tells by its name when the first of its sources starts and the last ends. Its vacuum file lists the
    /// sources, and is the last that a vacuum removes. Without one either the vacuum has ended, or the consolidation
    /// was cut short before it, and the sources are all there, the first and the last among them.
    pub fn cut_by(&self, time: TimeRange) -> Option<&TimestampedName> {
        let files: HashSet<&str> = self.files.iter().map(|(name, _)| name.as_str()).collect();
        self.files.iter().map(|(name, _)| name).find(|merged| {
            let range = merged.range();
            if range.start == range.end || time.contains(range) || !time.overlaps(range) {
                return false;
            }
            if let Some(vacuum) = self.vacuums.iter().find(|vacuum| vacuum.name == **merged) {
                return vacuum.list.names.iter().any(|name| !files.contains(name.as_str()));
            }
            let others = || self.files.iter().map(|(name, _)| name).filter(|name| name != merged);
            let has_first = others().any(|name| name.range().start == range.start);
            let has_last = others().any(|name| name.range().end == range.end);
            !(has_first && has_last)
        })
    }
}

/// The name of a file of such a folder for a change at an instant.
///
/// # Errors
/// `Io` when there is no randomness.
pub(crate) fn new_name(place: &ArrayPlace, at: u64) -> Result<TimestampedName> {
    place.new_name(TimeRange { start: at, end: at }, None)
}

/// Puts a file into such a folder, atomic and durable: one generic tile with the payload.
///
/// # Errors
/// What the store reports.
pub(crate) fn put(place: &ArrayPlace, folder: &str, name: &str, payload: &[u8]) -> Result<()> {
    place.put_tile_file(&place.join(&join(folder, name)), payload).map(drop)
}

impl ArrayPlace {
    /// A new name for a time range; the version is left out in names of metadata.
    ///
    /// # Errors
    /// `Io` when there is no randomness.
    pub fn new_name(&self, range: TimeRange, version: Option<Version>) -> Result<TimestampedName> {
        Ok(TimestampedName::new(range, self.new_id()?, version))
    }

    /// Puts a file that is one generic tile, atomic and durable, encrypted if the array has a key. Returns its size in bytes.
    ///
    /// # Errors
    /// What the store reports; `Io` when there is no randomness for encryption.
    pub fn put_tile_file(&self, path: &str, payload: &[u8]) -> Result<u64> {
        let mut tile = Vec::new();
        write_generic_tile(payload, Version::DEFAULT, self.cipher(), &mut tile, &mut Scratch::new())?;
        self.store().put(path, &[&tile])?;
        Ok(tile.len() as u64)
    }
}

/// A time whose history is gone.
pub(crate) fn gone(place: &ArrayPlace, merged: &TimestampedName, time: TimeRange) -> Error {
    let TimeRange { start, end } = merged.range();
    Error::not_found(format!(
        "the metadata of times {} to {} can no longer be told: what was written from {start} to {end} was merged into \
         {merged}, and the originals were removed; open the array or group in a time range that holds {start} to {end}, or \
         none of it",
        time.start, time.end
    ))
    .at_uri(place.uri())
}
