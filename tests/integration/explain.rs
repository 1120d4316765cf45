//! What `explain` counts is what the store counts.

use crate::oracle::arrays::{Columns, Row, dimension, schema};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{FragmentFate, Progress, ReadRequest, Strategy, analyze, read, write};
use smalti_store::{ManualClock, MemoryStore, MeteredStore, SeededEntropy};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Env, ErrorKind, Extent, Layout, Physical, Scalar, TimeRange};
use std::sync::Arc;

const LEN: i32 = 200;

/// An array of four fragments, one behind the other, in a store that counts.
fn array(array_type: ArrayType, allows_dups: bool) -> (Arc<MeteredStore<MemoryStore>>, Snapshot) {
    array_of(array_type, allows_dups, 50)
}

/// The same with another distance between the fragments' first cells.
fn array_of(
    array_type: ArrayType,
    allows_dups: bool,
    step: i32,
) -> (Arc<MeteredStore<MemoryStore>>, Snapshot) {
    let store = Arc::new(MeteredStore::new(MemoryStore::new()));
    let env = Env::new(ManualClock::new(1), SeededEntropy::new(3));
    let place = ArrayPlace::in_store(store.clone(), "array".into(), None, env);
    let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(LEN - 1))), Some(Scalar::I32(10)));
    let mut schema = schema(array_type, vec![x], (Layout::RowMajor, Layout::RowMajor));
    schema.allows_dups = allows_dups;
    place.create(&schema).unwrap();
    for fragment in 0..4 {
        let cells: Vec<i32> = (fragment * step..fragment * step + 50).collect();
        let rows: Vec<Row> = cells
            .iter()
            .map(|&cell| (cell as u32, (cell % 3 != 0).then(|| vec![b'a'; cell as usize % 7])))
            .collect();
        let columns = Columns::of(rows.iter());
        let mut request = columns.request(Layout::Unordered, None);
        if array_type == ArrayType::Dense {
            request.layout = Layout::RowMajor;
            request.subarray = Some(vec![extent(fragment * step, fragment * step + 49)]);
        } else {
            request.columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(&cells))));
        }
        write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    }
    (store, Snapshot::open(place, TimeRange::ALL).unwrap())
}

fn extent(lo: i32, hi: i32) -> Extent {
    Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() }
}

#[test]
fn what_a_read_counts_is_what_the_store_counts() {
    for (array_type, allows_dups) in
        [(ArrayType::Dense, false), (ArrayType::Sparse, false), (ArrayType::Sparse, true)]
    {
        let (store, snapshot) = array(array_type, allows_dups);
        for number in 0..50 {
            let (lo, len) = (number * 37 % LEN, number * 11 % 90);
            let request = ReadRequest {
                ranges: vec![vec![extent(lo, (lo + len).min(LEN - 1))]],
                fields: [vec![], vec!["s".to_owned()], vec!["n".to_owned()]][number as usize % 3].clone(),
                layout: Some([Layout::RowMajor, Layout::GlobalOrder][number as usize % 2]),
                ..ReadRequest::default()
            };
            // The first read brings the metadata of the fragments, which they keep.
            let (explanation, _) = analyze(&snapshot, &request).unwrap();
            let before = store.traffic();
            let mut batches = read(&snapshot, &request).unwrap();
            let cells: usize = batches.by_ref().map(|batch| batch.unwrap().cell_count).sum();
            let (counted, traffic) = (batches.progress().statistics(), store.traffic().since(&before));
            assert_eq!(
                (counted.request_count, counted.byte_len),
                (traffic.read_count, traffic.read_byte_len),
                "{array_type} read {number}"
            );
            assert_eq!(counted.cell_count, cells as u64);
            assert!(counted.byte_len <= explanation.byte_len, "{array_type} read {number}");
            let read = explanation.fragments.iter().filter(|fragment| fragment.fate == FragmentFate::Read);
            let met = (lo / 50..=(lo + len).min(LEN - 1) / 50).count();
            assert_eq!(read.count(), met, "{array_type} read {number}: {explanation:?}");
        }
    }
}

#[test]
fn statistics_rule_fragments_out() {
    let (_, snapshot) = array(ArrayType::Sparse, true);
    let request =
        ReadRequest { condition: Some(Condition::compare("n", Relation::Ge, 150)), ..ReadRequest::default() };
    let (explanation, analysis) = analyze(&snapshot, &request).unwrap();
    let fates: Vec<FragmentFate> = explanation.fragments.iter().map(|fragment| fragment.fate).collect();
    use FragmentFate::{Read, RuledOut};
    assert_eq!(fates, [RuledOut, RuledOut, RuledOut, Read]);
    assert_eq!(analysis.statistics.cell_count, 50);
}

#[test]
fn the_strategy_follows_from_fragments_and_memory() {
    let strategy = |step, layout, memory_byte_len, batch_cell_count| {
        let (_, snapshot) = array_of(ArrayType::Sparse, false, step);
        let request = ReadRequest {
            layout: Some(layout),
            memory_byte_len,
            batch_cell_count: Some(batch_cell_count),
            ..ReadRequest::default()
        };
        analyze(&snapshot, &request).unwrap().0.strategy
    };
    assert_eq!(strategy(50, Layout::Unordered, None, 100), Strategy::TileByTile);
    assert_eq!(strategy(50, Layout::GlobalOrder, None, 100), Strategy::TileByTile);
    assert_eq!(strategy(50, Layout::GlobalOrder, Some(4000), 100), Strategy::TileByTile);
    assert_eq!(strategy(10, Layout::GlobalOrder, None, 1000), Strategy::SortedAtOnce);
    assert_eq!(strategy(10, Layout::GlobalOrder, Some(4000), 1000), Strategy::SortedByWindows);
    // The fragments share a few cells each with the next one.
    assert_eq!(strategy(47, Layout::GlobalOrder, None, 10), Strategy::Stretches);
    assert_eq!(strategy(47, Layout::Unordered, None, 10), Strategy::Stretches);
    assert_eq!(strategy(47, Layout::GlobalOrder, None, 1000), Strategy::SortedAtOnce);
    assert_eq!(
        analyze(&array(ArrayType::Dense, false).1, &ReadRequest::default()).unwrap().0.strategy,
        Strategy::DenseParts
    );
}

#[test]
fn a_read_that_was_stopped_reads_no_more() {
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        let (store, snapshot) = array(array_type, false);
        let progress = Arc::new(Progress::new());
        let request = ReadRequest {
            progress: Some(Arc::clone(&progress)),
            batch_cell_count: Some(10),
            ..ReadRequest::default()
        };
        let mut batches = read(&snapshot, &request).unwrap();
        batches.next().unwrap().unwrap();
        let before = store.traffic();
        progress.cancel();
        assert_eq!(batches.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(batches.next().is_none());
        assert_eq!(store.traffic(), before);
    }
}

#[test]
fn fragments_behind_each_other_are_read_without_their_coordinates() {
    let (store, snapshot) = array(ArrayType::Sparse, false);
    let request = ReadRequest {
        fields: vec!["n".into()],
        layout: Some(Layout::RowMajor),
        batch_cell_count: Some(30),
        ..ReadRequest::default()
    };
    let (explanation, _) = analyze(&snapshot, &request).unwrap();
    let before = store.traffic();
    let batches: Vec<_> = read(&snapshot, &request).unwrap().map(|batch| batch.unwrap()).collect();
    let traffic = store.traffic().since(&before);
    assert_eq!(
        (explanation.request_count, explanation.byte_len),
        (traffic.read_count, traffic.read_byte_len)
    );
    // A tile has five cells.
    assert_eq!(explanation.request_count, 40);
    assert!(batches.iter().all(|batch| batch.cell_count == 30 || batch.cell_count == 20));
    let numbers: Vec<u32> =
        batches.iter().flat_map(|batch| batch.columns[0].data.values::<u32>().to_vec()).collect();
    assert_eq!(numbers, (0..200).collect::<Vec<u32>>());
}

#[test]
fn statistics_rule_tiles_of_dense_arrays_out_and_in() {
    let (store, snapshot) = array(ArrayType::Dense, false);
    // Tiles of ten cells, whose numbers are their places.
    for (condition, tiles_of_n, tiles_of_s) in [
        (Condition::compare("n", Relation::Ge, 150), 0, 5),
        (Condition::compare("n", Relation::Lt, 42), 1, 5),
        (Condition::compare("n", Relation::Ge, 1000), 0, 0),
        (Condition::compare("n", Relation::Ne, 77), 1, 20),
        (Condition::compare("n", Relation::Ge, 95).and(Condition::compare("x", Relation::Lt, 130)), 1, 4),
    ] {
        for leaves_out in [false, true] {
            let request = ReadRequest {
                fields: vec!["x".into(), "s".into()],
                condition: Some(condition.clone()),
                leaves_out,
                ..ReadRequest::default()
            };
            let (explanation, _) = analyze(&snapshot, &request).unwrap();
            let before = store.traffic();
            let cells: usize =
                read(&snapshot, &request).unwrap().map(|batch| batch.unwrap().cell_count).sum();
            let traffic = store.traffic().since(&before);
            assert_eq!(
                (explanation.request_count, explanation.byte_len),
                (traffic.read_count, traffic.read_byte_len),
                "{condition}"
            );
            // A text of any length that may be null is in three files.
            assert_eq!(traffic.read_count, tiles_of_n + 3 * tiles_of_s, "{condition}");
            assert_eq!(cells == 200, !leaves_out, "{condition}");
            for fragment in &explanation.fragments {
                assert_eq!(fragment.met_tile_count, 5);
                let fate = match fragment.read_tile_count {
                    0 => FragmentFate::RuledOut,
                    _ => FragmentFate::Read,
                };
                assert_eq!(fragment.fate, fate);
            }
        }
    }
}
