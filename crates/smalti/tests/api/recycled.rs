//! Results are made in memory that earlier results gave back: nothing of those may show.

use smalti::{Array, Context, Dimension, prelude::*};

const SIDE: i64 = 400;

/// A square of cells, written in part, with attributes of every form; sparse ones have cells on two of three diagonals.
fn square(uri: &str, is_dense: bool) -> Array {
    let schema = if is_dense { Schema::dense() } else { Schema::sparse().capacity(5_000) };
    let schema = schema
        .dimension(Dimension::new("x", 0..=SIDE - 1).tile(90_i64))
        .dimension(Dimension::new("y", 0..=SIDE - 1).tile(70_i64))
        .attribute(Attribute::of::<i64>("a").filters([Filter::Zstd { level: 1 }]))
        .attribute(Attribute::of::<u8>("b").nullable())
        .attribute(Attribute::utf8("s").nullable().filters([Filter::Zstd { level: 1 }]))
        .attribute(Attribute::var::<f64>("v"));
    let array = Array::create(uri, &schema.build().unwrap()).unwrap();
    for (at, (from, to)) in [(10, 210), (150, 380)].into_iter().enumerate() {
        let cells = (from..to).flat_map(|x| (from..to).map(move |y| (x, y)));
        let cells: Vec<(i64, i64)> = cells.filter(|(x, y)| is_dense || (x + y) % 3 > 0).collect();
        let a: Vec<i64> = cells.iter().map(|(x, y)| x * 1_000 + y + at as i64).collect();
        let b: Vec<Option<u8>> = a.iter().map(|a| (a % 5 > 0).then_some((a % 251) as u8)).collect();
        let s: Vec<Option<String>> = a.iter().map(|a| (a % 7 > 0).then(|| format!("s{}", a % 97))).collect();
        let v: Vec<Vec<f64>> = a.iter().map(|a| vec![*a as f64; (a % 4) as usize]).collect();
        let write = array.write().column("a", &a).column("b", &b).column("s", &s).column("v", &v);
        match is_dense {
            true => write.range("x", from..=to - 1).range("y", from..=to - 1).commit(),
            false => {
                let (x, y): (Vec<i64>, Vec<i64>) = cells.into_iter().unzip();
                write.column("x", &x).column("y", &y).commit()
            }
        }
        .unwrap();
    }
    array
}

/// Reads of every kind that makes its result in another way.
fn reads(array: &Array) -> Vec<(String, smalti::arrow_array::RecordBatch)> {
    let mut results = Vec::new();
    let layouts: &[Layout] = match array.schema().is_dense() {
        true => &[Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder],
        false => &[Layout::Unordered, Layout::GlobalOrder, Layout::RowMajor],
    };
    for &layout in layouts {
        for variant in 0..8 {
            let read = array.read().order(layout).select(["x", "y", "a", "b", "s", "v"]);
            let read = match variant {
                0 => read,
                1 => read.range("x", 5..=300_i64),
                2 => read.range("x", 100..=260_i64).range("y", 33..=399_i64),
                3 => read.filter(field("a").gt(200_000)),
                4 => read.filter(field("b").is_null().or(field("a").lt(100_000))).matching_only(),
                5 => read.limit(90_001),
                6 => read.batch_cells(70_000),
                _ => read.memory(24 << 20),
            };
            results.push((format!("{layout:?} {variant}"), read.collect().unwrap()));
        }
    }
    results
}

/// Memory of many sizes, full of ones, is left for the results to come.
fn soil(context: &Context) {
    let ones = "mem://ones";
    let options = Options::new().context(context);
    context.forget_memory_store("ones");
    let schema = Schema::dense()
        .dimension(Dimension::new("x", 0..=(8 << 20) - 1_i64).tile(1_i64 << 20))
        .attribute(Attribute::of::<u8>("a").fill(0xff_u8));
    let array = Array::create_with(ones, &schema.build().unwrap(), &options).unwrap();
    let sizes = (16..23).flat_map(|power| [1_i64 << power, 3 << (power - 1)]);
    let held: Vec<_> =
        sizes.map(|len| array.read().range("x", 0..=len - 1).select(["a"]).collect().unwrap()).collect();
    drop(held);
}

#[test]
fn nothing_of_earlier_results_shows() {
    let folder = tempfile::tempdir().unwrap();
    for is_dense in [true, false] {
        let uri = folder.path().join(if is_dense { "dense" } else { "sparse" });
        let uri = uri.to_str().unwrap();
        square(uri, is_dense);
        let opened = |context: &Context| Array::open_with(uri, &Options::new().context(context)).unwrap();
        let expected = reads(&opened(&Context::new().memory(2 << 30)));
        let context = Context::new();
        for _ in 0..2 {
            soil(&context);
            assert!(context.spare_byte_len() > 10 << 20);
            for (found, expected) in reads(&opened(&context)).into_iter().zip(&expected) {
                assert!(found == *expected, "{} of {}", found.0, uri);
            }
        }
        context.trim();
        assert_eq!(context.spare_byte_len(), 0);
    }
}
