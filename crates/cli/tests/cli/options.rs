//! `--threads`, `--sync`, `--memory` and `file://`.

use crate::fixtures::{grid, points};
use crate::session::Session;

#[test]
fn options_for_all_commands_stand_anywhere() {
    let session = Session::new();
    session.file("grid.json", crate::fixtures::GRID);
    for (idx, sync) in ["full", "file", "none"].into_iter().enumerate() {
        session.text(&format!("--sync {sync} create a{idx} --schema grid.json --threads 1"));
        session.text(&format!("create b{idx} --schema grid.json --sync {sync} --threads 3 --memory 64MiB"));
    }
    grid(&session);
    points(&session);
    let dense = session.text("read grid --format jsonl");
    let sparse = session.text("read points --format jsonl");
    for options in
        ["--threads 1", "--threads 8", "--memory 1KiB", "--memory 4KiB", "--memory 2GiB --threads 2"]
    {
        assert_eq!(session.text(&format!("{options} read grid --format jsonl")), dense, "{options}");
        assert_eq!(session.text(&format!("read points --format jsonl {options}")), sparse, "{options}");
    }
}

#[test]
fn arrays_have_uris() {
    let session = Session::new();
    grid(&session);
    let uri = format!("file://{}", session.path("grid").display());
    assert_eq!(session.text(&format!("read {uri} --format csv")), session.text("read grid --format csv"));
    assert_eq!(session.text("read ./grid/ --format csv"), session.text("read grid --format csv"));
}

#[test]
fn no_progress_is_shown_where_standard_error_is_no_terminal() {
    let session = Session::new();
    grid(&session);
    for line in ["read grid -o o.parquet", "read grid", "write grid --from o.parquet"] {
        let output = session.output_of(line, b"");
        assert!(output.status.success() && output.stderr.is_empty(), "{line}");
    }
}

#[test]
fn times_ranges_and_keys_are_taken_by_all_that_look_at_cells() {
    let session = Session::new();
    session.file("points.json", crate::fixtures::POINTS);
    let row = |lat: f64, n: u32| {
        format!(
            r#"{{"lat": {lat}, "n": {n}, "name": "a", "score": 1, "day": "2024-01-01", "flag": true, "tags": [1], "pair": [1, 2], "blob": {{"hex": ""}}, "utf16": [1], "utf32": [1], "ucs2": [1]}}"#
        )
    };
    session.file("one.jsonl", row(1.0, 10));
    session.file("two.jsonl", row(2.0, 20));
    session.file("three.jsonl", row(3.0, 30));
    for key in ["", " --key 0123456789abcdef0123456789abcdef"] {
        let array = if key.is_empty() { "plain" } else { "secret" };
        session.text(&format!("create {array} --schema points.json{key}"));
        for (idx, file) in ["one", "two", "three"].into_iter().enumerate() {
            session.text(&format!(
                "write {array} --from {file}.jsonl --at {}{key} --sync none",
                (idx + 1) * 100
            ));
        }
        let cells = |options: &str| {
            let read = session.text(&format!("read {array} --select n --format csv {options}{key}"));
            let count = read.lines().count() - 1;
            let aggregated = session.text(&format!("aggregate {array} count --json {options}{key}"));
            assert_eq!(aggregated.trim(), format!("{{\"count\":{count}}}"), "{options}{key}");
            let explained =
                session.text(&format!("explain {array} --select n --analyze --json {options}{key}"));
            let explained: serde_json::Value = serde_json::from_str(&explained).unwrap();
            assert_eq!(explained["analysis"]["cells"], count, "{options}{key}");
            read.lines().skip(1).map(|n| n.parse().unwrap()).collect::<Vec<u32>>()
        };
        assert_eq!(cells(""), [10, 20, 30]);
        assert_eq!(cells("--at 200"), [10, 20]);
        assert_eq!(cells("--since 200"), [20, 30]);
        assert_eq!(cells("--since 101 --at 299"), [20]);
        assert_eq!(cells("--ranges-json '{\"n\": [[20, 29], [30, null]], \"lat\": [[null, 2.5]]}'"), [20]);
        assert_eq!(cells("--threads 1 --memory 64KiB --where 'n > 10'"), [20, 30]);
        let times = session.text(&format!("read {array} --select n --timestamps --format csv{key}"));
        assert_eq!(times, "n,__timestamps\n10,100\n20,200\n30,300\n");
        let explained = session.text(&format!("explain {array} --timestamps --layout row --json{key}"));
        assert!(explained.contains("\"fragments\""), "{explained}");
        session.text(&format!("delete {array} --where 'n == 20' --at 250 --threads 1 --sync file{key}"));
        assert_eq!(cells(""), [10, 30]);
        assert_eq!(cells("--at 249"), [10, 20]);
        assert_eq!(cells("--since 251"), [30]);
    }
    for line in ["read secret", "aggregate secret count", "explain secret", "delete secret --where 'n == 1'"]
    {
        assert!(session.problem(line, 1).contains("key"), "{line}");
        let wrong = format!("{line} --key ffffffffffffffffffffffffffffffff");
        assert!(session.problem(&wrong, 1).contains("permission denied"), "{wrong}");
    }
}
