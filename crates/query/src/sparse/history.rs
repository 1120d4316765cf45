//! Reads of all that fragments hold: every version of a cell, with the time it was written and the time it was deleted.
//!
//! Consolidation reads this way. Nothing hides anything; cells of equal coordinates come newest first.

use super::plan::{SparsePlan, TileRef};
use super::predicate::NOT_DELETED;
use smalti_array::{FieldId, Fragment, Snapshot};
use smalti_format::names::{self, CommitKind, commit_path};
use smalti_tile::Column;
use smalti_types::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The condition in place of a delete's of cells that were not deleted.
const NO_CONDITION: u64 = u64::MAX;

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
    fn renumber(&self, fragment: &Fragment, condition: u64) -> Result<u64> {
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

impl SparsePlan {
    /// Whether the cells of a field are not read, but worked out.
    pub(super) fn is_made(&self, field: usize) -> bool {
        matches!(self.fields[field].id, FieldId::DeleteTimestamps | FieldId::DeleteConditionIndex)
    }

    /// The times of deletes (or their conditions) of all cells of a tile: what the fragment says, and what deletes add
    /// that it does not know of yet. Of several deletes the earliest counts.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn delete_column(
        &self,
        history: &DeleteHistory,
        tile: &TileRef,
        wanted: FieldId,
    ) -> Result<Column> {
        let fragment = &self.fragments[tile.fragment_idx];
        let check = || self.fetch.check();
        let (mut times, mut conditions) = match (&fragment.delete_times, &fragment.delete_conditions) {
            (Some(times), Some(conditions)) => {
                let times = Arc::unwrap_or_clone(self.tile_column(times, tile)?);
                let mut conditions = Arc::unwrap_or_clone(self.tile_column(conditions, tile)?);
                for condition in conditions.data.values_mut::<u64>() {
                    *condition = history.renumber(&fragment.fragment, *condition)?;
                }
                (times, conditions)
            }
            _ => (
                super::constant_u64(NOT_DELETED, tile.cell_count, &check)?,
                super::constant_u64(NO_CONDITION, tile.cell_count, &check)?,
            ),
        };
        let own_times = match &fragment.timestamps {
            Some(source) if fragment.predicates.iter().any(|predicate| predicate.spares_after.is_some()) => {
                Some(self.tile_column(source, tile)?)
            }
            _ => None,
        };
        for predicate in &fragment.predicates {
            let Some((at, place)) = predicate.delete else { continue };
            let stays = self.evaluate(tile, predicate, &[], None)?;
            let (times, conditions) = (times.data.values_mut::<u64>(), conditions.data.values_mut::<u64>());
            let written = own_times.as_ref().map(|times| times.data.values::<u64>());
            for (cell, (time, condition)) in times.iter_mut().zip(conditions).enumerate() {
                let is_spared = predicate.spares_after.is_some()
                    && written.is_some_and(|written| written.get(cell).is_some_and(|&time| time > at));
                if !is_spared && at < *time && !stays.is_set(cell) {
                    (*time, *condition) = (at, place);
                }
            }
        }
        Ok(if wanted == FieldId::DeleteTimestamps { times } else { conditions })
    }
}
