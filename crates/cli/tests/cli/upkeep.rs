//! `smalti consolidate` and `smalti vacuum`.

use crate::fixtures::grid;
use crate::session::Session;
use serde_json::Value;

fn json(session: &Session, command: &str) -> Value {
    serde_json::from_str(&session.text(command)).unwrap()
}

fn session_with_three_writes() -> Session {
    let session = Session::new();
    session.file(
        "schema.json",
        r#"{"array_type": "sparse", "dims": [{"name": "x", "type": "INT32", "domain": [0, 99], "tile": 10}],
            "attrs": [{"name": "a", "type": "INT32", "filters": []}]}"#,
    );
    session.text("create cells --schema schema.json");
    for (at, line) in [(10, "1,10\n2,20\n"), (20, "2,21\n3,30\n"), (30, "4,40\n")] {
        session.file("cells.csv", format!("x,a\n{line}"));
        session.text(&format!("write cells --from cells.csv --at {at}"));
    }
    session
}

#[test]
fn a_dry_run_says_what_consolidation_then_does() {
    let session = session_with_three_writes();
    let cells = session.text("read cells --format csv");
    let plan = json(&session, "consolidate cells --dry-run --json");
    assert_eq!(plan["merges"][0]["inputs"].as_array().unwrap().len(), 3);
    assert!(plan["merges"][0]["read_bytes"].as_u64().unwrap() > 0);
    assert_eq!(json(&session, "fragments cells --json").as_array().unwrap().len(), 3);
    let done = json(&session, "consolidate cells --json");
    assert_eq!(done["merges"][0]["inputs"], plan["merges"][0]["inputs"]);
    assert_eq!(done["merges"][0]["cells"], 5);
    assert_eq!(json(&session, "fragments cells --json").as_array().unwrap().len(), 1);
    let would = json(&session, "vacuum cells --dry-run --json");
    let removed = json(&session, "vacuum cells --json");
    assert_eq!(would["fragments"], removed["fragments"]);
    assert_eq!(removed["fragments"].as_array().unwrap().len(), 3);
    assert_eq!(removed["waits_for_readers"], false);
    assert_eq!(session.text("read cells --format csv"), cells);
    assert_eq!(session.text("read cells --format csv --at 10"), "x,a\n1,10\n2,20\n");
    assert_eq!(session.text("consolidate cells"), "nothing to merge\n");
    assert_eq!(session.text("vacuum cells"), "nothing to remove\n");
}

#[test]
fn fragments_are_chosen_by_name_by_steps_and_by_time() {
    let session = session_with_three_writes();
    let fragments = json(&session, "fragments cells --json");
    let name = |at: usize| fragments[at]["name"].as_str().unwrap().to_owned();
    let named = format!("consolidate cells --dry-run --json --fragment {} --fragment {}", name(0), name(2));
    let plan = json(&session, &named);
    assert_eq!(plan["merges"][0]["inputs"].as_array().unwrap().len(), 2);
    let steps = json(&session, "consolidate cells --dry-run --json --min-fragments 2 --max-fragments 2");
    assert_eq!(steps["merges"][0]["inputs"].as_array().unwrap().len(), 2);
    let times = json(&session, "consolidate cells --dry-run --json --since 20");
    assert_eq!(times["merges"][0]["inputs"][0], name(1).as_str());
    let problem = session.problem("consolidate cells --fragment __1_1_no_22", 1);
    assert!(problem.contains("smalti fragments"), "{problem}");
    session.problem("consolidate cells --min-fragments 3 --max-fragments 2", 1);
}

#[test]
fn purging_leaves_out_what_was_deleted_and_says_so_of_earlier_times() {
    let session = session_with_three_writes();
    session.text("delete cells --where 'a >= 30' --at 40");
    session.text("consolidate cells --purge");
    assert_eq!(session.text("read cells --format csv"), "x,a\n1,10\n2,21\n");
    let problem = session.problem("read cells --at 35", 1);
    assert!(problem.contains("purged"), "{problem}");
}

#[test]
fn every_other_mode_consolidates_and_vacuums_files() {
    let session = session_with_three_writes();
    session.text("meta cells put colour string_utf8 blue");
    session.text("meta cells put colour string_utf8 red");
    for mode in ["fragment_meta", "commits", "array_meta"] {
        let done = json(&session, &format!("consolidate cells --mode {mode} --json"));
        assert_eq!(
            done["written"].as_array().unwrap().len(),
            if mode == "array_meta" { 2 } else { 1 },
            "{done}"
        );
        session.text(&format!("vacuum cells --mode {mode}"));
    }
    assert_eq!(session.text("meta cells get colour"), "red\n");
    assert_eq!(session.text("read cells --format csv --at 10"), "x,a\n1,10\n2,20\n");
}

#[test]
fn history_that_a_vacuum_takes_is_told_before_and_in_the_same_words_by_info_and_read() {
    let session = Session::new();
    grid(&session);
    session.text("consolidate grid");
    let warning = |line: &str| {
        let output = session.output_of(line, b"");
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(warning("info grid --at 150"), "");
    let would = session.output_of("vacuum grid --dry-run --json", b"");
    let report: Value = serde_json::from_slice(&would.stdout).unwrap();
    assert_eq!(report["lost_history"], serde_json::json!([[100, 200]]));
    let warned: Value = serde_json::from_slice(&would.stderr).unwrap();
    assert!(warned["message"].as_str().unwrap().contains("it would take history"), "{warned}");
    assert!(session.text("read grid --at 150 --limit 1").contains("11"), "a dry run takes nothing");
    let told = warning("vacuum grid");
    assert!(told.contains("warning: grid: it takes history") && told.lines().count() == 1, "{told}");
    let refused = session.problem("read grid --at 150", 1);
    let lost = json(&session, "info grid --at 150 --json")["lost_history"].as_str().unwrap().to_owned();
    assert!(lost.contains("was vacuumed") && refused.ends_with(&lost), "{lost}: {refused}");
    let info = session.text("info grid --at 150");
    assert!(info.contains(&lost) && !info.contains("nothing is written"), "{info}");
    assert!(warning("fragments grid --at 150").contains(&lost));
    assert_eq!(json(&session, "info grid --json")["lost_history"], Value::Null);
    let sparse = session_with_three_writes();
    sparse.text("consolidate cells");
    assert_eq!(json(&sparse, "vacuum cells --json")["lost_history"], serde_json::json!([]));
}
