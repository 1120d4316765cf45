//! Many ranges: time in line with ranges plus cells.

use crate::oracle::arrays::{Columns, Row, dimension, place, schema};
use smalti_array::Snapshot;
use smalti_query::{Duplicates, ReadRequest, WriteRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Extent, Layout, Physical, Scalar, TimeRange};

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
    let request = WriteRequest { columns, subarray: None, layout, at: None, duplicates };
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let point = |at: i32| Extent::Num { lo: at.ordinal(), hi: at.ordinal() };
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
