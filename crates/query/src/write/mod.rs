//! Writing cells.

mod codes;
mod columns;
mod dense;
mod fragment_writer;
mod global;
mod request;
mod sparse;

pub use global::GlobalWriter;
pub use request::{Duplicates, WriteRequest};

use smalti_array::Snapshot;
use smalti_types::Result;

/// Writes cells as one new fragment, atomic and durable, and returns the fragment's name.
///
/// # Errors
/// `InvalidArgument` names the column, cell or range that is wrong; nothing is written then. What codecs and store report
/// before the commit leaves the array as it was.
pub fn write(snapshot: &Snapshot, request: &WriteRequest<'_>) -> Result<String> {
    if snapshot.schema().is_dense() {
        dense::write_dense(snapshot, request)
    } else {
        sparse::write_sparse(snapshot, request)
    }
}
