//! From the listing of an array's folders to the fragments that are visible in a time range.
//!
//! Specification: `array_file_hierarchy.md`. A fragment is committed if its commit file, or an entry of a consolidated
//! commits file that no ignore file takes back, names it; before version 5 if its metadata file is there. A vacuum file
//! hides the fragments it lists from readers whose time range contains its own. A pending vacuum file, which no other
//! library looks at, is a vacuum file as soon as the fragment that it is named for is committed: so one file, the commit, both shows
//! a merged fragment and hides what it replaces. Names read from files only select among entries of the listing.

use crate::commits::{Attempts, CommitFile, Commits, impossible, read_list};
use crate::side_by_side::at_once;
use crate::{ArrayPlace, ListedDelete};
use bytes::Bytes;
use smalti_format::names::{
    self, COMMITS_FOLDER, CommitKind, FRAGMENT_META_FOLDER, FRAGMENTS_FOLDER, META_ENDING, NameIndex,
    TimestampedName,
};
use smalti_format::{Rule, Version};
use smalti_store::{Entry, Page, Store, StoreExt, join};
use smalti_types::parallel;
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashSet;
use std::mem;

/// A fragment that a listing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFragment {
    /// Its name.
    pub name: TimestampedName,
    /// The format version that the name gives.
    pub version: Version,
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommitPlace {
    /// Nowhere: before version 5 a fragment is committed by being there, later on it is not committed.
    Nowhere,
    /// In a file of its own, with its path relative to the array.
    File(String),
    /// In a consolidated commits file.
    Consolidated,
    /// In a file of its own, and in a consolidated commits file.
    Both(String),
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
    /// Files of consolidated fragment metadata, with their paths relative to the array, newest first. Not asked for when there are no
    /// two fragments, as they would spare no read.
    pub fragment_meta: Vec<(TimestampedName, String)>,
    /// Things that a reader passes over, but that somebody should look at.
    pub warnings: Vec<String>,
}

/// So many folders that no list shows are asked for by name: more are no matter of a list that is late.
const MAX_LOOK_UPS: usize = 100;

/// Folders of fragments that were committed and that no list shows. Where lists may be of a moment before, the metadata in them is asked for by its
/// name, which is as it is.
#[derive(Default)]
struct LookedUp(usize);

impl LookedUp {
    fn is_there(&mut self, store: &dyn Store, folder: &str) -> Result<bool> {
        self.0 += 1;
        if !store.is_distant() || self.0 > MAX_LOOK_UPS {
            return Ok(false);
        }
        store.has_file(&join(folder, names::FRAGMENT_METADATA_FILE))
    }
}

/// Whether a fragment takes part in a read: sparse ones that may be consolidated with timestamps do if they overlap, as
/// their cells tell their own times; others only as a whole.
pub(crate) fn is_visible(name: &TimestampedName, time: TimeRange, is_dense: bool) -> bool {
    let splits = !is_dense
        && name.stated_version().is_some_and(|version| Rule::CellTimestamps.span().contains(version));
    if splits { time.overlaps(name.range()) } else { time.contains(name.range()) }
}

impl Listing {
    /// Lists a dense or sparse array.
    ///
    /// A listing is not of one moment, and commits move: consolidation puts a file that names many of them, vacuum removes
    /// these. A listing that began before the first and ended after the second may show neither. So where a fragment
    /// has no commit, or a listed file is gone, the commits are listed again, until nothing but writes is new.
    ///
    /// # Errors
    /// What the store reports; `Corrupt` when a consolidated commits file is damaged.
    pub fn read(place: &ArrayPlace, time: TimeRange, is_dense: bool) -> Result<Listing> {
        let (first, folders) = first_listings(place, None, |_| ListedCommits::read(place));
        Listing::of_first(place, time, is_dense, first?, folders)
    }

    /// As [`read`](Listing::read), after reading the schema. Where the folders of fragments take longer to list than all before,
    /// something can be done meanwhile. `some_folders` are some of these folders, where they do.
    ///
    /// # Errors
    /// As `read_schema` and `read`.
    pub(crate) fn read_to_open<S, M>(
        place: &ArrayPlace,
        time: TimeRange,
        some_folders: Option<Page>,
        read_schema: impl FnOnce() -> Result<S>,
        is_dense: impl Fn(&S) -> bool,
        meanwhile: impl FnOnce(&S, Meanwhile<'_>) -> M,
    ) -> Result<(S, Listing, Option<M>)> {
        let mut done_meanwhile = None;
        let (read, folders) = first_listings(place, some_folders, |is_awaited| -> Result<_> {
            let schema = read_schema()?;
            let first = ListedCommits::read(place)?;
            if let Some(is_awaited) = is_awaited
                && let Ok(commits) = &first.1
            {
                let is_dense = is_dense(&schema);
                done_meanwhile = Some(meanwhile(&schema, Meanwhile { commits, time, is_dense, is_awaited }));
            }
            Ok((schema, first))
        });
        let (schema, first) = read?;
        let listing = Listing::of_first(place, time, is_dense(&schema), first, folders)?;
        Ok((schema, listing, done_meanwhile))
    }

    fn of_first(
        place: &ArrayPlace,
        time: TimeRange,
        is_dense: bool,
        (mut names, mut commits): (Vec<String>, Result<ListedCommits>),
        mut early_folders: Option<Page>,
    ) -> Result<Listing> {
        let store = &**place.store();
        let folder = place.join(COMMITS_FOLDER);
        let mut attempts = Attempts::default();
        loop {
            let outcome = commits.and_then(|commits| {
                Listing::with_commits(place, time, is_dense, commits, early_folders.take())
            });
            let may_differ = match &outcome {
                Ok((_, orphan_count)) => *orphan_count > 0,
                Err(error) => error.kind() == ErrorKind::NotFound,
            };
            if !may_differ {
                return outcome.map(|(listing, _)| listing);
            }
            let again = store.list_names(&folder)?;
            let is_whole = outcome.is_ok() && has_only_written(&names, &again);
            if is_whole || !attempts.go_on(place, again == names) {
                return outcome.map(|(listing, _)| listing).map_err(|error| attempts.told(error));
            }
            commits = ListedCommits::of_names(place, &again);
            names = again;
        }
    }

    /// The listing, and the number of fragments that no commit names. `early_folders` are the folders of fragments as they were
    /// while the commits were listed: they do where no fragment is missing among them. Where they are some of many, those that are not
    /// among them are taken to be there: who reads them will see. That does not do where it has to be known what is left of merges.
    fn with_commits(
        place: &ArrayPlace,
        time: TimeRange,
        is_dense: bool,
        ListedCommits { root, fragments: committed, mut deletes, vacuums, gone, warnings }: ListedCommits,
        early_folders: Option<Page>,
    ) -> Result<(Listing, usize)> {
        let store = &**place.store();
        let mut known = HashSet::new();
        deletes.retain(|delete| time.contains(delete.name.range()) && known.insert(delete.name.clone()));
        let mut listing = Listing {
            fragments: Vec::new(),
            deletes,
            outside_time: 0,
            vacuums: Vec::new(),
            replaced: Vec::new(),
            gone: Vec::new(),
            fragment_meta: Vec::new(),
            warnings,
        };

        let list = || store.list(&place.join(FRAGMENTS_FOLDER));
        let early_folders = early_folders.filter(|page| page.is_whole || vacuums.is_empty());
        let is_early = early_folders.is_some();
        let all = || list().map(|entries| Page { entries, is_whole: true });
        let Page { entries: first, is_whole } = early_folders.map_or_else(all, Ok)?;
        let second;
        let are_listed = |present: &NameIndex<&str>| -> Vec<bool> {
            committed.iter().map(|(fragment, _)| present.contains(fragment.name.as_str())).collect()
        };
        let (mut folders, mut present) = (&first, folder_names(&first, &root));
        let mut committed_listed = are_listed(&present);
        if is_early && is_whole && committed_listed.contains(&false) {
            second = list()?;
            (folders, present) = (&second, folder_names(&second, &root));
            committed_listed = are_listed(&present);
        }
        let folder_count = folders.iter().filter(|entry| entry.is_folder()).count();
        listing.note_purged(place, time, is_dense, &gone, &vacuums, &committed)?;
        let is_merged = listing.take_vacuums(place, time, is_dense, vacuums, &committed, &present)?;
        let hidden: HashSet<String> =
            listing.vacuums.iter().flat_map(|vacuum| vacuum.replaces.iter().cloned()).collect();
        let mut found_count = 0;
        let mut looked_up = LookedUp::default();
        listing.fragments.reserve(committed.len());
        for ((fragment, commit), is_listed) in committed.into_iter().zip(committed_listed) {
            let name = fragment.name.as_str();
            let is_present = is_listed || !is_whole;
            found_count += usize::from(is_listed);
            if !is_visible(&fragment.name, time, is_dense) {
                listing.outside_time += 1;
                if is_present
                    && time.overlaps(fragment.name.range())
                    && !is_merged.contains(fragment.name.shared_stem().unwrap_or(name))
                {
                    listing.note_gone(&fragment.name, &gone);
                }
            } else if hidden.contains(name) {
                listing.replaced.push(ReplacedFragment { fragment, commit, is_present });
            } else if is_present || looked_up.is_there(store, &fragment.path(place))? {
                listing.fragments.push(fragment);
            } else {
                listing.warnings.push(format!("the fragment {name} is committed, but its folder is gone"));
            }
        }
        // Who is hidden is so whether it is committed or not: the commits are not listed again for it.
        found_count += listing.add_uncommitted(&present)?;
        listing.replaced.sort_by(|a, b| a.fragment.name.cmp(&b.fragment.name));
        if listing.fragments.len() >= 2 {
            listing.fragment_meta = fragment_meta_files(place, &file_names(&root))?;
        }
        let orphan_count = folder_count.saturating_sub(found_count);
        Ok((listing, orphan_count))
    }

    /// Keeps the vacuum files that the time range sees, with what they list. Returns the merged fragments that it sees a part of,
    /// while all that they merged is still there.
    fn take_vacuums(
        &mut self,
        place: &ArrayPlace,
        time: TimeRange,
        is_dense: bool,
        mut vacuums: Vec<ListedVacuum>,
        committed: &[(ListedFragment, CommitPlace)],
        present: &NameIndex<&str>,
    ) -> Result<HashSet<String>> {
        let mut is_merged = HashSet::new();
        if vacuums.is_empty() {
            return Ok(is_merged);
        }
        let names: HashSet<&str> = committed.iter().map(|(fragment, _)| fragment.name.as_str()).collect();
        let proper: HashSet<String> = vacuums
            .iter()
            .filter(|vacuum| !vacuum.is_pending)
            .map(|vacuum| vacuum.name.to_string())
            .collect();
        vacuums.retain(|vacuum| {
            let name = vacuum.name.as_str();
            !vacuum.is_pending || names.contains(name) || proper.contains(name)
        });
        vacuums.sort_by(|a, b| a.name.cmp(&b.name));
        for mut vacuum in vacuums {
            let is_seen = is_visible(&vacuum.name, time, is_dense);
            if !is_seen && !time.overlaps(vacuum.name.range()) {
                continue;
            }
            vacuum.replaces = read_list(place, &vacuum.path, &mut self.warnings)?.names;
            if is_seen {
                self.vacuums.push(vacuum);
            } else if vacuum
                .replaces
                .iter()
                .all(|name| names.contains(name.as_str()) && present.contains(name))
            {
                // What several processes merged is told of by the first of their fragments.
                is_merged.insert(vacuum.name.shared_stem().unwrap_or(vacuum.name.as_str()).to_owned());
            }
        }
        Ok(is_merged)
    }

    /// Notes that the time range sees a part of a merged fragment, and that what was merged is gone.
    fn note_gone(&mut self, name: &TimestampedName, gone: &[(TimestampedName, String)]) {
        let range = name.range();
        if gone.iter().any(|(gone, _)| gone == name || gone.is_kin_of(name)) {
            self.gone.push(GoneHistory::Merged(range));
        } else if range.start < range.end {
            self.warnings.push(format!(
                "the cells of {} to {} were merged in fragment {name}, and what was merged was vacuumed: cells of these \
                 times are not shown",
                range.start, range.end
            ));
        }
    }

    /// Notes that cells were purged that were still to be seen in the time range. What was purged is gone whatever became of
    /// the fragment that was left: it may have been merged again, or no cell was left for one.
    fn note_purged(
        &mut self,
        place: &ArrayPlace,
        time: TimeRange,
        is_dense: bool,
        gone: &[(TimestampedName, String)],
        vacuums: &[ListedVacuum],
        committed: &[(ListedFragment, CommitPlace)],
    ) -> Result<()> {
        for (name, path) in gone {
            if time.end == u64::MAX || !is_visible(name, time, is_dense) {
                continue;
            }
            let mut named = vacuums.iter().filter(|vacuum| vacuum.name == *name);
            let is_done = committed.iter().any(|(fragment, _)| fragment.name == *name)
                || named.clone().next().is_none()
                || named.any(|vacuum| !vacuum.is_pending);
            if let Some(at) = purged_at(place, path)?
                && time.end < at
                && is_done
            {
                self.gone.push(GoneHistory::Purged(name.range(), at));
            }
        }
        Ok(())
    }

    /// Adds the folders of replaced fragments whose commits are gone already, and says how many there are.
    fn add_uncommitted(&mut self, present: &NameIndex<&str>) -> Result<usize> {
        let count = self.replaced.len();
        let mut known: HashSet<String> =
            self.replaced.iter().map(|replaced| replaced.fragment.name.to_string()).collect();
        for name in self.vacuums.iter().flat_map(|vacuum| &vacuum.replaces) {
            let Ok(parsed) = TimestampedName::parse(name) else { continue };
            if present.contains(name) && known.insert(name.clone()) {
                let fragment = ListedFragment::named(parsed)?;
                self.replaced.push(ReplacedFragment {
                    fragment,
                    commit: CommitPlace::Nowhere,
                    is_present: true,
                });
            }
        }
        Ok(self.replaced.len() - count)
    }
}

impl ListedFragment {
    /// The fragment of a name.
    ///
    /// # Errors
    /// `Unsupported` for a version that is not known.
    pub fn named(name: TimestampedName) -> Result<Self> {
        let version = name.fragment_version()?;
        Ok(ListedFragment { name, version })
    }

    /// The path of its folder in the store.
    pub fn path(&self, place: &ArrayPlace) -> String {
        self.path_with_room(place, 0)
    }

    /// As [`path`](ListedFragment::path), with room for so many bytes behind it: paths are made for each read of a file.
    pub(crate) fn path_with_room(&self, place: &ArrayPlace, byte_len: usize) -> String {
        let parts = names::fragment_path_parts(&self.name, self.version);
        let below = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut path = String::with_capacity(place.path().len() + 1 + below + byte_len);
        path.push_str(place.path());
        if !path.is_empty() {
            path.push('/');
        }
        path.extend(parts);
        path
    }

    /// The path of its metadata file, relative to the array.
    pub(crate) fn metadata_path(&self) -> String {
        names::fragment_file_path(&self.name, self.version, names::FRAGMENT_METADATA_FILE)
    }
}

impl ListedVacuum {
    fn new(name: TimestampedName, path: String, is_pending: bool) -> Self {
        ListedVacuum { name, path, is_pending, replaces: Vec::new() }
    }
}

/// What the commits of an array say, and what its folder holds beside theirs.
struct ListedCommits {
    root: Vec<Entry>,
    /// The committed fragments by name, each once, with the place of their commits.
    fragments: Vec<(ListedFragment, CommitPlace)>,
    /// Delete commits, those of consolidated files before those that stand alone. Some may be there twice.
    deletes: Vec<ListedDelete>,
    /// Vacuum files, the pending ones behind the others.
    vacuums: Vec<ListedVacuum>,
    /// Files that say what is gone of a fragment's history, with their paths relative to the array.
    gone: Vec<(TimestampedName, String)>,
    warnings: Vec<String>,
}

impl ListedCommits {
    /// The names of the files of commits, and what they and the array's folder say.
    fn read(place: &ArrayPlace) -> Result<(Vec<String>, Result<Self>)> {
        let names = place.store().list_names(&place.join(COMMITS_FOLDER))?;
        let read = ListedCommits::of_names(place, &names);
        Ok((names, read))
    }

    fn of_names(place: &ArrayPlace, names: &[String]) -> Result<Self> {
        let root = place.store().list(place.path())?;
        let commits = Commits::of_names(place, &file_names(&root), names)?;
        ListedCommits::collect(place, root, commits)
    }

    fn collect(place: &ArrayPlace, root: Vec<Entry>, mut commits: Commits) -> Result<Self> {
        let in_consolidated = commits.consolidated.iter().map(|file| file.entries.len()).sum::<usize>();
        let mut fragments = Vec::with_capacity(in_consolidated + commits.single.len());
        let (mut deletes, mut vacuums) = (Vec::new(), Vec::new());
        for mut consolidated in mem::take(&mut commits.consolidated) {
            for entry in mem::take(&mut consolidated.entries) {
                if commits.ignores(&entry)? {
                    continue;
                }
                match entry.kind {
                    CommitKind::Write => {
                        fragments.push((ListedFragment::named(entry.name)?, CommitPlace::Consolidated));
                    }
                    CommitKind::Delete => deletes.push(ListedDelete {
                        // A copy, so that a delete does not keep all of the file in memory.
                        tile: consolidated.tile(&entry).map(|tile| Bytes::copy_from_slice(&tile)),
                        name: entry.name,
                        path: place.join(&consolidated.file.path),
                    }),
                    _ => {}
                }
            }
        }
        let Commits { single, pending_vacuums, gone, mut warnings, .. } = commits;
        for CommitFile { path, name, kind } in single {
            match kind {
                CommitKind::Write => fragments.push((ListedFragment::named(name)?, CommitPlace::File(path))),
                CommitKind::Vacuum => vacuums.push(ListedVacuum::new(name, path, false)),
                CommitKind::Delete => {
                    deletes.push(ListedDelete { name, path: place.join(&path), tile: None })
                }
                _ => {}
            }
        }
        vacuums.extend(pending_vacuums.into_iter().map(|(name, path)| ListedVacuum::new(name, path, true)));
        let old = old_fragments(place, &root, &mut warnings)?;
        fragments.extend(old.into_iter().map(|old| (old, CommitPlace::Nowhere)));
        // Consolidated commits come before files of their own, and these before none.
        fragments.sort_by(|(a, first), (b, second)| a.name.cmp(&b.name).then(second.cmp(first)));
        fragments.dedup_by(|(later, place), (kept, kept_place)| {
            let is_same = later.name == kept.name;
            if is_same
                && *kept_place == CommitPlace::Consolidated
                && let CommitPlace::File(path) = place
            {
                *kept_place = CommitPlace::Both(mem::take(path));
            }
            is_same
        });
        Ok(ListedCommits { root, fragments, deletes, vacuums, gone, warnings })
    }
}

/// What is known while the folders of fragments are still listed.
pub(crate) struct Meanwhile<'l> {
    commits: &'l ListedCommits,
    time: TimeRange,
    is_dense: bool,
    is_awaited: &'l dyn Fn() -> bool,
}

impl<'l> Meanwhile<'l> {
    /// Whether the folders are still waited for.
    pub(crate) fn is_awaited(&self) -> bool {
        (self.is_awaited)()
    }

    /// The names of files in the array's folder.
    pub(crate) fn root_names(&self) -> Vec<String> {
        file_names(&self.commits.root)
    }

    /// The committed fragments that the time range sees, by name. Some may be hidden, or gone.
    pub(crate) fn fragments(&self) -> impl Iterator<Item = &'l ListedFragment> {
        let (time, is_dense) = (self.time, self.is_dense);
        let fragments = self.commits.fragments.iter().map(|(fragment, _)| fragment);
        fragments.filter(move |fragment| is_visible(&fragment.name, time, is_dense))
    }
}

/// Whether writes and deletes that were added are all that came between two listings of commits, both sorted: then the first has all that was there when
/// it began. A commit that it has missed would have moved meanwhile, into a file of many or into a merged fragment, and these are new; and what
/// it has is there still.
fn has_only_written(first: &[String], later: &[String]) -> bool {
    let merged = first.iter().chain(later).filter_map(|file| {
        let pending = names::parse_pending_vacuum(file);
        let proper = || names::parse_commit_file(file).filter(|(_, kind)| *kind == CommitKind::Vacuum);
        pending.or_else(|| proper().map(|(name, _)| name))
    });
    let merged: HashSet<TimestampedName> = merged.collect();
    let is_change = |file: &&String| match names::parse_commit_file(file) {
        Some((name, CommitKind::Write | CommitKind::Delete | CommitKind::Update)) => !merged.contains(&name),
        _ => false,
    };
    let is_added = |file: &&String| first.binary_search(file).is_err();
    first.iter().all(|file| later.binary_search(file).is_ok())
        && later.iter().filter(is_added).all(|file| is_change(&file))
}

fn file_names(entries: &[Entry]) -> Vec<String> {
    entries.iter().filter(|entry| entry.is_file()).map(|entry| entry.name.clone()).collect()
}

/// Reads the commits, and where there are many fragments, lists their folders at the same time: as good as after it, unless
/// one is missing. `read_commits` is told whether the folders take longer than the commits, and then can ask whether they are still
/// waited for.
fn first_listings<T>(
    place: &ArrayPlace,
    some_folders: Option<Page>,
    read_commits: impl FnOnce(Option<&dyn Fn() -> bool>) -> T,
) -> (T, Option<Page>) {
    let list = |folder: &str| {
        let entries = place.store().list(folder).ok()?;
        Some(Page { entries, is_whole: true })
    };
    let store = &**place.store();
    let fragments = place.join(FRAGMENTS_FOLDER);
    if store.is_distant() {
        // The listing is under way already, and so are the footers.
        let folders = some_folders.or_else(|| list(&fragments));
        return (read_commits(None), folders);
    }
    let is_worthwhile = || store.is_long(&fragments) && store.is_long(&place.join(COMMITS_FOLDER));
    if !is_worthwhile() {
        return (read_commits(None), None);
    }
    if parallel::thread_count() < 2 {
        // One thread gains nothing. The order is the one that has to hold for two: the folders may be older than the commits.
        let folders = list(&fragments);
        return (read_commits(Some(&|| false)), folders);
    }
    at_once(|is_awaited| read_commits(Some(is_awaited)), || list(&fragments))
}

/// The names of folders among the entries of two listings.
fn folder_names<'e>(folders: &'e [Entry], root: &'e [Entry]) -> NameIndex<&'e str> {
    let all = folders.iter().chain(root);
    all.filter(|entry| entry.is_folder()).map(|entry| entry.name.as_str()).collect()
}

/// Files of consolidated fragment metadata with their paths relative to the array, newest first; `root` are names in the
/// array's folder, where they stand before version 12.
///
/// # Errors
/// What the store reports.
pub fn fragment_meta_files(place: &ArrayPlace, root: &[String]) -> Result<Vec<(TimestampedName, String)>> {
    let names = place.store().list_names(&place.join(FRAGMENT_META_FOLDER))?;
    Ok(meta_files(root, &names))
}

/// Files of consolidated fragment metadata, newest first, from the names in the two folders that may hold them.
fn meta_files(root: &[String], names: &[String]) -> Vec<(TimestampedName, String)> {
    let mut files = Vec::new();
    for (folder, names) in [("", root), (FRAGMENT_META_FOLDER, names)] {
        for file_name in names {
            let Some(Ok(name)) = file_name.strip_suffix(META_ENDING).map(TimestampedName::parse) else {
                continue;
            };
            files.push((name, smalti_store::join(folder, file_name)));
        }
    }
    files.sort_by(|(a, _), (b, _)| (b.range().end, b).cmp(&(a.range().end, a)));
    files
}

/// The newest file of consolidated fragment metadata, with its path relative to the array.
pub(crate) fn newest_meta(root: &[Entry], meta: &[Entry]) -> Option<String> {
    meta_files(&file_names(root), &file_names(meta)).into_iter().next().map(|(_, path)| path)
}

/// The paths of the schema that counts at the end of a time range, and of those before it, the newest first.
pub(crate) fn schema_paths(
    place: &ArrayPlace,
    root: &[Entry],
    schemas: &[Entry],
    time: TimeRange,
) -> Vec<String> {
    let names = schemas.iter().filter_map(|entry| TimestampedName::parse(&entry.name).ok());
    let mut names: Vec<TimestampedName> = names.collect();
    names.sort();
    let has_old = root.iter().any(|entry| entry.is_file() && entry.name == names::OLD_SCHEMA_FILE);
    let old = has_old.then(|| place.join(names::OLD_SCHEMA_FILE));
    let counts = names.iter().rposition(|name| name.range().end <= time.end);
    let counting = match (counts, &old) {
        (Some(at), _) => at + 1,
        (None, Some(_)) => 0,
        (None, None) => names.len().min(1),
    };
    let folder = place.join(names::SCHEMA_FOLDER);
    let named = names.iter().take(counting).rev().map(|name| smalti_store::join(&folder, name.as_str()));
    named.chain(old).collect()
}

/// Fragments of versions before commit files: committed when their metadata file is there. Those among them of a name that no
/// fragment can have are warned of.
fn old_fragments(
    place: &ArrayPlace,
    root: &[Entry],
    warnings: &mut Vec<String>,
) -> Result<Vec<ListedFragment>> {
    let mut found = Vec::new();
    let store = place.store();
    for entry in root.iter().filter(|entry| entry.is_folder()) {
        let Ok(name) = TimestampedName::parse(&entry.name) else {
            let may_be_one = entry.name.starts_with(names::RESERVED_PREFIX)
                && !names::FOLDERS.contains(&entry.name.as_str())
                && !TimestampedName::ends_in_version(&entry.name);
            let path = place.join(&entry.name);
            if may_be_one && store.file_exists(&smalti_store::join(&path, names::FRAGMENT_METADATA_FILE))? {
                warnings.push(format!(
                    "{}: {}, so the cells of this fragment are not read; see `smalti fsck`",
                    store.address(&path),
                    impossible(&entry.name)
                ));
            }
            continue;
        };
        let fragment = ListedFragment::named(name)?;
        if fragment.version.has(Rule::CommitFiles) {
            continue;
        }
        let path = fragment.path(place);
        if store.file_exists(&smalti_store::join(&path, names::FRAGMENT_METADATA_FILE))? {
            found.push(fragment);
        }
    }
    Ok(found)
}

/// The time of the latest delete whose cells a merged fragment leaves out, from the file that says what is gone of its history,
/// with its path relative to the array; `None` when nothing was purged.
///
/// # Errors
/// What the store reports.
pub fn purged_at(place: &ArrayPlace, path: &str) -> Result<Option<u64>> {
    let file = place.store().read_all(&place.join(path), MAX_GONE_BYTE_LEN)?;
    let text = String::from_utf8_lossy(&file);
    Ok(text.lines().filter_map(|line| line.strip_prefix(PURGED_PREFIX)?.parse().ok()).max())
}

/// What a file that says what is gone says of purged cells, followed by the time of their delete in milliseconds.
const PURGED_PREFIX: &str = "purged until ";

/// The content of a file that says what is gone of a merged fragment's history.
pub fn gone_file(purged_at: Option<u64>) -> String {
    purged_at.map_or(String::from("merged\n"), |at| format!("{PURGED_PREFIX}{at}\n"))
}

/// The longest file that says what is gone of a history.
pub(crate) const MAX_GONE_BYTE_LEN: u64 = 1 << 16;

/// Folders that an array alone has.
const ARRAY_FOLDERS: &[&str] = &[names::SCHEMA_FOLDER, FRAGMENTS_FOLDER, COMMITS_FOLDER];

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
        let is_part = |entry: &Entry| entry.is_folder() && ARRAY_FOLDERS.contains(&entry.name.as_str());
        let message = if place.has_group()? {
            "a group is here, no array"
        } else if store.list(place.path())?.iter().any(is_part) {
            "parts of an array are here, but no schema; bring it back from a copy, `smalti fsck` says what is left"
        } else {
            "no array is here; create one, or check the path"
        };
        return Err(Error::not_found(message).at_uri(place.uri()));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_between_two_listings_are_no_reason_to_list_again_and_moves_of_commits_are() {
        let id = "0123456789abcdef0123456789abcdef";
        let file = |times: &str, ending: &str| format!("__{times}_{id}_22{ending}");
        let first = vec![file("1_1", ".wrt"), file("2_2", ".wrt")];
        let later = |names: &[String]| {
            let mut later = first.clone();
            later.extend_from_slice(names);
            later.sort();
            later
        };
        assert!(has_only_written(&first, &first));
        assert!(has_only_written(&first, &later(&[file("3_3", ".wrt"), file("4_4", ".del")])));
        assert!(!has_only_written(&first, &first[1..]));
        for moved in [&[".con"][..], &[".ign"], &[".vac"], &[".vac.tmp"], &[".wrt", ".vac"]] {
            let names: Vec<String> = moved.iter().map(|ending| file("1_2", ending)).collect();
            assert!(!has_only_written(&first, &later(&names)), "{moved:?}");
        }
        // The list of what is merged was there before its commit.
        let pending = [file("1_1", ".wrt"), file("1_2", ".vac.tmp")];
        assert!(!has_only_written(
            &pending,
            &[file("1_1", ".wrt"), file("1_2", ".vac.tmp"), file("1_2", ".wrt")]
        ));
    }
}
