//! The files that say what was committed, as they stand in an array at one moment, before times count.

use crate::ArrayPlace;
use bytes::Bytes;
use smalti_format::names::{
    COMMITS_FOLDER, CommitKind, RESERVED_PREFIX, TimestampedName, commit_file_name, commit_stem,
    is_impossible_commit_in_root, parse_commit_file, parse_gone, parse_pending_vacuum,
};
use smalti_format::{CommitEntry, ConsolidatedCommits, NameList, Rule};
use smalti_store::{Store, StoreExt, join};
use smalti_types::{Error, ErrorKind, Result};
use std::collections::HashSet;
use std::time::Duration;

/// The largest commit, ignore or vacuum file that is read: 1 GiB, some ten million names.
pub(crate) const MAX_LIST_BYTE_LEN: u64 = 1 << 30;

/// How often a listing is taken because another process changes what it lists. A purge alone makes nine changes.
pub(crate) const LISTING_ATTEMPTS: usize = 32;

/// How often a listing is taken that stays the same and names a file that cannot be found.
const SAME_LISTING_ATTEMPTS: usize = 4;

/// How often the commits were listed, as files were gone that they named.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    count: usize,
    /// How often in a row the listing was the same.
    same_count: usize,
}

impl Attempts {
    /// Whether to go on with a new listing, which is the same as the one before, or not.
    pub(crate) fn go_on(&mut self, place: &ArrayPlace, is_same: bool) -> bool {
        /// What distant stores list may be out of date for a moment, as where a copy answers.
        const STEP: Duration = Duration::from_millis(50);
        self.count += 1;
        self.same_count = if is_same { self.same_count + 1 } else { 0 };
        if is_same && place.store().is_distant() {
            place.env().clock.wait(STEP * u32::try_from(self.same_count).unwrap_or(1));
        }
        self.count < LISTING_ATTEMPTS && self.same_count < SAME_LISTING_ATTEMPTS
    }

    /// The error of a file that is gone, with how often was listed.
    pub(crate) fn told(&self, error: Error) -> Error {
        let Attempts { count, same_count } = self;
        match *same_count {
            0 => error.context(format_args!(
                "other processes have changed the commits each of {count} times that they were listed; try again"
            )),
            _ => error.context(format_args!("it was listed {} times and cannot be found", same_count + 1)),
        }
    }
}

/// A file among the commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFile {
    /// Its path, relative to the array.
    pub path: String,
    /// Its name without the ending.
    pub name: TimestampedName,
    /// What it is.
    pub kind: CommitKind,
}

/// A consolidated commits file with its content.
#[derive(Debug, Clone)]
pub struct ConsolidatedFile {
    /// The file.
    pub file: CommitFile,
    /// Its commits, in its order. Those that an ignore file takes back are among them.
    pub entries: Vec<CommitEntry>,
    /// Its bytes.
    pub bytes: Bytes,
}

/// An ignore file with its content.
#[derive(Debug, Clone)]
pub struct IgnoreFile {
    /// The file.
    pub file: CommitFile,
    /// What it takes back: names of commit files.
    pub list: NameList,
}

/// All commits of an array.
#[derive(Debug, Default)]
pub struct Commits {
    /// Writes, deletes, updates and vacuum files that stand alone, in the array's folder and among its commits.
    pub single: Vec<CommitFile>,
    /// Consolidated commits.
    pub consolidated: Vec<ConsolidatedFile>,
    /// Ignore files.
    pub ignore_files: Vec<IgnoreFile>,
    /// The names of all commit files that ignore files take out of consolidated ones.
    pub ignored: HashSet<String>,
    /// Pending vacuum files, with the fragments that they are named for, and their paths relative to the array.
    pub pending_vacuums: Vec<(TimestampedName, String)>,
    /// Files that say what is gone of a fragment's history, alike.
    pub gone: Vec<(TimestampedName, String)>,
    /// What was passed over, but should be looked at.
    pub warnings: Vec<String>,
}

impl ConsolidatedFile {
    /// The generic tile of a delete.
    #[expect(clippy::cast_possible_truncation, reason = "decoding has checked the range against these bytes")]
    pub fn tile(&self, entry: &CommitEntry) -> Option<Bytes> {
        let range = entry.tile.clone()?;
        Some(self.bytes.slice(range.start as usize..range.end as usize))
    }
}

impl Commits {
    /// Reads what is in an array's folders. Files that go meanwhile are no error: another process consolidated and vacuumed
    /// the commits, and the folders are listed again.
    ///
    /// # Errors
    /// What the store reports; `Corrupt` when a consolidated commits file is damaged.
    pub fn read(place: &ArrayPlace) -> Result<Commits> {
        let listed = || -> Result<[Vec<String>; 2]> {
            let root = place.store().list_names(place.path())?;
            Ok([root, place.store().list_names(&place.join(COMMITS_FOLDER))?])
        };
        let mut names = listed()?;
        let mut attempts = Attempts::default();
        loop {
            let outcome = Commits::of_names(place, &names[0], &names[1]);
            if !outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                return outcome;
            }
            let again = listed()?;
            if !attempts.go_on(place, again == names) {
                return outcome.map_err(|error| attempts.told(error));
            }
            names = again;
        }
    }

    /// Reads what the listings of an array's folder and of its commits name.
    ///
    /// # Errors
    /// As [`read`](Commits::read), and `NotFound` when a file has gone since.
    pub(crate) fn of_names(place: &ArrayPlace, root: &[String], names: &[String]) -> Result<Commits> {
        let mut commits = Commits::default();
        let mut consolidated = Vec::new();
        for (folder, names) in [("", root), (COMMITS_FOLDER, names)] {
            for file_name in names {
                let Some((name, kind)) = parse_commit_file(file_name) else {
                    if let Some(name) = parse_pending_vacuum(file_name) {
                        commits.pending_vacuums.push((name, join(folder, file_name)));
                    } else if let Some(name) = parse_gone(file_name) {
                        commits.gone.push((name, join(folder, file_name)));
                    } else {
                        commits.note_impossible(place, folder, file_name);
                    }
                    continue;
                };
                let file = CommitFile { path: join(folder, file_name), name, kind };
                match kind {
                    CommitKind::Consolidated if !folder.is_empty() => consolidated.push(file),
                    CommitKind::Ignore if !folder.is_empty() => {
                        let list = read_list(place, &file.path, &mut commits.warnings)?;
                        commits.ignored.extend(list.names.iter().cloned());
                        commits.ignore_files.push(IgnoreFile { file, list });
                    }
                    CommitKind::Consolidated | CommitKind::Ignore => {}
                    _ => commits.single.push(file),
                }
            }
        }
        for file in consolidated {
            let path = place.join(&file.path);
            let bytes = place.store().read_all(&path, MAX_LIST_BYTE_LEN)?;
            let entries = ConsolidatedCommits::decode(&bytes)
                .map_err(|error| error.at_uri(place.store().address(&path)))?
                .entries;
            commits.consolidated.push(ConsolidatedFile { file, entries, bytes });
        }
        Ok(commits)
    }

    /// Warns of a file that is named as a commit is, but with a time or version that none can have. Nobody knows what it says then.
    fn note_impossible(&mut self, place: &ArrayPlace, folder: &str, file_name: &str) {
        let Some((stem, kind)) = commit_stem(file_name) else { return };
        let is_among_commits = !folder.is_empty() && file_name.starts_with(RESERVED_PREFIX);
        if !is_among_commits && !is_impossible_commit_in_root(file_name) {
            return;
        }
        let what = match kind {
            CommitKind::Write => "the cells of its fragment are not read",
            CommitKind::Delete => "what it deletes is read",
            CommitKind::Vacuum => "the fragments that it lists are read beside the one that replaces them",
            CommitKind::Consolidated => "the commits that it holds do not count",
            CommitKind::Ignore => "the commits that it takes back count",
            CommitKind::Update => return,
        };
        let path = place.store().address(&place.join(&join(folder, file_name)));
        self.warnings.push(format!("{path}: {}, so {what}; see `smalti fsck`", impossible(stem)));
    }

    /// Whether an ignore file takes back a commit in a consolidated file.
    ///
    /// # Errors
    /// `Unsupported` for a version that is not known.
    pub fn ignores(&self, entry: &CommitEntry) -> Result<bool> {
        if self.ignored.is_empty() {
            return Ok(false);
        }
        let file_name = commit_file_name(&entry.name, entry.kind, entry.name.fragment_version()?);
        Ok(self.ignored.contains(&file_name))
    }

    /// The bytes of a delete commit that consolidation took into another file.
    pub(crate) fn find_delete(&self, name: &TimestampedName) -> Option<Bytes> {
        let is_wanted = |entry: &&CommitEntry| entry.kind == CommitKind::Delete && entry.name == *name;
        self.consolidated.iter().find_map(|file| file.tile(file.entries.iter().find(is_wanted)?))
    }
}

impl CommitFile {
    /// Whether it stands where its version keeps commits.
    pub fn is_at_home(&self) -> bool {
        let version = self.name.fragment_version();
        version.is_ok_and(|version| version.has(Rule::CommitsFolder) == self.path.contains('/'))
    }
}

/// What is wrong with a name that is none.
pub(crate) fn impossible(name: &str) -> String {
    TimestampedName::parse(name).err().map_or_else(String::new, |error| error.message().to_owned())
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

/// The file of that commit is gone: someone consolidated and vacuumed the commits since it was listed.
pub(crate) fn moved_delete(place: &ArrayPlace, name: &TimestampedName, error: Error) -> Result<Bytes> {
    if error.kind() != ErrorKind::NotFound {
        return Err(error);
    }
    Commits::read(place)?.find_delete(name).ok_or(error)
}
