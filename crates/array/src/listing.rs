//! From the listing of an array's folders to the fragments that are visible in a time range.
//!
//! Specification: `array_file_hierarchy.md`. A fragment is committed if its commit file, or an entry of a consolidated
//! commits file that no ignore file takes back, names it; before version 5 if its metadata file is there. A vacuum file
//! hides the fragments it lists from readers whose time range contains its own. Names read from files only select among
//! entries of the listing.

use crate::commits::{Commits, LISTING_ATTEMPTS, read_list};
use crate::{ArrayPlace, ListedDelete};
use bytes::Bytes;
use smalti_format::Rule;
use smalti_format::names::{
    self, COMMITS_FOLDER, CommitKind, FRAGMENT_META_FOLDER, FRAGMENTS_FOLDER, META_ENDING, TimestampedName,
};
use smalti_store::{Entry, Store, StoreExt};
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashSet;

/// A fragment that a listing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFragment {
    /// Its name.
    pub name: TimestampedName,
    /// The path of its folder in the store.
    pub path: String,
}

/// What the folders of an array say at one moment.
#[derive(Debug)]
pub struct Listing {
    /// The committed fragments that the time range sees, oldest first.
    pub fragments: Vec<ListedFragment>,
    /// Delete commits that the time range sees.
    pub deletes: Vec<ListedDelete>,
    /// Committed fragments that the time range does not see.
    pub outside_time: usize,
    /// Files of consolidated fragment metadata, with their paths relative to the array, newest first. Not asked for when there are no
    /// two fragments, as they would spare no read.
    pub fragment_meta: Vec<(TimestampedName, String)>,
    /// Things that a reader passes over, but that somebody should look at.
    pub warnings: Vec<String>,
}

/// Whether a fragment takes part in a read: sparse ones that may be consolidated with timestamps do if they overlap, as
/// their cells tell their own times; others only as a whole.
fn is_visible(name: &TimestampedName, time: TimeRange, is_dense: bool) -> bool {
    let splits = !is_dense
        && name.stated_version().is_some_and(|version| Rule::CellTimestamps.span().contains(version));
    if splits { time.overlaps(name.range()) } else { time.contains(name.range()) }
}

impl Listing {
    /// Lists a dense or sparse array.
    ///
    /// A listing is not of one moment, and commits move: consolidation puts a file that names many of them, vacuum removes
    /// these. A listing that began before the first and ended after the second may show neither. So where a fragment
    /// has no commit, or a listed file is gone, the commits are listed again until two listings agree.
    ///
    /// # Errors
    /// What the store reports; `Corrupt` when a consolidated commits file is damaged.
    pub fn read(place: &ArrayPlace, time: TimeRange, is_dense: bool) -> Result<Listing> {
        let store = &**place.store();
        let folder = place.join(COMMITS_FOLDER);
        let mut names = store.list_names(&folder)?;
        let mut attempt = 1;
        loop {
            let is_last = attempt == LISTING_ATTEMPTS;
            attempt += 1;
            match Listing::with_commits(place, time, is_dense, &names) {
                Ok((listing, orphan_count)) => {
                    if orphan_count == 0 || is_last {
                        return Ok(listing);
                    }
                    let again = store.list_names(&folder)?;
                    if again == names {
                        return Ok(listing);
                    }
                    names = again;
                }
                Err(error) if error.kind() == ErrorKind::NotFound && !is_last => {
                    names = store.list_names(&folder)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The listing, and the number of fragments that no commit names.
    fn with_commits(
        place: &ArrayPlace,
        time: TimeRange,
        is_dense: bool,
        commit_names: &[String],
    ) -> Result<(Listing, usize)> {
        let store = &**place.store();
        let root = store.list(place.path())?;
        let root_files: Vec<String> =
            root.iter().filter(|entry| entry.is_file()).map(|entry| entry.name.clone()).collect();
        let commits = Commits::of_names(place, &root_files, commit_names)?;
        let mut listing = Listing {
            fragments: Vec::new(),
            deletes: Vec::new(),
            outside_time: 0,
            fragment_meta: Vec::new(),
            warnings: commits.warnings.clone(),
        };
        let mut committed: Vec<ListedFragment> = Vec::new();
        let mut vacuums: Vec<(TimestampedName, String)> = Vec::new();
        let mut in_consolidated: HashSet<(&TimestampedName, CommitKind)> = HashSet::new();
        for file in &commits.consolidated {
            for entry in &file.entries {
                if commits.ignores(entry)? || !in_consolidated.insert((&entry.name, entry.kind)) {
                    continue;
                }
                match entry.kind {
                    CommitKind::Write => committed.push(fragment(place, entry.name.clone())?),
                    CommitKind::Delete => listing.deletes.push(ListedDelete {
                        name: entry.name.clone(),
                        path: place.join(&file.file.path),
                        // A copy, so that a delete does not keep all of the file in memory.
                        tile: file.tile(entry).map(|tile| Bytes::copy_from_slice(&tile)),
                    }),
                    _ => {}
                }
            }
        }
        for file in &commits.single {
            let is_new = || !in_consolidated.contains(&(&file.name, file.kind));
            match file.kind {
                CommitKind::Write if is_new() => committed.push(fragment(place, file.name.clone())?),
                CommitKind::Vacuum => vacuums.push((file.name.clone(), file.path.clone())),
                CommitKind::Delete if is_new() => listing.deletes.push(ListedDelete {
                    name: file.name.clone(),
                    path: place.join(&file.path),
                    tile: None,
                }),
                _ => {}
            }
        }
        committed.extend(old_fragments(place, &root)?);
        listing.deletes.retain(|delete| time.contains(delete.name.range()));

        let folders = store.list(&place.join(FRAGMENTS_FOLDER))?;
        let folders: HashSet<&str> =
            folders.iter().filter(|entry| entry.is_folder()).map(|entry| entry.name.as_str()).collect();
        let root_folders: HashSet<&str> =
            root.iter().filter(|entry| entry.is_folder()).map(|entry| entry.name.as_str()).collect();
        let hidden = hidden_names(place, &vacuums, time, is_dense, &mut listing.warnings)?;
        let mut found_count = 0;
        for fragment in committed {
            let name = fragment.name.as_str();
            let is_present = folders.contains(name);
            found_count += usize::from(is_present);
            if !is_visible(&fragment.name, time, is_dense) {
                listing.outside_time += 1;
            } else if hidden.contains(name) {
            } else if is_present || root_folders.contains(name) {
                listing.fragments.push(fragment);
            } else {
                listing.warnings.push(format!("the fragment {name} is committed, but its folder is gone"));
            }
        }
        listing.fragments.sort_by(|a, b| a.name.cmp(&b.name));
        listing.fragments.dedup_by(|a, b| a.name == b.name);
        if listing.fragments.len() >= 2 {
            listing.fragment_meta = fragment_meta_files(place, &root_files)?;
        }
        Ok((listing, folders.len().saturating_sub(found_count)))
    }
}

/// Files of consolidated fragment metadata with their paths relative to the array, newest first; `root` are names in the
/// array's folder, where they stand before version 12.
///
/// # Errors
/// What the store reports.
pub fn fragment_meta_files(place: &ArrayPlace, root: &[String]) -> Result<Vec<(TimestampedName, String)>> {
    let names = place.store().list_names(&place.join(FRAGMENT_META_FOLDER))?;
    let mut files = Vec::new();
    for (folder, names) in [("", root), (FRAGMENT_META_FOLDER, &names)] {
        for file_name in names {
            let Some(Ok(name)) = file_name.strip_suffix(META_ENDING).map(TimestampedName::parse) else {
                continue;
            };
            files.push((name, smalti_store::join(folder, file_name)));
        }
    }
    files.sort_by(|(a, _), (b, _)| (b.range().end, b).cmp(&(a.range().end, a)));
    Ok(files)
}

fn fragment(place: &ArrayPlace, name: TimestampedName) -> Result<ListedFragment> {
    let path = place.join(&names::fragment_path(&name, name.fragment_version()?));
    Ok(ListedFragment { name, path })
}

/// Fragments of versions before commit files: committed when their metadata file is there.
fn old_fragments(place: &ArrayPlace, root: &[Entry]) -> Result<Vec<ListedFragment>> {
    let mut found = Vec::new();
    for entry in root.iter().filter(|entry| entry.is_folder()) {
        let Ok(name) = TimestampedName::parse(&entry.name) else { continue };
        if name.fragment_version()?.has(Rule::CommitFiles) {
            continue;
        }
        let path = place.join(&entry.name);
        if place.store().file_exists(&smalti_store::join(&path, names::FRAGMENT_METADATA_FILE))? {
            found.push(ListedFragment { name, path });
        }
    }
    Ok(found)
}

/// The fragments that vacuum files inside the time range hide.
fn hidden_names(
    place: &ArrayPlace,
    vacuums: &[(TimestampedName, String)],
    time: TimeRange,
    is_dense: bool,
    warnings: &mut Vec<String>,
) -> Result<HashSet<String>> {
    let mut hidden = HashSet::new();
    for (_, path) in vacuums.iter().filter(|(name, _)| is_visible(name, time, is_dense)) {
        hidden.extend(read_list(place, path, warnings)?.names);
    }
    Ok(hidden)
}

/// The schemas of an array, oldest first.
///
/// # Errors
/// `NotFound` when there is none: no array is here.
pub(crate) fn schema_files(place: &ArrayPlace) -> Result<Vec<(Option<TimestampedName>, String)>> {
    let store = &**place.store();
    let mut files = Vec::new();
    let old = place.join(names::OLD_SCHEMA_FILE);
    if store.file_exists(&old)? {
        files.push((None, old));
    }
    let folder = place.join(names::SCHEMA_FOLDER);
    let mut named: Vec<TimestampedName> = Vec::new();
    for entry in store.list(&folder)?.into_iter().filter(Entry::is_file) {
        named.push(TimestampedName::parse(&entry.name).map_err(|error| {
            error.context("a stray file among the schemas; move it away").at_uri(store.address(&folder))
        })?);
    }
    named.sort();
    files.extend(named.into_iter().map(|name| {
        let path = smalti_store::join(&folder, name.as_str());
        (Some(name), path)
    }));
    if files.is_empty() {
        let message = if place.has_group()? {
            "a group is here, no array"
        } else {
            "no array is here; create one, or check the path"
        };
        return Err(Error::not_found(message).at_uri(place.uri()));
    }
    Ok(files)
}
