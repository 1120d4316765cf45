//! T11: NaN, negative zero, infinities, invalid UTF-8, empty strings and those with NUL.

use crate::arrays::{Ground, options};
use crate::blast::{answered, light, turn};
use smalti::upkeep::FragmentOptions;
use smalti::{Array, Dimension, prelude::*};
use smalti::{ColumnRef, Duplicates, ReadRequest, WriteRequest};
use std::fs;

fn bytes<T: bytemuck::Pod>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

/// Everything in row order: for each field the bytes of its cells.
fn all(ground: &Ground) -> smalti::Result<Vec<Vec<u8>>> {
    let request = ReadRequest { layout: Some(Layout::RowMajor), ..ReadRequest::default() };
    let array = ground.open()?;
    let batches: Vec<smalti::Batch> = array.read_raw(&request)?.collect::<smalti::Result<_>>()?;
    assert!(batches.len() <= 1);
    Ok(batches
        .iter()
        .flat_map(|batch| &batch.columns)
        .map(|column| column.data.as_slice().to_vec())
        .collect())
}

#[test]
fn t11_floats_of_every_kind_are_kept_and_have_an_order() {
    let _turn = turn();
    let ground = Ground::new();
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", f64::MIN..=f64::MAX))
        .attribute(Attribute::of::<f64>("v"))
        .allow_duplicates(true)
        .build()
        .unwrap();
    let array = Array::create_with(&ground.uri(), &schema, &options()).unwrap();
    let x = [1.0, f64::MIN_POSITIVE, -0.0, 0.0, f64::MIN, f64::MAX, -1.0, 5e-324];
    let v = [
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        0.0,
        f64::MAX,
        f64::from_bits(0x7ff0_0000_0000_0001),
    ];
    answered("floats", || {
        let columns =
            vec![("x".into(), ColumnRef::fixed(bytes(&x))), ("v".into(), ColumnRef::fixed(bytes(&v)))];
        let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
        array.write_raw(&WriteRequest {
            columns,
            subarray: None,
            layout,
            at: Some(10),
            duplicates,
            progress: None,
        })
    });
    for merged in [false, true] {
        if merged {
            ground.open().unwrap().consolidate(&FragmentOptions::default()).unwrap();
        }
        let found = answered("floats", || all(&ground));
        let mut expected: Vec<(f64, f64)> = x.into_iter().zip(v).collect();
        expected.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap().then(a.0.total_cmp(&b.0)));
        let coordinates: Vec<f64> =
            found[0].chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
        let sorted = coordinates.is_sorted();
        assert!(sorted, "{coordinates:?}");
        let pairs = |x: &[u8], v: &[u8]| -> std::collections::BTreeSet<(Vec<u8>, Vec<u8>)> {
            x.chunks(8).zip(v.chunks(8)).map(|(x, v)| (x.to_vec(), v.to_vec())).collect()
        };
        assert_eq!(pairs(&found[0], &found[1]), pairs(bytes(&x), bytes(&v)), "every bit is kept");
    }
    for text in ["v > 0", "v <= 0", "v == 0", "v != 0", "x >= 0"] {
        let condition: Condition = text.parse().unwrap();
        answered(text, || ground.open()?.read().filter(condition.clone()).matching_only().collect());
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let (x, v) = ([bad], [1.0_f64]);
        let columns =
            vec![("x".into(), ColumnRef::fixed(bytes(&x))), ("v".into(), ColumnRef::fixed(bytes(&v)))];
        let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
        let request =
            WriteRequest { columns, subarray: None, layout, at: Some(20), duplicates, progress: None };
        let error = light("a coordinate that is no number", || array.write_raw(&request)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn t11_coordinates_on_disk_that_are_no_numbers_are_read_or_refused() {
    let _turn = turn();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN, 1e300] {
        let ground = Ground::new();
        let schema = Schema::sparse()
            .dimension(Dimension::new("x", -10.0..=10.0).tile(5.0))
            .attribute(Attribute::of::<u32>("n"))
            .coords_filters(Vec::new())
            .build()
            .unwrap();
        let array = Array::create_with(&ground.uri(), &schema, &options()).unwrap();
        array.write().column("x", &[1.0, 2.0, 3.0]).column("n", &[1_u32, 2, 3]).at(10).commit().unwrap();
        let path = ground.file("/d0.tdb");
        let mut content = fs::read(&path).unwrap();
        let end = content.len();
        content[end - 16..end - 8].copy_from_slice(&bad.to_le_bytes());
        fs::write(path, content).unwrap();
        let what = format!("a coordinate {bad}");
        if let Ok(found) = light(&what, || all(&ground)) {
            assert!(found[0].len() <= 24);
        }
        let _ = light(&what, || ground.open()?.consolidate(&FragmentOptions::default()));
    }
}

#[test]
fn t11_strings_of_any_bytes_are_kept() {
    let _turn = turn();
    let ground = Ground::new();
    let schema =
        Schema::sparse().dimension(Dimension::string("d")).attribute(Attribute::utf8("s")).build().unwrap();
    let array = Array::create_with(&ground.uri(), &schema, &options()).unwrap();
    let names: [&[u8]; 5] = [b"", b"\0", b"\0\0", b"a\0b", b"~"];
    let texts: [&[u8]; 5] = [b"\xff\xfe", b"", b"\0", b"\xed\xa0\x80", b"plain"];
    let offsets = |cells: &[&[u8]]| -> Vec<u64> {
        std::iter::once(0)
            .chain(cells.iter().scan(0, |end, cell| {
                *end += cell.len() as u64;
                Some(*end)
            }))
            .collect()
    };
    let (name_ends, text_ends) = (offsets(&names), offsets(&texts));
    let (name_bytes, text_bytes) = (names.concat(), texts.concat());
    let columns = vec![
        ("d".into(), ColumnRef::var(&name_bytes, &name_ends)),
        ("s".into(), ColumnRef::var(&text_bytes, &text_ends)),
    ];
    let (layout, duplicates) = (Layout::Unordered, Duplicates::Refuse);
    let request = WriteRequest { columns, subarray: None, layout, at: Some(10), duplicates, progress: None };
    answered("strings", || array.write_raw(&request));
    for merged in [false, true] {
        if merged {
            ground.open().unwrap().consolidate(&FragmentOptions::default()).unwrap();
        }
        assert_eq!(answered("strings", || all(&ground)), [name_bytes.clone(), text_bytes.clone()]);
    }
    // As Arrow they must be UTF-8, or an error that says where not.
    let _ = light("as text", || ground.open()?.read().collect());
    let array = ground.open().unwrap();
    answered("metadata", || array.write_metadata().put("\0key", "a\0b").put("", "").at(20).commit());
    let metadata = ground.open().unwrap().metadata().unwrap();
    assert_eq!(metadata.get("\0key").unwrap().as_bytes(), b"a\0b");
}
