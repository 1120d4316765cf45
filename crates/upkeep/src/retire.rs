//! Taking commits back: from then on no listing shows their fragments.

use crate::consolidate::{commit_at_once, put_ignore_file};
use smalti_array::{ArrayPlace, CommitPlace};
use smalti_format::names::TimestampedName;
use smalti_format::{Rule, Version};
use smalti_types::Result;
use std::collections::BTreeMap;

/// Takes back the commits of fragments at one moment, where the array's version has consolidated commits: first one such file is put of
/// those that have files of their own only, and these go, of which nobody sees anything; then one ignore file takes all back.
/// Both stay until commits are consolidated. In older versions one commit goes after the other.
///
/// # Errors
/// What the store reports.
pub(crate) fn take_back_at_once(
    place: &ArrayPlace,
    commits: &[(&TimestampedName, &CommitPlace)],
) -> Result<()> {
    let is_committed = |(_, commit): &&(_, &CommitPlace)| **commit != CommitPlace::Nowhere;
    let version = place.newest_schema()?.write_version();
    if commits.iter().filter(is_committed).count() < 2 || !version.has(Rule::CommitsFolder) {
        return take_back_commits(place, commits);
    }
    let is_alone = |(_, commit): &&(_, &CommitPlace)| matches!(commit, CommitPlace::File(_));
    let alone: Vec<&TimestampedName> = commits.iter().filter(is_alone).map(|(name, _)| *name).collect();
    if !alone.is_empty() {
        commit_at_once(place, version, &alone)?;
    }
    let own = commits.iter().filter_map(|(_, commit)| match commit {
        CommitPlace::File(path) | CommitPlace::Both(path) => Some(place.join(path)),
        CommitPlace::Consolidated | CommitPlace::Nowhere => None,
    });
    let own: Vec<String> = own.collect();
    place.store().delete_files(&own.iter().map(String::as_str).collect::<Vec<_>>())?;
    let now_consolidated: Vec<(&TimestampedName, &CommitPlace)> =
        commits.iter().filter(is_committed).map(|(name, _)| (*name, &CommitPlace::Consolidated)).collect();
    take_back_commits(place, &now_consolidated)
}

/// Takes back the commits of fragments, in their order: one ignore file for all that stand in consolidated files, then the
/// files of their own are unlinked.
///
/// # Errors
/// What the store reports.
pub(crate) fn take_back_commits(
    place: &ArrayPlace,
    commits: &[(&TimestampedName, &CommitPlace)],
) -> Result<()> {
    let mut ignored: BTreeMap<&TimestampedName, Version> = BTreeMap::new();
    let mut files: Vec<String> = Vec::new();
    for (name, commit) in commits {
        if matches!(commit, CommitPlace::Consolidated | CommitPlace::Both(_)) {
            ignored.insert(name, name.fragment_version()?);
        }
        if let CommitPlace::File(path) | CommitPlace::Both(path) = commit {
            files.push(place.join(path));
        }
    }
    put_ignore_file(place, &ignored)?;
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    place.store().delete_files(&files)
}
