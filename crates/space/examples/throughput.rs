//! Prints how fast the hot paths are: `cargo run --release -p smalti-space --example throughput`.

use smalti_space::{
    CellOrder, Column, Geometry, Interval, KeyLayout, OrderDim, RTree, RangeSet, UNSTOPPED, column_bounds,
    copy_box, fill_box, hilbert_values, select_cells, sort_cells, strides, tile_mbrs,
};
use smalti_types::{Datatype, Extent, Layout, RectList, Scalar, Stores};
use std::hint::black_box;
use std::time::Instant;

/// Runs of which the best counts: other work on the machine only ever slows them down.
const RUNS: usize = 25;

/// The time of the best run, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn report(what: &str, seconds: f64, bytes: usize) {
    println!("{what:<62} {:>8.2} ms {:>7.2} GB/s", seconds * 1e3, bytes as f64 / seconds / 1e9);
}

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 20
}

fn main() {
    copies();
    orders();
    searches();
}

fn copies() {
    let side = 2048usize;
    for elem in [1usize, 2, 4, 8] {
        let bytes = side * side * elem;
        let src = vec![7u8; bytes];
        let mut dst = vec![1u8; bytes];
        let row = strides(&[side as u64; 2], Layout::RowMajor).expect("a small box");
        let col = strides(&[side as u64; 2], Layout::ColMajor).expect("a small box");
        let row = Geometry { offset: 0, strides: &row };
        let col = Geometry { offset: 0, strides: &col };
        let all = [side as u64; 2];
        let seconds = best(|| black_box(&mut dst).copy_from_slice(black_box(&src)));
        report(&format!("memcpy, {elem}-byte cells"), seconds, bytes);
        let seconds = best(|| {
            copy_box(black_box(&mut dst), row, &src, row, &all, elem, Stores::Cached).expect("in bounds")
        });
        report("  copy_box, whole", seconds, bytes);
        for run_bytes in [32, 64, 256, 1024] {
            let part = [side as u64 * (side * elem / run_bytes) as u64, (run_bytes / elem) as u64];
            let gap = [run_bytes / elem, 1];
            let runs = Geometry { offset: 0, strides: &gap };
            // A gap of one run after each in the source, so that runs cannot merge.
            let half = [part[0] / 2, part[1]];
            let wide = [2 * run_bytes / elem, 1];
            let from = Geometry { offset: 0, strides: &wide };
            let seconds = best(|| {
                copy_box(black_box(&mut dst), runs, &src, from, &half, elem, Stores::Cached)
                    .expect("in bounds")
            });
            report(&format!("  copy_box, runs of {run_bytes} bytes"), seconds, bytes / 2);
        }
        let seconds = best(|| {
            copy_box(black_box(&mut dst), col, &src, row, &all, elem, Stores::Cached).expect("in bounds")
        });
        report("  copy_box, row-major to col-major", seconds, bytes);
        let seconds = best(|| fill_box(black_box(&mut dst), row, &all, &[3; 8][..elem]).expect("in bounds"));
        report("  fill_box", seconds, bytes);
    }
    let shape = [64u64, 128, 256];
    let cells = 64 * 128 * 256;
    let src = vec![7u8; cells * 8];
    let mut dst = vec![1u8; cells * 8];
    let row = strides(&shape, Layout::RowMajor).expect("a small box");
    let col = strides(&shape, Layout::ColMajor).expect("a small box");
    let (row, col) = (Geometry { offset: 0, strides: &row }, Geometry { offset: 0, strides: &col });
    let seconds =
        best(|| copy_box(black_box(&mut dst), col, &src, row, &shape, 8, Stores::Cached).expect("in bounds"));
    report("copy_box, 3 dimensions, row-major to col-major, 8-byte cells", seconds, cells * 8);
}

const CELLS: usize = 1_500_000;

fn int_dim(extent: i64) -> OrderDim {
    OrderDim {
        datatype: Datatype::Int64,
        domain: Interval { lo: Scalar::I64(0).ordinal(), hi: Scalar::I64(999_999).ordinal() },
        extent: Some(Scalar::I64(extent)),
    }
}

fn float_dim() -> OrderDim {
    OrderDim {
        datatype: Datatype::Float64,
        domain: Interval { lo: Scalar::F64(-90.0).ordinal(), hi: Scalar::F64(90.0).ordinal() },
        extent: Some(Scalar::F64(10.0)),
    }
}

fn orders() {
    let mut seed = 1;
    let ints = |seed: &mut u64| -> Vec<u8> {
        (0..CELLS).flat_map(|_| ((random(seed) % 1_000_000) as i64).to_le_bytes()).collect()
    };
    let floats = |seed: &mut u64| -> Vec<u8> {
        (0..CELLS).flat_map(|_| ((random(seed) % 180_000_000) as f64 / 1e6 - 90.0).to_le_bytes()).collect()
    };
    let (a, b, c, d) = (ints(&mut seed), ints(&mut seed), floats(&mut seed), floats(&mut seed));
    let number = |datatype, bytes| Column::numbers(datatype, bytes).expect("whole values");
    let int_columns = [number(Datatype::Int64, &a), number(Datatype::Int64, &b)];
    let float_columns = [number(Datatype::Float64, &c), number(Datatype::Float64, &d)];
    let strings: Vec<String> =
        (0..CELLS).map(|_| format!("sample-{:08}", random(&mut seed) % 10_000_000)).collect();
    let text = strings.concat();
    let offsets: Vec<u64> = (0..CELLS as u64).map(|i| i * 15).collect();
    let string_columns =
        [Column::strings(&offsets, text.as_bytes()).expect("rising offsets"), int_columns[0]];
    let string_dim = OrderDim { datatype: Datatype::StringAscii, domain: Interval::ALL, extent: None };
    let (row, col) = (Layout::RowMajor, Layout::ColMajor);
    let global = |dims, cell_order| CellOrder::global(dims, row, cell_order).expect("a sound order");
    let orders = [
        ("2 x int64, extents 10000, row-major", global(vec![int_dim(10_000); 2], row), &int_columns),
        ("2 x int64, extents 16384, col-major", global(vec![int_dim(1 << 14); 2], col), &int_columns),
        ("2 x int64, hilbert", global(vec![int_dim(1); 2], Layout::Hilbert), &int_columns),
        ("2 x float64, extents 10, row-major", global(vec![float_dim(); 2], row), &float_columns),
        ("2 x float64, hilbert", global(vec![float_dim(); 2], Layout::Hilbert), &float_columns),
        ("string and int64", global(vec![string_dim, int_dim(10_000)], row), &string_columns),
    ];
    println!("\n{CELLS} cells on {} threads", rayon::current_num_threads());
    for (what, order, columns) in &orders {
        let columns = columns.as_slice();
        let make = || {
            let bounds: Vec<Interval> =
                columns.iter().map(|c| column_bounds(c).unwrap_or(Interval::ALL)).collect();
            KeyLayout::new(order, &bounds)
                .expect("sound bounds")
                .keys(columns, UNSTOPPED)
                .expect("inside the bounds")
        };
        let keying = best(|| drop(black_box(make())));
        let keys = make();
        let sorting = best(|| drop(black_box(sort_cells(&keys, UNSTOPPED).expect("few cells"))));
        let sorted = sort_cells(&keys, UNSTOPPED).expect("few cells");
        let ordered = keys.permuted(&sorted);
        let checking = best(|| drop(black_box(sort_cells(&ordered, UNSTOPPED).expect("few cells"))));
        let mut gathered = vec![0u8; CELLS * 8];
        let gathering = best(|| sorted.gather(&a, 8, &mut gathered).expect("the same cells"));
        println!(
            "{what:<38} keys {:>6.1} ms, sort {:>6.1} ms, in order already {:>5.1} ms, gather 8-byte cells {:>5.1} ms",
            keying * 1e3,
            sorting * 1e3,
            checking * 1e3,
            gathering * 1e3
        );
    }
    let hilbert = &orders[2].1;
    let seconds =
        best(|| drop(black_box(hilbert_values(hilbert, &int_columns, UNSTOPPED).expect("a Hilbert order"))));
    report("hilbert_values, 2 x int64", seconds, CELLS * 16);
    let seconds = best(|| drop(black_box(tile_mbrs(&int_columns, 10_000).expect("some cells"))));
    report("tile_mbrs, 2 x int64, 10000 cells a tile", seconds, CELLS * 16);
    let seconds = best(|| drop(black_box(tile_mbrs(&float_columns, 10_000).expect("some cells"))));
    report("tile_mbrs, 2 x float64", seconds, CELLS * 16);

    let range = |lo: i64, hi: i64| Extent::between(Scalar::I64(lo), Scalar::I64(hi)).expect("rising");
    for (count, what) in [(1i64, "1 range"), (4, "4 ranges"), (1000, "1000 ranges")] {
        let ranges: Vec<Extent> = (0..count)
            .map(|i| range(i * 1_000_000 / count, i * 1_000_000 / count + 400_000 / count))
            .collect();
        let sets = [
            RangeSet::new(false, ranges.clone()).expect("rising"),
            RangeSet::new(false, ranges).expect("rising"),
        ];
        let seconds = best(|| drop(black_box(select_cells(&int_columns, &sets).expect("same kinds"))));
        report(&format!("select_cells, 2 x int64, {what} each"), seconds, CELLS * 16);
    }
    let halves = Extent::between(Scalar::F64(-45.0), Scalar::F64(45.0)).expect("rising");
    let sets = [
        RangeSet::new(false, vec![halves.clone()]).expect("rising"),
        RangeSet::new(false, vec![halves]).expect("rising"),
    ];
    let seconds = best(|| drop(black_box(select_cells(&float_columns, &sets).expect("same kinds"))));
    report("select_cells, 2 x float64, 1 range each", seconds, CELLS * 16);
    let mask = select_cells(&float_columns, &sets).expect("same kinds");
    let seconds = best(|| {
        black_box(mask.iter_runs().map(|run| run.len()).sum::<usize>());
    });
    report("runs of the mask", seconds, CELLS / 8);
}

fn searches() {
    let mut leaves = RectList::new([false, false]);
    for i in 0..1_000_000u64 {
        let (x, y) = (i % 1000 * 10, i / 1000 * 10);
        leaves.push(&[Extent::Num { lo: x, hi: x + 9 }, Extent::Num { lo: y, hi: y + 9 }]).expect("numbers");
    }
    let start = Instant::now();
    let tree = RTree::build(leaves, RTree::FANOUT).expect("a fanout of 10");
    println!("\nR-tree over 1000000 tiles built in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    for (what, lo, hi) in [("1 tile", 5000, 5000), ("10000 tiles", 5000, 5999), ("all tiles", 0, 20_000)] {
        let range = RangeSet::new(false, vec![Extent::Num { lo, hi }]).expect("rising");
        let sets = [range.clone(), range];
        let found = tree.search(&sets).expect("two dimensions").len();
        let seconds = best(|| drop(black_box(tree.search(&sets).expect("two dimensions"))));
        println!("search for {what}: {found} found in {:.3} ms", seconds * 1e3);
    }
}
