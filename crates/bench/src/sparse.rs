//! Workloads S1 to S3: points on a plane with two attributes.

use crate::{Outcome, boxes, npz, text};
use serde_json::Value;
use smalti::{
    Array, Attribute, Batch, ColumnRef, Dimension, Duplicates, Extent, Filter, Layout, ReadRequest, Scalar,
    Schema, WriteRequest,
};

const DOMAIN: i64 = 1_000_000;
const EXTENT: i64 = 10_000;
const CAPACITY: u64 = 100_000;

/// The points, loaded once.
#[derive(Default)]
pub(crate) struct Input {
    folder: String,
    columns: Vec<(String, Vec<u8>)>,
}

impl Input {
    pub(crate) fn load(&mut self, query: &Value) -> Outcome<()> {
        let folder = text(query, "ind")?;
        if self.folder != folder {
            let path = format!("{folder}/pts.npz");
            self.columns = ["x", "y", "a", "b"]
                .into_iter()
                .map(|name| Ok((name.to_owned(), npz::array(&path, name)?)))
                .collect::<Outcome<_>>()?;
            self.folder = folder.to_owned();
        }
        Ok(())
    }

    pub(crate) fn write(&self, query: &Value) -> Outcome<()> {
        Array::open(text(query, "path")?)?.write_raw(&WriteRequest {
            columns: self
                .columns
                .iter()
                .map(|(name, bytes)| (name.clone(), ColumnRef::fixed(bytes)))
                .collect(),
            subarray: None,
            layout: Layout::Unordered,
            at: None,
            duplicates: Duplicates::Refuse,
        })?;
        Ok(())
    }
}

pub(crate) fn create(query: &Value) -> Outcome<()> {
    let zstd = || [Filter::Zstd { level: 3 }];
    let dimension = |name: &str| Dimension::new(name, 0..=DOMAIN - 1).tile(EXTENT).filters(zstd());
    let mut schema = Schema::sparse()
        .dimension(dimension("x"))
        .dimension(dimension("y"))
        .attribute(Attribute::of::<f64>("a").filters(zstd()))
        .attribute(Attribute::of::<i32>("b").filters(zstd()))
        .capacity(CAPACITY);
    if query["v"] == "hilbert" {
        schema = schema.hilbert();
    }
    Array::create(text(query, "path")?, &schema.build()?)?;
    Ok(())
}

/// Opens the array and reads it all in an order, or box by box.
pub(crate) fn read(query: &Value) -> Outcome<Vec<Batch>> {
    let array = Array::open(text(query, "path")?)?;
    let layout = match query["o"].as_str() {
        Some("global") => Layout::GlobalOrder,
        Some("row") => Layout::RowMajor,
        _ => Layout::Unordered,
    };
    let mut boxes = boxes(query);
    if boxes.is_empty() {
        boxes.push(Vec::new());
    }
    let mut batches = Vec::new();
    for sides in boxes {
        let ranges = sides
            .into_iter()
            .map(|(lo, hi)| Ok(vec![Extent::between(Scalar::I64(lo), Scalar::I64(hi))?]))
            .collect::<Outcome<Vec<_>>>()?;
        let request = ReadRequest {
            fields: Vec::new(),
            ranges,
            layout: Some(layout),
            batch_cell_count: Some(usize::MAX),
            ..ReadRequest::default()
        };
        for batch in array.read_raw(&request)? {
            batches.push(batch?);
        }
    }
    Ok(batches)
}

pub(crate) fn checksum(batch: &Batch) -> f64 {
    let [x, y, a, b] = &batch.columns[..] else { return f64::NAN };
    let longs = |values: &[i64]| values.iter().map(|&value| value as f64).sum::<f64>();
    longs(x.data.values())
        + longs(y.data.values())
        + a.data.values::<f64>().iter().sum::<f64>()
        + b.data.values::<i32>().iter().map(|&value| f64::from(value)).sum::<f64>()
}
