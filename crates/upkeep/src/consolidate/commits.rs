//! Consolidation of commits: one file in place of thousands, so that listing an array is quick.
//!
//! # Other processes at the same time
//!
//! A commit counts if it stands alone or in any consolidated file, unless an ignore file takes the latter back. So a new
//! consolidated file changes nothing while every commit in it counts already, and it does not matter how many there
//! are, in what order they come, or where a consolidation is cut short: the file appears at once, or not at all.
//!
//! - *A writer or deleter* adds commits. Those that the listing missed stand alone as before; the next consolidation takes
//!   them.
//! - *Another consolidation* puts a file with the same or other commits; the union counts. The next consolidation merges
//!   both.
//! - *A vacuum of commits* removes commits that stand alone and older consolidated files, all of which are in a file
//!   that stays (see [`vacuum_commits`](crate::vacuum_commits)). A file that goes between our listing and its reading
//!   means that another holds what it said: everything is listed anew.
//! - *A vacuum of fragments* is the one that can be hurt: it takes commits and folders away that our listing has seen, and
//!   which the new file would bring back. The new file cannot be put and the folders be looked at in one step. So both
//!   sides look at what the other does after having done their own: the consolidation, once its file is put, looks which
//!   folders are gone, and the vacuum, once folders are gone, looks which consolidated files name them; each takes such
//!   commits back with an ignore file ([`ignore_taken`]). Whichever of the two acts last sees the other's act. In
//!   between, a reader finds a commit without a folder and passes over it with a warning.
//!
//! A commit whose folder was missing from the start was not taken by a vacuum that runs: it is left out with a
//! warning, and the file that lists it stays for somebody to look at. Nothing is ignored that was not seen whole before.

use super::hull;
use crate::{Options, Report};
use bytes::Bytes;
use smalti_array::{ArrayPlace, Commits};
use smalti_format::names::{COMMITS_FOLDER, CommitKind, FRAGMENTS_FOLDER, TimestampedName, commit_path};
use smalti_format::{ConditionTree, ConsolidatedCommits, NameList, NewCommitEntry, Rule, Version};
use smalti_query::{Phase, Progress, Unit};
use smalti_store::{Entry, Store};
use smalti_types::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, HashSet};

/// How often everything is listed anew because files went between the listing and their reading.
const ATTEMPTS: usize = 4;

/// Puts one file with all commits of an array, deletes with their conditions, those of older such files among them. Does
/// nothing where one file has them all, or there are fewer than two. The old files stay until
/// [`vacuum_commits`](crate::vacuum_commits).
///
/// # Errors
/// `Unsupported` before version 12, which has no such files; `Corrupt` and `Permission` for a commit that cannot be read,
/// with the file named, `Cancelled`: nothing was written then; what the store reports.
pub fn consolidate_commits(place: &ArrayPlace, options: &Options) -> Result<Report> {
    let version = place.newest_schema()?.write_version();
    if !version.has(Rule::CommitsFolder) {
        return Err(Error::unsupported(format!(
            "format version {version} cannot consolidate commits; `smalti upgrade` brings the array to one that can"
        ))
        .at_uri(place.uri()));
    }
    let lock = if options.dry_run { None } else { Some(place.upkeep_lock()?) };
    let (progress, _announced) = options.announce();
    let mut attempt = 1;
    let plan = loop {
        match Plan::read(place, &progress) {
            Err(error) if error.kind() == ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
            plan => break plan?,
        }
    };
    let mut report = plan.report;
    let Some(range) = hull(plan.members.keys().map(|(name, _)| name)).filter(|_| !plan.is_done) else {
        report.read.clear();
        return Ok(report);
    };
    let entries: Vec<NewCommitEntry<'_>> = plan
        .members
        .iter()
        .map(|((name, _), member)| NewCommitEntry {
            name,
            version: member.version,
            delete_tile: member.tile.as_deref(),
        })
        .collect();
    let file = ConsolidatedCommits::encode(&entries);
    let name = place.new_name(range, Some(version))?;
    let path = commit_path(&name, CommitKind::Consolidated, version);
    report.note_written(&path, file.len() as u64);
    if options.dry_run {
        return Ok(report);
    }
    progress.check()?;
    progress.enter(Phase::Publishing, Unit::Files, Some(1));
    if let Some(lock) = &lock {
        lock.confirm()?;
    }
    place.store().put(&place.join(&path), &[&file])?;
    progress.complete(Phase::Publishing);
    let writes = plan.members.iter().filter(|(_, member)| member.tile.is_none()).map(|((name, _), _)| name);
    ignore_taken(place, writes, &mut report)?;
    Ok(report)
}

/// Commits fragments at one moment: one file of consolidated commits names them all. The array's version must have such files.
///
/// # Errors
/// What the store reports.
pub(crate) fn commit_at_once(place: &ArrayPlace, version: Version, names: &[&TimestampedName]) -> Result<()> {
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        entries.push(NewCommitEntry { name, version: name.fragment_version()?, delete_tile: None });
    }
    let Some(range) = hull(names.iter().copied()) else { return Ok(()) };
    let path = commit_path(&place.new_name(range, Some(version))?, CommitKind::Consolidated, version);
    place.store().put(&place.join(&path), &[&ConsolidatedCommits::encode(&entries)])
}

/// Takes back, with an ignore file, those of some committed fragments of which the folder is gone but a consolidated commits
/// file still names them. The caller knows that they were whole when it began. See the text of this module.
///
/// # Errors
/// What the store reports.
pub fn ignore_taken<'n>(
    place: &ArrayPlace,
    fragments: impl IntoIterator<Item = &'n TimestampedName>,
    report: &mut Report,
) -> Result<()> {
    let folders = fragment_folders(place)?;
    let gone: HashSet<&TimestampedName> =
        fragments.into_iter().filter(|name| !folders.contains(name.as_str())).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let commits = Commits::read(place)?;
    let mut named = BTreeMap::new();
    for entry in commits.consolidated.iter().flat_map(|file| &file.entries) {
        if entry.kind == CommitKind::Write && gone.contains(&entry.name) && !commits.ignores(entry)? {
            named.insert(&entry.name, entry.name.fragment_version()?);
        }
    }
    if let Some((path, byte_len)) = put_ignore_file(place, &named)? {
        report.note_written(&path, byte_len);
    }
    Ok(())
}

/// Puts an ignore file that takes back what consolidated commits files say of some fragments; its path in the array and its
/// length, or `None` where there is none to take back.
///
/// # Errors
/// What the store reports.
pub(crate) fn put_ignore_file(
    place: &ArrayPlace,
    fragments: &BTreeMap<&TimestampedName, Version>,
) -> Result<Option<(String, u64)>> {
    let Some(range) = hull(fragments.keys().copied()) else { return Ok(None) };
    let version = place.newest_schema()?.write_version();
    let ignored = fragments.iter().map(|(name, version)| (*name, CommitKind::Write, *version));
    let file = NameList::encode_ignore(ignored);
    let name = place.new_name(range, Some(version))?;
    let path = commit_path(&name, CommitKind::Ignore, version);
    place.store().put(&place.join(&path), &[&file])?;
    Ok(Some((path, file.len() as u64)))
}

/// A commit that the new file is to hold.
struct Member {
    version: Version,
    /// The generic tile of a delete.
    tile: Option<Bytes>,
}

/// What is to be put.
struct Plan {
    /// By name, writes before deletes.
    members: BTreeMap<(TimestampedName, bool), Member>,
    /// Whether a file holds them all already, or there is nothing to gain.
    is_done: bool,
    report: Report,
}

impl Plan {
    fn read(place: &ArrayPlace, progress: &Progress) -> Result<Plan> {
        let commits = Commits::read(place)?;
        let file_count = commits.consolidated.len() + commits.single.len();
        progress.enter(Phase::Reading, Unit::Files, Some(file_count as u64));
        let folders = fragment_folders(place)?;
        let mut report = Report { warnings: commits.warnings.clone(), ..Report::default() };
        let mut members = BTreeMap::new();
        let mut missing = HashSet::new();
        let mut is_whole = |name: &TimestampedName| {
            let is_there = folders.contains(name.as_str());
            if !is_there && missing.insert(name.clone()) {
                report.warnings.push(format!("the fragment {name} is committed, but its folder is gone"));
            }
            is_there
        };
        let mut in_files = Vec::new();
        for file in &commits.consolidated {
            let (mut keys, mut has_ignored) = (HashSet::new(), false);
            for entry in &file.entries {
                if commits.ignores(entry)? {
                    has_ignored = true;
                    continue;
                }
                let is_delete = entry.kind == CommitKind::Delete;
                if !is_delete && (entry.kind != CommitKind::Write || !is_whole(&entry.name)) {
                    continue;
                }
                let version = entry.name.fragment_version()?;
                let key = (entry.name.clone(), is_delete);
                keys.insert(key.clone());
                members.entry(key).or_insert_with(|| Member { version, tile: file.tile(entry) });
            }
            in_files.push((keys, has_ignored));
            progress.check()?;
            progress.advance(Phase::Reading, Unit::Files, 1);
        }
        for file in &commits.single {
            progress.check()?;
            progress.advance(Phase::Reading, Unit::Files, 1);
            let is_delete = file.kind == CommitKind::Delete;
            let key = (file.name.clone(), is_delete);
            if !is_delete && file.kind != CommitKind::Write
                || members.contains_key(&key)
                || !is_delete && !is_whole(&file.name)
            {
                continue;
            }
            let path = place.join(&file.path);
            let tile = is_delete.then(|| place.read_metadata_file(&path)).transpose()?;
            members.insert(key, Member { version: file.name.fragment_version()?, tile });
        }
        for ((name, _), member) in &members {
            if let Some(tile) = &member.tile {
                check_delete(place, name, tile)?;
            }
        }
        for file in &commits.consolidated {
            report.note_read(&file.file.path, file.bytes.len() as u64);
        }
        for file in commits.single.iter().filter(|file| members.contains_key(&(file.name.clone(), false))) {
            report.note_read(&file.path, 0);
        }
        for file in &commits.single {
            let member = members.get(&(file.name.clone(), true)).filter(|_| file.kind == CommitKind::Delete);
            if let Some(tile) = member.and_then(|member| member.tile.as_ref()) {
                report.note_read(&file.path, tile.len() as u64);
            }
        }
        let holds_all = |keys: &HashSet<_>| members.keys().all(|key| keys.contains(key));
        // One with ignored commits is written anew, so that the ignore file can go.
        let is_done = in_files.iter().any(|(keys, has_ignored)| !has_ignored && holds_all(keys))
            || members.len() < 2 && in_files.is_empty();
        Ok(Plan { members, is_done, report })
    }
}

/// A condition that cannot be read must not be copied: the file that it stands in says where the damage is.
fn check_delete(place: &ArrayPlace, name: &TimestampedName, tile: &[u8]) -> Result<()> {
    let decode = || -> Result<()> {
        let (tree, _) = place.open_tile(tile)?;
        ConditionTree::decode(tree.as_slice()).map(drop)
    };
    decode().map_err(|error| {
        error.context(format_args!("the delete {name}; no commits were consolidated")).at_uri(place.uri())
    })
}

/// The names of all folders that can be fragments.
fn fragment_folders(place: &ArrayPlace) -> Result<HashSet<String>> {
    let mut entries = place.store().list(&place.join(FRAGMENTS_FOLDER))?;
    entries.extend(place.store().list(place.path())?);
    Ok(entries.into_iter().filter(Entry::is_folder).map(|entry| entry.name).collect())
}

/// Makes the names among the commits durable, whoever put them.
///
/// # Errors
/// `Io`; nothing may be removed then.
pub(crate) fn sync_commits(place: &ArrayPlace) -> Result<()> {
    place.store().sync_folder(&place.join(COMMITS_FOLDER))
}
