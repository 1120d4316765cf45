//! T8: symbolic links in place of what is deleted.
#![cfg(unix)]

use crate::arrays::{Ground, maintain, one_fragment, options, put, schema};
use crate::blast::{light, turn};
use smalti::upkeep::{FragmentOptions, VacuumOptions};
use smalti::{Array, prelude::*};
use smalti::{NewMember, Object};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A folder beside the array, with a file and a folder in it.
fn precious(ground: &Ground) -> PathBuf {
    let folder = ground.path().join("precious");
    fs::create_dir_all(folder.join("inner")).unwrap();
    fs::write(folder.join("file"), "kept").unwrap();
    fs::write(folder.join("inner/__fragment_metadata.tdb"), "kept").unwrap();
    folder
}

fn assert_kept(folder: &Path) {
    assert_eq!(fs::read(folder.join("file")).unwrap(), b"kept");
    assert_eq!(fs::read(folder.join("inner/__fragment_metadata.tdb")).unwrap(), b"kept");
}

#[test]
fn t8_a_vacuum_follows_no_symbolic_link() {
    let _turn = turn();
    let ground = one_fragment(&schema(false, false));
    put(&ground.open().unwrap(), 7, 20);
    let precious = precious(&ground);
    let replaced = ground.open().unwrap().fragments().unwrap()[0].name().to_owned();
    let mut array = ground.open().unwrap();
    array.consolidate(&FragmentOptions::default()).unwrap();
    // The fragment's folder is a link, and in the other one there is a link.
    let folder = ground.thing().join("__fragments").join(replaced);
    fs::remove_dir_all(&folder).unwrap();
    symlink(&precious, &folder).unwrap();
    for fragment in fs::read_dir(ground.thing().join("__fragments")).unwrap() {
        let fragment = fragment.unwrap().path();
        if !fragment.is_symlink() {
            symlink(&precious, fragment.join("link")).unwrap();
            symlink(precious.join("file"), fragment.join("__link.tdb")).unwrap();
        }
    }
    let _ = light("a vacuum", || array.vacuum(&VacuumOptions::default()));
    assert_kept(&precious);
    let _ = light("upkeep", || maintain(&ground));
    assert_kept(&precious);
}

#[test]
fn t8_removing_an_array_or_group_follows_no_symbolic_link() {
    let _turn = turn();
    let ground = one_fragment(&schema(false, false));
    let precious = precious(&ground);
    symlink(&precious, ground.thing().join("__fragments/link")).unwrap();
    symlink(precious.join("file"), ground.thing().join("__commits/link")).unwrap();
    let _ = light("removing the array", || {
        Object::at_with(&ground.uri(), &options())?.map_or(Ok(()), Object::remove)
    });
    assert_kept(&precious);

    let ground = Ground::new();
    let outside = ground.path().join("array");
    let array = Array::create_with(outside.to_str().unwrap(), &schema(false, false), &options()).unwrap();
    put(&array, 3, 10);
    let group = Group::create_with(&ground.uri(), &options()).unwrap();
    symlink(&outside, ground.thing().join("link")).unwrap();
    group.add(NewMember::relative("link")).unwrap();
    let _ =
        light("deleting the group", || Group::open_with(&ground.uri(), &options())?.delete_with_members());
    let array = Array::open_with(outside.to_str().unwrap(), &options()).unwrap();
    assert_eq!(array.fragments().unwrap().len(), 1);
}
