use super::*;
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::ArrowError;
use smalti::PhaseProgress;
use smalti::Progress;
use std::collections::HashMap;
use std::sync::Arc;

fn by_x() -> TableOptions {
    TableOptions { dims: vec!["x".into()], ..TableOptions::default() }
}

/// Runs an import, and gives its phases, each of which is done.
fn run(
    input: Input,
    uri: &str,
    table: &TableOptions,
    memory: Option<u64>,
) -> Outcome<(Imported, Vec<PhaseProgress>)> {
    let (engine, work) = (smalti::Options::new(), Arc::new(Progress::new()));
    let warn = |warning: Warning| panic!("{warning:?}");
    let environment = Environment { engine: &engine, memory, folder: None, work: &work, warn: &warn };
    let options = ImportOptions { table: table.clone(), ..ImportOptions::default() };
    let imported = import(input, uri, &options, &environment)?;
    for phase in work.phases() {
        // How many rows a stream has is told by its end.
        assert!(phase.total.unwrap_or(phase.done) == phase.done, "{phase:?}");
    }
    Ok((imported, work.phases()))
}

/// The phases of an import in a folder of its own.
fn phases(file: &str, content: &[u8], table: &TableOptions, memory: Option<u64>) -> Vec<Phase> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    std::fs::write(&path, content).unwrap();
    let uri = folder.path().join("array").display().to_string();
    let phases = run(Input::Files(vec![path]), &uri, table, memory).unwrap().1;
    assert!(phases.iter().all(|phase| phase.total.is_some()), "{phases:?}");
    phases.iter().map(|phase| phase.phase).collect()
}

/// Batches of a table with a thousand rows each, from which `x` counts.
fn batches(count: i64) -> Input {
    let batch = |nth: i64| {
        let rows = nth * 1000..(nth + 1) * 1000;
        let names: DictionaryArray<Int8Type> =
            rows.clone().map(|row| ["red", "green", "blue"][row as usize % 3]).collect();
        let columns = [
            ("x", Arc::new(Int64Array::from_iter_values(rows.clone())) as ArrayRef),
            ("half", Arc::new(Float64Array::from_iter_values(rows.map(|row| row as f64 / 2.0)))),
            ("color", Arc::new(names)),
        ];
        RecordBatch::try_from_iter(columns).map_err(|error| ArrowError::ExternalError(error.into()))
    };
    let schema = batch(0).unwrap().schema();
    Input::Batches(Box::new(RecordBatchIterator::new((0..count).map(batch), schema)))
}

#[test]
fn a_stream_is_kept_in_memory_or_beyond_the_budget_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for (count, memory) in [(3, None), (400, Some(4 << 20))] {
        let uri = folder.path().join(format!("of_{count}")).display().to_string();
        let (imported, _) = run(batches(count), &uri, &by_x(), memory).unwrap();
        assert_eq!((imported.is_new, imported.cell_count), (true, 1000 * count as u64));
        assert_eq!(imported.fragments.len() > 1, memory.is_some());
        let array = Array::open(&uri).unwrap();
        let schema = array.schema();
        let (lo, hi) = schema.dimensions[0].domain.unwrap();
        assert_eq!((lo.as_i128(), hi.as_i128()), (Some(0), Some(i128::from(count) * 1000 - 1)));
        let labels = array.enumeration("color").unwrap();
        assert_eq!(labels.elements().collect::<Vec<_>>(), [&b"red"[..], b"green", b"blue"]);
        // Once more, behind what is there: the coordinates are the same ones, and in another write they may be.
        let (again, _) = run(batches(1), &uri, &TableOptions::default(), memory).unwrap();
        assert_eq!((again.is_new, again.cell_count), (false, 1000));
    }
}

#[test]
fn a_stream_is_planned_without_an_array() {
    let (engine, work) = (smalti::Options::new(), Arc::new(Progress::new()));
    let warn = |warning: Warning| panic!("{warning:?}");
    let environment = Environment { engine: &engine, memory: None, folder: None, work: &work, warn: &warn };
    let options = ImportOptions { table: by_x(), ..ImportOptions::default() };
    let plan = plan(batches(2), None, &options, &environment).unwrap();
    assert!(plan.is_new);
    assert_eq!(plan.schema["dims"][0]["domain"], serde_json::json!([0, 1999]));
    let reasons: HashMap<_, _> = plan.reasons.into_iter().collect();
    assert!(reasons["color"].contains("an enumeration of 3 labels"), "{reasons:?}");
}

#[test]
fn what_is_wrong_with_a_row_of_a_stream_is_named_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("array").display().to_string();
    let column = Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    let failure = run(Input::Batches(Box::new(reader)), &uri, &by_x(), None).unwrap_err().to_string();
    assert!(failure.contains("row 2: column \"x\": null, but it is a dimension"), "{failure}");
    assert!(!std::path::Path::new(&uri).exists());
}

#[test]
fn an_import_goes_through_the_phases_of_its_writes_each_with_a_total() {
    use Phase::*;
    let written = [Validating, Sorting, Writing, Syncing, Publishing];
    let short = phases("short.csv", b"x,a\n1,2\n2,3\n", &by_x(), None);
    assert_eq!(short, [&[Inferring][..], &written].concat());
    let mut long = String::from("x,a\n");
    (0..200_000).for_each(|row| long.push_str(&format!("{row},{row}\n")));
    let long = phases("long.csv", long.as_bytes(), &by_x(), Some(4 << 20));
    // Reading goes on between the chunks: where all of them are written it began before the last.
    let mut both = long.clone();
    both.sort_by_key(|phase| *phase as u8);
    let mut all = [&[Inferring, Reading][..], &written].concat();
    all.sort_by_key(|phase| *phase as u8);
    assert_eq!((both, long[0], long.last()), (all, Inferring, Some(&Publishing)));
    let header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }\n";
    let start = [&b"\x93NUMPY\x01\x00"[..], &[header.len() as u8, 0]].concat();
    let npy = [&start[..], header, &[0; 16]];
    let grid = phases("grid.npy", &npy.concat(), &TableOptions::default(), None);
    let mut all = [Reading, Validating, Writing, Syncing, Publishing];
    all.sort_by_key(|phase| *phase as u8);
    let mut sorted = grid.clone();
    sorted.sort_by_key(|phase| *phase as u8);
    assert_eq!((sorted.as_slice(), grid.last()), (&all[..], Some(&Publishing)));
}

/// Rows of a count that rises, of numbers below 65,536, of numbers out of 50, and of text.
fn sampled(row_count: i64) -> RecordBatch {
    let mix = |row: i64| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let columns = [
        ("x", Arc::new(Int64Array::from_iter_values(0..row_count)) as ArrayRef),
        ("few", Arc::new(Int64Array::from_iter_values((0..row_count).map(|row| (mix(row) >> 48) as i64)))),
        (
            "same",
            Arc::new(Int64Array::from_iter_values(
                (0..row_count).map(|row| mix(mix(row) as i64 % 50) as i64),
            )),
        ),
        ("text", Arc::new(StringArray::from_iter_values((0..row_count).map(|row| format!("station {row}"))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn numbers_are_shuffled_where_a_sample_says_so() {
    let (engine, work) = (smalti::Options::new(), Arc::new(Progress::new()));
    let warn = |warning: Warning| panic!("{warning:?}");
    let environment = Environment { engine: &engine, memory: None, folder: None, work: &work, warn: &warn };
    let options = ImportOptions { table: by_x(), ..ImportOptions::default() };
    let names = |filters: &serde_json::Value| -> Vec<String> {
        let filters = filters.as_array().map(Vec::as_slice).unwrap_or_default();
        filters.iter().map(|filter| filter["filter"].as_str().unwrap().to_owned()).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    for (row_count, is_enough) in [(1000, false), (100_000, true)] {
        let batch = sampled(row_count);
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let stream = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
        // Of a Parquet file, whose statistics tell the domain, the first rows alone are read.
        for input in [Input::Files(vec![path.clone()]), Input::Batches(Box::new(stream))] {
            let Plan { schema, reasons, .. } = plan(input, None, &options, &environment).unwrap();
            let shuffled = if is_enough { &["byteshuffle", "zstd"][..] } else { &["zstd"] };
            assert_eq!(names(&schema["attrs"][0]["filters"]), shuffled, "{schema}");
            assert_eq!(names(&schema["attrs"][1]["filters"]), ["zstd"]);
            assert_eq!(names(&schema["attrs"][2]["filters"]), ["zstd"]);
            assert_eq!(names(&schema["offsets_filters"]["filters"]), ["byteshuffle", "zstd"]);
            let own = if is_enough { shuffled } else { &[] };
            assert_eq!(names(&schema["dims"][0]["filters"]), own);
            let reasons: HashMap<_, _> = reasons.into_iter().collect();
            assert_eq!(reasons["few"].contains("of the first 16384 values"), is_enough, "{reasons:?}");
            assert_eq!(reasons["filters"].contains("where the values say so"), is_enough);
        }
        let uri = folder.path().join(format!("of_{row_count}")).display().to_string();
        let (imported, _) = run(Input::Files(vec![path.clone()]), &uri, &by_x(), None).unwrap();
        assert_eq!(imported.cell_count, row_count as u64);
    }
}
