//! A question to both arrays at once.

use super::report::Report;
use super::{Window, cities, elevation};
use crate::args::{Global, OpenTimes};
use crate::failure::Outcome;
use smalti_tools::formats::Table;
use std::time::Instant;

/// How many towns are named.
const SHOWN: usize = 6;
/// Towns count as high from here, in metres.
const HIGH: i16 = 1400;

/// Finds the highest towns of a window: coordinates from one array, elevations from the other.
pub(super) fn highest(
    global: &Global,
    elevation_uri: &str,
    cities_uri: &str,
    window: Window,
    report: &mut Report,
) -> Outcome {
    let start = Instant::now();
    let raster = elevation::read(global, elevation_uri, window)?;
    let cities = cities::read(global, cities_uri, Some(window), OpenTimes::default())?;
    let mut high: Vec<_> = cities
        .iter()
        .filter_map(|city| raster.metres_at(city.lat, city.lon).map(|metres| (metres, city)))
        .filter(|(metres, _)| *metres >= HIGH)
        .collect();
    high.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    report.step(format!("{} of {} places lie at {HIGH} metres or more", high.len(), cities.len()), start);
    report.fact("high_towns", high.len().into());
    let titles = ["metres", "place", "region", "country", "lat", "lon"];
    let mut table =
        Table::new(titles.map(|title| (title.to_string(), ["metres", "lat", "lon"].contains(&title))));
    for (metres, city) in high.iter().take(SHOWN) {
        let coordinate = |degrees: f64| format!("{degrees:.3}");
        let (lat, lon) = (coordinate(city.lat), coordinate(city.lon));
        table.push(vec![
            metres.to_string(),
            city.name.clone(),
            city.admin1.clone(),
            city.country.clone(),
            lat,
            lon,
        ]);
    }
    let mut text = Vec::new();
    table.print(&mut text)?;
    for line in String::from_utf8_lossy(&text).lines() {
        report.line(format!("   {line}"));
    }
    Ok(())
}
