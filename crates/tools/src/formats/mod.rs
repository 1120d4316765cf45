//! File formats: cells out and in.

mod arrow;
mod boundary;
mod csv;
mod input;
mod jsonl;
mod matrix;
mod npy;
mod pages;
mod parquet;
mod room;
mod table;

use crate::failure::Outcome;
use smalti::{Batch, ColumnRef};
use std::path::Path;

pub use arrow::ArrowSink;
pub(crate) use arrow::{
    RecordBatches, append, arrow_failure, arrow_schema, behind, check_cells, columns_of, cut_batches, gather,
    open_arrow, written_out_byte_len,
};
pub use csv::CsvSink;
pub(crate) use csv::read_csv;
pub use input::read_bounded;
pub(crate) use input::{Budget, open_file};
pub use jsonl::JsonlSink;
pub(crate) use jsonl::read_jsonl;
pub use matrix::MatrixSink;
pub use npy::{NpyHeader, NpySink};
pub(crate) use npy::{NpyValues, descr, open_npy};
pub use parquet::ParquetSink;
pub(crate) use parquet::{open_parquet, parquet_builder, parquet_rows};
pub(crate) use room::{Cells, Held, Room, Take};
pub use table::{Table, TableSink};

/// Takes the cells of a read, batch after batch, and writes them in one format.
pub trait Sink {
    /// Writes cells; the columns are in the order of the fields that the sink was made for.
    fn batch(&mut self, batch: Batch) -> Outcome;

    /// Writes what comes after the last cell.
    fn finish(&mut self) -> Outcome;
}

/// The part of a file's name after the last point, in lower case.
pub fn ending(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// The columns of a batch, to look at.
fn borrowed(batch: &Batch) -> Vec<ColumnRef<'_>> {
    batch.columns.iter().map(|column| column.as_ref()).collect()
}

/// Output is handed on in pieces of about this many bytes.
const FLUSH_BYTE_LEN: usize = 1 << 18;
