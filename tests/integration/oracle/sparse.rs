//! Sparse arrays with an integer, a float and a string dimension in any combination.

use super::arrays::{Columns, Row, check_aggregates, dimension, open, place, rows, schema};
use proptest::prelude::*;
use smalti_array::Snapshot;
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Batch, Duplicates, GlobalWriter, ReadRequest, WriteRequest, delete, read, write};
use smalti_tile::ColumnRef;
use smalti_types::parallel::Workers;
use smalti_types::{ArrayType, ErrorKind, Extent, Layout, Scalar, TimeRange};
use smalti_upkeep::{Options, consolidate_fragment_meta};
use std::cmp::Ordering;

/// A coordinate.
#[derive(Debug, Clone, PartialEq)]
enum Coord {
    Int(i32),
    Float(f64),
    Text(String),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Int,
    Float,
    Text,
}

#[derive(Debug, Clone)]
struct Case {
    kinds: Vec<Kind>,
    tiled: bool,
    orders: (Layout, Layout),
    allows_dups: bool,
    /// Per write the cells, by small numbers per dimension, and whether it is written in global order.
    writes: Vec<(Vec<Vec<u8>>, bool)>,
    ranges: Vec<Vec<(u8, u8)>>,
    layout: Layout,
    batch: usize,
    /// The number of the place, which says how far away it is.
    place: u64,
    /// Whether the footers of the fragments are in one file.
    has_footers_in_one: bool,
    time: (u64, u64),
    /// The memory of the read in bytes.
    memory: Option<usize>,
    /// Only cells whose number is less.
    below: Option<u32>,
    /// Deletes of cells whose number, less the thousands of their write, is at least that, each with its time.
    deletes: Vec<(u64, u32)>,
}

fn coord(kind: Kind, value: u8) -> Coord {
    match kind {
        Kind::Int => Coord::Int(i32::from(value) - 8),
        Kind::Float => Coord::Float(f64::from(value) * 0.75 - 5.0),
        Kind::Text => {
            Coord::Text("abcdefghijklmnopqr"[..usize::from(value % 17)].repeat(usize::from(value % 2 + 1)))
        }
    }
}

fn compare(a: &Coord, b: &Coord) -> Ordering {
    match (a, b) {
        (Coord::Int(a), Coord::Int(b)) => a.cmp(b),
        (Coord::Float(a), Coord::Float(b)) => a.total_cmp(b),
        (Coord::Text(a), Coord::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        _ => Ordering::Equal,
    }
}

/// The number of a cell's space tile along a dimension of extent 4 (or 4.0) from the domain's start.
fn tile(coord: &Coord) -> i64 {
    match coord {
        Coord::Int(value) => (i64::from(*value) + 8) / 4,
        Coord::Float(value) => ((value + 5.0) / 4.0).floor() as i64,
        Coord::Text(_) => 0,
    }
}

fn in_order(case: &Case, layout: Layout, a: &[Coord], b: &[Coord]) -> Ordering {
    let dims = |order: Layout| -> Vec<usize> {
        if order == Layout::ColMajor { (0..a.len()).rev().collect() } else { (0..a.len()).collect() }
    };
    let (tile_order, cell_order) = match layout {
        Layout::RowMajor | Layout::ColMajor => (None, layout),
        _ => (case.tiled.then_some(case.orders.0), case.orders.1),
    };
    let tiles = tile_order.map_or(Ordering::Equal, |order| {
        dims(order)
            .into_iter()
            .map(|dim| tile(&a[dim]).cmp(&tile(&b[dim])))
            .fold(Ordering::Equal, Ordering::then)
    });
    tiles.then(
        dims(cell_order)
            .into_iter()
            .map(|dim| compare(&a[dim], &b[dim]))
            .fold(Ordering::Equal, Ordering::then),
    )
}

fn cases() -> impl Strategy<Value = Case> {
    let kind = prop_oneof![Just(Kind::Int), Just(Kind::Float), Just(Kind::Text)];
    let plain = prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)];
    let layout = prop_oneof![
        Just(Layout::RowMajor),
        Just(Layout::ColMajor),
        Just(Layout::GlobalOrder),
        Just(Layout::Unordered)
    ];
    prop::collection::vec(kind, 1..4).prop_flat_map(move |kinds| {
        let dims = kinds.len();
        let cell = prop::collection::vec(0u8..16, dims);
        let range = (0u8..16, 0u8..16).prop_map(|(a, b)| (a.min(b), a.max(b)));
        (
            Just(kinds),
            any::<bool>(),
            (plain.clone(), plain.clone()),
            any::<bool>(),
            (
                prop::option::of((0..dims, 0u8..3)),
                prop::collection::vec((prop::collection::vec(cell, 1..25), any::<bool>()), 0..6),
            )
                .prop_map(|(band, writes)| banded(writes, band)),
            prop::collection::vec(prop::collection::vec(range, 0..3), dims),
            layout.clone(),
            (1usize..30, 0u64..8, any::<bool>()),
            prop_oneof![2 => Just((0u64, 10u64)), 1 => (0u64..3, 0u64..8)],
            prop_oneof![Just(None), (500usize..8_000).prop_map(Some)],
            prop::option::of((1u32..6, 0u32..25).prop_map(|(write, cell)| write * 1000 + cell)),
            prop::collection::vec((1u64..7, (1u32..6, 0u32..25).prop_map(|(w, c)| w * 1000 + c)), 0..3),
        )
            .prop_map(
                |(
                    kinds,
                    tiled,
                    orders,
                    allows_dups,
                    writes,
                    ranges,
                    layout,
                    (batch, place, has_footers_in_one),
                    time,
                    memory,
                    below,
                    deletes,
                )| {
                    Case {
                        kinds,
                        tiled,
                        orders,
                        allows_dups,
                        writes,
                        ranges,
                        layout,
                        batch,
                        place,
                        has_footers_in_one,
                        time,
                        memory,
                        below,
                        deletes,
                    }
                },
            )
    })
}

/// The cells of each write moved into one of three bands along a dimension, which may reach into the next one.
fn banded(mut writes: Vec<(Vec<Vec<u8>>, bool)>, band: Option<(usize, u8)>) -> Vec<(Vec<Vec<u8>>, bool)> {
    if let Some((dim, overlap)) = band {
        for (number, (cells, _)) in writes.iter_mut().enumerate() {
            cells.iter_mut().for_each(|cell| cell[dim] = number as u8 % 3 * 5 + cell[dim] % (5 + overlap));
        }
    }
    writes
}

fn bytes(coord: &Coord) -> Vec<u8> {
    match coord {
        Coord::Int(value) => value.to_le_bytes().to_vec(),
        Coord::Float(value) => value.to_le_bytes().to_vec(),
        Coord::Text(value) => value.clone().into_bytes(),
    }
}

fn run(case: &Case) {
    let names = ["x", "y", "z"];
    let dims = case.kinds.iter().zip(names).map(|(kind, name)| match kind {
        Kind::Int => {
            dimension(name, Some((Scalar::I32(-8), Scalar::I32(9))), case.tiled.then_some(Scalar::I32(4)))
        }
        Kind::Float => dimension(
            name,
            Some((Scalar::F64(-5.0), Scalar::F64(20.0))),
            case.tiled.then_some(Scalar::F64(4.0)),
        ),
        Kind::Text => dimension(name, None, None),
    });
    let mut schema = schema(ArrayType::Sparse, dims.collect(), case.orders);
    schema.allows_dups = case.allows_dups;
    let place = place(case.place);
    place.create(&schema).unwrap();
    let mut model: Vec<(Vec<Coord>, Row)> = Vec::new();
    let time = TimeRange { start: case.time.0, end: case.time.1 };
    for (number, (cells, in_global_order)) in case.writes.iter().enumerate() {
        let at = number as u64 + 1;
        let mut cells: Vec<Vec<Coord>> = cells
            .iter()
            .map(|cell| cell.iter().zip(&case.kinds).map(|(&value, &kind)| coord(kind, value)).collect())
            .collect();
        if *in_global_order || !case.allows_dups {
            cells.sort_by(|a, b| in_order(case, Layout::GlobalOrder, a, b));
        }
        if !case.allows_dups {
            cells.dedup();
            if !in_global_order {
                cells.reverse();
            }
        }
        let values: Vec<Row> = (0..cells.len())
            .map(|idx| {
                let number = at as u32 * 1000 + idx as u32;
                (number, (idx % 4 != 2).then(|| vec![b'A' + (idx % 26) as u8; idx % 6]))
            })
            .collect();
        let columns = Columns::of(values.iter());
        let coords: Vec<(Vec<u8>, Vec<u64>)> = (0..case.kinds.len())
            .map(|dim| {
                let mut data = Vec::new();
                let mut offsets = vec![0];
                for cell in &cells {
                    data.extend(bytes(&cell[dim]));
                    offsets.push(data.len() as u64);
                }
                (data, offsets)
            })
            .collect();
        let mut request_columns = columns.refs();
        for ((name, kind), (data, offsets)) in names.iter().zip(&case.kinds).zip(&coords) {
            let column = match kind {
                Kind::Text => ColumnRef::var(data, offsets),
                _ => ColumnRef::fixed(data),
            };
            request_columns.push(((*name).to_owned(), column));
        }
        let snapshot = open(&place, TimeRange::ALL);
        if *in_global_order && number % 2 == 0 {
            let mut writer = GlobalWriter::new(&snapshot, Some(at), None).unwrap();
            writer.submit(&request_columns).unwrap();
            writer.finalize().unwrap();
        } else {
            let request = WriteRequest {
                columns: request_columns,
                subarray: None,
                layout: if *in_global_order { Layout::GlobalOrder } else { Layout::Unordered },
                at: Some(at),
                duplicates: Duplicates::Refuse,
                progress: None,
            };
            write(&snapshot, &request).unwrap();
        }
        if at >= time.start && at <= time.end {
            if !case.allows_dups {
                model.retain(|(old, _)| !cells.contains(old));
            }
            model.extend(cells.into_iter().zip(values));
        }
    }
    let extents: Vec<Vec<Extent>> = case
        .kinds
        .iter()
        .zip(&case.ranges)
        .map(|(&kind, ranges)| ranges.iter().filter_map(|&range| extent(kind, range)).collect())
        .collect();
    for &(at, number) in &case.deletes {
        let condition = Condition::compare("n", Relation::Ge, number);
        delete(&open(&place, TimeRange::ALL), &condition, Some(at)).unwrap();
        if time.start <= at && at <= time.end {
            model.retain(|(_, (n, _))| *n < number || u64::from(*n / 1000) > at);
        }
    }
    if case.has_footers_in_one {
        consolidate_fragment_meta(&place, &Options::default()).unwrap();
    }
    let snapshot = open(&place, time);
    let mut request = ReadRequest {
        ranges: extents.clone(),
        layout: Some(case.layout),
        batch_cell_count: Some(case.batch),
        memory_byte_len: case.memory,
        condition: case.below.map(|below| Condition::compare("n", Relation::Lt, below)),
        ..ReadRequest::default()
    };
    if let Some(below) = case.below {
        model.retain(|(_, (n, _))| *n < below);
    }
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
    let mut found = rows(&fields, &batches);
    let is_loose = case.layout == Layout::Unordered || case.allows_dups;
    crate::splits::check(&snapshot, &request, (&found, is_loose), rows, &format!("{case:?}"));
    let mut expected: Vec<(Vec<Coord>, Row)> = model
        .into_iter()
        .filter(|(cell, _)| {
            cell.iter().zip(&extents).all(|(coord, extents)| {
                extents.is_empty() || extents.iter().any(|extent| contains(extent, coord))
            })
        })
        .collect();
    if is_loose {
        found.sort();
        expected.sort_by(|a, b| {
            let key = |row: &(Vec<Coord>, Row)| (row.0.iter().map(bytes).collect::<Vec<_>>(), row.1.clone());
            key(a).cmp(&key(b))
        });
    } else {
        expected.sort_by(|a, b| in_order(case, case.layout, &a.0, &b.0));
    }
    let expected: Vec<(Vec<Vec<u8>>, Row)> =
        expected.into_iter().map(|(cell, row)| (cell.iter().map(bytes).collect(), row)).collect();
    check_aggregates(&snapshot, &request, expected.iter().map(|(_, row)| row), &format!("{case:?}"));
    assert_eq!(found, expected, "{case:?}");
    check_numbers(case, &open(&place, time), request, &expected);
}

/// Reads the coordinates and numbers alone, which all have the same length if no coordinate is text, of a snapshot of which nothing was read yet.
fn check_numbers(case: &Case, snapshot: &Snapshot, request: ReadRequest, expected: &[(Vec<Vec<u8>>, Row)]) {
    let names = ["x", "y", "z"].into_iter().take(case.kinds.len()).chain(["n"]);
    let request = ReadRequest { fields: names.map(str::to_owned).collect(), ..request };
    let batches = read(snapshot, &request).unwrap();
    let lens: Vec<usize> = batches.fields().iter().map(|field| field.shape.cell_byte_len()).collect();
    let mut found: Vec<Vec<Vec<u8>>> = Vec::new();
    for batch in batches.map(Result::unwrap) {
        let value = |cell, field: usize| batch.columns[field].as_ref().cell(cell, lens[field]).to_vec();
        found.extend(
            (0..batch.cell_count).map(|cell| (0..lens.len()).map(|field| value(cell, field)).collect()),
        );
    }
    let mut expected: Vec<Vec<Vec<u8>>> = expected
        .iter()
        .map(|(coords, (number, _))| coords.iter().cloned().chain([number.to_le_bytes().to_vec()]).collect())
        .collect();
    if case.layout == Layout::Unordered || case.allows_dups {
        found.sort();
        expected.sort();
    }
    assert_eq!(found, expected, "{case:?}");
}

fn extent(kind: Kind, (a, b): (u8, u8)) -> Option<Extent> {
    match (coord(kind, a), coord(kind, b)) {
        (Coord::Int(a), Coord::Int(b)) => Extent::between(Scalar::I32(a), Scalar::I32(b)).ok(),
        (Coord::Float(a), Coord::Float(b)) => Extent::between(Scalar::F64(a), Scalar::F64(b)).ok(),
        (Coord::Text(a), Coord::Text(b)) => {
            Extent::between_strings(a.as_bytes().min(b.as_bytes()), a.as_bytes().max(b.as_bytes())).ok()
        }
        _ => None,
    }
}

fn contains(extent: &Extent, coord: &Coord) -> bool {
    let point = match coord {
        Coord::Int(value) => Extent::between(Scalar::I32(*value), Scalar::I32(*value)),
        Coord::Float(value) => Extent::between(Scalar::F64(*value), Scalar::F64(*value)),
        Coord::Text(value) => Extent::between_strings(value.as_bytes(), value.as_bytes()),
    };
    point.is_ok_and(|point| extent.as_ref().covers(point.as_ref()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn sparse_reads_equal_the_model(case in cases(), is_shared_out in any::<bool>()) {
        match is_shared_out {
            true => Workers::new(2).run(|| run(&case)),
            false => run(&case),
        }
    }
}
