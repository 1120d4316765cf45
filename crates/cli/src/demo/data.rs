//! The data that `smalti demo` shows: land elevation and the cities of the world.
//!
//! Both are compiled into the program. `crates/cli/data/README.md` gives their sources, licences and
//! layouts; `tools/make_demo_data.py` writes them.

use std::io::{Error, ErrorKind, Result};

static ELEVATION: &[u8] = include_bytes!("../../data/elevation.zst");
static CITIES: &[u8] = include_bytes!("../../data/cities.zst");

/// Neither file is larger once decompressed.
const MAX_BYTE_LEN: usize = 16 << 20;

/// The value of [`Elevation::values`] at sea, and wherever nothing is known.
pub(crate) const NO_ELEVATION: u8 = 255;

/// Elevation of the land on a grid of 12 cells a degree, in row-major order.
///
/// Row 0 is the northernmost, column 0 the westernmost: the centre of the cell (`row`, `col`) lies at
/// latitude `90 - (row + 0.5) / 12` and longitude `-180 + (col + 0.5) / 12` degrees.
#[derive(Debug)]
pub(crate) struct Elevation {
    /// The number of rows, 2160.
    pub(crate) rows: usize,
    /// The number of columns, 4320.
    pub(crate) cols: usize,
    /// One value a cell: [`NO_ELEVATION`], or steps of 28 metres above -450 metres.
    pub(crate) values: Vec<u8>,
}

impl Elevation {
    /// Decodes the raster.
    ///
    /// # Errors
    /// `InvalidData` when the compiled-in file is damaged.
    pub(crate) fn load() -> Result<Self> {
        Self::decode(ELEVATION)
    }

    /// The elevation that a value stands for, in metres above the sea.
    pub(crate) fn metres(value: u8) -> Option<i16> {
        (value != NO_ELEVATION).then(|| 28 * i16::from(value) - 450)
    }

    /// Where land is, in squares of one degree joined to bars: left, bottom, right and top in degrees.
    pub(crate) fn land(&self) -> Vec<[f64; 4]> {
        let side = (self.rows / 180).max(1);
        let is_land = |top: usize, left: usize| {
            let square = (top..top + side).filter_map(|row| {
                let start = row * self.cols + left;
                self.values.get(start..start + side)
            });
            let known = square.flatten().filter(|value| **value != NO_ELEVATION).count();
            2 * known > side * side
        };
        let mut bars: Vec<[f64; 4]> = Vec::new();
        for (top, north) in (0..self.rows / side).map(|row| (row * side, 90.0 - row as f64)) {
            for (left, west) in (0..self.cols / side).map(|col| (col * side, col as f64 - 180.0)) {
                if !is_land(top, left) {
                    continue;
                }
                match bars.last_mut() {
                    Some([_, _, right, top]) if *right == west && *top == north => *right = west + 1.0,
                    _ => bars.push([west, north - 1.0, west + 1.0, north]),
                }
            }
        }
        bars
    }

    fn decode(compressed: &[u8]) -> Result<Self> {
        let content = zstd::bulk::decompress(compressed, MAX_BYTE_LEN)?;
        let mut rest = content.as_slice();
        let (rows, cols) = (take_u32(&mut rest)?, take_u32(&mut rest)?);
        let wrong = || damaged("the raster is not rows times columns long");
        let cell_count = rows.checked_mul(cols).filter(|count| *count > 0).ok_or_else(wrong)?;
        let (land, differences) = rest.split_at_checked(cell_count.div_ceil(8)).ok_or_else(wrong)?;
        let mut differences = differences.iter();
        let mut values = vec![NO_ELEVATION; cell_count];
        for cell in 0..cell_count {
            if land[cell / 8] >> (cell % 8) & 1 == 1 {
                let near =
                    |is_there: bool, back: usize| if is_there { values[cell - back] } else { NO_ELEVATION };
                let (has_left, has_above) = (cell % cols > 0, cell >= cols);
                let left = near(has_left, 1);
                let predicted = predicted(left, near(has_above, cols), near(has_left && has_above, cols + 1));
                values[cell] = differences.next().ok_or_else(wrong)?.wrapping_add(predicted);
            }
        }
        if differences.len() > 0 {
            return Err(wrong());
        }
        Ok(Self { rows, cols, values })
    }
}

/// A populated place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct City {
    /// Degrees north.
    pub(crate) lat: f64,
    /// Degrees east.
    pub(crate) lon: f64,
    /// The name, in ASCII transcription; empty for two places.
    pub(crate) name: String,
    /// The first administrative division (state, province), empty where unknown.
    pub(crate) admin1: String,
    /// The country, by its ISO 3166 code of two letters.
    pub(crate) country: String,
}

impl City {
    /// Decodes all places: 144,563 of them, ordered by country.
    ///
    /// # Errors
    /// `InvalidData` when the compiled-in file is damaged.
    pub(crate) fn load_all() -> Result<Vec<Self>> {
        Self::decode_all(CITIES)
    }

    fn decode_all(compressed: &[u8]) -> Result<Vec<Self>> {
        let content = zstd::bulk::decompress(compressed, MAX_BYTE_LEN)?;
        let mut rest = content.as_slice();
        let city_count = take_u32(&mut rest)?;
        let lats = take_degrees(&mut rest, city_count)?;
        let lons = take_degrees(&mut rest, city_count)?;
        let text = std::str::from_utf8(rest).map_err(|_| damaged("the names are not UTF-8"))?;
        let texts: Vec<&str> = text.lines().collect();
        if texts.len() != 3 * city_count {
            return Err(damaged("there are not three texts a city"));
        }
        let (names, others) = texts.split_at(city_count);
        let (admin1s, countries) = others.split_at(city_count);
        let places = lats.zip(lons).zip(names.iter().zip(admin1s).zip(countries));
        Ok(places
            .map(|((lat, lon), ((&name, &admin1), &country))| Self {
                lat,
                lon,
                name: name.into(),
                admin1: admin1.into(),
                country: country.into(),
            })
            .collect())
    }
}

/// What the cells left, above, and left of above let expect: `crates/cli/data/README.md`.
fn predicted(left: u8, above: u8, corner: u8) -> u8 {
    const BESIDE_THE_SEA: u8 = 16;
    if left == NO_ELEVATION || above == NO_ELEVATION || corner == NO_ELEVATION {
        let land = [left, above, corner].into_iter().find(|value| *value != NO_ELEVATION);
        return land.unwrap_or(BESIDE_THE_SEA);
    }
    let (least, greatest) = (left.min(above), left.max(above));
    if corner >= greatest {
        least
    } else if corner <= least {
        greatest
    } else {
        // Between the two.
        least + (greatest - corner)
    }
}

fn take_u32(rest: &mut &[u8]) -> Result<usize> {
    let (head, tail) = rest.split_first_chunk().ok_or_else(|| damaged("it ends early"))?;
    *rest = tail;
    Ok(u32::from_le_bytes(*head) as usize)
}

/// `count` coordinates, stored as whole hundred-thousandths of a degree in planes of bytes.
fn take_degrees<'a>(rest: &mut &'a [u8], count: usize) -> Result<impl Iterator<Item = f64> + use<'a>> {
    let byte_len = count.checked_mul(4).ok_or_else(|| damaged("it counts too many cities"))?;
    let (head, tail) = rest.split_at_checked(byte_len).ok_or_else(|| damaged("it ends early"))?;
    *rest = tail;
    let unit = move |at: usize| i32::from_le_bytes(std::array::from_fn(|plane| head[plane * count + at]));
    Ok((0..count).map(move |at| f64::from(unit(at)) / 100_000.0))
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("demo data is damaged: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elevation at a place, in metres.
    fn metres_at(elevation: &Elevation, lat: f64, lon: f64) -> Option<i16> {
        let row = ((90.0 - lat) * 12.0) as usize;
        let col = ((lon + 180.0) * 12.0) as usize;
        Elevation::metres(elevation.values[row * elevation.cols + col])
    }

    #[test]
    fn elevation_has_every_cell_and_knows_mountains_and_seas() {
        let elevation = Elevation::load().unwrap();
        assert_eq!((elevation.rows, elevation.cols), (2160, 4320));
        assert_eq!(elevation.values.len(), 2160 * 4320);
        let sum: u64 = elevation.values.iter().map(|&value| u64::from(value)).sum();
        assert_eq!(sum, 1_761_997_099);
        assert!(metres_at(&elevation, 27.99, 86.93).unwrap() > 5000, "Mount Everest");
        assert!(metres_at(&elevation, 31.5, 35.48).unwrap() < -350, "Dead Sea");
        assert_eq!(metres_at(&elevation, 0.0, -30.0), None, "Atlantic Ocean");
        let land = elevation.land();
        let is_land = |lat: f64, lon: f64| {
            land.iter().any(|[left, bottom, right, top]| {
                (*left..*right).contains(&lon) && (*bottom..*top).contains(&lat)
            })
        };
        assert!(is_land(48.5, 8.5) && is_land(-25.5, 134.5) && !is_land(0.5, -30.5));
    }

    #[test]
    fn cities_are_all_there_with_exact_coordinates() {
        let cities = City::load_all().unwrap();
        assert_eq!(cities.len(), 144_563);
        let first = City {
            lat: 42.57952,
            lon: 1.65362,
            name: "El Tarter".into(),
            admin1: "Canillo".into(),
            country: "AD".into(),
        };
        assert_eq!(cities[0], first);
        assert!(cities.iter().all(|city| city.lat.abs() <= 90.0 && city.lon.abs() <= 180.0));
        assert!(cities.iter().all(|city| city.country.len() == 2));
        assert!(cities.is_sorted_by_key(|city| &city.country));
        assert_eq!(cities.iter().filter(|city| city.name.is_empty()).count(), 2);
        let paris = cities.iter().find(|city| city.name == "Paris" && city.country == "FR").unwrap();
        assert_eq!((paris.lat, paris.lon), (48.85341, 2.3488));
    }

    #[test]
    fn cut_data_is_an_error() {
        for contents in
            [&b""[..], &[1, 0, 0], &[2, 0, 0, 0, 2, 0, 0, 0, 1, 1, 1], &[1, 0, 0, 0, 9, 9, 9, 9, 9]]
        {
            let compressed = zstd::bulk::compress(contents, 1).unwrap();
            assert!(Elevation::decode(&compressed).is_err());
            assert!(City::decode_all(&compressed).is_err());
        }
        assert!(Elevation::decode(&ELEVATION[..1000]).is_err());
        assert!(City::decode_all(&CITIES[..1000]).is_err());
    }
}
