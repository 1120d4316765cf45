//! Files of every format version, field by field.

use crate::corpus::Archive;
use rayon::prelude::*;
use smalti_array::inspect;
use smalti_store::system_env;
use smalti_types::EncryptionKey;
use std::path::{Path, PathBuf};

fn files_of(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_of(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn key_of(case: &Path) -> Option<EncryptionKey> {
    let text = std::fs::read_to_string(case.join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    Some(EncryptionKey::new(expected["encryption"]["key"].as_str()?.as_bytes()).unwrap())
}

/// Release 1.3 wrote this one, before there was a format version.
fn is_older_than_versions(case: &Path) -> bool {
    case.ends_with("repo_dense_array_v1_3_0")
}

#[test]
fn files_of_every_version_are_explained() {
    let archives: Vec<Archive> = (1..=23).map(Archive::unpack).collect();
    let mut files = Vec::new();
    for case in archives.iter().flat_map(Archive::cases).filter(|case| !is_older_than_versions(case)) {
        let mut found = Vec::new();
        files_of(&case.join("array"), &mut found);
        found.sort();
        files.extend(found.into_iter().map(|file| (case.clone(), file)));
    }
    let failures: Vec<String> = files
        .par_iter()
        .filter_map(|(case, file)| {
            let inspected = inspect(&file.to_string_lossy(), key_of(case), system_env());
            inspected.err().map(|error| error.to_string())
        })
        .collect();
    assert!(failures.is_empty(), "{} files: {}", failures.len(), failures.join("\n"));
}
