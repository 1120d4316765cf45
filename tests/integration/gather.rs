//! Many ranges: time in line with ranges plus cells.

use crate::oracle::arrays::{Columns, Row, dimension, place, schema};
use smalti_array::Snapshot;
use smalti_query::{Duplicates, Progress, ReadRequest, WriteRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Extent, Filter, FilterPipeline, Layout, Physical, Scalar, TimeRange};
use std::sync::Arc;

fn point(at: i32) -> Extent {
    Extent::Num { lo: at.ordinal(), hi: at.ordinal() }
}

/// A thousand columns of a thousand rows, and a million single cells, of filtered tiles: no tile is decoded for each range.
#[test]
fn ranges_of_dense_arrays_share_the_tiles_that_they_need() {
    const TILES: usize = 15 * 15;
    let place = place(11);
    let sides = ["y", "x"]
        .map(|name| dimension(name, Some((Scalar::I32(0), Scalar::I32(2_999))), Some(Scalar::I32(200))));
    let mut schema = schema(ArrayType::Dense, sides.into(), (Layout::RowMajor, Layout::RowMajor));
    schema.attributes[0].filters = FilterPipeline::new([Filter::Zstd { level: 1 }]);
    place.create(&schema).unwrap();
    let rows: Vec<Row> = (0..9_000_000).map(|cell| (cell, (cell % 3 > 0).then(|| vec![b'a'; 1]))).collect();
    let columns = Columns::of(rows.iter());
    let request = columns.request(Layout::RowMajor, None);
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    // The order of the points, and how often each tile is decoded at most: once a thread, or where two tasks meet in one.
    let ascending = |at: i32| at * 3;
    let shuffled = |at: i32| (at * 7 % 1_000) * 3;
    let threads = rayon::current_num_threads();
    for (field, most) in [("n", 2), ("s", 1)] {
        for (order, times) in [(&ascending as &dyn Fn(i32) -> i32, most), (&shuffled, most.max(threads))] {
            let points: Vec<i32> = (0..1_000).map(order).collect();
            let ranges = vec![points.iter().map(|&at| point(at)).collect(); 2];
            let progress = Arc::new(Progress::new());
            let request = ReadRequest {
                fields: vec![field.into()],
                ranges,
                progress: Some(Arc::clone(&progress)),
                ..ReadRequest::default()
            };
            let mut found = points.iter().flat_map(|y| points.iter().map(move |x| (y * 3_000 + x) as u32));
            for batch in read(&snapshot, &request).unwrap() {
                let batch = batch.unwrap();
                for cell in 0..batch.cell_count {
                    let (column, number) = (batch.columns[0].as_ref(), found.next().unwrap());
                    if field == "n" {
                        assert_eq!(column.cell(cell, 4), number.to_le_bytes());
                    } else {
                        assert_eq!(column.is_valid(cell), number % 3 > 0, "{number}");
                    }
                }
            }
            assert_eq!(found.next(), None);
            let count = progress.statistics().tile_count as usize;
            assert!(count <= times * TILES, "{field}: {count} tiles were decoded, there are {TILES}");
        }
    }
}

/// A million single points, a third of which are there.
#[test]
fn a_million_ranges_select_their_cells() {
    const LEN: i32 = 3_000_000;
    let place = place(9);
    let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(LEN))), Some(Scalar::I32(10_000)));
    let mut schema = schema(ArrayType::Sparse, vec![x], (Layout::RowMajor, Layout::RowMajor));
    schema.capacity = 10_000;
    place.create(&schema).unwrap();
    let cells: Vec<i32> = (0..LEN).step_by(9).collect();
    let rows: Vec<Row> = cells.iter().map(|&cell| (cell as u32, None)).collect();
    let columns = Columns::of(rows.iter());
    let mut columns = columns.refs();
    columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(&cells))));
    let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
    let request = WriteRequest { columns, subarray: None, layout, at: None, duplicates, progress: None };
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    // In no order, as points come.
    let ranges =
        vec![(0..1_000_000i64).map(|number| point((number * 7919 % 1_000_000) as i32 * 3)).collect()];
    let request = ReadRequest { fields: vec!["n".into()], ranges, ..ReadRequest::default() };
    let mut found = 0u32;
    for batch in read(&snapshot, &request).unwrap() {
        for &number in batch.unwrap().columns[0].data.values::<u32>() {
            assert_eq!(number, found * 9);
            found += 1;
        }
    }
    assert_eq!(found as usize, cells.len());
}
