//! `smalti read`: layouts, ranges, fields, times.

use crate::fixtures::{grid, points};
use crate::session::Session;

#[test]
fn dense_cells_come_in_every_layout_with_fill_values_and_coordinates() {
    let mut session = Session::new();
    grid(&session);
    for layout in ["row", "col", "global", "unordered"] {
        session.show(&format!("read grid --layout {layout} --format csv --select y,x,a"));
    }
    session.check("read_dense_layouts");
}

#[test]
fn dense_cells_come_in_every_text_format() {
    let mut session = Session::new();
    grid(&session);
    session.show("read grid");
    session.show("read grid --json");
    session.show("read grid --format csv");
    session.show("read grid --format jsonl --range y=2 --range x=3");
    session.check("read_dense_formats");
}

#[test]
fn sparse_cells_come_in_every_layout() {
    let mut session = Session::new();
    points(&session);
    session.show("read points --format csv --select lat,n,name --range lat=0:");
    for layout in ["row", "col", "global"] {
        session.show(&format!("read points --layout {layout} --format csv --select lat,n,name"));
    }
    // Unordered is any order.
    let text = session.text("read points --layout unordered --format csv --select lat,n,name");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    session.note(&format!("unordered, sorted: {}", lines.join(" | ")));
    session.check("read_sparse_layouts");
}

#[test]
fn sparse_cells_come_in_every_text_format() {
    let mut session = Session::new();
    points(&session);
    session.show("read points --layout row --format jsonl");
    session.show("read points --layout row --format csv");
    session.show("read points --layout row --format table");
    session.show("read points --layout row --dates int --select day,n --format jsonl");
    session.show("read points --layout row --dates int --select day,n --format csv");
    session.check("read_sparse_formats");
}

#[test]
fn ranges_select_cells() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    for ranges in [
        "--range y=2:3 --range x=2:3",
        "--range y=3: --range x=:1",
        "--range y=:",
        "--range y=1 --range y=4 --range x=1:2",
        r#"--ranges-json '{"y": [[1, 1], [4, 4]], "x": [[null, 2]]}'"#,
        "--range y=2:99",
    ] {
        session.show(&format!("read grid --select y,x,a --format csv {ranges}"));
    }
    for ranges in [
        "--range lat=-90:0",
        "--range lat=0: --range n=:10",
        "--range n=0:10 --range n=40:50 --range lat=:10.0",
        r#"--ranges-json '{"lat": [[48.85, 48.85]]}'"#,
        "--range lat=20:30",
    ] {
        session.show(&format!("read points --layout row --select lat,n,name --format csv {ranges}"));
    }
    session.check("read_ranges");
}

#[test]
fn strides_and_lists_select_cells() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    for ranges in [
        "--range y=1:4:2 --range x=1,3",
        "--range y=4,1:2 --range x=::2",
        r#"--ranges-json '{"y": [[1, 4, 3]], "x": [[1, 1]]}'"#,
        "--range y=1:4:0",
        "--range y=1:4:x",
    ] {
        session.show(&format!("read grid --select y,x,a --format csv {ranges}"));
    }
    for ranges in ["--range n=7,42 --range lat=0:", "--range n=0:99:7", "--range lat=0:10:2"] {
        session.show(&format!("read points --layout row --select lat,n,name --format csv {ranges}"));
    }
    session.show("aggregate grid count sum:a --range y=1,4 --json");
    session.text("read grid --select a --range y=1:4:2 --range x=1,3 -o part.npy");
    let npy = std::fs::read(session.path("part.npy")).unwrap();
    assert!(String::from_utf8_lossy(&npy).contains("'shape': (2, 2)"));
    session.check("read_strides");
}

#[test]
fn ranges_that_leave_the_domain_are_cut_with_a_warning_or_refused() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.show("read grid --select y,x,a --format csv --range y=4:99 --range x=-5:1");
    session.show("read grid --select y,x,a --format csv --range y=4:99 --json");
    session.show("read grid --select y,x,a --format csv --range y=4:99 --strict");
    session.show("read grid --select y,x,a --format csv --range y=4: --range x=:1 --strict");
    session.show("read grid --select y,x,a --format csv --range y=-3:99:4 --range x=1");
    session.show("read grid --select y,x,a --format csv --range y=50:99");
    session.show("aggregate grid count --range y=3:1000 --json");
    session.show("aggregate grid count --range y=3:1000 --strict");
    session.show("explain grid --range y=3:1000 --strict");
    session.show("read points --select n --format csv --range lat=89:91");
    assert!(session.output_of("read grid --select a --range y=4:99 -o part.npy", b"").status.success());
    let npy = std::fs::read(session.path("part.npy")).unwrap();
    assert!(String::from_utf8_lossy(&npy).contains("'shape': (1, 3)"));
    session.check("read_cut");
}

#[test]
fn bare_dates_of_a_range_are_whole_days() {
    let mut session = Session::new();
    session.file(
        "log.json",
        r#"{"array_type": "sparse", "dims": [{"name": "ts", "type": "DATETIME_MS", "domain": [0, 4102444800000]}],
            "attrs": [{"name": "v", "type": "INT32"}]}"#,
    );
    session.text("create log --schema log.json");
    session.file(
        "log.csv",
        "ts,v\n2025-01-31T23:59:59.999,1\n2025-02-01T00:00:00.000,2\n2025-02-02T12:00:00.000,3\n2025-02-02T23:59:59.999,4\n2025-02-03T00:00:00.000,5\n",
    );
    session.text("write log --from log.csv --at 100");
    for range in [
        "ts=2025-02-01:2025-02-02",
        "ts=2025-02-02",
        "ts=2025-02-01T00:00:2025-02-02T00:00",
        "ts=2025-02",
        "ts=2025-02-03:",
    ] {
        session.show(&format!("read log --format csv --range {range}"));
    }
    session.show("read log --format csv --range ts=1960-01-01:2025-01-31");
    session.check("read_days");
}

#[test]
fn fields_come_in_the_order_that_is_asked_for() {
    let mut session = Session::new();
    grid(&session);
    session.show("read grid --range y=1 --select s,x --format jsonl");
    session.show("read grid --range y=1 --select s --select a --format csv");
    session.show(r#"read grid --range y=1 --select '["a", "y"]' --format jsonl"#);
    session.show("read grid --select a,b");
    session.show("read grid --select a,a");
    session.check("read_select");
}

#[test]
fn time_travel_shows_the_array_between_two_times() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.show("read grid --select y,x,a --format csv --range y=2 --at 100");
    session.show("read grid --select y,x,a --format csv --range y=2 --at 199");
    session.show("read grid --select y,x,a --format csv --range y=2 --since 101");
    session.show("read grid --select y,x,a --format csv --range y=2 --at 99");
    session.show("read grid --at 100 --since 101");
    session.show("read points --layout row --format csv --select n,name --at 100");
    session.show("read points --layout row --format csv --select n,name --since 200 --at 200");
    session.show("read points --layout row --format csv --select n,name --timestamps");
    session.show("read points --layout row --format jsonl --select __timestamps,n");
    session.show("read grid --timestamps");
    session.check("read_times");
}

#[test]
fn limits_cut_and_people_are_told() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.show("read grid --limit 2");
    session.show("read grid --limit 0 --format csv");
    session.show("read grid --limit 3 --format jsonl --select s,f");
    session.show("read points --limit 2 --layout row --select n,tags --format jsonl");
    session.file(
        "long.json",
        r#"{"array_type": "dense", "dims": [{"name": "i", "type": "INT32", "domain": [1, 60]}], "attrs": [{"name": "a", "type": "INT8", "filters": []}]}"#,
    );
    session.text("create long --schema long.json");
    session.show("read long --select i");
    session.file("one.csv", "i,a\n1,7\n");
    session.text("write long --from one.csv --range i=1:1 --at 1");
    assert_eq!(session.text("read long --limit 60").lines().count(), 62);
    assert_eq!(session.text("read long --format csv").lines().count(), 61, "other formats hold all cells");
    session.check("read_limit");
}

#[test]
fn output_goes_to_a_file_whose_ending_tells_the_format() {
    let mut session = Session::new();
    grid(&session);
    for (name, line) in
        [("o.jsonl", ""), ("o.ndjson", ""), ("o.csv", ""), ("o.txt", ""), ("o.data", "--format csv")]
    {
        let line = format!("read grid --range y=1 --range x=1:2 -o {name} {line}");
        session.show(&line);
        let content = std::fs::read_to_string(session.path(name)).unwrap();
        session.note(&format!("{name}:\n{content}"));
    }
    session.show("read grid --range y=1 --range x=1 -o - --format csv");
    session.show("read grid -o o.unknown");
    session.show("read grid -o missing/o.csv");
    session.check("read_output");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let session = Session::new();
    session.file(
        "long.json",
        r#"{"array_type": "dense", "dims": [{"name": "i", "type": "INT32", "domain": [1, 3000000]}], "attrs": [{"name": "a", "type": "INT8", "filters": []}]}"#,
    );
    session.text("create long --schema long.json");
    session.file("one.csv", "i,a\n1,7\n");
    session.text("write long --from one.csv --range i=1:1 --at 1");
    let long = session.path("long");
    for format in ["csv", "jsonl", "arrow", "parquet"] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_smalti"))
            .args(["read".as_ref(), long.as_os_str(), "--format".as_ref(), format.as_ref()])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 4];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && problem.is_empty(), "{format}: {problem}");
    }
}
