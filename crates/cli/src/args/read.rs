//! Arguments of `smalti read`.

use super::OpenTimes;
use clap::{Args, ValueEnum};
use smalti::Layout;
use smalti_tools::notation::Notation;
use smalti_tools::ranges::RangeOptions;
use std::path::PathBuf;

/// Arguments of `smalti read`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReadArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    /// Fields to read, dimensions and dimension labels included [default: all dimensions, then all attributes]; a JSON
    /// list for names that hold commas. Labels of one dimension alone give a row for each position
    #[arg(long, value_name = "A,B")]
    pub(crate) select: Vec<String>,
    #[command(flatten)]
    pub(crate) ranges: RangeOptions,
    /// Order of the cells [default: row for dense arrays, global for sparse ones]
    #[arg(long)]
    pub(crate) layout: Option<ReadLayout>,
    #[command(flatten)]
    pub(crate) times: OpenTimes,
    /// Only the cells that fulfil a condition, such as "pop > 1000000 and country == 'FR'"; also `between 1 and 9`, `in [1, 2]`,
    /// `like 'abc%'`, `is null`, and booleans alone
    #[arg(long = "where", value_name = "EXPR")]
    pub(crate) condition: Option<String>,
    /// Leave out the cells of a dense array that do not fulfil the condition, instead of printing fill values
    #[arg(long, requires = "condition")]
    pub(crate) matching_only: bool,
    /// Add the field `__timestamps`: when each cell was written (sparse)
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// At most this many cells
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Carry out a split that `smalti scan` made of the array, which says what to read
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "select", "range", "ranges_json", "strict", "layout", "at", "since", "condition", "matching_only", "timestamps", "limit"
        ]
    )]
    pub(crate) split: Option<PathBuf>,
    /// Format of the output [default: by the ending of --output, else a table]
    #[arg(long)]
    pub(crate) format: Option<OutputFormat>,
    /// File to write to, `-` for standard output [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print to standard error what was opened and read: bytes, requests, rounds (requests that waited for others), tiles, cells, time
    #[arg(long)]
    pub(crate) stats: bool,
    #[command(flatten)]
    pub(crate) notation: Notation,
}

/// The order of the cells of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReadLayout {
    /// The last dimension varies fastest
    Row,
    /// The first dimension varies fastest
    Col,
    /// Tile by tile
    Global,
    /// Whatever is fastest
    Unordered,
}

impl From<ReadLayout> for Layout {
    fn from(layout: ReadLayout) -> Layout {
        match layout {
            ReadLayout::Row => Layout::RowMajor,
            ReadLayout::Col => Layout::ColMajor,
            ReadLayout::Global => Layout::GlobalOrder,
            ReadLayout::Unordered => Layout::Unordered,
        }
    }
}

/// What `smalti read` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Aligned columns for people
    Table,
    /// A small slice as rows and columns of one attribute, for people
    Matrix,
    /// One JSON object a line
    Jsonl,
    /// Comma-separated values
    Csv,
    /// Arrow IPC: a stream on standard output and in files that end in .arrows, a file in others
    Arrow,
    /// Parquet file, compressed with Zstandard
    Parquet,
    /// NumPy array (dense, one attribute)
    Npy,
}
