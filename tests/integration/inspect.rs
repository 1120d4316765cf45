//! Files of every format version: no byte is without an explanation, and what damage leaves is still explained.

use rayon::prelude::*;
use smalti_array::{ArrayPlace, InspectedPart, Inspection, Inspector, UNEXPLAINED};
use smalti_format::TraceDetail;
use smalti_store::{MemoryStore, system_env};
use smalti_types::EncryptionKey;
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The arrays of a format version in memory: there are some twenty thousand files in all, slow to put on disk.
struct Archive {
    files: BTreeMap<String, Vec<u8>>,
    store: Arc<MemoryStore>,
}

impl Archive {
    fn unpack(version: u32) -> Archive {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/corpus/v{version}.tar.gz"));
        let file = std::fs::File::open(path).unwrap();
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(flate2::read::GzDecoder::new(file)).entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.header().entry_type().is_file() {
                let path = entry.path().unwrap().to_str().unwrap().to_owned();
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).unwrap();
                files.insert(path, bytes);
            }
        }
        Archive { store: store_of(&files), files }
    }

    /// The paths of all files of arrays and groups.
    fn paths(&self) -> Vec<&str> {
        let is_wanted = |path: &&str| path.contains("/array/") && !is_older_than_versions(path);
        self.files.keys().map(String::as_str).filter(is_wanted).collect()
    }

    fn inspected(&self, path: &str, detail: TraceDetail) -> Inspection {
        self.inspected_in(Arc::clone(&self.store), path, detail)
    }

    /// Inspects a file in an array of which it has other bytes.
    fn inspected_with(&self, path: &str, bytes: &[u8], detail: TraceDetail) -> Inspection {
        let case = case_of(path);
        let of_case = self.files.iter().filter(|(path, _)| case_of(path) == case);
        let mut files: BTreeMap<String, Vec<u8>> =
            of_case.map(|(path, bytes)| (path.clone(), bytes.clone())).collect();
        files.insert(path.to_owned(), bytes.to_vec());
        self.inspected_in(store_of(&files), path, detail)
    }

    fn inspected_in(&self, store: Arc<MemoryStore>, path: &str, detail: TraceDetail) -> Inspection {
        let expected: serde_json::Value =
            serde_json::from_slice(&self.files[&format!("{}/expected.json", case_of(path))]).unwrap();
        let key = expected["encryption"]["key"].as_str();
        let key = key.map(|key| EncryptionKey::new(key.as_bytes()).unwrap());
        let place = ArrayPlace::in_store(store, path.to_owned(), key, system_env());
        Inspector::in_store(place).unwrap_or_else(|error| panic!("{path}: {error}")).inspection(detail)
    }
}

fn store_of(files: &BTreeMap<String, Vec<u8>>) -> Arc<MemoryStore> {
    let files = files.iter().map(|(path, bytes)| (path.clone(), bytes.clone())).collect::<Vec<_>>();
    Arc::new(MemoryStore::from_files(files).unwrap())
}

fn case_of(path: &str) -> &str {
    path.split_once("/array/").map_or(path, |(case, _)| case)
}

/// Release 1.3 wrote this one, before there was a format version.
fn is_older_than_versions(path: &str) -> bool {
    path.contains("/repo_dense_array_v1_3_0/")
}

/// What is wrong with leaves that must cover some bytes one after the other. Fields without a meaning are listed apart.
fn check_leaves<'a>(
    parts: impl Iterator<Item = &'a InspectedPart>,
    range: Range<u64>,
    problems: &mut Vec<String>,
    unexplained: &mut Vec<Range<u64>>,
) {
    let mut at = range.start;
    for part in parts {
        for leaf in part.leaves() {
            let title = &part.title;
            if leaf.byte_offset != at {
                problems.push(format!("{title}: {} starts at {}, not at {at}", leaf.field, leaf.byte_offset));
            }
            at = leaf.byte_offset + leaf.byte_len;
            if leaf.field == UNEXPLAINED {
                unexplained.push(leaf.byte_offset..at);
            } else if leaf.field.is_empty() || leaf.on_disk.is_empty() {
                problems.push(format!("{title}: {leaf:?}"));
            }
        }
        for pair in part.fields.windows(2) {
            let (field, next) = (&pair[0], &pair[1]);
            if next.depth > field.depth
                && next.byte_offset + next.byte_len > field.byte_offset + field.byte_len
            {
                problems.push(format!("{}: {} leaves {}", part.title, next.field, field.field));
            }
        }
    }
    if at != range.end {
        problems.push(format!("fields end at {at} of {}", range.end));
    }
}

/// What is wrong with an inspection in which every byte must be inside one leaf, and the stretches without a meaning.
fn account(inspection: &Inspection) -> (Vec<String>, Vec<Range<u64>>) {
    let (mut problems, mut unexplained) = (Vec::new(), Vec::new());
    let in_file = inspection.parts.iter().filter(|part| part.unfiltered_len.is_none());
    check_leaves(in_file, 0..inspection.file_byte_len, &mut problems, &mut unexplained);
    for part in &inspection.parts {
        if let Some(len) = part.unfiltered_len {
            check_leaves(std::iter::once(part), 0..len, &mut problems, &mut unexplained);
        }
    }
    (problems, unexplained)
}

#[test]
fn every_byte_of_every_file_of_every_version_is_explained() {
    let mut failures: Vec<String> = Vec::new();
    let mut file_count = 0;
    for version in 1..=23 {
        let archive = Archive::unpack(version);
        file_count += archive.paths().len();
        failures.par_extend(archive.paths().par_iter().enumerate().flat_map_iter(|(idx, path)| {
            // What is folded has the same bounds: a sample is enough.
            let details = [TraceDetail::Full, TraceDetail::Folded];
            let details = if idx % 5 == 0 { &details[..] } else { &details[..1] };
            let mut found = Vec::new();
            for detail in details {
                let inspection = archive.inspected(path, *detail);
                let (problems, unexplained) = account(&inspection);
                found.extend(problems);
                found.extend(unexplained.iter().map(|range| format!("{range:?} are unexplained")));
                found.extend(inspection.damage.as_ref().map(ToString::to_string));
                let without_field =
                    inspection.parts.iter().find(|part| part.title.contains("cannot be told"));
                found.extend(without_field.map(|part| part.title.clone()));
            }
            found.into_iter().map(move |problem| format!("{path}: {problem}"))
        }));
    }
    let shown: Vec<&str> = failures.iter().take(30).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} problems:\n{}", failures.len(), shown.join("\n"));
    assert!(file_count > 20_000, "{file_count}");
}

#[test]
fn bytes_behind_the_last_tile_are_shown_as_unexplained() {
    let archive = Archive::unpack(22);
    let mut tried = 0;
    for path in archive.paths().into_iter().step_by(17) {
        let bytes = &archive.files[path];
        let is_data = path.ends_with(".tdb") && !path.ends_with("/__fragment_metadata.tdb");
        if !is_data || bytes.is_empty() {
            continue;
        }
        let longer = [&bytes[..], b"more"].concat();
        let inspection = archive.inspected_with(path, &longer, TraceDetail::Folded);
        let (problems, unexplained) = account(&inspection);
        let end = bytes.len() as u64;
        assert!(problems.is_empty(), "{path}: {problems:?}");
        assert_eq!(unexplained, std::slice::from_ref(&(end..end + 4)), "{path}");
        assert!(inspection.damage.is_none(), "{path}");
        tried += 1;
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn damage_is_named_and_what_lies_before_it_is_explained() {
    let (mut tried, mut damaged, mut placed) = (0, 0, 0);
    for version in [1, 2, 4, 9, 11, 15, 16, 20, 22, 23] {
        let archive = Archive::unpack(version);
        for path in archive.paths().into_iter().step_by(29) {
            let bytes = &archive.files[path];
            if bytes.len() < 2 {
                continue;
            }
            let middle = bytes.len() / 2;
            let mut flipped = bytes.clone();
            flipped[middle] ^= 0xff;
            let mut huge = bytes.clone();
            let end = (middle + 8).min(huge.len());
            huge[middle..end].fill(0xff);
            for broken in [&bytes[..middle], &bytes[..bytes.len() - 1], &flipped[..], &huge[..]] {
                for detail in [TraceDetail::Full, TraceDetail::Folded] {
                    let inspection = archive.inspected_with(path, broken, detail);
                    let (problems, _) = account(&inspection);
                    assert!(problems.is_empty(), "{path}: {problems:?}");
                    tried += 1;
                    if let Some(damage) = &inspection.damage {
                        damaged += 1;
                        placed += usize::from(damage.location().structure.is_some());
                    }
                }
            }
        }
    }
    // A changed byte inside compressed data is seen where there is a checksum, and names no field.
    assert!(damaged > tried / 3 && placed > damaged / 3, "{tried} tried, {damaged} damaged, {placed} placed");
}

#[test]
fn a_footer_that_cannot_be_read_leaves_the_sections_before_it() {
    let archive = Archive::unpack(22);
    let path = archive.paths().into_iter().find(|path| path.ends_with("/__fragment_metadata.tdb")).unwrap();
    let mut bytes = archive.files[path].clone();
    let end = bytes.len();
    // The length of the footer, which is the last thing in the file.
    bytes[end - 8..].fill(0xff);
    let inspection = archive.inspected_with(path, &bytes, TraceDetail::Full);
    let damage = inspection.damage.as_ref().unwrap();
    assert_eq!(damage.location().structure, Some("footer"), "{damage}");
    let (problems, unexplained) = account(&inspection);
    assert!(problems.is_empty(), "{problems:?}");
    assert!(unexplained.iter().any(|range| range.end == end as u64), "{unexplained:?}");
    let tiles = inspection.parts.iter().filter(|part| part.title.ends_with("generic tile")).count();
    assert!(tiles > 10, "{tiles} sections are found without the footer");
}
