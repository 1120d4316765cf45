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
