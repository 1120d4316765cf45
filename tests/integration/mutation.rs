//! Damaged arrays: real ones with bytes flipped, cut, swapped or files lost. Opening and reading gives cells or an error,
//! never a panic, and takes no memory that the files cannot account for.

use crate::corpus::Archive;
use crate::upkeep::operation::UPKEEP;
use rayon::prelude::*;
use smalti_array::{ArrayPlace, SchemaChange, Snapshot};
use smalti_query::condition::Condition;
use smalti_query::{Aggregate, AggregateRequest, LabelRange, ReadRequest, aggregate, explain, read};
use smalti_store::{ManualClock, MemoryStore, SeededEntropy};
use smalti_types::{EncryptionKey, Env, Extent, Layout, TimeRange};
use std::path::Path;
use std::sync::Arc;

/// Damaged arrays of a run; `SMALTI_MUTATIONS` makes it longer.
const MUTATIONS: usize = 4_000;

/// Versions whose arrays are damaged.
pub(crate) const VERSIONS: std::ops::RangeInclusive<u32> = 1..=23;

pub(crate) type Files = Vec<(String, Vec<u8>)>;

fn files_of(folder: &Path) -> Files {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
                files.push((format!("array/{name}"), std::fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// A generator that replays from its seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

pub(crate) fn damage(files: &mut Files, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(files.len());
        let kind = random.below(8);
        if kind == 7 && files.len() > 2 {
            files.remove(at);
            continue;
        }
        let bytes = &mut files[at].1;
        if bytes.is_empty() {
            continue;
        }
        let place = random.below(bytes.len());
        match kind {
            0..=2 => bytes[place] ^= 1 << random.below(8),
            3 => bytes.truncate(place),
            4 => {
                let extremes = [0, 0xff, 0x7f, 0x80];
                let value = extremes[random.below(4)];
                let end = (place + 1 + random.below(8)).min(bytes.len());
                bytes[place..end].fill(value);
            }
            5 => {
                let tail = bytes[place..].to_vec();
                bytes.extend(tail);
            }
            _ => bytes[place] = random.next() as u8,
        }
    }
}

fn open_and_read(files: &Files, key: Option<&str>) {
    let env = Env::new(ManualClock::new(1), SeededEntropy::new(1));
    let store = Arc::new(MemoryStore::from_files(files.iter().cloned()).unwrap());
    let key = key.map(|key| EncryptionKey::new(key.as_bytes()).unwrap());
    let place = ArrayPlace::in_store(store, "array".into(), key, env);
    let _ = place.metadata(TimeRange::ALL);
    let upkeep_place = place.clone();
    let upkeep = || {
        for operation in UPKEEP {
            let _ = operation.run(&upkeep_place);
        }
    };
    if let Ok(members) = place.walk_members(TimeRange::ALL, true) {
        assert!(members.count() < 1_000, "a few files list no more members");
        upkeep();
        let _ = place.delete_group(true);
        return;
    }
    let Ok(snapshot) = Snapshot::open(place.clone(), TimeRange::ALL) else { return upkeep() };
    read_names(&snapshot);
    let first = snapshot.schema().attributes.first().map(|attribute| attribute.name.clone());
    let condition = first.map(|name| Condition::null(&name, false));
    let plain = ReadRequest { batch_cell_count: Some(100), ..ReadRequest::default() };
    let _ = explain(&snapshot, &plain);
    let aggregates = vec![Aggregate::count()];
    let _ = aggregate(&snapshot, &AggregateRequest { aggregates, ..AggregateRequest::default() });
    let requests = [
        plain.clone(),
        ReadRequest { layout: Some(Layout::RowMajor), condition, ..plain.clone() },
        ReadRequest { layout: Some(Layout::Unordered), ..plain.clone() },
        ReadRequest { layout: Some(Layout::RowMajor), memory_byte_len: Some(8192), ..plain },
    ];
    for request in requests {
        if let Ok(batches) = read(&snapshot, &request) {
            for batch in batches.take(50) {
                if batch.is_err() {
                    break;
                }
            }
        }
    }
    upkeep();
    let _ = Snapshot::open(upkeep_place, TimeRange::ALL);
}

/// Reads what the schema names beside fields, by labels too, and evolves the array.
fn read_names(snapshot: &Snapshot) {
    let schema = snapshot.schema();
    for (name, _) in &schema.enumerations {
        let more = vec![(name.clone(), vec![vec![7; 8]])];
        let _ = snapshot.enumeration(name);
        let _ =
            snapshot.place().evolve(&SchemaChange { extend_enumerations: more, ..SchemaChange::default() });
    }
    for label in &schema.dimension_labels {
        let range = match label.cell_val_num.is_var() {
            true => Extent::Str { lo: b"b".as_slice().into(), hi: Some(b"e".as_slice().into()) },
            false => Extent::Num { lo: 1 << 62, hi: u64::MAX - 1 },
        };
        let attributes = schema.attributes.iter().take(1).map(|attribute| attribute.name.clone());
        let request = ReadRequest {
            fields: attributes.chain([label.name.clone()]).collect(),
            label_ranges: vec![LabelRange { label: label.name.clone(), ranges: vec![range] }],
            batch_cell_count: Some(100),
            ..ReadRequest::default()
        };
        let alone = ReadRequest { fields: vec![label.name.clone()], ..ReadRequest::default() };
        for request in [request, alone] {
            if let Ok(batches) = read(snapshot, &request) {
                let _ = batches.take(50).find(Result::is_err);
            }
        }
    }
}

/// The arrays of an archive, except those whose reads take long, each with its name and key.
pub(crate) fn named_arrays_of(archive: &Archive) -> Vec<(String, Files, Option<String>)> {
    let is_short = |case: &&std::path::PathBuf| {
        !case.to_string_lossy().contains("big_chunks") && !case.to_string_lossy().contains("huge")
    };
    let read = |case: &std::path::PathBuf| {
        let text = std::fs::read_to_string(case.join("expected.json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        (name, files_of(&case.join("array")), expected["encryption"]["key"].as_str().map(str::to_owned))
    };
    archive.cases().iter().filter(is_short).map(read).collect()
}

/// As [`named_arrays_of`], without names.
pub(crate) fn arrays_of(archive: &Archive) -> Vec<(Files, Option<String>)> {
    named_arrays_of(archive).into_iter().map(|(_, files, key)| (files, key)).collect()
}

#[test]
fn damaged_arrays_give_cells_or_errors() {
    let count =
        std::env::var("SMALTI_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(MUTATIONS);
    let arrays: Vec<(Files, Option<String>)> =
        VERSIONS.map(Archive::unpack).flat_map(|archive| arrays_of(&archive)).collect();
    let panics: Vec<u64> = (0..count as u64)
        .into_par_iter()
        .filter(|&seed| {
            let mut random = Random(seed);
            let (files, key) = &arrays[random.below(arrays.len())];
            let mut files = files.clone();
            damage(&mut files, &mut random);
            std::panic::catch_unwind(|| open_and_read(&files, key.as_deref())).is_err()
        })
        .collect();
    assert!(panics.is_empty(), "seeds that panic: {panics:?}");
}
