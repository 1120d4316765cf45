//! Reading sparse arrays.

mod cost;
mod explain;
mod independent;
mod ordered;
mod plan;
mod predicate;
mod prune;
mod select;
mod summarise;
mod windows;

pub(crate) use plan::ranges;
pub(crate) use select::coord_columns;

pub(crate) use ordered::OrderedCells;
pub(crate) use plan::{SparsePlan, cell_order};
pub(crate) use windows::Windows;
