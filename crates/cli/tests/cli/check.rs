//! Checking, mending and comparing arrays.

use crate::fixtures::grid;
use crate::session::Session;

/// What a command prints, and its exit status.
fn run(session: &Session, line: &str) -> (String, i32) {
    let output = session.output_of(line, b"");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code().unwrap_or(-1))
}

#[test]
fn damage_is_found_mended_and_salvaged() {
    let session = Session::new();
    grid(&session);
    assert_eq!(
        run(&session, "fsck grid --data"),
        ("2 fragments and 15 tiles checked: nothing found\n".into(), 0)
    );
    let before = run(&session, "digest grid").0;
    let stray = session.path("grid/__schema/notes");
    std::fs::write(&stray, "x").unwrap();
    let (text, status) = run(&session, "fsck grid");
    assert_eq!(status, 1);
    assert!(
        text.contains("__schema/notes: stray (hidden data)") && text.contains("`smalti repair`"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&run(&session, "fsck grid --json").0).unwrap();
    assert_eq!(json["findings"][0]["kind"], "stray");
    assert_eq!(json["sound"], false);
    assert!(run(&session, "repair grid --dry-run").0.contains("would be mended"));
    assert!(stray.exists());
    let (text, status) = run(&session, "repair grid");
    assert!(status == 0 && text.contains("what was set aside is in grid/__aside/"), "{text}");
    assert!(!stray.exists());
    assert_eq!(run(&session, "fsck grid").1, 0);
    assert_eq!(run(&session, "digest grid").0, before);

    let folders = std::fs::read_dir(session.path("grid/__fragments")).unwrap();
    let is_first = |path: &std::path::PathBuf| path.to_string_lossy().contains("/__100_");
    let fragment = folders.map(|entry| entry.unwrap().path()).find(is_first).unwrap();
    let file = fragment.join("a1.tdb");
    let content = std::fs::read(&file).unwrap();
    std::fs::write(&file, &content[..content.len() - 4]).unwrap();
    assert!(run(&session, "fsck grid").0.contains("file-short (lost data)"));
    let (text, status) = run(&session, "salvage grid -o rescued");
    assert!(
        status == 1 && text.contains("lost: ") && text.contains("\"f\"") && text.contains("1 losses"),
        "{text}"
    );
    let (text, status) = run(&session, "salvage grid -o rescued.csv");
    assert!(status == 1 && text.contains("rescued.csv"), "{text}");
    let rows =
        |array| run(&session, &format!("read {array} --select a --format csv --range y=1:3 --range x=1:3")).0;
    assert_eq!(rows("rescued"), rows("grid"));
    assert!(run(&session, "fsck nothing").0.contains("no array or group is here"));
}

#[test]
fn differences_are_printed_and_tell_the_exit_status() {
    let session = Session::new();
    grid(&session);
    let (text, status) = run(&session, "diff grid --at-a 100");
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("~ y=2 x=2: a: 22 -> -22"), "{text}");
    assert!(text.contains("+ y=2 x=3: a=23, f=null"), "{text}");
    let (text, _) = run(&session, "diff grid --at-a 100 --limit 1");
    assert_eq!(text.lines().count(), 1, "{text}");
    let (text, _) = run(&session, "diff grid --at-a 100 --json");
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["summary"]["changed"], 1);
    assert_eq!(run(&session, "diff grid grid"), (String::new(), 0));
    assert_eq!(run(&session, "diff grid nothing").1, 2);
    assert_eq!(run(&session, "diff grid").1, 2);
}

/// A group with an array and a group in its folder, which lists the first one again and an array elsewhere.
fn atlas(session: &Session) {
    grid(session);
    session.text("group create atlas");
    session.text("group create atlas/maps");
    for array in ["atlas/height", "atlas/maps/europe", "outside"] {
        session.text(&format!("create {array} --schema grid.json"));
        session.text(&format!("write {array} --from first.csv --range y=1:2 --range x=1:2 --at 100"));
    }
    session.text("group add atlas atlas/height atlas/maps");
    session.text("group add atlas/maps atlas/maps/europe outside");
    session.text("group add atlas/maps atlas --name top");
}

#[test]
fn a_check_of_a_group_checks_its_members_and_names_the_one_at_fault() {
    let session = Session::new();
    atlas(&session);
    let (text, status) = run(&session, "fsck atlas --data");
    assert_eq!(status, 0, "{text}");
    assert!(text.starts_with("4 members, 3 fragments and ") && text.contains("nothing found"), "{text}");
    assert_eq!(
        run(&session, "fsck atlas --data --shallow"),
        ("0 fragments checked: nothing found\n".into(), 0)
    );

    let file = session.fragment("outside").join("a1.tdb");
    let content = std::fs::read(&file).unwrap();
    std::fs::write(&file, &content[..content.len() - 4]).unwrap();
    let stray = session.path("atlas/maps/europe/__schema/notes");
    std::fs::write(&stray, "x").unwrap();
    std::fs::remove_dir_all(session.path("atlas/height")).unwrap();
    let (text, status) = run(&session, "fsck atlas");
    assert_eq!(status, 1, "{text}");
    for part in [
        "member-missing (lost data): the member \"height\"",
        "member maps/europe at ",
        "__schema/notes: stray",
        ", outside the group's folder:",
        "file-short (lost data)",
        "3 members, ",
        "`smalti repair` does something about 1 of them",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(run(&session, "fsck atlas --shallow").1, 0);
    let json: serde_json::Value = serde_json::from_str(&run(&session, "fsck atlas --json").0).unwrap();
    let members = json["members"].as_array().unwrap();
    let told: Vec<(&str, bool, bool)> = members
        .iter()
        .map(|member| {
            let is = |key: &str| member[key].as_bool().unwrap();
            (member["member"].as_str().unwrap(), is("inside"), is("sound"))
        })
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.contains(&("maps", true, true)) && told.contains(&("maps/europe", true, false)), "{told:?}");
    assert!(told.iter().any(|(_, inside, sound)| !inside && !sound), "{told:?}");
    assert_eq!(json["sound"], false);
    assert_eq!(json["findings"][0]["kind"], "member-missing");

    let (text, status) = run(&session, "repair atlas --dry-run");
    assert!(status == 1 && text.contains("would be mended") && stray.exists(), "{text}");
    let outside = std::fs::read(&file).unwrap();
    let (text, status) = run(&session, "repair atlas --give-up");
    assert!(status == 1 && text.contains("member maps/europe at "), "{text}");
    assert!(text.contains("a repair of the group leaves it alone"), "{text}");
    assert!(!stray.exists() && session.path("atlas/maps/europe/__aside").exists());
    assert!(std::fs::read(&file).unwrap() == outside && !session.path("outside/__aside").exists());
    session.text("group remove atlas height");
    std::fs::write(&file, content).unwrap();
    assert_eq!(run(&session, "fsck atlas --data").1, 0);
}

#[test]
fn one_repair_mends_the_lists_of_groups_in_groups_and_what_they_list() {
    let session = Session::new();
    grid(&session);
    let groups = ["top", "top/a", "top/a/b"];
    for group in groups {
        session.text(&format!("group create {group}"));
    }
    session.text("create top/a/b/height --schema grid.json");
    session.text("group add top top/a");
    for (group, member) in [("top/a", "top/a/b"), ("top/a/b", "top/a/b/height")] {
        session.text(&format!("group add {group} {member}"));
        // In circles, and in a list of its own, of which nothing is left.
        session.text(&format!("group add {group} top --name top"));
        let lists = std::fs::read_dir(session.path(group).join("__group")).unwrap();
        let last = lists.map(|entry| entry.unwrap().path()).max().unwrap();
        std::fs::write(&last, &std::fs::read(&last).unwrap()[..40]).unwrap();
    }
    let stray = session.path("top/a/b/height/__schema/notes");
    std::fs::write(&stray, "x").unwrap();
    let (text, status) = run(&session, "repair top");
    assert!(!stray.exists() && status == 0, "{text}");
    for member in ["a", "a/b", "a/b/height"] {
        assert!(text.contains(&format!("member {member} at ")), "{member} in {text}");
    }
    assert!(text.contains("left: nothing found"), "{text}");
    let (text, status) = run(&session, "fsck top --data");
    assert!(status == 0 && text.starts_with("3 members, ") && text.contains("nothing found"), "{text}");
}

#[test]
fn salvaged_cells_of_which_a_newer_value_may_be_lost_are_told_and_left_out_on_request() {
    let session = Session::new();
    session.file(
        "tiny.json",
        r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT32", "domain": [1, 9], "tile": 3}], "attrs": [{"name": "a", "type": "INT64"}]}"#,
    );
    session.text("create tiny --schema tiny.json");
    for (at, cells) in [(100, "2,1\n5,2\n7,3\n"), (200, "5,20\n6,30\n")] {
        session.file("tiny.csv", format!("d,a\n{cells}"));
        session.text(&format!("write tiny --from tiny.csv --at {at}"));
    }
    let folders = std::fs::read_dir(session.path("tiny/__fragments")).unwrap();
    let is_last = |path: &std::path::PathBuf| path.to_string_lossy().contains("/__200_");
    let file = folders.map(|entry| entry.unwrap().path()).find(is_last).unwrap().join("d0.tdb");
    let content = std::fs::read(&file).unwrap();
    std::fs::write(&file, &content[..content.len() - 4]).unwrap();
    let (text, status) = run(&session, "salvage tiny -o all.csv");
    let told =
        "older: d 5: the value is of 1970-01-01T00:00:00.100Z; what was written at 1970-01-01T00:00:00.200Z";
    assert!(status == 1 && text.contains(told), "{text}");
    assert!(text.contains("1 cells with older values"), "{text}");
    let rows = |name: &str| std::fs::read_to_string(session.path(name)).unwrap();
    assert_eq!(rows("all.csv"), "d,a\n2,1\n5,2\n7,3\n");
    let (text, _) = run(&session, "salvage tiny -o some.csv --strict --json");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let older = serde_json::json!({
        "cells": 1, "left_out": true, "places": [{"domain": [[5, 5]], "from": [100, 100], "lost": [200, 200]}],
        "unlisted": 0,
    });
    assert_eq!(json["older"], older);
    assert_eq!(rows("some.csv"), "d,a\n2,1\n7,3\n");
    assert_eq!(run(&session, "salvage tiny -o some --strict").1, 1);
    assert_eq!(session.text("read some --format csv"), rows("some.csv"));
}

#[test]
fn a_strict_salvage_of_a_dense_array_to_a_file_says_what_to_do() {
    let session = Session::new();
    grid(&session);
    session.text("create dense --schema grid.json");
    for at in [100, 200] {
        session.text(&format!("write dense --from first.csv --range y=1:2 --range x=1:2 --at {at}"));
    }
    let folders = std::fs::read_dir(session.path("dense/__fragments")).unwrap();
    let is_last = |path: &std::path::PathBuf| path.to_string_lossy().contains("/__200_");
    let file =
        folders.map(|entry| entry.unwrap().path()).find(is_last).unwrap().join("__fragment_metadata.tdb");
    std::fs::write(&file, "").unwrap();
    for target in ["cells.csv", "- --format csv"] {
        let problem = session.problem(&format!("salvage dense --strict -o {target}"), 1);
        assert!(problem.contains("--output NEW_ARRAY, then `smalti read NEW_ARRAY -o FILE`"), "{problem}");
        assert!(problem.contains("or leave --strict out"), "{problem}");
    }
    let (text, _) = run(&session, "salvage dense -o cells.csv");
    assert!(text.contains("4 cells with older values"), "{text}");
    let (text, _) = run(&session, "salvage dense --strict -o new");
    assert!(text.contains("4 cells with older values left out"), "{text}");
    assert!(session.text("read new --format csv").lines().count() > 1);
}

#[test]
fn a_salvage_leaves_out_labels_of_which_newer_ones_are_lost() {
    let session = Session::new();
    session.file(
        "map.json",
        r#"{"array_type": "dense", "dims": [{"name": "row", "type": "INT32", "domain": [1, 3], "tile": 3}],
            "attrs": [{"name": "a", "type": "INT32", "filters": []}],
            "labels": [{"name": "lat", "dim": "row", "type": "FLOAT64"}]}"#,
    );
    session.text("create map --schema map.json");
    session.file("a.csv", "a\n1\n2\n3\n");
    session.text("write map --from a.csv --at 100");
    for (at, labels) in [(100, "1,1\n2,2\n3,3\n"), (200, "1,11\n2,12\n3,13\n")] {
        session.file("lat.csv", format!("row,lat\n{labels}"));
        session.text(&format!("write map --from lat.csv --at {at}"));
    }
    let labels = std::fs::read_dir(session.path("map/__labels")).unwrap().next().unwrap().unwrap().path();
    let folders = std::fs::read_dir(labels.join("__fragments")).unwrap();
    let is_last = |path: &std::path::PathBuf| path.to_string_lossy().contains("/__200_");
    let newest = folders.map(|entry| entry.unwrap().path()).find(is_last).unwrap();
    std::fs::write(newest.join("__fragment_metadata.tdb"), "").unwrap();
    let (text, status) = run(&session, "salvage map -o rescued");
    assert!(status == 1 && text.contains("dimension label \"lat\"") && text.contains("left out"), "{text}");
    assert!(!session.text("schema rescued").contains("lat"));
    assert_eq!(session.text("read rescued --format csv --select a"), "a\n1\n2\n3\n");
}
