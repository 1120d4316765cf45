//! Reads into buffers of the caller.

use crate::oracle::arrays::{Columns, Row, dimension, open, place, schema};
use proptest::prelude::*;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::ArraySchema;
use smalti_query::{BufferedRead, FieldBuffers, ReadRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, ErrorKind, Extent, Layout, Physical, Scalar, TimeRange};
use std::ops::Range;

const LEN: usize = 60;

fn row(cell: usize) -> Row {
    (cell as u32 * 3, (cell % 4 != 1).then(|| vec![b'a' + (cell % 26) as u8; cell % 9]))
}

fn extent(lo: usize, hi: usize) -> Extent {
    Extent::Num { lo: (lo as i32).ordinal(), hi: (hi as i32).ordinal() }
}

fn array(array_type: ArrayType) -> ArrayPlace {
    let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(LEN as i32 - 1))), Some(Scalar::I32(7)));
    let place = place(5);
    place
        .create(&ArraySchema {
            capacity: 7,
            ..schema(array_type, vec![x], (Layout::RowMajor, Layout::RowMajor))
        })
        .unwrap();
    let rows: Vec<Row> = (0..LEN).map(row).collect();
    let (columns, x): (_, Vec<i32>) = (Columns::of(rows.iter()), (0..LEN as i32).collect());
    let mut request = columns.request(Layout::RowMajor, Some(vec![extent(0, LEN - 1)]));
    if array_type == ArrayType::Sparse {
        (request.subarray, request.layout) = (None, Layout::Unordered);
        request.columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(&x))));
    }
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    place
}

fn write_dense(place: &ArrayPlace, rows: &[Row], cells: Extent) {
    let columns = Columns::of(rows.iter());
    let request = columns.request(Layout::RowMajor, Some(vec![cells]));
    write(&open(place, TimeRange::ALL), &request).unwrap();
}

/// Reads `n` and `s` of some cells in pieces that fit the buffers; the rows and the number of cells of each piece.
fn pieces(
    array_type: ArrayType,
    cells: Range<usize>,
    (numbers, text): (usize, usize),
    limit: Option<u64>,
) -> (Vec<Row>, Vec<usize>) {
    let place = array(array_type);
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let request = ReadRequest {
        fields: vec!["n".into(), "s".into()],
        ranges: vec![vec![extent(cells.start, cells.end - 1)]],
        limit,
        ..ReadRequest::default()
    };
    let mut buffered = BufferedRead::new(read(&snapshot, &request).unwrap());
    let (mut n, mut s) = (vec![0u8; numbers * 4], vec![0u8; text]);
    let (mut starts, mut validity) = (vec![0u64; LEN + 1], vec![0u8; LEN]);
    let (mut rows, mut counts) = (Vec::new(), Vec::new());
    loop {
        let filled = buffered
            .fill(&mut [
                FieldBuffers { data: &mut n, offsets: None, validity: None },
                FieldBuffers { data: &mut s, offsets: Some(&mut starts), validity: Some(&mut validity) },
            ])
            .unwrap();
        for cell in 0..filled.cell_count {
            let number = u32::from_le_bytes(n[cell * 4..][..4].try_into().unwrap());
            let end =
                if cell + 1 < filled.cell_count { starts[cell + 1] } else { filled.data_byte_lens[1] as u64 };
            let text = s[starts[cell] as usize..end as usize].to_vec();
            rows.push((number, (validity[cell] == 1).then_some(text)));
        }
        counts.push(filled.cell_count);
        if filled.is_complete {
            return (rows, counts);
        }
    }
}

#[test]
fn buffers_of_one_cell_give_one_cell_a_time() {
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        let (rows, counts) = pieces(array_type, 0..LEN, (1, 9), None);
        assert_eq!(rows, (0..LEN).map(row).collect::<Vec<_>>());
        assert!(counts[..LEN].iter().all(|count| *count == 1));
    }
}

#[test]
fn a_cell_that_does_not_fit_says_what_it_needs_and_is_not_lost() {
    let place = array(ArrayType::Dense);
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let request = ReadRequest { fields: vec!["s".into()], ..ReadRequest::default() };
    let mut buffered = BufferedRead::new(read(&snapshot, &request).unwrap());
    let (mut starts, mut validity) = ([0u64; LEN], [0u8; LEN]);
    let mut fill = |text: &mut [u8]| {
        buffered.fill(&mut [FieldBuffers {
            data: text,
            offsets: Some(&mut starts),
            validity: Some(&mut validity),
        }])
    };
    // Cells 0 and 1 are empty or null; cell 2 takes two bytes.
    assert_eq!(fill(&mut [0]).unwrap().cell_count, 2);
    let error = fill(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("2 bytes of values, an offset, a validity byte"), "{error}");
    let mut large = [0; 1000];
    assert_eq!(fill(&mut large).unwrap().cell_count, LEN - 2);
    assert_eq!(large[..2], [b'c', b'c']);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn pieces_of_any_size_give_the_same_cells(
        is_dense in any::<bool>(),
        (start, len) in (0..LEN, 1..=LEN),
        numbers in 1usize..70,
        text in 9usize..300,
        limit in proptest::option::of(1u64..70),
    ) {
        let array_type = if is_dense { ArrayType::Dense } else { ArrayType::Sparse };
        let cells = start..(start + len).min(LEN);
        let (rows, counts) = pieces(array_type, cells.clone(), (numbers, text), limit);
        let wanted = cells.clone().take(limit.unwrap_or(u64::MAX) as usize);
        prop_assert_eq!(rows, wanted.clone().map(row).collect::<Vec<_>>());
        prop_assert_eq!(counts.iter().sum::<usize>(), wanted.count());
    }
}

/// The array is written once more, in part: what is in one tile comes from two fragments then, and goes whole no more.
#[test]
fn tiles_of_which_newer_ones_hide_a_part_are_copied_and_others_are_decoded_in_the_buffers() {
    let place = array(ArrayType::Dense);
    write_dense(&place, &(100..105).map(row).collect::<Vec<_>>(), extent(10, 14));
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    for ranges in [vec![], vec![extent(0, LEN - 1)], vec![extent(3, 40)]] {
        let cells = if ranges.len() == 1 && ranges[0] == extent(3, 40) { 3..41 } else { 0..LEN };
        let request =
            ReadRequest { fields: vec!["s".into()], ranges: vec![ranges], ..ReadRequest::default() };
        // Twice: what was seen stays, and is copied the third time.
        for _ in 0..3 {
            let mut buffered = BufferedRead::new(read(&snapshot, &request).unwrap());
            let (mut text, mut starts, mut validity) = ([0u8; 1000], [0u64; LEN + 1], [0u8; LEN]);
            let filled = buffered
                .fill(&mut [FieldBuffers {
                    data: &mut text,
                    offsets: Some(&mut starts),
                    validity: Some(&mut validity),
                }])
                .unwrap();
            assert!(filled.is_complete);
            assert_eq!(filled.cell_count, cells.len());
            for (at, cell) in cells.clone().enumerate() {
                let (_, expected) = row(if (10..15).contains(&cell) { cell + 90 } else { cell });
                let end = if at + 1 < cells.len() { starts[at + 1] } else { filled.data_byte_lens[0] as u64 };
                let told = text[starts[at] as usize..end as usize].to_vec();
                assert_eq!((validity[at] == 1).then_some(told), expected, "{cell}");
            }
        }
    }
}

/// Programs that double whatever buffer is more than half full should not double all of them for the sake of one.
#[test]
fn calls_that_one_small_buffer_makes_necessary_share_the_cells_evenly() {
    const CELL_COUNT: usize = 400_000;
    let x =
        dimension("x", Some((Scalar::I32(0), Scalar::I32(CELL_COUNT as i32 - 1))), Some(Scalar::I32(1000)));
    let place = place(6);
    place.create(&schema(ArrayType::Dense, vec![x], (Layout::RowMajor, Layout::RowMajor))).unwrap();
    let rows: Vec<Row> = (0..CELL_COUNT as u32).map(|cell| (cell, Some(b"ten  bytes".to_vec()))).collect();
    write_dense(&place, &rows, extent(0, CELL_COUNT - 1));
    let request = ReadRequest { fields: vec!["n".into(), "s".into()], ..ReadRequest::default() };
    for ends in [false, true] {
        let buffered = BufferedRead::new(read(&open(&place, TimeRange::ALL), &request).unwrap());
        let mut buffered = if ends { buffered.with_ends() } else { buffered };
        let (mut n, mut s) = (vec![0u8; CELL_COUNT * 4], vec![0u8; CELL_COUNT * 7]);
        let (mut starts, mut validity) = (vec![0u64; CELL_COUNT + usize::from(ends)], vec![0u8; CELL_COUNT]);
        let mut fill = || {
            let number = FieldBuffers { data: &mut n, offsets: None, validity: None };
            let text =
                FieldBuffers { data: &mut s, offsets: Some(&mut starts), validity: Some(&mut validity) };
            buffered.fill(&mut [number, text]).unwrap()
        };
        let first = fill();
        assert_eq!((first.cell_count, first.is_complete), (CELL_COUNT / 2, false));
        let second = fill();
        assert_eq!(second.cell_count, CELL_COUNT / 2);
        let rest = if second.is_complete { 0 } else { fill().cell_count };
        assert_eq!(rest, 0);
    }
}

#[test]
fn no_cell_takes_the_place_of_the_end_of_the_last_one() {
    let request = ReadRequest { fields: vec!["s".into()], ..ReadRequest::default() };
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        let read = read(&open(&array(array_type), TimeRange::ALL), &request).unwrap();
        let mut buffered = BufferedRead::new(read).with_ends();
        let (mut text, mut starts, mut validity) = ([0u8; 1000], [0u64; 5], [0u8; LEN]);
        let (mut cells, mut is_complete) = (0, false);
        while !is_complete {
            let field =
                FieldBuffers { data: &mut text, offsets: Some(&mut starts), validity: Some(&mut validity) };
            let filled = buffered.fill(&mut [field]).unwrap();
            assert!(filled.cell_count <= 4);
            (cells, is_complete) = (cells + filled.cell_count, filled.is_complete);
        }
        assert_eq!(cells, LEN);
    }
}
