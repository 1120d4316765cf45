//! Pages of documentation that are made from the tables of the format.

use crate::Outcome;
use crate::process::run;
use crate::workspace::{Workspace, cargo};
use std::process::Command;

/// Where the pages of the format are, from the root of the workspace.
const FORMAT_PAGES: &str = "docs/format";

/// Writes the pages anew.
pub(crate) fn write_pages(workspace: &Workspace) -> Outcome {
    let mut pages = Command::new(cargo());
    pages.args(["run", "--release", "--locked", "--package", "smalti-format", "--example", "format_pages"]);
    run(pages.args(["--", FORMAT_PAGES]).current_dir(&workspace.root))
}
