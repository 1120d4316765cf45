//! The public C++ headers of libtiledb 2.30.0, which are no part of this repository, compile on top of our C headers; a program that uses each of
//! their classes prints on this library what it printed on the original.
#![forbid(unsafe_code)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

// The library itself is built beside this test.
use tiledb as _;

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use common::{CXX, Workshop, assert_went_well, include, programs};

/// The folder `tiledb/sm/cpp_api` of a checkout of libtiledb 2.30.0, or one in which `tiledb/tiledb` is.
const HEADERS: &str = "SMALTI_CXX_HEADERS";

/// Headers that do not include what they use, with libtiledb's own C headers as with ours: they are for `tiledb/tiledb` and
/// `tiledb/tiledb_experimental`, after which they are compiled.
const LEANING: [&str; 14] = [
    "array_schema_evolution.h",
    "as_built_experimental.h",
    "consolidation_plan_experimental.h",
    "current_domain.h",
    "dimension.h",
    "domain.h",
    "enumeration_experimental.h",
    "filter.h",
    "filter_list.h",
    "group.h",
    "ndrectangle.h",
    "query_condition.h",
    "query_condition_experimental.h",
    "stats.h",
];

/// The second half of `arrowio`, which includes it; nothing else can.
const HALF: &str = "arrow_io_impl.h";

/// `arrowio` includes a header that libtiledb does not install; what it takes of that are two macros.
const ASSERTIONS: &str = "#include <cassert>\n#define iassert(...) assert(__VA_ARGS__)\n#define passert(...) assert(__VA_ARGS__)\n";

/// The folder in which the C++ headers themselves are.
fn given() -> PathBuf {
    let folder =
        std::env::var_os(HEADERS).unwrap_or_else(|| panic!("{HEADERS} names the folder of the headers"));
    let folder = PathBuf::from(folder).canonicalize().unwrap();
    let below = folder.join("tiledb");
    if below.join("tiledb").is_file() { below } else { folder }
}

fn linked(from: &Path, into: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = into.join(entry.file_name());
        if entry.path().is_file() && !place.exists() {
            symlink(entry.path(), place).unwrap();
        }
    }
}

/// Lays out a folder to include from: our C headers, and beside them those of C++. Tells the names of these.
fn laid_out(folder: &Path) -> Vec<String> {
    let place = folder.join("tiledb");
    fs::create_dir_all(place.join("common")).unwrap();
    fs::write(place.join("common").join("assert.h"), ASSERTIONS).unwrap();
    linked(&include().join("tiledb"), &place);
    linked(&given(), &place);
    let ours = include().join("tiledb");
    let names = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "common" && !ours.join(name).exists()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs the C++ headers of libtiledb: `cargo xtask drop-in --cxx FOLDER`"]
fn each_header_compiles_alone() {
    let folder = tempfile::tempdir().unwrap();
    let names = laid_out(folder.path());
    assert!(names.iter().any(|name| name == "tiledb") && names.len() >= 50, "{names:?}");
    for name in names.iter().filter(|name| *name != HALF) {
        let before = match LEANING.contains(&name.as_str()) {
            true => "#include <tiledb/tiledb>\n#include <tiledb/tiledb_experimental>\n",
            false => "",
        };
        let source = folder.path().join(format!("{name}.cc"));
        fs::write(&source, format!("{before}#include <tiledb/{name}>\n")).unwrap();
        let mut compile = Command::new(CXX.0);
        compile.args(["-std=c++17", "-fsyntax-only", "-I"]).arg(folder.path()).arg(&source);
        assert_went_well(&compile.output().unwrap(), name);
    }
}

#[test]
#[ignore = "needs the C++ headers of libtiledb: `cargo xtask drop-in --cxx FOLDER`"]
fn a_program_that_uses_every_class_prints_what_it_printed_on_the_original() {
    let folder = tempfile::tempdir().unwrap();
    laid_out(folder.path());
    let source = programs().join("cxx").join("areas.cc");
    let workshop = Workshop::new();
    let program = workshop.compiled_with(&source, CXX, &["-isystem", folder.path().to_str().unwrap()]);
    let output = workshop.run(&program);
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = fs::read_to_string(source.with_extension("expected")).unwrap();
    let lines = printed.lines().zip(expected.lines());
    let differing: Vec<_> = lines.filter(|(ours, theirs)| ours != theirs).collect();
    assert!(differing.is_empty(), "ours and theirs: {differing:#?}");
    assert_eq!(printed, expected);
    assert_went_well(&output, "areas.cc");
}
