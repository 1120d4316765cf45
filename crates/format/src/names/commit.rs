//! Names of the files that say what happened, and paths as such files hold them.

use super::{
    COMMITS_FOLDER, CONSOLIDATED_ENDING, DELETE_ENDING, FRAGMENTS_FOLDER, GONE_ENDING, IGNORE_ENDING,
    OK_ENDING, PENDING_VACUUM_ENDING, RESERVED_PREFIX, TimestampedName, UPDATE_ENDING, VACUUM_ENDING,
    WRITE_ENDING,
};
use crate::{Rule, Version};

/// What a file among the commits is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommitKind {
    /// Says that a fragment exists (`.wrt`, before version 12 `.ok`).
    Write,
    /// Deletes cells by a condition (`.del`).
    Delete,
    /// Changes cells; ignored (`.upd`).
    Update,
    /// Lists what a consolidated fragment replaces (`.vac`).
    Vacuum,
    /// Many commits in one file (`.con`).
    Consolidated,
    /// Lists commits in consolidated files that no longer count (`.ign`).
    Ignore,
}

/// The kind of a file among the commits, and its name without the ending. `None` for any other file, which readers
/// pass over.
pub fn parse_commit_file(file_name: &str) -> Option<(TimestampedName, CommitKind)> {
    let (name, kind) = commit_stem(file_name)?;
    Some((TimestampedName::parse(name).ok()?, kind))
}

/// As [`parse_commit_file`], also for names that no commit can have, such as those with a time beyond 64 bits.
pub fn commit_stem(file_name: &str) -> Option<(&str, CommitKind)> {
    [
        (WRITE_ENDING, CommitKind::Write),
        (OK_ENDING, CommitKind::Write),
        (DELETE_ENDING, CommitKind::Delete),
        (UPDATE_ENDING, CommitKind::Update),
        (VACUUM_ENDING, CommitKind::Vacuum),
        (CONSOLIDATED_ENDING, CommitKind::Consolidated),
        (IGNORE_ENDING, CommitKind::Ignore),
    ]
    .into_iter()
    .find_map(|(ending, kind)| Some((file_name.strip_suffix(ending)?, kind)))
}

/// Whether a file in the folder of an array, where commits stand before version 12, is named as a commit is, but with a time or
/// version that none can have.
pub fn is_impossible_commit_in_root(file_name: &str) -> bool {
    let is_kept_there = [OK_ENDING, VACUUM_ENDING].iter().any(|ending| file_name.ends_with(ending));
    is_kept_there && file_name.starts_with(RESERVED_PREFIX) && parse_commit_file(file_name).is_none()
}

/// The name of a file among the commits of a version.
pub fn commit_file_name(name: &TimestampedName, kind: CommitKind, version: Version) -> String {
    let ending = match kind {
        CommitKind::Write if version.has(Rule::CommitsFolder) => WRITE_ENDING,
        CommitKind::Write => OK_ENDING,
        CommitKind::Delete => DELETE_ENDING,
        CommitKind::Update => UPDATE_ENDING,
        CommitKind::Vacuum => VACUUM_ENDING,
        CommitKind::Consolidated => CONSOLIDATED_ENDING,
        CommitKind::Ignore => IGNORE_ENDING,
    };
    format!("{name}{ending}")
}

/// The path of a file among the commits, relative to the array.
pub fn commit_path(name: &TimestampedName, kind: CommitKind, version: Version) -> String {
    among_commits(commit_file_name(name, kind, version), version)
}

/// The fragment that a pending vacuum file is named for.
pub fn parse_pending_vacuum(file_name: &str) -> Option<TimestampedName> {
    TimestampedName::parse(file_name.strip_suffix(PENDING_VACUUM_ENDING)?).ok()
}

/// The path of the pending vacuum file of a fragment, relative to the array.
pub fn pending_vacuum_path(name: &TimestampedName, version: Version) -> String {
    among_commits(format!("{name}{PENDING_VACUUM_ENDING}"), version)
}

/// The fragment that a file is named for which says what is gone of its history.
pub fn parse_gone(file_name: &str) -> Option<TimestampedName> {
    TimestampedName::parse(file_name.strip_suffix(GONE_ENDING)?).ok()
}

/// The path of the file that says what is gone of a fragment's history, relative to the array.
pub fn gone_path(name: &TimestampedName, version: Version) -> String {
    among_commits(format!("{name}{GONE_ENDING}"), version)
}

fn among_commits(file_name: String, version: Version) -> String {
    if version.has(Rule::CommitsFolder) { format!("{COMMITS_FOLDER}/{file_name}") } else { file_name }
}

/// The path of a fragment's folder, relative to the array.
pub fn fragment_path(name: &TimestampedName, version: Version) -> String {
    fragment_path_parts(name, version).concat()
}

/// What a [`fragment_path`] is put together of.
pub fn fragment_path_parts(name: &TimestampedName, version: Version) -> [&str; 3] {
    let name = name.as_str();
    if version.has(Rule::CommitsFolder) { [FRAGMENTS_FOLDER, "/", name] } else { ["", "", name] }
}

/// The path of a file of a fragment, relative to the array.
pub fn fragment_file_path(name: &TimestampedName, version: Version, file_name: &str) -> String {
    let [above, slash, name] = fragment_path_parts(name, version);
    [above, slash, name, "/", file_name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_stand_where_their_version_puts_them() {
        let name = TimestampedName::parse("__1_2_ab_12").unwrap();
        let version = |number| Version::new(number).unwrap();
        assert_eq!(commit_path(&name, CommitKind::Write, version(11)), "__1_2_ab_12.ok");
        assert_eq!(commit_path(&name, CommitKind::Write, version(12)), "__commits/__1_2_ab_12.wrt");
        assert_eq!(fragment_path(&name, version(12)), "__fragments/__1_2_ab_12");
        assert_eq!(parse_commit_file("__1_2_ab_12.wrt"), Some((name.clone(), CommitKind::Write)));
        assert_eq!(parse_commit_file("__1_2_ab_12.del"), Some((name, CommitKind::Delete)));
        assert_eq!(parse_commit_file("__1_2_ab_12.tmp"), None);
        assert_eq!(parse_commit_file("notes.wrt"), None);
    }

    #[test]
    fn names_that_no_commit_can_have_are_told_from_those_of_no_commit() {
        for impossible in ["__2_1_ab_10.ok", "__1_2_ab_4294967296.ok", "__99999999999999999999_1_ab.vac"] {
            assert!(is_impossible_commit_in_root(impossible), "{impossible}");
        }
        for other in ["__1_2_ab_10.ok", "notes.ok", "__2_1_ab_10.meta", "__2_1_ab_22.wrt", "__lock.tdb"] {
            assert!(!is_impossible_commit_in_root(other), "{other}");
        }
    }
}
