//! Reads of all that fragments hold: every version of a cell, with the time it was written and the time it was deleted.
//!
//! Consolidation reads this way. Nothing hides anything; cells of equal coordinates come newest first.

use super::history::{DeleteHistory, NO_CONDITION, NOT_DELETED};
use super::plan::{SparsePlan, TileRef};
use smalti_array::FieldId;
use smalti_tile::Column;
use smalti_types::Result;
use std::sync::Arc;

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
                super::constant_u64(NOT_DELETED, tile.cell_count, self.fetch.output(&check))?,
                super::constant_u64(NO_CONDITION, tile.cell_count, self.fetch.output(&check))?,
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
            let stays = self.evaluate(tile, predicate, &[], None, None)?;
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
