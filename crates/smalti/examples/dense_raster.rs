//! A dense raster: written whole and in part from `ndarray`, sliced, and looked at as it was before.
//!
//! `cargo run -p smalti --example dense_raster`

use smalti::ndarray::Array2;
use smalti::{Array, Dimension, prelude::*};

const MONDAY: u64 = 1_700_000_000_000;
const TUESDAY: u64 = MONDAY + 86_400_000;

fn main() -> smalti::Result<()> {
    let uri = "mem://dense-raster";
    let schema = Schema::dense()
        .dimension(Dimension::new("row", 0..=255_u32).tile(64))
        .dimension(Dimension::new("col", 0..=255_u32).tile(64))
        .attribute(Attribute::of::<f32>("height").filters([Filter::byteshuffle(), Filter::zstd(5)]))
        .build()?;
    let raster = Array::create(uri, &schema)?;

    let hills = Array2::from_shape_fn((256, 256), |(row, col)| {
        ((row as f32 / 20.0).sin() + (col as f32 / 30.0).cos()) * 50.0
    });
    raster.write().column("height", &hills).at(MONDAY).commit()?;

    // A pond, dug the next day: only its rectangle is written.
    let pond = Array2::from_elem((10, 20), -3.0_f32);
    raster
        .write()
        .range("row", 100..110)
        .range("col", 100..120)
        .column("height", &pond)
        .at(TUESDAY)
        .commit()?;

    let now = raster.read().range("row", 95..115).range("col", 95..125).to_ndarray::<f32>("height")?;
    println!(
        "a window of {:?} cells, {} under water",
        now.shape(),
        now.iter().filter(|&&height| height == -3.0).count()
    );
    assert_eq!(now.iter().filter(|&&height| height == -3.0).count(), 200);

    // Time travel: the array as it was on Monday.
    let monday = Array::open_with(uri, &Options::new().at(MONDAY))?;
    let before = monday.read().to_ndarray::<f32>("height")?;
    assert_eq!(before, hills.into_dyn());

    for fragment in raster.fragments()? {
        let sides: Vec<String> = fragment.non_empty_domain()?.iter().map(|side| side.to_string()).collect();
        println!(
            "written at {}: {} in {} bytes",
            fragment.time().start,
            sides.join(" x "),
            fragment.byte_len()?
        );
    }
    Ok(())
}

#[test]
fn the_example_runs() -> smalti::Result<()> {
    main()
}
