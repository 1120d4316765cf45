//! Arguments of the commands that check, mend and compare arrays.

use super::time::{TIME, parse_time};
use super::{OpenTimes, OutputFormat};
use clap::Args;
use smalti_tools::When;
use std::path::PathBuf;

/// Arguments of `smalti fsck`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FsckArgs {
    /// Path or URI of the array or group
    pub(crate) array: String,
    #[command(flatten)]
    pub(crate) check: CheckArgs,
}

/// What a check looks at.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// Read all data back too: decode tiles, compare cells with rectangles, statistics and order
    #[arg(long)]
    pub(crate) data: bool,
    /// Leave alone what no commit names as long as it is younger: somebody may be writing it
    #[arg(long, value_name = "HOURS", default_value_t = 24)]
    pub(crate) young: u64,
    /// Of a group: look at its own files alone, not at its members
    #[arg(long)]
    pub(crate) shallow: bool,
}

/// Arguments of `smalti repair`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RepairArgs {
    /// Path or URI of the array or group
    pub(crate) array: String,
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Only tell what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Set aside, too, what is damaged beyond mending, so that the rest can be read
    #[arg(long)]
    pub(crate) give_up: bool,
}

/// Arguments of `smalti salvage`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SalvageArgs {
    /// Path or URI of the damaged array
    pub(crate) array: String,
    /// A new array, or a file whose ending tells a format of `smalti read`
    #[arg(short, long, value_name = "TARGET")]
    pub(crate) output: PathBuf,
    /// Format of the file [default: by its ending; without one, a new array]
    #[arg(long)]
    pub(crate) format: Option<OutputFormat>,
    /// Leave out the cells of which a newer value may be lost; of a dense array they get fill values in a new array
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Arguments of `smalti digest`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DigestArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    #[command(flatten)]
    pub(crate) times: OpenTimes,
    /// Let the time of each cell count (sparse)
    #[arg(long)]
    pub(crate) timestamps: bool,
}

/// Arguments of `smalti diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    /// Path or URI of the first array
    pub(crate) first: String,
    /// Path or URI of the second array [default: the first, at another time]
    #[arg(required_unless_present_any = ["at_a", "at_b"])]
    pub(crate) second: Option<String>,
    /// Open the first array as it was at this time, as for `smalti read --at`
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) at_a: Option<When>,
    /// Open the second array as it was at this time, as for `smalti read --at`
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) at_b: Option<When>,
    /// Stop after this many differences
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}
