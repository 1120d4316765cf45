//! Deletes: a condition on cells becomes a commit.

use crate::condition::{BoundCondition, Condition};
use smalti_array::Snapshot;
use smalti_format::names::TimestampedName;
use smalti_types::Result;

/// Deletes the cells of a sparse array that fulfil a condition and were written at the time of the delete or before:
/// readers at that time and later do not see them. Durable on return.
///
/// # Errors
/// `InvalidArgument` when the condition does not fit the schema; `Unsupported` for dense arrays, versions before 16, and
/// conditions that no delete commit can hold; what the store reports.
pub fn delete(snapshot: &Snapshot, condition: &Condition, at: Option<u64>) -> Result<TimestampedName> {
    let bound = BoundCondition::bind(condition, snapshot.schema(), &|name| snapshot.enumeration(name))?;
    snapshot.place().put_delete(snapshot, &bound.to_stored_negated()?, at)
}
