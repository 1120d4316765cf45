//! The kinds of errors that the documentation of each function names.

use crate::line;
use smalti::format::Version;
use smalti::upkeep::{Choice, FragmentChoice, FragmentDeletion, FragmentOptions};
use smalti::{Aggregate, Array, Dimension, Object, Progress, Result, Upgrade, Value, prelude::*};
use std::sync::Arc;

/// What was done, what came of it, and what should have.
type Row = (&'static str, Option<ErrorKind>, ErrorKind);

fn kind<T>(done: Result<T>) -> Option<ErrorKind> {
    done.err().map(|error| error.kind())
}

fn check(rows: &[Row]) {
    for (what, found, expected) in rows {
        assert_eq!(*found, Some(*expected), "{what}");
    }
}

fn dense(attribute: Attribute) -> Schema {
    let dense = Schema::dense().dimension(Dimension::new("x", 0..=3).tile(2)).attribute(attribute);
    dense.build().unwrap()
}

fn sparse() -> Schema {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=99).tile(10))
        .attribute(Attribute::of::<i32>("a"))
        .attribute(Attribute::utf8("s"));
    schema.build().unwrap()
}

fn key(byte: u8) -> Options {
    crate::options().key(EncryptionKey::new(&[byte; 32]).unwrap())
}

fn stopped() -> Arc<Progress> {
    let progress = Arc::new(Progress::new());
    progress.cancel();
    progress
}

#[test]
fn opening_and_changing_arrays_fail_as_documented() {
    use ErrorKind::*;
    let array = line("errors-array", 4, Attribute::of::<i32>("a"));
    let cells = Array::create_with(&crate::uri("errors-cells"), &sparse(), &crate::options()).unwrap();
    cells.write().column("x", &[1, 2]).column("a", &[1, 2]).column("s", &["a", "b"]).at(10).commit().unwrap();
    let locked =
        Array::create_with(&crate::uri("errors-locked"), &dense(Attribute::of::<i32>("a")), &key(1)).unwrap();
    locked.write().column("a", &[1, 2, 3, 4]).commit().unwrap();
    let old = Upgrade { to: Version::new(12).unwrap(), ..Upgrade::default() };
    check(&[
        (
            "create at a taken place",
            kind(Array::create_with(&crate::uri("errors-array"), &sparse(), &crate::options())),
            AlreadyExists,
        ),
        ("create nowhere", kind(Array::create_with("", &sparse(), &crate::options())), InvalidArgument),
        (
            "create in unknown storage",
            kind(Array::create_with("hdfs://bucket/a", &sparse(), &crate::options())),
            Unsupported,
        ),
        ("open nothing", kind(Array::open_with(&crate::uri("errors-nothing"), &crate::options())), NotFound),
        (
            "open without the key",
            kind(Array::open_with(&crate::uri("errors-locked"), &crate::options())),
            Permission,
        ),
        ("open with another key", kind(Array::open_with(&crate::uri("errors-locked"), &key(2))), Permission),
        (
            "an inverted time",
            kind(Array::open_with(&crate::uri("errors-array"), &crate::options().since(2).at(1))),
            InvalidArgument,
        ),
        ("bounds of no attribute", kind(array.attribute_bounds("b")), NotFound),
        ("no enumeration", kind(array.enumeration("e")), NotFound),
        ("no label", kind(array.label("l")), NotFound),
        ("an upgrade to an older version", kind(array.upgrade(&old)), InvalidArgument),
        ("no metadata to write", kind(array.write_metadata().commit()), InvalidArgument),
        ("a key twice", kind(array.write_metadata().put("k", 1).delete("k").commit()), InvalidArgument),
        ("no attribute to drop", kind(array.evolve().drop_attribute("b").commit()), InvalidArgument),
        (
            "an attribute that is there",
            kind(array.evolve().add_attribute(Attribute::of::<i32>("a")).commit()),
            InvalidArgument,
        ),
        (
            "an evolution before the schema",
            kind(array.evolve().drop_attribute("a").at(1).commit()),
            InvalidArgument,
        ),
        ("a delete in a dense array", kind(array.delete("a > 1".parse().unwrap()).commit()), Unsupported),
        ("a delete by no field", kind(cells.delete("b > 1".parse().unwrap()).commit()), InvalidArgument),
        (
            "a delete by other values",
            kind(cells.delete("a > 'x'".parse().unwrap()).commit()),
            InvalidArgument,
        ),
    ]);
}

#[test]
fn reads_and_writes_fail_as_documented() {
    use ErrorKind::*;
    let array = line("errors-dense", 4, Attribute::of::<i32>("a"));
    array.write().column("a", &[1, 2, 3, 4]).commit().unwrap();
    let other = line("errors-other", 4, Attribute::of::<i32>("a"));
    let cells = Array::create_with(&crate::uri("errors-sparse"), &sparse(), &crate::options()).unwrap();
    let write = |x: [i32; 2]| {
        cells.write().column("x", &x.to_vec()).column("a", &[1, 2]).column("s", &["a", "b"]).commit()
    };
    write([1, 2]).unwrap();
    let sealed = other.write().column("a", &[1, 2, 3, 4]).seal().unwrap();
    check(&[
        ("a read of no field", kind(array.read().select(["b"]).collect()), InvalidArgument),
        ("a range of another type", kind(array.read().range("x", "a"..="b").collect()), InvalidArgument),
        ("a range of no dimension", kind(array.read().range("y", 0..=1).collect()), InvalidArgument),
        ("a strict range outside", kind(array.read().range("x", 0..=9).strict().collect()), InvalidArgument),
        ("a condition on no field", kind(array.read().filter(field("b").gt(1)).collect()), InvalidArgument),
        ("a sum of text", kind(cells.read().aggregate([Aggregate::sum("s")])), InvalidArgument),
        ("a matrix of cells", kind(cells.read().to_ndarray::<i32>("a")), InvalidArgument),
        ("a matrix of another type", kind(array.read().to_ndarray::<f64>("a")), InvalidArgument),
        ("a read that was stopped", kind(array.read().progress(stopped()).collect()), Cancelled),
        ("a budget for nothing", kind(array.read().memory(1).collect()), OutOfMemory),
        ("a write of no field", kind(array.write().column("b", &[1, 2, 3, 4]).commit()), InvalidArgument),
        ("too few cells", kind(array.write().column("a", &[1, 2]).commit()), InvalidArgument),
        (
            "cells of another type",
            kind(array.write().column("a", &[1.0, 2.0, 3.0, 4.0]).commit()),
            InvalidArgument,
        ),
        ("a cell outside", kind(write([1, 100])), InvalidArgument),
        ("coordinates twice", kind(write([1, 1])), InvalidArgument),
        (
            "a write that was stopped",
            kind(array.write().column("a", &[1, 2, 3, 4]).progress(stopped()).commit()),
            Cancelled,
        ),
        ("a fragment of another array", kind(array.commit_together(vec![sealed])), InvalidArgument),
        ("half a number", kind(Value::from_le_bytes(Datatype::Int32, [1, 2])), InvalidArgument),
        ("a number that does not fit", kind(Value::of_datatype(Datatype::Int8, 300)), InvalidArgument),
        ("a number of text", kind(Value::of_datatype(Datatype::Int8, "x")), InvalidArgument),
    ]);
}

#[test]
fn upkeep_and_checks_fail_as_documented() {
    use ErrorKind::*;
    let mut array = line("errors-upkeep", 4, Attribute::of::<i32>("a"));
    let name = array.write().column("a", &[1, 2, 3, 4]).at(10).commit().unwrap().name().to_owned();
    array.write().column("a", &[1, 2, 3, 4]).at(20).commit().unwrap();
    let same = line("errors-same", 4, Attribute::of::<i32>("a"));
    array.copy_fragments(&[&name], &same, None).unwrap();
    let other = line("errors-differs", 4, Attribute::of::<i64>("a"));
    let locked =
        Array::create_with(&crate::uri("errors-key"), &dense(Attribute::of::<i32>("a")), &key(1)).unwrap();
    let options = crate::options();
    let listed = |names: &[&str]| FragmentOptions {
        choice: Choice::Listed(names.iter().map(ToString::to_string).collect()),
        ..FragmentOptions::default()
    };
    let stopped_merge = FragmentOptions { progress: Some(stopped()), ..FragmentOptions::default() };
    let gone = FragmentDeletion::of(FragmentChoice::Named(vec!["nothing".into()]));
    check(&[
        ("a merge of no fragment", kind(array.consolidate(&listed(&["nothing"]))), InvalidArgument),
        ("a merge that was stopped", kind(array.consolidate(&stopped_merge)), Cancelled),
        ("a delete of no fragment", kind(array.delete_fragments(&gone)), InvalidArgument),
        ("a copy of no fragment", kind(array.copy_fragments(&["nothing"], &same, None)), InvalidArgument),
        ("a copy that is there", kind(array.copy_fragments(&[&name], &same, None)), AlreadyExists),
        ("a copy to another schema", kind(array.copy_fragments(&[&name], &other, None)), InvalidArgument),
        ("a copy to another key", kind(array.copy_fragments(&[&name], &locked, None)), Permission),
        (
            "fsck of nothing",
            kind(Array::fsck(&crate::uri("errors-none"), &options, &Default::default())),
            NotFound,
        ),
        ("salvage of nothing", kind(Array::salvage(&crate::uri("errors-none"), &options, None)), NotFound),
        (
            "salvage to a taken place",
            Array::salvage(&crate::uri("errors-upkeep"), &options, None)
                .map(|mut salvaged| kind(salvaged.write_to(&crate::uri("errors-same"), &options)))
                .unwrap(),
            AlreadyExists,
        ),
    ]);
}

#[test]
fn groups_and_objects_fail_as_documented() {
    use ErrorKind::*;
    let group = Group::create_with(&crate::uri("errors-group"), &crate::options()).unwrap();
    line("errors-member", 4, Attribute::of::<i32>("a"));
    group.add(crate::uri("errors-member").as_str()).unwrap();
    let name = group.members().unwrap()[0].key().to_owned();
    let object = Object::at_with(&crate::uri("errors-member"), &crate::options()).unwrap().unwrap();
    let gone = {
        line("errors-gone", 4, Attribute::of::<i32>("a"));
        let gone = Object::at_with(&crate::uri("errors-gone"), &crate::options()).unwrap().unwrap();
        Object::at_with(&crate::uri("errors-gone"), &crate::options()).unwrap().unwrap().remove().unwrap();
        gone
    };
    check(&[
        (
            "create at a taken place",
            kind(Group::create_with(&crate::uri("errors-group"), &crate::options())),
            AlreadyExists,
        ),
        ("create nowhere", kind(Group::create_with("", &crate::options())), InvalidArgument),
        ("open an array", kind(Group::open_with(&crate::uri("errors-member"), &crate::options())), NotFound),
        (
            "open an inverted time",
            kind(Group::open_with(&crate::uri("errors-group"), &crate::options().since(2).at(1))),
            InvalidArgument,
        ),
        ("no member", kind(group.member("nothing")), NotFound),
        ("an array that is a group", kind(group.group(&name)), NotFound),
        ("add nothing", kind(group.add(crate::uri("errors-none").as_str())), NotFound),
        ("add a member again", kind(group.add(crate::uri("errors-member").as_str())), AlreadyExists),
        ("remove nothing", kind(group.remove("nothing")), NotFound),
        ("no changes", kind(group.write_members().commit()), InvalidArgument),
        ("unknown storage", kind(group.member_at("hdfs://bucket/a")), Unsupported),
        ("an object nowhere", kind(Object::at_with("", &crate::options())), InvalidArgument),
        (
            "children of nothing",
            kind(Object::children_with(&crate::uri("errors-none"), &crate::options())),
            NotFound,
        ),
        ("move to a taken place", kind(object.move_to(&crate::uri("errors-group"))), AlreadyExists),
        ("move into itself", kind(object.move_to(&crate::uri("errors-member/inside"))), InvalidArgument),
        ("remove what has gone", kind(gone.remove()), NotFound),
    ]);
}

#[test]
fn damaged_files_are_corrupt_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("array").display().to_string();
    let array = Array::create_with(&uri, &dense(Attribute::of::<i32>("a")), &crate::options()).unwrap();
    array.write().column("a", &[1, 2, 3, 4]).commit().unwrap();
    array.write_metadata().put("k", "v").commit().unwrap();
    let spoil = |below: &str| {
        let entries = std::fs::read_dir(folder.path().join("array").join(below)).unwrap();
        let file = entries.map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
        let content = std::fs::read(&file).unwrap();
        std::fs::write(&file, &content[..content.len() / 2]).unwrap();
        file.file_name().unwrap().to_string_lossy().into_owned()
    };
    let name = spoil("__meta");
    for error in [array.metadata().map(|_| ()).unwrap_err(), array.history().map(|_| ()).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(&name), "{error}");
    }
    let name = spoil("__schema");
    let error = Array::open_with(&uri, &crate::options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&name), "{error}");
}
