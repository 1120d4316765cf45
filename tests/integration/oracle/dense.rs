//! Dense arrays of one to three dimensions.

use super::arrays::{Columns, Row, check_aggregates, dimension, fill, open, place, rows, schema};
use proptest::prelude::*;
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Batch, Duplicates, GlobalWriter, ReadRequest, WriteRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::parallel::Workers;
use smalti_types::{ArrayType, ErrorKind, Extent, Layout, Physical, Scalar, TimeRange};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
struct Axis {
    lo: i32,
    len: i32,
    extent: i32,
}

#[derive(Debug, Clone)]
struct Case {
    axes: Vec<Axis>,
    orders: (Layout, Layout),
    /// Per write and dimension two fractions of the domain, and the layout.
    writes: Vec<(Vec<(f64, f64)>, Layout)>,
    read: Vec<Vec<(f64, f64)>>,
    layout: Layout,
    batch: usize,
    until: u64,
    /// The memory of the read in bytes.
    memory: Option<usize>,
    /// Only cells whose number is less, and whether the others are left out.
    below: Option<(u32, bool)>,
    /// Of them only those, or beside them those too, from so many cells of the first dimension on.
    from: Option<(i32, bool)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let axis = (-20i32..20, 1i32..9)
        .prop_flat_map(|(lo, len)| (1..=len).prop_map(move |extent| Axis { lo, len, extent }));
    let plain = prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)];
    let any = prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor), Just(Layout::GlobalOrder)];
    prop::collection::vec(axis, 1..4).prop_flat_map(move |axes| {
        let dims = axes.len();
        let pair = (0.0..1.0f64, 0.0..1.0f64);
        let rect = prop::collection::vec(pair.clone(), dims);
        (
            Just(axes),
            (plain.clone(), plain.clone()),
            prop::collection::vec((rect, any.clone()), 0..4),
            prop::collection::vec(prop::collection::vec(pair, 0..3), dims),
            any.clone(),
            1usize..40,
            0u64..6,
            prop_oneof![Just(None), (500usize..20_000).prop_map(Some)],
            prop::option::of(((1u32..4, 0u32..60).prop_map(|(w, c)| w * 1000 + c), proptest::bool::ANY)),
            prop::option::of((0i32..9, proptest::bool::ANY)),
        )
            .prop_map(|(axes, orders, writes, read, layout, batch, until, memory, below, from)| {
                Case { axes, orders, writes, read, layout, batch, until, memory, below, from }
            })
    })
}

fn range(axis: &Axis, (a, b): (f64, f64)) -> (i32, i32) {
    let at = |fraction: f64| axis.lo + (fraction * f64::from(axis.len)) as i32;
    (at(a.min(b)), at(a.max(b)))
}

/// Widens a range to whole tiles, as writes in global order need it.
fn aligned(axis: &Axis, (lo, hi): (i32, i32)) -> (i32, i32) {
    let lo = lo - (lo - axis.lo) % axis.extent;
    let hi = hi - (hi - axis.lo) % axis.extent + axis.extent - 1;
    (lo, hi.min(axis.lo + axis.len - 1))
}

fn extent((lo, hi): (i32, i32)) -> Extent {
    Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() }
}

/// The cells of a product of coordinate lists, the last dimension fastest in row-major order.
fn product(lists: &[Vec<i32>], layout: Layout) -> Vec<Vec<i32>> {
    let mut cells = vec![vec![0; lists.len()]];
    let dims: Vec<usize> = match layout {
        Layout::ColMajor => (0..lists.len()).rev().collect(),
        _ => (0..lists.len()).collect(),
    };
    for dim in dims {
        cells = cells
            .into_iter()
            .flat_map(|cell| {
                lists[dim].iter().map(move |&value| {
                    let mut cell = cell.clone();
                    cell[dim] = value;
                    cell
                })
            })
            .collect();
    }
    cells
}

/// Tile by tile in tile order, each in cell order.
fn global(case: &Case, rect: &[(i32, i32)]) -> Vec<Vec<i32>> {
    let lists: Vec<Vec<i32>> = rect.iter().map(|&(lo, hi)| (lo..=hi).collect()).collect();
    let mut cells = product(&lists, Layout::RowMajor);
    cells.sort_by_key(|cell| {
        let ordered = |values: Vec<i32>, order: Layout| -> Vec<i32> {
            if order == Layout::ColMajor { values.into_iter().rev().collect() } else { values }
        };
        let tile = cell.iter().zip(&case.axes).map(|(value, axis)| (value - axis.lo) / axis.extent).collect();
        (ordered(tile, case.orders.0), ordered(cell.clone(), case.orders.1))
    });
    cells
}

fn condition(case: &Case) -> Option<Condition> {
    let below = Condition::compare("n", Relation::Lt, case.below?.0);
    let Some((from, is_and)) = case.from else { return Some(below) };
    let from = Condition::compare("x", Relation::Ge, case.axes[0].lo + from);
    Some(if is_and { below.and(from) } else { below.or(from) })
}

fn fulfils(case: &Case, cell: &[i32], row: &Row) -> bool {
    let Some((below, _)) = case.below else { return true };
    let is_below = row.0 < below;
    match case.from {
        None => is_below,
        Some((from, true)) => is_below && cell[0] >= case.axes[0].lo + from,
        Some((from, false)) => is_below || cell[0] >= case.axes[0].lo + from,
    }
}

fn run(case: &Case) {
    let names = ["x", "y", "z"];
    let dims = case.axes.iter().zip(names).map(|(axis, name)| {
        let domain = (Scalar::I32(axis.lo), Scalar::I32(axis.lo + axis.len - 1));
        dimension(name, Some(domain), Some(Scalar::I32(axis.extent)))
    });
    let place = place(7);
    place.create(&schema(ArrayType::Dense, dims.collect(), case.orders)).unwrap();
    let mut model: BTreeMap<Vec<i32>, Row> = BTreeMap::new();
    for (number, (fractions, layout)) in case.writes.iter().enumerate() {
        let at = number as u64 + 1;
        let mut rect: Vec<(i32, i32)> =
            case.axes.iter().zip(fractions).map(|(axis, &pair)| range(axis, pair)).collect();
        if *layout == Layout::GlobalOrder {
            rect = case.axes.iter().zip(rect).map(|(axis, side)| aligned(axis, side)).collect();
        }
        let cells = match layout {
            Layout::GlobalOrder => global(case, &rect),
            layout => product(&rect.iter().map(|&(lo, hi)| (lo..=hi).collect()).collect::<Vec<_>>(), *layout),
        };
        let values: Vec<Row> = (0..cells.len())
            .map(|idx| {
                let number = (at as u32) * 1000 + idx as u32;
                (number, (idx % 3 != 1).then(|| vec![b'a' + (idx % 26) as u8; idx % 5]))
            })
            .collect();
        let columns = Columns::of(values.iter());
        let subarray = Some(rect.iter().map(|&side| extent(side)).collect());
        let snapshot = open(&place, TimeRange::ALL);
        // Tiles of another order are not whole before the end.
        let in_pieces = GlobalWriter::in_order(&snapshot, Some(at), subarray.clone(), *layout)
            .inspect_err(|error| {
                assert!(*layout != case.orders.0 && *layout != Layout::GlobalOrder, "{error}")
            })
            .ok();
        if let (Some(mut writer), true) = (in_pieces, number % 2 == 1) {
            // Pieces of one cell, of what is due, and of what is left; and none too many.
            let mut rest = &values[..];
            for len in [1, writer.due_cell_count(), values.len() / 3, values.len()] {
                let (piece, behind) = rest.split_at(len.min(rest.len()));
                rest = behind;
                writer.submit(&Columns::of(piece.iter()).refs()).unwrap();
            }
            assert_eq!(writer.due_cell_count(), 0);
            assert!(writer.submit(&Columns::of(values[..1].iter()).refs()).is_err());
            writer.finalize().unwrap();
        } else {
            let request = WriteRequest {
                columns: columns.refs(),
                subarray,
                layout: *layout,
                at: Some(at),
                duplicates: Duplicates::Refuse,
                progress: None,
            };
            write(&snapshot, &request).unwrap();
        }
        if at <= case.until {
            model.extend(cells.into_iter().zip(values));
        }
    }
    let snapshot = open(&place, TimeRange::until(case.until));
    let mut wanted: Vec<Vec<(i32, i32)>> = case
        .axes
        .iter()
        .zip(&case.read)
        .map(|(axis, pairs)| pairs.iter().map(|&pair| range(axis, pair)).collect())
        .collect();
    if case.layout == Layout::GlobalOrder {
        wanted.iter_mut().for_each(|ranges| ranges.truncate(1));
    }
    let mut request = ReadRequest {
        memory_byte_len: case.memory,
        condition: condition(case),
        leaves_out: case.below.is_some_and(|(_, leaves_out)| leaves_out),
        ranges: wanted.iter().map(|ranges| ranges.iter().map(|&side| extent(side)).collect()).collect(),
        layout: Some(case.layout),
        batch_cell_count: Some(case.batch),
        ..ReadRequest::default()
    };
    let batches = match read(&snapshot, &request) {
        Err(error) if error.kind() == ErrorKind::OutOfMemory => {
            // The number that would do does.
            let mut words = error.message().split(' ').filter_map(|word| word.parse().ok());
            request.memory_byte_len = words.next_back();
            read(&snapshot, &request).unwrap()
        }
        other => other.unwrap(),
    };
    let fields = batches.fields().to_vec();
    let batches: Vec<Batch> = batches.map(|batch| batch.unwrap()).collect();
    let found = rows(&fields, &batches);
    crate::splits::check(&snapshot, &request, (&found, false), rows, &format!("{case:?}"));
    let lists: Vec<Vec<i32>> = case
        .axes
        .iter()
        .zip(&wanted)
        .map(|(axis, ranges)| match &ranges[..] {
            [] => (axis.lo..axis.lo + axis.len).collect(),
            ranges => ranges.iter().flat_map(|&(lo, hi)| lo..=hi).collect(),
        })
        .collect();
    let cells = match case.layout {
        Layout::GlobalOrder => {
            let rect: Vec<(i32, i32)> = lists.iter().map(|list| (list[0], list[list.len() - 1])).collect();
            global(case, &rect)
        }
        layout => product(&lists, layout),
    };
    let expected: Vec<(Vec<Vec<u8>>, Row)> = cells
        .iter()
        .filter_map(|cell| {
            let coords = cell.iter().map(|value| value.to_le_bytes().to_vec()).collect();
            let row = model.get(cell).cloned().unwrap_or_else(fill);
            match case.below {
                Some((_, true)) if !fulfils(case, cell, &row) => None,
                Some((_, false)) if !fulfils(case, cell, &row) => Some((coords, fill())),
                _ => Some((coords, row)),
            }
        })
        .collect();
    let counted: Vec<Row> = cells
        .iter()
        .map(|cell| (cell, model.get(cell).cloned().unwrap_or_else(fill)))
        .filter(|(cell, row)| fulfils(case, cell, row))
        .map(|(_, row)| row)
        .collect();
    check_aggregates(&snapshot, &request, counted.iter(), &format!("{case:?}"));
    // A read that only the dimensions' order distinguishes is compared cell by cell.
    assert_eq!(found.len(), expected.len());
    for (position, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "cell {position} of {case:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn dense_reads_equal_the_model(case in cases(), is_shared_out in any::<bool>()) {
        match is_shared_out {
            true => Workers::new(2).run(|| run(&case)),
            false => run(&case),
        }
    }
}

/// Values that are ordered along the array are so from piece to piece too, and a piece that is refused changes nothing.
#[test]
fn the_order_of_values_is_checked_across_the_pieces_of_a_write() {
    let place = place(3);
    let domain = Some((Scalar::I32(0), Scalar::I32(99)));
    let dimensions = vec![dimension("x", domain, Some(Scalar::I32(10)))];
    let mut schema = schema(ArrayType::Dense, dimensions, (Layout::RowMajor, Layout::RowMajor));
    schema.attributes.truncate(1);
    schema.attributes[0].order = smalti_format::DataOrder::Increasing;
    place.create(&schema).unwrap();
    let snapshot = open(&place, TimeRange::ALL);
    let mut writer = GlobalWriter::in_order(&snapshot, Some(1), None, Layout::RowMajor).unwrap();
    let mut submit = |values: std::ops::Range<u32>| {
        let values: Vec<u32> = values.collect();
        writer.submit(&[("n".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&values)))])
    };
    submit(0..13).unwrap();
    assert!(submit(12..14).unwrap_err().to_string().contains("must increase"));
    submit(13..20).unwrap();
    assert!(submit(19..99).is_err());
    submit(20..100).unwrap();
    writer.finalize().unwrap();
    assert_eq!(open(&place, TimeRange::ALL).fragments().len(), 1);
}
