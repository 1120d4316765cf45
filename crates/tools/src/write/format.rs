//! What cells are read from.

use crate::formats::ending;
use std::path::Path;

/// The format of a file of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object a line
    Jsonl,
    /// Arrow IPC, file or stream
    Arrow,
    /// Parquet file
    Parquet,
    /// NumPy array (dense, one attribute)
    Npy,
}

impl Format {
    /// The format that the ending of a file's name tells.
    pub fn of_path(path: &Path) -> Option<Self> {
        Some(match ending(path).as_str() {
            "csv" => Format::Csv,
            "jsonl" | "ndjson" => Format::Jsonl,
            "arrow" | "arrows" | "feather" | "ipc" => Format::Arrow,
            "parquet" => Format::Parquet,
            "npy" => Format::Npy,
            _ => return None,
        })
    }
}
