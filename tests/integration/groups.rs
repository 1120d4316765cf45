//! Groups: histories, hostile lists, deletions that are cut short.

use crate::corpus::Archive;
use proptest::prelude::*;
use smalti_array::{ArrayPlace, Branch, Member, MemberEdit, NewMember, ObjectKind, WalkOrder};
use smalti_format::names::{GROUP_FOLDER, TimestampedName};
use smalti_format::{GroupFile, GroupMember, MemberKind, Version};
use smalti_store::{
    FaultPlan, FaultScope, FaultStore, ManualClock, MemoryStore, SeededEntropy, Store, Stores, SyncLevel,
};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{EncryptionKey, Env, ErrorKind, TimeRange};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn env() -> Env {
    Env::new(ManualClock::new(1_000), SeededEntropy::new(1))
}

fn in_memory() -> ArrayPlace {
    ArrayPlace::in_store(Arc::new(MemoryStore::new()), "top/group".into(), None, env())
}

fn local(path: &Path) -> ArrayPlace {
    ArrayPlace::open(&Stores::new(), path.to_str().unwrap(), SyncLevel::None, None, env()).unwrap()
}

/// Another path in the store of a place.
fn beside(place: &ArrayPlace, path: &str) -> ArrayPlace {
    ArrayPlace::in_store(Arc::clone(place.store()), path.into(), None, env())
}

/// The least that is taken for an array.
fn put_array(place: &ArrayPlace) {
    place.store().put(&place.join("__schema/__1_1_a"), &[b"x"]).unwrap();
}

fn add(uri: &str) -> MemberEdit {
    MemberEdit::Add(NewMember::from(uri).unnamed().kind(ObjectKind::Array))
}

fn names(place: &ArrayPlace, at: u64) -> Vec<String> {
    let members = place.members(TimeRange::until(at)).unwrap();
    members.iter().map(|member| member.key().to_owned()).collect()
}

/// Puts a list as it might have been written by anyone.
fn put_list(group: &ArrayPlace, time: u64, members: &[(&str, bool, MemberKind)]) {
    let stored = members.iter().map(|&(uri, is_relative, kind)| GroupMember {
        version: 2,
        kind,
        is_relative,
        uri: uri.into(),
        name: None,
        is_deleted: false,
    });
    put_tile(group, time, &GroupFile { version: 2, members: stored.collect() }.encode().unwrap());
}

fn put_tile(group: &ArrayPlace, time: u64, payload: &[u8]) {
    let mut tile = Vec::new();
    write_generic_tile(payload, Version::DEFAULT, None, &mut tile, &mut Scratch::new()).unwrap();
    group.store().put(&group.join(&format!("{GROUP_FOLDER}/__{time}_{time}_ab_2")), &[&tile]).unwrap();
}

#[test]
fn a_new_group_is_empty_and_takes_no_place_of_another_thing() {
    let folder = tempfile::tempdir().unwrap();
    for group in [in_memory(), local(&folder.path().join("g"))] {
        assert_eq!(group.object_kind().unwrap(), None);
        assert_eq!(group.members(TimeRange::ALL).unwrap_err().kind(), ErrorKind::NotFound);
        group.create_group().unwrap();
        assert_eq!(group.object_kind().unwrap(), Some(ObjectKind::Group));
        assert!(group.members(TimeRange::ALL).unwrap().is_empty());
        let error = group.create_group().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("a group is here already"), "{error}");
        let array = beside(&group, &group.join("a"));
        put_array(&array);
        let error = array.create_group().unwrap_err();
        assert!(error.to_string().contains("an array is here already"), "{error}");
    }
    std::fs::create_dir(folder.path().join("full")).unwrap();
    std::fs::write(folder.path().join("full/f"), "x").unwrap();
    let error = local(&folder.path().join("full")).create_group().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("not empty"), "{error}");
}

#[test]
fn changes_are_checked_before_anything_is_written() {
    let group = in_memory();
    group.create_group().unwrap();
    put_array(&beside(&group, "top/group/a"));
    group.put_members(&[add("a"), add("/x/y")], Some(10)).unwrap();
    let named =
        |uri: &str, name: &str| MemberEdit::Add(NewMember::from(uri).name(name).kind(ObjectKind::Array));
    group.put_members(&[named("b", "one"), named("b", "two")], Some(20)).unwrap();
    let remove = |name: &str| MemberEdit::Remove(name.into());
    for (edits, kind) in [
        (vec![], ErrorKind::InvalidArgument),
        (vec![add("a")], ErrorKind::AlreadyExists),
        (vec![add("c"), add("c")], ErrorKind::InvalidArgument),
        (vec![add("c"), remove("nothing")], ErrorKind::NotFound),
        (vec![remove("a"), remove("a/")], ErrorKind::InvalidArgument),
        (vec![remove("b")], ErrorKind::InvalidArgument),
        (vec![add("../c")], ErrorKind::InvalidArgument),
        (vec![add("c//d")], ErrorKind::InvalidArgument),
        (vec![add(".")], ErrorKind::InvalidArgument),
        (vec![add("")], ErrorKind::InvalidArgument),
        (vec![add("a\0b")], ErrorKind::InvalidArgument),
        (vec![named("c", "")], ErrorKind::InvalidArgument),
        (vec![add("mem://top/group")], ErrorKind::InvalidArgument),
        (vec![MemberEdit::Add(NewMember::from("nothing").unnamed())], ErrorKind::NotFound),
        (vec![MemberEdit::Add(NewMember::from("s3://b/a").unnamed())], ErrorKind::Unsupported),
    ] {
        let error = group.put_members(&edits, Some(30)).unwrap_err();
        assert_eq!(error.kind(), kind, "{edits:?}: {error}");
    }
    assert_eq!(names(&group, 99), ["a", "file:///x/y", "one", "two"]);
    let replaced = NewMember::relative("a").name("one").replacing();
    group
        .put_members(&[remove("file:///x/y"), MemberEdit::Add(replaced), add("s3://b/a")], Some(40))
        .unwrap();
    assert_eq!(names(&group, 99), ["a", "one", "s3://b/a", "two"]);
    let one = group.members(TimeRange::ALL).unwrap().swap_remove(1);
    assert_eq!((one.uri.as_str(), one.kind), ("a", Some(ObjectKind::Array)), "its kind was looked at");
    group.put_members(&[remove("a")], Some(50)).unwrap();
    assert_eq!(names(&group, 99), ["one", "s3://b/a", "two"], "a name wins over a URI");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Changes come in any order of times; each shows from its own time on.
    #[test]
    fn every_time_has_its_members(
        steps in prop::collection::vec((1_u64..500, 0_usize..4, any::<bool>()), 1..20)
    ) {
        let group = in_memory();
        group.create_group().unwrap();
        let mut changes: BTreeMap<u64, (String, bool)> = BTreeMap::new();
        let members_at = |changes: &BTreeMap<u64, (String, bool)>, at: u64| {
            let mut members = std::collections::BTreeSet::new();
            for (name, is_added) in changes.range(..=at).map(|(_, change)| change) {
                if *is_added { members.insert(name.clone()); } else { members.remove(name); }
            }
            members
        };
        for (time, name, is_added) in steps {
            let name = format!("m{name}");
            if changes.contains_key(&time) || members_at(&changes, time).contains(&name) == is_added {
                continue;
            }
            let edit = if is_added { add(&name) } else { MemberEdit::Remove(name.clone()) };
            group.put_members(&[edit], Some(time)).unwrap();
            changes.insert(time, (name, is_added));
        }
        for time in (0..=500).step_by(7) {
            let wanted: Vec<String> = members_at(&changes, time).into_iter().collect();
            prop_assert_eq!(names(&group, time), wanted);
        }
    }
}

#[test]
fn a_group_of_the_first_version_keeps_it() {
    let archive = Archive::unpack(12);
    let case = archive.cases().into_iter().find(|case| case.ends_with("group")).unwrap();
    let group = local(&case.join("array"));
    assert_eq!(names(&group, u64::MAX), ["arr2", "first", "subgroup"]);
    group.put_members(&[MemberEdit::Remove("first".into()), add("arr3")], None).unwrap_or_else(|_| {
        // The clock of the test stands before the group was written.
        group.put_members(&[MemberEdit::Remove("first".into()), add("arr3")], Some(u64::MAX - 1)).unwrap()
    });
    assert_eq!(names(&group, u64::MAX), ["arr2", "arr3", "subgroup"]);
    let files = group.store().list(&group.join(GROUP_FOLDER)).unwrap();
    let newest = files.iter().map(|file| TimestampedName::parse(&file.name).unwrap()).max().unwrap();
    assert_eq!(newest.stated_version(), None);
    let tile = group.read_tile_file(&group.join(&format!("{GROUP_FOLDER}/{newest}"))).unwrap();
    let file = GroupFile::decode(tile.as_slice()).unwrap();
    assert_eq!((file.version, file.members.len(), file.members[0].version), (1, 3, 1));
}

#[test]
fn members_and_metadata_of_an_encrypted_group_need_its_key() {
    let store = Arc::new(MemoryStore::new());
    let place = |key: Option<u8>| {
        let key = key.map(|byte| EncryptionKey::new(&[byte; 32]).unwrap());
        ArrayPlace::in_store(store.clone(), "g".into(), key, env())
    };
    let group = place(Some(1));
    group.create_group().unwrap();
    group.put_members(&[add("secret-name")], Some(1)).unwrap();
    assert_eq!(names(&group, 1), ["secret-name"]);
    for key in [None, Some(2)] {
        assert_eq!(place(key).members(TimeRange::ALL).unwrap_err().kind(), ErrorKind::Permission);
    }
    for (_, bytes) in store.files() {
        assert!(!bytes.windows(6).any(|window| window == b"secret"));
    }
}

#[test]
fn walks_end_in_circles_and_where_lists_multiply() {
    let top = in_memory();
    for level in 0..100 {
        let group = beside(&top, &format!("top/group{}", "/g".repeat(level)));
        group.create_group().unwrap();
        // Two ways down, one up to the top, and one to itself.
        put_list(
            &group,
            1,
            &[
                ("g", true, MemberKind::Group),
                ("./g/", true, MemberKind::Group),
                ("mem://top/group", false, MemberKind::Group),
                (".", true, MemberKind::Group),
                ("../..", true, MemberKind::Group),
            ],
        );
    }
    let visits: Vec<_> = top.walk_members(TimeRange::ALL, false).unwrap().collect();
    assert_eq!(visits.iter().map(|visit| visit.depth).max(), Some(63));
    let count = |wanted: fn(&Branch) -> bool| visits.iter().filter(|visit| wanted(&visit.branch)).count();
    assert_eq!(count(|branch| matches!(branch, Branch::Entered)), 63);
    assert_eq!(count(|branch| matches!(branch, Branch::TooDeep)), 2);
    assert_eq!(visits.len(), 64 * 5);
}

#[test]
fn a_walk_stays_inside_unless_it_is_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let group = local(&folder.path().join("g"));
    let outside = local(&folder.path().join("out"));
    for place in [&group, &outside, &beside(&group, "g/in")] {
        place.create_group().unwrap();
    }
    put_list(&outside, 1, &[("leaf", true, MemberKind::Array)]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("out"), folder.path().join("g/link")).unwrap();
    let away = format!("file://{}", outside.uri());
    let members = [
        ("in", true, MemberKind::Group),
        ("../out", true, MemberKind::Group),
        ("link", true, MemberKind::Group),
        ("missing", true, MemberKind::Group),
        (away.as_str(), false, MemberKind::Group),
    ];
    put_list(&group, 1, &members);
    let branches = |leaves_root| {
        let walk = group.walk_members(TimeRange::ALL, leaves_root).unwrap();
        walk.map(|visit| format!("{:?}", visit.branch).chars().take(5).collect()).collect::<Vec<String>>()
    };
    assert_eq!(branches(false), ["Outsi", "Outsi", "Enter", "Outsi", "Unrea"]);
    assert_eq!(branches(true), ["Enter", "Leaf", "Known", "Enter", "Known", "Unrea"]);
}

#[test]
fn a_deletion_takes_what_is_inside_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let group = local(&base.join("g"));
    group.create_group().unwrap();
    let sub = beside(&group, "g/deep/sub");
    sub.create_group().unwrap();
    let outside = local(&base.join("out"));
    for array in
        [beside(&group, "g/a"), beside(&group, "g/deep/sub/b"), beside(&group, "g/unlisted"), outside]
    {
        put_array(&array);
    }
    std::fs::create_dir(base.join("g/notes")).unwrap();
    std::fs::write(base.join("g/notes/n"), "x").unwrap();
    std::os::unix::fs::symlink(base.join("out"), base.join("g/link")).unwrap();
    std::os::unix::fs::symlink(base.join("g/a"), base.join("g/alias")).unwrap();
    std::os::unix::fs::symlink(&base, base.join("g/up")).unwrap();
    let (out, whole) = (format!("file://{}/out", base.display()), base.display().to_string());
    let kind = MemberKind::Array;
    put_list(
        &group,
        1,
        &[
            ("a", true, kind),
            ("deep/sub", true, MemberKind::Group),
            ("../out", true, kind),
            (out.as_str(), false, kind),
            (whole.as_str(), false, MemberKind::Group),
            ("link", true, kind),
            ("alias", true, kind),
            ("up/out", true, kind),
            ("notes", true, kind),
            ("missing", true, kind),
            ("..", true, kind),
            ("/etc", true, kind),
            ("a\0b", true, kind),
            ("../g", true, kind),
        ],
    );
    put_list(&sub, 1, &[("b", true, kind), ("../../..", true, MemberKind::Group), ("../../a", true, kind)]);
    let done = group.delete_group(true).unwrap();
    let left = files_below(&base);
    assert_eq!(left, ["g/notes/n", "g/unlisted/__schema/__1_1_a", "out/__schema/__1_1_a"], "{done:?}");
    assert!(base.join("g/up").is_symlink() && !base.join("g/link").is_symlink());
    assert!(!base.join("g/deep").exists() && !base.join("g/alias").is_symlink());
    assert_eq!(done.deleted.last(), Some(&group.uri()));
    assert_eq!(group.object_kind().unwrap(), None);
    assert_eq!(group.delete_group(true).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn without_its_members_a_group_goes_alone() {
    for uses_metadata in [false, true] {
        let group = in_memory();
        group.create_group().unwrap();
        let array = beside(&group, "top/group/a");
        put_array(&array);
        group.put_members(&[add("a")], Some(1)).unwrap();
        if uses_metadata {
            group.store().put(&group.join("__meta/__1_1_a"), &[b"x"]).unwrap();
        }
        group.delete_group(false).unwrap();
        assert_eq!(group.object_kind().unwrap(), None);
        assert_eq!(array.object_kind().unwrap(), Some(ObjectKind::Array));
    }
    let group = in_memory();
    group.create_group().unwrap();
    group.delete_group(false).unwrap();
    assert!(group.store().list("top").unwrap().is_empty());
}

/// The files below a folder, sorted, no link followed.
fn files_below(root: &Path) -> Vec<String> {
    let (mut files, mut pending) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

/// Every storage call in turn fails: the operation can be repeated, and then it has happened.
#[test]
fn what_was_cut_short_can_be_repeated() {
    for call_idx in 0.. {
        let store = Arc::new(FaultStore::new(MemoryStore::new()));
        let group = ArrayPlace::in_store(store.clone(), "g".into(), None, env());
        let within = |path: &str| ArrayPlace::in_store(store.clone(), path.into(), None, env());
        let mut failures = 0;
        let mut attempt = |operation: &dyn Fn() -> smalti_types::Result<()>| {
            if let Err(error) = operation() {
                failures += 1;
                assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::Permission), "{error}");
                // A repeated creation may find what the first one made.
                match operation() {
                    Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
                    again => again.unwrap(),
                }
            }
        };
        store.set_plan(Some(FaultPlan { scope: FaultScope::All, ..FaultPlan::once(call_idx) }));
        attempt(&|| group.create_group());
        attempt(&|| within("g/sub").create_group());
        attempt(&|| within("g/sub/a").store().put("g/sub/a/__schema/__1_1_a", &[b"x"]));
        attempt(&|| group.put_members(&[add("sub/a")], Some(1)).map(drop));
        attempt(&|| {
            let edit = MemberEdit::Add(NewMember::relative("sub").unnamed().kind(ObjectKind::Group));
            group.put_members(&[edit], Some(2)).map(drop)
        });
        attempt(&|| group.delete_group(true).map(drop));
        store.set_plan(None);
        assert_eq!(group.object_kind().unwrap(), None, "call {call_idx}");
        assert!(store.list_recursive("").unwrap().is_empty(), "call {call_idx}");
        if failures == 0 {
            assert!(call_idx > 20, "{call_idx}");
            break;
        }
    }
}

#[test]
fn objects_are_found_moved_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let root = local(&base);
    let group = local(&base.join("g"));
    group.create_group().unwrap();
    beside(&group, "g/sub").create_group().unwrap();
    put_array(&beside(&group, "g/sub/a"));
    put_array(&beside(&group, "b"));
    group.put_members(&[add("sub/a")], Some(1)).unwrap();
    std::fs::create_dir_all(base.join("plain/inner")).unwrap();
    put_array(&beside(&group, "plain/c"));
    std::os::unix::fs::symlink(base.join("g"), base.join("g/sub/loop")).unwrap();
    let listed = |found: Vec<(ArrayPlace, ObjectKind)>| {
        let name = |(place, kind): (ArrayPlace, ObjectKind)| {
            format!("{kind} {}", place.uri().strip_prefix(base.to_str().unwrap()).unwrap())
        };
        found.into_iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(listed(root.child_objects().unwrap()), ["array /b", "group /g"]);
    assert_eq!(
        listed(root.walk_objects(WalkOrder::Pre).unwrap()),
        ["array /b", "group /g", "group /g/sub", "array /g/sub/a", "group /g/sub/loop"]
    );
    assert_eq!(
        listed(root.walk_objects(WalkOrder::Post).unwrap()),
        ["array /b", "array /g/sub/a", "group /g/sub/loop", "group /g/sub", "group /g"]
    );
    let none = local(&base.join("none"));
    assert_eq!(none.child_objects().unwrap_err().kind(), ErrorKind::NotFound);

    let elsewhere = local(&base.join("plain/moved/g"));
    assert_eq!(local(&base.join("plain")).remove_object().unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(none.move_object(&elsewhere, SyncLevel::None).unwrap_err().kind(), ErrorKind::NotFound);
    let error = group.move_object(&local(&base.join("b")), SyncLevel::None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let error = group.move_object(&local(&base.join("g/sub/x")), SyncLevel::None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    group.move_object(&elsewhere, SyncLevel::Full).unwrap();
    assert_eq!(group.object_kind().unwrap(), None);
    let member = elsewhere.members(TimeRange::ALL).unwrap().swap_remove(0);
    assert_eq!(elsewhere.member_place(&member).unwrap().object_kind().unwrap(), Some(ObjectKind::Array));
    assert_eq!(elsewhere.remove_object().unwrap(), ObjectKind::Group);
    assert!(base.join("plain/c").exists() && !base.join("plain/moved/g").exists());
}

/// Damage behind the filters, where flipped bits of a file seldom reach.
#[test]
fn damaged_lists_give_members_or_errors() {
    let mut random = 1_u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % limit.max(1)
    };
    let member = |uri: &str, name: Option<&str>| Member {
        uri: uri.into(),
        is_relative: true,
        kind: Some(ObjectKind::Group),
        name: name.map(str::to_owned),
    };
    let whole = [member("a", Some("name")), member("b/c", None), member("ü", Some("../x"))];
    let stored = whole.iter().map(|member| GroupMember {
        version: 2,
        kind: MemberKind::Group,
        is_relative: member.is_relative,
        uri: member.uri.clone(),
        name: member.name.clone(),
        is_deleted: false,
    });
    let payload = GroupFile { version: 2, members: stored.collect() }.encode().unwrap();
    for _ in 0..3_000 {
        let mut payload = payload.clone();
        for _ in 0..=below(3) {
            let at = below(payload.len());
            match below(4) {
                0 => payload.truncate(at),
                1 => payload[at] = [0, 0xff, 0x7f, b'/', b'.'][below(5)],
                2 => payload[at] ^= 1 << below(8),
                _ => payload.extend_from_within(at..),
            }
            if payload.is_empty() {
                break;
            }
        }
        let group = in_memory();
        group.create_group().unwrap();
        put_tile(&group, 1, &payload);
        if let Ok(walk) = group.walk_members(TimeRange::ALL, false) {
            assert!(walk.count() < 1_000);
        }
        let _ = group.put_members(&[add("new")], None);
        let _ = group.put_members(&[MemberEdit::Remove("name".into())], None);
        let _ = group.delete_group(true);
    }
}
