//! Ranges, orders and shapes of reads.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use ndarray::{Axis, array};
use smalti::Extent;
use smalti::{Array, Dimension, prelude::*};

/// Four rows of six cells, with two values in each cell of `pair`.
fn grid(name: &str) -> Array {
    let schema = Schema::dense()
        .dimension(Dimension::new("row", 1..=4_i8).tile(2))
        .dimension(Dimension::new("col", -3..=2_i8).tile(4))
        .attribute(Attribute::of::<i32>("a"))
        .attribute(Attribute::of::<i16>("pair").values_per_cell(2))
        .build()
        .unwrap();
    let grid = Array::create_with(&crate::uri(name), &schema, &crate::options()).unwrap();
    let a: Vec<i32> = (0..24).collect();
    let pair: Vec<[i16; 2]> = (0..24).map(|cell| [cell, -cell]).collect();
    grid.write().column("a", &a).column("pair", &pair).commit().unwrap();
    grid
}

#[test]
fn an_ndarray_has_the_shape_of_its_ranges_in_both_orders() {
    let grid = grid("shapes");
    let whole = grid.read().to_ndarray::<i32>("a").unwrap();
    assert_eq!(whole.shape(), [4, 6]);
    let fortran = grid.read().order(Layout::ColMajor).to_ndarray::<i32>("a").unwrap();
    assert_eq!(fortran, whole);
    assert_eq!(fortran.strides(), [1, 4]);
    let part = grid.read().range("row", 3..).range("col", -1..=0).to_ndarray::<i32>("a").unwrap();
    assert_eq!(part, array![[14, 15], [20, 21]].into_dyn());
    let split = grid
        .read()
        .range("row", 4..=4)
        .range("row", 1..=1)
        .range("col", ..-1)
        .to_ndarray::<i32>("a")
        .unwrap();
    assert_eq!(split, array![[18, 19], [0, 1]].into_dyn());
    let clipped = grid.read().range("row", 4..=100).range("col", 2..=2).to_ndarray::<i32>("a").unwrap();
    assert_eq!(clipped, array![[23]].into_dyn());
    let nothing = grid.read().range("col", 100..).to_ndarray::<i32>("a");
    assert!(nothing.is_err() || nothing.unwrap().is_empty());
}

#[test]
fn several_values_a_cell_are_the_last_axis_in_both_orders() {
    let grid = grid("pairs");
    let rows = grid.read().to_ndarray::<i16>("pair").unwrap();
    assert_eq!(rows.shape(), [4, 6, 2]);
    assert_eq!(
        rows.index_axis(Axis(2), 1).iter().map(|v| -v).collect::<Vec<_>>(),
        (0..24).collect::<Vec<_>>()
    );
    assert_eq!(grid.read().order(Layout::ColMajor).to_ndarray::<i16>("pair").unwrap(), rows);
}

#[test]
fn what_no_ndarray_can_hold_is_refused() {
    let grid = grid("refused");
    for error in [
        grid.read().to_ndarray::<i64>("a").unwrap_err(),
        grid.read().to_ndarray::<i32>("b").unwrap_err(),
        grid.read().order(Layout::GlobalOrder).to_ndarray::<i32>("a").unwrap_err(),
        grid.read().range("depth", 1..).to_ndarray::<i32>("a").unwrap_err(),
        grid.read().range("row", "x"..).batches().unwrap_err(),
        grid.read().select(["b"]).batches().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

#[test]
fn batches_hold_the_cells_asked_for_and_no_more_than_asked() {
    let grid = grid("batches");
    let sizes: Vec<usize> =
        grid.read().batch_cells(5).batches().unwrap().map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 24);
    assert!(sizes.iter().all(|&size| size <= 5), "{sizes:?}");
    let one = grid
        .read()
        .select(["col", "a"])
        .extent("row", Extent::Num { lo: 128 + 2, hi: 128 + 2 })
        .collect()
        .unwrap();
    assert_eq!((one.num_rows(), one.num_columns()), (6, 2));
}

#[test]
fn sparse_reads_can_tell_the_time_of_every_cell() {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9))
        .attribute(Attribute::of::<u8>("a"))
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("timestamps"), &schema, &crate::options()).unwrap();
    array.write().column("x", &[1, 2]).column("a", &[1_u8, 2]).at(1000).commit().unwrap();
    array.write().column("x", &[2, 3]).column("a", &[3_u8, 4]).at(2000).commit().unwrap();
    let batch = array.read().timestamps().order(Layout::RowMajor).collect().unwrap();
    let batch =
        batch.columns().iter().map(|column| format!("{column:?}").split_whitespace().collect::<String>());
    let columns: Vec<String> = batch.collect();
    assert!(columns[0].ends_with("[1,2,3,]"), "{columns:?}");
    assert!(columns[1].ends_with("[1,3,4,]"), "{columns:?}");
    assert!(columns[2].ends_with("[1000,2000,2000,]"), "{columns:?}");
}

#[test]
fn a_null_that_an_ndarray_cannot_hold_is_named_in_whatever_batch_it_comes() {
    const NULL: usize = 90_001;
    let schema = Schema::dense()
        .dimension(Dimension::new("x", 0..=99_999).tile(1_000))
        .attribute(Attribute::of::<i64>("a").nullable())
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("null-in-ndarray"), &schema, &crate::options()).unwrap();
    let a: Vec<Option<i64>> = (0..100_000).map(|cell| (cell != NULL as i64).then_some(cell)).collect();
    array.write().column("a", &a).commit().unwrap();
    // Little memory makes many batches.
    let read = || array.read().select(["a"]).memory(64 << 10);
    assert!(read().batches().unwrap().count() > 1);
    let error = read().to_ndarray::<i64>("a").unwrap_err();
    assert!(error.message().contains(&format!("cell {NULL} ")), "{error}");
    let part = read().range("x", ..NULL as i64).to_ndarray::<i64>("a").unwrap();
    assert!(part.iter().copied().eq(0..NULL as i64));
}

/// What libtiledb does with dense arrays, and with sparse ones in unordered reads.
#[test]
fn dense_reads_give_a_cell_for_each_range_that_holds_it_and_sparse_ones_once() {
    let read = |name: &str, is_dense: bool, layout: Layout| -> Vec<i32> {
        let x = Dimension::new("x", 0..=9).tile(4);
        let schema = if is_dense { Schema::dense() } else { Schema::sparse() };
        let schema = schema.dimension(x).attribute(Attribute::of::<i32>("a")).build().unwrap();
        let array = Array::create_with(&crate::uri(name), &schema, &crate::options()).unwrap();
        let cells: Vec<i32> = (0..10).collect();
        let write = if is_dense { array.write() } else { array.write().column("x", &cells) };
        write.column("a", &cells).commit().unwrap();
        let ranges = [5..=6, 2..=3, 5..=5, 3..=6];
        let read = ranges.into_iter().fold(array.read(), |read, range| read.range("x", range));
        let found = read.order(layout).select(["a"]).collect().unwrap();
        found.column(0).as_primitive::<Int32Type>().values().to_vec()
    };
    for (number, layout) in [Layout::RowMajor, Layout::ColMajor].into_iter().enumerate() {
        let dense = read(&format!("ranges-dense-{number}"), true, layout);
        assert_eq!(dense, [5, 6, 2, 3, 5, 3, 4, 5, 6], "{layout:?}");
        let sparse = read(&format!("ranges-sparse-{number}"), false, layout);
        assert_eq!(sparse, [2, 3, 4, 5, 6], "{layout:?}");
    }
}

#[test]
fn without_an_order_duplicates_come_as_they_were_written() {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9))
        .attribute(Attribute::of::<i32>("a"))
        .allow_duplicates(true)
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("as-written"), &schema, &crate::options()).unwrap();
    for (at, a) in [(30, 3), (10, 1), (20, 2)] {
        array.write().column("x", &[9 - a, 5]).column("a", &[a, 10 + a]).at(at).commit().unwrap();
    }
    let read = || array.read().select(["a"]).order(Layout::Unordered);
    assert_eq!(
        read().collect().unwrap().column(0).as_primitive::<Int32Type>().values(),
        &[11, 1, 12, 2, 13, 3]
    );
    assert_eq!(read().limit(2).collect().unwrap().column(0).as_primitive::<Int32Type>().values(), &[11, 1]);
}
