//! Programs in C and C++ print on this library what they printed on libtiledb 2.30.0.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

// The library itself is built beside this test.
use tiledb as _;

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use common::{C, CXX, Compiler, SYMBOLS, Workshop, has_cxx, programs};

/// Every program, by its area. What `serialization.c` prints is ours alone: the wheel has serialisation.
const PROGRAMS: [&str; 31] = [
    "aggregates",
    "attributes",
    "buffers",
    "conditions",
    "configs",
    "contexts",
    "current_domains",
    "dense",
    "enumerations",
    "evolution",
    "filestore",
    "filters",
    "fragments",
    "groups",
    "labels",
    "memory",
    "metadata",
    "names",
    "objects",
    "offsets",
    "opening",
    "profiles",
    "schema_errors",
    "schemas",
    "serialization",
    "settings",
    "sparse",
    "statistics",
    "subarrays",
    "upkeep",
    "vfs",
];

/// The first line that differs, and the lines around it.
fn difference(printed: &str, expected: &str) -> Option<String> {
    let (ours, theirs): (Vec<_>, Vec<_>) = (printed.lines().collect(), expected.lines().collect());
    let line = (0..ours.len().max(theirs.len())).find(|line| ours.get(*line) != theirs.get(*line))?;
    let around = |lines: &[&str]| {
        lines[line.saturating_sub(3).min(lines.len())..(line + 3).min(lines.len())].join("\n")
    };
    Some(format!("line {}\nours:\n{}\ntheirs:\n{}", line + 1, around(&ours), around(&theirs)))
}

/// What is wrong with what a program prints.
fn wrong(workshop: &Workshop, file: &str, compiler: Compiler) -> Option<String> {
    watched(workshop, file, compiler, &[], &[])
}

/// As [`wrong`], compiled with flags that have it watch itself, or under a program that watches it.
fn watched(
    workshop: &Workshop,
    file: &str,
    compiler: Compiler,
    flags: &[&str],
    watcher: &[&str],
) -> Option<String> {
    let source = programs().join(file);
    let output = workshop.run_under(watcher, &workshop.compiled_with(&source, compiler, flags));
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = fs::read_to_string(source.with_extension("expected")).unwrap();
    if let Some(difference) = difference(&printed, &expected) {
        return Some(format!("{file}, {difference}"));
    }
    let told = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("{file}, {}: {told}", output.status))
}

#[test]
fn programs_print_what_they_printed_on_the_original() {
    let workshop = Workshop::new();
    let found: Vec<_> =
        PROGRAMS.iter().filter_map(|name| wrong(&workshop, &format!("{name}.c"), C)).collect();
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
fn a_program_that_is_both_c_and_cxx_makes_writes_and_reads_arrays() {
    let workshop = Workshop::new();
    assert_eq!(wrong(&workshop, "arrays.c", C), None);
    if has_cxx() {
        assert_eq!(wrong(&workshop, "arrays.c", CXX), None);
    }
}

#[test]
fn what_exceptions_of_callbacks_say_is_what_the_call_reports() {
    if has_cxx() {
        assert_eq!(wrong(&Workshop::new(), "throws.cc", CXX), None);
    }
}

/// What the address sanitizer finds beside wrong accesses of the programs: memory of either side that is freed twice, by the wrong side, or
/// never.
const SANITIZED: [&str; 2] = ["-fsanitize=address,undefined", "-g"];

/// What Rust's own threads, and the tables of its codecs, leave at the end is there to the end; what nothing leads to is lost.
const VALGRIND: [&str; 5] =
    ["valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=99"];

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Whether the compiler has the sanitizers with it.
fn has_sanitizers() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("nothing.c");
    fs::write(&source, "int main(void) { return 0; }").unwrap();
    let mut compile = Command::new("cc");
    compile.args(SANITIZED).arg(&source).arg("-o").arg(folder.path().join("nothing"));
    compile.output().is_ok_and(|output| output.status.success())
}

#[test]
fn programs_are_clean_under_the_address_sanitizer() {
    if !has_sanitizers() {
        println!("the compiler comes without the address sanitizer");
        return;
    }
    let workshop = Workshop::new();
    let all = PROGRAMS.iter().map(|name| format!("{name}.c"));
    let found: Vec<_> = all.filter_map(|file| watched(&workshop, &file, C, &SANITIZED, &[])).collect();
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
#[ignore = "takes minutes, and needs valgrind: `cargo xtask drop-in --memory`"]
fn programs_are_clean_under_valgrind() {
    assert!(is_there("valgrind"), "valgrind is not installed");
    let workshop = Workshop::new();
    let all = PROGRAMS.iter().map(|name| format!("{name}.c"));
    let found: Vec<_> = all.filter_map(|file| watched(&workshop, &file, C, &[], &VALGRIND)).collect();
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
fn every_program_is_run_and_has_what_is_expected_of_it() {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(programs()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "c") {
            assert!(path.with_extension("expected").exists(), "{}", path.display());
            names.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    let run: BTreeSet<_> = PROGRAMS.iter().copied().chain(["arrays"]).map(str::to_owned).collect();
    assert_eq!(names, run);
}

#[test]
fn the_programs_name_every_symbol() {
    let mut words = BTreeSet::new();
    for entry in fs::read_dir(programs()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension == "expected") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let found =
            text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.starts_with("tiledb_"));
        words.extend(found.map(str::to_owned));
    }
    let missing: Vec<_> = SYMBOLS.lines().filter(|name| !words.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
