//! Arguments of `smalti ls`, `smalti mv` and `smalti rm`.

use clap::{Args, ValueEnum};

/// Arguments of `smalti ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LsArgs {
    /// Path or URI of the folder
    #[arg(default_value = ".")]
    pub(crate) folder: String,
    /// List also the arrays and groups in groups
    #[arg(long, short)]
    pub(crate) recursive: bool,
    /// With --recursive: a group before what is in it, or after
    #[arg(long, value_name = "ORDER", default_value = "pre")]
    pub(crate) order: Order,
}

/// The order of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// A group comes before what is in it.
    Pre,
    /// A group comes after what is in it.
    Post,
}

/// Arguments of `smalti mv`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MvArgs {
    /// Path or URI of the array or group
    pub(crate) from: String,
    /// Its new path or URI; nothing may be there
    pub(crate) to: String,
}

/// Arguments of `smalti rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RmArgs {
    /// Paths or URIs of arrays and groups; nothing else is removed
    #[arg(required = true)]
    pub(crate) objects: Vec<String>,
    /// Remove groups too, with all that is in their folders (`smalti group delete` is more careful)
    #[arg(long, short)]
    pub(crate) recursive: bool,
}
