//! Whole operations on small arrays in memory: open, read, write, consolidate; on one thread, at fixed times.
//! What other threads do, which finish files side by side, is not counted.

use crate::case::{Case, Outcome, Work, again, case, work};
use crate::input;
use smalti::upkeep::FragmentOptions;
use smalti::{
    Aggregate, Array, Attribute, Context, Dimension, Env, Filter, Layout, Options, ReadBuilder, Schema, field,
};
use smalti_store::{ManualClock, SeededEntropy};
use std::hint::black_box;

/// Cells along each side of the dense array, and of its tiles.
const SIDE: u32 = 128;
const TILE_SIDE: u32 = 32;
/// Cells of each fragment of the sparse array.
const POINT_COUNT: usize = 2000;
/// The domain of both dimensions of the sparse array, from 0 on.
const PLANE: i64 = 10_000;
/// Fragments that lie over each other.
const FRAGMENT_COUNT: u64 = 4;
/// The time of the first write.
const TIME: u64 = 1_700_000_000_000;

/// The cases.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("array-opened", || {
            let place = Place::new();
            place.points(FRAGMENT_COUNT)?;
            again(move || {
                black_box(place.open()?.fragments()?.len());
                Ok(())
            })
        }),
        case("dense-write", || {
            let (array, image) = (Place::new().dense()?, Image::new());
            work(move || image.write(&array))
        }),
        case("dense-read", || {
            of_image(|array| array.read().range("y", 10..100_u32).range("x", 20..90_u32).select(["height"]))
        }),
        case("dense-read-column-major", || {
            of_image(|array| array.read().range("y", 10..100_u32).select(["height"]).order(Layout::ColMajor))
        }),
        case("dense-read-of-fragments", || {
            let place = Place::new();
            let array = place.image()?;
            (1..FRAGMENT_COUNT as u32).try_for_each(|number| patch(&array, number))?;
            reading(place.open()?, |array| array.read().select(["height"]))
        }),
        case("dense-read-with-condition", || {
            of_image(|array| array.read().filter(field("height").gt(12.0)).matching_only())
        }),
        case("dense-read-to-arrow", || {
            let array = Place::new().image()?;
            again(move || {
                black_box(array.read().collect()?);
                Ok(())
            })
        }),
        case("dense-aggregates", || {
            let array = Place::new().image()?;
            again(move || {
                let wanted = [Aggregate::sum("height"), Aggregate::max("height"), Aggregate::count()];
                black_box(array.read().range("y", 10..100_u32).aggregate(wanted)?);
                Ok(())
            })
        }),
        case("sparse-write", || {
            let (array, points) = (Place::new().sparse()?, Points::new(0));
            work(move || points.write(&array, 0))
        }),
        case("sparse-read", || {
            of_points(1, |array| array.read().range("x", 2000..6000_i64).range("y", 1000..7000_i64))
        }),
        case("sparse-read-with-condition", || {
            of_points(1, |array| {
                array.read().filter(field("value").gt(12.0).and(field("name").ne("station-4-north")))
            })
        }),
        case("sparse-read-of-fragments", || of_points(FRAGMENT_COUNT, Array::read)),
        case("sparse-read-row-major", || {
            of_points(FRAGMENT_COUNT, |array| array.read().order(Layout::RowMajor))
        }),
        case("consolidation", || {
            let array = Place::new().points(FRAGMENT_COUNT)?;
            work(move || {
                black_box(array.consolidate(&FragmentOptions::default())?);
                Ok(())
            })
        }),
    ]
}

/// The array that a case works on, in a context of its own.
struct Place {
    options: Options,
}

impl Place {
    fn new() -> Place {
        let env = Env::new(ManualClock::new(TIME), SeededEntropy::new(51));
        let context = Context::new().threads(1).env(env).without_cache();
        Place { options: Options::new().context(&context) }
    }

    fn create(&self, schema: &Schema) -> Outcome<Array> {
        Ok(Array::create_with("mem://case", schema, &self.options)?)
    }

    fn open(&self) -> Outcome<Array> {
        Ok(Array::open_with("mem://case", &self.options)?)
    }

    /// A dense array without cells.
    fn dense(&self) -> Outcome<Array> {
        let dimension = |name: &str| Dimension::new(name, 0..=SIDE - 1).tile(TILE_SIDE);
        let schema = Schema::dense()
            .dimension(dimension("y"))
            .dimension(dimension("x"))
            .attribute(Attribute::of::<f64>("height").filters([Filter::byteshuffle(), Filter::zstd(3)]))
            .attribute(Attribute::of::<i32>("class").nullable().filters(Filter::lz4()));
        self.create(&schema.build()?)
    }

    /// A dense array that was written.
    fn image(&self) -> Outcome<Array> {
        let array = self.dense()?;
        Image::new().write(&array)?;
        self.open()
    }

    /// A sparse array without cells.
    fn sparse(&self) -> Outcome<Array> {
        let dimension =
            |name: &str| Dimension::new(name, 0..=PLANE - 1).tile(1000_i64).filters(Filter::zstd(3));
        let schema = Schema::sparse()
            .dimension(dimension("x"))
            .dimension(dimension("y"))
            .attribute(Attribute::of::<f64>("value").filters([Filter::byteshuffle(), Filter::zstd(3)]))
            .attribute(Attribute::utf8("name").filters([Filter::dictionary(), Filter::lz4()]))
            .capacity(500);
        self.create(&schema.build()?)
    }

    /// A sparse array of so many fragments.
    fn points(&self, fragment_count: u64) -> Outcome<Array> {
        let array = self.sparse()?;
        (0..fragment_count).try_for_each(|number| Points::new(number).write(&array, number))?;
        self.open()
    }
}

/// Cells of the dense array.
struct Image {
    heights: Vec<f64>,
    classes: Vec<Option<i32>>,
}

impl Image {
    fn new() -> Image {
        let count = (SIDE * SIDE) as usize;
        let classes =
            input::numbers(53, count, 8).into_iter().map(|class| (class > 0).then_some(class as i32));
        Image { heights: input::floats(52, count), classes: classes.collect() }
    }

    fn write(&self, array: &Array) -> Outcome {
        let write = array.write().column("height", &self.heights).column("class", &self.classes);
        write.at(TIME).commit()?;
        Ok(())
    }
}

/// Writes a part of the dense array again, over the cells of those before.
fn patch(array: &Array, number: u32) -> Outcome {
    let (rows, columns) = (10 * number..10 * number + 60, 15 * number..15 * number + 40);
    let heights = input::floats(70 + u64::from(number), 60 * 40);
    let classes = vec![Some(number as i32); heights.len()];
    let write = array.write().range("y", rows).range("x", columns);
    write.column("height", &heights).column("class", &classes).at(TIME + u64::from(number)).commit()?;
    Ok(())
}

/// Cells of a fragment of the sparse array.
struct Points {
    x: Vec<i64>,
    y: Vec<i64>,
    values: Vec<f64>,
    names: Vec<String>,
}

impl Points {
    fn new(number: u64) -> Points {
        // Each place once: a step that shares no divisor with the number of places meets all of them. A quarter of the places are
        // those of the fragment before.
        let first = number as i64 * POINT_COUNT as i64 * 3 / 4;
        let places = (first..).take(POINT_COUNT).map(|cell| cell * 48_271 % 1_000_000);
        let (x, y) = places.map(|place| (place / 1000 * 10, place % 1000 * 10)).unzip();
        let values = input::numbers(64 + number, POINT_COUNT, 2000).into_iter();
        let (bytes, ends) = input::names(54 + number, POINT_COUNT);
        let text =
            |ends: &[u64]| String::from_utf8_lossy(&bytes[ends[0] as usize..ends[1] as usize]).into_owned();
        Points {
            x,
            y,
            values: values.map(|value| value as f64 / 100.0).collect(),
            names: ends.windows(2).map(text).collect(),
        }
    }

    fn write(&self, array: &Array, number: u64) -> Outcome {
        let write = array.write().column("x", &self.x).column("y", &self.y).column("value", &self.values);
        write.column("name", &self.names).at(TIME + number).commit()?;
        Ok(())
    }
}

fn of_image(read: fn(&Array) -> ReadBuilder) -> Outcome<Work> {
    reading(Place::new().image()?, read)
}

fn of_points(fragment_count: u64, read: fn(&Array) -> ReadBuilder) -> Outcome<Work> {
    reading(Place::new().points(fragment_count)?, read)
}

fn reading(array: Array, read: fn(&Array) -> ReadBuilder) -> Outcome<Work> {
    again(move || {
        let mut cell_count = 0;
        for batch in read(&array).columns()? {
            cell_count += black_box(batch?).cell_count;
        }
        if cell_count == 0 { Err("the read gave no cells".into()) } else { Ok(()) }
    })
}
