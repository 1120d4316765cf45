//! What is gathered of a field for an aggregate.

use smalti_tile::{CellShape, StatsBuilder, StatsKind};

/// What was gathered of one field.
pub(crate) struct Folded {
    pub(crate) shape: CellShape,
    pub(crate) kind: StatsKind,
    pub(crate) stats: StatsBuilder,
    pub(crate) cell_count: u64,
    /// Whether nothing but the number of cells is asked for.
    pub(crate) is_counted_only: bool,
    /// Whether nobody ever wrote any of the cells.
    pub(crate) is_unwritten: bool,
}
