//! `smalti evolve`, and what evolves: enumerations, current domains, labels.

use crate::session::Session;

const CITIES: &str = r#"{"array_type": "sparse",
    "dims": [{"name": "x", "type": "INT32", "domain": [0, 9999], "tile": 100}, {"name": "s", "type": "STRING_ASCII", "filters": []}],
    "attrs": [{"name": "c", "type": "UINT8", "nullable": true, "enumeration": "colors", "filters": []},
              {"name": "p", "type": "INT16", "enumeration": "pairs", "filters": []}],
    "enumerations": [{"name": "colors", "type": "STRING_UTF8", "values": ["red", "", "blue"]},
                     {"name": "pairs", "type": "FLOAT64", "cell_val_num": 2, "ordered": true, "values": [[1.0, 2.0], [3.5, -0.0]]}],
    "current_domain": [[0, 99], ["a", "m"]]}"#;

#[test]
fn an_array_evolves() {
    let mut session = Session::new();
    session.file("cities.json", CITIES);
    session.show("create cities --schema cities.json");
    session.show_with(
        "write cities --from - --format jsonl --at 1000",
        "{\"x\": 1, \"s\": \"b\", \"c\": \"blue\", \"p\": [1.0, 2.0]}\n{\"x\": 2, \"s\": \"c\", \"c\": null, \"p\": [3.5, -0.0]}",
    );
    session.show("schema cities");
    let printed = session.text("schema cities --json");
    session.file("again.json", &printed);
    session.text("create again --schema again.json");
    assert_eq!(session.text("schema again --json"), printed, "what is printed creates the same array");
    session.show("evolve cities --extend-enumeration colors=pink,violet --extend-enumeration 'pairs=[[7, 8]]' --at 4102444800000");
    session.show("evolve cities --add '{\"name\": \"n\", \"type\": \"INT32\", \"enumeration\": \"kinds\"}' --add-enumeration kinds=town,city --current-domain x=:199 --at 4102444800001 --json");
    session.show_with(
        "write cities --from - --format csv --at 4102444800002",
        "x,s,c,p,n\n150,b,pink,\"[7, 8]\",city\n",
    );
    session.show("read cities");
    session.show("read cities --at 2000");
    session.show("read cities --enums codes --format csv");
    session.show("evolve cities --drop n --drop-enumeration kinds --at 4102444800003");
    session.show("schema cities --json");
    session.check("evolve");
}

#[test]
fn what_cannot_be_changed_says_why() {
    let mut session = Session::new();
    session.file("cities.json", CITIES);
    session.text("create cities --schema cities.json");
    for line in [
        "evolve cities",
        "evolve nothing --drop a",
        "evolve cities --drop x",
        "evolve cities --drop y",
        "evolve cities --add '{}'",
        "evolve cities --add '{\"name\": \"c\", \"type\": \"INT8\"}'",
        "evolve cities --drop-enumeration colors",
        "evolve cities --extend-enumeration colors=red",
        "evolve cities --extend-enumeration sizes=red",
        "evolve cities --extend-enumeration pairs=1",
        "evolve cities --add-enumeration colors=red",
        "evolve cities --add-enumeration red",
        "evolve cities --current-domain x=5:10",
        "evolve cities --current-domain x=0:10000",
        "evolve cities --current-domain s=a:",
        "evolve cities --current-domain y=1:2",
        "create more --schema cities.json --current-domain x=0:10000",
    ] {
        session.show(line);
    }
    for (what, row) in [
        ("no label", "{\"x\": 1, \"s\": \"b\", \"c\": \"purple\", \"p\": [1.0, 2.0]}"),
        ("beyond the current domain", "{\"x\": 1, \"s\": \"z\", \"c\": \"red\", \"p\": [1.0, 2.0]}"),
    ] {
        session.note(what);
        session.show_with("write cities --from - --format jsonl", row);
    }
    session.show_with("write cities --from - --format csv --enums codes", "x,s,c,p\n1,b,3,0\n");
    session.check("evolve_errors");
}

#[test]
fn labels_are_written_selected_and_named_in_ranges() {
    let mut session = Session::new();
    session.file(
        "map.json",
        r#"{"array_type": "dense",
            "dims": [{"name": "row", "type": "INT32", "domain": [1, 3], "tile": 2}, {"name": "col", "type": "INT32", "domain": [1, 2], "tile": 2}],
            "attrs": [{"name": "a", "type": "INT32", "filters": []}],
            "labels": [{"name": "lat", "dim": "row", "order": "decreasing", "type": "FLOAT64"},
                       {"name": "day", "dim": "col", "type": "DATETIME_DAY"}]}"#,
    );
    session.show("create map --schema map.json");
    session.show("schema map");
    session.show_with("write map --from - --format csv --at 1000", "a\n1\n2\n3\n4\n5\n6\n");
    session.show_with("write map --from - --format csv --at 1000", "lat,row\n0.5,2\n60,1\n-7,3\n");
    session.show_with(
        "write map --from - --format jsonl --at 1000",
        "{\"col\": 1, \"day\": \"2024-02-29\"}\n{\"col\": 2, \"day\": \"2024-03-01\"}",
    );
    session.show("read map --select lat,day,a --range lat=0:70");
    session.show("read map --select a --range day=2024-03-01: --format jsonl");
    session.show("read map --ranges-json '{\"lat\": [[null, 0.5]], \"col\": [[2, 2]]}' --format csv");
    session.show("read map --select lat");
    session.show("read map --select day --json");
    session.show_with("write map --from - --format csv", "lat,row\n1,1\n2,2\n");
    session.show_with("write map --from - --format csv", "lat,col\n1,1\n");
    session.show("read map --range lat=0:1 --range row=1:1");
    session.note("beside cells, in any order");
    session.show("create other --schema map.json");
    session.show_with(
        "write other --from - --format csv --at 2000 --range row=1:2",
        "row,lat,col,day,a\n2,0.5,1,2024-02-29,3\n1,60,2,2024-03-01,2\n1,60,1,2024-02-29,1\n2,0.5,2,2024-03-01,4\n",
    );
    session.show("read other --select lat,day,a --range row=1:2 --format csv");
    session.show_with(
        "write other --from - --format jsonl --range row=3:3",
        "{\"lat\": 1, \"a\": 5}\n{\"lat\": 2, \"a\": 6}\n",
    );
    session.show_with(
        "write other --from - --format csv --range row=3:3",
        "row,col,lat,a\n3,1,-7,5\n3,2,-7,6\n",
    );
    session.show_with("write other --from - --format csv", "row,lat,a\n1,60,1\n");
    session.show("read other --select lat,a --format csv");
    session.check("labels");
}

#[test]
fn every_format_carries_labels_beside_cells() {
    let session = Session::new();
    session.file(
        "map.json",
        r#"{"array_type": "dense",
            "dims": [{"name": "row", "type": "INT32", "domain": [1, 3], "tile": 2}, {"name": "col", "type": "INT32", "domain": [1, 2], "tile": 2}],
            "attrs": [{"name": "a", "type": "INT32", "filters": []}],
            "labels": [{"name": "place", "dim": "row", "type": "STRING_ASCII"}, {"name": "day", "dim": "col", "type": "DATETIME_DAY"}]}"#,
    );
    session.file(
        "cells.csv",
        "row,col,place,day,a\n1,1,a,2024-02-29,1\n1,2,a,2024-03-01,2\n2,1,bb,2024-02-29,3\n2,2,bb,2024-03-01,4\n\
         3,1,ccc,2024-02-29,5\n3,2,ccc,2024-03-01,6\n",
    );
    session.text("create map --schema map.json");
    session.text("write map --from cells.csv");
    let read = "--select row,col,place,day,a";
    let cells = session.text(&format!("read map {read} --format csv"));
    assert_eq!(cells, String::from_utf8(std::fs::read(session.path("cells.csv")).unwrap()).unwrap());
    for format in ["csv", "jsonl", "arrow", "arrows", "parquet"] {
        session.text(&format!("read map {read} -o cells.{format}"));
        session.text(&format!("create {format} --schema map.json"));
        session.text(&format!("write {format} --from cells.{format}"));
        assert_eq!(session.text(&format!("read {format} {read} --format csv")), cells, "{format}");
        let labels = session.text(&format!("read {format} --select place --range place=bb: --format csv"));
        assert_eq!(labels, "place\nbb\nccc\n", "{format}");
    }
    // A file of one attribute brings no labels: they stay those that were written.
    session.text("read map --select a --format npy -o cells.npy");
    session.text("write map --from cells.npy");
    assert_eq!(session.text(&format!("read map {read} --format csv")), cells);
}
