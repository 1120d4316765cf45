//! A sparse array of cities: create, write, read a range.
//!
//! `cargo run -p smalti --example quickstart`

use smalti::{Array, Dimension, prelude::*};

fn main() -> smalti::Result<()> {
    let schema = Schema::sparse()
        .dimension(Dimension::new("lat", -90.0..=90.0).tile(10.0))
        .dimension(Dimension::new("lon", -180.0..=180.0).tile(10.0))
        .attribute(Attribute::utf8("name").filters([Filter::dictionary(), Filter::zstd(3)]))
        .attribute(Attribute::of::<u32>("population"))
        .build()?;

    let cities = Array::create("mem://quickstart", &schema)?; // or a path, for an array on disk
    cities
        .write()
        .column("lat", &[48.85, 52.52, -1.29])
        .column("lon", &[2.35, 13.41, 36.82])
        .column("name", &["Paris", "Berlin", "Nairobi"])
        .column("population", &[2_113_705_u32, 3_677_472, 4_397_073])
        .commit()?;

    for batch in cities.read().range("lat", 40.0..=50.0).batches()? {
        println!("{:?}", batch?); // an Arrow RecordBatch
    }
    Ok(())
}

#[test]
fn the_example_runs() -> smalti::Result<()> {
    main()
}
