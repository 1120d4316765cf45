//! `docs/versions.md`: what passes in each version, written from the run and compared with it.

use super::tally::{Outcome, of_version};
use std::fmt::Write;
use std::path::PathBuf;

/// Kinds of cases by the start of their name, without `synth_` and `handmade_`; the first that fits.
const KINDS: &[(&str, &[&str])] = &[
    ("dense", &["dense", "empty_array_dense"]),
    ("sparse", &["sparse", "empty_array_sparse"]),
    ("filters and chunks", &["filter", "chunks", "big"]),
    ("encryption", &["encrypted"]),
    ("names", &["special"]),
    ("metadata", &["metadata"]),
    ("consolidation, commits", &["consolidated", "commits"]),
    ("optional sections", &["no_section", "unknown_section"]),
    ("evolution", &["evolution"]),
    ("enumerations", &["enumerations"]),
    ("current domain", &["current"]),
    ("deletes", &["deletes"]),
    ("labels", &["dimension_labels"]),
    ("groups", &["group"]),
];

fn kind(case: &str) -> &'static str {
    let name = case.strip_prefix("synth_").unwrap_or(case);
    let name = name.strip_prefix("handmade_").unwrap_or(name);
    let found = KINDS.iter().find(|(_, starts)| starts.iter().any(|start| name.starts_with(start)));
    found.unwrap_or_else(|| panic!("{case} is of no kind; add it to KINDS")).0
}

fn page() -> String {
    let mut page = String::from(
        "# Format versions\n\n\
         What smalti reads of the arrays in `tests/fixtures/corpus`, which releases of libtiledb wrote: per version and kind\n\
         of case how many cases give exactly the expected contents in every read: all of them.\n\n\
         Written by the integration tests when `SMALTI_UPDATE_DOCS=1` is set, and compared with the run by every other.\n\n",
    );
    let _ = writeln!(page, "| version |{}", columns(|kind| format!(" {kind} |")));
    let _ = writeln!(page, "|-|{}", columns(|_| "-|".to_owned()));
    for version in 1..=23 {
        let outcomes = of_version(version);
        let cells = columns(|kind| format!("{} |", cell(outcomes, kind)));
        let _ = writeln!(page, "| {version} |{cells}");
    }
    page.push_str("\nThe development version 4294967295 is refused as unsupported.\n");
    page
}

fn columns(column: impl Fn(&'static str) -> String) -> String {
    KINDS.iter().map(|(kind, _)| column(kind)).collect()
}

fn cell(outcomes: &[Outcome], of: &str) -> String {
    let of_kind = outcomes.iter().filter(|outcome| kind(&outcome.name) == of);
    match of_kind.filter(|outcome| outcome.result.is_ok()).count() {
        0 => String::new(),
        passed => format!(" {passed}"),
    }
}

#[test]
fn the_page_of_versions_is_as_the_run() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/versions.md");
    let page = page();
    if std::env::var_os("SMALTI_UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        stored == page,
        "docs/versions.md is stale; run the integration tests with SMALTI_UPDATE_DOCS=1\n{page}"
    );
}
