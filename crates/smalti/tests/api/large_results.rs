//! Results so large that they are written past the caches (docs/decisions/0032).

use smalti::{Array, Context, Dimension, Layout, Options, ReadRequest, prelude::*};

const ROW_COUNT: i64 = 1_203;
const COLUMN_COUNT: i64 = 1_001;

/// Tiles whose rows, of 560 bytes, begin anywhere in a line of the cache, and half tiles at both ends.
fn array(context: &Context, filters: Vec<Filter>) -> Array {
    let schema = Schema::dense()
        .dimension(Dimension::new("y", 0..=ROW_COUNT - 1).tile(130_i64))
        .dimension(Dimension::new("x", 0..=COLUMN_COUNT - 1).tile(70_i64))
        .attribute(Attribute::of::<i64>("a").filters(filters));
    let options = Options::new().context(context);
    let array = Array::create_with("mem://large", &schema.build().unwrap(), &options).unwrap();
    array.write().column("a", &(0..ROW_COUNT * COLUMN_COUNT).collect::<Vec<i64>>()).commit().unwrap();
    array
}

#[test]
fn every_cell_of_a_large_result_is_in_its_place_in_both_orders() {
    for threads in [1, 2] {
        for filters in [vec![], vec![Filter::Byteshuffle, Filter::Lz4 { level: -1 }]] {
            let context = Context::new().threads(threads);
            let array = array(&context, filters);
            for layout in [Layout::RowMajor, Layout::ColMajor] {
                let request = ReadRequest {
                    fields: vec!["a".into()],
                    layout: Some(layout),
                    batch_cell_count: Some((ROW_COUNT * COLUMN_COUNT) as usize),
                    ..ReadRequest::default()
                };
                let batch = array.read_raw(&request).unwrap().next().unwrap().unwrap();
                let bytes = batch.columns[0].data.as_slice();
                assert!(bytes.len() >= 8 << 20);
                let cells = bytemuck::cast_slice::<u8, i64>(bytes).iter().copied();
                let expected = (0..ROW_COUNT * COLUMN_COUNT).map(|at| match layout {
                    Layout::ColMajor => at % ROW_COUNT * COLUMN_COUNT + at / ROW_COUNT,
                    _ => at,
                });
                assert!(cells.eq(expected), "{layout:?}, {threads} threads");
            }
        }
    }
}
