//! What is gathered of a field for an aggregate.

use crate::request::Batch;
use rayon::prelude::*;
use smalti_tile::{CellShape, StatsBuilder, StatsKind};
use smalti_types::parallel::Shareable as _;
use std::ops::Range;

/// Cells of a batch that are folded apart from the others.
const PIECE_CELL_COUNT: usize = 1 << 16;

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

/// What was gathered of some cells, by field.
pub(crate) type Gathered = Vec<StatsBuilder>;

/// Gathers what there is of some cells of a batch.
pub(crate) fn gather(kinds: &[StatsKind], batch: &Batch, cells: Range<usize>) -> Gathered {
    let fold = |(kind, column): (&StatsKind, &smalti_tile::Column)| {
        let mut stats = StatsBuilder::new(*kind);
        stats.add(column.as_ref(), cells.clone());
        stats
    };
    kinds.iter().zip(&batch.columns).map(fold).collect()
}

/// Takes in what was gathered of so many cells.
pub(crate) fn add(folded: &mut [Folded], gathered: &Gathered, cell_count: u64) {
    for (folded, some) in folded.iter_mut().zip(gathered) {
        folded.stats.add_times(some, 1);
        folded.cell_count += cell_count;
    }
}

/// Takes in the cells of a batch, gathered on all threads.
pub(crate) fn add_batch(folded: &mut [Folded], batch: &Batch) {
    let kinds = kinds(folded);
    let pieces: Vec<Range<usize>> = (0..batch.cell_count)
        .step_by(PIECE_CELL_COUNT)
        .map(|start| start..batch.cell_count.min(start + PIECE_CELL_COUNT))
        .collect();
    let mut gathered = Vec::new();
    let fold = |cells: Range<usize>| (cells.len(), gather(&kinds, batch, cells));
    match pieces.as_slice() {
        [_] => gathered.extend(pieces.into_iter().map(fold)),
        _ => pieces.into_par_iter().shared().map(fold).collect_into_vec(&mut gathered),
    }
    for (cell_count, some) in &gathered {
        add(folded, some, *cell_count as u64);
    }
}

/// What is gathered of each field.
pub(crate) fn kinds(folded: &[Folded]) -> Vec<StatsKind> {
    folded.iter().map(|folded| folded.kind).collect()
}
