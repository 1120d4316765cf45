//! What a forked process is told, and what it can do: it has the handles of its parent, but none of its threads.

use smalti::{Array, Columns, Context, Dimension, Group, Options, prelude::*};
use smalti_tests::forked::in_a_fork;
use std::sync::Mutex;

const CELL_COUNT: i32 = 300_000;

fn cells(array: &Array) -> smalti::Result<Vec<i32>> {
    Ok(array.read().to_ndarray::<i32>("a")?.into_raw_vec_and_offset().0)
}

#[test]
fn a_forked_process_is_refused_what_is_its_parents_and_works_with_a_context_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let uri = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let context = Context::new().threads(2);
    let options = Options::new().context(&context);
    let dimension = Dimension::new("x", 0..=CELL_COUNT - 1).tile(CELL_COUNT / 10);
    let schema = Schema::dense().dimension(dimension).attribute(Attribute::of::<i32>("a")).build().unwrap();
    let expected: Vec<i32> = (0..CELL_COUNT).collect();
    Array::create(&uri("array"), &schema).unwrap().write().column("a", &expected).commit().unwrap();
    let group = Group::create_with(&uri("group"), &options).unwrap();

    let array = Array::open_with(&uri("array"), &options).unwrap();
    // The threads run, and so do those of the default context.
    assert_eq!(cells(&array).unwrap(), expected);
    assert_eq!(cells(&Array::open(&uri("array")).unwrap()).unwrap(), expected);
    let batches = Mutex::new(array.read().batches().unwrap());
    let raw = Mutex::new(array.read_raw(&smalti::ReadRequest::default()).unwrap());
    let writer = Mutex::new(array.global_writer().start().unwrap());

    let in_child = {
        let (array, group, options, uri) = (array.clone(), group.clone(), options.clone(), uri("array"));
        let expected = expected.clone();
        move || {
            let is_told = |outcome: Result<(), smalti::Error>| {
                outcome.is_err_and(|error| error.to_string().contains("make a new context"))
            };
            let piece = || Columns::new().column("a", &expected[..1000]);
            let refused = [
                Array::open_with(&uri, &options).map(drop),
                cells(&array).map(drop),
                array.metadata().map(drop),
                array.write_metadata().put("key", 1).commit().map(drop),
                array.write().column("a", &expected).commit().map(drop),
                group.members().map(drop),
                group.write_members().remove("a").commit().map(drop),
                writer.lock().unwrap().submit(piece()),
                batches.lock().unwrap().next().map_or(Ok(()), |batch| batch.map(drop)),
                raw.lock().unwrap().next().map_or(Ok(()), |batch| batch.map(drop)),
            ];
            let mut said = 0;
            for (bit, outcome) in refused.into_iter().enumerate() {
                said |= u16::from(is_told(outcome)) << bit;
            }
            let own = Options::new().context(&Context::new().threads(2));
            let works = [
                Array::open(&uri).and_then(|array| cells(&array)),
                Array::open_with(&uri, &own).and_then(|array| cells(&array)),
            ];
            for (bit, outcome) in works.into_iter().enumerate() {
                said |= u16::from(outcome.is_ok_and(|cells| cells == expected)) << (10 + bit);
            }
            said
        }
    };
    let said = in_a_fork(in_child).unwrap();
    assert_eq!(format!("{said:012b}"), "111111111111");
    // Nothing has changed here.
    assert_eq!(cells(&array).unwrap(), expected);
    assert_eq!(group.members().unwrap().len(), 0);
}
