//! Input and output that cannot be broken: long cells, damaged files, inputs without end, values that do not fit.

use crate::session::Session;

/// A sparse array `p` of one attribute.
fn points(session: &Session, name: &str, attribute: &str) {
    session.file(
        &format!("{name}.json"),
        format!(
            r#"{{"array_type": "sparse", "dims": [{{"name": "d", "type": "INT32", "domain": [0, 999]}}],
                "attrs": [{attribute}]}}"#
        ),
    );
    session.text(&format!("create {name} --schema {name}.json"));
}

const TEXT: &str = r#"{"name": "s", "type": "STRING_UTF8", "cell_val_num": "var"}"#;
const ASCII: &str = r#"{"name": "s", "type": "STRING_ASCII", "cell_val_num": "var"}"#;

fn fragment_count(session: &Session, array: &str) -> u64 {
    let info: serde_json::Value =
        serde_json::from_str(&session.text(&format!("info {array} --json"))).unwrap();
    info["fragments"].as_u64().unwrap()
}

#[test]
fn long_names_and_values_are_shown_with_their_length() {
    let session = Session::new();
    let long = "x".repeat(70_000);
    let label = format!("l{long}");
    session.file(
        "a.json",
        format!(
            r#"{{"array_type": "sparse", "dims": [{{"name": "d{long}", "type": "INT32", "domain": [0, 9]}}],
                "attrs": [{{"name": "a{long}", "type": "BLOB", "cell_val_num": 40000, "enumeration": null}},
                          {{"name": "e", "type": "UINT8", "enumeration": "labels"}}],
                "enumerations": [{{"name": "labels", "type": "STRING_UTF8", "values": ["{label}"]}}]}}"#
        ),
    );
    session.text("create a --schema a.json");
    session.text(&format!("meta a put k{long} STRING_UTF8 v"));
    session.text(&format!("meta a put k STRING_UTF8 v{long}"));
    session.text("group create g");
    session.text(&format!("group add g a --name m{long}"));
    for (line, lengths) in [
        ("meta a", &["70,001 characters"][..]),
        ("schema a", &["70,001 characters", "80,010 characters", "70,003 characters"]),
        ("group list g", &["70,001 characters"]),
        ("info g", &["70,001 characters"]),
        ("fragments a", &[]),
        ("read a", &["70,001 characters"]),
    ] {
        let text = session.text(line);
        for length in lengths {
            assert!(text.contains(length), "{line}: {length}");
        }
    }
    session.text("info a");
    session.text("group list g --recursive");
}

#[test]
fn damaged_files_leave_nothing_behind() {
    let session = Session::new();
    points(&session, "p", TEXT);
    let rows: String = (0..200).map(|row| format!("{{\"d\":{row},\"s\":\"text {}\"}}\n", row % 9)).collect();
    session.file("rows.jsonl", rows);
    session.text("write p --from rows.jsonl");
    for ending in ["arrow", "arrows", "parquet"] {
        session.text(&format!("read p -o whole.{ending}"));
        let whole = std::fs::read(session.path(&format!("whole.{ending}"))).unwrap();
        let mut refused = 0;
        for idx in 0..10 {
            let mut content = whole.clone();
            let at = whole.len() - 1 - idx * whole.len() / 11;
            content[at] ^= 0x5a;
            if idx % 3 == 0 {
                content.truncate(at);
            }
            session.file(&format!("damaged.{ending}"), content);
            let before = fragment_count(&session, "p");
            let output = session.output_of(&format!("write p --from damaged.{ending}"), b"");
            let problem = String::from_utf8(output.stderr).unwrap();
            if output.status.success() {
                continue;
            }
            refused += 1;
            assert_eq!(output.status.code(), Some(1), "{problem}");
            assert_eq!(problem.lines().count(), 1, "{problem}");
            let is_named = problem.starts_with(&format!("smalti: damaged.{ending}: "));
            assert!(is_named || problem.starts_with("smalti: p: "), "{problem}");
            assert_eq!(fragment_count(&session, "p"), before);
        }
        assert!(refused > 2, "{ending}: {refused}");
    }
}

#[test]
fn inputs_that_do_not_end_or_are_no_files_are_refused() {
    let session = Session::new();
    points(&session, "p", TEXT);
    std::fs::create_dir(session.path("folder")).unwrap();
    for format in ["csv", "jsonl", "arrow", "parquet"] {
        let problem = session.problem(&format!("write p --from folder --format {format}"), 1);
        assert!(problem.contains("folder: this is a directory; give a file"), "{problem}");
    }
    let problem = session.problem("create q --schema folder", 1);
    assert!(problem.contains("this is a directory"), "{problem}");
    let long = "y".repeat(300_000);
    session.file("long.jsonl", format!("{{\"d\": 1, \"s\": \"x\"}}\n{{\"d\": 2, \"s\": \"{long}\"}}\n"));
    session.file("long.csv", format!("d,s\n1,\"x\n{long}"));
    for file in ["long.jsonl", "long.csv"] {
        let problem = session.problem(&format!("write p --from {file} --memory 1MiB"), 1);
        assert!(problem.contains(file) && problem.contains("--memory 2MiB would do"), "{problem}");
    }
    session.text("write p --from long.jsonl --memory 2MiB");
    #[cfg(unix)]
    for (line, words) in [
        ("read p --key-file /dev/zero", "the file of a key has at most 4.0 KiB"),
        ("create q --schema /dev/zero", "the file of a schema has at most 64.0 MiB"),
        ("write p --from /dev/zero --format jsonl --memory 1MiB", "line 1 has no end within 1.0 GiB"),
        ("write p --from /dev/zero --format parquet", "/dev/zero"),
        ("write p --from /dev/zero --format arrow", "/dev/zero"),
    ] {
        let problem = session.problem(line, 1);
        assert!(problem.contains(words), "{line}: {problem}");
    }
}

#[test]
fn schemas_and_rows_are_taken_at_their_word() {
    let session = Session::new();
    points(&session, "p", ASCII);
    let dims = r#""dims": [{"name": "d", "type": "INT32", "domain": [0, 9]}]"#;
    for (name, text, words) in [
        (
            "twice",
            format!(r#"{{"array_type": "dense", {dims}, {dims}, "attrs": []}}"#),
            "the key \"dims\" is given twice at line 1",
        ),
        (
            "var",
            format!(
                r#"{{"array_type": "dense", {dims}, "attrs": [{{"name": "a", "type": "INT8", "cell_val_num": 4294967295}}]}}"#
            ),
            "schema.attrs[0].cell_val_num: 4294967295 is what files say for any number of values; write \"var\"",
        ),
        (
            "huge",
            format!(
                r#"{{"array_type": "dense", {dims}, "attrs": [{{"name": "a", "type": "INT64", "cell_val_num": 2147483648}}]}}"#
            ),
            "schema.attrs[0].cell_val_num: cells of 17179869184 bytes",
        ),
    ] {
        session.file(&format!("{name}.json"), text);
        let problem = session.problem(&format!("create {name} --schema {name}.json"), 1);
        assert!(problem.contains(words), "{problem}");
    }
    let problem = session.problem("read p --ranges-json '{\"d\": [[1, 2]], \"d\": [[3, 4]]}'", 2);
    assert!(problem.contains("the key \"d\" is given twice"), "{problem}");
    points(&session, "text", TEXT);
    session.file("text.csv", "d,s\n1,plain\n2,é\n");
    session.text("write text --from text.csv");
    session.file("text.jsonl", "{\"d\": 1, \"s\": \"plain\"}\n{\"d\": 2, \"s\": {\"hex\": \"c3a9\"}}\n");
    session.text("read text -o text.parquet");
    session.text("read text -o text.arrow");
    for (file, row) in [("text.csv", "line 3"), ("text.jsonl", "line 2")] {
        let problem = session.problem(&format!("write p --from {file}"), 1);
        assert!(problem.contains(&format!("{file}: {row}: field \"s\": \"é\" is not ASCII")), "{problem}");
    }
    for file in ["text.parquet", "text.arrow"] {
        let problem = session.problem(&format!("write p --from {file}"), 1);
        let words = format!("{file}: field \"s\": the text of cell 1, \"é\", is not ASCII");
        assert!(problem.contains(&words), "{problem}");
    }
    session.file("quote.csv", "d,s\n1,\"a\"b\n");
    let problem = session.problem("write p --from quote.csv", 1);
    assert!(problem.contains("quote.csv: line 2, column 6: \"b\" follows a closing quote"), "{problem}");
    assert_eq!(fragment_count(&session, "p"), 0);
}

#[test]
fn floats_labels_and_dates_are_shown_as_the_schema_has_them() {
    let session = Session::new();
    session.file(
        "a.json",
        r#"{"array_type": "sparse",
            "dims": [{"name": "t", "type": "DATETIME_MS", "domain": ["2024-01-01", "2024-12-31"]}],
            "attrs": [{"name": "f", "type": "FLOAT32"}, {"name": "l", "type": "FLOAT32", "cell_val_num": "var"},
                      {"name": "c", "type": "UINT8", "enumeration": "colors"}],
            "enumerations": [{"name": "colors", "type": "STRING_UTF8", "values": ["red", "blue"]}]}"#,
    );
    session.text("create a --schema a.json");
    session.file("one.jsonl", r#"{"t": "2024-05-01", "f": 1.591, "l": [0.1, 7.038531e-26], "c": "red"}"#);
    session.file("two.jsonl", r#"{"t": "2024-05-01", "f": 0.3, "l": [], "c": "blue"}"#);
    session.text("write a --from one.jsonl --at 1");
    session.text("write a --from two.jsonl --at 2");
    assert_eq!(
        session.text("read a --at 1 --format jsonl"),
        "{\"t\":\"2024-05-01T00:00:00.000\",\"f\":1.591,\"l\":[0.1,7.038531e-26],\"c\":\"red\"}\n"
    );
    assert_eq!(
        session.text("read a --at 1 --select f,l --format csv"),
        "f,l\n1.591,\"[0.1,7.038531e-26]\"\n"
    );
    assert!(session.text("aggregate a min:f max:f --at 1").contains("min:f      1.591"));
    let diff = String::from_utf8(session.output_of("diff a --at-a 1 --at-b 2", b"").stdout).unwrap();
    assert!(diff.contains("f: 1.591 -> 0.3, l: [0.1,7.038531e-26] -> [], c: \"red\" -> \"blue\""), "{diff}");
    let diff = String::from_utf8(session.output_of("diff a --at-a 1 --at-b 2 --json", b"").stdout).unwrap();
    assert!(diff.contains("\"before\":{\"f\":1.591,") && diff.contains("\"c\":\"blue\""), "{diff}");
    for function in ["mean", "sum"] {
        let problem = session.problem(&format!("aggregate a {function}:c"), 1);
        assert!(problem.contains("codes of the enumeration \"colors\""), "{problem}");
    }
    session.file("late.jsonl", r#"{"t": "2025-02-01", "f": 1, "l": [], "c": "red"}"#);
    let problem = session.problem("write a --from late.jsonl", 1);
    let domain = "2024-01-01T00:00:00.000..2024-12-31T00:00:00.000";
    assert!(
        problem.contains("the coordinate 2025-02-01T00:00:00.000 on") && problem.contains(domain),
        "{problem}"
    );
    let problem = session.problem("read a --range t=2025-02-01:2025-02-02", 1);
    assert!(
        problem.contains("the range 2025-02-01T00:00:00.000..2025-02-0") && problem.contains(domain),
        "{problem}"
    );
}

/// The commits of an array.
fn commit_count(session: &Session, array: &str) -> usize {
    std::fs::read_dir(session.path(array).join("__commits")).map_or(0, Iterator::count)
}

#[test]
fn a_write_of_more_cells_than_its_memory_holds_makes_fragments_that_one_commit_shows() {
    let session = Session::new();
    session.file(
        "big.json",
        r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT32", "domain": [0, 999999], "tile": 1000}],
            "attrs": [{"name": "s", "type": "STRING_UTF8"}, {"name": "n", "type": "INT8", "nullable": true}]}"#,
    );
    session.text("create big --schema big.json");
    let rows = 0..30_000;
    // The first and the last rows do not name the nullable field.
    let number = |d: i32| if d == 15_000 { ", \"n\": 1" } else { "" };
    let jsonl: String = rows
        .clone()
        .map(|d| format!("{{\"d\": {d}, \"s\": \"the text of {d:050}\"{}}}\n", number(d)))
        .collect();
    let csv: String =
        rows.map(|d| format!("{d},the text of {d:050},{}\n", if d == 15_000 { "1" } else { "" })).collect();
    let csv = format!("d,s,n\n{csv}");
    session.file("big.jsonl", jsonl);
    session.file("big.csv", &csv);
    session.text("write big --from big.csv");
    session.text("read big -o big.arrow --threads 1");
    session.text("read big -o big.parquet --threads 1");
    for format in ["jsonl", "csv", "arrow", "parquet"] {
        // A page of Parquet has a MiB.
        let memory = if format == "parquet" { "2MiB" } else { "1MiB" };
        session.text(&format!("create {format} --schema big.json"));
        let line = format!("write {format} --from big.{format} --memory {memory}");
        let written = session.text(&format!("{line} --json"));
        assert!(written.contains("\"cells\":30000") && written.contains("\"fragments\":["), "{written}");
        assert_eq!(commit_count(&session, format), 1);
        assert_eq!(session.text(&format!("read {format} --format csv")), csv);
        // Ordered cells stay one fragment.
        session.text(&format!("create {format}_ordered --schema big.json"));
        let line = format!("write {format}_ordered --from big.{format} --memory {memory} --global-order");
        session.text(&line);
        session.fragment(&format!("{format}_ordered"));
        assert_eq!(session.text(&format!("read {format}_ordered --format csv")), csv);
    }
    // What is wrong far behind undoes all.
    session.file("twice.csv", format!("{csv}7,again,\n"));
    session.file("wrong.csv", format!("{csv}x,wrong,\n"));
    session.file(
        "never.jsonl",
        (0..30_000).map(|d| format!("{{\"d\": {d}, \"s\": \"{d:050}\"}}\n")).collect::<String>(),
    );
    for (file, words) in [
        ("twice.csv", "two cells have the same coordinates"),
        ("wrong.csv", "line 30002"),
        ("never.jsonl", "the column \"n\" is missing"),
    ] {
        session.text("create none --schema big.json");
        let problem = session.problem(&format!("write none --from {file} --memory 1MiB"), 1);
        assert!(problem.contains(words), "{problem}");
        assert_eq!(commit_count(&session, "none"), 0);
        assert_eq!(std::fs::read_dir(session.path("none/__fragments")).unwrap().count(), 0);
        session.text("rm none");
    }
}

/// A dense array of 300 by 300 cells in tiles of 20 by 100.
fn tiled(session: &Session, name: &str, tile_order: &str) {
    session.file(
        "tiled.json",
        format!(
            r#"{{"array_type": "dense", "tile_order": "{tile_order}",
            "dims": [{{"name": "y", "type": "INT32", "domain": [0, 299], "tile": 20}}, {{"name": "x", "type": "INT32", "domain": [0, 299], "tile": 100}}],
            "attrs": [{{"name": "a", "type": "INT64"}}, {{"name": "s", "type": "STRING_UTF8", "nullable": true}}]}}"#
        ),
    );
    session.text(&format!("create {name} --schema tiled.json"));
}

#[test]
fn dense_cells_that_come_row_after_row_of_tiles_are_written_in_any_budget() {
    let session = Session::new();
    tiled(&session, "whole", "row-major");
    let row = |y: i32, x: i32| {
        let text = if x % 3 == 0 { String::new() } else { format!("cell {}", y * x) };
        format!("{y},{x},{},{text}\n", y * 1000 + x)
    };
    // Part of the array, from the middle of a tile on, in another order inside of each row of tiles.
    let bands = [5..20, 20..40, 40..60, 60..80, 80..100, 100..120, 120..140, 140..160, 160..167];
    let cells =
        |band: std::ops::Range<i32>| (10..290).rev().flat_map(move |x| band.clone().map(move |y| (y, x)));
    let csv: String = bands.iter().cloned().flat_map(cells).map(|(y, x)| row(y, x)).collect();
    session.file("rows.csv", format!("y,x,a,s\n{csv}"));
    let range = "--range y=5:166 --range x=10:289";
    session.text(&format!("write whole --from rows.csv {range} --at 1"));
    let wanted = session.text("read whole --format csv");
    session.text(&format!("read whole {range} -o rows.arrow --threads 1"));
    session.text(&format!("read whole {range} -o rows.parquet --threads 1"));
    for format in ["csv", "arrow", "parquet"] {
        tiled(&session, format, "row-major");
        let memory = if format == "parquet" { "8MiB" } else { "1MiB" };
        session.text(&format!("write {format} --from rows.{format} {range} --at 1 --memory {memory}"));
        session.fragment(format);
        assert_eq!(session.text(&format!("read {format} --format csv")), wanted, "{format}");
    }
    // What does not come so is refused, and nothing is written.
    let lines: Vec<&str> = csv.lines().collect();
    let (first, last) = (lines[0], lines[lines.len() - 1]);
    let joined = |lines: &[&str]| format!("y,x,a,s\n{}\n", lines.join("\n"));
    session.file("twice.csv", joined(&[&lines[..], &[first]].concat()));
    session.file("missing.csv", joined(&lines[..lines.len() - 1]));
    session.file("late.csv", joined(&[&lines[1..], &[first]].concat()));
    session.file("early.csv", joined(&[&[last], &lines[..lines.len() - 1]].concat()));
    tiled(&session, "none", "row-major");
    for (file, words) in [
        ("twice.csv", "lies outside the range to write"),
        ("missing.csv", "is missing"),
        ("late.csv", "out of memory budget"),
    ] {
        let problem = session.problem(&format!("write none --from {file} {range} --memory 1MiB"), 1);
        assert!(problem.contains(words), "{file}: {problem}");
        assert_eq!(commit_count(&session, "none"), 0);
        assert_eq!(std::fs::read_dir(session.path("none/__fragments")).unwrap().count(), 0);
    }
    // A row that comes too early waits.
    session.text(&format!("write none --from early.csv {range} --at 1 --memory 1MiB"));
    assert_eq!(session.text("read none --format csv"), wanted);
    // Tiles that follow each other across the rows are whole at the end alone.
    tiled(&session, "across", "col-major");
    let line = format!("write across --from rows.csv {range}");
    let problem = session.problem(&format!("{line} --memory 1MiB"), 1);
    assert!(problem.contains("out of memory budget"), "{problem}");
    assert!(problem.contains("smalti import goes chunk by chunk"), "{problem}");
    let memory = problem.split("--memory ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    session.text(&format!("{line} --memory {}", memory.trim_end_matches(';')));
}
