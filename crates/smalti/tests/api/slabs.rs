//! Sparse reads in an order that tiles do not have, of so many cells that they go slab by slab.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use smalti::arrow_array::RecordBatch;
use smalti::{Array, Context, Dimension, Options, prelude::*};
use std::cmp::Ordering;

/// A cell: its coordinates, a number and a text.
type Cell = (f64, i64, i32, String);

const SIDE: i64 = 1_000;

/// As many cells, no two of them at the same place, spread over a square around zero: some of them at either of the two zeros.
fn cells(count: usize, seed: u64, write: i32) -> Vec<Cell> {
    let mut state = seed;
    let mut next = |below: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below as u64) as i64
    };
    let mut places: Vec<(i64, i64)> = (0..count).map(|_| (next(2 * SIDE) - SIDE, next(2 * SIDE))).collect();
    places.sort_unstable();
    places.dedup();
    let cell = |(at, (x, y)): (usize, (i64, i64))| {
        let x = if x == 0 && y % 2 == 0 { -0.0 } else { x as f64 / 4.0 };
        (x, y, write * 1_000_000 + at as i32, "t".repeat(at % 4))
    };
    places.into_iter().enumerate().map(cell).collect()
}

fn written(context: &Context, name: &str, hilbert: bool, allows_dups: bool, writes: &[Vec<Cell>]) -> Array {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", -250.0..=250.0_f64).tile(10.0))
        .dimension(Dimension::new("y", 0..=2 * SIDE).tile(100_i64))
        .attribute(Attribute::of::<i32>("n"))
        .attribute(Attribute::utf8("t"))
        .allow_duplicates(allows_dups)
        .capacity(5_000);
    let schema = if hilbert { schema.hilbert() } else { schema };
    let options = Options::new().context(context);
    let array = Array::create_with(&crate::uri(name), &schema.build().unwrap(), &options).unwrap();
    for cells in writes {
        let x: Vec<f64> = cells.iter().map(|cell| cell.0).collect();
        let y: Vec<i64> = cells.iter().map(|cell| cell.1).collect();
        let n: Vec<i32> = cells.iter().map(|cell| cell.2).collect();
        let t: Vec<&str> = cells.iter().map(|cell| &*cell.3).collect();
        array.write().column("x", &x).column("y", &y).column("n", &n).column("t", &t).commit().unwrap();
    }
    array
}

fn read(batch: &RecordBatch, into: &mut Vec<(u64, i64, i32, String)>) {
    let x = batch["x"].as_primitive::<Float64Type>().values();
    let y = batch["y"].as_primitive::<Int64Type>().values();
    let n = batch["n"].as_primitive::<Int32Type>().values();
    let t = batch["t"].as_string::<i64>();
    into.extend((0..batch.num_rows()).map(|at| (x[at].to_bits(), y[at], n[at], t.value(at).to_owned())));
}

/// Where cells come in an order; the zero with a sign is less than the other only at the same place.
fn compare(layout: Layout, a: &Cell, b: &Cell) -> Ordering {
    let x = a.0.partial_cmp(&b.0).unwrap();
    let y = a.1.cmp(&b.1);
    let place = if layout == Layout::RowMajor { x.then(y) } else { y.then(x) };
    place.then(b.0.is_sign_negative().cmp(&a.0.is_sign_negative()))
}

/// All cells of some writes in an order, the latest of those at one place alone.
fn expected(layout: Layout, allows_dups: bool, writes: &[Vec<Cell>]) -> Vec<(u64, i64, i32, String)> {
    let mut cells: Vec<Cell> = writes.iter().rev().flatten().cloned().collect();
    cells.sort_by(|a, b| compare(layout, a, b));
    if !allows_dups {
        cells.dedup_by(|b, a| compare(layout, a, b).is_eq());
    }
    cells.into_iter().map(|(x, y, n, t)| (x.to_bits(), y, n, t)).collect()
}

#[test]
fn orders_of_many_cells_are_the_same_whatever_memory_and_batches() {
    // Of its own: reads ask for half a gibibyte by name, which beside other tests one of theirs may not have.
    let context = Context::new().threads(3).memory(2 << 30);
    // The second write has cells of the first again, and lies in a part of the square.
    let mut writes = vec![cells(200_000, 7, 1), cells(60_000, 11, 2)];
    let again: Vec<Cell> = writes[0].iter().step_by(97).cloned().collect();
    writes[1].retain(|cell| cell.0 > 100.0);
    writes[1].extend(again.into_iter().map(|(x, y, n, _)| (x, y, n + 5_000_000, "again".to_owned())));
    writes[1].sort_by(|a, b| compare(Layout::RowMajor, a, b).then(b.2.cmp(&a.2)));
    writes[1].dedup_by(|b, a| compare(Layout::RowMajor, a, b).is_eq());
    for (number, (hilbert, allows_dups)) in
        [(false, false), (true, false), (false, true)].into_iter().enumerate()
    {
        let array = written(&context, &format!("slabs-{number}"), hilbert, allows_dups, &writes);
        for layout in [Layout::RowMajor, Layout::ColMajor] {
            let strategy = array.read().order(layout).explain().unwrap().strategy;
            // Tiles in rows of space tiles reach across all columns, so that none ends before others begin.
            let has_slabs = hilbert || layout == Layout::RowMajor;
            let wanted = if has_slabs { "Stretches" } else { "SortedAtOnce" };
            assert_eq!(format!("{strategy:?}"), wanted, "{number} {layout:?}");
            let expected = expected(layout, allows_dups, &writes);
            for (batch_cells, memory) in
                [(1 << 20, 1 << 29), (777, 1 << 29), (50_000, 24 << 20), (1 << 20, 6 << 20)]
            {
                let batches =
                    array.read().order(layout).batch_cells(batch_cells).memory(memory).batches().unwrap();
                let mut found = Vec::new();
                for batch in batches {
                    let batch = batch.unwrap();
                    assert!(batch.num_rows() <= batch_cells);
                    read(&batch, &mut found);
                }
                let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
                assert!(
                    found.len() == expected.len() && differs.is_none(),
                    "{number} {layout:?}, batches of {batch_cells} in {memory} bytes: {} cells, {} expected, the first that differs is {differs:?}",
                    found.len(),
                    expected.len()
                );
            }
            let mut whole = Vec::new();
            read(&array.read().order(layout).collect().unwrap(), &mut whole);
            assert!(whole == expected, "{number} {layout:?}: all at once");
        }
    }
}
