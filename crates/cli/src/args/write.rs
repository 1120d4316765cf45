//! Arguments of `smalti write`.

use super::Notation;
use crate::when::{TIME, When};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Arguments of `smalti write`.
#[derive(Debug, Clone, Args)]
pub(crate) struct WriteArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    /// File with the cells; `-` is standard input and needs --format
    #[arg(long, value_name = "FILE")]
    pub(crate) from: PathBuf,
    /// Format of the file [default: by its ending]
    #[arg(long)]
    pub(crate) format: Option<InputFormat>,
    /// Time of the write: 2024-05-01 (its start), 2024-05-01T14:00+02:00, -1h, or milliseconds since 1970 [default: now]
    #[arg(long, value_name = TIME, value_parser = When::parse, allow_hyphen_values = true)]
    pub(crate) at: Option<When>,
    /// Part of a dense array to write, a range for each dimension, both ends included [default: the whole domain]
    #[arg(long, value_name = "D=LO:HI")]
    pub(crate) range: Vec<String>,
    /// The same as JSON: {"d": [[lo, hi]], ...}
    #[arg(long, value_name = "JSON", conflicts_with = "range")]
    pub(crate) ranges_json: Option<String>,
    /// The cells come in the array's global order (sparse)
    #[arg(long)]
    pub(crate) global_order: bool,
    #[command(flatten)]
    pub(crate) notation: Notation,
}

/// What `smalti write` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
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

/// The part of a file's name after the last point, in lower case.
pub(crate) fn ending(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

impl InputFormat {
    /// The format that the ending of a file's name tells.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        Some(match ending(path).as_str() {
            "csv" => InputFormat::Csv,
            "jsonl" | "ndjson" => InputFormat::Jsonl,
            "arrow" | "arrows" | "feather" | "ipc" => InputFormat::Arrow,
            "parquet" => InputFormat::Parquet,
            "npy" => InputFormat::Npy,
            _ => return None,
        })
    }
}

impl super::OutputFormat {
    /// The format that the ending of a file's name tells.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        Some(match ending(path).as_str() {
            "txt" => Self::Table,
            _ => match InputFormat::of_path(path)? {
                InputFormat::Csv => Self::Csv,
                InputFormat::Jsonl => Self::Jsonl,
                InputFormat::Arrow => Self::Arrow,
                InputFormat::Parquet => Self::Parquet,
                InputFormat::Npy => Self::Npy,
            },
        })
    }
}
