//! Arguments of `smalti import`, and of `smalti create --from`.

use super::time::{TIME, parse_time};
use clap::Args;
use smalti_tools::When;
use smalti_tools::import::TableOptions;
use std::path::PathBuf;

/// Arguments of `smalti import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportArgs {
    /// Files of one table or of one dense array: csv, jsonl, parquet, arrow, npy or npz
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Path or URI of the array; it is made unless it is there, and appended to if it is
    pub(crate) array: String,
    #[command(flatten)]
    pub(crate) table: TableOptions,
    /// Print the schema as JSON, and on standard error the reason for each choice; nothing is made or written
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Time of the write: 2024-05-01 (its start), 2024-05-01T14:00+02:00, -1h, or milliseconds since 1970 [default: now]
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
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
