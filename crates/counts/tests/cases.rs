//! Every case can be counted: it has a name of its own and does its work.

use std::collections::BTreeSet;
use std::process::Command;

fn counts(args: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_counts")).args(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn every_case_does_its_work() {
    let (_, names) = counts(&["list"]);
    assert!(names.lines().count() > 60, "{names}");
    for name in names.lines() {
        let (is_done, text) = counts(&[name]);
        assert!(is_done, "{name}: {text}");
    }
}

#[test]
fn names_are_words_with_hyphens_and_each_is_there_once() {
    let (_, names) = counts(&["list"]);
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(names.lines().all(|name| name.chars().all(is_word)), "{names}");
    assert_eq!(names.lines().collect::<BTreeSet<_>>().len(), names.lines().count());
}

#[test]
fn a_name_that_is_no_case_fails() {
    let (is_done, text) = counts(&["no-such-case"]);
    assert!(!is_done && text.contains("no-such-case"), "{text}");
}
