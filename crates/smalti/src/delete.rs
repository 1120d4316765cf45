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

    /// Puts the delete commit: from its time on, readers do not see the cells. Earlier times still do.
    ///
    /// # Errors
    /// `InvalidArgument` when the condition does not fit the schema; `Unsupported` for dense arrays, versions before 16, and
    /// conditions that no delete commit can hold.
    pub fn commit(self) -> Result<WrittenDelete> {
        self.array.commit_delete(&self.condition, self.at)
    }
}
