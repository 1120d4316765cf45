//! The commands.

use super::time::{TIME, parse_time};
use super::verb::command_of;
use super::{
    ConsolidateArgs, DiffArgs, DigestArgs, DrawArgs, DropInArgs, FragmentsArgs, FsckArgs, Global, GroupArgs,
    ImportArgs, LsArgs, ManifestArgs, MvArgs, OpenTimes, ReadArgs, RepairArgs, RmArgs, SalvageArgs,
    VacuumArgs, WriteArgs,
};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use smalti_tools::When;
use smalti_tools::ranges::RangeOptions;
use std::ffi::OsString;
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
pub(crate) struct CommandLine<C: Subcommand> {
    #[command(flatten, next_help_heading = GLOBAL_HEADING)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: C,
}

/// What a command line says.
pub(crate) type Cli = CommandLine<Command>;

/// Makes the enumeration of all commands, and the grammar of each alone, from one list.
macro_rules! commands {
    ($($(#[$about:meta])* $name:literal => $command:ident($args:ty),)*) => {
        /// What to do.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $(
                $(#[$about])*
                #[command(name = $name)]
                $command($args),
            )*
        }

        impl Command {
            /// The grammar of a command, without those of the others and without a word on what it is for; `None` where there is
            /// no command of the name.
            fn alone(name: &str) -> Option<clap::Command> {
                match name {
                    $($name => Some(<$args>::augment_args(clap::Command::new($name))),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    /// Store real data, query it, draw it: the tour
    "demo" => Demo(DemoArgs),
    /// Create an array from a schema
    "create" => Create(CreateArgs),
    /// Make an array from files, or append them to it: csv, jsonl, parquet, arrow, npy, npz
    "import" => Import(Box<ImportArgs>),
    /// Print the schema of an array
    "schema" => Schema(ArrayArgs),
    /// Print what an array or group is: kind, domain, fragments, cells, bytes; members
    "info" => Info(ArrayArgs),
    /// Describe an array or group on one page: fields, ranges, metadata, fragments, sizes, first and last change
    "describe" => Describe(ArrayArgs),
    /// Print what happened to an array or group, a line a change, newest first
    "history" => History(HistoryArgs),
    /// List the fragments of an array; delete some, copy some to another array
    "fragments" => Fragments(FragmentsArgs),
    /// Write cells from a file
    "write" => Write(WriteArgs),
    /// Read cells
    "read" => Read(ReadArgs),
    /// Say what a read will give, and divide it into splits for other processes
    "scan" => Scan(ScanArgs),
    /// Draw a slice, points or lines: as a file, or in the terminal
    "draw" => Draw(DrawArgs),
    /// Compute count, sum, min, max, mean and null_count of cells
    "aggregate" => Aggregate(AggregateArgs),
    /// Read and change the metadata of an array or group
    "meta" => Meta(MetaArgs),
    /// Change the schema: attributes, enumerations, current domain
    "evolve" => Evolve(EvolveArgs),
    /// Rewrite the schema in a newer format version
    "upgrade" => Upgrade(UpgradeArgs),
    /// Print any file of an array field by field
    "inspect" => Inspect(InspectArgs),
    /// Delete the cells that fulfil a condition
    "delete" => Delete(DeleteArgs),
    /// Merge fragments, their metadata, commits or array metadata
    "consolidate" => Consolidate(ConsolidateArgs),
    /// Remove what consolidation replaced
    "vacuum" => Vacuum(VacuumArgs),
    /// Write the list of an array's files beside it, for readers over HTTP from servers that list no folders
    "manifest" => Manifest(ManifestArgs),
    /// Make, list, change and delete groups of arrays
    "group" => Group(GroupArgs),
    /// List the arrays and groups in a folder
    "ls" => Ls(LsArgs),
    /// Move or rename an array or group
    "mv" => Mv(MvArgs),
    /// Remove an array or group
    "rm" => Rm(RmArgs),
    /// Say how a read would be carried out
    "explain" => Explain(ExplainArgs),
    /// Check an array or group, and say what is wrong with it
    "fsck" => Fsck(FsckArgs),
    /// Mend an array or group as far as that is provable; nothing is deleted
    "repair" => Repair(RepairArgs),
    /// Read all of a damaged array that can be read into a new one, or a file
    "salvage" => Salvage(SalvageArgs),
    /// Print one number for what an array says, however it is stored
    "digest" => Digest(DigestArgs),
    /// Print the cells in which two arrays, or two times of one, differ
    "diff" => Diff(DiffArgs),
    /// Print the settings of object stores and the network that are in force
    "config" => Config(ConfigArgs),
    /// Let the packages of a Python environment run on our libtiledb, and check that they do; the way back
    "drop-in" => DropIn(DropInArgs),
    /// Print the script that completes commands and options in a shell
    "completions" => Completions(CompletionsArgs),
    /// Write the manual as files: man pages, or the pages of docs/commands
    "man" => Man(ManArgs),
}

impl Cli {
    /// The grammar of a command line, the program first: the options of every command, and the command that the line names, if there is one of
    /// that name. It makes of the line what the grammar of all commands does, and is made in a fraction of the time.
    pub(super) fn grammar_of(words: &[OsString]) -> clap::Command {
        let options = CommandLine::<()>::command();
        match command_of(&options, words).and_then(Command::alone) {
            Some(command) => options.subcommand(command),
            None => options,
        }
    }
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
    fn a_command_alone_is_parsed_as_among_all() {
        let mut names = std::collections::BTreeSet::new();
        for line in crate::manual::plain_lines() {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let parse = |grammar| super::super::parsed(grammar, &words);
            let alone = parse(Cli::grammar_of(&words));
            let among_all = parse(Cli::command());
            match (alone, among_all) {
                (Ok(alone), Ok(among_all)) => {
                    assert_eq!(format!("{alone:?}"), format!("{among_all:?}"), "{line}")
                }
                (alone, among_all) => panic!("{line}: {alone:?}, {among_all:?}"),
            }
            names.insert(words[1].clone());
        }
        assert!(names.len() > 20, "{names:?}");
    }

    #[test]
    fn every_command_has_a_grammar_of_its_own() {
        for command in Cli::command().get_subcommands() {
            let alone = Command::alone(command.get_name()).unwrap();
            let arguments = |command: &clap::Command| {
                command.get_arguments().map(|arg| format!("{arg:?}")).collect::<Vec<_>>()
            };
            assert_eq!(arguments(&alone), arguments(command), "{}", command.get_name());
        }
        assert!(Command::alone("unknown").is_none());
    }

    #[test]
    fn the_version_is_told_of_a_command_alone_and_among_all() {
        for line in ["smalti --version", "smalti -V", "smalti read --version", "smalti --json group list -V"]
        {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let told = |grammar: clap::Command| grammar.try_get_matches_from(&words).unwrap_err().to_string();
            assert_eq!(told(Cli::grammar_of(&words)), told(Cli::command()), "{line}");
        }
    }

    #[test]
    fn wrong_usage_is_told_from_help() {
        assert!(Cli::try_parse_from(["smalti", "read"]).unwrap_err().use_stderr());
        assert!(!Cli::try_parse_from(["smalti", "--help"]).unwrap_err().use_stderr());
    }
}
