//! `smalti history`, `smalti describe`, and deletes that only count.

use crate::fixtures::{grid, points};
use crate::session::Session;

/// A sparse array with a change of every kind, at fixed times.
fn places(session: &Session) {
    session.file("places.json", PLACES);
    session.file("one.csv", "x,name,n\n1,a,10\n2,b,20\n3,c,30\n");
    session.file("two.csv", "x,name,n\n4,d,\n5,e,50\n");
    session.text("create places --schema places.json");
    session.text("write places --from one.csv --at 4200-01-01");
    session.text("write places --from two.csv --at 4200-01-02");
    session.text("evolve places --add-enumeration kinds=town,city --add '{\"name\": \"kind\", \"type\": \"UINT8\", \"enumeration\": \"kinds\"}' --at 4200-01-03");
    let delete = session.output_of("delete places --where 'x >= 2 and n <= 20' --at 4200-01-04", b"");
    assert!(delete.status.success());
    session.text("evolve places --extend-enumeration kinds=hamlet --drop n --at 4200-01-05");
    session.text("meta places put unit metre --at 4200-01-06");
    session.text("meta places delete unit --at 4200-01-07");
}

#[test]
fn a_history_has_a_line_for_each_change() {
    let mut session = Session::new();
    places(&session);
    session.show("history places");
    session.show("history places --count --oldest-first --since 4200-01-03 --at 4200-01-05");
    session.show("history places --limit 2 --json");
    session.text("consolidate places");
    session.show("history places --since 4200-01-01");
    session.text("vacuum places");
    session.show("history places --since 4200-01-01 --limit 7");
    session.text("import one.csv past --dims x --at 2001-09-09");
    session.show("history past");
    session.text("create dated --schema places.json --at 2001-09-09");
    session.show("history dated --json");
    session.note("Labels have arrays of their own, whose writes are told as those of the label.");
    session.file("labelled.json", LABELLED);
    session.file("labels.csv", "lat\n90\n60.5\n30\n0\n");
    session.text("create labelled --schema labelled.json --at 4200-01-01");
    session.text("write labelled --from labels.csv --at 4200-01-02");
    session.show("history labelled");
    session.show("history labelled --json --limit 1");
    session.show("history places --at 4200-01-01 --since 4200-01-01 --json");
    session.show("history nothing");
    session.check("history");
}

#[test]
fn a_group_has_a_history_too() {
    let mut session = Session::new();
    grid(&session);
    session.text("group create g");
    session.text("group add g grid --at 1000");
    session.text("group g meta put k v --at 2000");
    session.text("group create g/sub");
    session.text("group g add g/sub --name deeper --at 3000");
    session.text("group remove g grid --at 4000");
    session.show("history g");
    session.show("history g --json");
    session.show("describe g");
    session.show("describe g --json");
    session.check("history_of_group");
}

#[test]
fn an_array_is_described_on_one_page() {
    let mut session = Session::new();
    places(&session);
    session.text("meta places put title 'All places' --at 4200-01-08");
    session.text("meta places put scale '[1.5, 2]' --at 4200-01-09");
    session.show("describe places --at 4200-01-05");
    session.show("describe places --since 4200-01-01 --json");
    grid(&session);
    session.show("describe grid --at 250 --since 0");
    session.text("create empty --schema grid.json");
    session.show("describe empty --at 1");
    session.check("describe");
}

#[test]
fn a_delete_that_only_counts_deletes_nothing() {
    let mut session = Session::new();
    points(&session);
    session.show("delete points --where 'n == 42' --dry-run");
    session.show("delete points --where 'n == 42' --dry-run --at 99 --json");
    session.note("With those of which it is not known that they stay.");
    session.show("delete points --where 'score > 0.5' --dry-run");
    session.show("delete points --where 'nothing > 0.5' --dry-run");
    session.show("aggregate points count");
    grid(&session);
    session.show("delete grid --where 'a > 1' --dry-run");
    session.check("delete_dry_run");
}

#[test]
fn verbs_stand_before_or_after_the_array_and_types_follow_from_values() {
    let mut session = Session::new();
    grid(&session);
    session.text("meta put grid n 5 --at 300");
    session.text("meta grid put f -1.5e3 --at 301");
    session.text("meta put grid on true --at 302");
    session.text("meta put grid who 'Ada L.' --at 303");
    session.text("meta put grid list '[1, 2]' --at 304");
    session.text("meta put grid old INT8 -5 --at 305");
    session.show("meta grid");
    session.show("meta get grid n");
    session.show("meta grid get who");
    session.show("meta delete grid n --at 306");
    session.text("create other --schema grid.json");
    let name = session.text("fragments grid --json");
    let name = name.split('"').find(|word| word.starts_with("__")).unwrap().to_owned();
    session.show(&format!("fragments copy grid {name} --to other"));
    session.show(&format!("fragments delete other {name} --dry-run"));
    session.check("verbs");
}

#[test]
fn members_are_named_by_the_last_part_of_their_path() {
    let mut session = Session::new();
    grid(&session);
    session.text("group create g");
    session.text("group create g/sub");
    session.text("group create sub");
    session.show("group add g grid g/sub --at 10");
    session.show("group list g");
    session.show("group add g sub --at 20");
    session.show("group add g sub --name other --at 20");
    session.show("group add g sub --replace --at 30");
    session.show("group list g");
    session.check("group_names");
}

#[test]
fn a_folder_is_inspected_file_by_file() {
    let mut session = Session::new();
    grid(&session);
    session.text("meta put grid k v --at 300");
    session.file("grid/notes.txt", "hello");
    session.show("inspect grid");
    let fragment = session.text("fragments grid --json");
    let fragment = fragment.split('"').find(|word| word.starts_with("__")).unwrap().to_owned();
    session.show(&format!("inspect grid/__fragments/{fragment} --json"));
    let all = session.text("inspect grid/__commits --all");
    assert_eq!(all.lines().filter(|line| line.contains("commit")).count(), 2, "{all}");
    let lines = session.text("inspect grid --all --json");
    let told: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<Option<&str>> = told.iter().map(|file| file["kind"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == Some("data file")).count(), 10, "{kinds:?}");
    assert_eq!(told.len(), 17);
    let notes = told.last().unwrap();
    assert!(notes["file"].as_str().unwrap().ends_with("notes.txt") && notes["damage"].is_string(), "{notes}");
    assert!(told[..16].iter().all(|file| file["damage"].is_null() && file["parts"].is_array()), "{lines}");
    session.show("inspect nothing");
    session.check("inspect_folder");
}

#[test]
fn the_only_attribute_needs_no_name_in_npy() {
    let session = Session::new();
    session.file(
        "line.json",
        r#"{"array_type": "dense", "dims": [{"name": "x", "type": "INT32", "domain": [0, 3], "tile": 2}],
        "attrs": [{"name": "a", "type": "INT32"}]}"#,
    );
    session.file("cells.csv", "x,a\n0,1\n1,2\n2,3\n3,4\n");
    session.text("create line --schema line.json");
    session.text("write line --from cells.csv --at 1");
    session.text("read line -o x.npy");
    let content = std::fs::read(session.path("x.npy")).unwrap();
    assert_eq!(content[content.len() - 16..], [1_i32, 2, 3, 4].map(i32::to_le_bytes).concat());
}

const PLACES: &str = r#"{"array_type": "sparse", "capacity": 10,
    "dims": [{"name": "x", "type": "INT32", "domain": [0, 99], "tile": 10}],
    "attrs": [{"name": "name", "type": "STRING_ASCII", "cell_val_num": "var"}, {"name": "n", "type": "INT64", "nullable": true}]}"#;

const LABELLED: &str = r#"{"array_type": "dense",
    "dims": [{"name": "row", "type": "INT32", "domain": [0, 3], "tile": 2}], "attrs": [{"name": "a", "type": "INT32"}],
    "labels": [{"name": "lat", "dim": "row", "type": "FLOAT64", "order": "decreasing"}]}"#;
