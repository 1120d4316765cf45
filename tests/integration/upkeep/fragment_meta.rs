//! Consolidated fragment metadata.

use super::operation::Operation;
use super::state::State;
use super::{CHANGES, array_in_memory, place_in};
use smalti_array::Snapshot;
use smalti_query::{ReadRequest, read};
use smalti_store::{MemoryStore, MeteredStore, Store, StoreExt};
use smalti_types::{Extent, Physical, TimeRange};
use std::sync::Arc;

/// An array of twenty fragments.
fn many_fragments() -> (MemoryStore, smalti_array::ArrayPlace) {
    let (store, place) = array_in_memory(&[Operation::Create]);
    for at in 1..=20 {
        Operation::Write { at, cells: &[1, 50], number: at as u32 }.run(&place).unwrap();
    }
    (store, place)
}

#[test]
fn an_array_of_many_fragments_opens_with_one_read_of_their_footers() {
    let (store, place) = many_fragments();
    Operation::ConsolidateFragmentMeta.run(&place).unwrap();
    Operation::ConsolidateCommits.run(&place).unwrap();
    Operation::VacuumCommits.run(&place).unwrap();
    let metered = Arc::new(MeteredStore::new(store));
    let snapshot = Snapshot::open(place_in(metered.clone()), TimeRange::ALL).unwrap();
    assert_eq!(snapshot.fragments().len(), 20);
    assert!(snapshot.warnings().is_empty(), "{:?}", snapshot.warnings());
    // The schema, the commits, the footers.
    assert_eq!(metered.traffic().read_count, 3);
    // Fragments written since are read themselves, and at an earlier time the file serves those that are seen.
    Operation::Write { at: 21, cells: &[7], number: 7 }.run(&place).unwrap();
    let before = metered.traffic();
    let snapshot = Snapshot::open(place_in(metered.clone()), TimeRange::ALL).unwrap();
    assert_eq!((snapshot.fragments().len(), metered.traffic().since(&before).read_count), (21, 4));
    let before = metered.traffic();
    let snapshot = Snapshot::open(place_in(metered.clone()), TimeRange::until(7)).unwrap();
    assert_eq!((snapshot.fragments().len(), metered.traffic().since(&before).read_count), (7, 3));
}

/// The footer has the rectangle of the only tile, and how long the files are that it alone is in.
#[test]
fn of_fragments_with_one_tile_nothing_but_the_footer_is_read() {
    let (store, place) = many_fragments();
    Operation::ConsolidateFragmentMeta.run(&place).unwrap();
    let metered = Arc::new(MeteredStore::new(store));
    let snapshot = Snapshot::open(place_in(metered.clone()), TimeRange::ALL).unwrap();
    let one = Extent::Num { lo: 1i32.ordinal(), hi: 1i32.ordinal() };
    let request = ReadRequest {
        fields: vec!["x".into(), "n".into()],
        ranges: vec![vec![one]],
        ..ReadRequest::default()
    };
    let before = metered.traffic();
    let batches: Vec<_> = read(&snapshot, &request).unwrap().map(Result::unwrap).collect();
    let numbers: Vec<u32> =
        batches.iter().flat_map(|batch| batch.columns[1].data.values::<u32>().to_vec()).collect();
    assert_eq!(numbers, [20]);
    // A tile of coordinates of each fragment, and the tile of the number that is seen.
    assert_eq!(metered.traffic().since(&before).read_count, 21);
}

#[test]
fn damaged_consolidated_metadata_is_passed_over() {
    let (store, place) = array_in_memory(CHANGES);
    let expected = State::at(&place, u64::MAX).unwrap();
    Operation::ConsolidateFragmentMeta.run(&place).unwrap();
    let name = store.list_names("array/__fragment_meta").unwrap().remove(0);
    let path = format!("array/__fragment_meta/{name}");
    let whole = store.read_all(&path, 1 << 20).unwrap();
    let mut warned_count = 0;
    for at in 0..whole.len() {
        for damaged in [whole[..at].to_vec(), flipped(&whole, at)] {
            store.delete_files(&[&path]).unwrap();
            store.put(&path, &[&damaged]).unwrap();
            let state = State::at(&place, u64::MAX).unwrap_or_else(|error| panic!("byte {at}: {error}"));
            assert_eq!(state.cells, expected.cells, "byte {at}");
            warned_count += state.warnings.len();
        }
    }
    assert!(warned_count > whole.len(), "{warned_count} of {}", whole.len());
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x10;
    bytes
}

#[test]
fn footers_of_another_array_are_found_out() {
    let (store, place) = array_in_memory(CHANGES);
    let expected = State::at(&place, u64::MAX).unwrap();
    Operation::ConsolidateFragmentMeta.run(&place).unwrap();
    let name = store.list_names("array/__fragment_meta").unwrap().remove(0);
    let path = format!("array/__fragment_meta/{name}");
    let tile = place.read_tile_file(&path).unwrap();
    let file = smalti_format::fragment::ConsolidatedFooters::decode(tile.as_slice()).unwrap();
    let index = smalti_format::fragment::FooterIndex::decode(tile.as_slice()).unwrap();
    let mut names: Vec<_> = file
        .entries
        .iter()
        .map(|entry| smalti_format::names::TimestampedName::parse(&entry.name).unwrap())
        .collect();
    let footers: Vec<Vec<u8>> = names.iter().map(|name| index.footer(name).unwrap().to_vec()).collect();
    names.rotate_left(1);
    let swapped: Vec<(String, Vec<u8>)> = names.iter().map(ToString::to_string).zip(footers).collect();
    let payload = smalti_format::fragment::ConsolidatedFooters::encode(&swapped).unwrap();
    store.delete_files(&[&path]).unwrap();
    place.put_tile_file(&path, &payload).unwrap();
    let error = State::at(&place, u64::MAX).unwrap_err();
    assert!(error.to_string().contains("consolidated fragment metadata"), "{error}");
    // Consolidation reads the fragments themselves, and so does not pass the mistake on.
    assert!(Operation::ConsolidateFragmentMeta.run(&place).is_err());
    store.delete_files(&[&path]).unwrap();
    assert_eq!(State::at(&place, u64::MAX).unwrap(), expected);
}

#[test]
fn vacuum_leaves_the_newest_file() {
    let (store, place) = many_fragments();
    Operation::ConsolidateFragmentMeta.run(&place).unwrap();
    Operation::Write { at: 21, cells: &[7], number: 7 }.run(&place).unwrap();
    Operation::ConsolidateFragmentMeta.run(&place).unwrap();
    assert_eq!(store.list_names("array/__fragment_meta").unwrap().len(), 2);
    let report = Operation::VacuumFragmentMeta.run(&place).unwrap().unwrap();
    assert_eq!(report.removed.len(), 1);
    let left = store.list_names("array/__fragment_meta").unwrap();
    assert!(left.len() == 1 && left[0].starts_with("__1_21_"), "{left:?}");
}
