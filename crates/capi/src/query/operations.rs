//! Aggregates that a query is to compute, which its channels share.

use smalti::Aggregate;
use std::sync::{Arc, Mutex};

/// Operations that have the names of their results; the query and its channels share them.
pub(crate) type Operations = Arc<Mutex<Vec<Applied>>>;

/// An operation that has the name of its result.
#[derive(Debug, Clone)]
pub(crate) struct Applied {
    pub(super) output: String,
    pub(super) aggregate: Aggregate,
}
