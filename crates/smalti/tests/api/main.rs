//! The public interface, used as a program uses it.

mod arrow_types;
mod columns;
mod errors;
mod evolution;
mod fragments;
mod handles;
mod kept;
mod labels;
mod large_results;
mod many_fragments;
mod reads;
mod recycled;
mod scans;
mod shared;
mod slabs;
mod surface;
#[cfg(target_os = "linux")]
mod threads;
mod upkeep;
mod versions;

use smalti::{Array, Context, Dimension, Options, prelude::*};
use smalti::{Column, ReadRequest};
use std::sync::OnceLock;

/// How tests open what they do not open in another way: in the default context, or, where `SMALTI_TESTS_CONTEXT` is `own`, in
/// one that the tests have made, with threads and memory of its own. `cargo xtask test` runs them both ways.
fn options() -> Options {
    static OWN: OnceLock<Option<Context>> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let is_own = std::env::var("SMALTI_TESTS_CONTEXT").is_ok_and(|context| context == "own");
        is_own.then(|| Context::new().threads(3).memory(1 << 30))
    });
    own.as_ref().map_or_else(Options::new, |context| Options::new().context(context))
}

/// The folder of a bucket that `SMALTI_TESTS_PLACE` names.
fn place() -> Option<&'static str> {
    static PLACE: OnceLock<Option<String>> = OnceLock::new();
    PLACE.get_or_init(|| std::env::var("SMALTI_TESTS_PLACE").ok()).as_deref()
}

/// The URI of what a test makes: in memory, or in a bucket if one is named. `cargo xtask test` does both.
fn uri(name: &str) -> String {
    place().map_or_else(|| format!("mem://{name}"), |place| format!("{place}/{name}"))
}

/// Whether arrays are in a bucket, where readers hold nothing by which a vacuum could know of them.
fn is_far() -> bool {
    place().is_some()
}

/// A dense line of cells with one attribute, `a`.
fn line(name: &str, cell_count: i32, attribute: Attribute) -> Array {
    let schema = Schema::dense().dimension(Dimension::new("x", 0..=cell_count - 1)).attribute(attribute);
    Array::create_with(&uri(name), &schema.build().unwrap(), &crate::options()).unwrap()
}

/// All cells of the attribute `a`.
fn column_a(array: &Array) -> Column {
    let request = ReadRequest { fields: vec!["a".into()], ..ReadRequest::default() };
    let mut batches = array.read_raw(&request).unwrap();
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch.columns.into_iter().next().unwrap()
}
