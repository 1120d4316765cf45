//! Reads through splits and up to a limit give the cells of the plain read, and what is known before a read holds.

use crate::batches::{SIDE, array};
use crate::oracle::arrays::Row;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Batch, Count, ReadRequest, ResultField, Scan, Split, read};
use smalti_types::{ArrayType, ErrorKind, Extent, Layout, Physical};

type Rows = Vec<(Vec<Vec<u8>>, Row)>;

/// Into how many splits reads are divided.
pub const COUNTS: [usize; 3] = [1, 2, 7];

/// The batches of every split of a read, each carried out as another process would.
pub fn batches_of_splits(snapshot: &Snapshot, request: &ReadRequest, count: usize) -> Vec<Vec<Batch>> {
    let splits = Scan::new(snapshot, request).unwrap().splits(count).unwrap();
    assert!((1..=count).contains(&splits.len()));
    let place = snapshot.place();
    let elsewhere = |split: &Split| {
        let bytes = split.to_bytes(place).unwrap();
        let split = Split::from_bytes(&bytes, place).unwrap();
        let opened = split.snapshot(place).unwrap();
        // Of few tiles statistics are not worth their reads, so a split may look at one that the whole read leaves out.
        let memory_byte_len = split.request().memory_byte_len.map(|byte_len| byte_len * 2);
        let request = ReadRequest { memory_byte_len, ..split.request().clone() };
        read(&opened, &request).unwrap().map(Result::unwrap).collect()
    };
    splits.iter().map(elsewhere).collect()
}

/// Compares the rows of a read with those of its splits, of reads with a limit, and with what is known before.
pub fn check(
    snapshot: &Snapshot,
    request: &ReadRequest,
    (found, is_loose): (&Rows, bool),
    rows: impl Fn(&[ResultField], &[Batch]) -> Rows,
    what: &str,
) {
    let scan = Scan::new(snapshot, request).unwrap();
    let fields = scan.fields().to_vec();
    let sorted = |mut rows: Rows| {
        rows.sort();
        rows
    };
    for count in COUNTS {
        let batches: Vec<Batch> = batches_of_splits(snapshot, request, count).into_iter().flatten().collect();
        let together = rows(&fields, &batches);
        match is_loose {
            true => assert_eq!(sorted(together), sorted(found.clone()), "{count} splits of {what}"),
            false => assert_eq!(together, *found, "{count} splits of {what}"),
        }
    }
    for limit in [0, 1, found.len() / 2, found.len() + 1] {
        let limited = ReadRequest { limit: Some(limit as u64), ..request.clone() };
        let batches: Vec<Batch> = read(snapshot, &limited).unwrap().map(Result::unwrap).collect();
        let first = rows(&fields, &batches);
        assert_eq!(first.len(), limit.min(found.len()), "the first {limit} of {what}");
        match is_loose {
            true => assert!(first.iter().all(|row| found.contains(row)), "the first {limit} of {what}"),
            false => assert_eq!(first, found[..first.len()], "the first {limit} of {what}"),
        }
    }
    match scan.cell_count() {
        Count::Exact(count) => assert_eq!(count, found.len() as u64, "{what}"),
        Count::AtMost(count) => assert!(count >= found.len() as u64, "{what}"),
    }
    let statistics = scan.statistics().unwrap();
    let [.., numbers, texts] = &statistics[..] else { panic!("{what}") };
    let number =
        |bytes: &Option<Vec<u8>>| bytes.clone().map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
    let values = found.iter().map(|(_, (number, _))| *number);
    if let Some((least, greatest)) = number(&numbers.least).zip(number(&numbers.greatest)) {
        assert!(values.clone().all(|value| least <= value && value <= greatest), "{statistics:?} of {what}");
        if numbers.is_exact {
            let exact = (values.clone().min(), values.max());
            assert_eq!(exact, (Some(least), Some(greatest)), "{statistics:?} of {what}");
        }
    }
    let null_count = found.iter().filter(|(_, (_, text))| text.is_none()).count() as u64;
    match texts.null_count {
        Some(Count::Exact(count)) => assert_eq!(count, null_count, "{statistics:?} of {what}"),
        Some(Count::AtMost(count)) => assert!(count >= null_count, "{statistics:?} of {what}"),
        None => {}
    }
    let texts_of_rows = || found.iter().filter_map(|(_, (_, text))| text.as_ref());
    if let Some((least, greatest)) = texts.least.as_ref().zip(texts.greatest.as_ref()) {
        assert!(texts_of_rows().all(|text| least <= text && text <= greatest), "{statistics:?} of {what}");
    }
}

/// The numbers of all cells, and how many tiles were read for them.
fn numbers(batches: smalti_query::Batches) -> (Vec<u32>, u64) {
    let progress = batches.progress().clone();
    let column = batches.fields().iter().position(|field| field.name == "n").unwrap();
    let batches = batches.map(Result::unwrap);
    let numbers = batches.flat_map(|batch| batch.columns[column].data.values::<u32>().to_vec()).collect();
    (numbers, progress.statistics().tile_count)
}

#[test]
fn splits_have_equal_shares_and_read_no_more_together_than_the_whole() {
    let cases = [(ArrayType::Dense, false), (ArrayType::Sparse, false), (ArrayType::Sparse, true)];
    for (array_type, interleaves) in cases {
        let snapshot = array(array_type, interleaves);
        for layout in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered] {
            let request = ReadRequest { layout: Some(layout), ..ReadRequest::default() };
            let (expected, most) = numbers(read(&snapshot, &request).unwrap());
            let scan = Scan::new(&snapshot, &request).unwrap();
            assert_eq!(scan.cell_count().most(), expected.len() as u64);
            let splits = scan.splits(6).unwrap();
            let what = format!("{array_type} {interleaves} {layout}");
            assert_eq!(splits.len(), 6, "{what}");
            let (mut found, mut tile_count) = (Vec::new(), 0);
            for split in &splits {
                let (numbers, tiles) = numbers(split.read(&snapshot, None).unwrap());
                let share = expected.len() / 6;
                assert!((share / 2..=share * 2).contains(&numbers.len()), "{what}: {} cells", numbers.len());
                found.extend(numbers);
                tile_count += tiles;
            }
            if layout == Layout::Unordered {
                found.sort_unstable();
                let mut expected = expected;
                expected.sort_unstable();
                assert!(found == expected, "{what}");
            } else {
                assert!(found == expected, "{what}");
            }
            assert!(tile_count <= 3 * most, "{what}: {tile_count} tiles, {most} at once");
        }
    }
}

#[test]
fn a_limit_leaves_unread_what_lies_behind_it() {
    let cases = [(ArrayType::Dense, false), (ArrayType::Sparse, false), (ArrayType::Sparse, true)];
    for (array_type, interleaves) in cases {
        let snapshot = array(array_type, interleaves);
        for layout in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered] {
            let all =
                ReadRequest { fields: vec!["n".into()], layout: Some(layout), ..ReadRequest::default() };
            let (expected, most) = numbers(read(&snapshot, &all).unwrap());
            let limited = ReadRequest { limit: Some(1000), ..all };
            let (found, tile_count) = numbers(read(&snapshot, &limited).unwrap());
            let what = format!("{array_type} {interleaves} {layout}: {tile_count} tiles of {most}");
            if layout == Layout::Unordered {
                assert_eq!(found.len(), 1000, "{what}");
            } else {
                assert!(found == expected[..1000], "{what}");
            }
            assert!(tile_count * 2 <= most, "{what}");
            let is_stored = array_type == ArrayType::Sparse && !interleaves && layout == Layout::GlobalOrder;
            assert!(!is_stored || tile_count <= 4, "{what}");
        }
    }
}

#[test]
fn a_limit_with_a_condition_looks_no_further_than_it_has_to() {
    let snapshot = array(ArrayType::Sparse, false);
    let condition = Condition::compare("n", Relation::Ge, 100_005);
    let request = ReadRequest {
        condition: Some(condition),
        limit: Some(5),
        fields: vec!["n".into()],
        ..ReadRequest::default()
    };
    let (found, tile_count) = numbers(read(&snapshot, &request).unwrap());
    assert!(found.len() == 5 && found.iter().all(|number| *number >= 100_005), "{found:?}");
    let (_, most) = numbers(read(&snapshot, &ReadRequest { limit: None, ..request }).unwrap());
    assert!(tile_count * 4 <= most, "{tile_count} tiles of {most}");
}

#[test]
fn damaged_splits_are_errors() {
    let snapshot = array(ArrayType::Sparse, true);
    let place: &ArrayPlace = snapshot.place();
    let request = ReadRequest {
        ranges: vec![vec![Extent::Num { lo: 3i32.ordinal(), hi: (SIDE / 2).ordinal() }]],
        condition: Some(Condition::compare("s", Relation::Eq, "a")),
        ..ReadRequest::default()
    };
    let splits = Scan::new(&snapshot, &request).unwrap().splits(3).unwrap();
    let bytes = splits[1].to_bytes(place).unwrap();
    for len in 0..bytes.len() {
        let error = Split::from_bytes(&bytes[..len], place).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{len} bytes: {error}");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let error = Split::from_bytes(&changed, place).unwrap_err();
            // Of the version's bits none may be left unread.
            let is_version = (8..12).contains(&at);
            assert!(error.kind() == ErrorKind::Corrupt || is_version, "bit {bit} of byte {at}: {error}");
        }
    }
    let mut newer = bytes.clone();
    newer[8] = 9;
    let error = Split::from_bytes(&newer, place).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("version 9, made by a newer smalti"), "{error}");
    let again = Split::from_bytes(&bytes, place).unwrap();
    assert_eq!((again.number(), again.count(), again.to_bytes(place).unwrap() == bytes), (2, 3, true));
}
