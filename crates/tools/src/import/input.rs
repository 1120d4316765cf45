//! What an import reads.

use arrow_array::RecordBatchReader;
use std::path::PathBuf;

/// What an import reads.
pub enum Input {
    /// Files of one table, or of one dense array.
    Files(Vec<PathBuf>),
    /// Record batches of one table. They are read once; what an import looks at again it keeps, in memory while its budget lasts, and
    /// beyond that in a temporary file.
    Batches(Box<dyn RecordBatchReader + Send>),
}
