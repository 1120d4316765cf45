//! Writing cells.

mod codes;
mod columns;
mod cost;
mod dense;
mod dense_tiles;
mod fragment_writer;
mod global;
mod ordered;
mod request;
mod sparse;

pub(crate) use columns::fields_of_fragment;
pub(crate) use dense::check_dense;
pub(crate) use dense_tiles::{DensePieces, DenseTiles};
pub use global::GlobalWriter;
pub(crate) use global::Pieces;
pub use request::{Duplicates, WriteRequest};
pub(crate) use sparse::SparseWriter;

use crate::progress::Phase;
use smalti_array::{NewFragment, Snapshot};
use smalti_types::{Error, Result};

/// Writes cells as one new fragment, atomic and durable, and returns the fragment's name. Columns of dimension labels become
/// fragments of the labels' arrays, with the same timestamp.
///
/// # Errors
/// `InvalidArgument` names the column, cell or range that is wrong; nothing is written then. What codecs and store report
/// before the commit leaves the array as it was; `Cancelled` does too, and what was put is removed.
pub fn write(snapshot: &Snapshot, request: &WriteRequest<'_>) -> Result<String> {
    let phases = if snapshot.schema().is_dense() { Phase::DENSE_WRITE } else { Phase::SPARSE_WRITE };
    let _announced = request.progress.as_ref().map(|progress| progress.announce(phases));
    if request.columns.iter().any(|(name, _)| snapshot.schema().label(name).is_some()) {
        return crate::labels::write_labels(snapshot, request);
    }
    write_cells(snapshot, request)
}

/// A write without dimension labels.
pub(crate) fn write_cells(snapshot: &Snapshot, request: &WriteRequest<'_>) -> Result<String> {
    let sealed = seal(snapshot, request)?;
    if let Some(Err(stopped)) = request.progress.as_ref().map(|progress| progress.check()) {
        // What is left is an orphan, which no reader sees.
        let _ = sealed.discard();
        return Err(stopped);
    }
    sealed.commit()?;
    if let Some(progress) = &request.progress {
        progress.complete(Phase::Syncing);
    }
    Ok(sealed.name().to_string())
}

/// Writes cells as a new fragment that is durable, but not visible: its commit is missing. Until it is put, the fragment's folder
/// is an orphan that no reader sees.
///
/// # Errors
/// As [`write`](fn@write); `Unsupported` for columns of dimension labels, which are fragments of other arrays.
pub fn seal(snapshot: &Snapshot, request: &WriteRequest<'_>) -> Result<NewFragment> {
    if let Some((name, _)) = request.columns.iter().find(|(name, _)| snapshot.schema().label(name).is_some())
    {
        return Err(Error::unsupported(format!(
            "the labels {name:?} lie in an array of their own; write them by a write that is committed at once"
        )));
    }
    let _taken = request.take_memory(snapshot)?;
    if snapshot.schema().is_dense() {
        dense::seal_dense(snapshot, request)
    } else {
        sparse::seal_sparse(snapshot, request)
    }
}
