//! Nothing is wrong with what releases of libtiledb wrote, and all of it can be salvaged.

use super::place_of;
use crate::corpus::Archive;
use crate::mutation::{Files, VERSIONS, named_arrays_of};
use rayon::prelude::*;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_types::{ErrorKind, Result, TimeRange};
use smalti_upkeep::{Class, Digest, DigestOptions, Finding, FindingKind, FsckOptions, digest, fsck, salvage};

/// Versions whose data is read back too: one for each way of keeping coordinates, strings and statistics.
const DATA_OF: &[u32] = &[2, 4, 8, 11, 16, 21, 22, 23];

/// What is wrong with an array.
fn wrong_with(files: &Files, key: Option<&str>, reads_data: bool) -> Vec<String> {
    let (_, place) = place_of(files, key);
    match fsck(&place, &FsckOptions { reads_data, ..FsckOptions::default() }) {
        Ok(report) => {
            // The groups of the corpus name members by the paths that these had where it was made.
            let has_moved = |finding: &Finding| {
                finding.kind == FindingKind::MemberMissing && finding.message.contains(": /mnt/v")
            };
            let wrong = report.all_findings().filter(|finding| finding.class > Class::Harmless);
            let wrong = wrong.filter(|finding| !has_moved(finding));
            wrong.map(ToString::to_string).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn arrays_of_all_versions_are_sound_and_salvaged_whole() {
    let wrong: Vec<String> = VERSIONS
        .into_par_iter()
        .flat_map(|version| {
            let arrays = named_arrays_of(&Archive::unpack(version));
            let wrong = arrays.into_par_iter().flat_map_iter(move |(case, files, key)| {
                let reads_data = DATA_OF.contains(&version);
                let mut wrong = wrong_with(&files, key.as_deref(), reads_data);
                // What a lossy filter is run on again loses more.
                if reads_data && !case.ends_with("_lossy") {
                    wrong.extend(wrong_with_salvage(&files, key.as_deref()).err());
                }
                wrong.into_iter().map(move |wrong| format!("v{version}/{case}: {wrong}"))
            });
            wrong.collect::<Vec<_>>()
        })
        .collect();
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
}

/// The digests of an array and of those of its labels.
fn digests(place: &ArrayPlace) -> Result<Vec<Digest>> {
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL)?;
    let labels = snapshot.schema().dimension_labels.iter();
    let digest_of = |snapshot: &Snapshot| digest(snapshot, &DigestOptions::default());
    let labels = labels.map(|label| digest_of(&snapshot.open_label(label)?));
    std::iter::once(digest_of(&snapshot)).chain(labels).collect()
}

/// What is not as it was in what is salvaged of an array.
fn wrong_with_salvage(files: &Files, key: Option<&str>) -> std::result::Result<(), String> {
    let (_, place) = place_of(files, key);
    let before = match digests(&place) {
        // A group.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        before => before.map_err(|error| format!("before: {error}"))?,
    };
    let mut salvaged = salvage(&place, None).map_err(|error| error.to_string())?;
    let (_, target) = place_of(&Files::new(), key);
    salvaged.write_to(&target).map_err(|error| format!("written: {error}"))?;
    let after = digests(&target).map_err(|error| format!("after: {error}"))?;
    let metadata = |place: &ArrayPlace| place.metadata(TimeRange::ALL).map_err(|error| error.to_string());
    match salvaged.lost.first() {
        Some(lost) => Err(format!("{lost:?}")),
        None if before != after => Err(format!("{before:?} is {after:?}")),
        None if metadata(&place)? != metadata(&target)? => Err("other metadata".to_owned()),
        None => Ok(()),
    }
}
