//! `smalti write`: what is accepted, and what is refused.

use crate::fixtures::{grid, points};
use crate::session::Session;

#[test]
fn rows_come_from_files_and_standard_input() {
    let mut session = Session::new();
    grid(&session);
    session.file("rows.csv", "x,y,s,f,a\n1,4,last,2.5,41\n");
    session.show("write grid --from rows.csv --range y=4 --range x=1 --at 300");
    session.show_with(
        "write grid --from - --format csv --range y=4 --range x=2 --at 301",
        "y,x,a,f,s\n4,2,42,,piped\n",
    );
    session.show_with(
        "write grid --from - --format jsonl --ranges-json '{\"y\": [[4, 4]], \"x\": [[3, 3]]}' --at 302 --json",
        "{\"a\": 43, \"s\": \"no coordinates\", \"f\": null}\n",
    );
    session.show("read grid --range y=4 --format csv");
    points(&session);
    session.show_with(
        "write points --from - --format jsonl --at 300",
        "{\"n\":1,\"lat\":0,\"name\":\"new\",\"score\":1,\"day\":19000,\"flag\":true,\"tags\":[],\"pair\":[1,1],\"blob\":{\"hex\":\"\"},\"utf16\":[],\"utf32\":[],\"ucs2\":[]}\n",
    );
    session.show("read points --range n=1 --format jsonl");
    session.check("write");
}

#[test]
fn dates_are_written_as_they_are_read() {
    let mut session = Session::new();
    session.file(
        "dates.json",
        r#"{"array_type": "sparse", "dims": [{"name": "t", "type": "DATETIME_MIN", "domain": [-1000000000, 1000000000]}],
            "attrs": [{"name": "year", "type": "DATETIME_YEAR", "filters": []}, {"name": "clock", "type": "TIME_SEC", "filters": []}, {"name": "ns", "type": "DATETIME_NS", "nullable": true, "filters": []}]}"#,
    );
    session.text("create dates --schema dates.json");
    session.file(
        "dates.csv",
        "t,year,clock,ns\n1970-01-01T00:01,2020,01:02:03,2024-02-29T12:00:00.000000001\n1969-12-31T23:59,-0001,00:00:00,\n",
    );
    session.show("write dates --from dates.csv --at 1");
    session.show("read dates --format csv");
    session.show("read dates --format csv --dates int");
    session.show("read dates --format jsonl");
    session.show("read dates --format jsonl --dates int");
    session.show("read dates --range t=1970-01-01T00:00: --format csv");
    session.show("read dates --range t=-1:0 --format csv");
    session.check("write_dates");
}

#[test]
fn what_does_not_fit_is_refused_with_line_and_field() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    for (name, content) in [
        ("value.csv", "y,x,a,f,s\n1,1,many,1,x\n"),
        ("field.csv", "y,x,a,f,s,q\n1,1,1,1,x,1\n"),
        ("short.csv", "y,x,a,f,s\n1,1,1\n"),
        ("outside.csv", "y,x,a,f,s\n9,1,1,1,x\n"),
        ("twice.csv", "y,x,a,f,s\n1,1,1,1,x\n1,1,2,2,y\n"),
        ("none.csv", "y,x,a,f,s\n"),
        ("empty.csv", ""),
        ("missing.csv", "y,x,f,s\n1,1,1,x\n"),
        ("cut.jsonl", "{\"y\": 1, \"x\": 1"),
        ("null.jsonl", "{\"y\": 1, \"x\": 1, \"a\": null, \"f\": null, \"s\": \"\"}\n"),
    ] {
        session.file(name, content);
        session.show(&format!("write grid --from {name} --range y=1 --range x=1"));
    }
    session.show("write grid --from first.csv");
    session.show("write grid --from first.csv --range y=1:2 --range y=3:4");
    session.show("write grid --from first.csv --range q=1:2");
    session.show("write grid --from first.csv --global-order");
    session.show("write points --from first.jsonl --range n=1");
    session.show("write points --from nothing.csv");
    session.show("write points --from points");
    session.show("write points --from -");
    assert!(session.text("info grid --json").contains("\"fragments\":2"), "nothing is written");
    session.check("write_errors");
}
