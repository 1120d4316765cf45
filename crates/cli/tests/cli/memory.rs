//! A process that may not take more address space than its budget asks for, and what any process takes.
#![cfg(target_os = "linux")]

use crate::session::Session;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;

/// Cells of 8 bytes along each side: 392 MB in all.
const SIDE: u64 = 7000;
/// What the process may take in all, in KiB: less than the array, more than its budget, its threads and their heaps.
const ADDRESS_SPACE_KIB: u64 = 330_000;

#[test]
fn a_write_and_a_read_of_more_than_the_address_space_holds_go_through() {
    let session = Session::new();
    session.file(
        "big.json",
        format!(
            r#"{{"array_type": "dense",
            "dims": [{{"name": "y", "type": "INT32", "domain": [0, {end}], "tile": 100}},
                     {{"name": "x", "type": "INT32", "domain": [0, {end}], "tile": 500}}],
            "attrs": [{{"name": "a", "type": "INT64", "filters": {{"filters": [{{"filter": "zstd", "level": 1}}]}}}}]}}"#,
            end = SIDE - 1
        ),
    );
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({SIDE}, {SIDE}), }}");
    let header = format!("{header:<117}\n");
    let mut file = std::fs::File::create(session.path("zeros.npy")).unwrap();
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(10 + header.len() as u64 + SIDE * SIDE * 8).unwrap();
    drop(file);
    session.text("create big --schema big.json");
    for words in [
        "write big --from zeros.npy --sync none --memory 18MiB",
        "read big --select a --memory 32MiB --format npy -o copy.npy",
    ] {
        let program = env!("CARGO_BIN_EXE_smalti");
        let line = format!("ulimit -v {ADDRESS_SPACE_KIB}; exec {program} {words} --threads 2");
        let output = Command::new("sh").arg("-c").arg(line).current_dir(session.path("")).output().unwrap();
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // One fragment, whatever the budget.
    session.fragment("big");
    let (copy, zeros) = (session.path("copy.npy"), session.path("zeros.npy"));
    assert_eq!(std::fs::metadata(copy).unwrap().len(), std::fs::metadata(zeros).unwrap().len());
}

/// A line of text that every row of a file has.
const TEXT_BYTE_LEN: usize = 1 << 20;
/// Rows of it: more than the address space holds.
const ROW_COUNT: usize = 600;
/// What a process may take that must not have all of them at once, in KiB.
const ROWS_ADDRESS_SPACE_KIB: u64 = 480_000;

#[test]
fn a_text_that_a_file_holds_once_for_many_rows_is_unpacked_as_far_as_the_budget_goes() {
    let session = Session::new();
    session.file(
        "s.json",
        r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT64", "domain": [0, 999999], "tile": 1000}],
            "attrs": [{"name": "s", "type": "STRING_UTF8"}]}"#,
    );
    session.text("create a --schema s.json");
    let text = "x".repeat(TEXT_BYTE_LEN);
    let labels: DictionaryArray<Int32Type> = std::iter::repeat_n(text.as_str(), ROW_COUNT).collect();
    let plain = labels.downcast_dict::<StringArray>().unwrap().into_iter().collect::<StringViewArray>();
    let columns: [(&str, ArrayRef); 2] = [("dictionary", Arc::new(labels)), ("views", Arc::new(plain))];
    for (name, column) in columns {
        let d: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROW_COUNT as i64));
        let batch = RecordBatch::try_from_iter([("d", d), ("s", column)]).unwrap();
        let arrow = std::fs::File::create(session.path(&format!("{name}.arrow"))).unwrap();
        let mut writer = FileWriter::try_new(arrow, &batch.schema()).unwrap();
        writer.write(&batch).and_then(|()| writer.finish()).unwrap();
        let parquet = std::fs::File::create(session.path(&format!("{name}.parquet"))).unwrap();
        let properties = WriterProperties::builder().set_dictionary_page_size_limit(4 << 20).build();
        let mut writer = ArrowWriter::try_new(parquet, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    for file in ["dictionary.arrow", "dictionary.parquet", "views.parquet"] {
        assert!(std::fs::metadata(session.path(file)).unwrap().len() < 2 * TEXT_BYTE_LEN as u64, "{file}");
        let run = |words: &str| {
            let program = env!("CARGO_BIN_EXE_smalti");
            let line =
                format!("ulimit -v {ROWS_ADDRESS_SPACE_KIB}; exec {program} {words} --threads 1 --sync none");
            Command::new("sh").arg("-c").arg(line).current_dir(session.path("")).output().unwrap()
        };
        // A twentieth of the cells.
        let output = run(&format!("write a --from {file} --memory 30MiB"));
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        let written = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(written.starts_with("wrote 600 cells as "), "{file}: {written}");
        assert!(written.contains(" fragments "), "{file}: {written}");
        let output = run(&format!("import {file} {file}.array --dims d --memory 64MiB"));
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(session.text("read a --select d --format csv").lines().count(), 1 + ROW_COUNT);
}

/// Rows of text of some 80 bytes: 80 MB.
const LINE_COUNT: usize = 1_000_000;

#[test]
fn unordered_rows_of_twenty_times_the_budget_are_written_in_fragments_that_one_commit_shows() {
    let session = Session::new();
    session.file(
        "s.json",
        r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT64", "domain": [0, 999999], "tile": 100000}],
            "attrs": [{"name": "s", "type": "STRING_UTF8", "filters": [{"filter": "zstd", "level": 1}]}]}"#,
    );
    session.text("create a --schema s.json");
    let mut file = std::io::BufWriter::new(std::fs::File::create(session.path("rows.csv")).unwrap());
    writeln!(file, "d,s").unwrap();
    for row in 0..LINE_COUNT {
        // A number that has no divisor in common with theirs goes through all of them.
        writeln!(file, "{},the text of row {row:060}", row * 777_777 % LINE_COUNT).unwrap();
    }
    drop(file);
    let program = env!("CARGO_BIN_EXE_smalti");
    let words = "write a --from rows.csv --memory 4MiB --threads 2 --sync none";
    let line = format!("ulimit -v {ADDRESS_SPACE_KIB}; exec {program} {words}");
    let output = Command::new("sh").arg("-c").arg(line).current_dir(session.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let info = session.text("info a --json");
    assert!(info.contains(&format!("\"cells\":{LINE_COUNT},")), "{info}");
    let commits = session.path("a/__commits").read_dir().unwrap().count();
    assert_eq!(commits, 1);
    assert_eq!(
        session.text("read a --range d=777777 --format csv"),
        format!("d,s\n777777,the text of row {:060}\n", 1)
    );
}
