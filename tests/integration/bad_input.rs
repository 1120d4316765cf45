//! Requests that cannot be carried out are refused before a byte of data is read, with the field and what it takes.

use crate::oracle::arrays::{Columns, Row, dimension, schema};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_query::condition::Condition;
use smalti_query::{
    Aggregate, AggregateRequest, Function, ReadRequest, aggregate, delete, explain, read, write,
};
use smalti_store::{ManualClock, MemoryStore, MeteredStore, SeededEntropy};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Env, ErrorKind, Extent, Layout, Physical, Scalar, TimeRange};
use std::sync::Arc;

const LEN: i32 = 40;

fn extent(lo: i32, hi: i32) -> Extent {
    Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() }
}

fn text(lo: &str, hi: &str) -> Extent {
    Extent::Str { lo: lo.as_bytes().into(), hi: Some(hi.as_bytes().into()) }
}

/// An array of one fragment on `x` from 0 to 39, with the attributes `n`, a number, and `s`, text.
fn array(array_type: ArrayType) -> (Arc<MeteredStore<MemoryStore>>, Snapshot) {
    let store = Arc::new(MeteredStore::new(MemoryStore::new()));
    let env = Env::new(ManualClock::new(1), SeededEntropy::new(3));
    let place = ArrayPlace::in_store(store.clone(), "array".into(), None, env);
    let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(LEN - 1))), Some(Scalar::I32(10)));
    place.create(&schema(array_type, vec![x], (Layout::RowMajor, Layout::RowMajor))).unwrap();
    let cells: Vec<i32> = (0..LEN).collect();
    let rows: Vec<Row> = cells.iter().map(|&cell| (cell as u32, Some(vec![b'a'; 3]))).collect();
    let columns = Columns::of(rows.iter());
    let is_dense = array_type == ArrayType::Dense;
    let mut request = columns.request(if is_dense { Layout::RowMajor } else { Layout::Unordered }, None);
    if !is_dense {
        request.columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(&cells))));
    }
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    (store, snapshot)
}

fn condition(text: &str) -> Option<Condition> {
    Some(text.parse().unwrap())
}

#[test]
fn bad_requests_are_refused_before_data_is_read() {
    use ErrorKind::{InvalidArgument, OutOfMemory};
    let all = ReadRequest::default;
    let names = |fields: &[&str]| fields.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let requests: Vec<(ReadRequest, ErrorKind, &[&str])> = vec![
        (ReadRequest { fields: names(&["q"]), ..all() }, InvalidArgument, &["\"q\"", "x, n, s"]),
        (
            ReadRequest { ranges: vec![vec![extent(9, 3)]], ..all() },
            InvalidArgument,
            &["\"x\"", "9:3", "inverted"],
        ),
        (
            ReadRequest { ranges: vec![vec![extent(40, 50)]], ..all() },
            InvalidArgument,
            &["\"x\"", "40:50", "domain 0:39"],
        ),
        (
            ReadRequest { ranges: vec![vec![extent(1, 2), extent(-5, -1)]], ..all() },
            InvalidArgument,
            &["\"x\"", "-5:-1", "domain 0:39"],
        ),
        (
            ReadRequest { ranges: vec![vec![text("a", "b")]], ..all() },
            InvalidArgument,
            &["\"x\"", "INT32", "numbers"],
        ),
        (
            ReadRequest { ranges: vec![vec![], vec![extent(0, 1)]], ..all() },
            InvalidArgument,
            &["dimension 1", "are x"],
        ),
        (ReadRequest { layout: Some(Layout::Hilbert), ..all() }, InvalidArgument, &["hilbert", "global"]),
        (ReadRequest { condition: condition("q > 1"), ..all() }, InvalidArgument, &["\"q\"", "x, n, s"]),
        (
            ReadRequest { condition: condition("n > 'a'"), ..all() },
            InvalidArgument,
            &["\"n\"", "without quotes"],
        ),
        (
            ReadRequest { condition: condition("s > 1"), ..all() },
            InvalidArgument,
            &["\"s\"", "single quotes"],
        ),
        (
            ReadRequest { condition: condition("x in (1, 'a')"), ..all() },
            InvalidArgument,
            &["\"x\"", "INT32"],
        ),
        (ReadRequest { memory_byte_len: Some(16), ..all() }, OutOfMemory, &["16 bytes", "bytes would do"]),
    ];
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        let (store, snapshot) = array(array_type);
        // Metadata comes first, and is kept.
        explain(&snapshot, &all()).unwrap();
        let before = store.traffic();
        for (request, kind, words) in &requests {
            let aggregated = AggregateRequest {
                aggregates: match request.fields.first() {
                    Some(field) => vec![Aggregate::new(Function::NullCount, field.as_str())],
                    None => vec![Aggregate::new(Function::Sum, "n")],
                },
                ranges: request.ranges.clone(),
                condition: request.condition.clone(),
                memory_byte_len: request.memory_byte_len,
                ..AggregateRequest::default()
            };
            let mut found = vec![
                ("read", read(&snapshot, request).map(drop)),
                ("explain", explain(&snapshot, request).map(drop)),
            ];
            if request.layout.is_none() {
                found.push(("aggregate", aggregate(&snapshot, &aggregated).map(drop)));
            }
            for (what, found) in found {
                let error = found.expect_err(&format!("{what} of {array_type}: {words:?}"));
                assert_eq!(error.kind(), *kind, "{what} of {array_type}: {error}");
                let message = error.to_string();
                assert!(
                    words.iter().all(|word| message.contains(word)),
                    "{what} of {array_type}: {message}: {words:?}"
                );
            }
        }
        let traffic = store.traffic().since(&before);
        assert_eq!((traffic.read_count, traffic.read_byte_len), (0, 0), "{array_type}");
    }
}

#[test]
fn bad_aggregates_and_deletes_are_refused_before_data_is_read() {
    let (store, snapshot) = array(ArrayType::Sparse);
    let before = store.traffic();
    let needs_field = Aggregate { function: Function::Mean, field: None };
    for (wrong, words) in [
        (needs_field, ["mean needs a field", "of x, n"]),
        (Aggregate::new(Function::Sum, "s"), ["\"s\"", "sum can be asked of x, n"]),
        (Aggregate::new(Function::Max, "q"), ["\"q\"", "x, n, s"]),
    ] {
        let request = AggregateRequest { aggregates: vec![wrong], ..AggregateRequest::default() };
        let error = aggregate(&snapshot, &request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(words.iter().all(|word| error.message().contains(word)), "{error}: {words:?}");
    }
    for (text, words) in [("q == 1", ["\"q\"", "x, n, s"]), ("n == 'a'", ["\"n\"", "without quotes"])] {
        let error = delete(&snapshot, &text.parse().unwrap(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(words.iter().all(|word| error.message().contains(word)), "{error}: {words:?}");
    }
    let traffic = store.traffic().since(&before);
    assert_eq!((traffic.read_count, traffic.write_count), (0, 0));
}
