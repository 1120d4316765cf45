//! Arguments of `smalti write`.

use super::time::{TIME, parse_time};
use clap::Args;
use smalti_tools::When;
use smalti_tools::notation::Notation;
use smalti_tools::write::Format;
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
    pub(crate) format: Option<Format>,
    /// Time of the write: 2024-05-01 (its start), 2024-05-01T14:00+02:00, -1h, or milliseconds since 1970 [default: now]
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
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

impl super::OutputFormat {
    /// The format that the ending of a file's name tells.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        Some(match smalti_tools::formats::ending(path).as_str() {
            "txt" => Self::Table,
            _ => match Format::of_path(path)? {
                Format::Csv => Self::Csv,
                Format::Jsonl => Self::Jsonl,
                Format::Arrow => Self::Arrow,
                Format::Parquet => Self::Parquet,
                Format::Npy => Self::Npy,
            },
        })
    }
}
