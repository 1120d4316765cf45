//! What every store must do, as tests that every backend runs. Object stores know no folders, and are not asked about them.

use crate::{ByteRange, Entry, NewFile, NewTree, ReadInto, Request, Store, StoreExt, finish_all};
use smalti_types::ErrorKind;
use std::sync::Arc;

/// What a conformance test is called with.
type Test = fn(&dyn Store);

/// What holds for all stores.
const OF_ALL: &[Test] = &[
    what_was_put_is_read,
    nothing_is_ever_replaced,
    a_repair_puts_a_file_in_the_place_of_another,
    paths_are_checked_before_anything_happens,
    a_listing_shows_one_level_sorted,
    a_recursive_listing_shows_every_file,
    reads_beyond_the_end_are_corrupt,
    a_missing_file_is_not_found,
    tails_are_whole_for_short_files,
    many_tails_are_read_as_one_by_one,
    batches_are_all_or_removed,
    a_written_file_appears_when_it_is_finished,
    a_dropped_writer_leaves_nothing,
    a_tree_is_created_once,
    a_folder_is_moved_whole_and_replaces_nothing,
    deleting_is_idempotent_and_stays_inside,
    a_deleted_name_can_be_used_again,
    merged_reads_equal_single_reads,
    requests_are_answered_each_in_its_place,
    readers_and_writers_work_at_once,
];

/// Runs all conformance tests, each on a fresh empty store.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn run(make: impl Fn() -> Arc<dyn Store>) {
    for test in OF_ALL.iter().chain(&[folders_are_names_that_are_taken as Test]) {
        test(&*make());
    }
}

/// Runs the tests for a store of objects, where folders are what names have in common, and no names themselves.
///
/// # Panics
/// As [`run`].
pub fn run_of_objects(make: impl Fn() -> Arc<dyn Store>) {
    for test in OF_ALL {
        test(&*make());
    }
}

fn kind<T: std::fmt::Debug>(result: smalti_types::Result<T>) -> ErrorKind {
    result.expect_err("the call must fail").kind()
}

fn names(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

fn content(store: &dyn Store, path: &str) -> Vec<u8> {
    store.read_all(path, 1 << 30).expect("a file that was put is readable").to_vec()
}

fn ok<T>(result: smalti_types::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("a legal call failed: {error}"))
}

fn what_was_put_is_read(store: &dyn Store) {
    ok(store.put("a/b/file", &[b"hello ", b"", b"world"]));
    ok(store.put("a/empty", &[]));
    assert_eq!(content(store, "a/b/file"), b"hello world");
    assert_eq!(content(store, "a/empty"), b"");
    assert_eq!(ok(store.byte_len("a/b/file")), 11);
    let mut dest = [0; 5];
    let mut also = [0; 3];
    ok(store.read_into(&mut [
        ReadInto { path: "a/b/file", offset: 6, dest: &mut dest },
        ReadInto { path: "a/empty", offset: 0, dest: &mut [] },
        ReadInto { path: "a/b/file", offset: 1, dest: &mut also },
    ]));
    assert_eq!((&dest, &also), (b"world", b"ell"));
    assert!(
        ok(store.file_exists("a/empty")) && !ok(store.file_exists("a/none")) && !ok(store.file_exists("a/b"))
    );
    let large: Vec<u8> = (0..5_000_000_u32).map(|i| (i % 251) as u8).collect();
    ok(store.put("large", &[&large]));
    assert!(content(store, "large") == large, "a long file comes back as it was");
    assert_eq!(kind(store.read_all("large", 100)), ErrorKind::OutOfMemory);
}

fn a_repair_puts_a_file_in_the_place_of_another(store: &dyn Store) {
    ok(store.put("folder/f", &[b"old"]));
    ok(store.replace("folder/f", &[b"new", b"er"]));
    assert_eq!(content(store, "folder/f"), b"newer");
    ok(store.replace("other/g", &[b"first"]));
    assert_eq!(content(store, "other/g"), b"first");
    assert_eq!(names(&ok(store.list("folder"))), ["f"]);
    assert_eq!(names(&ok(store.list(""))), ["folder", "other"]);
}

fn nothing_is_ever_replaced(store: &dyn Store) {
    ok(store.put("f", &[b"old"]));
    ok(store.put("folder/g", &[b"old"]));
    assert_eq!(kind(store.put("f", &[b"new"])), ErrorKind::AlreadyExists);
    assert_eq!(kind(store.put_batch(&[NewFile { path: "f", parts: &[b"new"] }])), ErrorKind::AlreadyExists);
    assert_eq!(kind(store.create("f").and_then(|writer| writer.finish())), ErrorKind::AlreadyExists);
    assert_eq!(kind(store.create_tree("f", &NewTree::default())), ErrorKind::AlreadyExists);
    assert_eq!(content(store, "f"), b"old");
    assert_eq!(names(&ok(store.list(""))), ["f", "folder"]);
}

fn folders_are_names_that_are_taken(store: &dyn Store) {
    ok(store.put("f", &[b"old"]));
    ok(store.put("folder/g", &[b"old"]));
    assert_eq!(kind(store.put("folder", &[b"new"])), ErrorKind::AlreadyExists);
    assert_eq!(kind(store.replace("folder", &[b"new"])), ErrorKind::AlreadyExists);
    assert_eq!(kind(store.create_folder("f")), ErrorKind::AlreadyExists);
    assert_eq!(content(store, "f"), b"old");
    assert_eq!(names(&ok(store.list_recursive(""))), ["f", "folder/g"]);
}

fn requests_are_answered_each_in_its_place(store: &dyn Store) {
    let count = 40_u64;
    for at in 0..count {
        ok(store.put(&format!("a/{at:02}"), &[&vec![at as u8; at as usize]]));
    }
    let requests = (0..count).flat_map(|at| {
        let path = format!("a/{at:02}");
        [
            Request::Tail { path: path.clone(), byte_len: 7 },
            Request::Range { path, range: ByteRange { start: at / 2, byte_len: at / 4 } },
            Request::List { folder: "a".to_owned() },
            Request::Tail { path: "a".to_owned(), byte_len: 7 },
        ]
    });
    let mut answers = store.submit(requests.collect()).into_iter();
    for at in 0..count {
        let mut next = || answers.next().expect("one answer for each request").wait();
        let tail = ok(ok(next()).tail());
        assert_eq!((tail.file_byte_len, tail.bytes.len() as u64), (at, at.min(7)));
        let bytes = ok(ok(next()).bytes());
        assert!(bytes.len() as u64 == at / 4 && bytes.iter().all(|byte| u64::from(*byte) == at));
        assert_eq!(ok(ok(next()).entries()).len() as u64, count);
        assert_eq!(kind(next()), ErrorKind::NotFound);
    }
    assert!(answers.next().is_none());
    several_folders_are_listed_as_each_is(store);
    a_page_of_a_folder_is_a_part_of_it(store);
    // Answers that nobody waits for are let go of.
    drop(store.submit(vec![Request::List { folder: "a".to_owned() }; 100]));
}

fn a_page_of_a_folder_is_a_part_of_it(store: &dyn Store) {
    for folder in ["", "a", "b", "none"] {
        let request = Request::Page { folder: folder.to_owned() };
        let mut answers = store.submit(vec![request]).into_iter();
        let page = ok(ok(answers.next().expect("one answer").wait()).page());
        let all = ok(store.list(folder));
        match page.is_whole {
            true => assert_eq!(names(&page.entries), names(&all), "{folder:?}"),
            false => {
                assert!(page.entries.len() < all.len(), "{folder:?}");
                let is_one = |entry: &Entry| {
                    all.iter().any(|other| (&other.name, other.kind) == (&entry.name, entry.kind))
                };
                assert!(page.entries.iter().all(is_one), "{folder:?}: {:?}", page.entries);
            }
        }
    }
}

fn several_folders_are_listed_as_each_is(store: &dyn Store) {
    for path in
        ["b/f", "b/one/g", "b/one/deep/h", "b/much/i", "b/much/deep/k", "b/twice_much/l", "c/much/one/m"]
    {
        ok(store.put(path, &[b"x"]));
    }
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    for folder in ["", "b", "b/one", "c", "none"] {
        for without in [&["much", "touch"][..], &["much"], &["twice_much", "much"], &["one"], &[]] {
            let below = words(&["one", "other"]);
            let request = Request::Lists { folder: folder.to_owned(), below, without: words(without) };
            let folders = request.folders();
            let mut answers = store.submit(vec![request]).into_iter();
            let answer = ok(answers.next().expect("one answer").wait());
            for (at, folder) in folders.iter().enumerate() {
                let listed = ok(answer.clone().list(at));
                assert_eq!(names(&listed), names(&ok(store.list(folder))), "{folder:?} without {without:?}");
            }
        }
    }
}

fn paths_are_checked_before_anything_happens(store: &dyn Store) {
    for bad in ["", "/a", "a/", "a//b", "..", "a/../../b", "a/.", "a\0"] {
        let invalid = ErrorKind::InvalidArgument;
        assert_eq!(kind(store.put(bad, &[])), invalid, "put {bad:?}");
        assert_eq!(kind(store.replace(bad, &[])), invalid, "replace {bad:?}");
        let batch = [NewFile { path: "fine", parts: &[] }, NewFile { path: bad, parts: &[] }];
        assert_eq!(kind(store.put_batch(&batch)), invalid, "put_batch {bad:?}");
        assert_eq!(kind(store.create(bad)), invalid, "create {bad:?}");
        let files = [NewFile { path: bad, parts: &[] }];
        assert_eq!(
            kind(store.create_tree("t", &NewTree { folders: &[], files: &files })),
            invalid,
            "tree {bad:?}"
        );
        assert_eq!(
            kind(store.create_tree("t", &NewTree { folders: &[bad], files: &[] })),
            invalid,
            "tree {bad:?}"
        );
        assert_eq!(kind(store.create_tree(bad, &NewTree::default())), invalid, "tree {bad:?}");
        assert_eq!(kind(store.delete_files(&["fine", bad])), invalid, "delete_files {bad:?}");
        assert_eq!(kind(store.delete_folders(&[bad])), invalid, "delete_folders {bad:?}");
        assert_eq!(kind(store.byte_len(bad)), invalid, "byte_len {bad:?}");
        assert_eq!(kind(store.read_tail(bad, 1)), invalid, "read_tail {bad:?}");
        if !bad.is_empty() {
            assert_eq!(kind(store.list(bad)), invalid, "list {bad:?}");
            assert_eq!(kind(store.create_folder(bad)), invalid, "create_folder {bad:?}");
            assert_eq!(kind(store.sync_folder(bad)), invalid, "sync_folder {bad:?}");
            assert_eq!(kind(store.leftovers(bad)), invalid, "leftovers {bad:?}");
        }
    }
    assert!(ok(store.list("")).is_empty(), "a refused call leaves nothing");
}

fn a_listing_shows_one_level_sorted(store: &dyn Store) {
    for path in ["a/b/deep/x", "a/z", "a/B", "a/é", "a/b.", "a/b0", "ab/c"] {
        ok(store.put(path, &[path.as_bytes()]));
    }
    let entries = ok(store.list("a"));
    assert_eq!(names(&entries), ["B", "b", "b.", "b0", "z", "é"]);
    assert!(entries.iter().all(|entry| entry.is_folder() == (entry.name == "b")));
    assert_eq!(entries.iter().find(|entry| entry.name == "é").map(|entry| entry.byte_len), Some(4));
    assert_eq!(ok(store.list_names("a")), names(&entries));
    assert!(ok(store.list_names("nowhere")).is_empty());
    assert_eq!(names(&ok(store.list(""))), ["a", "ab"]);
    assert!(ok(store.list("nowhere")).is_empty() && ok(store.list("a/z")).is_empty());
}

fn a_recursive_listing_shows_every_file(store: &dyn Store) {
    for path in ["a/f/x", "a/f/y/z", "a/f0", "a/g"] {
        ok(store.put(path, &[b"12"]));
    }
    let entries = ok(store.list_recursive("a"));
    assert_eq!(names(&entries), ["f/x", "f/y/z", "f0", "g"]);
    assert!(entries.iter().all(|entry| entry.is_file() && entry.byte_len == 2));
    assert!(ok(store.list_recursive("b")).is_empty());
}

fn reads_beyond_the_end_are_corrupt(store: &dyn Store) {
    ok(store.put("f", &[b"0123456789"]));
    for (start, byte_len) in [(5, 6), (11, 1), (u64::MAX, 1), (0, 1 << 60), (1 << 62, 1 << 62)] {
        let error =
            store.read_at("f", ByteRange { start, byte_len }).expect_err("the range is beyond the file");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{start} {byte_len}: {error}");
        assert!(error.to_string().contains('f'), "{error}");
    }
    let mut dest = vec![0; 3_000_000];
    assert_eq!(
        kind(store.read_into(&mut [ReadInto { path: "f", offset: 0, dest: &mut dest }])),
        ErrorKind::Corrupt
    );
}

fn a_missing_file_is_not_found(store: &dyn Store) {
    ok(store.put("folder/f", &[]));
    for path in ["none", "folder", "folder/none", "none/none"] {
        assert_eq!(kind(store.byte_len(path)), ErrorKind::NotFound, "{path}");
        assert_eq!(kind(store.read_tail(path, 9)), ErrorKind::NotFound, "{path}");
        assert_eq!(
            kind(store.read_at(path, ByteRange { start: 0, byte_len: 1 })),
            ErrorKind::NotFound,
            "{path}"
        );
    }
}

fn tails_are_whole_for_short_files(store: &dyn Store) {
    ok(store.put("f", &[b"0123456789"]));
    for (asked, expected) in [(0, &b""[..]), (3, b"789"), (10, b"0123456789"), (u64::MAX, b"0123456789")] {
        let tail = ok(store.read_tail("f", asked));
        assert_eq!((tail.file_byte_len, &tail.bytes[..]), (10, expected));
    }
}

fn many_tails_are_read_as_one_by_one(store: &dyn Store) {
    for (path, byte_len) in [("a/b/empty", 0), ("a/b/short", 10), ("a/b/long", 100_000), ("a/c", 3)] {
        let bytes: Vec<u8> = (0..byte_len).map(|i: u32| (i % 251) as u8).collect();
        ok(store.put(path, &[&bytes]));
    }
    let paths = ["b/long", "b/none", "b/empty", "b", "c", "b/short", "none/x", "b/long"].map(String::from);
    for folder in ["a", "none"] {
        for asked in [1, 9, 10, 5000, u64::MAX] {
            let tails = store.read_tails(folder, &paths, asked);
            assert_eq!(tails.len(), paths.len());
            for (path, tail) in paths.iter().zip(tails) {
                let whole_path = crate::join(folder, path);
                match (tail, store.read_tail(&whole_path, asked)) {
                    (Ok(tail), Ok(lone)) => assert_eq!(tail, lone, "{whole_path}"),
                    (Err(error), Err(lone)) => {
                        assert_eq!(error.to_string(), lone.to_string(), "{whole_path}")
                    }
                    (tail, lone) => panic!("{whole_path}: {tail:?}, alone {lone:?}"),
                }
            }
        }
    }
    let bad = store.read_tails("a", &["c".into(), "../c".into()], 1);
    let is_refused = |tail: smalti_types::Result<crate::Tail>| {
        tail.is_err_and(|error| error.kind() == ErrorKind::InvalidArgument)
    };
    assert!(bad.into_iter().any(is_refused));
    assert!(store.read_tails("a", &[], 1).is_empty());
}

fn batches_are_all_or_removed(store: &dyn Store) {
    let bytes: Vec<Vec<u8>> = (0..40_u8).map(|i| vec![i; 1000 * usize::from(i)]).collect();
    let paths: Vec<String> = (0..40).map(|i| format!("frag{}/a{i}.tdb", i % 3)).collect();
    let parts: Vec<[&[u8]; 2]> = bytes.iter().map(|b| [&b[..b.len() / 2], &b[b.len() / 2..]]).collect();
    let files: Vec<_> = paths.iter().zip(&parts).map(|(path, parts)| NewFile { path, parts }).collect();
    ok(store.put_batch(&files));
    for (path, bytes) in paths.iter().zip(&bytes) {
        assert!(&content(store, path) == bytes, "{path}");
    }
    let clash =
        [NewFile { path: "frag0/new", parts: &[b"x"] }, NewFile { path: "frag0/a0.tdb", parts: &[b"x"] }];
    assert_eq!(kind(store.put_batch(&clash)), ErrorKind::AlreadyExists);
    assert!(!ok(store.file_exists("frag0/new")), "a failed batch removes what it made");
    assert_eq!(content(store, "frag0/a0.tdb"), b"", "and nothing else");
    ok(store.put_batch(&[]));
}

fn a_written_file_appears_when_it_is_finished(store: &dyn Store) {
    let mut writer = ok(store.create("a/f"));
    ok(writer.write(b"one "));
    ok(writer.write(&vec![b'x'; 300_000]));
    ok(writer.write(b" two"));
    assert_eq!(writer.byte_len(), 300_008);
    assert!(
        !ok(store.file_exists("a/f")) && ok(store.list("a")).is_empty(),
        "an unfinished file is invisible"
    );
    ok(writer.finish());
    ok(store.sync_folder("a"));
    let bytes = content(store, "a/f");
    assert!(bytes.len() == 300_008 && bytes.starts_with(b"one x") && bytes.ends_with(b"x two"));
    let writers = (0..20)
        .map(|i| {
            let mut writer = ok(store.create(&format!("a/{i}")));
            ok(writer.write(&[i]));
            writer
        })
        .collect();
    ok(finish_all(writers));
    assert!((0..20).all(|i| content(store, &format!("a/{i}")) == [i]));
}

fn a_dropped_writer_leaves_nothing(store: &dyn Store) {
    let mut writer = ok(store.create("a/f"));
    ok(writer.write(&vec![1; 1_000_000]));
    drop(writer);
    assert!(!ok(store.file_exists("a/f")));
    assert!(ok(store.list("a")).is_empty() && ok(store.leftovers("a")).is_empty());
    ok(store.put("a/f", &[b"fine"]));
}

fn a_tree_is_created_once(store: &dyn Store) {
    let files = [
        NewFile { path: "__schema/__enumerations/e", parts: &[b"enum"] },
        NewFile { path: "__labels/l0/__schema/s", parts: &[b"label"] },
        NewFile { path: "__schema/s", parts: &[b"sch", b"ema"] },
    ];
    let tree = NewTree { folders: &["__fragments", "__commits", "__labels/l0/__commits"], files: &files };
    ok(store.create_tree("deep/er/array", &tree));
    assert_eq!(content(store, "deep/er/array/__schema/s"), b"schema");
    assert_eq!(
        names(&ok(store.list_recursive("deep"))),
        ["er/array/__labels/l0/__schema/s", "er/array/__schema/__enumerations/e", "er/array/__schema/s"]
    );
    assert_eq!(kind(store.create_tree("deep/er/array", &tree)), ErrorKind::AlreadyExists);
    assert_eq!(kind(store.create_tree("deep", &tree)), ErrorKind::AlreadyExists);
    ok(store.create_folder("empty"));
    ok(store.create_tree("empty", &tree));
    assert_eq!(content(store, "empty/__schema/s"), b"schema");
    assert!(ok(store.leftovers("")).is_empty() && ok(store.leftovers("deep/er")).is_empty());
}

fn a_folder_is_moved_whole_and_replaces_nothing(store: &dyn Store) {
    for path in ["a/x/1", "a/x/2/3", "a/x0", "b/y"] {
        ok(store.put(path, &[path.as_bytes()]));
    }
    ok(store.create_folder("a/x/empty"));
    ok(store.move_folder("a/x", "new/deep/z"));
    assert_eq!(names(&ok(store.list_recursive(""))), ["a/x0", "b/y", "new/deep/z/1", "new/deep/z/2/3"]);
    assert_eq!(names(&ok(store.list("a"))), ["x0"]);
    assert_eq!(content(store, "new/deep/z/2/3"), b"a/x/2/3");
    assert_eq!(kind(store.move_folder("a", "b")), ErrorKind::AlreadyExists);
    assert_eq!(kind(store.move_folder("a", "b/y")), ErrorKind::AlreadyExists);
    assert_eq!(kind(store.move_folder("b/y", "c")), ErrorKind::NotFound);
    assert_eq!(kind(store.move_folder("none", "c")), ErrorKind::NotFound);
    assert_eq!(kind(store.move_folder("a", "a")), ErrorKind::InvalidArgument);
    assert_eq!(kind(store.move_folder("a", "a/b")), ErrorKind::InvalidArgument);
    assert_eq!(kind(store.move_folder("a", "../c")), ErrorKind::InvalidArgument);
    ok(store.create_folder("void"));
    ok(store.move_folder("new/deep", "void"));
    assert_eq!(content(store, "void/z/1"), b"a/x/1");
    assert!(ok(store.leftovers("")).is_empty());
}

fn deleting_is_idempotent_and_stays_inside(store: &dyn Store) {
    for path in ["a/x/1", "a/x/2/3", "a/y", "a/x0", "a/x.", "b"] {
        ok(store.put(path, &[b"1"]));
    }
    ok(store.delete_folders(&["a/x", "a/none", "none/none"]));
    assert_eq!(names(&ok(store.list_recursive(""))), ["a/x.", "a/x0", "a/y", "b"]);
    assert!(!names(&ok(store.list("a"))).contains(&"x"));
    ok(store.delete_files(&["a/y", "a/none", "none/none"]));
    assert_eq!(kind(store.byte_len("a/y")), ErrorKind::NotFound);
    assert_eq!(kind(store.read_at("a/y", ByteRange { start: 0, byte_len: 1 })), ErrorKind::NotFound);
    ok(store.delete_folders(&["b"]));
    assert!(ok(store.file_exists("b")), "deleting a folder deletes no file of that name");
    ok(store.delete_folders(&["a", "a"]));
    assert_eq!(names(&ok(store.list(""))), ["b"]);
    assert!(ok(store.leftovers("")).is_empty());
}

fn a_deleted_name_can_be_used_again(store: &dyn Store) {
    for turn in 0..3_u8 {
        ok(store.put("a/f", &[&[turn]]));
        assert_eq!(ok(store.read_at("a/f", ByteRange { start: 0, byte_len: 1 }))[..], [turn]);
        if turn == 0 { ok(store.delete_files(&["a/f"])) } else { ok(store.delete_folders(&["a"])) }
    }
}

fn merged_reads_equal_single_reads(store: &dyn Store) {
    let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    ok(store.put("f", &[&bytes]));
    let ranges: Vec<ByteRange> = (0..200_u64)
        .map(|i| ByteRange { start: (i * 7919 * 37) % 290_000, byte_len: (i * 31) % 10_000 })
        .collect();
    for (range, read) in ranges.iter().zip(ok(store.read_ranges("f", &ranges))) {
        let start = range.start as usize;
        assert!(read[..] == bytes[start..start + range.byte_len as usize], "{range:?}");
    }
    assert!(ok(store.read_ranges("f", &[])).is_empty());
}

fn readers_and_writers_work_at_once(store: &dyn Store) {
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            scope.spawn(move || {
                for turn in 0..25_u8 {
                    let path = format!("t{thread}/f{turn}");
                    ok(store.put(&path, &[&[thread, turn]]));
                    assert_eq!(content(store, &path), [thread, turn]);
                    // Everybody races for one name: exactly one wins, and its bytes stay.
                    let _ = store.put(&format!("race/{turn}"), &[&[thread; 10_000]]);
                    let raced = content(store, &format!("race/{turn}"));
                    assert!(raced.len() == 10_000 && raced.iter().all(|byte| *byte == raced[0]));
                }
            });
        }
    });
    assert_eq!(ok(store.list("race")).len(), 25);
    assert!(ok(store.leftovers("race")).is_empty());
}
