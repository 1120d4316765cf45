//! The elevation raster as a dense array.

use super::Window;
use super::data::{Elevation, NO_ELEVATION};
use super::place::stored;
use super::report::Report;
use crate::args::{Global, OpenTimes};
use crate::engine;
use crate::failure::Outcome;
use smalti::{ColumnRef, Duplicates, Extent, Layout, ReadRequest, Scalar, WriteRequest};
use smalti_tools::human;
use std::time::Instant;

/// Cells a degree, in both directions.
const PER_DEGREE: f64 = 12.0;

const SCHEMA: &str = r#"{
    "array_type": "dense",
    "dims": [
        {"name": "row", "type": "INT32", "domain": [0, 2159], "tile": 180},
        {"name": "col", "type": "INT32", "domain": [0, 4319], "tile": 180}
    ],
    "attrs": [{"name": "elevation", "type": "UINT8", "filters": [{"filter": "zstd", "level": 3}]}]
}"#;

const METADATA: &[(&str, &str)] = &[
    ("meaning", "metres = 28 * elevation - 450; 255 = sea or no data"),
    ("place", "centre of a cell: latitude 90 - (row + 0.5) / 12, longitude -180 + (col + 0.5) / 12 degrees"),
    ("source", "pvlib 0.16.1, Altitude.h5, from terrain tiles by Mapzen; see crates/cli/data/README.md"),
];

/// A part of the raster.
#[derive(Debug)]
pub(super) struct RasterWindow {
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Row and column of the first cell in the whole raster.
    pub(super) first: (i32, i32),
    /// Row by row, as stored.
    pub(super) values: Vec<u8>,
}

impl RasterWindow {
    /// The elevation at a place, in metres; `None` at sea and outside.
    pub(super) fn metres_at(&self, lat: f64, lon: f64) -> Option<i16> {
        let row =
            usize::try_from(((90.0 - lat) * PER_DEGREE).floor() as i64 - i64::from(self.first.0)).ok()?;
        let col =
            usize::try_from(((lon + 180.0) * PER_DEGREE).floor() as i64 - i64::from(self.first.1)).ok()?;
        let value = self.values.get(row * self.cols + col).filter(|_| row < self.rows && col < self.cols)?;
        Elevation::metres(*value)
    }
}

/// Creates the array and writes all of the raster.
pub(super) fn store(global: &Global, uri: &str, raster: &Elevation, report: &mut Report) -> Outcome {
    let array = engine::create(global, uri, smalti::json::schema_from_json(SCHEMA)?, None)?;
    let start = Instant::now();
    let request = WriteRequest {
        columns: vec![("elevation".into(), ColumnRef::fixed(&raster.values))],
        subarray: None,
        layout: Layout::RowMajor,
        at: None,
        duplicates: Duplicates::default(),
        progress: None,
    };
    array.write_raw(&request)?;
    let cells = raster.values.len() as u64;
    let elapsed = report.step(
        format!("wrote {} x {} = {} cells to {uri}", raster.rows, raster.cols, human::count(cells)),
        start,
    );
    let metadata =
        METADATA.iter().fold(array.write_metadata(), |change, (key, text)| change.put(*key, *text));
    metadata.commit()?;
    let bytes = array.byte_len()?;
    report.line(format!(
        "   {}: {}, {:.1} times less than in memory",
        stored(uri),
        human::bytes(bytes),
        cells as f64 / bytes as f64
    ));
    report.fact("elevation_cells", cells.into());
    report.fact("elevation_bytes", bytes.into());
    report.fact("elevation_write_seconds", elapsed.as_secs_f64().into());
    Ok(())
}

/// Reads a part of the raster.
pub(super) fn read_window(
    global: &Global,
    uri: &str,
    window: Window,
    report: &mut Report,
) -> Outcome<RasterWindow> {
    let start = Instant::now();
    let raster = read(global, uri, window)?;
    let land: Vec<u8> = raster.values.iter().copied().filter(|value| *value != NO_ELEVATION).collect();
    report.step(
        format!(
            "read rows {}.., columns {}..: {} x {} cells",
            raster.first.0, raster.first.1, raster.rows, raster.cols
        ),
        start,
    );
    let highest = land.iter().max().and_then(|value| Elevation::metres(*value)).unwrap_or_default();
    report.line(format!(
        "   {:.0} % of them land, the highest at {highest} metres",
        100.0 * land.len() as f64 / raster.values.len() as f64
    ));
    Ok(raster)
}

/// Reads a part of the raster without a word.
pub(super) fn read(global: &Global, uri: &str, window: Window) -> Outcome<RasterWindow> {
    let array = engine::open(global, uri, OpenTimes::default())?;
    let cells =
        |from: f64, to: f64| ((from * PER_DEGREE).round() as i32, (to * PER_DEGREE).round() as i32 - 1);
    let rows = cells(90.0 - window.lat.1, 90.0 - window.lat.0);
    let cols = cells(window.lon.0 + 180.0, window.lon.1 + 180.0);
    let range = |(lo, hi)| Extent::between(Scalar::I32(lo), Scalar::I32(hi));
    let request = ReadRequest {
        fields: vec!["elevation".into()],
        ranges: vec![vec![range(rows)?], vec![range(cols)?]],
        layout: Some(Layout::RowMajor),
        ..ReadRequest::default()
    };
    let mut values = Vec::new();
    for batch in array.read_raw(&request)? {
        for column in &batch?.columns {
            values.extend_from_slice(column.data.as_slice());
        }
    }
    let count = |(lo, hi): (i32, i32)| usize::try_from(hi - lo + 1).unwrap_or(0);
    Ok(RasterWindow { rows: count(rows), cols: count(cols), first: (rows.0, cols.0), values })
}
