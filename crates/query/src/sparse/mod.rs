//! Reading sparse arrays.

mod ahead;
mod announced;
mod batches;
mod chance;
mod cost;
mod deleted;
mod explain;
mod filter;
mod history;
mod independent;
mod key_range;
mod known;
mod neighbours;
mod order;
mod ordered;
mod part;
mod plan;
mod planning;
mod predicate;
mod prune;
mod select;
mod slabs;
mod stretches;
mod summarise;
mod windows;

pub(crate) use order::ranges;
pub(crate) use select::coord_columns;

pub(crate) use batches::SparseBatches;
pub(crate) use history::DeleteHistory;
pub use order::cell_order;
pub(crate) use plan::SparsePlan;

use crate::gather::Output;
use smalti_tile::{CellShape, Column};
use smalti_types::{CellValNum, Datatype, Result};

/// A column of cells that all hold one number.
fn constant_u64(value: u64, cell_count: usize, to: Output<'_>) -> Result<Column> {
    let shape = CellShape { datatype: Datatype::UInt64, cell_val_num: CellValNum::ONE, is_nullable: false };
    crate::gather::constant(shape, &value.to_le_bytes(), true, cell_count, to)
}
