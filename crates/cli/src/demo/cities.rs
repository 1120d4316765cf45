//! The places of the world as a sparse array, written region by region.

use super::Window;
use super::data::City;
use super::place::{is_distant, stored};
use super::report::Report;
use crate::args::{Global, OpenTimes};
use crate::engine;
use crate::failure::Outcome;
use smalti::upkeep::{FragmentOptions, VacuumOptions};
use smalti::{Array, Batch, ColumnRef, Duplicates, Extent, Layout, ReadRequest, Scalar, WriteRequest};
use smalti_tools::When;
use smalti_tools::human;
use std::time::Instant;

const SCHEMA: &str = r#"{
    "array_type": "sparse", "allows_dups": true, "capacity": 1000, "cell_order": "hilbert",
    "dims": [
        {"name": "lat", "type": "FLOAT64", "domain": [-90.0, 90.0],
         "filters": [{"filter": "byteshuffle"}, {"filter": "zstd", "level": 5}]},
        {"name": "lon", "type": "FLOAT64", "domain": [-180.0, 180.0],
         "filters": [{"filter": "byteshuffle"}, {"filter": "zstd", "level": 5}]}
    ],
    "attrs": [
        {"name": "name", "type": "STRING_UTF8", "cell_val_num": "var", "filters": [{"filter": "zstd", "level": 5}]},
        {"name": "country", "type": "STRING_ASCII", "cell_val_num": "var", "filters": [{"filter": "zstd", "level": 5}]},
        {"name": "admin1", "type": "STRING_UTF8", "cell_val_num": "var", "filters": [{"filter": "zstd", "level": 5}]}
    ]
}"#;

/// The writes: a region, the timestamp that its write gets, in milliseconds since 1970, and its date.
pub(super) const WRITES: [(Region, u64, &str); 4] = [
    (Region::Europe, 1_609_459_200_000, "2021-01-01"),
    (Region::Africa, 1_640_995_200_000, "2022-01-01"),
    (Region::Americas, 1_672_531_200_000, "2023-01-01"),
    (Region::AsiaAndOceania, 1_704_067_200_000, "2024-01-01"),
];

/// A part of the world that is written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    Europe,
    Africa,
    Americas,
    AsiaAndOceania,
}

const EUROPE: &str = "AD AL AT AX BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD \
    ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK";
const AFRICA: &str = "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW \
    MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW";
const AMERICAS: &str = "AG AI AR AW BB BL BM BO BQ BR BS BZ CA CL CO CR CU CW DM DO EC FK GD GF GL GP GS GT GY HN HT JM KN \
    KY LC MF MQ MS MX NI PA PE PM PR PY SR SV SX TC TT US UY VC VE VG VI";

impl Region {
    fn of(country: &str) -> Region {
        let has = |list: &str| list.split_whitespace().any(|code| code == country);
        match country {
            _ if has(EUROPE) => Region::Europe,
            _ if has(AFRICA) => Region::Africa,
            _ if has(AMERICAS) => Region::Americas,
            _ => Region::AsiaAndOceania,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Region::Europe => "Europe",
            Region::Africa => "Africa",
            Region::Americas => "the Americas",
            Region::AsiaAndOceania => "Asia and Oceania",
        }
    }
}

/// Creates the array and writes a region after the other.
pub(super) fn store(global: &Global, uri: &str, cities: &[City], report: &mut Report) -> Outcome {
    let array = engine::create(global, uri, smalti::json::schema_from_json(SCHEMA)?, None)?;
    let mut seconds = 0.0;
    for (region, at, date) in WRITES {
        // In the order of countries: each is looked up once.
        let countries = cities.chunk_by(|a, b| a.country == b.country);
        let is_there = |same: &&[City]| same.first().is_some_and(|city| Region::of(&city.country) == region);
        let some: Vec<&City> = countries.filter(is_there).flatten().collect();
        let start = Instant::now();
        write(&array, &some, at)?;
        let places = human::count(some.len() as u64);
        let elapsed = report.step(format!("wrote {places} places of {}, dated {date}", region.name()), start);
        seconds += elapsed.as_secs_f64();
    }
    let fragments = array.fragments()?;
    let bytes = array.byte_len()?;
    let tiles: u64 = fragments.iter().map(|fragment| fragment.tile_count()).sum();
    report.line(format!(
        "   {}: {} in {} fragments of {tiles} tiles, {uri}",
        stored(uri),
        human::bytes(bytes),
        fragments.len()
    ));
    report.fact("cities", cities.len().into());
    report.fact("cities_bytes", bytes.into());
    report.fact("cities_write_seconds", seconds.into());
    Ok(())
}

fn write(array: &Array, cities: &[&City], at: u64) -> Outcome {
    let lats: Vec<f64> = cities.iter().map(|city| city.lat).collect();
    let lons: Vec<f64> = cities.iter().map(|city| city.lon).collect();
    let [names, countries, admin1s] = [
        |city: &City| city.name.clone(),
        |city: &City| city.country.clone(),
        |city: &City| city.admin1.clone(),
    ]
    .map(|text| Texts::new(cities.iter().map(|city| text(city))));
    let request = WriteRequest {
        columns: vec![
            ("lat".into(), ColumnRef::fixed(bytemuck::cast_slice(&lats))),
            ("lon".into(), ColumnRef::fixed(bytemuck::cast_slice(&lons))),
            ("name".into(), names.column()),
            ("country".into(), countries.column()),
            ("admin1".into(), admin1s.column()),
        ],
        subarray: None,
        layout: Layout::Unordered,
        at: Some(at),
        duplicates: Duplicates::default(),
        progress: None,
    };
    array.write_raw(&request)?;
    Ok(())
}

/// Texts as a column: all bytes, and where each text starts.
struct Texts {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
}

impl Texts {
    fn new(texts: impl Iterator<Item = String>) -> Self {
        let mut column = Texts { bytes: Vec::new(), offsets: vec![0] };
        for text in texts {
            column.bytes.extend_from_slice(text.as_bytes());
            column.offsets.push(column.bytes.len() as u64);
        }
        column
    }

    fn column(&self) -> ColumnRef<'_> {
        ColumnRef::var(&self.bytes, &self.offsets)
    }
}

/// Reads the places of a window.
pub(super) fn read_window(
    global: &Global,
    uri: &str,
    window: Window,
    report: &mut Report,
) -> Outcome<Vec<City>> {
    let start = Instant::now();
    let cities = read(global, uri, Some(window), OpenTimes::default())?;
    let (lat, lon) = (window.lat, window.lon);
    let places = human::count(cities.len() as u64);
    report.step(
        format!("read latitudes {} to {}, longitudes {} to {}: {places} places", lat.0, lat.1, lon.0, lon.1),
        start,
    );
    report.fact("cities_in_window", cities.len().into());
    Ok(cities)
}

/// Counts the places at the time of each write.
pub(super) fn travel(global: &Global, uri: &str, report: &mut Report) -> Outcome {
    for (region, at, date) in WRITES {
        let start = Instant::now();
        let cities = read(global, uri, None, OpenTimes::until(Some(When::Number(at))))?;
        let places = human::count(cities.len() as u64);
        report.step(format!("{date}, --at {at}: {places:>7} places, now with {}", region.name()), start);
    }
    Ok(())
}

/// Merges the writes into one fragment, removes them, and counts the places at each time again.
pub(super) fn consolidate(global: &Global, uri: &str, report: &mut Report) -> Outcome {
    let mut array = engine::open(global, uri, OpenTimes::default())?;
    let start = Instant::now();
    let done = array.consolidate(&FragmentOptions::default())?;
    let merged: usize = done.merges.iter().map(|merge| merge.inputs.len()).sum();
    report.step(format!("merged {merged} fragments into {}", array.fragments()?.len()), start);
    let start = Instant::now();
    // In a bucket nobody can tell who reads; but nobody knows of this array yet.
    let options = VacuumOptions { ignores_readers: is_distant(uri), ..VacuumOptions::default() };
    let removed = array.vacuum(&options)?;
    let bytes = human::bytes(removed.byte_len);
    let told = match removed.kept_for_readers.len() {
        0 => format!("removed the {} that were merged, {bytes}", removed.fragments.len()),
        count => format!(
            "hid the {count} that were merged; a vacuum in an hour removes them, as readers may have them open"
        ),
    };
    report.step(told, start);
    report.fact("cities_merged", merged.into());
    travel(global, uri, report)
}

/// The places of a window, or all of them.
pub(super) fn read(
    global: &Global,
    uri: &str,
    window: Option<Window>,
    times: OpenTimes,
) -> Outcome<Vec<City>> {
    let array = engine::open(global, uri, times)?;
    let range = |(lo, hi)| Extent::between(Scalar::F64(lo), Scalar::F64(hi));
    let ranges = match window {
        Some(window) => vec![vec![range(window.lat)?], vec![range(window.lon)?]],
        None => Vec::new(),
    };
    let fields = ["lat", "lon", "name", "country", "admin1"].map(String::from).to_vec();
    let request = ReadRequest { fields, ranges, layout: Some(Layout::Unordered), ..ReadRequest::default() };
    let mut cities = Vec::new();
    for batch in array.read_raw(&request)? {
        let batch: Batch = batch?;
        let [lats, lons, names, countries, admin1s] = batch.columns.as_slice() else { continue };
        let [names, countries, admin1s] = [names, countries, admin1s].map(|column| column.as_ref());
        let text = |column: ColumnRef<'_>, idx| String::from_utf8_lossy(column.cell(idx, 0)).into_owned();
        for (idx, (&lat, &lon)) in lats.data.values::<f64>().iter().zip(lons.data.values::<f64>()).enumerate()
        {
            let (name, country, admin1) = (text(names, idx), text(countries, idx), text(admin1s, idx));
            cities.push(City { lat, lon, name, admin1, country });
        }
    }
    Ok(cities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_belong_to_one_region() {
        assert_eq!(Region::of("CH"), Region::Europe);
        assert_eq!(Region::of("EG"), Region::Africa);
        assert_eq!(Region::of("US"), Region::Americas);
        assert_eq!(Region::of("JP"), Region::AsiaAndOceania);
        let mut codes: Vec<&str> =
            [EUROPE, AFRICA, AMERICAS].iter().flat_map(|list| list.split_whitespace()).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
