//! Binary formats: NumPy, Arrow, Parquet.

use crate::fixtures::{grid, points};
use crate::session::Session;

#[test]
fn npy_holds_a_header_and_the_values() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    for options in ["", "--layout col", "--range y=2:3 --range x=2:3"] {
        let line = format!("read grid --select a --format npy {options}");
        let content = session.bytes(&line);
        let (header, values) = content.split_at(128);
        let values: Vec<i32> =
            values.chunks_exact(4).map(|value| i32::from_le_bytes(value.try_into().unwrap())).collect();
        session.note(&format!("smalti {line}\n{}\n{values:?}\n", header.escape_ascii()));
    }
    session.show("read grid --format npy");
    session.show("read grid --select s --format npy");
    session.show("read grid --select f --format npy");
    session.show("read grid --select a --format npy --limit 2");
    session.text("read grid --select a -o a.npy");
    let schema = crate::fixtures::GRID.replace(
        r#", {"name": "f", "type": "FLOAT64", "nullable": true, "filters": []},
              {"name": "s", "type": "STRING_UTF8", "cell_val_num": "var", "filters": []}"#,
        "",
    );
    session.file("one.json", schema);
    session.text("create one --schema one.json");
    session.show("write one --from a.npy --at 1");
    session.show("write one --from a.npy --at 2 --range y=1:2");
    session.show("read one --format csv");
    session.show("write points --from a.npy");
    session.check("npy");
}

/// Writes what a read gives into a new array of the same schema and compares all cells.
fn assert_round_trip(session: &Session, array: &str, copy: &str, read_options: &str, write_options: &str) {
    let schema = session.text(&format!("schema {array} --json"));
    session.file("copy.json", schema);
    session.text(&format!("create {copy} --schema copy.json"));
    session.text(&format!("read {array} {read_options}"));
    session.text(&format!("write {copy} {write_options}"));
    let cells = |array: &str| session.text(&format!("read {array} --format jsonl --layout row"));
    assert_eq!(cells(copy), cells(array), "{read_options}");
}

#[test]
fn dense_cells_come_back_through_arrow_and_parquet() {
    let session = Session::new();
    grid(&session);
    for (idx, name) in ["o.arrow", "o.arrows", "o.feather", "o.parquet"].into_iter().enumerate() {
        let copy = format!("copy{idx}");
        assert_round_trip(&session, "grid", &copy, &format!("-o {name}"), &format!("--from {name}"));
    }
    // Any order, as every row brings its coordinates; and a part.
    assert_round_trip(&session, "grid", "by_column", "--layout col -o c.arrow", "--from c.arrow");
    session.text("create part --schema copy.json");
    session.text("read grid --range y=2:3 --range x=2 -o part.parquet");
    session.text("write part --from part.parquet --range y=2:3 --range x=2");
    let part = |array: &str| session.text(&format!("read {array} --format jsonl --range y=2:3 --range x=2"));
    assert_eq!(part("part"), part("grid"));
}

#[test]
fn sparse_cells_come_back_through_arrow_and_parquet() {
    let session = Session::new();
    points(&session);
    // The one text that is no UTF-8 has its own test.
    session.text("read points --range lat=-30: --format jsonl -o text.jsonl");
    session.text("create text --schema points.json");
    session.text("write text --from text.jsonl --at 100");
    for (idx, name) in ["o.arrow", "o.arrows", "o.parquet"].into_iter().enumerate() {
        for (order, global) in [("--layout row", ""), ("", "--global-order")] {
            let copy = format!("copy{idx}{}", global.len());
            let (read, write) = (format!("-o {name} {order}"), format!("--from {name} {global}"));
            assert_round_trip(&session, "text", &copy, &read, &write);
        }
    }
}

#[test]
fn pipes_carry_streams_and_files() {
    let session = Session::new();
    grid(&session);
    let stream = session.bytes("read grid --format arrow");
    assert!(!stream.starts_with(b"ARROW1"), "standard output is a stream");
    session.text("read grid --format arrow -o file");
    let file = std::fs::read(session.path("file")).unwrap();
    assert!(file.starts_with(b"ARROW1") && file.ends_with(b"ARROW1"), "a file is a file");
    let parquet = session.bytes("read grid --format parquet");
    let expected = session.text("read grid --format jsonl");
    for (idx, (content, format)) in
        [(&stream, "arrow"), (&file, "arrow"), (&parquet, "parquet")].into_iter().enumerate()
    {
        session.text(&format!("create copy{idx} --schema grid.json"));
        let output = session.output_of(&format!("write copy{idx} --from - --format {format}"), content);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(session.text(&format!("read copy{idx} --format jsonl")), expected);
    }
}

#[test]
fn many_batches_are_written_in_global_order_with_little_memory() {
    let session = Session::new();
    session.file(
        "many.json",
        r#"{"array_type": "sparse", "capacity": 1000, "dims": [{"name": "d", "type": "UINT32", "domain": [0, 99999], "tile": 1000}],
            "attrs": [{"name": "a", "type": "INT64", "filters": []}, {"name": "s", "type": "STRING_ASCII", "cell_val_num": "var", "nullable": true, "filters": []}]}"#,
    );
    session.text("create many --schema many.json");
    let mut rows = String::from("d,a,s\n");
    for d in 0..100_000_u64 {
        let text = if d % 7 == 0 { String::new() } else { format!("s{}", d % 100) };
        rows.push_str(&format!("{d},{},{text}\n", d * d));
    }
    session.file("many.csv", &rows);
    session.text("write many --from many.csv --global-order --at 1");
    assert_eq!(session.text("read many --format csv"), rows);
    // A small budget makes many batches.
    for (name, batches) in [("many.arrow", true), ("many.parquet", false)] {
        session.text(&format!("read many -o {name} --memory 1MiB --threads 1"));
        let copy = name.replace('.', "_");
        session.text(&format!("create {copy} --schema many.json"));
        session.text(&format!("write {copy} --from {name} --global-order --at 1 --sync none"));
        assert_eq!(session.text(&format!("read {copy} --format csv")), rows, "{name}, {batches}");
        let info = session.text(&format!("info {copy} --json"));
        assert!(info.contains("\"fragments\":1,\"cells\":100000,"), "{info}");
    }
    // What is out of order is refused, and nothing is written.
    session.file("wrong.jsonl", "{\"d\": 5, \"a\": 1, \"s\": null}\n{\"d\": 4, \"a\": 1, \"s\": null}\n");
    session.text("create wrong --schema many.json");
    session.text("write wrong --from wrong.jsonl");
    session.text("read many --range d=5 -o back.parquet");
    session.text("create nothing --schema many.json");
    let problem = session.problem("write nothing --from wrong.jsonl --global-order", 1);
    assert!(problem.contains("order"), "{problem}");
    assert!(session.text("info nothing --json").contains("\"fragments\":0"));
}

#[test]
fn text_that_is_not_utf8_is_refused_where_it_cannot_be_held() {
    let mut session = Session::new();
    points(&session);
    session.show("read points --format arrow -o o.arrow");
    session.show("read points --format parquet -o o.parquet");
    session.check("not_utf8");
}

#[test]
fn wrong_files_say_what_is_wrong() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.file("bad.arrow", "ARROW1 but not really");
    session.file("bad.arrows", "no stream");
    session.file("bad.parquet", "PAR1PAR1");
    session.file("empty.arrow", "");
    session.text("read grid --range y=1 --range x=1 -o one.arrow");
    session.text("read grid --range y=1 --range x=1 -o one.parquet");
    session.text("read points --range n=99 -o none.arrow");
    session.text("read points --range n=99 -o none.parquet");
    for name in [
        "bad.arrow",
        "bad.arrows",
        "bad.parquet",
        "empty.arrow",
        "one.arrow",
        "one.parquet",
        "none.arrow",
        "none.parquet",
        "missing.arrow",
        "missing.parquet",
    ] {
        session.show(&format!("write points --from {name}"));
    }
    session.show("write grid --from one.arrow");
    assert!(session.text("info points --json").contains("\"fragments\":2"), "nothing is written");
    session.check("wrong_files");
}

/// `cargo xtask dist` asks the same of the program that is handed out, whose panics do not unwind.
#[test]
fn a_file_that_its_reader_panics_on_is_an_error() {
    let session = Session::new();
    session.file("hostile.parquet", include_bytes!("../../../../tests/fixtures/hostile.parquet"));
    for line in ["import hostile.parquet a --index", "create a --from hostile.parquet --index"] {
        let problem = session.problem(line, 1);
        assert!(problem.contains("corrupt: the Parquet file is damaged: "), "{problem}");
    }
}
