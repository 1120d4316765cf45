//! From the listing of an array's folders to the fragments that are visible in a time range.
//!
//! Specification: `array_file_hierarchy.md`. A fragment is committed if its commit file, or an entry of a consolidated
//! commits file that no ignore file takes back, names it; before version 5 if its metadata file is there. A vacuum file
//! hides the fragments it lists from readers whose time range contains its own. A pending vacuum file, which no other
//! library looks at, is a vacuum file as soon as the fragment that it is named for is committed: so one file, the commit, both shows
//! a merged fragment and hides what it replaces. Names read from files only select among entries of the listing.

use crate::{ArrayPlace, ListedDelete};
use smalti_format::names::{
    self, COMMITS_FOLDER, CommitKind, FRAGMENTS_FOLDER, TimestampedName, commit_file_name, parse_commit_file,
    parse_gone, parse_pending_vacuum,
};
use smalti_format::{ConsolidatedCommits, NameList, Rule};
use smalti_store::{Entry, StoreExt};
use smalti_types::{Error, Result, TimeRange};
use std::collections::{HashMap, HashSet};

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

/// A file that lists the fragments that another one replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedVacuum {
    /// The name of the fragment that replaces them.
    pub name: TimestampedName,
    /// The path of the file, relative to the array.
    pub path: String,
    /// Whether it stands under its pending name.
    pub is_pending: bool,
    /// The names of what is replaced.
    pub replaces: Vec<String>,
}

/// Where the commit of a fragment is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitPlace {
    /// In a file of its own, with its path relative to the array.
    File(String),
    /// In a consolidated commits file.
    Consolidated,
    /// In a file of its own, and in a consolidated commits file.
    Both(String),
    /// Nowhere: before version 5 a fragment is committed by being there, later on it is not committed.
    Nowhere,
}

/// Times of a merged fragment that are not told apart any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoneHistory {
    /// Cells of this range were merged, and what was merged was vacuumed.
    Merged(TimeRange),
    /// Cells of this range, deleted up to a time, were purged.
    Purged(TimeRange, u64),
}

/// A fragment that another one replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedFragment {
    /// The fragment.
    pub fragment: ListedFragment,
    /// Where its commit is.
    pub commit: CommitPlace,
    /// Whether its folder is there.
    pub is_present: bool,
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
    /// Vacuum files that the time range sees.
    pub vacuums: Vec<ListedVacuum>,
    /// The fragments that these replace, as far as something is left of them.
    pub replaced: Vec<ReplacedFragment>,
    /// What the time range would see, but cannot any more.
    pub gone: Vec<GoneHistory>,
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
        let mut listing = Listing {
            fragments: Vec::new(),
            deletes: Vec::new(),
            outside_time: 0,
            vacuums: Vec::new(),
            replaced: Vec::new(),
            gone: Vec::new(),
            warnings: Vec::new(),
        };
        let mut committed: HashMap<String, (ListedFragment, CommitPlace)> = HashMap::new();
        let mut commit = |name: TimestampedName, commit: CommitPlace| -> Result<()> {
            let fragment = fragment(place, name)?;
            committed.insert(fragment.name.to_string(), (fragment, commit));
            Ok(())
        };
        let mut vacuums: Vec<ListedVacuum> = Vec::new();
        let mut gone_files: HashMap<String, String> = HashMap::new();

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
                    CommitKind::Write => commit(entry.name, CommitPlace::Consolidated)?,
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
                let path = names_path(folder, &entry.name);
                if let Some(name) = parse_pending_vacuum(&entry.name) {
                    vacuums.push(ListedVacuum { name, path, is_pending: true, replaces: Vec::new() });
                    continue;
                }
                if let Some(name) = parse_gone(&entry.name) {
                    gone_files.insert(name.to_string(), path);
                    continue;
                }
                let Some((name, kind)) = parse_commit_file(&entry.name) else { continue };
                let is_consolidated = in_consolidated.contains(&entry.name);
                match kind {
                    CommitKind::Write if is_consolidated => commit(name, CommitPlace::Both(path))?,
                    CommitKind::Write => commit(name, CommitPlace::File(path))?,
                    CommitKind::Vacuum => {
                        vacuums.push(ListedVacuum { name, path, is_pending: false, replaces: Vec::new() });
                    }
                    CommitKind::Delete if !is_consolidated => {
                        listing.deletes.push(ListedDelete { name, path: place.join(&path), range: None });
                    }
                    _ => {}
                }
            }
        }
        for fragment in old_fragments(place, &root)? {
            let key = fragment.name.to_string();
            committed.entry(key).or_insert((fragment, CommitPlace::Nowhere));
        }
        listing.deletes.retain(|delete| time.contains(delete.name.range()));

        let present: HashSet<String> = store
            .list(&place.join(FRAGMENTS_FOLDER))?
            .into_iter()
            .chain(root)
            .filter(Entry::is_folder)
            .map(|entry| entry.name)
            .collect();
        vacuums.retain(|vacuum| !vacuum.is_pending || committed.contains_key(vacuum.name.as_str()));
        for mut vacuum in vacuums {
            let is_seen = is_visible(&vacuum.name, time, is_dense);
            if is_seen || time.overlaps(vacuum.name.range()) {
                vacuum.replaces = read_list(place, &vacuum.path, &mut listing.warnings)?.names;
            }
            if is_seen {
                listing.vacuums.push(vacuum);
            } else if time.overlaps(vacuum.name.range())
                && vacuum.replaces.iter().all(|name| committed.contains_key(name) && present.contains(name))
            {
                // What it merged is still there, for the part of its times that is asked for.
                committed.remove(vacuum.name.as_str());
                listing.outside_time += 1;
            }
        }
        let hidden: HashSet<&str> =
            listing.vacuums.iter().flat_map(|vacuum| &vacuum.replaces).map(String::as_str).collect();
        for (key, (fragment, commit)) in committed {
            let (range, is_present) = (fragment.name.range(), present.contains(&key));
            if !is_visible(&fragment.name, time, is_dense) {
                listing.outside_time += 1;
                if time.overlaps(range) && is_present {
                    if gone_files.contains_key(&key) {
                        listing.gone.push(GoneHistory::Merged(range));
                    } else {
                        listing.warnings.push(format!(
                            "the cells of {} to {} were merged in fragment {key}, and what was merged was vacuumed: \
                             cells of these times are not shown",
                            range.start, range.end
                        ));
                    }
                }
            } else if hidden.contains(key.as_str()) {
                listing.replaced.push(ReplacedFragment { fragment, commit, is_present });
            } else if is_present {
                if let Some(path) = gone_files.get(&key)
                    && let Some(at) = purged_at(place, path)?
                    && time.end < at
                {
                    listing.gone.push(GoneHistory::Purged(range, at));
                }
                listing.fragments.push(fragment);
            } else {
                listing.warnings.push(format!("the fragment {key} is committed, but its folder is gone"));
            }
        }
        listing.add_uncommitted(place, &present)?;
        listing.fragments.sort_by(|a, b| a.name.cmp(&b.name));
        listing.replaced.sort_by(|a, b| a.fragment.name.cmp(&b.fragment.name));
        listing.vacuums.sort_by(|a, b| a.name.cmp(&b.name));
        listing.warnings.sort();
        Ok(listing)
    }

    /// Adds the folders of replaced fragments whose commits are gone already.
    fn add_uncommitted(&mut self, place: &ArrayPlace, present: &HashSet<String>) -> Result<()> {
        let mut known: HashSet<String> =
            self.replaced.iter().map(|replaced| replaced.fragment.name.to_string()).collect();
        for name in self.vacuums.iter().flat_map(|vacuum| &vacuum.replaces) {
            let Ok(parsed) = TimestampedName::parse(name) else { continue };
            if present.contains(name) && known.insert(name.clone()) {
                let fragment = fragment(place, parsed)?;
                self.replaced.push(ReplacedFragment {
                    fragment,
                    commit: CommitPlace::Nowhere,
                    is_present: true,
                });
            }
        }
        Ok(())
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

/// The time of the latest delete whose cells a merged fragment leaves out.
fn purged_at(place: &ArrayPlace, path: &str) -> Result<Option<u64>> {
    let file = place.store().read_all(&place.join(path), MAX_LIST_BYTE_LEN)?;
    let text = String::from_utf8_lossy(&file);
    Ok(text.lines().filter_map(|line| line.strip_prefix(PURGED_PREFIX)?.parse().ok()).max())
}

/// What a file that says what is gone says of purged cells, followed by the time of their delete in milliseconds.
const PURGED_PREFIX: &str = "purged until ";

/// The content of a file that says what is gone of a merged fragment's history.
pub fn gone_file(purged_at: Option<u64>) -> String {
    purged_at.map_or(String::from("merged\n"), |at| format!("{PURGED_PREFIX}{at}\n"))
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
