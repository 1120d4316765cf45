//! The delete commits that cells of fragments name.

use smalti_array::{Fragment, Snapshot};
use smalti_format::names::{self, CommitKind, commit_path};
use smalti_types::{Error, Result};
use std::collections::HashMap;

/// The time in place of a delete's of cells that were not deleted.
pub(super) const NOT_DELETED: u64 = u64::MAX;

/// The condition in place of a delete's of cells that were not deleted.
pub(super) const NO_CONDITION: u64 = u64::MAX;

/// Delete commits in the order in which cells name them.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteHistory {
    /// Paths relative to the array. The snapshot's own come first, oldest first.
    pub(crate) paths: Vec<String>,
    /// By the names of fragments the places of their own lists in `paths`.
    renumbered: HashMap<String, Vec<u64>>,
}

impl DeleteHistory {
    /// The snapshot's deletes, and those that its fragments remember.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from delete commits and fragment metadata.
    pub(crate) fn new(snapshot: &Snapshot) -> Result<Self> {
        let mut history = DeleteHistory::default();
        let mut places: HashMap<String, u64> = HashMap::new();
        for delete in snapshot.deletes()? {
            let path = commit_path(&delete.name, CommitKind::Delete, delete.name.fragment_version()?);
            places.insert(names::last_part(&path).to_owned(), history.paths.len() as u64);
            history.paths.push(path);
        }
        for fragment in snapshot.fragments() {
            if !fragment.outline().includes_delete_metadata {
                continue;
            }
            let own = fragment.processed_paths()?;
            let renumbered = own.into_iter().map(|path| {
                *places.entry(names::last_part(&path).to_owned()).or_insert_with(|| {
                    history.paths.push(path);
                    history.paths.len() as u64 - 1
                })
            });
            history.renumbered.insert(fragment.name().to_string(), renumbered.collect());
        }
        Ok(history)
    }

    /// What a cell's condition is called here.
    pub(super) fn renumber(&self, fragment: &Fragment, condition: u64) -> Result<u64> {
        if condition == NO_CONDITION {
            return Ok(condition);
        }
        let known = self.renumbered.get(fragment.name().as_str());
        let place = usize::try_from(condition).ok().and_then(|place| known?.get(place).copied());
        place.ok_or_else(|| {
            Error::corrupt(format!(
                "a cell of fragment {} was deleted by condition {condition}, which its metadata does not name",
                fragment.name()
            ))
        })
    }
}
