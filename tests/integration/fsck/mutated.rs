//! Checks, repairs and salvage of arrays that were damaged at random: no panic, nothing lost, and a second repair finds nothing
//! to do.

use super::place_of;
use crate::corpus::Archive;
use crate::mutation::{Files, Random, VERSIONS, arrays_of, damage};
use rayon::prelude::*;
use smalti_upkeep::{FsckOptions, RepairOptions, fsck, repair, salvage};

/// Damaged arrays of a run; `SMALTI_MUTATIONS` makes it longer.
const MUTATIONS: usize = 3_000;

/// Larger arrays are left out: every one is read several times.
const MAX_BYTE_LEN: usize = 1 << 20;

fn check(seed: u64, files: &Files, key: Option<&str>) -> Result<(), String> {
    let (store, place) = place_of(files, key);
    let check = FsckOptions { reads_data: seed.is_multiple_of(2), ..FsckOptions::default() };
    let before = store.files();
    let _ = fsck(&place, &check);
    if seed.is_multiple_of(4) {
        let _ = salvage(&place, None);
    }
    if store.files() != before {
        return Err("a check or salvage changed files".into());
    }
    let options = RepairOptions {
        check,
        gives_up: seed.is_multiple_of(3),
        is_dry_run: false,
        ..RepairOptions::default()
    };
    let Ok(report) = repair(&place, &options) else { return Ok(()) };
    if let Some(failed) = report.mended.iter().find(|mended| mended.failure.is_some()) {
        return Err(format!("failed: {:?} of {}", failed.failure, failed.finding));
    }
    let after = store.files();
    if let Some((path, _)) = files.iter().find(|(_, bytes)| !after.values().any(|kept| kept[..] == bytes[..]))
    {
        return Err(format!("the bytes of {path} are gone"));
    }
    let again = repair(&place, &options).map_err(|error| format!("a second repair: {error}"))?;
    match store.files() == after {
        true => Ok(()),
        false => {
            let steps =
                again.mended.iter().map(|mended| format!("\n    {}: {}", mended.finding, mended.words));
            Err(format!("a second repair goes on:{}", steps.collect::<String>()))
        }
    }
}

#[test]
fn repairs_of_damaged_arrays_lose_nothing_and_come_to_an_end() {
    let count =
        std::env::var("SMALTI_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(MUTATIONS);
    let arrays: Vec<(Files, Option<String>)> = VERSIONS
        .map(Archive::unpack)
        .flat_map(|archive| arrays_of(&archive))
        .filter(|(files, _)| files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() <= MAX_BYTE_LEN)
        .collect();
    let wrong: Vec<String> = (0..count as u64)
        .into_par_iter()
        .filter_map(|seed| {
            let mut random = Random(seed);
            let (files, key) = &arrays[random.below(arrays.len())];
            let mut files = files.clone();
            damage(&mut files, &mut random);
            let outcome = std::panic::catch_unwind(|| check(seed, &files, key.as_deref()));
            match outcome {
                Ok(Ok(())) => None,
                Ok(Err(message)) => Some(format!("seed {seed}: {message}")),
                Err(_) => Some(format!("seed {seed}: a panic")),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{} seeds:\n{}", wrong.len(), wrong.join("\n"));
}
