//! `smalti demo`: stores real data, queries it, draws it, and tells what to try next.

mod cities;
mod data;
mod elevation;
mod files;
mod genes;
mod pictures;
mod places;
mod report;

use crate::args::{DemoArgs, Global};
use crate::failure::{Failure, Outcome};
use data::{City, Elevation};
use report::Report;
use smalti_tools::human;
use std::path::Path;
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
    let uris = ["elevation", "cities"].map(|name| dir.join(name));
    for uri in &uris {
        remove_earlier(uri)?;
    }
    let [elevation_uri, cities_uri] = uris.map(|uri| uri.to_string_lossy().into_owned());
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
    next_steps(&mut report, dir);
    report.finish();
    Ok(())
}

/// Removes the array of an earlier demo, and nothing else.
fn remove_earlier(path: &Path) -> Outcome {
    if !path.exists() {
        return Ok(());
    }
    if !path.join("__schema").is_dir() {
        let name = path.display();
        return Err(Failure::invalid(format!(
            "{name} is in the way and is no array; choose another folder with --dir"
        )));
    }
    std::fs::remove_dir_all(path).map_err(|error| Failure::from(error).at(path.display().to_string()))
}

fn next_steps(report: &mut Report, dir: &Path) {
    let program = std::env::args().next().unwrap_or_else(|| "smalti".into());
    let (program, dir) = (shell_word(&program), dir.display().to_string());
    let array = |name: &str| shell_word(&format!("{dir}/{name}"));
    report.line("\nTry next:".into());
    for (command, purpose) in [
        (format!("{program} info {}", array("elevation")), "what is in an array"),
        (format!("{program} fragments {}", array("cities")), "its fragments"),
        (
            format!("{program} read {} --range lat=48.8:48.9 --range lon=2.2:2.5", array("cities")),
            "Paris and around",
        ),
        (
            format!(
                "{program} read {} --range row=660:780 --range col=3000:3300 --select elevation -o {}",
                array("elevation"),
                array("himalaya.npy")
            ),
            "the Himalaya for NumPy",
        ),
        (
            format!(
                "{program} read {} --range lat=34:61 --range lon=-12:34 -o {}",
                array("cities"),
                array("europe.parquet")
            ),
            "Europe for pandas, DuckDB, Polars",
        ),
        (
            format!(
                "{program} read {} --at {} --select name,country --format csv --limit 5",
                array("cities"),
                cities::WRITES[0].1
            ),
            "as of the first write",
        ),
        (format!("{program} schema {} --json", array("cities")), "a schema to create your own array from"),
        (format!("{program} meta {}", array("elevation")), "what the numbers mean"),
    ] {
        report.line(format!("  {command}\n      {purpose}"));
    }
}

/// A word that a shell takes as it is.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell_where_needed() {
        assert_eq!(shell_word("target/release/smalti"), "target/release/smalti");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
