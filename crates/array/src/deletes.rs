//! Delete commits: conditions on cells, each from its time on.

use crate::commits::moved_delete;
use crate::stamp::next_timestamp;
use crate::{ArrayPlace, Snapshot};
use bytes::Bytes;
use smalti_format::names::{CommitKind, TimestampedName, commit_path};
use smalti_format::{ConditionTree, Rule, Version};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Error, Result, TimeRange};

/// A delete commit that a listing found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDelete {
    /// Its name.
    pub name: TimestampedName,
    /// The path of the file that holds it.
    pub path: String,
    /// Its generic tile, out of a consolidated commits file; `None` for all of a file of its own.
    pub tile: Option<Bytes>,
}

/// A delete commit.
#[derive(Debug, Clone)]
pub struct DeleteCommit {
    /// Its name.
    pub name: TimestampedName,
    /// The condition as it is stored: which cells stay.
    pub stays: ConditionTree,
}

impl DeleteCommit {
    /// The time of the delete: it takes cells that were written at that time or before.
    pub fn at(&self) -> u64 {
        self.name.range().end
    }
}

impl Snapshot {
    /// The delete commits in the time range, oldest first; read when they are first asked for.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn deletes(&self) -> Result<&[DeleteCommit]> {
        if let Some(deletes) = self.deletes_cell().get() {
            return Ok(deletes);
        }
        let deletes = self.place().read_deletes(self.listed_deletes())?;
        Ok(self.deletes_cell().get_or_init(|| deletes))
    }
}

impl Snapshot {
    /// The version in which a delete commit would be written.
    ///
    /// # Errors
    /// `Unsupported` when the array is dense or its version has no deletes.
    pub fn check_deletable(&self) -> Result<Version> {
        let version = self.schema().write_version();
        if self.schema().is_dense() {
            return Err(Error::unsupported(
                "cells of dense arrays cannot be deleted; write fill values over them",
            ));
        }
        if !version.has(Rule::DeleteCommits) {
            return Err(Error::unsupported(format!(
                "format version {version} has no deletes; `smalti upgrade` brings the array to one that has"
            )));
        }
        Ok(version)
    }
}

impl ArrayPlace {
    /// Reads delete commits; the oldest comes first.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub(crate) fn read_deletes(&self, listed: &[ListedDelete]) -> Result<Vec<DeleteCommit>> {
        let mut deletes = listed.iter().map(|listed| self.read_delete(listed)).collect::<Result<Vec<_>>>()?;
        deletes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(deletes)
    }

    fn read_delete(&self, listed: &ListedDelete) -> Result<DeleteCommit> {
        let bytes = match &listed.tile {
            Some(tile) => tile.clone(),
            None => self
                .read_metadata_file(&listed.path)
                .or_else(|error| moved_delete(self, &listed.name, error))?,
        };
        let decode = || {
            let (tile, _) = self.open_tile(&bytes)?;
            ConditionTree::decode(tile.as_slice())
        };
        let stays = decode().map_err(|error| error.at_uri(self.store().address(&listed.path)))?;
        Ok(DeleteCommit { name: listed.name.clone(), stays })
    }

    /// Puts a delete commit, durable on return. `stays` is the negated condition: which cells stay.
    ///
    /// # Errors
    /// `Unsupported` when the array is dense or its version has no deletes; what the store reports.
    pub fn put_delete(
        &self,
        snapshot: &Snapshot,
        stays: &ConditionTree,
        at: Option<u64>,
    ) -> Result<TimestampedName> {
        let version = snapshot.check_deletable()?;
        let time = next_timestamp(self.env(), at);
        let name = TimestampedName::new(TimeRange { start: time, end: time }, self.new_id()?, Some(version));
        let mut tile = Vec::new();
        write_generic_tile(&stays.encode()?, version, self.cipher(), &mut tile, &mut Scratch::new())?;
        self.store().put(&self.join(&commit_path(&name, CommitKind::Delete, version)), &[&tile])?;
        Ok(name)
    }
}
