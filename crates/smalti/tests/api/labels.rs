//! Dimension labels.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use smalti::ErrorKind;
use smalti::{Array, Dimension, prelude::*};

/// Six rows with decreasing latitudes and increasing names of two columns; `a` counts the cells.
fn map(name: &str) -> Array {
    let schema = Schema::dense()
        .dimension(Dimension::new("row", 1..=6).tile(2))
        .dimension(Dimension::new("col", 1..=2).tile(2))
        .attribute(Attribute::of::<i32>("a"))
        .label(Label::of::<f64>("lat", "row").decreasing())
        .label(Label::ascii("name", "col").filters(Filter::zstd(3)))
        .label(Label::of_datatype("day", "row", Datatype::DateTimeDay).tile(3))
        .build()
        .unwrap();
    Array::create_with(&crate::uri(name), &schema, &crate::options()).unwrap()
}

fn filled(name: &str) -> Array {
    let array = map(name);
    array
        .write()
        .column("a", &(0..12).collect::<Vec<i32>>())
        .column("lat", &[90.0, 60.5, 30.0, 0.0, -30.0, -90.0])
        .column("name", &["east", "west"])
        .column("day", &[0_i64, 1, 2, 3, 5, 8])
        .commit()
        .unwrap();
    array
}

fn a(batch: &RecordBatch) -> Vec<i32> {
    batch.column_by_name("a").unwrap().as_primitive::<Int32Type>().values().to_vec()
}

#[test]
fn ranges_of_labels_are_ranges_of_positions() {
    let array = filled("label-ranges");
    let read = || array.read().select(["a"]);
    assert_eq!(a(&read().label_range("lat", 0.0..=60.5).collect().unwrap()), [2, 3, 4, 5, 6, 7]);
    assert_eq!(a(&read().label_range("lat", ..-29).collect().unwrap()), [8, 9, 10, 11]);
    assert_eq!(a(&read().label_range("name", "f"..).collect().unwrap()), [1, 3, 5, 7, 9, 11]);
    assert_eq!(a(&read().label_range("day", 4_i64..=5).range("col", 2..).collect().unwrap()), [9]);
    let both = read()
        .label_range("day", 0_i64..=0)
        .label_range("day", 8_i64..=8)
        .label_range("name", "east"..="east");
    assert_eq!(a(&both.collect().unwrap()), [0, 10]);
    assert_eq!(read().label_range("lat", 1..2).collect().unwrap().num_rows(), 0);
    assert_eq!(read().label_range("name", "x"..).collect().unwrap().num_rows(), 0);
    let error = read().label_range("lat", 0..1).label_range("day", 0_i64..=1).collect().unwrap_err();
    assert!(error.message().contains("one dimension"), "{error}");
    let error = read().label_range("lat", 0..1).range("row", 1..=1).collect().unwrap_err();
    assert!(error.message().contains("\"row\""), "{error}");
    assert_eq!(read().label_range("nothing", 0..1).collect().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn labels_are_fields_of_cells_and_rows_of_their_own() {
    let array = filled("label-fields");
    let batch = array.read().select(["lat", "a", "name"]).range("row", 2..=3).collect().unwrap();
    assert_eq!(batch.column(0).as_primitive::<Float64Type>().values(), &[60.5, 60.5, 30.0, 30.0]);
    assert_eq!(a(&batch), [2, 3, 4, 5]);
    let names: Vec<_> = batch.column(2).as_string::<i64>().iter().flatten().collect();
    assert_eq!(names, ["east", "west", "east", "west"]);
    for order in [Layout::ColMajor, Layout::GlobalOrder] {
        let batch = array.read().select(["lat", "a"]).order(order).batch_cells(5).collect().unwrap();
        let lat = batch.column(0).as_primitive::<Float64Type>().values();
        for (lat, a) in lat.iter().zip(a(&batch)) {
            assert_eq!(*lat, [90.0, 60.5, 30.0, 0.0, -30.0, -90.0][(a / 2) as usize]);
        }
    }
    let alone =
        array.read().select(["lat", "day"]).range("row", 2..=3).range("row", 6..=6).collect().unwrap();
    assert_eq!(alone.column(0).as_primitive::<Float64Type>().values(), &[60.5, 30.0, -90.0]);
    let small = array.read().select(["name"]).batch_cells(1).batches().unwrap();
    assert_eq!(small.map(|batch| batch.unwrap().num_rows()).collect::<Vec<_>>(), [1, 1]);
    let own = array.label("name").unwrap();
    assert_eq!(own.read().collect().unwrap().num_rows(), 2);
}

#[test]
fn labels_that_break_their_order_are_refused_with_the_cells() {
    let array = map("label-order");
    let cells: Vec<i32> = (0..12).collect();
    let write = |lat: &[f64]| array.write().column("a", &cells).column("lat", lat).commit();
    for lat in [[6.0, 5.0, 4.0, 4.0, 2.0, 1.0], [6.0, 5.0, f64::NAN, 4.0, 2.0, 1.0]] {
        let error = write(&lat).unwrap_err();
        assert!(error.to_string().contains("\"lat\"") && error.message().contains("cell"), "{error}");
    }
    let error = write(&[6.0, 5.0]).unwrap_err();
    assert!(error.message().contains("2 cells, 6"), "{error}");
    assert_eq!(array.fragments().unwrap().len(), 0);
    assert_eq!(array.label("lat").unwrap().fragments().unwrap().len(), 0);
}

#[test]
fn labels_of_several_writes_have_to_go_together() {
    let array = map("label-parts");
    let write = |rows: std::ops::RangeInclusive<i32>, day: &[i64]| {
        array.write().range("row", rows).column("day", day).commit().unwrap();
    };
    let range = || array.read().select(["row"]).label_range("day", 12_i64..=25).collect();
    assert_eq!(range().unwrap().num_rows(), 0);
    write(1..=2, &[10, 20]);
    assert_eq!(range().unwrap().num_rows(), 2);
    write(4..=6, &[40, 50, 60]);
    assert!(range().unwrap_err().message().contains("no labels yet"));
    write(3..=3, &[25]);
    assert_eq!(range().unwrap().num_rows(), 4);
    write(2..=3, &[20, 45]);
    assert!(range().unwrap_err().message().contains("increase"));
    // Labels that are there already are read nevertheless, and the others are fill values.
    assert_eq!(array.read().select(["day"]).collect().unwrap().num_rows(), 6);
    write(1..=6, &[1, 12, 13, 26, 27, 28]);
    assert_eq!(range().unwrap().num_rows(), 4);
}

#[test]
fn labels_of_a_time_are_read_at_that_time() {
    let array = map("label-times");
    let cells: Vec<i32> = (0..12).collect();
    let write = |name: [&str; 2], at| {
        array.write().column("a", &cells).column("name", &name).at(at).commit().unwrap();
    };
    write(["a", "b"], 1000);
    write(["c", "d"], 2000);
    let names = |array: &Array| {
        let batch = array.read().select(["name"]).collect().unwrap();
        batch.column(0).as_string::<i64>().iter().flatten().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&array), ["c", "d"]);
    assert_eq!(
        names(&Array::open_with(&crate::uri("label-times"), &crate::options().at(1999)).unwrap()),
        ["a", "b"]
    );
    assert_eq!(array.label("name").unwrap().fragments().unwrap()[0].time().start, 1000);
}

#[test]
fn sparse_arrays_have_labels_that_are_written_on_their_own() {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9).tile(5))
        .dimension(Dimension::string("s"))
        .attribute(Attribute::of::<i32>("a"))
        .label(Label::of::<i64>("year", "x"))
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("sparse-labels"), &schema, &crate::options()).unwrap();
    array
        .write()
        .column("x", &[1, 3, 9])
        .column("s", &["p", "q", "r"])
        .column("a", &[1, 2, 3])
        .commit()
        .unwrap();
    array.write().range("x", 0..=4).column("year", &[1990_i64, 1991, 1993, 1994, 2000]).commit().unwrap();
    let batch = array.read().select(["a"]).label_range("year", 1992_i64..).collect().unwrap();
    assert_eq!(a(&batch), [2]);
    let batch = array.read().select(["year", "a"]).collect().unwrap();
    let years = batch.column(0).as_primitive::<arrow_array::types::Int64Type>().values().to_vec();
    assert_eq!(years, [1991, 1994, i64::MIN]);
}

#[test]
fn what_cannot_be_labelled_is_refused() {
    let build = |dimension: Dimension, label: Label| {
        Schema::sparse().dimension(dimension).attribute(Attribute::of::<i32>("a")).label(label).build()
    };
    let line = || Dimension::new("x", 0..=9);
    for (schema, words) in [
        (build(line(), Label::of::<f64>("l", "y")), "\"y\""),
        (build(line(), Label::of::<f64>("a", "x")), "\"a\""),
        (build(line(), Label::of_datatype("l", "x", Datatype::StringUtf8)), "\"l\""),
        (build(Dimension::new("x", 0.0..=9.0), Label::of::<f64>("l", "x")), "FLOAT64"),
        (build(Dimension::string("x"), Label::of::<f64>("l", "x")), "\"l\""),
    ] {
        let error = schema.unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
}

#[test]
fn what_is_written_of_labels_is_told_in_the_history() {
    let array = map("label-history");
    array.write().column("lat", &[90.0, 60.5, 30.0, 0.0, -30.0, -90.0]).at(1000).commit().unwrap();
    let cells: Vec<i32> = (0..12).collect();
    array.write().column("a", &cells).column("name", &["east", "west"]).at(2000).commit().unwrap();
    let history = array.reopen().unwrap().history().unwrap();
    let told: Vec<String> =
        history.iter().map(|entry| format!("{}: {}", entry.time.end, entry.event)).collect();
    assert_eq!(
        told[..3],
        ["1000: label lat: wrote 6 cells", "2000: wrote 12 cells", "2000: label name: wrote 2 cells"]
    );
    let since =
        Array::open_with(&crate::uri("label-history"), &crate::options().since(2000).at(3000)).unwrap();
    assert_eq!(since.history().unwrap().len(), 2);
}

#[test]
fn an_array_and_its_labels_are_created_at_the_time_that_is_asked_for() {
    let schema = Schema::dense()
        .dimension(Dimension::new("row", 1..=6).tile(2))
        .attribute(Attribute::of::<i32>("a"))
        .label(Label::of::<f64>("lat", "row"));
    let options = crate::options().created_at(1000);
    let array = Array::create_with(&crate::uri("created-at"), &schema.build().unwrap(), &options).unwrap();
    assert_eq!(array.schema_timestamp(), Some(1000));
    assert_eq!(array.label("lat").unwrap().schema_timestamp(), Some(1000));
    assert_eq!(array.history().unwrap()[0].time.end, 1000);
}
