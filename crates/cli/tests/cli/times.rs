//! Times as people write them.

use crate::fixtures::grid;
use crate::session::Session;

#[test]
fn times_are_dates_spans_of_the_clock_names_of_fragments_or_milliseconds() {
    let mut session = Session::new();
    session.file("line.json", LINE);
    for (idx, at) in ["2024-05-01", "2024-05-01T14:00+02:00", "2024-05-02T00:00Z"].into_iter().enumerate() {
        session.file("cells.csv", format!("x,a,b\n{idx},{idx},\n"));
        if idx == 0 {
            session.text("create line --schema line.json");
        }
        session.show(&format!("write line --from cells.csv --at {at}"));
    }
    session.note("A date is seen to the end of the day, and since its start.");
    session.show("aggregate line count --at 2024-05-01");
    session.show("aggregate line count --since 2024-05-01T00:00:00.001Z --at 2024-05-01");
    session.show("aggregate line count --at 2024-05-01T12:00:00Z");
    session.show("aggregate line count --at '2024-05-01 11:59:59.999'");
    session.show("aggregate line count --since 2024-05-02");
    session.show("aggregate line count --at 2024-05");
    session.show("aggregate line count --at -1h --since -9999w");
    session.show("aggregate line count --at 1714521600000");
    session.note("A change at a date is of its start, and the two times of a comparison are times as any.");
    session.show("diff line --at-a 2024-05-01T11:00Z --at-b 2024-05-01");
    session.show("delete line --where 'a == 0' --at 2024-05-03");
    session.show("evolve line --drop b --at 2100-01-01 --json");
    session.show("meta line put k INT32 1 --at 2024-05-05T01:00+01:00");
    session.show("meta line get k --at 2024-05-04");
    session.show("meta line delete k --at 2024-05-06 --json");
    session.check("times");
}

#[test]
fn a_span_before_now_counts_from_the_clock_and_fragments_stand_for_their_times() {
    let session = Session::new();
    session.file("line.json", LINE);
    session.text("create line --schema line.json");
    session.file("cells.csv", "x,a,b\n1,1,\n");
    session.text("write line --from cells.csv --at -2h");
    session.file("cells.csv", "x,a,b\n2,2,\n");
    session.text("write line --from cells.csv");
    let count =
        |times: &str| session.text(&format!("read line --select x --format csv {times}")).lines().count() - 1;
    assert_eq!(
        [count("--at -1h"), count("--at now"), count("--since -1h"), count("--since=-3h")],
        [1, 2, 1, 2]
    );
    let name = session.text("fragments line --json");
    let name = name.split('"').find(|word| word.starts_with("__")).unwrap();
    assert_eq!([count(&format!("--at {name}")), count(&format!("--since {name}"))], [1, 2]);
    assert_eq!(count(&format!("--at line/__fragments/{name}")), 1);
}

#[test]
fn what_changes_something_says_when() {
    let mut session = Session::new();
    grid(&session);
    session.show("create other --schema grid.json");
    session.show("group create g");
    session.show("group add g grid --name grid --at 2024-05-01");
    session.show("group add g other --name other --at 2024-05-02 --json");
    session.show("group remove g other --at 2024-05-03");
    session.show("group meta g put k INT32 1 --at 2024-05-04");
    session.show("consolidate grid");
    session.show("vacuum grid");
    session.show("mv other moved");
    session.show("rm moved");
    session.show("rm grid --json");
    session.show("group delete g");
    session.check("times_of_changes");
}

#[test]
fn times_in_seconds_and_before_the_first_write_are_warned_about() {
    let mut session = Session::new();
    session.file("line.json", LINE);
    session.text("create line --schema line.json");
    session.note("Nothing is written yet: only what looks like seconds is told.");
    session.show("read line --format csv --at 1714521600");
    session.show("read line --format csv --at 5000");
    session.file("cells.csv", "x,a,b\n1,1,\n");
    session.text("write line --from cells.csv --at 2024-05-01");
    session.show("read line --format csv --at 1714521600");
    session.show("read line --format csv --at 2024-04-30");
    session.show("read line --format csv --since 1714521600 --json");
    session.show("read line --format csv --since 2024-04-30");
    session.show("schema line --at 2024-04-30");
    session.show("delete line --where 'a == 9' --at 1714521600");
    session.show("write line --from cells.csv --at 1714521600");
    session.note("Where something was written so early, such times are meant.");
    session.show("aggregate line count --at 1714521601");
    session.check("times_warned_about");
}

#[test]
fn what_is_no_time_is_wrong_usage() {
    let session = Session::new();
    for wrong in ["soon", "2024-02-30", "-5", "-1y", "1969-01-01", "__1_2", "'2024-05-01T12:00+1'"] {
        let output = session.output_of(&format!("read line --at {wrong}"), b"");
        let problem = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}: {problem}");
        assert!(problem.contains("--at") && problem.contains("-30m"), "{wrong}: {problem}");
    }
}

const LINE: &str = r#"{"array_type": "sparse", "dims": [{"name": "x", "type": "INT32", "domain": [0, 99], "tile": 10}],
    "attrs": [{"name": "a", "type": "INT32"}, {"name": "b", "type": "INT32", "nullable": true}]}"#;
