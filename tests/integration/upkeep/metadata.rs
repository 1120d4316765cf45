//! Consolidated metadata of arrays and groups.

use super::operation::Operation;
use super::state::{State, assert_unchanged};
use super::{CHANGES, array_in_memory, place_in};
use smalti_format::{MetadataEntry, MetadataValue};
use smalti_store::{MemoryStore, Store};
use smalti_types::{Datatype, ErrorKind, TimeRange};
use std::sync::Arc;

fn files(store: &MemoryStore) -> Vec<String> {
    store.list_names("array/__meta").unwrap()
}

#[test]
fn a_time_whose_metadata_is_gone_is_an_error_that_says_so() {
    let (store, place) = array_in_memory(CHANGES);
    let before = State::history(&place).unwrap();
    Operation::ConsolidateMetadata.run(&place).unwrap();
    assert_eq!(before, State::history(&place).unwrap(), "before the vacuum all times are kept");
    assert_eq!(files(&store).len(), 5);
    Operation::VacuumMetadata.run(&place).unwrap();
    assert_eq!(files(&store).len(), 1);
    assert_unchanged(&before, &State::history(&place).unwrap(), &"vacuumed");
    for time in
        [TimeRange::until(15), TimeRange { start: 15, end: 25 }, TimeRange { start: 15, end: u64::MAX }]
    {
        let error = place.metadata(time).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.message().contains("from 11 to 31"), "{error}");
    }
    for time in [TimeRange::until(10), TimeRange { start: 32, end: 50 }] {
        assert!(place.metadata(time).unwrap().is_empty());
    }
    assert_eq!(place.metadata(TimeRange { start: 11, end: 31 }).unwrap().len(), 1);
}

#[test]
fn a_deleted_key_does_not_come_back_with_an_older_file() {
    let (_, place) = array_in_memory(CHANGES);
    Operation::ConsolidateMetadata.run(&place).unwrap();
    Operation::VacuumMetadata.run(&place).unwrap();
    Operation::PutMetadata { at: 2, key: "gone", value: Some(9) }.run(&place).unwrap();
    assert!(!place.metadata(TimeRange::ALL).unwrap().contains_key("gone"));
}

#[test]
fn originals_stay_while_the_merged_file_does_not_say_what_they_say() {
    let (store, place) = array_in_memory(CHANGES);
    Operation::ConsolidateMetadata.run(&place).unwrap();
    let merged = files(&store).into_iter().find(|name| name.ends_with(".vac")).unwrap();
    let merged = format!("array/__meta/{}", merged.trim_end_matches(".vac"));
    store.delete_files(&[&merged]).unwrap();
    for content in [None, Some(&b"torn"[..])] {
        if let Some(content) = content {
            store.put(&merged, &[content]).unwrap();
        }
        let before = files(&store);
        let report = Operation::VacuumMetadata.run(&place).unwrap().unwrap();
        assert!(report.is_empty() && report.warnings.len() == 1, "{report:?}");
        assert_eq!(files(&store), before);
    }
}

#[test]
fn metadata_of_a_group_is_merged_too() {
    let store = MemoryStore::new();
    let place = place_in(Arc::new(store.clone()));
    place.create_group().unwrap();
    for at in 1..=3_u64 {
        let value = MetadataValue { datatype: Datatype::UInt64, bytes: at.to_le_bytes().to_vec() };
        let entry = |key: &str| MetadataEntry { key: key.into(), value: Some(value.clone()) };
        place.put_metadata(vec![entry("same"), entry(&format!("k{at}"))], Some(at)).unwrap();
    }
    let before = place.metadata(TimeRange::ALL).unwrap();
    assert_eq!(before.len(), 4);
    Operation::ConsolidateMetadata.run(&place).unwrap();
    assert_eq!(place.metadata(TimeRange::until(2)).unwrap().len(), 3);
    Operation::VacuumMetadata.run(&place).unwrap();
    assert_eq!(place.metadata(TimeRange::ALL).unwrap(), before);
    assert_eq!(files(&store).len(), 1);
    let error = Operation::ConsolidateCommits.run(&place).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "a group has no commits");
}
