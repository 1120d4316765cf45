//! Arrow record batches in and out: a stream of batches becomes one fragment, and comes back as a reader that any Arrow
//! consumer takes.
//!
//! `cargo run -p smalti --example arrow_stream`

use smalti::arrow_array::cast::AsArray;
use smalti::arrow_array::types::Float64Type;
use smalti::arrow_array::{
    ArrayRef, Float64Array, RecordBatch, RecordBatchReader, StringArray, TimestampMillisecondArray,
};
use smalti::{Array, Dimension, prelude::*};
use std::sync::Arc;

/// A thousand measurements of one hour.
fn hour(number: i64) -> RecordBatch {
    let times = (0..1000).map(|step| number * 3_600_000 + step * 3_600);
    let columns: [(&str, ArrayRef); 3] = [
        ("time", Arc::new(TimestampMillisecondArray::from_iter_values(times))),
        ("sensor", Arc::new(StringArray::from_iter_values((0..1000).map(|step| format!("s{}", step % 7))))),
        (
            "celsius",
            Arc::new(Float64Array::from_iter_values((0..1000).map(|step| 15.0 + f64::from(step) / 500.0))),
        ),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

fn main() -> smalti::Result<()> {
    let schema = Schema::sparse()
        .dimension(Dimension::new("time", 0..=4_000_000_000_000_i64).datatype(Datatype::DateTimeMs))
        .attribute(Attribute::utf8("sensor").filters([Filter::dictionary(), Filter::zstd(3)]))
        .attribute(Attribute::of::<f64>("celsius").filters(Filter::zstd(3)))
        .build()?;
    let measurements = Array::create("mem://arrow-stream", &schema)?;

    // Batches in time order make one fragment, however many there are.
    let mut writer = measurements.global_writer().start()?;
    for number in 0..24 {
        writer.submit(Columns::new().record_batch(&hour(number)))?;
    }
    writer.commit()?;

    // One batch in memory at a time.
    let noon_on = measurements.read().range("time", 12 * 3_600_000_i64..).select(["sensor", "celsius"]);
    let reader = noon_on.batch_cells(4096).batches()?.into_reader();
    println!("{}", reader.schema());
    let (mut rows, mut sum) = (0, 0.0);
    for batch in reader {
        let batch = batch.map_err(|error| Error::invalid(error.to_string()))?;
        rows += batch.num_rows();
        sum += batch.column(1).as_primitive::<Float64Type>().values().iter().sum::<f64>();
    }
    println!("{rows} measurements from noon on, {:.2} degrees on average", sum / rows as f64);
    assert_eq!(rows, 12_000);
    Ok(())
}

#[test]
fn the_example_runs() -> smalti::Result<()> {
    main()
}
