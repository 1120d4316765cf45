//! Consolidation reads back what it merged: whatever byte of a merged fragment's data is wrong, it finds out.

use super::operation::Operation;
use super::{CHANGES, array_in_memory, place_in};
use smalti_array::Snapshot;
use smalti_query::{MergeRequest, Progress, merge};
use smalti_store::MemoryStore;
use smalti_types::{ErrorKind, TimeRange};
use smalti_upkeep::verify_merge;
use std::sync::Arc;

/// Writes that hide nothing.
const WRITES: &[Operation] = &[
    Operation::CreateDups,
    Operation::Write { at: 10, cells: &[1, 2, 3, 4, 5], number: 100 },
    Operation::Write { at: 20, cells: &[3, 4, 30], number: 200 },
];

/// Writes of a dense array that fill two tiles: bytes of others belong to no cell.
const DENSE_WRITES: &[Operation] = &[
    Operation::CreateDense,
    Operation::Write { at: 10, cells: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], number: 100 },
    Operation::Write { at: 20, cells: &[12, 13, 14, 15, 16, 17, 18, 19], number: 200 },
];

#[test]
fn every_wrong_byte_of_merged_data_is_found() {
    for history in [WRITES, DENSE_WRITES] {
        let (store, place) = array_in_memory(history);
        let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
        let part = snapshot.of_fragments(snapshot.fragments().to_vec(), snapshot.schema_name()).unwrap();
        let request = MergeRequest::default();
        let merged = merge(&part, &request).unwrap();
        verify_merge(&part, &merged, &request).unwrap();
        let folder = merged.fragments[0].folder();
        let files = store.files();
        let is_data = |path: &&String| path.starts_with(folder) && !path.ends_with("__fragment_metadata.tdb");
        let mut count = 0;
        for path in files.keys().filter(is_data) {
            for at in 0..files[path].len() {
                let mut bytes = files[path].to_vec();
                bytes[at] ^= 1;
                let mut damaged = files.clone();
                damaged.insert(path.clone(), bytes.into());
                let place = place_in(Arc::new(MemoryStore::from_files(damaged).unwrap()));
                let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
                let part =
                    snapshot.of_fragments(snapshot.fragments().to_vec(), snapshot.schema_name()).unwrap();
                let error = verify_merge(&part, &merged, &request).expect_err(&format!("{path}, byte {at}"));
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                count += 1;
            }
        }
        assert!(count > 100, "{count}");
    }
}

/// Writes of which some hide others at a time of their own.
const OVERWRITES: &[Operation] = &[
    Operation::Create,
    Operation::Write { at: 10, cells: &[1, 2, 3, 4, 5], number: 100 },
    Operation::Write { at: 20, cells: &[3, 4, 30], number: 200 },
];

/// A write that hides all of an earlier one.
const HIDING: &[Operation] = &[
    Operation::Create,
    Operation::Write { at: 10, cells: &[3, 4], number: 100 },
    Operation::Write { at: 20, cells: &[3, 4, 30], number: 200 },
];

/// Writes of which some hide others, and a delete of one of them.
const DELETES: &[Operation] = &[
    Operation::Create,
    Operation::Write { at: 10, cells: &[1, 2, 3, 4, 5], number: 100 },
    Operation::Write { at: 20, cells: &[3, 4, 30], number: 200 },
    Operation::Delete { at: 25, number: 201 },
];

/// The same at one time: of two cells one is shown.
const TIES: &[Operation] = &[
    Operation::Create,
    Operation::Write { at: 10, cells: &[1, 2, 3, 4, 5], number: 100 },
    Operation::Write { at: 10, cells: &[3, 4, 30], number: 200 },
];

#[test]
fn every_version_is_compared_where_a_merge_keeps_them_all() {
    // (history, whether deleted cells are thrown away, cells that verifying reads)
    let cases = [
        (WRITES, false, 2 * 8),
        (OVERWRITES, false, 2 * 8),
        // A delete may take versions out: what is shown is compared.
        (DELETES, false, 2 * 5),
        (DELETES, true, 2 * 5),
        (TIES, false, 2 * 8),
    ];
    for (history, purges, cell_count) in cases {
        let (_, place) = array_in_memory(history);
        let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
        let part = snapshot.of_fragments(snapshot.fragments().to_vec(), snapshot.schema_name()).unwrap();
        let merged = merge(&part, &MergeRequest { purges, ..MergeRequest::default() }).unwrap();
        let progress = Arc::new(Progress::new());
        let request =
            MergeRequest { purges, progress: Some(Arc::clone(&progress)), ..MergeRequest::default() };
        verify_merge(&part, &merged, &request).unwrap();
        assert_eq!(progress.statistics().cell_count, cell_count, "{history:?}, {purges}");
    }
    // Where versions are missing that nothing shows any more, what is shown decides.
    let (_, place) = array_in_memory(HIDING);
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let part_of = |from: usize| {
        snapshot.of_fragments(snapshot.fragments()[from..].to_vec(), snapshot.schema_name()).unwrap()
    };
    let merged = merge(&part_of(1), &MergeRequest::default()).unwrap();
    let progress = Arc::new(Progress::new());
    let request = MergeRequest { progress: Some(Arc::clone(&progress)), ..MergeRequest::default() };
    verify_merge(&part_of(0), &merged, &request).unwrap();
    assert_eq!(progress.statistics().cell_count, (2 + 3) + 3 + 2 * 3);
}

#[test]
fn merges_with_a_history_are_what_they_were_made_of() {
    let (_, place) = array_in_memory(CHANGES);
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let part = snapshot.of_fragments(snapshot.fragments().to_vec(), snapshot.schema_name()).unwrap();
    for purges in [false, true] {
        let request = MergeRequest { purges, ..MergeRequest::default() };
        let merged = merge(&part, &request).unwrap();
        verify_merge(&part, &merged, &request).unwrap();
        merged.discard();
    }
    // A fragment that lacks a write is not.
    let fewer = snapshot.of_fragments(snapshot.fragments()[1..].to_vec(), snapshot.schema_name()).unwrap();
    let request = MergeRequest::default();
    let merged = merge(&fewer, &request).unwrap();
    let error = verify_merge(&part, &merged, &request).unwrap_err();
    assert!(error.to_string().contains("does not hold the cells that were merged"), "{error}");
}
