//! Every state that a power cut may leave of a repair: the array shows what it showed before or what it shows after, nothing is
//! lost, and a repair that is done again finishes.

use super::NOW_MS;
use super::damages::whole;
use super::rows::{After, Row, rows_of};
use super::shown::shown;
use crate::mutation::Files;
use rayon::prelude::*;
use smalti_array::ArrayPlace;
use smalti_store::{
    CrashLimits, Image, LocalStore, ManualClock, SeededEntropy, SimDisk, SyncLevel, crash_states,
};
use smalti_types::{ArrayType, Env};
use smalti_upkeep::{FsckOptions, RepairOptions, repair};
use std::sync::Arc;

/// Times at which arrays are compared.
const TIMES: &[u64] = &[12, u64::MAX];

fn place_on(disk: &SimDisk) -> ArrayPlace {
    let store = Arc::new(LocalStore::on(disk.clone(), SyncLevel::Full));
    ArrayPlace::in_store(
        store,
        "array".into(),
        None,
        Env::new(ManualClock::new(NOW_MS), SeededEntropy::new(1)),
    )
}

fn image_of(files: &Files) -> Image {
    let files = files.iter().map(|(path, bytes)| (path.clone(), bytes.clone().into()));
    SimDisk::from_image(&Image { folders: Default::default(), files: files.collect() }).image()
}

/// Cuts the repair of a damage short everywhere; the number of states.
fn cut(row: &Row, array_type: ArrayType) -> Result<usize, String> {
    let mut files = whole(array_type);
    (row.damage)(&mut files);
    let base = image_of(&files);
    let check = FsckOptions { reads_data: true, ..FsckOptions::default() };
    let options = RepairOptions {
        check,
        gives_up: row.after == After::Stays,
        is_dry_run: false,
        ..RepairOptions::default()
    };
    let disk = SimDisk::from_image(&base);
    let before = shown(&place_on(&disk), TIMES);
    disk.forget_ops();
    repair(&place_on(&disk), &options).map_err(|error| error.to_string())?;
    let after = shown(&place_on(&disk), TIMES);
    let mut wrong = None;
    let limits = CrashLimits { random_count: 1, ..CrashLimits::default() };
    let mut idx = 0_usize;
    let count = crash_states(&base, &disk.ops(), limits, |crash| {
        let disk = SimDisk::from_image(&crash.image);
        let place = place_on(&disk);
        let mut fail = |what: String| {
            wrong.get_or_insert_with(|| format!("{crash}: {what}"));
        };
        let found = shown(&place, TIMES);
        if found != before && found != after {
            fail(format!("shown is {found:?}, before {before:?}, after {after:?}"));
        }
        if let Some((path, _)) =
            files.iter().find(|(_, bytes)| !crash.image.files.values().any(|kept| kept[..] == bytes[..]))
        {
            fail(format!("the bytes of {path} are gone"));
        }
        idx += 1;
        if idx.is_multiple_of(3) {
            match repair(&place, &options) {
                Ok(again) => {
                    if let Some(failed) = again.mended.iter().find(|mended| mended.failure.is_some()) {
                        fail(format!("failed when done again: {failed:?}"));
                    }
                }
                Err(error) => fail(format!("done again: {error}")),
            }
            let found = shown(&place, TIMES);
            if found != after {
                fail(format!("done again shows {found:?}, before {before:?}, after {after:?}"));
            }
        }
    });
    wrong.map_or(Ok(count), Err)
}

#[test]
fn a_repair_that_a_power_cut_interrupts_changes_nothing_or_all_and_can_be_repeated() {
    let cases: Vec<(ArrayType, &Row)> = [ArrayType::Sparse, ArrayType::Dense]
        .into_iter()
        .flat_map(|array_type| rows_of(array_type == ArrayType::Sparse).map(move |row| (array_type, row)))
        .collect();
    let outcomes: Vec<(String, Result<usize, String>)> = cases
        .into_par_iter()
        .map(|(array_type, row)| (format!("{array_type:?}, {}", row.name), cut(row, array_type)))
        .collect();
    let wrong: Vec<String> = outcomes
        .iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {}", outcome.as_ref().err()?)))
        .collect();
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
    let count: usize = outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok()).sum();
    println!("states of repairs: {count}");
    assert!(count > 500, "{count}");
}
