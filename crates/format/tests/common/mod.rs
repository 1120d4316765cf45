//! The corpus: arrays that many releases wrote, unpacked, with the files that make them up.
#![allow(dead_code, reason = "each test binary uses its part")]

use smalti_format::{Encryption, GenericTileHeader};
use std::io::Read;
use std::path::{Path, PathBuf};

/// One array or group of the corpus.
pub(crate) struct Case {
    /// As in `v22/sparse_2d`.
    pub(crate) name: String,
    /// The format version.
    pub(crate) format: u32,
    /// What a reader must find.
    pub(crate) expected: serde_json::Value,
    /// Paths relative to the array or group, with the bytes, in order of the paths.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

/// Every case of the corpus, straight from the archives; `SMALTI_CORPUS` names another folder of archives.
pub(crate) fn cases() -> Vec<Case> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/corpus");
    let folder = std::env::var_os("SMALTI_CORPUS").map_or(fixtures, PathBuf::from);
    let mut archives: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the corpus is a fixture of the repository")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".tar.gz"))
        .collect();
    archives.sort();
    archives.iter().flat_map(|archive| read_archive(archive)).collect()
}

fn read_archive(archive: &Path) -> Vec<Case> {
    let gzip = flate2::read::GzDecoder::new(std::fs::File::open(archive).unwrap());
    let mut cases: std::collections::BTreeMap<String, Case> = Default::default();
    for entry in tar::Archive::new(gzip).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().trim_start_matches("./").to_owned();
        let mut parts = path.splitn(4, '/');
        let (Some(version), Some(case), Some(what)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if entry.header().entry_type() != tar::EntryType::Regular {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let name = format!("{version}/{case}");
        let case = cases.entry(name.clone()).or_insert_with(|| Case {
            name,
            format: version.trim_start_matches('v').parse().unwrap(),
            expected: serde_json::Value::Null,
            files: Vec::new(),
        });
        match (what, parts.next()) {
            ("expected.json", _) => case.expected = serde_json::from_slice(&bytes).unwrap(),
            ("array", Some(inner)) => case.files.push((inner.to_owned(), bytes)),
            _ => {}
        }
    }
    let mut cases: Vec<Case> = cases.into_values().collect();
    for case in &mut cases {
        case.files.sort();
    }
    cases
}

/// The unfiltered bytes of the generic tile at the start of `bytes`, and its length on disk; `None` if encrypted.
pub(crate) fn unfilter(bytes: &[u8]) -> Option<(Vec<u8>, GenericTileHeader, u64)> {
    let (header, tile) = GenericTileHeader::split(bytes).unwrap();
    let disk_len = GenericTileHeader::header_len(bytes).unwrap() + header.filtered_len;
    assert_eq!(header.encode().unwrap(), bytes[..(disk_len - header.filtered_len) as usize], "header");
    if header.encryption != Encryption::None {
        return None;
    }
    let u32_at = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut unfiltered = Vec::new();
    let chunk_count = u64::from_le_bytes(tile[..8].try_into().unwrap());
    let mut rest = &tile[8..];
    for _ in 0..chunk_count {
        let (original_len, filtered_len, metadata_len) = (u32_at(rest, 0), u32_at(rest, 4), u32_at(rest, 8));
        let (metadata, data) = rest[12..12 + metadata_len + filtered_len].split_at(metadata_len);
        let before = unfiltered.len();
        let parts = u32_at(metadata, 0) + u32_at(metadata, 4);
        let mut data = data;
        for part in 0..parts {
            let compressed_len = u32_at(metadata, 8 + part * 8 + 4);
            flate2::read::ZlibDecoder::new(&data[..compressed_len]).read_to_end(&mut unfiltered).unwrap();
            data = &data[compressed_len..];
        }
        assert!(data.is_empty());
        assert_eq!(unfiltered.len() - before, original_len);
        rest = &rest[12 + metadata_len + filtered_len..];
    }
    assert!(rest.is_empty());
    assert_eq!(unfiltered.len() as u64, header.unfiltered_len);
    Some((unfiltered, header, disk_len))
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// The folder of a path, with its slash.
pub(crate) fn folder(path: &str) -> &str {
    &path[..path.len() - file_name(path).len()]
}

/// Every file of a case that is one whole generic tile holding a structure of its own.
pub(crate) fn structure_files(case: &Case) -> impl Iterator<Item = (&'static str, &str, &[u8])> {
    case.files.iter().filter_map(|(path, bytes)| {
        let name = file_name(path);
        let parent = folder(path).trim_end_matches('/');
        let kind = match file_name(parent) {
            _ if name == "__array_schema.tdb" => "schema",
            "__schema" => "schema",
            "__enumerations" => "enumeration",
            "__meta" if !name.ends_with(".vac") => "metadata",
            "__group" => "group",
            _ if name.ends_with(".meta") => "consolidated",
            _ if name.ends_with(".del") => "condition",
            _ if name.ends_with(".con") => "commits",
            _ if name.ends_with(".ign") || name.ends_with(".vac") => "names",
            _ if name == "__fragment_metadata.tdb" => "fragment",
            _ => return None,
        };
        Some((kind, path.as_str(), bytes.as_slice()))
    })
}
