//! Vacuum of commits: what consolidated commits files have made superfluous.
//!
//! # Other processes at the same time
//!
//! Only what a file that stays says again is removed, and it is made sure first that this file is durable.
//!
//! - *A vacuum of commits in another process* may have seen other consolidated files. Each removes a file only for the sake of
//!   one that holds all its commits, and of two that hold the same for the sake of one from which nothing is taken back, or of
//!   the greater name. For vacuums that see the same ignore files that is an order without circles: however many
//!   files two of them remove, the greatest of them all stays. A listing that runs while files come could show a
//!   consolidated file and miss the ignore file that it was made by, so the names are listed again after everything was
//!   read, until nothing has come. What remains is an ignore file that comes between this listing and the removal, and
//!   only in one of two vacuums that run at once.
//! - *A consolidation of commits* may be reading what goes. It then lists anew, and finds the file that stays. What it puts
//!   holds no more than what counted when it listed.
//! - *A vacuum of fragments* takes commits out of consolidated files by ignore files, which must not go before. They go
//!   last, after all files that they take from are durably gone, and only those of which no name is in a file that stays. A
//!   consolidation that read such a file before may yet bring the name back; it and the vacuum of fragments both look for
//!   that when they are done ([`ignore_taken`](crate::ignore_taken)).
//! - *A reader* may have listed the folder before the consolidation and read it on after the vacuum. Readers of smalti list
//!   again where a listed file is gone, or a fragment has no commit; the conditions of deletes they find in whichever
//!   file holds them now.
//!
//! Where this is cut short, some files are left that another run removes.

use crate::consolidate::sync_commits;
use crate::report::remove;
use crate::{FileReport, Options, Report};
use smalti_array::{ArrayPlace, Commits, ConsolidatedFile};
use smalti_format::CommitEntry;
use smalti_format::names::{
    COMMITS_FOLDER, CommitKind, TimestampedName, commit_file_name, last_part, parse_commit_file,
};
use smalti_store::{Entry, Store, join};
use smalti_types::{Error, ErrorKind, Result};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// The largest files are compared with all others; a file that only a smaller one holds stays for the next time.
const MAX_KEEPER_COUNT: usize = 16;

/// How often everything is read anew because files came meanwhile.
const MAX_LISTING_COUNT: usize = 8;

type Key<'c> = (&'c TimestampedName, bool);

/// Removes commits that stand alone although a consolidated file holds them, consolidated files of which another holds all
/// commits, and ignore files that ignore nothing any more.
///
/// # Errors
/// `NotFound` when no array is here; `Corrupt` for a damaged consolidated file; what the store reports. After an error some
/// of the files may be gone, and the array says the same.
pub fn vacuum_commits(place: &ArrayPlace, options: &Options) -> Result<Report> {
    place.newest_schema()?;
    let lock = if options.dry_run { None } else { Some(place.upkeep_lock()?) };
    let commits = settled(place)?;
    let mut report = Report { warnings: commits.warnings.clone(), ..Report::default() };
    let (stay, go) = sorted_out(&commits)?;
    let single = superfluous(place, &commits, &stay, &mut report)?;
    let go: Vec<FileReport> = go
        .iter()
        .map(|file| FileReport { path: file.file.path.clone(), byte_len: file.bytes.len() as u64 })
        .collect();
    let ignores = idle_ignores(place, &commits, &stay)?;
    let has_work = !single.is_empty() || !go.is_empty();
    if has_work && !options.dry_run {
        sync_commits(place)?;
    }
    if let Some(lock) = &lock {
        lock.confirm()?;
    }
    remove(place, options, &single, &mut report)?;
    remove(place, options, &go, &mut report)?;
    remove(place, options, &ignores, &mut report)?;
    Ok(report)
}

/// The commits as two listings have them, one before and one after all files were read.
fn settled(place: &ArrayPlace) -> Result<Commits> {
    let mut commits = Commits::read(place)?;
    for _ in 0..MAX_LISTING_COUNT {
        let names = place.store().list_names(&place.join(COMMITS_FOLDER))?;
        let known = commits.consolidated.iter().map(|file| &file.file);
        let known: HashSet<&str> = known
            .chain(commits.ignore_files.iter().map(|file| &file.file))
            .map(|file| last_part(&file.path))
            .collect();
        let is_new = |name: &String| {
            let kind = parse_commit_file(name).map(|(_, kind)| kind);
            matches!(kind, Some(CommitKind::Consolidated | CommitKind::Ignore))
                && !known.contains(name.as_str())
        };
        if !names.iter().any(is_new) {
            return Ok(commits);
        }
        commits = Commits::read(place)?;
    }
    Err(Error::new(ErrorKind::Io, "other processes change the commits all the time; try again later")
        .at_uri(place.uri()))
}

/// The commits of a file that count.
fn live<'c>(commits: &Commits, file: &'c ConsolidatedFile) -> Result<HashSet<Key<'c>>> {
    let mut keys = HashSet::new();
    for entry in &file.entries {
        if is_commit(entry) && !commits.ignores(entry)? {
            keys.insert((&entry.name, entry.kind == CommitKind::Delete));
        }
    }
    Ok(keys)
}

fn is_commit(entry: &CommitEntry) -> bool {
    matches!(entry.kind, CommitKind::Write | CommitKind::Delete)
}

/// The consolidated files that stay, and those that go.
fn sorted_out(commits: &Commits) -> Result<(Vec<&ConsolidatedFile>, Vec<&ConsolidatedFile>)> {
    let mut files = Vec::with_capacity(commits.consolidated.len());
    for file in &commits.consolidated {
        files.push((file, live(commits, file)?));
    }
    files.sort_by_key(|(file, keys)| Reverse(rank(file, keys)));
    let goes = |(file, keys): &(&ConsolidatedFile, HashSet<Key<'_>>)| {
        // Updates mean nothing to any reader, but no other file holds them.
        if !file.entries.iter().all(is_commit) {
            return false;
        }
        let holds = |(other, others): &&(&ConsolidatedFile, HashSet<Key<'_>>)| {
            rank(other, others) > rank(file, keys) && keys.iter().all(|key| others.contains(key))
        };
        keys.is_empty() || files.iter().take(MAX_KEEPER_COUNT).any(|other| holds(&other))
    };
    let (go, stay): (Vec<_>, Vec<_>) = files.iter().partition(|file| goes(file));
    Ok((stay.into_iter().map(|(file, _)| *file).collect(), go.into_iter().map(|(file, _)| *file).collect()))
}

/// The greater of two files stays: that of more commits which count, then that of fewer which do not.
fn rank<'f>(
    file: &'f ConsolidatedFile,
    keys: &HashSet<Key<'_>>,
) -> (usize, Reverse<usize>, &'f TimestampedName) {
    (keys.len(), Reverse(file.entries.len()), &file.file.name)
}

/// The commits that stand alone and are in a file that stays.
fn superfluous(
    place: &ArrayPlace,
    commits: &Commits,
    stay: &[&ConsolidatedFile],
    report: &mut Report,
) -> Result<Vec<FileReport>> {
    let mut held: HashMap<Key<'_>, (&ConsolidatedFile, &CommitEntry)> = HashMap::new();
    for file in stay {
        for entry in file.entries.iter().filter(|entry| is_commit(entry)) {
            if !commits.ignores(entry)? {
                held.insert((&entry.name, entry.kind == CommitKind::Delete), (file, entry));
            }
        }
    }
    let sizes = file_sizes(place)?;
    let mut found = Vec::new();
    for file in &commits.single {
        let is_delete = file.kind == CommitKind::Delete;
        if !is_delete && file.kind != CommitKind::Write || !file.is_at_home() {
            continue;
        }
        let Some((holder, entry)) = held.get(&(&file.name, is_delete)) else { continue };
        // Not among the sizes: another vacuum was faster, or it is a folder, which nobody ever wrote here.
        let Some(&byte_len) = sizes.get(&file.path) else { continue };
        let is_same = |tile| match place.read_metadata_file(&place.join(&file.path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            bytes => bytes.map(|bytes| bytes == tile),
        };
        if !holder.tile(entry).map_or(Ok(true), is_same)? {
            report.warnings.push(format!(
                "{} and {} hold different conditions of the same delete; both stay",
                file.path, holder.file.path
            ));
            continue;
        }
        found.push(FileReport { path: file.path.clone(), byte_len });
    }
    Ok(found)
}

/// The sizes of the files among the commits and in the array's folder, by path.
fn file_sizes(place: &ArrayPlace) -> Result<HashMap<String, u64>> {
    let mut sizes = HashMap::new();
    for (folder, path) in [("", place.path().to_owned()), (COMMITS_FOLDER, place.join(COMMITS_FOLDER))] {
        let entries = place.store().list(&path)?;
        let files = entries.into_iter().filter(Entry::is_file);
        sizes.extend(files.map(|entry| (join(folder, &entry.name), entry.byte_len)));
    }
    Ok(sizes)
}

/// The ignore files of which no name is in a file that stays.
fn idle_ignores(
    place: &ArrayPlace,
    commits: &Commits,
    stay: &[&ConsolidatedFile],
) -> Result<Vec<FileReport>> {
    let mut held = HashSet::new();
    for entry in stay.iter().flat_map(|file| &file.entries) {
        held.insert(commit_file_name(&entry.name, entry.kind, entry.name.fragment_version()?));
    }
    let mut idle = Vec::new();
    for ignore in &commits.ignore_files {
        if ignore.list.bad_lines.is_empty() && !ignore.list.names.iter().any(|name| held.contains(name)) {
            match place.store().byte_len(&place.join(&ignore.file.path)) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                byte_len => idle.push(FileReport { path: ignore.file.path.clone(), byte_len: byte_len? }),
            }
        }
    }
    Ok(idle)
}
