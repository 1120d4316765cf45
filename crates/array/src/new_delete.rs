//! New delete commits.

use crate::stamp::next_timestamp;
use crate::{ArrayPlace, Snapshot};
use smalti_format::names::{CommitKind, TimestampedName, commit_path};
use smalti_format::{ConditionTree, Rule, Version};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Error, Result, TimeRange};

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
