//! The write protocol under crashes and failing steps: every state is enumerated.

use smalti_store::{
    CrashLimits, FaultDisk, FaultEffect, FaultPlan, FaultScope, FaultStore, Image, LocalStore, MemoryStore,
    NewFile, NewTree, SimDisk, Store, StoreExt, SyncLevel, crash_states,
};
use smalti_types::Result;
use std::io;

const DATA: [&str; 3] =
    ["__fragments/f/a0.tdb", "__fragments/f/a1.tdb", "__fragments/f/__fragment_metadata.tdb"];

fn body(name: &str) -> Vec<u8> {
    name.as_bytes().repeat(20)
}

/// Steps of an array's life, each one call or several; after the last the array holds one committed fragment.
type Operation = fn(&dyn Store) -> Result<()>;

const LIFE: [Operation; 5] = [create_array, write_fragment, put_metadata, delete_fragment, delete_array];

fn create_array(store: &dyn Store) -> Result<()> {
    let schema = body("schema");
    let files = [NewFile { path: "__schema/s", parts: &[&schema] }];
    store.create_tree("array", &NewTree { folders: &["__fragments", "__commits", "__meta"], files: &files })
}

fn write_fragment(store: &dyn Store) -> Result<()> {
    let bodies = DATA.map(body);
    let paths = DATA.map(|name| format!("array/{name}"));
    let parts: Vec<[&[u8]; 1]> = bodies.iter().map(|body| [&body[..]]).collect();
    let files: Vec<_> = paths.iter().zip(&parts).map(|(path, parts)| NewFile { path, parts }).collect();
    store.put_batch(&files)?;
    store.put("array/__commits/f.wrt", &[])
}

fn put_metadata(store: &dyn Store) -> Result<()> {
    let mut writer = store.create("array/__meta/m")?;
    writer.write(&body("meta"))?;
    writer.finish()?;
    store.sync_folder("array/__meta")
}

fn delete_fragment(store: &dyn Store) -> Result<()> {
    store.delete_files(&["array/__commits/f.wrt"])?;
    store.delete_folders(&["array/__fragments/f"])
}

fn delete_array(store: &dyn Store) -> Result<()> {
    store.delete_folders(&["array"])
}

/// What a reader sees, `None` without an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    has_fragment: bool,
    has_metadata: bool,
}

/// Reads as an array reader would; panics on anything torn.
fn look(store: &dyn Store, context: &dyn std::fmt::Display) -> Option<Seen> {
    if store.list("array").unwrap().is_empty() {
        return None;
    }
    let whole = |path: &str, expected: &str| {
        let bytes = store.read_all(path, 1 << 20).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(bytes[..] == body(expected), "{context}: {path} is torn");
    };
    whole("array/__schema/s", "schema");
    for folder in ["__fragments", "__commits", "__meta"] {
        assert!(
            store.list("array").unwrap().iter().any(|entry| entry.name == folder),
            "{context}: no {folder}"
        );
    }
    let has_fragment = store.file_exists("array/__commits/f.wrt").unwrap();
    if has_fragment {
        for name in DATA {
            whole(&format!("array/{name}"), name);
        }
    }
    // Every file in a folder that is read whole counts, whatever its name.
    let metadata = store.list("array/__meta").unwrap();
    for entry in &metadata {
        assert_eq!(entry.name, "m", "{context}");
        whole("array/__meta/m", "meta");
    }
    Some(Seen { has_fragment, has_metadata: !metadata.is_empty() })
}

/// No file that libtiledb would stumble over: it knows nothing of our temporary names.
fn assert_no_stray(image: &Image, context: &dyn std::fmt::Display) {
    for path in image.files.keys().chain(&image.folders) {
        let strict = ["__meta/", "__schema/", "__fragment_meta/", "__group/"];
        let is_stray = strict.iter().any(|folder| path.contains(&format!("{folder}.smalti")));
        assert!(!is_stray, "{context}: stray {path}");
    }
}

fn sim(image: &Image) -> LocalStore<SimDisk> {
    LocalStore::on(SimDisk::from_image(image), SyncLevel::Full)
}

/// Makes the array visible in every state that an operation may be repeated in.
fn repair(store: &dyn Store) {
    for folder in ["", "array", "array/__fragments", "array/__commits"] {
        for leftover in store.leftovers(folder).unwrap() {
            store
                .delete_files(&[&leftover.path])
                .or_else(|_| store.delete_folders(&[&leftover.path]))
                .unwrap();
        }
    }
    if look(store, &"repair").is_some_and(|seen| !seen.has_fragment) {
        store.delete_folders(&["array/__fragments/f"]).unwrap();
    }
}

#[test]
fn after_any_crash_readers_see_the_state_before_or_after() {
    let mut base = Image::default();
    let mut state_count = 0;
    for operation in LIFE {
        let store = sim(&base);
        let before = look(&store, &"before");
        operation(&store).unwrap();
        let after = look(&store, &"after");
        let ops = store.disk().ops();
        state_count += crash_states(&base, &ops, CrashLimits { random_count: 20, seed: 7 }, |state| {
            let crashed = sim(&state.image);
            let seen = look(&crashed, state);
            assert!(seen == before || seen == after, "{state}: {seen:?}");
            assert_no_stray(&state.image, state);
            if state.op_count == ops.len() {
                assert_eq!(seen, after, "{state}: an acknowledged operation is gone");
            }
            repair(&crashed);
            if look(&crashed, state) == before {
                operation(&crashed).unwrap_or_else(|error| panic!("{state}: cannot be repeated: {error}"));
            }
            assert_eq!(look(&crashed, state), after, "{state}");
        });
        base = store.disk().image();
    }
    assert!(state_count > 300, "{state_count}");
}

#[test]
fn without_syncs_the_enumeration_finds_torn_files() {
    // The test above would prove nothing if the model forgave a protocol that syncs nothing.
    let store = LocalStore::on(SimDisk::new(), SyncLevel::None);
    store.put("a/f", &[&body("x")]).unwrap();
    let (mut torn_count, mut lost_count) = (0, 0);
    let ops = store.disk().ops();
    crash_states(&Image::default(), &ops, CrashLimits::default(), |state| {
        match state.image.files.get("a/f") {
            Some(bytes) if bytes[..] != body("x") => torn_count += 1,
            None if state.op_count == ops.len() => lost_count += 1,
            _ => {}
        }
    });
    assert!(torn_count > 0 && lost_count > 0);
}

#[test]
fn whichever_step_fails_nothing_is_torn_and_errors_tell_the_truth() {
    for effect in [FaultEffect::Before, FaultEffect::After, FaultEffect::Torn] {
        for is_lasting in [false, true] {
            let mut base = Image::default();
            for operation in LIFE {
                let store = sim(&base);
                let before = look(&store, &"before");
                operation(&store).unwrap();
                let after = look(&store, &"after");
                let next = store.disk().image();
                let mut call_idx = 0;
                loop {
                    let store = LocalStore::on(FaultDisk::new(SimDisk::from_image(&base)), SyncLevel::Full);
                    let error = io::ErrorKind::StorageFull;
                    let scope = FaultScope::Mutations;
                    store.disk().set_plan(Some(FaultPlan { call_idx, scope, effect, is_lasting, error }));
                    let result = operation(&store);
                    let call_count = store.disk().call_count();
                    store.disk().set_plan(None);
                    let context = format!("step {call_idx} {effect:?} lasting {is_lasting}: {result:?}");
                    let seen = look(&store, &context);
                    assert!(seen == before || seen == after, "{context}: {seen:?}");
                    assert_no_stray(&store.disk().inner().image(), &context);
                    if call_count <= call_idx {
                        assert!(result.is_ok() && seen == after, "{context}");
                        break;
                    }
                    call_idx += 1;
                }
                base = next;
            }
        }
    }
}

#[test]
fn a_fault_store_fails_the_chosen_call_once_or_for_good() {
    let store = FaultStore::new(MemoryStore::new());
    store.set_plan(Some(FaultPlan::once(1)));
    store.put("a", &[b"1"]).unwrap();
    assert!(store.put("b", &[b"1"]).is_err());
    assert!(!store.file_exists("b").unwrap());
    store.put("b", &[b"1"]).unwrap();
    assert_eq!(store.call_count(), 3);

    store.set_plan(Some(FaultPlan { is_lasting: true, effect: FaultEffect::After, ..FaultPlan::once(0) }));
    assert!(store.put("c", &[b"1"]).is_err());
    assert!(store.file_exists("c").unwrap(), "the effect came before the error");
    assert!(store.put("d", &[b"1"]).is_err());
    assert!(!store.file_exists("d").unwrap());

    let plan = FaultPlan { effect: FaultEffect::Torn, ..FaultPlan::once(0) };
    store.set_plan(Some(plan));
    let files = [NewFile { path: "e", parts: &[b"1234"] }, NewFile { path: "f", parts: &[b"1234"] }];
    assert!(store.put_batch(&files).is_err());
    assert_eq!((store.byte_len("e").unwrap(), store.byte_len("f").unwrap()), (4, 2));

    store.set_plan(Some(FaultPlan {
        scope: FaultScope::Reads,
        error: io::ErrorKind::TimedOut,
        ..FaultPlan::once(0)
    }));
    assert!(store.byte_len("e").is_err());
    assert_eq!(store.byte_len("e").unwrap(), 4);
}

#[test]
fn a_failing_read_step_is_an_error_and_changes_nothing() {
    let disk = FaultDisk::new(SimDisk::new());
    let store = LocalStore::on(disk, SyncLevel::Full);
    store.put("a/f", &[b"123"]).unwrap();
    let mut call_idx = 0;
    loop {
        store.disk().set_plan(Some(FaultPlan {
            scope: FaultScope::Reads,
            error: io::ErrorKind::TimedOut,
            ..FaultPlan::once(call_idx)
        }));
        let result = store.read_all("a/f", 9);
        if store.disk().call_count() <= call_idx {
            assert_eq!(&result.unwrap()[..], b"123");
            return;
        }
        assert!(result.is_err());
        call_idx += 1;
    }
}
