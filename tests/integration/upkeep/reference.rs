//! Where libtiledb 2.30 fails, one test a failure; and the two promises about time that go with the fifth.
//!
//! Bombs other than those of the eighth are in `mutation.rs`, `bad_input.rs` and the fuzz targets; more on commits in
//! `commits.rs`; every crash state in `crashes.rs` and `cuts.rs`.

use super::crashes::{arrays, changed};
use super::expectation::{Answer, Expectation};
use super::operation::{Operation, WAITS_FOR_READERS, write_cells};
use super::state::{State, assert_unchanged};
use super::{CHANGES, DENSE_CHANGES, array_in_memory, place_on};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::{MetadataEntry, MetadataValue};
use smalti_query::{ReadRequest, read};
use smalti_store::{
    CrashLimits, ManualClock, MemoryStore, SeededEntropy, SimDisk, Store, StoreExt, crash_states,
};
use smalti_tests::counting::asked_here;
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Clock, Datatype, Env, ErrorKind, TimeRange};
use std::sync::Arc;

const METADATA: Operation = Operation::PutMetadata { at: 50, key: "kept", value: Some(5) };
const DELETE: Operation = Operation::Delete { at: 51, number: 105 };
const WRITE: Operation = Operation::Write { at: 52, cells: &[4, 5], number: 500 };

/// Looks at every state that a power cut may leave of an operation.
fn cut_everywhere(array: &[Operation], operation: Operation) {
    let base = changed(array, &[]).image();
    let expectation = Expectation::new(&base, operation);
    crash_states(&base, &expectation.steps, CrashLimits::default(), |crash| {
        let is_acknowledged = crash.op_count == expectation.steps.len();
        let answer = if is_acknowledged { Answer::Success } else { Answer::Unknown };
        expectation.check(&crash.image, answer, METADATA, &format!("{operation:?}, {crash}"));
    });
}

/// Exchanges the content of a file.
fn exchange(store: &MemoryStore, path: &str, content: &[u8]) {
    store.delete_files(&[path]).unwrap();
    store.put(path, &[content]).unwrap();
}

fn only(names: Vec<String>, ending: &str) -> String {
    names.into_iter().find(|name| name.ends_with(ending)).unwrap()
}

#[test]
fn the_reference_fails_1_by_torn_metadata_and_deletes_that_lock_an_array() {
    for operation in [METADATA, DELETE, Operation::ConsolidateMetadata] {
        cut_everywhere(CHANGES, operation);
    }
}

#[test]
fn the_reference_fails_2_by_cells_that_a_cut_consolidation_doubles_or_hides() {
    for array in arrays() {
        cut_everywhere(&array, Operation::ConsolidateFragments);
    }
}

#[test]
fn the_reference_fails_3_at_missing_folders_halved_metadata_and_bad_lines() {
    let (store, place) = array_in_memory(CHANGES);
    let whole = State::at(&place, u64::MAX).unwrap();
    let files = store.files();
    // A commit without its folder.
    let fragment = store.list_names("array/__fragments").unwrap().remove(0);
    store.delete_folders(&[&format!("array/__fragments/{fragment}")]).unwrap();
    let state = State::at(&place, u64::MAX).unwrap();
    assert_eq!((state.warnings.len(), state.metadata), (1, whole.metadata.clone()));
    // Half of a fragment's metadata.
    let store = MemoryStore::from_files(files.clone()).unwrap();
    let place = super::place_in(Arc::new(store.clone()));
    let path = format!("array/__fragments/{fragment}/__fragment_metadata.tdb");
    let metadata = store.read_all(&path, 1 << 20).unwrap();
    for byte_len in 0..metadata.len() {
        exchange(&store, &path, &metadata[..byte_len]);
        let error = State::at(&place, u64::MAX).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error}");
        assert!(error.to_string().contains(&fragment), "{error}");
    }
    // Empty and senseless lines in a vacuum file.
    let store = MemoryStore::from_files(files).unwrap();
    let place = super::place_in(Arc::new(store.clone()));
    Operation::ConsolidateFragments.run(&place).unwrap();
    let list = format!("array/__commits/{}", only(store.list_names("array/__commits").unwrap(), ".vac"));
    let text = store.read_all(&list, 1 << 20).unwrap();
    exchange(&store, &list, &[b"\n\xff\0senseless\n", text.as_ref(), b"\n../../..\n"].concat());
    let state = State::at(&place, u64::MAX).unwrap();
    assert_eq!((state.cells, state.warnings.is_empty()), (whole.cells, false));
}

#[test]
fn the_reference_fails_4_by_wrong_cells_from_flipped_bits_of_fragment_metadata() {
    for array in [CHANGES, DENSE_CHANGES] {
        let (store, place) = array_in_memory(array);
        let whole = State::at(&place, u64::MAX).unwrap();
        let fragment = store.list_names("array/__fragments").unwrap().remove(0);
        let path = format!("array/__fragments/{fragment}/__fragment_metadata.tdb");
        let metadata = store.read_all(&path, 1 << 20).unwrap().to_vec();
        let (mut silent_count, mut wrong) = (0, Vec::new());
        for bit in 0..metadata.len() * 8 {
            let mut flipped = metadata.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            exchange(&store, &path, &flipped);
            match State::at(&place, u64::MAX) {
                Ok(state) if state.cells == whole.cells => silent_count += 1,
                Ok(_) => wrong.push((bit / 8, bit % 8)),
                Err(_) => {}
            }
        }
        println!("{} bits, {silent_count} without effect, wrong: {wrong:?}", metadata.len() * 8);
        // Which cells of a dense tile were written is said once, by the rectangle around them.
        let domain = if array == DENSE_CHANGES { non_empty_domain(&metadata) } else { 0..0 };
        assert!(wrong.iter().all(|(byte, _)| domain.contains(byte)), "{wrong:?}, {domain:?}");
    }
}

/// Where a fragment's metadata has the non-empty domain of its one dimension of 32 bits.
fn non_empty_domain(metadata: &[u8]) -> std::ops::Range<usize> {
    let number = |at: usize| u64::from_le_bytes(metadata[at..at + 8].try_into().unwrap()) as usize;
    // The length of the footer ends the file; the version and the name of the schema begin it, and two flags follow.
    let footer = metadata.len() - 8 - number(metadata.len() - 8);
    let domain = footer + 4 + 8 + number(footer + 4) + 2;
    domain..domain + 8
}

/// What stands in one cell.
fn cell(place: &ArrayPlace, x: i32) -> u32 {
    let cells = State::at(place, u64::MAX).unwrap().cells.unwrap();
    cells.iter().find(|(at, _)| *at == x).unwrap().1
}

#[test]
fn the_reference_fails_5_by_losing_the_later_of_two_writes_in_one_millisecond() {
    for create in [Operation::Create, Operation::CreateDense] {
        for _ in 0..20 {
            let (_, place) = array_in_memory(&[create]);
            for number in 0..10 {
                write_cells(&place, Some(7), &[3, 4], number * 10, None).unwrap();
            }
            assert_eq!(cell(&place, 4), 91);
            for upkeep in [Operation::ConsolidateFragments, Operation::VacuumFragments] {
                upkeep.run(&place).unwrap();
                assert_eq!(cell(&place, 4), 91, "after {upkeep:?}");
            }
            write_cells(&place, Some(7), &[3, 4], 200, None).unwrap();
            assert_eq!(cell(&place, 4), 201);
        }
    }
}

#[test]
fn of_two_values_of_a_key_in_one_millisecond_the_later_stays() {
    let (_, place) = array_in_memory(&[Operation::Create]);
    for value in 0..20 {
        Operation::PutMetadata { at: 7, key: "k", value: Some(value) }.run(&place).unwrap();
    }
    let kept = || place.metadata(TimeRange::ALL).unwrap()["k"].bytes.clone();
    assert_eq!(kept(), 19_i32.to_le_bytes());
    Operation::ConsolidateMetadata.run(&place).unwrap();
    Operation::VacuumMetadata.run(&place).unwrap();
    assert_eq!(kept(), 19_i32.to_le_bytes());
}

/// A clock that others move.
struct SharedClock(Arc<ManualClock>);

impl Clock for SharedClock {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }
}

#[test]
fn a_clock_that_steps_back_changes_nothing_of_the_order_of_writes() {
    for create in [Operation::Create, Operation::CreateDense] {
        let (clock, store) = (Arc::new(ManualClock::new(1_000)), MemoryStore::new());
        let env = Env::new(SharedClock(Arc::clone(&clock)), SeededEntropy::new(1));
        let place = ArrayPlace::in_store(Arc::new(store), "array".into(), None, env);
        create.run(&place).unwrap();
        for (round, now) in [1_000, 500, 2_000, 1, 1, 1_999].into_iter().enumerate() {
            clock.set(now);
            write_cells(&place, None, &[3, 4], round as u32 * 10, None).unwrap();
            let value = MetadataValue { datatype: Datatype::UInt8, bytes: vec![round as u8] };
            place.put_metadata(vec![MetadataEntry { key: "k".into(), value: Some(value) }], None).unwrap();
            assert_eq!(cell(&place, 4), round as u32 * 10 + 1);
            assert_eq!(place.metadata(TimeRange::ALL).unwrap()["k"].bytes, [round as u8]);
        }
        for upkeep in super::operation::ALL_UPKEEP {
            upkeep.run(&place).unwrap();
            assert_eq!(cell(&place, 4), 51, "after {upkeep:?}");
        }
    }
}

#[test]
fn the_reference_fails_6_by_vacuum_under_open_readers_and_fill_values_for_a_lost_past() {
    let (_, place) = array_in_memory(DENSE_CHANGES);
    let before = State::history(&place).unwrap();
    let open = Snapshot::open(place.clone(), TimeRange::until(25)).unwrap();
    Operation::ConsolidateFragments.run(&place).unwrap();
    let report = Operation::VacuumFragments.run(&place).unwrap().unwrap();
    assert_eq!(report.warnings, [WAITS_FOR_READERS]);
    let cells: usize =
        read(&open, &ReadRequest::default()).unwrap().map(|batch| batch.unwrap().cell_count).sum();
    assert_eq!(cells, 100);
    drop(open);
    assert!(Operation::VacuumFragments.run(&place).unwrap().unwrap().warnings.is_empty());
    let after = State::history(&place).unwrap();
    assert_unchanged(&before, &after, &"vacuumed");
    let snapshot = Snapshot::open(place, TimeRange::until(25)).unwrap();
    let Err(error) = read(&snapshot, &ReadRequest::default()) else { panic!("a past that is gone was read") };
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("10 to 30"), "{error}");
}

#[test]
fn the_reference_fails_7_to_consolidate_commits_twice_and_to_purge_one_fragment() {
    let (_, place) = array_in_memory(CHANGES);
    let before = State::history(&place).unwrap();
    for operation in [
        Operation::Delete { at: 51, number: 9_999 },
        Operation::ConsolidateCommits,
        Operation::VacuumCommits,
        Operation::ConsolidateCommits,
    ] {
        operation.run(&place).unwrap();
        assert_unchanged(&before, &State::history(&place).unwrap(), &format!("{operation:?}"));
    }
    let cell_counts = || {
        let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
        let counts = snapshot.fragments().iter().map(|fragment| fragment.cell_count().unwrap());
        counts.collect::<Vec<_>>()
    };
    Operation::ConsolidateFragments.run(&place).unwrap();
    assert_eq!(cell_counts(), [12]);
    Operation::PurgeFragments.run(&place).unwrap();
    let seen = State::at(&place, u64::MAX).unwrap();
    assert_eq!(cell_counts().len(), 1);
    assert!(cell_counts()[0] < 12, "{:?}", cell_counts());
    assert_eq!(seen.cells, before.last().unwrap().cells);
}

#[test]
fn what_was_purged_stays_refused_whatever_is_merged_later() {
    let (_, place) = array_in_memory(CHANGES);
    let after_purge = [
        Operation::PurgeFragments,
        WRITE,
        Operation::ConsolidateFragments,
        Operation::VacuumFragments,
        Operation::Write { at: 60, cells: &[70], number: 600 },
        Operation::PurgeFragments,
        Operation::VacuumFragments,
    ];
    for operation in after_purge {
        operation.run(&place).unwrap();
        assert_eq!(State::at(&place, 22).unwrap().cells, None, "{operation:?}");
    }
    // Nothing is left at all.
    let (_, place) = array_in_memory(&CHANGES[..2]);
    for number in 100..107 {
        Operation::Delete { at: 40, number }.run(&place).unwrap();
    }
    for operation in
        [Operation::PurgeFragments, Operation::VacuumFragments, WRITE, Operation::ConsolidateFragments]
    {
        operation.run(&place).unwrap();
        assert_eq!(State::at(&place, 22).unwrap().cells, None, "{operation:?}");
    }
    assert_eq!(State::at(&place, u64::MAX).unwrap().cells.unwrap().len(), 2);
}

/// A file that must be refused with little work, which the allocator counts.
fn assert_refused(place: &ArrayPlace, what: &str) {
    const MOST_ASKED_BYTES: usize = 64 << 20;
    let before = asked_here();
    let error = State::at(place, u64::MAX).unwrap_err();
    let asked = asked_here() - before;
    assert!(asked <= MOST_ASKED_BYTES, "{what} asked for {} MiB", asked >> 20);
    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{what}: {error}");
}

#[test]
fn the_reference_fails_8_at_files_that_ask_for_all_stack_time_or_memory() {
    let (store, place) = array_in_memory(CHANGES);
    let files = store.files();
    let fresh = || {
        let store = MemoryStore::from_files(files.clone()).unwrap();
        (store.clone(), super::place_in(Arc::new(store)))
    };
    // 100,000 nodes, each the only child of the one before.
    let mut nested = Vec::new();
    for _ in 0..100_000 {
        nested.extend([0, 0]);
        nested.extend(1_u64.to_le_bytes());
    }
    let version = place.newest_schema().unwrap().version;
    let mut tile = Vec::new();
    write_generic_tile(&nested, version, None, &mut tile, &mut Scratch::new()).unwrap();
    assert!(tile.len() < nested.len() / 50, "{}", tile.len());
    let delete = only(store.list_names("array/__commits").unwrap(), ".del");
    let (store, place) = fresh();
    exchange(&store, &format!("array/__commits/{delete}"), &tile);
    assert_refused(&place, "a nested condition");
    // Deletes of so many bytes that the next line begins before this one.
    for byte_len in [u64::MAX, u64::MAX - 8, u64::MAX - 70, 1 << 63, 1 << 40] {
        let (store, place) = fresh();
        let name = "__1_2_0123456789abcdef0123456789abcdef_22";
        let content = [format!("__commits/{delete}\n").as_bytes(), &byte_len.to_le_bytes()].concat();
        store.put(&format!("array/__commits/{name}.con"), &[&content]).unwrap();
        assert_refused(&place, "an endless list of commits");
    }
    // A file of some hundred bytes that says it holds 4 GiB.
    let (store, place) = fresh();
    let metadata = format!("array/__meta/{}", store.list_names("array/__meta").unwrap().remove(0));
    let mut bomb = store.read_all(&metadata, 1 << 20).unwrap().to_vec();
    assert!(bomb.len() < 200);
    // Behind the version (4 bytes) and the length on disk (8).
    bomb[12..20].copy_from_slice(&(4_u64 << 30).to_le_bytes());
    exchange(&store, &metadata, &bomb);
    assert_refused(&place, "a tile of 4 GiB");
}

#[test]
fn the_reference_fails_9_to_keep_what_it_acknowledged_through_a_power_cut() {
    for operation in [METADATA, DELETE, WRITE, Operation::Evolve { at: 53, name: "late" }] {
        let base = changed(CHANGES, &[]).image();
        let disk = SimDisk::from_image(&base);
        operation.run(&place_on(&disk)).unwrap();
        let (ops, expected) = (disk.ops(), State::history(&place_on(&disk)).unwrap());
        let mut state_count = 0;
        crash_states(&base, &ops, CrashLimits::default(), |crash| {
            if crash.op_count == ops.len() {
                state_count += 1;
                let found = State::history(&place_on(&SimDisk::from_image(&crash.image))).unwrap();
                assert_eq!(found, expected, "{operation:?}, {crash}");
            }
        });
        assert!(state_count > 0);
    }
}
