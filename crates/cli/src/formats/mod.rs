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

pub(crate) use arrow::{
    ArrowSink, RecordBatches, append, arrow_schema, behind, check_cells, columns_of, gather, open_arrow,
    written_out_byte_len,
};
pub(crate) use csv::{CsvSink, read_csv};
pub(crate) use input::{Budget, open_file, read_bounded};
pub(crate) use jsonl::{JsonlSink, read_jsonl};
pub(crate) use matrix::MatrixSink;
pub(crate) use npy::{NpyHeader, NpySink, NpyValues, descr, open_npy};
pub(crate) use parquet::{ParquetSink, open_parquet, parquet_builder, parquet_rows};
pub(crate) use room::{Cells, Held, Room, Take};
pub(crate) use table::{Table, TableSink};

/// Takes the cells of a read, batch after batch, and writes them in one format.
pub(crate) trait Sink {
    /// Writes cells; the columns are in the order of the fields that the sink was made for.
    fn batch(&mut self, batch: Batch) -> Outcome;

    /// Writes what comes after the last cell.
    fn finish(&mut self) -> Outcome;
}

/// The columns of a batch, to look at.
fn borrowed(batch: &Batch) -> Vec<ColumnRef<'_>> {
    batch.columns.iter().map(|column| column.as_ref()).collect()
}

/// Output is handed on in pieces of about this many bytes.
const FLUSH_BYTE_LEN: usize = 1 << 18;
