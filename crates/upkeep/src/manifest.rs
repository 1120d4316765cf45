//! Manifests: the files of an array or group in a file, for readers whose server lists no folders.

use crate::fsck::ASIDE_FOLDER;
use smalti_array::ArrayPlace;
use smalti_format::names::COMMITS_FOLDER;
use smalti_store::{Entry, FileList, MANIFEST_FILE, Store, StoreExt, split};
use smalti_types::{Error, ErrorKind, Result};
use std::collections::BTreeSet;

/// A folder is listed so often before its writers are thought to be too many.
const LISTING_ATTEMPTS: usize = 8;

/// What a manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenManifest {
    /// Where it is, relative to the array or group.
    pub path: String,
    /// Its own size in bytes.
    pub byte_len: u64,
    /// The files that it names.
    pub file_count: u64,
    /// The bytes of these files.
    pub listed_byte_len: u64,
    /// When it was written, in milliseconds since 1970-01-01T00:00:00Z.
    pub written_ms: u64,
}

/// Writes the manifest of an array or group, in the place of an older one: all files in its folder, of a group those of the members that lie in
/// it too. Readers that go by it see what is there now, whatever is written later. It may be written beside writers: a commit is in
/// it with all files that belong to it, or not at all.
///
/// # Errors
/// `NotFound` when neither is here; `Unsupported` for more files than a manifest can have, and where nothing can be written; `Io` while the array
/// is consolidated and vacuumed again and again; what the store reports.
pub fn write_manifest(place: &ArrayPlace) -> Result<WrittenManifest> {
    check_object(place)?;
    let store = place.store();
    let files = files_of(&**store, place.path())?;
    let written_ms = place.env().clock.now_ms();
    let listed_byte_len = files.iter().fold(0_u64, |sum, (_, byte_len)| sum.saturating_add(*byte_len));
    let file_count = files.len() as u64;
    let named = |error: Error| error.context("writing the manifest").at_uri(place.uri());
    let bytes = FileList::new(written_ms, files).and_then(|list| list.encode()).map_err(named)?;
    store.replace(&place.join(MANIFEST_FILE), &[&bytes])?;
    let (path, byte_len) = (MANIFEST_FILE.to_owned(), bytes.len() as u64);
    Ok(WrittenManifest { path, byte_len, file_count, listed_byte_len, written_ms })
}

/// Removes the manifest of an array or group. Returns whether there was one.
///
/// # Errors
/// `NotFound` when neither is here; what the store reports.
pub fn remove_manifest(place: &ArrayPlace) -> Result<bool> {
    check_object(place)?;
    let path = place.join(MANIFEST_FILE);
    let is_there = place.store().file_exists(&path)?;
    if is_there {
        place.store().delete_files(&[&path])?;
    }
    Ok(is_there)
}

fn check_object(place: &ArrayPlace) -> Result<()> {
    match place.object_kind()? {
        Some(_) => Ok(()),
        None => Err(Error::not_found("neither an array nor a group is here").at_uri(place.uri())),
    }
}

/// The files below a folder. What shows others, a commit above all, was there before they were listed: so they are whole.
fn files_of(store: &dyn Store, folder: &str) -> Result<Vec<(String, u64)>> {
    let mut shown = shown_first(&store.list_recursive(folder)?);
    for _ in 0..LISTING_ATTEMPTS {
        let entries = store.list_recursive(folder)?;
        let now = shown_first(&entries);
        // Commits that went may be in other files now, which were not there before.
        if shown.is_subset(&now) {
            let is_kept = |entry: &Entry| !shows_others(&entry.name) || shown.contains(&entry.name);
            let mut asides = BTreeSet::new();
            // One tells that there was a repair: what caches have of before it counts no more.
            let mut is_trace =
                |path: &str| aside_of(path).is_some_and(|aside| asides.insert(aside.to_owned()));
            let files = entries
                .into_iter()
                .filter(|entry| (is_listed(&entry.name) && is_kept(entry)) || is_trace(&entry.name));
            return Ok(files.map(|entry| (entry.name, entry.byte_len)).collect());
        }
        shown = now;
    }
    Err(Error::new(
        ErrorKind::Io,
        "commits went while they were listed, again and again; try once more when nobody consolidates and vacuums",
    )
    .at_uri(store.address(folder)))
}

fn shown_first(entries: &[Entry]) -> BTreeSet<String> {
    entries.iter().filter(|entry| shows_others(&entry.name)).map(|entry| entry.name.clone()).collect()
}

/// Whether a file may make others visible: commits, which stood in the array's folder before version 12.
fn shows_others(path: &str) -> bool {
    let above = split(split(path).0).1;
    let folder = if above.is_empty() { split(path).0 } else { above };
    is_listed(path) && (folder == COMMITS_FOLDER || !folder.starts_with("__"))
}

/// Whether readers may want a file: not the manifest itself, nor what a repair has set aside.
fn is_listed(path: &str) -> bool {
    path != MANIFEST_FILE && aside_of(path).is_none()
}

/// The folder with what repairs have set aside that a file is in.
fn aside_of(path: &str) -> Option<&str> {
    let mut byte_len = 0;
    path.split('/').find_map(|part| {
        let end = byte_len + part.len();
        byte_len = end + 1;
        (part == ASIDE_FOLDER).then(|| path.get(..end)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_told_from_what_they_show() {
        for (path, shows) in [
            ("__commits/__1_1_ab_22.wrt", true),
            ("__1_1_ab_9.ok", true),
            ("rain/__commits/x", true),
            ("__labels/x/__1_1_ab_9.ok", true),
            ("__fragments/__1_1_ab_22/a0.tdb", false),
            ("__1_1_ab_9/a.tdb", false),
            ("__schema/__1_1_ab", false),
            ("__aside/1/__commits/x", false),
            (MANIFEST_FILE, false),
        ] {
            assert_eq!(shows_others(path), shows, "{path}");
        }
        assert!(is_listed("rain/__smalti_manifest.json"));
        assert_eq!(aside_of("__aside/1/__commits/x"), Some("__aside"));
        assert_eq!(aside_of("rain/__aside/1/__aside/x"), Some("rain/__aside"));
        assert_eq!(aside_of("rain__aside/__asides/x"), None);
    }
}
