//! Wrong usage and what is not there: exit status 2 and 1, one line each.

use crate::fixtures::{grid, points};
use crate::session::Session;

#[test]
fn what_is_not_there_is_an_error() {
    let mut session = Session::new();
    grid(&session);
    for line in [
        "read nothing",
        "schema nothing",
        "info nothing",
        "fragments nothing",
        "meta nothing",
        "write nothing --from first.csv",
        "read grid.json",
        "read grid --select q",
        "read grid --range q=1:2",
        "read ftp://host/array",
        "read grid --where 'q > 1'",
        "read grid --where 'a >'",
        "read grid --memory 1",
        "delete grid --where 'a > 1'",
        "consolidate nothing",
        "vacuum nothing",
        "fragments grid delete nothing",
        "fragments grid copy nothing --to grid",
        "explain grid --select q",
    ] {
        session.problem(line, 1);
        session.show(line);
    }
    session.check("errors");
}

#[test]
fn wrong_usage_has_its_own_exit_status() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    for line in [
        "read grid --range y=a:b",
        "read grid --range y=3:1",
        "read grid --range y",
        "read grid --range y=1:99999999999",
        "read points --range lat=nan:1",
        "read grid --ranges-json '{'",
        "read grid --ranges-json '{\"y\": 5}'",
    ] {
        session.problem(line, 2);
        session.show(line);
    }
    for line in [
        "",
        "rread grid",
        "read",
        "read grid --format xml",
        "read grid --limit many",
        "read grid --memory 5apples",
        "read grid --threads 0",
        "read grid --layout hilbert",
        "read grid --sync sometimes",
        "create a",
        "write grid",
        "meta grid put k",
    ] {
        let output = session.output_of(line, b"");
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty(), "{line}: help goes to standard error when something is wrong");
    }
    session.check("usage");
}

#[test]
fn errors_with_json_are_objects_that_name_kind_and_place() {
    let mut session = Session::new();
    grid(&session);
    session.file("bad.csv", "y,x,a,f,s\n1,1,many,1,one\n");
    let metadata = session.path("grid/__meta");
    session.text("meta grid put k INT32 1 --at 5");
    let file = std::fs::read_dir(metadata).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    for (line, status, kind) in [
        ("schema nothing --json", 1, "not_found"),
        ("create grid --schema grid.json --json", 1, "already_exists"),
        ("write grid --from bad.csv --range y=1 --range x=1 --json", 1, "invalid_argument"),
        ("meta grid --json", 1, "corrupt"),
        ("read grid --memory 1 --json", 1, "out_of_memory"),
        ("read grid --range y=3:1 --json", 2, "usage"),
        ("diff grid nothing --json", 2, "not_found"),
        ("--json read grid --format xml", 2, "usage"),
        ("read --json", 2, "usage"),
        ("--json", 2, "usage"),
        ("read grid --jsonn --json", 2, "usage"),
    ] {
        let output = session.output_of(line, b"");
        assert_eq!(output.status.code(), Some(status), "{line}");
        assert!(output.stdout.is_empty(), "{line}");
        let json: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["kind", "message", "uri", "file", "field", "offset"], "{line}");
        assert_eq!(json["kind"], kind, "{line}");
        session.show(line);
    }
    session.check("errors_json");
}

#[test]
fn help_explains_every_command() {
    let session = Session::new();
    let help = session.text("--help");
    for command in [
        "demo",
        "create",
        "schema",
        "info",
        "fragments",
        "write",
        "read",
        "meta",
        "inspect",
        "group",
        "ls",
        "mv",
        "rm",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
        let text = session.text(&format!("{command} --help"));
        assert!(text.contains("Usage: smalti "), "{text}");
    }
    let read = session.text("read --help");
    assert!(read.contains(".arrows") && read.contains("parquet"), "{read}");
    assert!(session.text("--version").starts_with("smalti "));
}
