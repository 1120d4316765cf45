//! The two pictures that the demo leaves.

use super::Window;
use super::cities::WRITES;
use super::data::{City, Elevation};
use super::elevation::RasterWindow;
use super::report::Report;
use crate::args::{Global, OpenTimes};
use crate::engine;
use crate::failure::{Failure, Outcome};
use smalti::{ExtentRef, Physical};
use smalti_tools::human;
use smalti_tools::picture::{FragmentShape, Grid, Label, MapPicture, Plane, Point, draw_fragments, draw_map};
use std::path::Path;
use std::time::Instant;

/// Places to name on the map, by country; the data does not say how large they are.
const NAMED: &[(&str, &str)] = &[
    ("London", "GB"),
    ("Paris", "FR"),
    ("Madrid", "ES"),
    ("Rome", "IT"),
    ("Berlin", "DE"),
    ("Vienna", "AT"),
    ("Warsaw", "PL"),
    ("Kiev", "UA"),
    ("Istanbul", "TR"),
    ("Athens", "GR"),
    ("Stockholm", "SE"),
    ("Oslo", "NO"),
    ("Dublin", "IE"),
    ("Lisbon", "PT"),
    ("Prague", "CZ"),
    ("Budapest", "HU"),
    ("Bucharest", "RO"),
    ("Sofia", "BG"),
    ("Belgrade", "RS"),
    ("Zagreb", "HR"),
    ("Milano", "IT"),
    ("Munich", "DE"),
    ("Zurich", "CH"),
    ("Barcelona", "ES"),
    ("Algiers", "DZ"),
    ("Tunis", "TN"),
    ("Copenhagen", "DK"),
    ("Riga", "LV"),
    ("Minsk", "BY"),
    ("Lyon", "FR"),
    ("Marseille", "FR"),
    ("Edinburgh", "GB"),
    ("Amsterdam", "NL"),
    ("Brussels", "BE"),
    ("Hamburg", "DE"),
    ("Sevilla", "ES"),
    ("Palermo", "IT"),
    ("Odessa", "UA"),
    ("Izmir", "TR"),
    ("Helsinki", "FI"),
];

/// Draws the elevation of a window with its places.
pub(super) fn draw_world_map(
    path: &Path,
    window: Window,
    raster: &RasterWindow,
    cities: &[City],
    report: &mut Report,
) -> Outcome {
    let start = Instant::now();
    let metres = raster.values.iter().map(|value| Elevation::metres(*value).map(f32::from)).collect();
    let grid = Grid { rows: raster.rows, cols: raster.cols, metres };
    let point = |city: &City| Point { lat: city.lat, lon: city.lon };
    let points: Vec<Point> = cities.iter().map(point).collect();
    let named = NAMED.iter().filter_map(|(name, country)| {
        let city = cities.iter().find(|city| city.name == *name && city.country == *country)?;
        Some(Label { point: point(city), name: city.name.clone() })
    });
    let canvas = draw_map(&MapPicture {
        grid: &grid,
        lat: window.lat,
        lon: window.lon,
        points: &points,
        labels: &named.collect::<Vec<_>>(),
        title: "Europe: elevation and places",
        sources: "Elevation: pvlib, Mapzen terrain tiles. Places: GeoNames (CC BY 4.0)",
    });
    let named_path = || path.display().to_string();
    let file = std::fs::File::create(path).map_err(|error| Failure::from(error).at(named_path()))?;
    canvas.write_png(std::io::BufWriter::new(file)).map_err(|error| Failure::from(error).at(named_path()))?;
    report.step(format!("{}: the window with its places", path.display()), start);
    Ok(())
}

/// Draws the tile rectangles of all fragments of the places.
pub(super) fn draw_tiles(
    global: &Global,
    uri: &str,
    path: &Path,
    land: Vec<[f64; 4]>,
    report: &mut Report,
) -> Outcome {
    let start = Instant::now();
    let array = engine::open(global, uri, OpenTimes::default())?;
    let mut shapes = Vec::new();
    for fragment in array.fragments()? {
        let Some(rectangles) = fragment.tile_rectangles()? else { continue };
        let side = |tile, dim| match rectangles.extent(tile, dim) {
            ExtentRef::Num { lo, hi } => (f64::from_ordinal(lo), f64::from_ordinal(hi)),
            ExtentRef::Str { .. } => (0.0, 0.0),
        };
        let rectangle = |tile| {
            let ((bottom, top), (left, right)) = (side(tile, 0), side(tile, 1));
            [left, bottom, right, top]
        };
        let write = WRITES.iter().find(|(_, at, _)| *at == fragment.time().start);
        let (region, date) = write.map_or(("a write", ""), |(region, _, date)| (region.name(), *date));
        // The small ones on top, or the large ones would hide them.
        let mut tiles: Vec<[f64; 4]> = (0..rectangles.len()).map(rectangle).collect();
        let area = |[left, bottom, right, top]: &[f64; 4]| (right - left) * (top - bottom);
        tiles.sort_by(|a, b| area(b).total_cmp(&area(a)));
        shapes.push(FragmentShape {
            title: format!("{}, written {date}", capitalized(region)),
            details: format!(
                "{} cells in {} tiles, {}",
                human::count(fragment.cell_count().unwrap_or_default()),
                fragment.tile_count(),
                human::bytes(fragment.byte_len()?)
            ),
            tiles,
        });
    }
    let plane = Plane {
        across: ("lon (degrees)".into(), -180.0, 180.0),
        up: ("lat (degrees)".into(), -90.0, 90.0),
        backdrop: land,
    };
    let svg =
        draw_fragments("Fragments of the cities array and the rectangles of their tiles", &plane, &shapes);
    std::fs::write(path, svg).map_err(|error| Failure::from(error).at(path.display().to_string()))?;
    report.step(format!("{}: fragments and their tiles", path.display()), start);
    Ok(())
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
