//! The commands.

use super::time::{TIME, parse_time};
use super::{
    ConsolidateArgs, DiffArgs, DigestArgs, DrawArgs, DropInArgs, FragmentsArgs, FsckArgs, Global, GroupArgs,
    ImportArgs, LsArgs, ManifestArgs, MvArgs, OpenTimes, ReadArgs, RepairArgs, RmArgs, SalvageArgs,
    VacuumArgs, WriteArgs,
};
use clap::{Args, Parser, Subcommand, ValueEnum};
use smalti_tools::When;
use smalti_tools::ranges::RangeOptions;
use std::path::PathBuf;

/// The heading over the options that every command takes.
pub(crate) const GLOBAL_HEADING: &str = "Options of every command";

/// Dense and sparse arrays in the TileDB format
#[derive(Debug, Parser)]
#[command(
    name = "smalti",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub(crate) struct Cli {
    #[command(flatten, next_help_heading = GLOBAL_HEADING)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Store real data, query it, draw it: the tour
    Demo(DemoArgs),
    /// Create an array from a schema
    Create(CreateArgs),
    /// Make an array from files, or append them to it: csv, jsonl, parquet, arrow, npy, npz
    Import(Box<ImportArgs>),
    /// Print the schema of an array
    Schema(ArrayArgs),
    /// Print what an array or group is: kind, domain, fragments, cells, bytes; members
    Info(ArrayArgs),
    /// Describe an array or group on one page: fields, ranges, metadata, fragments, sizes, first and last change
    Describe(ArrayArgs),
    /// Print what happened to an array or group, a line a change, newest first
    History(HistoryArgs),
    /// List the fragments of an array; delete some, copy some to another array
    Fragments(FragmentsArgs),
    /// Write cells from a file
    Write(WriteArgs),
    /// Read cells
    Read(ReadArgs),
    /// Say what a read will give, and divide it into splits for other processes
    Scan(ScanArgs),
    /// Draw a slice, points or lines: as a file, or in the terminal
    Draw(DrawArgs),
    /// Compute count, sum, min, max, mean and null_count of cells
    Aggregate(AggregateArgs),
    /// Read and change the metadata of an array or group
    Meta(MetaArgs),
    /// Change the schema: attributes, enumerations, current domain
    Evolve(EvolveArgs),
    /// Rewrite the schema in a newer format version
    Upgrade(UpgradeArgs),
    /// Print any file of an array field by field
    Inspect(InspectArgs),
    /// Delete the cells that fulfil a condition
    Delete(DeleteArgs),
    /// Merge fragments, their metadata, commits or array metadata
    Consolidate(ConsolidateArgs),
    /// Remove what consolidation replaced
    Vacuum(VacuumArgs),
    /// Write the list of an array's files beside it, for readers over HTTP from servers that list no folders
    Manifest(ManifestArgs),
    /// Make, list, change and delete groups of arrays
    Group(GroupArgs),
    /// List the arrays and groups in a folder
    Ls(LsArgs),
    /// Move or rename an array or group
    Mv(MvArgs),
    /// Remove an array or group
    Rm(RmArgs),
    /// Say how a read would be carried out
    Explain(ExplainArgs),
    /// Check an array or group, and say what is wrong with it
    Fsck(FsckArgs),
    /// Mend an array or group as far as that is provable; nothing is deleted
    Repair(RepairArgs),
    /// Read all of a damaged array that can be read into a new one, or a file
    Salvage(SalvageArgs),
    /// Print one number for what an array says, however it is stored
    Digest(DigestArgs),
    /// Print the cells in which two arrays, or two times of one, differ
    Diff(DiffArgs),
    /// Print the settings of object stores and the network that are in force
    Config(ConfigArgs),
    /// Let the packages of a Python environment run on our libtiledb, and check that they do; the way back
    DropIn(DropInArgs),
    /// Print the script that completes commands and options in a shell
    Completions(CompletionsArgs),
    /// Write the manual as files: man pages, or the pages of docs/commands
    Man(ManArgs),
}

/// Arguments of `smalti demo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Folder for the arrays and pictures; what an earlier demo left there is replaced
    #[arg(long, value_name = "DIR", default_value = "demo-output")]
    pub(crate) dir: PathBuf,
    /// Put the arrays here, such as s3://bucket/tour; pictures stay in the folder. Arrays of an earlier demo there are replaced
    #[arg(long, value_name = "URI")]
    pub(crate) to: Option<String>,
    /// Write the data of the tour and of the guides as files, CSV and NPY, into this folder, and nothing else
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dir", "to"])]
    pub(crate) data: Option<PathBuf>,
}

/// Arguments of `smalti create`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CreateArgs {
    /// Path or URI of the new array
    pub(crate) array: String,
    /// File with the schema as `smalti schema --json` prints it; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub(crate) schema: Option<PathBuf>,
    /// File whose columns make the schema, as `smalti import` reads it; nothing of it is written
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: Box<smalti_tools::import::TableOptions>,
    /// Format version to write, 12 to 23, for readers older than the default [default: what the file says, or 22]
    #[arg(long, value_name = "N")]
    pub(crate) format_version: Option<u32>,
    /// Part of a dimension that is in use for now, instead of what the file says; `smalti evolve` makes it larger
    #[arg(long, value_name = "D=LO:HI")]
    pub(crate) current_domain: Vec<String>,
    /// Time that the array notes as that of its creation, as for `smalti read --at` [default: now]
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) at: Option<When>,
}

/// Arguments of `smalti aggregate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AggregateArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    /// What to compute: `count`, or `sum:FIELD`, `min:FIELD`, `max:FIELD`, `mean:FIELD`, `null_count:FIELD`
    #[arg(required = true, value_name = "FUNCTION[:FIELD]")]
    pub(crate) functions: Vec<String>,
    #[command(flatten)]
    pub(crate) ranges: RangeOptions,
    /// Only the cells that fulfil a condition, such as "pop > 1000000 and country == 'FR'"
    #[arg(long = "where", value_name = "EXPR")]
    pub(crate) condition: Option<String>,
    /// Give sums that leave 64 bits as the nearest bound instead of an error
    #[arg(long)]
    pub(crate) saturate: bool,
    /// Print to standard error what was opened and read: bytes, requests, rounds (requests that waited for others), tiles, cells, time
    #[arg(long)]
    pub(crate) stats: bool,
    #[command(flatten)]
    pub(crate) times: OpenTimes,
}

/// Arguments of `smalti explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainArgs {
    /// Perform the read too, and say what it did; the cells are dropped
    #[arg(long)]
    pub(crate) analyze: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// Arguments of `smalti scan`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScanArgs {
    /// Divide the read into at most this many splits, with about as many bytes each
    #[arg(long, value_name = "N", requires = "into")]
    pub(crate) splits: Option<usize>,
    /// Folder for the splits, a file each, in the order of the read; `smalti read ARRAY --split FILE` carries one out
    #[arg(long, value_name = "DIR", requires = "splits")]
    pub(crate) into: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// Arguments of `smalti delete`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeleteArgs {
    /// Path or URI of the array, a sparse one
    pub(crate) array: String,
    /// Which cells to delete, such as "pop < 1000 and country == 'FR'"
    #[arg(long = "where", value_name = "EXPR")]
    pub(crate) condition: String,
    /// Delete nothing; count the cells that would go
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Time of the delete, as for `smalti read --at`: later cells stay [default: now]
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) at: Option<When>,
}

/// Arguments of `smalti evolve`. Every option but --at may be repeated; all of them together are one change.
#[derive(Debug, Clone, Args)]
pub(crate) struct EvolveArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    /// Add an attribute, as `smalti schema --json` prints it; cells that are there get its fill value
    #[arg(long, value_name = "JSON")]
    pub(crate) add: Vec<String>,
    /// Drop an attribute; reads of earlier times still have it
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) drop: Vec<String>,
    /// Add an enumeration: a name with its labels as text, or JSON as `smalti schema --json` prints it
    #[arg(long, value_name = "NAME=A,B|JSON")]
    pub(crate) add_enumeration: Vec<String>,
    /// Append labels to an enumeration; a JSON list for labels that hold commas
    #[arg(long, value_name = "NAME=A,B")]
    pub(crate) extend_enumeration: Vec<String>,
    /// Drop an enumeration that no attribute uses any more
    #[arg(long, value_name = "NAME")]
    pub(crate) drop_enumeration: Vec<String>,
    /// Make the current domain of a dimension larger; an end that is left out stays
    #[arg(long, value_name = "D=LO:HI")]
    pub(crate) current_domain: Vec<String>,
    /// Time of the change, after that of the newest schema [default: now]
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) at: Option<When>,
}

/// Arguments of `smalti upgrade`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UpgradeArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    /// Format version to reach, newer than the array's
    #[arg(long, value_name = "N", default_value_t = 22)]
    pub(crate) format_version: u32,
    /// Time of the new schema [default: now]
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) at: Option<When>,
    /// Go on where libtiledb (not smalti) could no longer read fragments that are there
    #[arg(long)]
    pub(crate) force: bool,
}

/// An array and the time to look at it.
#[derive(Debug, Clone, Args)]
pub(crate) struct ArrayArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    #[command(flatten)]
    pub(crate) times: OpenTimes,
}

/// Arguments of `smalti history`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HistoryArgs {
    /// Path or URI of the array or group
    pub(crate) array: String,
    /// Count the cells that each delete took, which reads the fields of its condition
    #[arg(long)]
    pub(crate) count: bool,
    /// At most this many changes
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// The oldest change first
    #[arg(long, visible_alias = "reverse")]
    pub(crate) oldest_first: bool,
    #[command(flatten)]
    pub(crate) times: OpenTimes,
}

/// Arguments of `smalti meta`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MetaArgs {
    /// Path or URI of the array or group
    pub(crate) array: String,
    /// Time to open it at, or to write at: 2024-05-01, 2024-05-01T14:00+02:00, -1h, or milliseconds since 1970
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true, global = true)]
    pub(crate) at: Option<When>,
    /// Without an action all metadata is printed
    #[command(subcommand)]
    pub(crate) action: Option<MetaAction>,
}

/// What to do with metadata.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum MetaAction {
    /// Print the value of a key
    Get {
        /// The key
        key: String,
    },
    /// Set a key
    Put {
        /// The key
        key: String,
        /// The datatype, such as INT32 or STRING_UTF8; left out, it follows from the value: INT64, FLOAT64, BOOL or STRING_UTF8
        #[arg(value_name = "TYPE", allow_hyphen_values = true)]
        datatype_or_value: String,
        /// The value as JSON: a number, a string, a list, {"hex": "..."}; text may go without quotes
        #[arg(allow_hyphen_values = true)]
        value: Option<String>,
    },
    /// Remove a key
    Delete {
        /// The key
        key: String,
    },
}

/// Arguments of `smalti inspect`.
#[derive(Debug, Clone, Args)]
pub(crate) struct InspectArgs {
    /// The file, or the folder of an array, group or fragment, whose files are listed
    pub(crate) file: PathBuf,
    /// Of a folder each file in turn, with --json an object a line. Of a file every item of long lists, all of long values, and the frames of filtered tiles; with --json that is always so
    #[arg(long)]
    pub(crate) all: bool,
}

/// Arguments of `smalti config`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigArgs {
    /// Print only the settings whose names begin so, such as s3 or network.timeout
    pub(crate) prefix: Option<String>,
}

/// Arguments of `smalti completions`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `smalti man`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// Folder for the files; it is made where there is none
    pub(crate) dir: PathBuf,
    /// What to write
    #[arg(long, default_value = "man")]
    pub(crate) format: ManFormat,
}

/// How the manual is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManFormat {
    /// Man pages, one for each command, for a folder `man1`
    Man,
    /// Markdown, one page for each command, and an index
    Markdown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Cli {
        Cli::try_parse_from(line.split(' ')).unwrap()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn negative_numbers_are_values() {
        let Command::Meta(meta) = parse("smalti meta a put k INT32 -5").command else { panic!() };
        assert!(matches!(meta.action, Some(MetaAction::Put { value, .. }) if value.as_deref() == Some("-5")));
        let Command::Read(read) = parse("smalti read a --range d=-5:-1 --range e=:7 --json").command else {
            panic!()
        };
        assert_eq!(read.ranges.range, ["d=-5:-1", "e=:7"]);
    }

    #[test]
    fn wrong_usage_is_told_from_help() {
        assert!(Cli::try_parse_from(["smalti", "read"]).unwrap_err().use_stderr());
        assert!(!Cli::try_parse_from(["smalti", "--help"]).unwrap_err().use_stderr());
    }
}
