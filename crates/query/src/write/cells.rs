//! Writes of cells, without labels of dimensions.

use super::dense::seal_dense;
use super::request::{Naming, Unchecked, WriteRequest};
use super::sparse::seal_sparse;
use crate::progress::Phase;
use smalti_array::{NewFragment, SharedWrite, Snapshot};
use smalti_types::{Error, Result};

/// A write without dimension labels.
pub(crate) fn write_cells(
    snapshot: &Snapshot,
    request: &WriteRequest<'_>,
    unchecked: Unchecked,
) -> Result<String> {
    let sealed = seal_as(snapshot, request, unchecked, &|| NewFragment::new(snapshot, request.at))?;
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
/// As [`write`](fn@crate::write); `Unsupported` for columns of dimension labels, which are fragments of other arrays.
pub fn seal(snapshot: &Snapshot, request: &WriteRequest<'_>) -> Result<NewFragment> {
    seal_as(snapshot, request, Unchecked::default(), &|| NewFragment::new(snapshot, request.at))
}

/// As [`seal`], as a part of a write that several processes do together, at the time of that.
///
/// # Errors
/// As [`seal`].
pub fn seal_shared(
    snapshot: &Snapshot,
    request: &WriteRequest<'_>,
    write: &SharedWrite,
) -> Result<NewFragment> {
    seal_as(snapshot, request, Unchecked::default(), &|| NewFragment::of_shared(snapshot, write))
}

fn seal_as(
    snapshot: &Snapshot,
    request: &WriteRequest<'_>,
    unchecked: Unchecked,
    name: Naming<'_>,
) -> Result<NewFragment> {
    if let Some((name, _)) = request.columns.iter().find(|(name, _)| snapshot.schema().label(name).is_some())
    {
        return Err(Error::unsupported(format!(
            "the labels {name:?} lie in an array of their own; write them by a write that is committed at once"
        )));
    }
    let _taken = request.take_memory(snapshot)?;
    match snapshot.schema().is_dense() {
        true => seal_dense(snapshot, request, name),
        false => seal_sparse(snapshot, request, unchecked, name),
    }
}
