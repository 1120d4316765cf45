//! T6: groups that contain themselves, and deletions that would leave the group.

use crate::arrays::{Ground, options, put, schema, tile};
use crate::blast::{answered, light, turn};
use smalti::NewMember;
use smalti::{Array, prelude::*};
use smalti_format::{GroupFile, GroupMember, MemberKind};
use std::fs;
use std::path::Path;

/// Writes the list of a group as somebody would who wants harm: any URIs.
fn list(group: &Path, members: &[(MemberKind, bool, &str)]) {
    let members = members.iter().map(|&(kind, is_relative, uri)| GroupMember {
        version: 2,
        kind,
        is_relative,
        uri: uri.to_owned(),
        name: None,
        is_deleted: false,
    });
    let file = GroupFile { version: 2, members: members.collect() };
    let path = group.join("__group/__90_90_0123456789abcdef0123456789abcdef_2");
    fs::write(path, tile(&file.encode().unwrap())).unwrap();
}

fn group(path: &Path) -> Group {
    Group::create_with(path.to_str().unwrap(), &options()).unwrap()
}

#[test]
fn t6_a_walk_of_groups_that_contain_each_other_ends() {
    let _turn = turn();
    let ground = Ground::new();
    let (top, inner) = (ground.thing(), ground.thing().join("inner"));
    group(&top).add(NewMember::relative("inner").name("inner")).ok();
    group(&inner);
    let absolute = format!("file://{}", top.display());
    for uri in [("../", true), ("..", true), ("../../thing", true), (absolute.as_str(), false)] {
        list(&top, &[(MemberKind::Group, true, "inner")]);
        list(&inner, &[(MemberKind::Group, uri.1, uri.0), (MemberKind::Group, true, "../inner")]);
        let opened = || Group::open_with(top.to_str().unwrap(), &options());
        let count = answered("a walk", || Ok(opened()?.walk()?.count()));
        assert!((1..10).contains(&count), "{count} visits by {uri:?}");
        let count = answered("a walk everywhere", || Ok(opened()?.walk_everywhere()?.count()));
        assert!((1..10).contains(&count), "{count} visits by {uri:?}");
    }
}

#[test]
fn t6_groups_nested_deeply_are_walked_or_cut() {
    let _turn = turn();
    let ground = Ground::new();
    group(&ground.thing());
    list(&ground.thing(), &[(MemberKind::Group, true, "g")]);
    let file = ground.file("/__group/");
    let mut path = ground.thing();
    for _ in 0..70 {
        path.push("g");
        fs::create_dir_all(path.join("__group")).unwrap();
        fs::copy(ground.thing().join("__tiledb_group.tdb"), path.join("__tiledb_group.tdb")).unwrap();
        fs::copy(&file, path.join("__group").join(file.file_name().unwrap())).unwrap();
    }
    let opened = || Group::open_with(&ground.uri(), &options());
    let visits = answered("a deep walk", || Ok(opened()?.walk()?.count()));
    assert!((1..=71).contains(&visits), "{visits}");
    let _ = light("a deep deletion", || opened()?.delete_with_members());
    assert!(ground.path().exists());
}

#[test]
fn t6_a_recursive_deletion_never_leaves_the_group() {
    let _turn = turn();
    let ground = Ground::new();
    let outside = ground.path().join("outside");
    let array = Array::create_with(outside.to_str().unwrap(), &schema(false, true), &options()).unwrap();
    put(&array, 3, 10);
    let plain = ground.path().join("plain");
    fs::create_dir(&plain).unwrap();
    fs::write(plain.join("file"), "kept").unwrap();
    let top = ground.thing();
    let absolute = format!("file://{}", outside.display());
    let climbing = format!("inside/../../{}", "outside");
    group(&top);
    let inside = top.join("inside");
    Array::create_with(inside.to_str().unwrap(), &schema(false, true), &options()).unwrap();
    let uris =
        ["../outside", "..", ".", "", "inside", "/../outside", &climbing, "../plain", "a/../../outside"];
    let mut members: Vec<_> = uris.iter().map(|uri| (MemberKind::Array, true, *uri)).collect();
    members.push((MemberKind::Array, false, &absolute));
    members.push((MemberKind::Group, false, "/"));
    for members in [&members[..], &members[..2], &members[4..5]] {
        if !top.join("__group").exists() {
            group(&top);
        }
        list(&top, members);
        let opened = || Group::open_with(top.to_str().unwrap(), &options());
        let _ = light("a deletion", || opened()?.delete_with_members());
        assert_eq!(fs::read(plain.join("file")).unwrap(), b"kept");
        let array = Array::open_with(outside.to_str().unwrap(), &options()).unwrap();
        assert_eq!(array.fragments().unwrap().len(), 1);
    }
    assert!(!inside.exists());
}
