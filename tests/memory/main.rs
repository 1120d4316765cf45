//! Reads, and writes in pieces, keep to their memory budget, whatever the array: measured by a counting allocator.
#![forbid(unsafe_code)]

mod handles;
mod many_tiles;

use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, Version, default_fill_value,
};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{
    Aggregate, AggregateRequest, AggregateValue, Duplicates, Function, GlobalWriter, ReadRequest,
    WriteRequest, aggregate, explain, read, write,
};
use smalti_store::{Stores, SyncLevel, system_env};
use smalti_tests::counting::{Counting, forget_peak, live_byte_len, peak_byte_len};
use smalti_tile::ColumnRef;
use smalti_types::{
    ArrayType, CellValNum, Datatype, ErrorKind, Extent, Filter, FilterPipeline, Layout, Physical, Scalar,
    TimeRange,
};
use smalti_upkeep::{
    DiffOptions, DigestOptions, FragmentOptions, FsckOptions, consolidate_fragments, diff, digest, fsck,
};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One at a time: the allocator counts for the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// What a read may hold beside its budget.
const SLACK: usize = 64 << 20;

const ZSTD: Filter = Filter::Zstd { level: 1 };

fn schema(array_type: ArrayType, allows_dups: bool, orders: (Layout, Layout)) -> ArraySchema {
    let dimension = |name: &str, hi: i64, extent: i64| Dimension {
        name: name.into(),
        datatype: Datatype::Int64,
        cell_val_num: CellValNum::ONE,
        filters: FilterPipeline::default(),
        domain: Some((Scalar::I64(0), Scalar::I64(hi))),
        tile_extent: Some(Scalar::I64(extent)),
    };
    let attribute = |name: &str, datatype, cell_val_num| Attribute {
        name: name.into(),
        datatype,
        cell_val_num,
        filters: FilterPipeline::new([ZSTD]),
        fill_value: default_fill_value(datatype, cell_val_num),
        nullable: false,
        fill_valid: true,
        order: DataOrder::Unordered,
        enumeration: None,
    };
    let dimensions = match array_type {
        ArrayType::Sparse => vec![dimension("x", 1 << 30, 1 << 24), dimension("y", 1 << 30, 1 << 24)],
        ArrayType::Dense => vec![dimension("x", 1999, 100), dimension("y", 1999, 100)],
    };
    ArraySchema {
        version: Version::DEFAULT,
        allows_dups,
        array_type,
        tile_order: orders.0,
        cell_order: orders.1,
        capacity: 10_000,
        coords_filters: FilterPipeline::new([ZSTD]),
        offsets_filters: FilterPipeline::new([ZSTD]),
        validity_filters: FilterPipeline::default(),
        dimensions,
        attributes: vec![
            attribute("n", Datatype::Int64, CellValNum::ONE),
            attribute("s", Datatype::StringAscii, CellValNum::Var),
        ],
        dimension_labels: Vec::new(),
        enumerations: Vec::new(),
        current_domain: CurrentDomain::Empty,
    }
}

/// Texts of 0 to 30 letters for numbers.
fn texts(numbers: &[i64]) -> (Vec<u8>, Vec<u64>) {
    let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
    for &number in numbers {
        bytes.extend(std::iter::repeat_n(b'a' + (number % 26) as u8, (number % 31) as usize));
        offsets.push(bytes.len() as u64);
    }
    (bytes, offsets)
}

/// Cells that are scattered, in each of `fragment_count` fragments that overlap everywhere.
fn sparse_array(folder: &std::path::Path, allows_dups: bool, orders: (Layout, Layout)) -> Snapshot {
    const CELLS: i64 = 120_000;
    let uri = folder.join("sparse");
    let place =
        ArrayPlace::open(&Stores::new(), uri.to_str().unwrap(), SyncLevel::None, None, system_env()).unwrap();
    place.create(&schema(ArrayType::Sparse, allows_dups, orders)).unwrap();
    for fragment in 0..6 {
        let numbers: Vec<i64> = (0..CELLS).map(|cell| cell + fragment * CELLS / 2).collect();
        let scattered = |factor: i64| -> Vec<i64> {
            numbers.iter().map(|number| (number + 1).wrapping_mul(factor) & ((1 << 30) - 1)).collect()
        };
        let (x, y) = (scattered(0x9E37_79B1), scattered(0x85EB_CA6B));
        let (bytes, offsets) = texts(&numbers);
        let columns = vec![
            ("x".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&x))),
            ("y".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&y))),
            ("n".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&numbers))),
            ("s".to_owned(), ColumnRef::var(&bytes, &offsets)),
        ];
        let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
        let at = Some(fragment as u64 + 1);
        let request = WriteRequest { columns, subarray: None, layout, at, duplicates, progress: None };
        write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    }
    Snapshot::open(place, TimeRange::ALL).unwrap()
}

fn dense_array(folder: &std::path::Path) -> Snapshot {
    let uri = folder.join("dense");
    let place =
        ArrayPlace::open(&Stores::new(), uri.to_str().unwrap(), SyncLevel::None, None, system_env()).unwrap();
    place.create(&schema(ArrayType::Dense, false, (Layout::RowMajor, Layout::RowMajor))).unwrap();
    for fragment in 0..2 {
        let numbers: Vec<i64> = (0..4_000_000).map(|cell| cell * 7 + fragment).collect();
        let (bytes, offsets) = texts(&numbers);
        let columns = vec![
            ("n".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&numbers))),
            ("s".to_owned(), ColumnRef::var(&bytes, &offsets)),
        ];
        let (layout, duplicates) = (Layout::RowMajor, Duplicates::Refuse);
        let request = WriteRequest { columns, subarray: None, layout, at: None, duplicates, progress: None };
        write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    }
    Snapshot::open(place, TimeRange::ALL).unwrap()
}

/// Reads everything with a budget, and checks what was held at once; a checksum of the cells, in order.
fn frugal_read(snapshot: &Snapshot, request: &ReadRequest, budget: usize, what: &str) -> (usize, u64) {
    let request = ReadRequest { memory_byte_len: Some(budget), ..request.clone() };
    let before = live_byte_len();
    forget_peak();
    let (mut cell_count, mut sum) = (0, 0u64);
    for batch in read(snapshot, &request).unwrap() {
        let batch = batch.unwrap();
        cell_count += batch.cell_count;
        for column in &batch.columns {
            for bytes in column.data.as_slice().chunks(8) {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                sum = sum.rotate_left(5) ^ u64::from_le_bytes(word);
            }
        }
    }
    let held = peak_byte_len().saturating_sub(before);
    assert!(held <= budget + SLACK, "{what}: {held} bytes were held with a budget of {budget}");
    (cell_count, sum)
}

fn check(snapshot: &Snapshot, request: &ReadRequest, what: &str) {
    let counts = [8 << 20, 1 << 30]
        .map(|budget| frugal_read(snapshot, request, budget, &format!("{what}, budget {budget}")).0);
    assert!(counts.iter().all(|count| *count == counts[0] && *count > 0), "{what}: {counts:?}");
}

#[test]
fn sparse_reads_keep_to_their_budget() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let plain = (Layout::RowMajor, Layout::RowMajor);
    let layouts = [Layout::RowMajor, Layout::GlobalOrder, Layout::Unordered];
    let folder = tempfile::tempdir().unwrap();
    let snapshot = sparse_array(folder.path(), false, plain);
    for layout in layouts {
        let request = ReadRequest { layout: Some(layout), ..ReadRequest::default() };
        check(&snapshot, &request, &layout.to_string());
    }
    let condition = Some(Condition::compare("n", Relation::Lt, 100_000));
    let request = ReadRequest { layout: Some(Layout::RowMajor), condition, ..ReadRequest::default() };
    check(&snapshot, &request, "with a condition");
}

#[test]
fn reads_in_hilbert_order_keep_to_their_budget() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let snapshot = sparse_array(folder.path(), true, (Layout::RowMajor, Layout::Hilbert));
    let request = ReadRequest { layout: Some(Layout::GlobalOrder), ..ReadRequest::default() };
    check(&snapshot, &request, "Hilbert order");
}

#[test]
fn dense_reads_keep_to_their_budget() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let snapshot = dense_array(folder.path());
    for layout in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder] {
        let request = ReadRequest { layout: Some(layout), ..ReadRequest::default() };
        check(&snapshot, &request, &format!("dense, {layout}"));
    }
    let point = |at: i64| Extent::Num { lo: at.ordinal(), hi: at.ordinal() };
    let every_second = vec![(0..2000).step_by(2).map(point).collect::<Vec<_>>(); 2];
    let condition = Some(Condition::compare("n", Relation::Lt, 20_000_000));
    for layout in [Layout::RowMajor, Layout::ColMajor] {
        let ranges = every_second.clone();
        let request = ReadRequest { layout: Some(layout), ranges, ..ReadRequest::default() };
        check(&snapshot, &request, &format!("dense, many ranges, {layout}"));
        let request = ReadRequest { condition: condition.clone(), ..request };
        check(&snapshot, &request, &format!("dense, many ranges and a condition, {layout}"));
    }
}

/// Some 20 times what the rows of tiles take that a write in pieces holds, in both orders in which it can be written so.
#[test]
fn dense_writes_in_pieces_hold_no_more_than_the_tiles_that_are_not_full() {
    const ROWS: usize = 4000;
    const ROW_LEN: usize = 2000;
    const BUDGET: usize = 10 << 20;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for (layout, piece_len) in
        [(Layout::GlobalOrder, 100 * 100), (Layout::GlobalOrder, 33_333), (Layout::RowMajor, 50_000)]
    {
        let folder = tempfile::tempdir().unwrap();
        let uri = folder.path().join("pieces");
        let place =
            ArrayPlace::open(&Stores::new(), uri.to_str().unwrap(), SyncLevel::None, None, system_env())
                .unwrap();
        let mut schema = schema(ArrayType::Dense, false, (Layout::RowMajor, Layout::RowMajor));
        schema.dimensions[0].domain = Some((Scalar::I64(0), Scalar::I64(ROWS as i64 - 1)));
        place.create(&schema).unwrap();
        let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
        let before = live_byte_len();
        forget_peak();
        let mut writer = GlobalWriter::in_order(&snapshot, None, None, layout).unwrap();
        let mut byte_len = 0;
        for start in (0..ROWS * ROW_LEN).step_by(piece_len) {
            let end = (start + piece_len).min(ROWS * ROW_LEN);
            let numbers: Vec<i64> = (start as i64..end as i64).collect();
            let (bytes, offsets) = texts(&numbers);
            byte_len += numbers.len() * 8 + bytes.len() + offsets.len() * 8;
            let columns = [
                ("n".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&numbers))),
                ("s".to_owned(), ColumnRef::var(&bytes, &offsets)),
            ];
            writer.submit(&columns).unwrap();
        }
        writer.finalize().unwrap();
        assert!(byte_len > 20 * BUDGET, "{byte_len}");
        let held = peak_byte_len().saturating_sub(before);
        assert!(held <= BUDGET + SLACK, "{layout}: {held} bytes were held");
        let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
        let aggregates = vec![Aggregate::new(Function::Sum, "n")];
        let sum = aggregate(&snapshot, &AggregateRequest { aggregates, ..AggregateRequest::default() });
        let cells = (ROWS * ROW_LEN) as i64;
        assert_eq!(sum.unwrap()[0], AggregateValue::Number(Scalar::I64(cells * (cells - 1) / 2)));
    }
}

/// 10^18 cells, each a tile of its own: what nobody wrote takes no memory.
#[test]
fn endless_dense_arrays_take_the_memory_of_what_was_written() {
    const SIDE: i64 = 1_000_000_000;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("endless");
    let place =
        ArrayPlace::open(&Stores::new(), uri.to_str().unwrap(), SyncLevel::None, None, system_env()).unwrap();
    let mut schema = schema(ArrayType::Dense, false, (Layout::RowMajor, Layout::RowMajor));
    for dimension in &mut schema.dimensions {
        dimension.domain = Some((Scalar::I64(0), Scalar::I64(SIDE - 1)));
        dimension.tile_extent = Some(Scalar::I64(1));
    }
    place.create(&schema).unwrap();
    let budget = 64 << 20;
    for fragment in 0..3 {
        let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
        let condition = Some(Condition::compare("n", Relation::Ge, 0));
        let matching = ReadRequest { condition, leaves_out: true, ..ReadRequest::default() };
        let before = live_byte_len();
        forget_peak();
        assert_eq!(explain(&snapshot, &ReadRequest::default()).unwrap().read_tile_count(), fragment);
        assert_eq!(digest(&snapshot, &DigestOptions::default()).unwrap().cell_count, fragment);
        let same =
            diff(&snapshot, &snapshot, &DiffOptions::default(), &mut |_, _| Ok(ControlFlow::Continue(())));
        assert_eq!(same.unwrap().same, fragment);
        let cells = read(&snapshot, &matching).unwrap().map(|batch| batch.unwrap().cell_count as u64);
        assert_eq!(cells.sum::<u64>(), fragment);
        let aggregates = vec![Aggregate::count(), Aggregate::new(Function::Max, "n")];
        let counted = aggregate(&snapshot, &AggregateRequest { aggregates, ..AggregateRequest::default() });
        assert_eq!(counted.unwrap()[0], AggregateValue::Number(Scalar::U64((SIDE * SIDE) as u64)));
        let held = peak_byte_len().saturating_sub(before);
        assert!(held <= 4 << 20, "{held} bytes were held for {fragment} cells");
        // All cells are that many; the first of them take no more than the budget.
        forget_peak();
        let whole = ReadRequest { memory_byte_len: Some(budget), ..ReadRequest::default() };
        assert!(read(&snapshot, &whole).unwrap().take(3).all(|batch| batch.is_ok()));
        let held = peak_byte_len().saturating_sub(before);
        assert!(held <= budget, "{held} bytes were held with a budget of {budget}");
        let at = (fragment as i64 * 77_777_777).ordinal();
        let (number, text) = ((fragment as i64).to_le_bytes(), texts(&[3]));
        let columns = vec![
            ("n".to_owned(), ColumnRef::fixed(&number)),
            ("s".to_owned(), ColumnRef::var(&text.0, &text.1)),
        ];
        let subarray = Some(vec![Extent::Num { lo: at, hi: at }; 2]);
        let (layout, duplicates) = (Layout::RowMajor, Duplicates::Refuse);
        write(&snapshot, &WriteRequest { columns, subarray, layout, at: None, duplicates, progress: None })
            .unwrap();
    }
}

#[test]
fn a_budget_that_cannot_work_is_refused_at_once() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let snapshot = dense_array(folder.path());
    let request = ReadRequest { memory_byte_len: Some(1000), ..ReadRequest::default() };
    let error = read(&snapshot, &request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(error.message().contains("would do"), "{error}");
}

/// One cell of so many bytes, which compress well.
const LARGE_CELL_BYTE_LEN: usize = 48 << 20;

#[test]
fn one_large_cell_is_refused_with_the_budget_that_would_do() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let folder = tempfile::tempdir().unwrap();
        let uri = folder.path().join("large");
        let place =
            ArrayPlace::open(&Stores::new(), uri.to_str().unwrap(), SyncLevel::None, None, system_env())
                .unwrap();
        let mut schema = schema(array_type, false, (Layout::RowMajor, Layout::RowMajor));
        for dimension in schema.dimensions.iter_mut().filter(|_| array_type == ArrayType::Dense) {
            dimension.tile_extent = Some(Scalar::I64(1));
        }
        schema.capacity = 1;
        place.create(&schema).unwrap();
        // Beside small cells, so that there are tiles enough for their statistics to be looked at.
        let (mut text, at) = (vec![b'a'; LARGE_CELL_BYTE_LEN], [7i64, 8, 9, 10]);
        text.extend(*b"bcd");
        let offsets = [0, 1, 2, 3].map(|end| (LARGE_CELL_BYTE_LEN + end) as u64);
        let offsets = [&[0][..], &offsets[..]].concat();
        let at = bytemuck::cast_slice(&at);
        let mut columns =
            vec![("n".to_owned(), ColumnRef::fixed(at)), ("s".to_owned(), ColumnRef::var(&text, &offsets))];
        let mut subarray = None;
        match array_type {
            ArrayType::Sparse => {
                columns.extend(["x", "y"].map(|name| (name.to_owned(), ColumnRef::fixed(at))))
            }
            ArrayType::Dense => {
                let side = |hi: i64| Extent::Num { lo: 7i64.ordinal(), hi: hi.ordinal() };
                subarray = Some(vec![side(7), side(10)]);
            }
        }
        let (layout, duplicates) = (Layout::RowMajor, Duplicates::Refuse);
        let layout = if array_type == ArrayType::Sparse { Layout::Unordered } else { layout };
        let request = WriteRequest { columns, subarray, layout, at: None, duplicates, progress: None };
        write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
        drop(request);
        drop(text);
        let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
        // As a field, and as what a condition asks for.
        let asks = Some(Condition::compare("s", Relation::Lt, "b"));
        for (field, condition) in [("s", None), ("n", asks)] {
            let wanted = if condition.is_some() && array_type == ArrayType::Sparse { 1 } else { 4 };
            let what = format!("{array_type}, {field}");
            let whole = ReadRequest {
                fields: vec![field.into()],
                ranges: snapshot.non_empty_domain().unwrap().into_iter().map(|side| vec![side]).collect(),
                condition,
                ..ReadRequest::default()
            };
            let request = ReadRequest { memory_byte_len: Some(16 << 20), ..whole.clone() };
            let before = live_byte_len();
            forget_peak();
            let error = read(&snapshot, &request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{what}");
            assert!(peak_byte_len() - before < 1 << 20, "{what}");
            let would_do = error.message().split(' ').filter_map(|word| word.parse().ok()).next_back();
            assert_eq!(frugal_read(&snapshot, &whole, would_do.unwrap(), &what).0, wanted, "{what}");
        }
    }
}

#[test]
fn consolidation_keeps_to_its_budget() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let plain = (Layout::RowMajor, Layout::RowMajor);
    let hilbert = (Layout::RowMajor, Layout::Hilbert);
    let makes: [(&str, &dyn Fn(&std::path::Path) -> Snapshot); 3] = [
        ("dense", &dense_array),
        ("sparse", &|folder| sparse_array(folder, false, plain)),
        ("Hilbert order", &|folder| sparse_array(folder, true, hilbert)),
    ];
    for (what, make) in makes {
        let folder = folder.path().join(what);
        std::fs::create_dir(&folder).unwrap();
        let snapshot = make(&folder);
        let place = snapshot.place().clone();
        drop(snapshot);
        let budget = 8 << 20;
        let options = FragmentOptions { memory_byte_len: Some(budget), ..FragmentOptions::default() };
        let before = live_byte_len();
        forget_peak();
        let done = consolidate_fragments(&place, &options).unwrap();
        let held = peak_byte_len().saturating_sub(before);
        assert!(held <= budget + SLACK, "{what}: {held} bytes were held with a budget of {budget}");
        assert_eq!(done.merges.len(), 1, "{what}");
        assert_eq!(done.merges[0].outputs.len(), 1, "{what}");
    }
}

/// An array with one cell of this many bytes beside small ones, all in one tile.
fn array_with_a_large_cell(
    folder: &std::path::Path,
    datatype: Datatype,
    byte_len: usize,
) -> (ArrayPlace, u64) {
    let uri = folder.join(datatype.name());
    let place =
        ArrayPlace::open(&Stores::new(), uri.to_str().unwrap(), SyncLevel::None, None, system_env()).unwrap();
    let mut schema = schema(ArrayType::Sparse, false, (Layout::RowMajor, Layout::RowMajor));
    schema.attributes[1].datatype = datatype;
    schema.attributes[1].fill_value = default_fill_value(datatype, CellValNum::Var);
    place.create(&schema).unwrap();
    let at: Vec<i64> = (0..100).collect();
    let (mut text, mut offsets) = (vec![b'a'; byte_len], vec![0_u64]);
    for cell in 0..100 {
        text.push(b'b');
        offsets.push((byte_len + cell + 1) as u64);
    }
    let at = bytemuck::cast_slice(&at);
    let mut columns: Vec<_> = ["x", "y", "n"].map(|name| (name.to_owned(), ColumnRef::fixed(at))).into();
    columns.push(("s".to_owned(), ColumnRef::var(&text, &offsets)));
    let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
    let request = WriteRequest { columns, subarray: None, layout, at: None, duplicates, progress: None };
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    let said = request.work_byte_len(snapshot.schema());
    let before = live_byte_len();
    forget_peak();
    write(&snapshot, &request).unwrap();
    let held = peak_byte_len().saturating_sub(before) as u64;
    assert!(held <= said + (8 << 20), "{datatype}: {held} bytes were held, {said} were announced");
    assert!(said <= 4 * held + (8 << 20), "{datatype}: {held} bytes were held, {said} were announced");
    (place, said)
}

#[test]
fn writes_hold_what_they_announce() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    for datatype in [Datatype::StringUtf8, Datatype::StringAscii] {
        array_with_a_large_cell(folder.path(), datatype, 20 << 20);
    }
    // Many small cells, in any order.
    let numbers: Vec<i64> =
        (0..400_000).map(|cell: i64| cell.wrapping_mul(0x9E37_79B1) & ((1 << 30) - 1)).collect();
    let (bytes, offsets) = texts(&numbers);
    let cells = bytemuck::cast_slice(&numbers);
    let mut columns: Vec<_> = ["x", "y", "n"].map(|name| (name.to_owned(), ColumnRef::fixed(cells))).into();
    columns.push(("s".to_owned(), ColumnRef::var(&bytes, &offsets)));
    let uri = folder.path().join("many");
    let place =
        ArrayPlace::open(&Stores::new(), uri.to_str().unwrap(), SyncLevel::None, None, system_env()).unwrap();
    place.create(&schema(ArrayType::Sparse, true, (Layout::RowMajor, Layout::RowMajor))).unwrap();
    let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
    let request = WriteRequest { columns, subarray: None, layout, at: None, duplicates, progress: None };
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let said = request.work_byte_len(snapshot.schema()) as usize;
    let before = live_byte_len();
    forget_peak();
    write(&snapshot, &request).unwrap();
    let held = peak_byte_len().saturating_sub(before);
    assert!(held <= said + (8 << 20) && said <= 4 * held, "{held} bytes were held, {said} were announced");
}

#[test]
fn a_check_holds_a_large_cell_once_and_its_bounds() {
    const CELL: usize = 20 << 20;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    // Of ASCII text the fragment keeps the least and the greatest cell: one section of its metadata has both.
    for (datatype, cells) in [(Datatype::StringUtf8, 1), (Datatype::StringAscii, 2)] {
        let (place, _) = array_with_a_large_cell(folder.path(), datatype, CELL);
        let before = live_byte_len();
        forget_peak();
        let options = FsckOptions { reads_data: true, ..FsckOptions::default() };
        let report = fsck(&place, &options).unwrap();
        assert!(report.findings.is_empty() && report.tile_count == 4, "{:?}", report.findings);
        let held = peak_byte_len().saturating_sub(before);
        assert!(held <= cells * CELL + (8 << 20), "{datatype}: {held} bytes were held");
    }
}
