//! Digests and differences: of the same cells in other tiles, orders, filters and fragments.

use crate::oracle::arrays::{dimension, place};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::ArraySchema;
use smalti_query::{Duplicates, ReadRequest, WriteRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, CellValNum, Datatype, Filter, FilterPipeline, Layout, Scalar, TimeRange};
use smalti_upkeep::{
    Change, DiffOptions, DiffSummary, Digest, DigestBuilder, DigestOptions, Side, diff, digest,
};
use std::ops::ControlFlow;

/// How an array is cut and stored; its cells are the same.
pub(crate) struct Form {
    pub(crate) extent: i32,
    pub(crate) capacity: u64,
    pub(crate) tile_order: Layout,
    pub(crate) filters: Vec<Filter>,
    pub(crate) allows_dups: bool,
}

pub(crate) const FORMS: fn() -> Vec<Form> = || {
    vec![
        Form { extent: 4, capacity: 3, tile_order: Layout::RowMajor, filters: vec![], allows_dups: false },
        Form {
            extent: 7,
            capacity: 100,
            tile_order: Layout::ColMajor,
            filters: vec![Filter::Zstd { level: 3 }],
            allows_dups: true,
        },
    ]
};

pub(crate) fn array(array_type: ArrayType, form: &Form, seed: u64) -> ArrayPlace {
    let place = place(seed);
    place.create(&schema(array_type, form)).unwrap();
    place
}

fn schema(array_type: ArrayType, form: &Form) -> ArraySchema {
    let range = || Some((Scalar::I32(1), Scalar::I32(20)));
    let dims = ["x", "y"].map(|name| dimension(name, range(), Some(Scalar::I32(form.extent))));
    let orders = (form.tile_order, Layout::RowMajor);
    let mut schema = crate::oracle::arrays::schema(array_type, dims.to_vec(), orders);
    let template = schema.attributes[0].clone();
    let attribute = |name: &str, datatype, cell_val_num, nullable, fill: &[u8]| {
        let mut attribute = template.clone();
        (attribute.name, attribute.datatype, attribute.nullable) = (name.into(), datatype, nullable);
        (attribute.cell_val_num, attribute.fill_value) = (cell_val_num, fill.to_vec());
        attribute.filters = FilterPipeline::new(form.filters.clone());
        attribute
    };
    schema.attributes = vec![
        attribute("n", Datatype::Int32, CellValNum::ONE, true, &[0xff; 4]),
        attribute("s", Datatype::StringUtf8, CellValNum::Var, false, &[0]),
    ];
    schema.capacity = form.capacity;
    schema.allows_dups = form.allows_dups && array_type == ArrayType::Sparse;
    schema
}

/// Writes cells of a row of coordinates, each with a number (0: null) and a word.
pub(crate) fn put(place: &ArrayPlace, at: u64, cells: &[(i32, i32, i32, &str)]) {
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    let is_dense = snapshot.schema().is_dense();
    let of = |pick: fn(&(i32, i32, i32, &str)) -> i32| cells.iter().map(pick).collect::<Vec<i32>>();
    let (x, y, n) = (of(|cell| cell.0), of(|cell| cell.1), of(|cell| cell.2));
    let validity: Vec<u8> = n.iter().map(|n| u8::from(*n != 0)).collect();
    let words: Vec<u8> = cells.iter().flat_map(|cell| cell.3.bytes()).collect();
    let mut offsets = vec![0_u64];
    offsets.extend(cells.iter().scan(0, |end, cell| {
        *end += cell.3.len() as u64;
        Some(*end)
    }));
    let mut columns = vec![
        ("n".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&n)).with_validity(&validity)),
        ("s".to_owned(), ColumnRef::var(&words, &offsets)),
    ];
    let mut subarray = None;
    if is_dense {
        // The rectangle of the cells, row by row.
        let side = |values: &[i32]| {
            smalti_types::Extent::between(
                Scalar::I32(*values.iter().min().unwrap()),
                Scalar::I32(*values.iter().max().unwrap()),
            )
        };
        subarray = Some(vec![side(&x).unwrap(), side(&y).unwrap()]);
    } else {
        columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(&x))));
        columns.push(("y".into(), ColumnRef::fixed(bytemuck::cast_slice(&y))));
    }
    let layout = if is_dense { Layout::RowMajor } else { Layout::Unordered };
    let request = WriteRequest {
        columns,
        subarray,
        layout,
        at: Some(at),
        duplicates: Duplicates::default(),
        progress: None,
    };
    write(&snapshot, &request).unwrap();
}

fn open(place: &ArrayPlace, end: u64) -> Snapshot {
    Snapshot::open(place.clone(), TimeRange::until(end)).unwrap()
}

pub(crate) fn digest_of(place: &ArrayPlace) -> Digest {
    digest(&open(place, u64::MAX), &DigestOptions::default()).unwrap()
}

pub(crate) const CELLS: [(i32, i32, i32, &str); 6] =
    [(3, 2, 7, "a"), (3, 3, 0, ""), (3, 4, -7, "ccc"), (4, 2, 1, "d"), (4, 3, 2, "ee"), (4, 4, 3, "f")];

#[test]
fn a_digest_does_not_depend_on_how_cells_are_stored() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let mut digests = Vec::new();
        for (seed, form) in FORMS().iter().enumerate() {
            let whole = array(array_type, form, seed as u64);
            put(&whole, 10, &CELLS);
            digests.push(digest_of(&whole));
            let pieces = array(array_type, form, 10 + seed as u64);
            put(&pieces, 20, &CELLS[3..]);
            put(&pieces, 30, &CELLS[..3]);
            digests.push(digest_of(&pieces));
        }
        assert!(digests.iter().all(|digest| *digest == digests[0]), "{array_type:?}: {digests:?}");
        assert_eq!(digests[0].cell_count, 6);
        assert_eq!(digests[0].to_string().len(), 32);
    }
}

/// The digest is what docs/fsck.md says: cells that were written out a block at a time sum up like cells one by one.
#[test]
fn cells_of_fixed_length_are_hashed_as_their_bytes_in_order() {
    const COUNT: i32 = 50_000;
    let types = [(Datatype::UInt8, 1), (Datatype::Int16, 1), (Datatype::Float64, 1), (Datatype::UInt8, 3)];
    for (array_type, expected) in [
        (ArrayType::Sparse, "a0f8825f90ffee560475f941f2bb17a3"),
        (ArrayType::Dense, "df016a5e86a88d49e3504d7b341c1246"),
    ] {
        let place = place(7);
        let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(COUNT - 1))), Some(Scalar::I32(1_000)));
        let orders = (Layout::RowMajor, Layout::RowMajor);
        let mut schema = crate::oracle::arrays::schema(array_type, vec![x], orders);
        let template = schema.attributes[0].clone();
        schema.attributes = types
            .iter()
            .zip(["a", "b", "c", "d"])
            .map(|(&(datatype, cell_val_num), name)| {
                let mut attribute = template.clone();
                (attribute.name, attribute.datatype, attribute.nullable) = (name.into(), datatype, false);
                attribute.cell_val_num = CellValNum::from_raw(cell_val_num).unwrap();
                attribute.fill_value = vec![0; datatype.byte_len() * cell_val_num as usize];
                attribute
            })
            .collect();
        place.create(&schema).unwrap();
        let coords: Vec<i32> = (0..COUNT).collect();
        // Of every seventh cell all values are those of fill.
        let value = |cell: i32, byte: usize| if cell % 7 == 0 { 0 } else { (cell * 31 + byte as i32) as u8 };
        let byte_lens = [1, 2, 8, 3];
        let data = byte_lens.map(|byte_len| {
            let bytes = |cell: i32| (0..byte_len).map(move |byte| value(cell, byte));
            coords.iter().flat_map(|cell| bytes(*cell)).collect::<Vec<u8>>()
        });
        let mut columns: Vec<(String, ColumnRef<'_>)> = ["a", "b", "c", "d"]
            .iter()
            .zip(&data)
            .map(|(name, data)| ((*name).to_owned(), ColumnRef::fixed(data)))
            .collect();
        let is_dense = array_type == ArrayType::Dense;
        if !is_dense {
            columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(&coords))));
        }
        let request = WriteRequest {
            columns,
            subarray: None,
            layout: if is_dense { Layout::RowMajor } else { Layout::Unordered },
            at: Some(10),
            duplicates: Duplicates::default(),
            progress: None,
        };
        write(&open(&place, u64::MAX), &request).unwrap();
        let snapshot = open(&place, u64::MAX);
        let whole = digest_of(&place);
        assert_eq!(whole.cell_count, coords.iter().filter(|cell| !is_dense || **cell % 7 > 0).count() as u64);
        // What hashing cell by cell makes of them.
        assert_eq!(whole.to_string(), expected, "{array_type:?}");
        // A batch of one cell after the other.
        let request = ReadRequest { batch_cell_count: Some(1), ..ReadRequest::default() };
        let batches = read(&snapshot, &request).unwrap();
        let mut builder = DigestBuilder::new(snapshot.schema(), batches.fields()).unwrap();
        batches.for_each(|batch| builder.add(&batch.unwrap()));
        assert_eq!(builder.finish(), whole, "{array_type:?}");
    }
}

#[test]
fn a_digest_depends_on_every_value() {
    let form = &FORMS()[0];
    let mut digests = Vec::new();
    for (seed, change) in
        [(3, 2, 7, "a"), (3, 5, 7, "a"), (3, 2, 8, "a"), (3, 2, 0, "a"), (3, 2, 7, "b"), (3, 2, 7, "")]
            .into_iter()
            .enumerate()
    {
        let place = array(ArrayType::Sparse, form, seed as u64);
        let mut cells = CELLS;
        cells[0] = change;
        put(&place, 10, &cells);
        digests.push(digest_of(&place));
    }
    // Values that change places.
    let place = array(ArrayType::Sparse, form, 99);
    let mut cells = CELLS;
    (cells[0].2, cells[2].2) = (cells[2].2, cells[0].2);
    put(&place, 10, &cells);
    digests.push(digest_of(&place));
    let distinct: std::collections::HashSet<_> = digests.iter().collect();
    assert_eq!(distinct.len(), digests.len(), "{digests:?}");
}

#[test]
fn a_cell_that_is_there_twice_counts_twice() {
    let form = &FORMS()[1];
    let digests: Vec<Digest> = (1..4)
        .map(|times| {
            let place = array(ArrayType::Sparse, form, times);
            (0..times).for_each(|time| put(&place, 10 + time, &CELLS));
            digest_of(&place)
        })
        .collect();
    assert_eq!(digests.iter().map(|digest| digest.cell_count).collect::<Vec<_>>(), [6, 12, 18]);
    assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
}

#[test]
fn times_count_on_request_alone() {
    let form = &FORMS()[0];
    let digests = [10, 11].map(|at| {
        let place = array(ArrayType::Sparse, form, at);
        put(&place, at, &CELLS);
        let options = DigestOptions { includes_times: true, ..DigestOptions::default() };
        (digest_of(&place), digest(&open(&place, u64::MAX), &options).unwrap())
    });
    assert_eq!(digests[0].0, digests[1].0);
    assert_ne!(digests[0].1, digests[1].1);
    assert_ne!(digests[0].0, digests[0].1);
}

#[test]
fn cells_of_fill_values_do_not_count_in_dense_arrays() {
    let form = &FORMS()[0];
    let (small, large) = (array(ArrayType::Dense, form, 1), array(ArrayType::Dense, form, 2));
    put(&small, 10, &CELLS);
    // Null, and one byte 0: what cells have that nobody wrote.
    put(&large, 5, &[(9, 9, 0, "\0"), (9, 10, 0, "\0")]);
    put(&large, 10, &CELLS);
    assert_eq!(digest_of(&small), digest_of(&large));
    assert_eq!(summary(&open(&small, u64::MAX), &open(&large, u64::MAX)).same, 6);
    let empty = array(ArrayType::Dense, form, 3);
    assert_eq!(digest_of(&empty).cell_count, 0);
}

#[test]
fn a_digest_of_batches_is_that_of_the_array() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let place = array(array_type, &FORMS()[0], 5);
        put(&place, 10, &CELLS);
        let snapshot = open(&place, u64::MAX);
        let request = ReadRequest {
            fields: ["s", "y", "x", "n"].map(str::to_owned).to_vec(),
            batch_cell_count: Some(2),
            ..ReadRequest::default()
        };
        let batches = read(&snapshot, &request).unwrap();
        let mut builder = DigestBuilder::new(snapshot.schema(), batches.fields()).unwrap();
        batches.for_each(|batch| builder.add(&batch.unwrap()));
        assert_eq!(builder.finish(), digest_of(&place), "{array_type:?}");
        let without_x = read(&snapshot, &ReadRequest { fields: vec!["n".into()], ..ReadRequest::default() });
        assert!(DigestBuilder::new(snapshot.schema(), without_x.unwrap().fields()).is_err());
    }
}

fn summary(a: &Snapshot, b: &Snapshot) -> DiffSummary {
    diff(a, b, &DiffOptions::default(), &mut |_, _| Ok(ControlFlow::Continue(()))).unwrap()
}

#[test]
fn differences_are_named_cell_by_cell() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let place = array(array_type, &FORMS()[0], 5);
        put(&place, 10, &CELLS);
        put(&place, 20, &[(3, 3, 5, ""), (3, 4, -7, "CCC"), (3, 5, 9, "new")]);
        let (before, after) = (open(&place, 10), open(&place, 20));
        let mut found = Vec::new();
        let summary = diff(&before, &after, &DiffOptions::default(), &mut |fields, cell| {
            let names: Vec<_> =
                cell.fields.iter().map(|field| fields.attributes[field.attribute].0.clone()).collect();
            let coordinate = i32::from_le_bytes(cell.coordinates[1][..].try_into().unwrap());
            found.push((cell.change, coordinate, names, cell.fields[0].clone()));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!((summary.added, summary.removed, summary.changed, summary.same), (1, 0, 2, 4));
        assert_eq!((found[0].0, found[0].1, &found[0].2[..]), (Change::Changed, 3, &["n".to_owned()][..]));
        assert_eq!((&found[0].3.before, &found[0].3.after), (&Side::Null, &Side::Value(vec![5, 0, 0, 0])));
        assert_eq!((found[1].0, found[1].1, &found[1].2[..]), (Change::Changed, 4, &["s".to_owned()][..]));
        assert_eq!((found[2].0, found[2].1, found[2].2.len()), (Change::Added, 5, 2));
        assert!(self::summary(&after, &after).is_empty());
        let back = self::summary(&after, &before);
        assert_eq!((back.added, back.removed, back.changed), (0, 1, 2));
    }
}

#[test]
fn differences_stop_where_the_visitor_says() {
    let (a, b) = (array(ArrayType::Sparse, &FORMS()[0], 1), array(ArrayType::Sparse, &FORMS()[1], 2));
    put(&a, 10, &CELLS);
    let mut count = 0;
    let (a, b) = (open(&a, 99), open(&b, 99));
    let summary = diff(&a, &b, &DiffOptions::default(), &mut |_, _| {
        count += 1;
        Ok(if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
    .unwrap();
    assert!(summary.is_cut && summary.removed == 2);
}

#[test]
fn duplicates_are_compared_as_often_as_they_are_there() {
    let form = &FORMS()[1];
    let (a, b) = (array(ArrayType::Sparse, form, 1), array(ArrayType::Sparse, form, 2));
    put(&a, 10, &CELLS);
    put(&a, 11, &CELLS[..2]);
    put(&b, 10, &CELLS);
    put(&b, 11, &[(3, 2, 7, "z")]);
    let summary = summary(&open(&a, 99), &open(&b, 99));
    assert_eq!((summary.added, summary.removed, summary.changed, summary.same), (0, 1, 1, 6));
}
