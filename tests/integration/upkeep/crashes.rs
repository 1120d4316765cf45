//! Every state that a power cut may leave during upkeep: the array says the same, and the operation succeeds when it is
//! repeated (invariants I1 to I7).

use super::operation::{Operation, UPKEEP};
use super::state::{State, assert_unchanged};
use super::{CHANGES, place_on};
use smalti_store::{CrashLimits, SimDisk, crash_states};

/// What may have been done before, beside [`CHANGES`].
const BEFORE: &[&[Operation]] = &[
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
];

#[test]
fn upkeep_that_a_power_cut_interrupts_changes_nothing_and_can_be_repeated() {
    let mut state_count = 0;
    for before in BEFORE {
        let disk = SimDisk::new();
        let place = place_on(&disk);
        for operation in CHANGES.iter().chain(*before) {
            operation.run(&place).unwrap();
        }
        let (base, expected) = (disk.image(), State::history(&place).unwrap());
        for &operation in UPKEEP {
            let disk = SimDisk::from_image(&base);
            operation.run(&place_on(&disk)).unwrap();
            let limits = CrashLimits { random_count: 2, ..CrashLimits::default() };
            state_count += crash_states(&base, &disk.ops(), limits, |crash| {
                let context = format!("{operation:?} after {before:?}, {crash}");
                let disk = SimDisk::from_image(&crash.image);
                let place = place_on(&disk);
                let found = State::history(&place).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_unchanged(&expected, &found, &context);
                let repeated = operation.run(&place).unwrap_or_else(|error| panic!("{context}: {error}"));
                let found = State::history(&place).unwrap();
                assert_unchanged(&expected, &found, &format!("{context}, repeated"));
                let again = operation.run(&place).unwrap();
                assert!(again.is_some_and(|report| report.is_empty()), "{context}: never done, {repeated:?}");
            });
        }
    }
    assert!(state_count > 250, "{state_count}");
}

#[test]
fn every_two_upkeep_operations_change_nothing() {
    for before in BEFORE {
        let disk = SimDisk::new();
        let place = place_on(&disk);
        for operation in CHANGES.iter().chain(*before) {
            operation.run(&place).unwrap();
        }
        let (base, expected) = (disk.image(), State::history(&place).unwrap());
        for first in UPKEEP {
            for second in UPKEEP {
                let place = place_on(&SimDisk::from_image(&base));
                first.run(&place).unwrap();
                second.run(&place).unwrap();
                let context = format!("{first:?}, {second:?} after {before:?}");
                assert_unchanged(&expected, &State::history(&place).unwrap(), &context);
            }
        }
    }
}
