//! Stores without locks, where claims are files, and locks that fail.

use super::crashes::{BEFORE, arrays, changed};
use super::interleavings::{COMMITS, COMMITS_VACUUM, CONSOLIDATOR, Scene, Stage, User, WRITER, is_busy};
use super::operation::Operation;
use super::state::{State, assert_unchanged};
use super::{on_one_thread, place_on};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_store::{
    CrashLimits, LocalStore, ManualClock, SeededEntropy, SimDisk, Store, SyncLevel, crash_states,
};
use smalti_types::{Clock, Env, ErrorKind, TimeRange};
use smalti_upkeep::{FsckOptions, RepairOptions, VacuumOptions, fsck, repair, vacuum_fragments};
use std::sync::Arc;

/// A time that no fsck takes for that of a clock which was never set.
const NOW_MS: u64 = 1_700_000_000_000;

/// The array on a disk, and the clock of who uses it.
fn place_at(disk: &SimDisk, now_ms: u64, seed: u64) -> (ArrayPlace, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(now_ms));
    let mut env = Env::new(ManualClock::new(now_ms), SeededEntropy::new(seed));
    env.clock = Arc::clone(&clock) as Arc<dyn Clock>;
    let store = Arc::new(LocalStore::on(disk.clone(), SyncLevel::Full));
    (ArrayPlace::in_store(store, "array".into(), None, env), clock)
}

fn leftover_count(disk: &SimDisk) -> usize {
    LocalStore::on(disk.clone(), SyncLevel::Full).leftovers("array").unwrap().len()
}

/// Users of a store without locks; who reads while somebody vacuums has no promise there.
const USERS: &[&[User]] = &[
    &[CONSOLIDATOR, CONSOLIDATOR],
    &[CONSOLIDATOR, COMMITS],
    &[COMMITS, COMMITS_VACUUM],
    &[CONSOLIDATOR, CONSOLIDATOR, User::Reads],
    &[CONSOLIDATOR, CONSOLIDATOR, WRITER],
];

#[test]
fn of_two_who_consolidate_a_store_without_locks_one_gives_way() {
    let play = || {
        let stage = Stage::new();
        for array in &arrays()[..2] {
            for before in [0, 5] {
                let base = changed(array, BEFORE[before]).image();
                for users in USERS {
                    let scene = Scene::new(&base, users).on(SimDisk::without_locks);
                    (0..40).for_each(|seed| scene.check(&stage, seed * 16 + before as u64));
                }
            }
        }
    };
    on_one_thread(play);
}

#[test]
fn what_a_crash_leaves_of_a_claim_ends_with_its_time() {
    let cut = || {
        let disk = changed(&arrays()[1], BEFORE[0]).without_locks();
        let (base, expected) = (disk.image(), State::history(&place_on(&disk)).unwrap());
        disk.forget_ops();
        Operation::ConsolidateFragments.run(&place_at(&disk, NOW_MS, 1).0).unwrap();
        assert_eq!(leftover_count(&disk), 0);
        let mut claimed_count = 0;
        crash_states(&base, &disk.ops(), CrashLimits::default(), |crash| {
            let left = SimDisk::from_image(&crash.image).without_locks();
            let is_claim = |path: &std::path::Path| path.to_string_lossy().contains(".smalti-tmp-claim-");
            let is_claimed = crash.image.files.keys().any(|path| is_claim(path.as_ref()));
            let (place, clock) = place_at(&left, NOW_MS + 1000, 2);
            if is_claimed {
                claimed_count += 1;
                let error = Operation::ConsolidateFragments.run(&place).unwrap_err();
                assert!(is_busy(&error), "{crash}: {error}");
                clock.advance(60_000);
            }
            Operation::ConsolidateFragments.run(&place).unwrap_or_else(|error| panic!("{crash}: {error}"));
            assert_unchanged(&expected, &State::history(&place).unwrap(), &crash.to_string());
            let files = left.image().files;
            assert!(!files.keys().any(|path| is_claim(path.as_ref())), "{crash}");
        });
        assert!(claimed_count > 10, "{claimed_count}");
    };
    on_one_thread(cut);
}

#[test]
fn a_consolidation_that_was_overtaken_in_its_sleep_publishes_nothing() {
    let disk = changed(&arrays()[0], BEFORE[0]).without_locks();
    let (place, clock) = place_at(&disk, NOW_MS, 1);
    let asleep = place.upkeep_lock().unwrap();
    let (other, _) = place_at(&disk, NOW_MS + 59_999, 2);
    assert!(is_busy(&other.upkeep_lock().unwrap_err()));
    let (other, _) = place_at(&disk, NOW_MS + 60_000, 3);
    let awake = other.upkeep_lock().unwrap();
    clock.advance(61_000);
    assert!(asleep.confirm().unwrap_err().to_string().contains("taken over"));
    awake.confirm().unwrap();
    drop(asleep);
    awake.confirm().unwrap();
    drop(awake);
    assert_eq!(leftover_count(&disk), 0);
}

#[test]
fn vacuum_without_locks_asks_to_be_told_that_nobody_reads() {
    let disk = changed(&arrays()[0], BEFORE[5]).without_locks();
    let (place, _) = place_at(&disk, NOW_MS, 1);
    let reader = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    assert!(!reader.is_leased());
    let error = vacuum_fragments(&place, &VacuumOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("--ignore-readers"), "{error}");
    let options = VacuumOptions { ignores_readers: true, ..VacuumOptions::default() };
    assert!(!vacuum_fragments(&place, &options).unwrap().fragments.is_empty());
}

#[test]
fn a_lock_that_fails_is_an_error_of_who_wanted_it() {
    let disk = changed(&arrays()[0], BEFORE[5]);
    let image = disk.image();
    let (place, _) = place_at(&disk.clone().with_failing_locks(), NOW_MS, 1);
    let error = Snapshot::open(place.clone(), TimeRange::ALL).unwrap_err();
    assert!(error.to_string().contains("could not be taken"), "{error}");
    let evolve = Operation::Evolve { at: 70, name: "late" };
    for operation in [Operation::ConsolidateFragments, Operation::VacuumFragments, evolve] {
        let error = operation.run(&place).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{operation:?}: {error}");
    }
    assert!(disk.image() == image, "nothing was changed");
}

#[test]
fn fsck_tells_claims_from_other_leftovers_and_repair_takes_away_those_that_have_ended() {
    let disk = changed(&arrays()[0], BEFORE[0]).without_locks();
    let (place, clock) = place_at(&disk, NOW_MS, 1);
    // The process ends without dropping anything.
    std::mem::forget(place.upkeep_lock().unwrap());
    let options = RepairOptions::default();
    let found = fsck(&place, &FsckOptions::default()).unwrap();
    let claim = found.findings.iter().find(|finding| finding.file.contains("claim")).unwrap();
    assert!(claim.message.contains("under way"), "{}", claim.message);
    repair(&place, &options).unwrap();
    assert_eq!(leftover_count(&disk), 1);
    clock.advance(60_000);
    repair(&place, &options).unwrap();
    assert_eq!(leftover_count(&disk), 0);
    // Nothing else was in the way of anybody.
    drop(place.upkeep_lock().unwrap());
}
