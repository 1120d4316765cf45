//! Writing cells.

mod cells;
mod codes;
mod columns;
mod cost;
mod dense;
mod dense_tiles;
mod fragment_writer;
mod global;
mod labels;
mod ordered;
mod request;
mod sparse;

pub use cells::{seal, seal_shared};
pub(crate) use columns::fields_of_fragment;
pub(crate) use dense_tiles::{DensePieces, DenseTiles};
pub use global::GlobalWriter;
pub(crate) use global::Pieces;
pub use request::{Duplicates, Unchecked, WriteRequest};
pub(crate) use sparse::SparseWriter;

use crate::progress::Phase;
use cells::write_cells;
use smalti_array::Snapshot;
use smalti_types::Result;

/// Writes cells as one new fragment, atomic and durable, and returns the fragment's name. Columns of dimension labels become
/// fragments of the labels' arrays, with the same timestamp.
///
/// # Errors
/// `InvalidArgument` names the column, cell or range that is wrong; nothing is written then. What codecs and store report
/// before the commit leaves the array as it was; `Cancelled` does too, and what was put is removed.
pub fn write(snapshot: &Snapshot, request: &WriteRequest<'_>) -> Result<String> {
    write_unchecked(snapshot, request, Unchecked::default())
}

/// As [`write()`], where some of what is checked of sparse cells is not.
///
/// # Errors
/// As [`write()`].
pub fn write_unchecked(
    snapshot: &Snapshot,
    request: &WriteRequest<'_>,
    unchecked: Unchecked,
) -> Result<String> {
    let phases = if snapshot.schema().is_dense() { Phase::DENSE_WRITE } else { Phase::SPARSE_WRITE };
    let _announced = request.progress.as_ref().map(|progress| progress.announce(phases));
    if request.columns.iter().any(|(name, _)| snapshot.schema().label(name).is_some()) {
        return labels::write_labels(snapshot, request);
    }
    write_cells(snapshot, request, unchecked)
}
