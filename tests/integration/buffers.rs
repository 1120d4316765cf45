//! Reads into buffers of the caller.

use crate::oracle::arrays::{Columns, Row, dimension, place, schema};
use proptest::prelude::*;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_query::{BufferedRead, Duplicates, FieldBuffers, ReadRequest, WriteRequest, read, write};
use smalti_types::{ArrayType, ErrorKind, Extent, Layout, Physical, Scalar, TimeRange};

const LEN: usize = 60;

fn row(cell: usize) -> Row {
    (cell as u32 * 3, (cell % 4 != 1).then(|| vec![b'a' + (cell % 26) as u8; cell % 9]))
}

fn array() -> ArrayPlace {
    let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(LEN as i32 - 1))), Some(Scalar::I32(7)));
    let place = place(5);
    place.create(&schema(ArrayType::Dense, vec![x], (Layout::RowMajor, Layout::RowMajor))).unwrap();
    let rows: Vec<Row> = (0..LEN).map(row).collect();
    let columns = Columns::of(rows.iter());
    let request = WriteRequest {
        columns: columns.refs(),
        subarray: Some(vec![Extent::Num { lo: 0i32.ordinal(), hi: (LEN as i32 - 1).ordinal() }]),
        layout: Layout::RowMajor,
        at: None,
        duplicates: Duplicates::Refuse,
        progress: None,
    };
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    place
}

/// Reads `n` and `s` in pieces that fit the buffers; the rows and the number of cells of each piece.
fn pieces(numbers: usize, text: usize, batch: usize) -> (Vec<Row>, Vec<usize>) {
    let place = array();
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let request = ReadRequest {
        fields: vec!["n".into(), "s".into()],
        batch_cell_count: Some(batch),
        ..ReadRequest::default()
    };
    let mut buffered = BufferedRead::new(read(&snapshot, &request).unwrap());
    let (mut n, mut s) = (vec![0u8; numbers * 4], vec![0u8; text]);
    let (mut starts, mut validity) = (vec![0u64; LEN], vec![0u8; LEN]);
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
    let (rows, counts) = pieces(1, 9, 1000);
    assert_eq!(rows, (0..LEN).map(row).collect::<Vec<_>>());
    assert!(counts[..LEN].iter().all(|count| *count == 1));
}

#[test]
fn a_cell_that_does_not_fit_says_what_it_needs_and_is_not_lost() {
    let place = array();
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
    fn pieces_of_any_size_give_the_same_cells(numbers in 1usize..70, text in 9usize..300, batch in 1usize..70) {
        let (rows, counts) = pieces(numbers, text, batch);
        prop_assert_eq!(rows, (0..LEN).map(row).collect::<Vec<_>>());
        prop_assert_eq!(counts.iter().sum::<usize>(), LEN);
    }
}
