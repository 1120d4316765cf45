//! How an import goes.

use crate::when::When;
use std::path::Path;

/// How an import goes.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// How the input is read as a table, and which array is made of it.
    pub table: TableOptions,
    /// The time of the write; now, if it is `None`.
    pub at: Option<When>,
    /// Labels that the enumerations of the array do not have are added; otherwise they are refused.
    pub extend_enums: bool,
    /// Each chunk is visible when it is written, instead of all at the end. For files.
    pub as_it_goes: bool,
    /// An import as it goes that stopped goes on. For files.
    pub resume: bool,
}

/// How files are read as a table, and which array is made of it.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct TableOptions {
    /// Format of the files [default: by their endings]
    #[cfg_attr(feature = "clap", arg(long))]
    pub format: Option<Format>,
    /// Columns that become the dimensions, in this order; of npy and npz files the names of the axes
    #[cfg_attr(feature = "clap", arg(long, value_name = "A,B", value_delimiter = ','))]
    pub dims: Vec<String>,
    /// Number the rows instead, with a dimension `row`
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "dims"))]
    pub index: bool,
    /// Make a dense array [default for npy and npz]
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "sparse"))]
    pub dense: bool,
    /// Make a sparse array [default for tables]
    #[cfg_attr(feature = "clap", arg(long))]
    pub sparse: bool,
    /// Domain of a dimension, both ends included; an end that is left out is that of the file
    #[cfg_attr(feature = "clap", arg(long, value_name = "D=LO:HI"))]
    pub domain: Vec<String>,
    /// Tile extent of a dimension
    #[cfg_attr(feature = "clap", arg(long, value_name = "D=N"))]
    pub tile: Vec<String>,
    /// Cells in a data tile of a sparse array
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..)))]
    pub capacity: Option<u64>,
    /// Columns of strings whose values become the labels of an enumeration
    #[cfg_attr(feature = "clap", arg(long = "enum", value_name = "A,B", value_delimiter = ','))]
    pub enumerate: Vec<String>,
    /// Another name for a column; the other options take the new name
    #[cfg_attr(feature = "clap", arg(long, value_name = "A=B"))]
    pub rename: Vec<String>,
    /// The columns to take [default: all]
    #[cfg_attr(feature = "clap", arg(long, value_name = "A,B", value_delimiter = ','))]
    pub columns: Vec<String>,
    /// Allow several cells of the same coordinates
    #[cfg_attr(feature = "clap", arg(long))]
    pub allow_dups: bool,
    /// Character between the values of csv; `tab` for tabulators
    #[cfg_attr(feature = "clap", arg(long, value_name = "CHAR", value_parser = parse_byte))]
    pub delimiter: Option<u8>,
    /// Character around values of csv that hold delimiters
    #[cfg_attr(feature = "clap", arg(long, value_name = "CHAR", value_parser = parse_byte))]
    pub quote: Option<u8>,
    /// Texts that mean null in csv, beside empty values
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT,TEXT", value_delimiter = ','))]
    pub na: Vec<String>,
    /// The first line of csv holds values, not names; the columns are column_1, column_2, ...
    #[cfg_attr(feature = "clap", arg(long))]
    pub no_header: bool,
    /// Zone of the times in csv and jsonl that name none, such as Europe/Paris or +02:00; they are stored as UTC [default: UTC]
    #[cfg_attr(feature = "clap", arg(long, value_name = "ZONE"))]
    pub time_zone: Option<String>,
}

/// The format of a file that is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
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

impl Format {
    /// The format that the ending of a file's name tells.
    pub fn of_path(path: &Path) -> Option<Self> {
        Some(match crate::formats::ending(path).as_str() {
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
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Jsonl)
    }
}

/// One ASCII character.
#[cfg(feature = "clap")]
fn parse_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n') => Ok(*byte),
        _ => Err("give one ASCII character, or `tab`".into()),
    }
}
