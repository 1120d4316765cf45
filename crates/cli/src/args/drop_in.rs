//! Arguments of `smalti drop-in`.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `smalti drop-in`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DropInArgs {
    /// Path of the environment, as `python -m venv` makes it, with TileDB-Py installed
    #[arg(value_name = "VENV")]
    pub(crate) environment: PathBuf,
    /// Our libtiledb; the environment keeps a link to it [default: ../lib/libtiledb.so.2.30 beside the program]
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,
    /// Copy the environment here first, and change the copy alone
    #[arg(long, value_name = "DIR")]
    pub(crate) copy: Option<PathBuf>,
    /// Put the original library back
    #[arg(long, conflicts_with_all = ["library", "copy"])]
    pub(crate) undo: bool,
}
