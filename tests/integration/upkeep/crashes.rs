//! The disks that a power cut may leave during upkeep: the array says the same, and the operation succeeds when it is
//! repeated (invariants I1 to I7).

use super::ground::Ground;
use super::operation::{ALL_UPKEEP, Operation};
use super::state::{State, assert_unchanged};
use super::{CHANGES, DENSE_CHANGES, on_one_thread, place_on};
use smalti_format::Version;
use smalti_store::{CrashLimits, Image, SimDisk, crash_states};
use std::collections::HashSet;

/// Arrays of every kind with their changes.
pub fn arrays() -> [Vec<Operation>; 3] {
    let mut dups = CHANGES.to_vec();
    dups[0] = Operation::CreateDups;
    [CHANGES.to_vec(), dups, DENSE_CHANGES.to_vec()]
}

/// The array after its changes and what was done before, where that can be done to it.
pub fn changed(changes: &[Operation], before: &[Operation]) -> SimDisk {
    changed_in(Version::DEFAULT, changes, before)
}

/// As [`changed`], of an array of a version.
pub fn changed_in(version: Version, changes: &[Operation], before: &[Operation]) -> SimDisk {
    changed_on::<Image>(version, changes, before)
}

/// As [`changed_in`], on any ground.
pub fn changed_on<G: Ground>(version: Version, changes: &[Operation], before: &[Operation]) -> G::Live {
    let live = G::default().live();
    let place = G::place(&live);
    let (create, changes) = changes.split_first().unwrap();
    create.create(&place, version).unwrap();
    for operation in changes.iter().chain(before) {
        if !(*create == Operation::CreateDense && operation.is_sparse_only()) {
            operation.run(&place).unwrap();
        }
    }
    live
}

/// What may have been done before, beside the changes.
pub const BEFORE: &[&[Operation]] = &[
    &[],
    &[Operation::ConsolidateCommits, Operation::ConsolidateFragmentMeta, Operation::ConsolidateMetadata],
    &[
        Operation::ConsolidateCommits,
        Operation::VacuumCommits,
        Operation::ConsolidateFragmentMeta,
        Operation::Write { at: 40, cells: &[50], number: 400 },
        Operation::Delete { at: 41, number: 100 },
        Operation::ConsolidateCommits,
        Operation::ConsolidateFragmentMeta,
    ],
    &[
        Operation::ConsolidateMetadata,
        Operation::PutMetadata { at: 41, key: "late", value: Some(3) },
        Operation::ConsolidateMetadata,
    ],
    &[
        Operation::ConsolidateMetadata,
        Operation::VacuumMetadata,
        Operation::PutMetadata { at: 41, key: "gone", value: Some(4) },
    ],
    &[Operation::ConsolidateFragments],
    &[
        Operation::ConsolidateCommits,
        Operation::VacuumCommits,
        Operation::ConsolidateFragments,
        Operation::Write { at: 40, cells: &[50], number: 400 },
        Operation::Delete { at: 41, number: 100 },
    ],
    &[
        Operation::ConsolidateFragments,
        Operation::VacuumFragments,
        Operation::Write { at: 40, cells: &[7, 8], number: 400 },
        Operation::ConsolidateFragments,
        Operation::ConsolidateCommits,
    ],
];

#[test]
fn upkeep_that_a_power_cut_interrupts_changes_nothing_and_can_be_repeated() {
    let disk_count = on_one_thread(cut_upkeep);
    println!("disks of upkeep: {disk_count}");
    assert!(disk_count > 10_000, "{disk_count}");
}

fn cut_upkeep() -> usize {
    let mut disk_count = 0;
    for changes in arrays() {
        for (idx, before) in BEFORE.iter().enumerate() {
            let disk = changed(&changes, before);
            let (base, expected) = (disk.image(), State::history(&place_on(&disk)).unwrap());
            // What several processes do differs in few steps: every other state will do.
            let together = (idx % 2 == 0).then_some(Operation::ConsolidateTogether);
            for operation in ALL_UPKEEP.iter().copied().chain(together) {
                disk_count += cut(&base, &expected, operation, &format!("{:?} {before:?}", changes[0]));
            }
        }
    }
    disk_count
}

/// Runs an operation and looks at the disks that a power cut may leave. Returns their number.
fn cut(base: &Image, expected: &[State], operation: Operation, context: &str) -> usize {
    let disk = SimDisk::from_image(base);
    operation.run(&place_on(&disk)).unwrap();
    let limits = CrashLimits { random_count: 1, ..CrashLimits::default() };
    // Upkeep changes nothing, acknowledged or not: a disk that several steps may leave is looked at once.
    let (mut seen, mut looked_at) = (HashSet::new(), 0);
    crash_states(base, &disk.ops(), limits, |crash| {
        // The third of three is for the long run of all sequences.
        if !seen.insert(crash.image.clone()) || seen.len().is_multiple_of(3) {
            return;
        }
        looked_at += 1;
        let context = format!("{operation:?} of {context}, {crash}");
        let mut left = SimDisk::from_image(&crash.image);
        // Commits and folders of fragments are then listed at once.
        if seen.len() % 3 == 1 {
            left = left.with_long_folders();
        }
        let place = place_on(&left);
        let found = State::history(&place).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_unchanged(expected, &found, &context);
        let repeated = operation.run(&place).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(
            repeated.as_ref().is_some_and(|report| report.warnings.is_empty()),
            "{context}: {repeated:?}"
        );
        let found = State::history(&place).unwrap();
        assert_unchanged(expected, &found, &format!("{context}, repeated"));
        let again = operation.run(&place).unwrap();
        assert!(again.is_some_and(|report| report.is_empty()), "{context}: never done, {repeated:?}");
    });
    looked_at
}

#[test]
fn every_two_upkeep_operations_change_nothing() {
    for changes in arrays() {
        for before in BEFORE {
            let disk = changed(&changes, before);
            let (base, expected) = (disk.image(), State::history(&place_on(&disk)).unwrap());
            for first in ALL_UPKEEP {
                for second in ALL_UPKEEP {
                    let place = place_on(&SimDisk::from_image(&base));
                    first.run(&place).unwrap();
                    second.run(&place).unwrap();
                    let context = format!("{first:?}, {second:?} after {:?} {before:?}", changes[0]);
                    assert_unchanged(&expected, &State::history(&place).unwrap(), &context);
                }
            }
        }
    }
}
