//! Aggregates that a query is to compute, which its channels share.

use crate::boundary::handle::locked;
use smalti::Aggregate;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Operations that have the names of their results; a query and its channels share them. A query that was submitted
/// takes no more.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    applied: Mutex<Vec<Applied>>,
    are_closed: AtomicBool,
}

/// An operation that has the name of its result.
#[derive(Debug, Clone)]
pub(crate) struct Applied {
    pub(super) output: String,
    pub(super) aggregate: Aggregate,
}

impl Operations {
    /// All of them, in the order in which they were applied.
    pub(super) fn applied(&self) -> Vec<Applied> {
        locked(&self.applied).clone()
    }

    /// What is applied under a name.
    pub(super) fn named(&self, output: &str) -> Option<Aggregate> {
        let applied = locked(&self.applied);
        applied.iter().find(|applied| applied.output == output).map(|applied| applied.aggregate.clone())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        locked(&self.applied).is_empty()
    }

    /// Adds one; gives it back where its name is taken.
    pub(super) fn apply(&self, new: Applied) -> Result<(), Applied> {
        let mut applied = locked(&self.applied);
        if applied.iter().any(|other| other.output == new.output) {
            return Err(new);
        }
        applied.push(new);
        Ok(())
    }

    /// Takes no more from now on, or takes them again.
    pub(super) fn set_closed(&self, are_closed: bool) {
        self.are_closed.store(are_closed, Ordering::Release);
    }

    /// Whether the query was submitted.
    pub(super) fn are_closed(&self) -> bool {
        self.are_closed.load(Ordering::Acquire)
    }
}
