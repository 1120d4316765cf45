//! `smalti fragments` and what it does with fragments.

use crate::fixtures::{grid, points};
use crate::session::Session;
use serde_json::Value;

fn names(session: &Session, line: &str) -> Vec<String> {
    let rows: Value = serde_json::from_str(&session.text(line)).unwrap();
    rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn fragments_are_deleted_and_copied() {
    let session = Session::new();
    grid(&session);
    let all = names(&session, "fragments grid --json");
    session.text("create other --schema grid.json");
    let copied = session.text(&format!("fragments grid copy {} --to other", all[1]));
    assert!(copied.starts_with("copied 1 fragments to other at "), "{copied}");
    assert_eq!(names(&session, "fragments other --json"), all[1..]);
    session.text("fragments grid delete --since 0 --at 100 --dry-run");
    assert_eq!(names(&session, "fragments grid --json"), all);
    let deleted: Value =
        serde_json::from_str(&session.text("fragments grid delete --since 0 --at 100 --json")).unwrap();
    assert_eq!(deleted["fragments"], serde_json::json!(all[..1]));
    assert_eq!(session.text("read grid --format csv"), session.text("read other --format csv"));
    let unknown = session.output_of(&format!("fragments grid delete {}", all[0]), b"");
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no fragment"));
}

#[test]
fn rectangles_and_what_a_vacuum_would_remove_are_listed() {
    let session = Session::new();
    points(&session);
    let rows: Value = serde_json::from_str(&session.text("fragments points --json --mbrs")).unwrap();
    for row in rows.as_array().unwrap() {
        assert_eq!(row["mbrs"].as_array().unwrap().len() as u64, row["tiles"].as_u64().unwrap());
        assert_eq!(row["mbrs"][0].as_array().unwrap().len(), 2, "a side for each dimension");
        assert_eq!(row["consolidated_metadata"], false);
    }
    assert!(session.text("fragments points --mbrs").contains("tile 0: lat "));
    let all = names(&session, "fragments points --json");
    assert_eq!(session.text("fragments points --to-vacuum"), "");
    session.text("consolidate points");
    let listed = session.text("fragments points --to-vacuum");
    assert_eq!(listed.lines().collect::<Vec<_>>(), all);
}
