//! Deleting and copying fragments.

use smalti::upkeep::{
    Choice, FragmentChoice, FragmentDeletion, FragmentOptions, UpkeepOptions, VacuumOptions,
};
use smalti::{Array, Dimension, prelude::*};
use smalti::{EncryptionKey, Error, ErrorKind, TimeRange};

fn array(name: &str, capacity: u64) -> Array {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=99))
        .attribute(Attribute::of::<i32>("a"))
        .capacity(capacity)
        .build()
        .unwrap();
    Array::create_with(&crate::uri(name), &schema, &crate::options()).unwrap()
}

/// Three writes of the cells 0 to 4, each at a place of its own too; the newest value wins.
fn written(name: &str) -> (Array, Vec<String>) {
    let array = array(name, 3);
    let names = [10, 20, 30].map(|at: u64| {
        let x = [0, 1, 2, 3, 4, at as i32];
        let a = [at as i32; 6];
        array.write().column("x", &x).column("a", &a).at(at).commit().unwrap().name().to_owned()
    });
    (array, names.to_vec())
}

fn sum(array: &Array) -> (usize, i64) {
    let batch = array.read().select(["a"]).collect().unwrap();
    let column = batch.column(0).as_any().downcast_ref::<arrow_array::Int32Array>().unwrap();
    (batch.num_rows(), column.values().iter().map(|&a| i64::from(a)).sum())
}

fn named(names: &[&String]) -> FragmentDeletion {
    FragmentDeletion::of(FragmentChoice::Named(names.iter().map(|name| name.to_string()).collect()))
}

#[test]
fn a_deleted_fragment_shows_what_lies_below() {
    let (mut array, names) = written("delete-fragment");
    assert_eq!(sum(&array), (8, 5 * 30 + 10 + 20 + 30));
    let done = array.delete_fragments(&named(&[&names[2]])).unwrap();
    assert_eq!((done.fragments, done.replaced.len()), (vec![names[2].clone()], 0));
    assert!(done.byte_len > 0);
    assert_eq!(sum(&array), (7, 5 * 20 + 10 + 20));
    let time = FragmentChoice::Within(TimeRange { start: 10, end: 20 });
    assert_eq!(array.delete_fragments(&FragmentDeletion::of(time)).unwrap().fragments, names[..2]);
    assert_eq!(sum(&array), (0, 0));
}

#[test]
fn a_dry_run_deletes_nothing() {
    let (mut array, names) = written("delete-dry");
    let done = array.delete_fragments(&FragmentDeletion { is_dry_run: true, ..named(&[&names[0]]) }).unwrap();
    assert_eq!(done.fragments, names[..1]);
    assert_eq!(array.fragments().unwrap().len(), 3);
}

#[test]
fn what_a_deleted_fragment_was_merged_of_does_not_come_back() {
    let (mut array, names) = written("delete-merged");
    for pair in [&names[..2], &names[2..]] {
        let merged = array.fragments().unwrap().iter().map(|one| one.name().to_owned()).collect::<Vec<_>>();
        let own = merged.iter().filter(|name| pair.contains(name) || !names.contains(name));
        let choice = Choice::Listed(own.cloned().collect());
        array.consolidate(&FragmentOptions { choice, ..FragmentOptions::default() }).unwrap();
    }
    let merged = array.fragments().unwrap()[0].name().to_owned();
    let done = array.delete_fragments(&named(&[&merged])).unwrap();
    assert_eq!((done.fragments.len(), done.replaced.len()), (1, 4), "merged twice");
    assert_eq!(array.fragments().unwrap().len(), 0);
    for at in [10, 20, 30, 40] {
        let then = Array::open_with(&crate::uri("delete-merged"), &crate::options().at(at)).unwrap();
        assert_eq!(sum(&then), (0, 0));
    }
    assert_eq!(array.vacuum(&VacuumOptions::default()).unwrap().fragments.len(), 0);
}

#[test]
fn names_that_are_not_visible_are_refused_and_nothing_is_deleted() {
    let (mut array, names) = written("delete-unknown");
    let refused = array.delete_fragments(&named(&[&names[0], &"__1_1_ab_22".to_owned()])).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert_eq!(array.fragments().unwrap().len(), 3);
    array.consolidate(&FragmentOptions::default()).unwrap();
    let refused = array.delete_fragments(&named(&[&names[0]])).unwrap_err();
    assert!(refused.to_string().contains("vacuum"), "{refused}");
}

#[test]
fn open_readers_keep_fragments() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("array").to_str().unwrap().to_owned();
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=99))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let mut array = Array::create_with(&uri, &schema, &crate::options()).unwrap();
    array.write().column("x", &[1]).column("a", &[2]).commit().unwrap();
    let reader = Array::open_with(&uri, &crate::options()).unwrap();
    let all = FragmentDeletion::of(FragmentChoice::Within(TimeRange::ALL));
    assert!(array.delete_fragments(&all).unwrap().waits_for_readers);
    assert_eq!(sum(&reader), (1, 2));
    drop(reader);
    assert_eq!(array.delete_fragments(&all).unwrap().fragments.len(), 1);
}

#[test]
fn copied_fragments_say_the_same() {
    let (from, names) = written("copy-from");
    let to = array("copy-to", 3);
    let copied = from.copy_fragments(&names[1..], &to, None).unwrap();
    assert_eq!(copied, names[1..]);
    assert_eq!(sum(&to), (7, 5 * 30 + 20 + 30));
    let refused = from.copy_fragments(&names[..2], &to, None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert_eq!(to.fragments().unwrap().len(), 2, "nothing of a refused copy is seen");
    let schema_name = to.fragments().unwrap()[0].schema_name().to_owned();
    assert_ne!(schema_name, from.fragments().unwrap()[0].schema_name());
}

#[test]
fn fragments_that_were_deleted_are_copied_back() {
    let (from, names) = written("copy-back-from");
    let mut to = array("copy-back-to", 3);
    for times in 1..=2 {
        assert_eq!(from.copy_fragments(&names, &to, None).unwrap(), names, "time {times}");
        assert_eq!(sum(&to), sum(&from), "time {times}");
        to.consolidate_commits(&UpkeepOptions::default()).unwrap();
        to.vacuum_commits(&UpkeepOptions::default()).unwrap();
        assert_eq!(sum(&to), sum(&from), "time {times}, with commits consolidated");
        to.delete_fragments(&named(&[&names[0], &names[2]])).unwrap();
        assert_eq!(to.fragments().unwrap().len(), 1, "time {times}");
        to.delete_fragments(&named(&[&names[1]])).unwrap();
        assert_eq!(sum(&to), (0, 0), "time {times}");
    }
}

fn refusal(from: &Array, to: &Array) -> Error {
    let names: Vec<String> = from.fragments().unwrap().iter().map(|one| one.name().to_owned()).collect();
    let error = from.copy_fragments(&names, to, None).unwrap_err();
    assert_eq!(to.fragments().unwrap().len(), 0);
    error
}

#[test]
fn copies_to_arrays_that_differ_are_refused_and_say_what_differs() {
    let (from, _) = written("copy-differs");
    let error = refusal(&from, &array("copy-capacity", 4));
    assert!(error.to_string().contains("capacity"), "{error}");
    let other = |name: &str, dimension: Dimension, attribute: Attribute| {
        let schema = Schema::sparse().dimension(dimension).attribute(attribute).capacity(3).build().unwrap();
        Array::create_with(&crate::uri(name), &schema, &crate::options()).unwrap()
    };
    let x = || Dimension::new("x", 0..=99);
    let error = refusal(&from, &other("copy-attribute", x(), Attribute::of::<i64>("a")));
    assert!(error.to_string().contains("attribute \"a\""), "{error}");
    let error = refusal(&from, &other("copy-domain", Dimension::new("x", 0..=98), Attribute::of::<i32>("a")));
    assert!(error.to_string().contains("dimension \"x\""), "{error}");
}

#[test]
fn copies_between_encryption_keys_are_refused() {
    let (from, names) = written("copy-plain");
    let schema = from.schema().clone();
    let options = crate::options().key(EncryptionKey::new(&[7; 32]).unwrap());
    let to = Array::create_with(&crate::uri("copy-locked"), &schema, &options).unwrap();
    assert_eq!(from.copy_fragments(&names, &to, None).unwrap_err().kind(), ErrorKind::Permission);
}
