//! Pages of documentation that are made from the tables of the format and from the description of the command line.

use crate::Outcome;
use crate::process::run;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

/// Where the pages of the format are, from the root of the workspace.
const FORMAT_PAGES: &str = "docs/format";

/// Where the pages of the commands are.
const COMMAND_PAGES: &str = "docs/commands";

/// Writes the pages anew.
pub(crate) fn write_pages(workspace: &Workspace) -> Outcome {
    let mut pages = Command::new(cargo());
    pages.args(["run", "--release", "--locked", "--package", "smalti-format", "--example", "format_pages"]);
    run(pages.args(["--", FORMAT_PAGES]).current_dir(&workspace.root))?;
    let mut pages = Command::new(cargo());
    pages.args(["run", "--release", "--locked", "--package", "smalti-cli", "--"]);
    run(pages.args(["man", COMMAND_PAGES, "--format", "markdown"]).current_dir(&workspace.root))
}
