//! The headers declare what the library exports, compile as C and as C++, and a program in C that includes them runs.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

// The library itself is built beside this test.
use tiledb as _;

const SYMBOLS: &str = include_str!("symbols.txt");

/// Every header, in the order of its name.
const HEADERS: [&str; 8] = [
    "tiledb.h",
    "tiledb_dimension_label_experimental.h",
    "tiledb_enum.h",
    "tiledb_experimental.h",
    "tiledb_export.h",
    "tiledb_serialization.h",
    "tiledb_types.h",
    "tiledb_version.h",
];

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn include() -> PathBuf {
    package().join("include")
}

fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let places = [folder.join("libtiledb.so"), folder.with_file_name("libtiledb.so")];
    places.into_iter().find(|place| place.exists()).expect("cargo builds the library with its tests")
}

/// The text of a header without its comments and the lines of the preprocessor.
fn declarations(header: &str) -> String {
    let text = fs::read_to_string(include().join("tiledb").join(header)).unwrap();
    let mut kept = String::new();
    for (idx, piece) in text.split("/*").enumerate() {
        kept.push_str(if idx == 0 { piece } else { piece.split_once("*/").expect("a comment ends").1 });
    }
    kept.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

/// What a statement declares for export: the last word before the arguments, or before its end.
fn declared_name(statement: &str) -> Option<&str> {
    let start = ["TILEDB_EXPORT ", "TILEDB_DEPRECATED_EXPORT "];
    let found = start.iter().find_map(|word| statement.split_once(word))?.1;
    found.split('(').next()?.split(|c: char| c.is_whitespace() || c == '*').rfind(|word| !word.is_empty())
}

/// Whether a compiler for C++ is there; for C one is needed anyway.
fn has_cxx() -> bool {
    Command::new("c++").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn assert_went_well(output: &Output, what: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {told}{}", String::from_utf8_lossy(&output.stdout));
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

/// Compiles a program of the folder `programs` with our headers and library, and checks what it prints.
fn check_program(name: &str, compilers: &[(&str, &str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let libraries = folder.path().join("lib");
    fs::create_dir(&libraries).unwrap();
    fs::hard_link(library(), libraries.join("libtiledb.so"))
        .or_else(|_| fs::copy(library(), libraries.join("libtiledb.so")).map(|_| ()))
        .unwrap();
    fs::hard_link(libraries.join("libtiledb.so"), libraries.join("libtiledb.so.2.30")).unwrap();
    let source = package().join("tests").join("programs").join(name);
    let expected = fs::read_to_string(source.with_extension("expected")).unwrap();
    for (compiler, language, standard) in compilers {
        if *language == "c++" && !has_cxx() {
            continue;
        }
        let program = folder.path().join(format!("program-{language}"));
        let output = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", standard, "-x", language, "-I"])
            .arg(include())
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(&libraries)
            .arg("-ltiledb")
            .output()
            .unwrap();
        assert_went_well(&output, compiler);
        let arrays = folder.path().join(format!("arrays-{language}"));
        fs::create_dir(&arrays).unwrap();
        let output = Command::new(&program).arg(&arrays).env("LD_LIBRARY_PATH", &libraries).output().unwrap();
        assert_went_well(&output, "the program");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}

const C: (&str, &str, &str) = ("cc", "c", "-std=c99");
const CXX: (&str, &str, &str) = ("c++", "c++", "-std=c++17");

#[test]
fn a_program_in_c_makes_writes_and_reads_arrays() {
    check_program("arrays.c", &[C, CXX]);
}

#[test]
fn what_exceptions_of_callbacks_say_is_what_the_call_reports() {
    check_program("throws.cc", &[CXX]);
}
