//! Deleting cells by a condition.

use crate::{Array, IntoTimestamp, WrittenDelete};
use smalti_query::condition::Condition;
use smalti_types::Result;

/// A delete; made by [`Array::delete`].
#[derive(Debug)]
#[must_use = "nothing is deleted before commit"]
pub struct DeleteBuilder<'a> {
    array: &'a Array,
    condition: Condition,
    at: Option<u64>,
}

impl<'a> DeleteBuilder<'a> {
    pub(crate) fn new(array: &'a Array, condition: Condition) -> Self {
        DeleteBuilder { array, condition, at: None }
    }

    /// The time of the delete: milliseconds since 1970, or a [`SystemTime`](std::time::SystemTime); by default now. Cells that were
    /// written later stay.
    pub fn at(mut self, time: impl IntoTimestamp) -> Self {
        self.at = Some(time.into_timestamp());
        self
    }

    /// The number of cells that the delete would take, without deleting any: with cells for which the condition is not known to be
    /// false. This reads the fields that the condition names.
    ///
    /// # Errors
    /// As [`commit`](DeleteBuilder::commit), and as aggregates.
    ///
    /// ```
    /// # use smalti::{Array, Dimension, prelude::*};
    /// # let schema = Schema::sparse().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a")).build()?;
    /// # let array = Array::create("mem://delete-count-docs", &schema)?;
    /// array.write().column("x", &[1, 2, 3]).column("a", &[10, 20, 30]).commit()?;
    /// assert_eq!(array.delete("a >= 20".parse()?).cell_count()?, 2);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn cell_count(&self) -> Result<u64> {
        let snapshot = self.array.snapshot_to_write()?;
        self.array.run(|_| smalti_query::check_delete(&snapshot, &self.condition))?;
        self.array.taken_cell_count(self.at.unwrap_or(u64::MAX), &self.condition)
    }

    /// Puts the delete commit: from its time on, readers do not see the cells. Earlier times still do.
    ///
    /// # Errors
    /// `InvalidArgument` when the condition does not fit the schema; `Unsupported` for dense arrays, versions before 16, and
    /// conditions that no delete commit can hold.
    pub fn commit(self) -> Result<WrittenDelete> {
        self.array.commit_delete(&self.condition, self.at)
    }
}
