//! Arguments of `smalti consolidate`, `smalti vacuum`, `smalti manifest` and `smalti fragments`.

use super::OpenTimes;
use super::global::parse_byte_len;
use clap::{Args, Subcommand, ValueEnum};
use std::time::Duration;

/// Arguments of `smalti consolidate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConsolidateArgs {
    /// Path or URI of the array; of the group for `--mode group_meta`
    pub(crate) array: String,
    /// What to merge
    #[arg(long, value_name = "MODE", default_value = "fragments")]
    pub(crate) mode: UpkeepMode,
    /// Change nothing; say what would be merged, read and written
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) fragments: FragmentArgs,
}

/// Which fragments are merged, and how. Without any of these: so that each fragment is larger than all newer ones
/// together by a factor, and small arrays have one.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fragments")]
pub(crate) struct FragmentArgs {
    /// Merge this fragment with others that are named; repeat
    #[arg(long, value_name = "NAME", conflicts_with_all = ["steps", "min_fragments", "max_fragments", "size_ratio"])]
    pub(crate) fragment: Vec<String>,
    /// Leave out deleted cells and dropped attributes; earlier times cannot be read any more then
    #[arg(long)]
    pub(crate) purge: bool,
    /// Choose and merge as libtiledb does, at most so often
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u32>,
    /// As libtiledb does, with at least so many fragments a step
    #[arg(long, value_name = "N")]
    pub(crate) min_fragments: Option<u32>,
    /// As libtiledb does, with at most so many fragments a step
    #[arg(long, value_name = "N")]
    pub(crate) max_fragments: Option<u32>,
    /// Without steps: merge an older fragment unless it is so many times larger than all newer ones [default: 4]. With
    /// steps: neighbours of a step are at most so much smaller, from 0 to 1 [default: 0]
    #[arg(long, value_name = "R")]
    pub(crate) size_ratio: Option<f64>,
    /// Dense arrays: the most cells that are written for each cell that is merged [default: 2, with steps 1]
    #[arg(long, value_name = "A")]
    pub(crate) amplification: Option<f64>,
    /// Begin another fragment when one has so many bytes (sparse arrays)
    #[arg(long, value_name = "SIZE", value_parser = parse_byte_len)]
    pub(crate) max_fragment_size: Option<u64>,
    /// Do not read what was merged back, and compare it with what it was made of, before it is published
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Only what was written in these times
    #[command(flatten)]
    pub(crate) times: OpenTimes,
}

/// Arguments of `smalti vacuum`.
#[derive(Debug, Clone, Args)]
pub(crate) struct VacuumArgs {
    /// Path or URI of the array; of the group for `--mode group_meta`
    pub(crate) array: String,
    /// What to remove
    #[arg(long, value_name = "MODE", default_value = "fragments")]
    pub(crate) mode: UpkeepMode,
    /// Remove nothing; say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Fragments: remove them although programs on this machine have the array open, whose reads will fail
    #[arg(long)]
    pub(crate) ignore_readers: bool,
    /// Fragments, where nothing can be locked, as in object stores: how long a read may take. So long files stay after the vacuum that
    /// hides them for good, and the next one removes them: 90s, 30min, 1h, 2d
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    pub(crate) keep_for: Duration,
    /// Fragments: only what was replaced by fragments of these times
    #[command(flatten)]
    pub(crate) times: OpenTimes,
}

/// Arguments of `smalti manifest`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManifestArgs {
    /// Path or URI of the array or group; that of a group names the files of the members in its folder too
    pub(crate) array: String,
    /// Remove the manifest
    #[arg(long)]
    pub(crate) remove: bool,
}

/// Arguments of `smalti fragments`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FragmentsArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    /// The rectangles around the cells of each data tile too (sparse fragments)
    #[arg(long)]
    pub(crate) mbrs: bool,
    /// List what was replaced by consolidation, which `smalti vacuum` would remove, instead
    #[arg(long, conflicts_with = "mbrs")]
    pub(crate) to_vacuum: bool,
    #[command(flatten)]
    pub(crate) times: OpenTimes,
    /// Without an action the fragments are listed
    #[command(subcommand)]
    pub(crate) action: Option<FragmentsAction>,
}

/// What to do with fragments.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FragmentsAction {
    /// Delete fragments with their cells, and what they were merged of
    Delete {
        /// Their names; or choose by time with --since and --at
        #[arg(required_unless_present_any = ["since", "at"], conflicts_with_all = ["since", "at"])]
        names: Vec<String>,
        /// Those that lie wholly in a range of times
        #[command(flatten)]
        times: OpenTimes,
        /// Delete nothing; say what would be deleted
        #[arg(long)]
        dry_run: bool,
        /// Delete them although programs on this machine have the array open, whose reads will fail
        #[arg(long)]
        ignore_readers: bool,
    },
    /// Copy fragments to another array with the same schema
    Copy {
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
        /// Path or URI of the other array
        #[arg(long, value_name = "ARRAY")]
        to: String,
    },
}

/// What consolidation and vacuum are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum UpkeepMode {
    /// The cells
    Fragments,
    /// The footers of fragments, all in one file
    FragmentMeta,
    /// The commits, all in one file
    Commits,
    /// The metadata of the array
    ArrayMeta,
    /// The metadata of a group
    GroupMeta,
}

/// A length of time, in whole units.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let seconds = match text[digits.len()..].trim() {
        "s" => 1,
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "" if digits == "0" => 1,
        unit => return Err(format!("unknown unit {unit:?}; use s, min, h or d")),
    };
    let number: u64 = digits.parse().map_err(|_| "write it like 90s, 30min, 1h or 2d".to_string())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "out of range".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("2 d"), Ok(Duration::from_secs(172_800)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert!(parse_duration("90").unwrap_err().contains("min"));
        assert!(parse_duration("h").is_err() && parse_duration("99999999999999999999d").is_err());
    }
}
