use super::*;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
use arrow_schema::ArrowError;

const DENSE: &str = r#"{"array_type": "dense", "dims": [{"name": "x", "type": "INT64", "domain": [0, 9999], "tile": 100},
    {"name": "y", "type": "INT64", "domain": [0, 99], "tile": 100}], "attrs": [{"name": "a", "type": "INT64"}]}"#;
const SPARSE: &str = r#"{"array_type": "sparse", "dims": [{"name": "x", "type": "INT64", "domain": [0, 9999999], "tile": 1000}],
    "attrs": [{"name": "a", "type": "INT64"}]}"#;

fn made(uri: &str, schema: &str) -> Array {
    let schema = smalti::json::schema_from_json(schema).unwrap().build().unwrap();
    Array::create(uri, &schema).unwrap()
}

/// Batches of a thousand rows, whose columns are told by the numbers of the rows.
fn batches(count: i64, columns: &'static [(&'static str, fn(i64) -> i64)]) -> Input {
    let batch = move |nth: i64| {
        let column = |value: &fn(i64) -> i64| {
            Arc::new(Int64Array::from_iter_values((nth * 1000..(nth + 1) * 1000).map(value))) as ArrayRef
        };
        let columns = columns.iter().map(|(name, value)| (*name, column(value)));
        RecordBatch::try_from_iter(columns).map_err(|error| ArrowError::ExternalError(error.into()))
    };
    let schema = batch(0).unwrap().schema();
    Input::Batches(Box::new(RecordBatchIterator::new((0..count).map(batch), schema)))
}

/// The sum of an attribute that counts.
fn sum(array: &Array) -> (u64, i64) {
    let array = array.reopen().unwrap();
    let batches = array.read().select(["a"]).batches().unwrap().map(Result::unwrap);
    batches.fold((0, 0), |(count, sum), batch| {
        let values = batch.column(0).as_primitive::<Int64Type>().values();
        (count + values.len() as u64, sum + values.iter().sum::<i64>())
    })
}

#[test]
fn streams_are_written_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let work = Arc::new(Progress::new());
    let rows = 1000_i64 * 1000;
    let total = rows * (rows - 1) / 2;
    // In no order, in global order, with coordinates, and in row-major order.
    let ways: [(&str, &'static [(&'static str, fn(i64) -> i64)], bool); 4] = [
        (SPARSE, &[("x", |row| row * 7919 % 1_000_000), ("a", |row| row)], false),
        (SPARSE, &[("x", |row| row), ("a", |row| row)], true),
        (DENSE, &[("y", |row| row % 100), ("x", |row| row / 100), ("a", |row| row)], false),
        (DENSE, &[("a", |row| row)], false),
    ];
    for (idx, (schema, columns, global_order)) in ways.into_iter().enumerate() {
        let array = made(&folder.path().join(idx.to_string()).display().to_string(), schema);
        let options = WriteOptions { memory: Some(8 << 20), global_order, ..WriteOptions::default() };
        let written = write(&array, batches(1000, columns), &options, &work).unwrap();
        assert_eq!(written.cell_count, rows as u64);
        assert_eq!(written.fragments.len() > 1, idx == 0, "{idx}");
        assert_eq!(sum(&array), (rows as u64, total), "{idx}");
    }
}

#[test]
fn columns_of_coordinates_come_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let schema = DENSE.replace("9999", "99");
    let array = made(&folder.path().join("array").display().to_string(), &schema);
    let work = Arc::new(Progress::new());
    let swapped: &'static [(&'static str, fn(i64) -> i64)] =
        &[("y", |row| row % 100), ("x", |row| row / 100), ("a", |row| row)];
    write(&array, batches(10, swapped), &WriteOptions::default(), &work).unwrap();
    let line = array.reopen().unwrap().read().select(["a"]).range("x", 1..2).collect().unwrap();
    assert_eq!(line.column(0).as_primitive::<Int64Type>().values()[..3], [100, 101, 102]);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let work = Arc::new(Progress::new());
    let array = made(&folder.path().join("array").display().to_string(), SPARSE);
    let options = WriteOptions { memory: Some(8 << 20), ..WriteOptions::default() };
    let failure = write(&array, batches(1, &[("x", |row| row)]), &options, &work).unwrap_err();
    assert!(failure.to_string().contains('a'), "{failure}");
    let twice = batches(500, &[("x", |row| row % 499_000), ("a", |row| row)]);
    let failure = write(&array, twice, &options, &work).unwrap_err();
    assert!(failure.to_string().contains("two cells have the same coordinates"), "{failure}");
    let part = WriteOptions { subarray: Some(Vec::new()), ..WriteOptions::default() };
    let failure = write(&array, batches(1, &[("x", |row| row)]), &part, &work).unwrap_err();
    assert!(matches!(failure, Failure::Usage(_)), "{failure}");
    assert!(array.reopen().unwrap().fragments().unwrap().is_empty());
}
