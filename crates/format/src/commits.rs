//! Text files among the commits: consolidated commits, ignore files, vacuum files.

use crate::leaf::Bytes64;
use crate::names::{self, CommitKind, TimestampedName};
use crate::record::{Cx, Record, record};
use crate::{Reader, Rule, Version};
use smalti_types::{Error, Result};
use std::ops::Range;

record! {
    /// What follows the line of a delete or update in a consolidated commits file.
    pub(crate) struct InlineTile in "inline tile", spec "consolidated_commits_file.md#delete-commit" {
        /// The whole generic tile, its header included.
        16..  tile: Vec<u8> as Bytes64,
    }
}

/// An entry of a consolidated commits file.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitEntry {
    /// The name of the commit.
    pub name: TimestampedName,
    /// What the commit is: a write, a delete or an update.
    pub kind: CommitKind,
    /// Where the generic tile of a delete or update lies in the file, in bytes.
    pub tile: Option<Range<u64>>,
}

/// A commit to be put into a consolidated commits file.
#[derive(Debug, Clone, Copy)]
pub struct NewCommitEntry<'a> {
    /// The name of the commit.
    pub name: &'a TimestampedName,
    /// The version that says where the commit stands and how it ends.
    pub version: Version,
    /// A write, or a delete with its whole generic tile.
    pub delete_tile: Option<&'a [u8]>,
}

/// A consolidated commits file: many commits in one (specification: `consolidated_commits_file.md`).
#[derive(Debug, Clone, PartialEq)]
pub struct ConsolidatedCommits {
    /// The commits, in the order of the file.
    pub entries: Vec<CommitEntry>,
}

impl ConsolidatedCommits {
    /// Reads the file. A path counts by its last part only; empty lines are passed over.
    ///
    /// # Errors
    /// `Corrupt` when a line is no commit, or a tile is cut short: it cannot be told then what else was committed.
    pub fn decode(file: &[u8]) -> Result<Self> {
        /// Of a line with the path of a commit: room is made for about as many as there are.
        const LINE_LEN: usize = 100;
        let mut reader = Reader::new(file);
        let mut entries = Vec::with_capacity(file.len() / LINE_LEN);
        while reader.remaining() > 0 {
            let byte_offset = reader.byte_offset();
            let line = next_line(&mut reader)?;
            if line.is_empty() {
                continue;
            }
            let corrupt = |what: &str| {
                Error::corrupt(format!("the line {:?} is {what}", String::from_utf8_lossy(line)))
                    .in_field("consolidated commits", "line")
                    .at_offset(byte_offset)
            };
            let path = std::str::from_utf8(line).map_err(|_| corrupt("not text"))?;
            let (name, kind) =
                names::parse_commit_file(names::last_part(path)).ok_or_else(|| corrupt("no commit"))?;
            let tile = match kind {
                CommitKind::Write => None,
                CommitKind::Delete | CommitKind::Update => {
                    let tile = InlineTile::read(&mut reader, &Cx::unversioned())?.tile;
                    let end = reader.byte_offset();
                    Some(end - tile.len() as u64..end)
                }
                CommitKind::Vacuum | CommitKind::Consolidated | CommitKind::Ignore => {
                    return Err(corrupt("no commit"));
                }
            };
            entries.push(CommitEntry { name, kind, tile });
        }
        Ok(ConsolidatedCommits { entries })
    }

    /// The bytes of a file with these commits.
    pub fn encode(entries: &[NewCommitEntry<'_>]) -> Vec<u8> {
        let mut file = Vec::new();
        for entry in entries {
            let kind = if entry.delete_tile.is_some() { CommitKind::Delete } else { CommitKind::Write };
            file.extend(names::commit_path(entry.name, kind, entry.version).into_bytes());
            file.push(b'\n');
            if let Some(tile) = entry.delete_tile {
                file.extend((tile.len() as u64).to_le_bytes());
                file.extend(tile);
            }
        }
        file
    }
}

/// The names in an ignore or vacuum file, one a line (specification: `ignore_file.md`, `vacuum_file.md`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NameList {
    /// The last part of each path: a fragment's folder, a commit, or a metadata file. Each is plain: it can only
    /// select an entry of a listing, never lead anywhere.
    pub names: Vec<String>,
    /// Lines that are no names, shortened: to be warned of, and passed over.
    pub bad_lines: Vec<String>,
}

impl NameList {
    /// Reads the file. Of a path or URI only the last part counts: arrays move. Empty lines are passed over.
    pub fn decode(file: &[u8]) -> Self {
        let mut list = NameList::default();
        for line in file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let name = std::str::from_utf8(line).map(names::last_part).unwrap_or_default();
            if names::is_plain(name) && stem(name).is_some() {
                list.names.push(name.to_owned());
            } else {
                list.bad_lines.push(String::from_utf8_lossy(line).chars().take(100).collect());
            }
        }
        list
    }

    /// The bytes of an ignore file: paths of commits relative to the array.
    pub fn encode_ignore<'a>(
        commits: impl IntoIterator<Item = (&'a TimestampedName, CommitKind, Version)>,
    ) -> Vec<u8> {
        let line = |(name, kind, version)| names::commit_path(name, kind, version) + "\n";
        commits.into_iter().map(line).collect::<String>().into_bytes()
    }

    /// The bytes of a vacuum file: paths relative to the array from version 19, such as `/__fragments/...` or
    /// `/__meta/...`, URIs that start with `array_uri` before. `paths` are relative, without a leading slash.
    pub fn encode_vacuum<'a>(
        paths: impl IntoIterator<Item = &'a str>,
        version: Version,
        array_uri: &str,
    ) -> Vec<u8> {
        let base = if version.has(Rule::RelativeVacuumPaths) { "" } else { array_uri.trim_end_matches('/') };
        paths.into_iter().map(|path| format!("{base}/{path}\n")).collect::<String>().into_bytes()
    }
}

/// The timestamped name in the name of a file or folder.
fn stem(name: &str) -> Option<TimestampedName> {
    let plain = TimestampedName::parse(name).ok();
    plain.or_else(|| TimestampedName::parse(name.rsplit_once('.')?.0).ok())
}

/// The next line without its end; the last one may have none.
fn next_line<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8]> {
    let rest = reader.rest();
    let line_len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let line = reader.take(line_len as u64)?;
    if reader.remaining() > 0 {
        reader.u8()?;
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consolidated_commits_come_back_with_their_tiles() {
        let name = |text| TimestampedName::parse(text).unwrap();
        let (write, delete) = (name("__1_1_ab_22"), name("__2_2_cd_22"));
        let entry = |name, delete_tile| NewCommitEntry { name, version: Version::DEFAULT, delete_tile };
        let file = ConsolidatedCommits::encode(&[
            entry(&write, None),
            entry(&delete, Some(b"tile\n".as_slice())),
            entry(&write, None),
        ]);
        let read = ConsolidatedCommits::decode(&file).unwrap();
        assert_eq!(read.entries.len(), 3);
        assert_eq!(read.entries[0].kind, CommitKind::Write);
        let tile = read.entries[1].tile.clone().unwrap();
        assert_eq!(&file[tile.start as usize..tile.end as usize], b"tile\n");
    }

    #[test]
    fn a_tile_longer_than_its_file_is_corrupt() {
        let mut file = b"__commits/__2_2_cd_22.del\n".to_vec();
        file.extend(u64::MAX.to_le_bytes());
        assert!(ConsolidatedCommits::decode(&file).is_err());
        assert!(ConsolidatedCommits::decode(b"garbage\n").is_err());
        assert!(ConsolidatedCommits::decode(b"\n\n").unwrap().entries.is_empty());
    }

    #[test]
    fn bad_lines_of_a_vacuum_file_are_reported_and_passed_over() {
        let list =
            NameList::decode(b"\n/__fragments/__1_1_ab_22\ngarbage\nfile:///x/__2_2_cd_9/\n\xff\n../..\n");
        assert_eq!(list.names, ["__1_1_ab_22", "__2_2_cd_9"]);
        assert_eq!(list.bad_lines.len(), 3);
    }

    #[test]
    fn vacuum_files_are_relative_from_version_19() {
        let encode = |number| {
            let version = Version::new(number).unwrap();
            String::from_utf8(NameList::encode_vacuum(["__fragments/x"], version, "file:///a/")).unwrap()
        };
        assert_eq!(encode(18), "file:///a/__fragments/x\n");
        assert_eq!(encode(19), "/__fragments/x\n");
    }
}
