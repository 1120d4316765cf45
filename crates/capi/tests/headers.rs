//! The headers declare what the library exports, and compile as C and as C++.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

// The library itself is built beside this test.
use tiledb as _;

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use common::{HEADERS, SYMBOLS, assert_went_well, declarations, exported, has_cxx, include};

/// What a statement declares for export: the last word before the arguments, or before its end.
fn declared_name(statement: &str) -> Option<&str> {
    let found = exported(statement)?;
    found.split('(').next()?.split(|c: char| c.is_whitespace() || c == '*').rfind(|word| !word.is_empty())
}

fn checked(compiler: &str, language: &str, standard: &str, source: &Path) {
    let output = Command::new(compiler)
        .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic", "-x", language, standard, "-I"])
        .arg(include())
        .arg(source)
        .output()
        .unwrap();
    assert_went_well(&output, &format!("{compiler} {standard} {}", source.display()));
}

#[test]
fn each_symbol_is_declared_once_and_nothing_else_is() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for header in HEADERS {
        let text = declarations(header);
        for name in text.split(';').filter_map(declared_name) {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    let twice: Vec<_> = counts.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(counts.into_keys().collect::<Vec<_>>(), SYMBOLS.lines().collect::<Vec<_>>());
}

#[test]
fn the_folder_holds_the_headers_that_are_checked() {
    let listing = fs::read_dir(include().join("tiledb")).unwrap();
    let mut names: Vec<_> = listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, HEADERS);
}

#[test]
fn each_header_compiles_alone_and_after_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let line = |header: &str| format!("#include <tiledb/{header}>\n");
    let alone = HEADERS.map(|header| (header.replace('.', "_"), line(header)));
    let backwards: String = HEADERS.iter().rev().map(|header| line(header)).collect();
    for (name, text) in alone.into_iter().chain([("backwards".to_owned(), backwards)]) {
        let source = folder.path().join(name);
        fs::write(&source, format!("{text}typedef int something;\n")).unwrap();
        checked("cc", "c", "-std=c99", &source);
        if has_cxx() {
            checked("c++", "c++", "-std=c++17", &source);
        }
    }
}
