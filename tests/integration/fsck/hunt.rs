//! Damages of every file of some arrays, one after the other: whenever readers are shown something else than before, a check
//! finds something, and whatever has a schema can be salvaged. What no check can know is listed in [`is_unknowable`].

use super::damages::whole;
use super::place_of;
use super::shown::shown;
use crate::mutation::{Files, Random};
use crate::upkeep::crashes::{BEFORE, arrays, changed};
use crate::upkeep::operation::Operation;
use rayon::prelude::*;
use smalti_array::ArrayPlace;
use smalti_types::ArrayType;
use smalti_upkeep::{FindingKind, FsckOptions, FsckReport, fsck, salvage};

/// Damages of a run; `SMALTI_MUTATIONS` makes it longer.
const DAMAGES: usize = 1_500;

const TIMES: &[u64] = &[12, 22, 31, u64::MAX];

/// Arrays with every kind of file.
fn subjects() -> Vec<(String, Files)> {
    let late = [
        Operation::Evolve { at: 42, name: "late" },
        Operation::Write { at: 43, cells: &[50, 51], number: 500 },
        Operation::PutMetadata { at: 44, key: "late", value: Some(5) },
    ];
    let mut subjects =
        vec![("sparse".to_owned(), whole(ArrayType::Sparse)), ("dense".to_owned(), whole(ArrayType::Dense))];
    for (kind, changes) in arrays().iter().enumerate() {
        for (number, before) in BEFORE.iter().enumerate() {
            let steps: Vec<Operation> = before.iter().chain(&late).copied().collect();
            let image = changed(changes, &steps).image();
            let files = image.files.iter().map(|(path, bytes)| (path.clone(), bytes.to_vec())).collect();
            subjects.push((format!("{kind}.{number}"), files));
        }
    }
    subjects
}

/// A damage of one file, in words.
fn damage(files: &mut Files, random: &mut Random) -> String {
    let at = random.below(files.len());
    let (path, bytes) = files[at].clone();
    let len = bytes.len();
    match random.below(if len == 0 { 2 } else { 16 }) {
        0 => {
            files.remove(at);
            format!("{path} removed")
        }
        1 => {
            files[at].1.extend([1, 2, 3]);
            format!("{path} longer")
        }
        2 => {
            let left = [0, 1, len / 2, len - 1][random.below(4)];
            files[at].1.truncate(left);
            format!("{path} cut to {left} of {len}")
        }
        3 => {
            let from = [0, len / 2][random.below(2)];
            files[at].1[from..].fill(0);
            format!("{path} zero from {from} of {len}")
        }
        4 => {
            let from = random.below(files.len());
            files[at].1 = files[from].1.clone();
            format!("{path} with the bytes of {}", files[from].0)
        }
        _ => {
            let (byte, bit) = (random.below(len), random.below(8));
            files[at].1[byte] ^= 1 << bit;
            format!("{path} bit {bit} of byte {byte} of {len}")
        }
    }
}

/// What leaves an array that may well have been written like that: one of which a change is gone that nothing else names, or
/// one that has the content of another; or with other values in a tile that has no checksum.
fn is_unknowable(name: &str, words: &str) -> bool {
    let is_change = ["/__meta/", ".del "].iter().any(|part| words.contains(part));
    let is_data = words.contains("/__fragments/") && !words.contains("__fragment_metadata.tdb");
    let has_checksum = ["sparse", "dense"].contains(&name)
        && ["/a0.tdb bit", "/a1_var.tdb bit"].iter().any(|part| words.contains(part));
    is_change && (words.ends_with(" removed") || words.contains(" with the bytes of "))
        || is_data && !has_checksum
}

fn check(name: &str, files: &Files, seed: u64) -> Option<String> {
    let mut random = Random(seed);
    let before = shown(&place_of(files, None).1, TIMES);
    let mut damaged = files.clone();
    let words = damage(&mut damaged, &mut random);
    let (_, place) = place_of(&damaged, None);
    let after = shown(&place, TIMES);
    let check = FsckOptions { reads_data: true, ..FsckOptions::default() };
    let Ok(report) = fsck(&place, &check) else { return None };
    if let Some(failure) = failure_to_salvage(&place, &report) {
        return Some(format!("{name}, seed {seed}: {words}: {failure}"));
    }
    let is_found = match before.last() == after.last() {
        // Those who read at earlier times are told too, whatever the class.
        true => before == after || !report.findings.is_empty(),
        false => !report.is_sound(),
    };
    let changed: Vec<u64> =
        TIMES.iter().zip(before.iter().zip(&after)).filter(|(_, (a, b))| a != b).map(|(at, _)| *at).collect();
    let is_open = after.iter().all(Option::is_some);
    (!is_found && !is_unknowable(name, &words)).then(|| {
        let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        format!("{name}, seed {seed}: {words}: changed at {changed:?}, opens: {is_open}, found: {found:?}")
    })
}

fn failure_to_salvage(place: &ArrayPlace, report: &FsckReport) -> Option<String> {
    let has_schema = report.findings.iter().all(|finding| finding.kind != FindingKind::NoSchema);
    match salvage(place, None) {
        Err(error) => has_schema.then(|| format!("not salvaged: {error}")),
        Ok(rest) => {
            let is_shown = shown(&rest.place, &[u64::MAX])[0].is_some();
            // Without its elements an enumeration is left out of the new array alone.
            let has_elements = report.findings.iter().all(|finding| !finding.file.contains("__enumerations"));
            (!is_shown && has_elements).then(|| format!("cannot be read when salvaged: {:?}", rest.lost))
        }
    }
}

#[test]
fn whatever_readers_notice_a_check_finds() {
    let count = std::env::var("SMALTI_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(DAMAGES);
    let subjects = subjects();
    let unseen: Vec<String> = (0..count as u64)
        .into_par_iter()
        .filter_map(|seed| {
            let (name, files) = &subjects[seed as usize % subjects.len()];
            check(name, files, seed)
        })
        .collect();
    assert!(unseen.is_empty(), "{} damages:\n{}", unseen.len(), unseen.join("\n"));
}
