//! Arrow record batches: Arrow IPC files and streams, and the cells of Parquet files.

mod cells;
mod check;
mod cut;
mod read;
mod write;

pub(crate) use cells::{append, behind, check_cells, columns_of, gather, record_batch, schema_of};
pub(crate) use cut::{cut_batches, written_out_byte_len};
pub(crate) use read::{RecordBatches, arrow_schema, open_arrow};
pub use write::ArrowSink;

use crate::failure::Failure;
use arrow_schema::ArrowError;

/// What Arrow's readers and writers report, with errors of the system as what they are.
pub(crate) fn arrow_failure(error: ArrowError) -> Failure {
    match error {
        ArrowError::IoError(_, error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Failure::Error(smalti::Error::corrupt(error.to_string()))
        }
        ArrowError::IoError(_, error) => error.into(),
        ArrowError::ExternalError(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => (*error).into(),
            Err(error) => Failure::invalid(error.to_string()),
        },
        error => Failure::invalid(error.to_string()),
    }
}
