//! The library exports the 520 symbols of the original, and no others.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::Command;

// The library itself is built beside this test.
use tiledb as _;

/// The names, as the wheel of release 2.30.0 exports them: 514 functions and 6 symbols that are data.
const SYMBOLS: &str = include_str!("symbols.txt");

fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let places = [folder.join("libtiledb.so"), folder.with_file_name("libtiledb.so")];
    places.into_iter().find(|place| place.exists()).expect("cargo builds the library with its tests")
}

#[test]
fn the_symbols_are_those_of_the_original() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output();
    let listing = String::from_utf8(output.expect("nm comes with the linker").stdout).unwrap();
    let mut exported: Vec<&str> = listing.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    exported.sort_unstable();
    let expected: Vec<&str> = SYMBOLS.lines().collect();
    assert_eq!(exported.len(), 520, "{exported:?}");
    assert_eq!(exported, expected);
}

/// A program that is linked with the library has its own copies of the symbols that are data, in memory of the kind that they have
/// here. libtiledb writes into them at its start, so it has to be `.data`, and not what the loader protects when it is done.
#[test]
fn symbols_that_are_data_lie_in_memory_that_can_be_written() {
    let output = Command::new("objdump").arg("-T").arg(library()).output();
    let listing = String::from_utf8(output.expect("objdump comes with the linker").stdout).unwrap();
    let data: Vec<&str> =
        listing.lines().filter(|line| line.contains(" DO ") && !line.contains("*UND*")).collect();
    assert_eq!(data.len(), 6, "{data:#?}");
    for line in data {
        assert_eq!(line.split_whitespace().nth(3), Some(".data"), "{line}");
    }
}
