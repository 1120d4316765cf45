//! Arguments of `smalti import`, and of `smalti create --from`.

use crate::when::{TIME, When};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Arguments of `smalti import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportArgs {
    /// Files of one table or of one dense array: csv, jsonl, parquet, arrow, npy or npz
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Path or URI of the array; it is made unless it is there, and appended to if it is
    pub(crate) array: String,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Print the schema as JSON, and on standard error the reason for each choice; nothing is made or written
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Time of the write: 2024-05-01 (its start), 2024-05-01T14:00+02:00, -1h, or milliseconds since 1970 [default: now]
    #[arg(long, value_name = TIME, value_parser = When::parse, allow_hyphen_values = true)]
    pub(crate) at: Option<When>,
    /// Add labels that the enumerations of the array do not have; otherwise they are refused
    #[arg(long)]
    pub(crate) extend_enums: bool,
    /// Make each chunk visible when it is written, instead of all at the end
    #[arg(long)]
    pub(crate) as_it_goes: bool,
    /// Go on with an import --as-it-goes that stopped
    #[arg(long)]
    pub(crate) resume: bool,
}

/// How files are read as a table, and which array is made of it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TableArgs {
    /// Format of the files [default: by their endings]
    #[arg(long)]
    pub(crate) format: Option<ImportFormat>,
    /// Columns that become the dimensions, in this order; of npy and npz files the names of the axes
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) dims: Vec<String>,
    /// Number the rows instead, with a dimension `row`
    #[arg(long, conflicts_with = "dims")]
    pub(crate) index: bool,
    /// Make a dense array [default for npy and npz]
    #[arg(long, conflicts_with = "sparse")]
    pub(crate) dense: bool,
    /// Make a sparse array [default for tables]
    #[arg(long)]
    pub(crate) sparse: bool,
    /// Domain of a dimension, both ends included; an end that is left out is that of the file
    #[arg(long, value_name = "D=LO:HI")]
    pub(crate) domain: Vec<String>,
    /// Tile extent of a dimension
    #[arg(long, value_name = "D=N")]
    pub(crate) tile: Vec<String>,
    /// Cells in a data tile of a sparse array
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) capacity: Option<u64>,
    /// Columns of strings whose values become the labels of an enumeration
    #[arg(long = "enum", value_name = "A,B", value_delimiter = ',')]
    pub(crate) enumerate: Vec<String>,
    /// Another name for a column; the other options take the new name
    #[arg(long, value_name = "A=B")]
    pub(crate) rename: Vec<String>,
    /// The columns to take [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Allow several cells of the same coordinates
    #[arg(long)]
    pub(crate) allow_dups: bool,
    /// Character between the values of csv; `tab` for tabulators
    #[arg(long, value_name = "CHAR", value_parser = parse_byte)]
    pub(crate) delimiter: Option<u8>,
    /// Character around values of csv that hold delimiters
    #[arg(long, value_name = "CHAR", value_parser = parse_byte)]
    pub(crate) quote: Option<u8>,
    /// Texts that mean null in csv, beside empty values
    #[arg(long, value_name = "TEXT,TEXT", value_delimiter = ',')]
    pub(crate) na: Vec<String>,
    /// The first line of csv holds values, not names; the columns are column_1, column_2, ...
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Zone of the times in csv and jsonl that name none, such as Europe/Paris or +02:00; they are stored as UTC [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub(crate) time_zone: Option<String>,
}

/// What `smalti import` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Comma-separated values
    Csv,
    /// One JSON object a line
    Jsonl,
    /// Arrow IPC, file or stream
    Arrow,
    /// Parquet file
    Parquet,
    /// NumPy array
    Npy,
    /// NumPy arrays in a zip file
    Npz,
}

impl ImportFormat {
    /// The format that the ending of a file's name tells.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        Some(match super::write::ending(path).as_str() {
            "csv" | "tsv" => Self::Csv,
            "jsonl" | "ndjson" => Self::Jsonl,
            "arrow" | "arrows" | "feather" | "ipc" => Self::Arrow,
            "parquet" => Self::Parquet,
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            _ => return None,
        })
    }

    /// Whether it is text, whose types are told by the values.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Jsonl)
    }
}

/// One ASCII character.
fn parse_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n') => Ok(*byte),
        _ => Err("give one ASCII character, or `tab`".into()),
    }
}
