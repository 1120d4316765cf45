//! Reading sparse arrays.

mod batches;
mod cost;
mod explain;
mod independent;
mod ordered;
mod plan;
mod predicate;
mod prune;
mod select;
mod stretches;
mod summarise;
mod windows;

pub(crate) use plan::ranges;
pub(crate) use select::coord_columns;

pub(crate) use batches::SparseBatches;
pub(crate) use plan::{SparsePlan, cell_order};
