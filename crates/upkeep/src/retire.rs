//! Taking commits back: from then on no listing shows their fragments.

use smalti_array::{ArrayPlace, CommitPlace};
use smalti_format::names::{CommitKind, TimestampedName, commit_path};
use smalti_format::{NameList, Version};
use smalti_types::{Result, TimeRange};

/// Takes back the commits of fragments, in their order: one ignore file for all that stand in consolidated files, then the
/// files of their own are unlinked.
///
/// # Errors
/// What the store reports.
pub(crate) fn take_back_commits(
    place: &ArrayPlace,
    commits: &[(&TimestampedName, &CommitPlace)],
) -> Result<()> {
    let mut ignored: Vec<(&TimestampedName, CommitKind, Version)> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    for (name, commit) in commits {
        if matches!(commit, CommitPlace::Consolidated | CommitPlace::Both(_)) {
            ignored.push((name, CommitKind::Write, name.fragment_version()?));
        }
        if let CommitPlace::File(path) | CommitPlace::Both(path) = commit {
            files.push(place.join(path));
        }
    }
    if let (Some(first), Some(version)) =
        (ignored.first(), ignored.iter().map(|(_, _, version)| *version).max())
    {
        let span = ignored.iter().fold(first.0.range(), |span, (name, ..)| TimeRange {
            start: span.start.min(name.range().start),
            end: span.end.max(name.range().end),
        });
        let name = place.new_name(span, Some(version))?;
        let path = place.join(&commit_path(&name, CommitKind::Ignore, version));
        place.store().put(&path, &[&NameList::encode_ignore(ignored.iter().copied())])?;
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    place.store().delete_files(&files)
}
