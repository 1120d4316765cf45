//! Queries: what a program asks of an array, submit by submit.

mod aggregates;
mod buffers;
mod condition;
mod entries;
mod estimate;
mod field;
mod labels;
mod operations;
mod plan;
mod read;
mod resume;
mod state;
mod subarray;
mod subarray_entries;
mod write;

pub(crate) use condition::Node;
pub(crate) use state::QueryHandle;
pub(crate) use subarray::SubarrayHandle;
