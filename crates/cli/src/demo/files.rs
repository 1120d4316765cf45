//! The data of the tour and of the guides as files that other programs read, too.

use super::data::{City, Elevation};
use super::genes::{Counts, GENES, gene_name};
use crate::args::Global;
use crate::failure::{Failure, Outcome};
use serde_json::{Map, Value};
use smalti_tools::formats::NpyHeader;
use smalti_tools::human;
use smalti_tools::output::OutputFile;
use std::io::{BufWriter, Write};
use std::path::Path;

/// What stands in heights.npy where there is no land: the lowest number, as in many elevation models.
const NO_HEIGHT: i16 = i16::MIN;

/// Rows and columns of the raster for each degree.
const PER_DEGREE: f64 = 12.0;

/// Writes all files, and tells what is in each.
pub(super) fn write(global: &Global, dir: &Path) -> Outcome {
    std::fs::create_dir_all(dir).map_err(|error| Failure::from(error).at(dir.display().to_string()))?;
    let mut files = Files { global, dir, facts: Map::new() };
    let raster = Elevation::load()?;
    let heights = raster.values.iter().flat_map(|value| {
        let metres = Elevation::metres(*value).unwrap_or(NO_HEIGHT);
        metres.to_le_bytes()
    });
    let what = "heights of the land in metres, 2160 x 4320 cells; -32768 is the sea";
    files.npy("heights.npy", what, "<i2", vec![raster.rows, raster.cols], heights.collect())?;
    let lats = (0..raster.rows).map(|row| 90.0 - (row as f64 + 0.5) / PER_DEGREE);
    let lats = lats.flat_map(f64::to_le_bytes).collect();
    files.npy("lat.npy", "the latitude of each row", "<f8", vec![raster.rows], lats)?;
    let lons = (0..raster.cols).map(|col| (col as f64 + 0.5) / PER_DEGREE - 180.0);
    let lons = lons.flat_map(f64::to_le_bytes).collect();
    files.npy("lon.npy", "the longitude of each column", "<f8", vec![raster.cols], lons)?;
    drop(raster);

    let cities = City::load_all()?;
    let rows = cities.iter().map(|city| {
        let City { lat, lon, name, admin1, country } = city;
        format!("{},{country},{},{lat},{lon}", quoted(name), quoted(admin1))
    });
    let what = "places of the world, one a row";
    files.csv("cities.csv", what, "name,country,admin1,lat,lon", rows)?;

    let counts = Counts::new();
    let genes = (0..GENES).map(|gene| format!("{gene},{}", gene_name(gene)));
    files.csv("genes.csv", "made-up data: genes, one a row", "gene_id,gene", genes)?;
    let cells = counts.cells.iter().enumerate().map(|(idx, cell)| {
        format!("{idx},{},{},{}", cell.barcode, cell.kind.name, if cell.is_second { "D2" } else { "D1" })
    });
    files.csv("cells.csv", "made-up data: cells, one a row", "cell_id,barcode,cell_type,donor", cells)?;
    for (name, is_second) in [("counts_D1.csv", false), ("counts_D2.csv", true)] {
        let rows = counts.of_donor(is_second).map(|(cell, gene, count)| format!("{cell},{gene},{count}"));
        files.csv(name, "made-up data: molecules of a gene in a cell", "cell_id,gene_id,molecules", rows)?;
    }
    if global.json {
        println!("{}", Value::Object(files.facts));
    }
    Ok(())
}

/// Where files go, and what is told of them.
struct Files<'a> {
    global: &'a Global,
    dir: &'a Path,
    facts: Map<String, Value>,
}

impl Files<'_> {
    fn npy(&mut self, name: &str, what: &str, descr: &str, shape: Vec<usize>, values: Vec<u8>) -> Outcome {
        let header = NpyHeader { descr: descr.into(), is_fortran: false, shape };
        self.put(name, what, |out| {
            out.write_all(&header.encode())?;
            out.write_all(&values)
        })
    }

    fn csv(&mut self, name: &str, what: &str, head: &str, rows: impl Iterator<Item = String>) -> Outcome {
        self.put(name, what, |out| {
            writeln!(out, "{head}")?;
            for row in rows {
                writeln!(out, "{row}")?;
            }
            Ok(())
        })
    }

    fn put(
        &mut self,
        name: &str,
        what: &str,
        fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Outcome {
        let path = self.dir.join(name);
        let named = |error: std::io::Error| Failure::from(error).at(path.display().to_string());
        let (output, file) = OutputFile::create(&path)?;
        let mut out = BufWriter::new(file);
        fill(&mut out).map_err(named)?;
        let file = out.into_inner().map_err(|error| named(error.into_error()))?;
        let byte_len = file.metadata().map_err(named)?.len();
        output.keep()?;
        if self.global.json {
            self.facts.insert(name.into(), byte_len.into());
        } else {
            println!("{name:<14}{:>10}  {what}", human::bytes(byte_len));
        }
        Ok(())
    }
}

/// A value of a CSV file.
fn quoted(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_quotes_are_quoted() {
        assert_eq!(["a b", "a,b", "a\"b"].map(quoted), ["a b", "\"a,b\"", "\"a\"\"b\""]);
    }
}
