//! Nothing is wrong with what releases of libtiledb wrote.

use super::place_of;
use crate::corpus::Archive;
use crate::mutation::{VERSIONS, arrays_of};
use rayon::prelude::*;
use smalti_upkeep::{Class, FsckOptions, fsck};

/// Versions whose data is read back too: one for each way of keeping coordinates, strings and statistics.
const DATA_OF: &[u32] = &[2, 4, 8, 11, 16, 22, 23];

#[test]
fn arrays_of_all_versions_are_sound() {
    let wrong: Vec<String> = VERSIONS
        .into_par_iter()
        .flat_map(|version| {
            let archive = Archive::unpack(version);
            let mut wrong = Vec::new();
            for (case, (files, key)) in archive.cases().iter().zip(arrays_of(&archive)) {
                let (_, place) = place_of(&files, key.as_deref());
                let reads_data = DATA_OF.contains(&version);
                let options = FsckOptions { reads_data, ..FsckOptions::default() };
                let case = case.strip_prefix(case.ancestors().nth(2).unwrap()).unwrap().display().to_string();
                match fsck(&place, &options) {
                    Ok(report) => wrong.extend(
                        report
                            .findings
                            .iter()
                            .filter(|finding| finding.class > Class::Harmless)
                            .map(|finding| format!("{case}: {finding}")),
                    ),
                    Err(error) => wrong.push(format!("{case}: {error}")),
                }
            }
            wrong
        })
        .collect();
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
}
