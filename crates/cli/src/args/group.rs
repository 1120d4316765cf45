//! Arguments of `smalti group`.

use super::MetaArgs;
use super::time::{TIME, parse_time};
use clap::{Args, Subcommand, ValueEnum};
use smalti_tools::When;

/// Arguments of `smalti group`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GroupArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: GroupAction,
}

/// What to do with a group.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum GroupAction {
    /// Create a group without members
    Create {
        /// Path or URI of the new group
        group: String,
    },
    /// Add arrays and groups as members
    Add(GroupAddArgs),
    /// Take members off the list; what they point to stays as it is
    Remove {
        /// Path or URI of the group
        group: String,
        /// Names of members, or URIs as they are listed
        #[arg(required = true)]
        members: Vec<String>,
        /// Time of the change, as for `smalti write --at` [default: now]
        #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
        at: Option<When>,
    },
    /// List members
    List(GroupListArgs),
    /// Read and change the metadata of a group, as `smalti meta`
    Meta(MetaArgs),
    /// Delete a group: its list and metadata, and its folder unless something else is in it
    Delete {
        /// Path or URI of the group
        group: String,
        /// Delete also the members in the group's folder, and theirs; never what is outside, nor through symbolic links
        #[arg(long, short)]
        recursive: bool,
    },
}

/// Arguments of `smalti group add`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GroupAddArgs {
    /// Path or URI of the group
    pub(crate) group: String,
    /// Paths or URIs of arrays and groups. What is in the group's folder is listed relative to it, so that the group can be
    /// moved; anything else by its absolute URI
    #[arg(required = true)]
    pub(crate) members: Vec<String>,
    /// Name in the group, for a single member [default: the last part of its path or URI]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The members' paths count from the group's folder, not from the working directory
    #[arg(long)]
    pub(crate) relative: bool,
    /// What the members are, so that nobody looks: for what is not there yet, or cannot be reached from here
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<Kind>,
    /// Take the place of members of the same name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Time of the change, as for `smalti write --at` [default: now]
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) at: Option<When>,
}

/// What a member is.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// An array.
    Array,
    /// A group.
    Group,
}

/// Arguments of `smalti group list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GroupListArgs {
    /// Path or URI of the group
    pub(crate) group: String,
    /// List also the members of groups in the group's folder, as a tree
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// With --recursive, also those of groups outside the folder: for lists that you trust
    #[arg(long, requires = "recursive")]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) times: super::OpenTimes,
}
