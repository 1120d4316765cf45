//! `smalti demo`: stores real data, queries it, draws it, and tells what to try next.

mod cities;
mod data;
mod elevation;
mod files;
mod genes;
mod next;
mod pictures;
mod place;
mod places;
mod report;

use crate::args::{DemoArgs, Global};
use crate::failure::{Failure, Outcome};
use data::{City, Elevation};
use place::Place;
use report::Report;
use smalti_tools::human;
use std::time::Instant;

/// A part of the world, in degrees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Degrees north of the southern and northern edge.
    pub(crate) lat: (f64, f64),
    /// Degrees east of the western and eastern edge.
    pub(crate) lon: (f64, f64),
}

/// The window that the map shows.
const EUROPE: Window = Window { lat: (34.0, 61.0), lon: (-12.0, 34.0) };
/// The window whose highest towns are looked for.
const ALPS: Window = Window { lat: (43.5, 48.0), lon: (5.0, 16.0) };

pub(crate) fn run(global: &Global, args: &DemoArgs) -> Outcome {
    if let Some(dir) = &args.data {
        return files::write(global, dir);
    }
    let start = Instant::now();
    let dir = &args.dir;
    std::fs::create_dir_all(dir).map_err(|error| Failure::from(error).at(dir.display().to_string()))?;
    let place = Place::new(dir, args.to.as_deref())?;
    let [elevation_uri, cities_uri] = ["elevation", "cities"].map(|name| place.array(name));
    for uri in [&elevation_uri, &cities_uri] {
        place.remove_earlier(global, uri)?;
    }
    let mut report = Report::new(global.json);

    report.title("1. A dense array: the elevation of all land, 12 cells a degree");
    let raster = Elevation::load()?;
    elevation::store(global, &elevation_uri, &raster, &mut report)?;
    let land = raster.land();
    drop(raster);

    report.title("2. A sparse array: the world's places with more than 1,000 inhabitants");
    let cities = City::load_all()?;
    cities::store(global, &cities_uri, &cities, &mut report)?;
    drop(cities);

    report.title("3. Slices: only the tiles that a range touches are read");
    let window = elevation::read_window(global, &elevation_uri, EUROPE, &mut report)?;
    let europe = cities::read_window(global, &cities_uri, EUROPE, &mut report)?;

    report.title("4. A filter over both arrays: the highest towns of the Alps");
    places::highest(global, &elevation_uri, &cities_uri, ALPS, &mut report)?;

    report.title("5. Time travel: the array as it was after each write");
    cities::travel(global, &cities_uri, &mut report)?;

    report.title("6. Pictures");
    pictures::draw_world_map(&dir.join("map.png"), EUROPE, &window, &europe, &mut report)?;
    pictures::draw_tiles(global, &cities_uri, &dir.join("fragments.svg"), land.clone(), &mut report)?;

    report.title("7. Consolidation: the four writes become one fragment, and every time stays what it was");
    cities::consolidate(global, &cities_uri, &mut report)?;
    pictures::draw_tiles(global, &cities_uri, &dir.join("merged.svg"), land, &mut report)?;

    report.line(format!("\nAll of it took {}.", human::duration(start.elapsed())));
    report.fact("seconds", start.elapsed().as_secs_f64().into());
    next::tell(global, &place, cities::WRITES[0].1, &mut report);
    report.finish();
    Ok(())
}
