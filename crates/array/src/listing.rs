//! From the listing of an array's folders to the fragments that are visible in a time range.
//!
//! Specification: `array_file_hierarchy.md`. A fragment is committed if its commit file, or an entry of a consolidated
//! commits file that no ignore file takes back, names it; before version 5 if its metadata file is there. A vacuum file
//! hides the fragments it lists from readers whose time range contains its own. Names read from files only select among
//! entries of the listing.

use crate::{ArrayPlace, ListedDelete};
use smalti_format::names::{
    self, COMMITS_FOLDER, CommitKind, FRAGMENTS_FOLDER, TimestampedName, commit_file_name, parse_commit_file,
};
use smalti_format::{ConsolidatedCommits, NameList, Rule};
use smalti_store::{Entry, StoreExt};
use smalti_types::{Error, Result, TimeRange};
use std::collections::HashSet;

/// The largest commit, ignore or vacuum file that is read: 1 GiB, some ten million names.
const MAX_LIST_BYTE_LEN: u64 = 1 << 30;

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
    /// # Errors
    /// What the store reports; `Corrupt` when a consolidated commits file is damaged.
    pub fn read(place: &ArrayPlace, time: TimeRange, is_dense: bool) -> Result<Listing> {
        let store = &**place.store();
        let (root, commits) = (store.list(place.path())?, store.list(&place.join(COMMITS_FOLDER))?);
        let mut listing =
            Listing { fragments: Vec::new(), deletes: Vec::new(), outside_time: 0, warnings: Vec::new() };
        let mut committed: Vec<ListedFragment> = Vec::new();
        let mut vacuums: Vec<(TimestampedName, String)> = Vec::new();

        let ignored = ignored_commits(place, &commits, &mut listing.warnings)?;
        let mut in_consolidated = HashSet::new();
        for path in of_kind(&commits, COMMITS_FOLDER, CommitKind::Consolidated) {
            let file = store.read_all(&place.join(&path), MAX_LIST_BYTE_LEN)?;
            let entries = ConsolidatedCommits::decode(&file)
                .map_err(|error| error.at_uri(store.address(&place.join(&path))))?;
            for entry in entries.entries {
                let version = entry.name.fragment_version()?;
                let file_name = commit_file_name(&entry.name, entry.kind, version);
                if ignored.contains(&file_name) || !in_consolidated.insert(file_name) {
                    continue;
                }
                match entry.kind {
                    CommitKind::Write => committed.push(fragment(place, entry.name)?),
                    CommitKind::Delete => listing.deletes.push(ListedDelete {
                        name: entry.name,
                        path: place.join(&path),
                        range: entry.tile,
                    }),
                    _ => {}
                }
            }
        }
        for (folder, entries) in [("", &root), (COMMITS_FOLDER, &commits)] {
            for entry in entries.iter().filter(|entry| entry.is_file()) {
                let Some((name, kind)) = parse_commit_file(&entry.name) else { continue };
                match kind {
                    CommitKind::Write if !in_consolidated.contains(&entry.name) => {
                        committed.push(fragment(place, name)?);
                    }
                    CommitKind::Vacuum => vacuums.push((name, names_path(folder, &entry.name))),
                    CommitKind::Delete if !in_consolidated.contains(&entry.name) => {
                        let path = place.join(&names_path(folder, &entry.name));
                        listing.deletes.push(ListedDelete { name, path, range: None });
                    }
                    _ => {}
                }
            }
        }
        committed.extend(old_fragments(place, &root)?);
        listing.deletes.retain(|delete| time.contains(delete.name.range()));

        let present: HashSet<String> = store
            .list(&place.join(FRAGMENTS_FOLDER))?
            .into_iter()
            .chain(root)
            .filter(Entry::is_folder)
            .map(|entry| entry.name)
            .collect();
        let hidden = hidden_names(place, &vacuums, time, is_dense, &mut listing.warnings)?;
        for fragment in committed {
            if !is_visible(&fragment.name, time, is_dense) {
                listing.outside_time += 1;
                continue;
            }
            if hidden.contains(fragment.name.as_str()) {
                continue;
            }
            if present.contains(fragment.name.as_str()) {
                listing.fragments.push(fragment);
            } else {
                listing
                    .warnings
                    .push(format!("the fragment {} is committed, but its folder is gone", fragment.name));
            }
        }
        listing.fragments.sort_by(|a, b| a.name.cmp(&b.name));
        listing.fragments.dedup_by(|a, b| a.name == b.name);
        Ok(listing)
    }
}

fn names_path(folder: &str, file: &str) -> String {
    smalti_store::join(folder, file)
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

fn of_kind<'a>(entries: &'a [Entry], folder: &'a str, kind: CommitKind) -> impl Iterator<Item = String> + 'a {
    entries.iter().filter(|entry| entry.is_file()).filter_map(move |entry| {
        let (_, found) = parse_commit_file(&entry.name)?;
        (found == kind).then(|| names_path(folder, &entry.name))
    })
}

/// The commits that ignore files take out of consolidated commits files.
fn ignored_commits(
    place: &ArrayPlace,
    commits: &[Entry],
    warnings: &mut Vec<String>,
) -> Result<HashSet<String>> {
    let mut ignored = HashSet::new();
    for path in of_kind(commits, COMMITS_FOLDER, CommitKind::Ignore) {
        let list = read_list(place, &path, warnings)?;
        ignored.extend(list.names);
    }
    Ok(ignored)
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

/// Reads an ignore or vacuum file of the array.
pub(crate) fn read_list(place: &ArrayPlace, path: &str, warnings: &mut Vec<String>) -> Result<NameList> {
    let path = place.join(path);
    let file = place.store().read_all(&path, MAX_LIST_BYTE_LEN)?;
    let list = NameList::decode(&file);
    for line in &list.bad_lines {
        warnings.push(format!(
            "{}: the line {line:?} names nothing and is passed over",
            place.store().address(&path)
        ));
    }
    Ok(list)
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
