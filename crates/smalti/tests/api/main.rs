//! The public interface, used as a program uses it.

mod arrow_types;
mod columns;
mod errors;
mod evolution;
mod fragments;
mod handles;
mod kept;
mod labels;
mod many_fragments;
mod reads;
mod scans;
mod surface;
#[cfg(target_os = "linux")]
mod threads;
mod upkeep;
mod versions;

use smalti::{Array, Dimension, prelude::*};
use smalti::{Column, ReadRequest};

/// A dense line of cells with one attribute, `a`.
fn line(name: &str, cell_count: i32, attribute: Attribute) -> Array {
    let schema = Schema::dense().dimension(Dimension::new("x", 0..=cell_count - 1)).attribute(attribute);
    Array::create(&format!("mem://{name}"), &schema.build().unwrap()).unwrap()
}

/// All cells of the attribute `a`.
fn column_a(array: &Array) -> Column {
    let request = ReadRequest { fields: vec!["a".into()], ..ReadRequest::default() };
    let mut batches = array.read_raw(&request).unwrap();
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch.columns.into_iter().next().unwrap()
}
