//! Deletes: a condition on cells becomes a commit.

use crate::condition::{BoundCondition, Condition};
use smalti_array::Snapshot;
use smalti_format::names::TimestampedName;
use smalti_types::Result;

/// A delete that was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The name of its commit.
    pub name: TimestampedName,
    /// Fields whose cells that are null, or NaN where they are compared by order, were deleted with the others: which cells stay is
    /// what is stored, and of these it is not known that the condition does not hold.
    pub taken_with: Vec<String>,
}

fn bound(snapshot: &Snapshot, condition: &Condition) -> Result<BoundCondition> {
    BoundCondition::bind(condition, snapshot.schema(), &|name| snapshot.enumeration(name))
}

/// Whether cells can be deleted by a condition, without deleting any.
///
/// # Errors
/// As [`delete`], but for what a write to the store reports.
pub fn check_delete(snapshot: &Snapshot, condition: &Condition) -> Result<()> {
    bound(snapshot, condition)?.to_stored_negated()?;
    snapshot.check_deletable().map(drop)
}

/// Deletes the cells of a sparse array that fulfil a condition and were written at the time of the delete or before:
/// readers at that time and later do not see them. Durable on return.
///
/// # Errors
/// `InvalidArgument` when the condition does not fit the schema; `Unsupported` for dense arrays, versions before 16, and
/// conditions that no delete commit can hold; what the store reports.
pub fn delete(snapshot: &Snapshot, condition: &Condition, at: Option<u64>) -> Result<Deleted> {
    let bound = bound(snapshot, condition)?;
    let name = snapshot.place().put_delete(snapshot, &bound.to_stored_negated()?, at)?;
    Ok(Deleted { name, taken_with: bound.taken_with().map(|field| field.name.clone()).collect() })
}
