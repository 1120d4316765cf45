//! Arrays of versions that are not read: refused by a clear error.

use super::Archive;
use super::case::Case;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_store::{Stores, SyncLevel, system_env};
use smalti_types::{Error, ErrorKind, TimeRange};
use std::path::Path;

/// The version of development builds of libtiledb.
const DEVELOPMENT: u32 = u32::MAX;

fn refusal(array: &Path) -> Error {
    let place =
        ArrayPlace::open(&Stores::new(), &array.to_string_lossy(), SyncLevel::Full, None, system_env())
            .unwrap();
    Snapshot::open(place, TimeRange::ALL).expect_err("an array of a development version was opened")
}

fn check(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains(&DEVELOPMENT.to_string()), "{error}");
}

#[test]
fn an_array_whose_schema_has_a_development_version_is_refused() {
    let archive = Archive::unpack(22);
    let case = archive.cases().into_iter().find(|case| case.ends_with("dense_1d_int32")).unwrap();
    let folder = case.join("array/__schema");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let mut bytes = std::fs::read(&path).unwrap();
            // A generic tile starts with its version.
            bytes[..4].copy_from_slice(&DEVELOPMENT.to_le_bytes());
            std::fs::write(&path, bytes).unwrap();
        }
    }
    check(&refusal(&case.join("array")));
}

/// The archive is no fixture: its only array is of libtiledb's own tests. Where it is at hand it is tried.
#[test]
fn arrays_of_the_development_version_are_refused() {
    let Some(archive) = Archive::unpack_if_present(DEVELOPMENT) else { return };
    for folder in archive.cases() {
        let case = Case::load(&folder).unwrap();
        assert!(case.expected["schema"].get("error").is_some(), "{}", case.name);
        check(&refusal(&case.array));
    }
}
