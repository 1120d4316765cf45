//! Arrays written by releases of libtiledb, read as their `expected.json` says.

pub mod archive;
mod metadata;
mod reads;

pub use archive::Archive;
use serde_json::Value;
use std::path::Path;

/// What a case needs that is not there yet; the case, or the read, waits by name.
fn waits_for(expected: &Value) -> Option<&'static str> {
    let operations = expected["operations"].as_array().map_or(&[][..], Vec::as_slice);
    let has = |name: &str| {
        operations.iter().any(|operation| operation["op"].as_str().is_some_and(|op| op.contains(name)))
    };
    if expected.get("group").is_some() {
        Some("groups")
    } else if has("delete_cells") || has("delete_where") || expected["case"].as_str()?.starts_with("deletes")
    {
        Some("delete conditions")
    } else if expected["case"].as_str()?.starts_with("labels") {
        Some("dimension labels")
    } else {
        None
    }
}

/// Cases of a version that are read in full, and those that wait.
struct Tally {
    passed: usize,
    waiting: Vec<String>,
    failed: Vec<String>,
}

fn walk(version: u32) -> Tally {
    let archive = Archive::unpack(version);
    let mut tally = Tally { passed: 0, waiting: Vec::new(), failed: Vec::new() };
    for case in archive.cases() {
        match check(&case) {
            Ok(None) => tally.passed += 1,
            Ok(Some(reason)) => tally.waiting.push(format!("{}: {reason}", name(&case))),
            Err(message) => tally.failed.push(format!("{}: {message}", name(&case))),
        }
    }
    tally
}

fn name(case: &Path) -> String {
    case.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn check(case: &Path) -> Result<Option<&'static str>, String> {
    let text = std::fs::read_to_string(case.join("expected.json")).map_err(|error| error.to_string())?;
    let expected: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if let Some(reason) = waits_for(&expected) {
        return Ok(Some(reason));
    }
    metadata::check(&case.join("array"), &expected)?;
    reads::check(&case.join("array"), &expected)
}

#[test]
fn arrays_of_version_22_read_as_expected() {
    let tally = walk(22);
    println!("{} cases pass, {} wait", tally.passed, tally.waiting.len());
    for waiting in &tally.waiting {
        println!("  waits for {waiting}");
    }
    assert!(tally.failed.is_empty(), "{} cases fail:\n{}", tally.failed.len(), tally.failed.join("\n"));
    assert!(tally.passed >= 100, "only {} cases were read", tally.passed);
}
