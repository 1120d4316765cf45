//! Every backend against the conformance suite, and what is special about the local one.

use smalti_store::{
    ByteRange, FaultDisk, FaultStore, LocalStore, MemoryStore, MeteredStore, NewFile, NewTree, OsDisk,
    ReadInto, SimDisk, Store, StoreExt, Stores, SyncLevel, conformance,
};
use smalti_types::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex};

fn local(root: impl AsRef<Path>) -> LocalStore {
    LocalStore::new(root, SyncLevel::None).unwrap()
}

#[test]
fn the_local_store_conforms_at_every_sync_level() {
    let folders = Mutex::new(Vec::new());
    for sync in [SyncLevel::Full, SyncLevel::File, SyncLevel::None] {
        conformance::run(|| {
            let folder = tempfile::tempdir().unwrap();
            let store = LocalStore::new(folder.path().join("made/by/the store"), sync).unwrap();
            folders.lock().unwrap().push(folder);
            Arc::new(store)
        });
    }
}

#[test]
fn a_folder_on_disk_tells_when_it_last_changed() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(FaultStore::new(MeteredStore::new(local(folder.path()))));
    assert_eq!(store.last_change_ms("f").unwrap(), None);
    store.put("f/x", &[b"1"]).unwrap();
    let first = store.last_change_ms("f").unwrap().unwrap();
    assert!(first > 1_600_000_000_000, "{first}");
    assert_eq!(MemoryStore::new().last_change_ms("f").unwrap(), None);
    assert!(store.last_change_ms("../f").is_err());
}

#[test]
fn the_memory_store_conforms() {
    conformance::run(|| Arc::new(MemoryStore::new()));
}

#[test]
fn the_write_protocol_over_a_simulated_disk_conforms() {
    conformance::run(|| Arc::new(LocalStore::on(SimDisk::new(), SyncLevel::Full)));
}

#[test]
fn wrappers_without_faults_conform() {
    conformance::run(|| Arc::new(FaultStore::new(MeteredStore::new(MemoryStore::new()))));
    conformance::run(|| Arc::new(LocalStore::on(FaultDisk::new(SimDisk::new()), SyncLevel::Full)));
    let shared: Arc<dyn Store> = Arc::new(MemoryStore::new());
    shared.put("f", &[b"x"]).unwrap();
    assert_eq!(FaultStore::new(shared).byte_len("f").unwrap(), 1);
}

#[test]
fn memory_stores_found_by_uri_share_their_content() {
    let stores = Stores::new();
    let place = stores.open("mem://stores-test/array", SyncLevel::Full).unwrap();
    place.store.put("stores-test/array/f", &[b"1"]).unwrap();
    let again = stores.open("mem://stores-test/array", SyncLevel::Full).unwrap();
    assert_eq!(&again.store.read_all("stores-test/array/f", 9).unwrap()[..], b"1");
}

#[test]
fn leftovers_are_invisible_listed_and_deletable() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("a/.smalti-tmp-0000000000000001"), b"torn").unwrap();
    std::fs::create_dir(folder.path().join("a/.smalti-tmp-0000000000000002")).unwrap();
    let store = local(folder.path());
    assert!(store.list_names("a").unwrap().is_empty());
    assert!(store.list("a").unwrap().is_empty() && store.list_recursive("").unwrap().is_empty());
    let leftovers = store.leftovers("a").unwrap();
    assert_eq!(leftovers.len(), 2);
    assert!(leftovers[0].modified_ms.is_some_and(|ms| ms > 1_700_000_000_000));
    store.delete_files(&[&leftovers[0].path]).unwrap();
    store.delete_folders(&[&leftovers[1].path]).unwrap();
    assert!(store.leftovers("a").unwrap().is_empty());
}

#[test]
fn nothing_stray_is_ever_in_a_folder_that_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = local(folder.path());
    let mut writer = store.create("a/__meta/__1_1_x").unwrap();
    writer.write(b"half").unwrap();
    assert_eq!(std::fs::read_dir(folder.path().join("a/__meta")).unwrap().count(), 0);
    assert_eq!(store.leftovers("a").unwrap().len(), 1);
    writer.finish().unwrap();
    assert_eq!(std::fs::read(folder.path().join("a/__meta/__1_1_x")).unwrap(), b"half");
    assert!(store.leftovers("a").unwrap().is_empty());
}

#[cfg(unix)]
mod links {
    use super::*;
    use std::os::unix::fs::symlink;

    fn outside() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("precious"), b"precious").unwrap();
        std::fs::write(folder.path().join("sub/precious"), b"precious").unwrap();
        folder
    }

    fn assert_untouched(outside: &tempfile::TempDir) {
        assert_eq!(std::fs::read(outside.path().join("precious")).unwrap(), b"precious");
        assert_eq!(std::fs::read(outside.path().join("sub/precious")).unwrap(), b"precious");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 2);
        assert_eq!(std::fs::read_dir(outside.path().join("sub")).unwrap().count(), 1);
    }

    #[test]
    fn deleting_a_folder_never_follows_links() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), outside());
        let store = local(inside.path());
        store.put("a/f/x", &[b"x"]).unwrap();
        symlink(outside.path(), inside.path().join("a/f/link")).unwrap();
        symlink(outside.path().join("precious"), inside.path().join("a/f/file link")).unwrap();
        symlink("nowhere", inside.path().join("a/f/dangling")).unwrap();
        symlink(outside.path(), inside.path().join("a/direct")).unwrap();
        store.delete_folders(&["a/f"]).unwrap();
        assert!(!inside.path().join("a/f").exists());
        store.delete_folders(&["a/direct"]).unwrap();
        assert!(!inside.path().join("a/direct").is_symlink());
        assert_untouched(&outside);
    }

    #[test]
    fn nothing_is_written_or_deleted_through_a_linked_folder() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), outside());
        let store = local(inside.path());
        store.create_folder("a").unwrap();
        symlink(outside.path(), inside.path().join("a/__meta")).unwrap();
        let unsupported = ErrorKind::Unsupported;
        assert_eq!(store.delete_files(&["a/__meta/precious"]).unwrap_err().kind(), unsupported);
        assert_eq!(store.delete_folders(&["a/__meta/sub"]).unwrap_err().kind(), unsupported);
        assert_eq!(store.put("a/__meta/new", &[b"x"]).unwrap_err().kind(), unsupported);
        assert_eq!(store.create("a/__meta/new").unwrap_err().kind(), unsupported);
        let files = [NewFile { path: "a/__meta/new/f", parts: &[] }];
        assert_eq!(store.put_batch(&files).unwrap_err().kind(), unsupported);
        assert_eq!(store.create_tree("a/__meta/t", &NewTree::default()).unwrap_err().kind(), unsupported);
        let error = store.create_folder("a/__meta/new").unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_untouched(&outside);
    }

    #[test]
    fn a_link_in_place_of_a_file_is_neither_written_through_nor_deleted_through() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), outside());
        let store = local(inside.path());
        symlink(outside.path().join("precious"), inside.path().join("f")).unwrap();
        symlink(outside.path().join("absent"), inside.path().join("g")).unwrap();
        for name in ["f", "g"] {
            assert_eq!(store.put(name, &[b"x"]).unwrap_err().kind(), ErrorKind::AlreadyExists);
            let batch = [NewFile { path: name, parts: &[b"x"] }];
            assert_eq!(store.put_batch(&batch).unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        store.delete_files(&["f", "g"]).unwrap();
        assert!(std::fs::read_dir(inside.path()).unwrap().next().is_none());
        assert_untouched(&outside);
    }

    #[test]
    fn reading_follows_links() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), outside());
        let store = local(inside.path());
        symlink(outside.path(), inside.path().join("a")).unwrap();
        symlink("nowhere", inside.path().join("dangling")).unwrap();
        assert_eq!(store.list("").unwrap().len(), 1);
        assert_eq!(store.list("a").unwrap()[0].byte_len, 8);
        assert_eq!(&store.read_all("a/sub/precious", 99).unwrap()[..], b"precious");
    }

    #[test]
    fn names_that_are_no_utf8_are_not_listed_but_deleted() {
        use std::os::unix::ffi::OsStrExt;
        let inside = tempfile::tempdir().unwrap();
        let store = local(inside.path());
        store.put("a/f", &[]).unwrap();
        let name = std::ffi::OsStr::from_bytes(b"\xff\xfe");
        std::fs::write(inside.path().join("a").join(name), b"x").unwrap();
        assert_eq!(store.list("a").unwrap().len(), 1);
        store.delete_folders(&["a"]).unwrap();
        assert!(!inside.path().join("a").exists());
    }
}

#[test]
fn a_very_deep_folder_is_deleted_without_recursion() {
    let folder = tempfile::tempdir().unwrap();
    let store = local(folder.path());
    // Deeper than a path may be long: only possible relative to open folders, so step by step.
    let mut path = String::from("a");
    for _ in 0..300 {
        path.push_str("/ddddddddddddddd");
    }
    store.create_folder(&path).unwrap();
    store.delete_folders(&["a"]).unwrap();
    assert!(!folder.path().join("a").exists());
}

#[test]
fn a_vanished_and_a_shortened_file_give_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let store = local(folder.path());
    store.put("f", &[&[7; 100]]).unwrap();
    std::fs::OpenOptions::new().write(true).open(folder.path().join("f")).unwrap().set_len(50).unwrap();
    let mut dest = [0; 100];
    let error = store.read_into(&mut [ReadInto { path: "f", offset: 0, dest: &mut dest }]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("0..100") && error.to_string().contains("50"), "{error}");
    std::fs::remove_file(folder.path().join("f")).unwrap();
    assert_eq!(store.byte_len("f").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn large_batches_are_read_in_parallel_into_the_callers_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = local(folder.path());
    let bytes: Vec<u8> = (0..20_000_000_u32).map(|i| (i % 253) as u8).collect();
    store.put("f", &[&bytes]).unwrap();
    let mut dest = vec![0; 19_000_000];
    let (left, right) = dest.split_at_mut(3_000_001);
    store
        .read_into(&mut [
            ReadInto { path: "f", offset: 17, dest: left },
            ReadInto { path: "f", offset: 17 + 3_000_001, dest: right },
        ])
        .unwrap();
    assert!(dest == bytes[17..17 + 19_000_000]);
}

#[test]
fn a_meter_counts_calls_and_bytes() {
    let store = MeteredStore::new(MemoryStore::new());
    store.put("a", &[b"12", b"345"]).unwrap();
    let before = store.traffic();
    assert_eq!((before.write_count, before.write_byte_len), (1, 5));
    store.list("").unwrap();
    store.read_tail("a", 2).unwrap();
    let mut dest = [0; 3];
    store.read_into(&mut [ReadInto { path: "a", offset: 0, dest: &mut dest }]).unwrap();
    assert!(store.put("a", &[b"9"]).is_err());
    let traffic = store.traffic().since(&before);
    assert_eq!((traffic.list_count, traffic.read_count, traffic.read_byte_len), (1, 2, 5));
    assert_eq!((traffic.write_count, traffic.write_byte_len), (0, 0));
}

#[test]
fn an_os_disk_runs_under_fault_injection() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FaultDisk::new(OsDisk::new(folder.path()).unwrap());
    let store = LocalStore::on(disk, SyncLevel::Full);
    store.put("a/f", &[b"x"]).unwrap();
    assert!(store.disk().call_count() >= 4, "create, append, two syncs, rename");
}

#[test]
fn a_disk_is_told_early_of_long_files_that_have_to_be_durable() {
    const PIECE_BYTE_LEN: u64 = 300 << 10;
    for sync in [SyncLevel::Full, SyncLevel::File, SyncLevel::None] {
        let disk = SimDisk::new();
        let store = LocalStore::on(disk.clone(), sync);
        store.put("short", &[&vec![1; PIECE_BYTE_LEN as usize]]).unwrap();
        assert_eq!(disk.told_of_syncs(), [], "{sync:?}");
        let mut file = store.create("long").unwrap();
        for _ in 0..10 {
            file.write(&vec![2; PIECE_BYTE_LEN as usize]).unwrap();
        }
        // Before it is complete: of four pieces, of four more, and the sync finds the last two.
        let byte_len = 4 * PIECE_BYTE_LEN;
        let told = [0, byte_len].map(|start| ByteRange { start, byte_len });
        let expected = if sync == SyncLevel::None { &[][..] } else { &told };
        assert_eq!(disk.told_of_syncs(), expected, "{sync:?}");
        file.finish().unwrap();
        assert_eq!(disk.told_of_syncs().len(), expected.len());
    }
    // What a real disk makes of it changes nothing of what is there.
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path(), SyncLevel::Full).unwrap();
    let bytes: Vec<u8> = (0..3_u32 << 20).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
    let mut file = store.create("long").unwrap();
    bytes.chunks(100_000).for_each(|piece| file.write(piece).unwrap());
    file.finish().unwrap();
    assert_eq!(std::fs::read(folder.path().join("long")).unwrap(), bytes);
}
