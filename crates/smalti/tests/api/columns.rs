//! The Rust forms that columns come in.

use crate::{column_a, line};
use smalti::prelude::*;
use smalti::{ColumnRef, IntoColumn};

fn bytes<'a>(name: &str, attribute: Attribute, cells: impl IntoColumn<'a>) -> smalti::Result<Vec<u8>> {
    let array = line(&format!("columns-{name}"), 2, attribute);
    array.write().column("a", cells.into_column()).commit()?;
    Ok(column_a(&array).data.as_slice().to_vec())
}

#[test]
fn slices_vectors_and_options_of_cells_are_columns() {
    let one = || Attribute::of::<u8>("a");
    assert_eq!(bytes("array", one(), &[1_u8, 2]).unwrap(), [1, 2]);
    assert_eq!(bytes("slice", one(), &[1_u8, 2][..]).unwrap(), [1, 2]);
    assert_eq!(bytes("vector", one(), &vec![1_u8, 2]).unwrap(), [1, 2]);
    assert_eq!(bytes("options", one().nullable(), &[Some(1_u8), None]).unwrap(), [1, 0]);
    assert_eq!(bytes("all-there", one(), &[Some(1_u8), Some(2)]).unwrap(), [1, 2]);
    assert_eq!(bytes("booleans", Attribute::boolean("a"), &[true, false]).unwrap(), [1, 0]);
    assert_eq!(bytes("pairs", one().values_per_cell(2), &[[1_u8, 2], [3, 4]]).unwrap(), [1, 2, 3, 4]);
    assert_eq!(bytes("flat", one().values_per_cell(2), &[1_u8, 2, 3, 4]).unwrap(), [1, 2, 3, 4]);
    assert_eq!(bytes("lists", Attribute::var::<u8>("a"), &[vec![1_u8], vec![2, 3]]).unwrap(), [1, 2, 3]);
    assert_eq!(bytes("even-lists", Attribute::var::<u8>("a"), &[[1_u8, 2], [3, 4]]).unwrap(), [1, 2, 3, 4]);
    assert_eq!(bytes("slices", Attribute::binary("a"), &[&b"a"[..], b"bc"]).unwrap(), b"abc");
    assert_eq!(
        bytes("strings", Attribute::utf8("a"), &["é".to_owned(), String::new()]).unwrap(),
        "é".as_bytes()
    );
    assert_eq!(bytes("maybe-text", Attribute::ascii("a").nullable(), &[None, Some("x")]).unwrap(), b"x");
    let codes = Attribute::of_datatype("a", Datatype::StringAscii).values_per_cell(2);
    assert_eq!(bytes("codes", codes, &["FR", "DE"]).unwrap(), b"FRDE");
    assert_eq!(bytes("raw", one(), ColumnRef::fixed(&[1, 2])).unwrap(), [1, 2]);
    assert_eq!(bytes("ndarray", one(), &ndarray::arr1(&[1_u8, 2])).unwrap(), [1, 2]);
    assert_eq!(
        bytes("reversed", one(), &ndarray::arr1(&[1_u8, 2]).slice(ndarray::s![..;-1])).unwrap(),
        [2, 1]
    );
}

#[test]
fn cells_of_the_wrong_type_are_refused_with_the_right_one() {
    let cases = [
        (bytes("wrong-int", Attribute::of::<u32>("a"), &[1, 2]), "give u32"),
        (bytes("wrong-text", Attribute::utf8("a"), &[1, 2]), "UTF8"),
        (bytes("wrong-number", Attribute::of::<u32>("a"), &["x", "y"]), "cells of text"),
        (bytes("wrong-bool", Attribute::of::<u8>("a"), &[true, false]), "bool"),
        (bytes("wrong-var", Attribute::var::<i32>("a"), &[1, 2]), "slices of slices"),
        (
            bytes("wrong-count", Attribute::of::<i32>("a").values_per_cell(3), &[[1, 2], [3, 4]]),
            "has 3 a cell",
        ),
        (bytes("wrong-null", Attribute::of::<i32>("a"), &[Some(1), None]), "cell 1 is null"),
        (bytes("wrong-len", Attribute::of::<i32>("a"), &[1, 2, 3]), "3 cells"),
        (bytes("wrong-shape", Attribute::of::<i32>("a"), &ndarray::arr2(&[[1, 2]])), "shape"),
        (
            bytes("split-text", Attribute::utf8("a"), &[&[0xc3_u8][..], &[0xa9]]),
            "cell 0, \"\u{fffd}\", is not UTF-8",
        ),
    ];
    for (result, words) in cases {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(words), "{error}");
    }
    let array = line("columns-unknown", 2, Attribute::of::<i32>("a"));
    let error = array.write().column("b", &[1, 2]).commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
