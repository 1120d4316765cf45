//! Nothing is wrong with what releases of libtiledb wrote.

use super::place_of;
use crate::corpus::Archive;
use crate::mutation::{Files, VERSIONS, named_arrays_of};
use rayon::prelude::*;
use smalti_upkeep::{Class, FsckOptions, fsck};

/// Versions whose data is read back too: one for each way of keeping coordinates, strings and statistics.
const DATA_OF: &[u32] = &[2, 4, 8, 11, 16, 22, 23];

/// What is wrong with an array.
fn wrong_with(files: &Files, key: Option<&str>, reads_data: bool) -> Vec<String> {
    let (_, place) = place_of(files, key);
    match fsck(&place, &FsckOptions { reads_data, ..FsckOptions::default() }) {
        Ok(report) => {
            let wrong = report.findings.iter().filter(|finding| finding.class > Class::Harmless);
            wrong.map(ToString::to_string).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn arrays_of_all_versions_are_sound() {
    let wrong: Vec<String> = VERSIONS
        .into_par_iter()
        .flat_map(|version| {
            let arrays = named_arrays_of(&Archive::unpack(version));
            let wrong = arrays.into_par_iter().flat_map_iter(move |(case, files, key)| {
                let wrong = wrong_with(&files, key.as_deref(), DATA_OF.contains(&version));
                wrong.into_iter().map(move |wrong| format!("v{version}/{case}: {wrong}"))
            });
            wrong.collect::<Vec<_>>()
        })
        .collect();
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
}
