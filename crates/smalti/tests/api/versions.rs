//! Merged fragments hold many versions of a cell: every read of them shows what the fragments showed that they were made of.

use smalti::upkeep::{Choice, FragmentOptions, VacuumOptions};
use smalti::{Array, Dimension, prelude::*};
use smalti::{Literal, Relation};

/// Numbers that look random, the same for a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The kinds of dimensions, by number.
const KINDS: u64 = 4;

fn create(seed: u64, numbers: &mut Numbers) -> Array {
    let schema = Schema::sparse();
    let schema = match seed % KINDS {
        0 => schema.dimension(Dimension::new("x", 0..=7)),
        1 => schema
            .dimension(Dimension::new("x", 0..=3).tile(2))
            .dimension(Dimension::new("y", 0..=3_u16).tile(3)),
        2 => schema.dimension(Dimension::string("x")).dimension(Dimension::new("y", 0..=3_u16)),
        _ => schema.dimension(Dimension::new("x", -4.0..=4.0)),
    };
    let schema = schema
        .attribute(Attribute::of::<i64>("a"))
        .attribute(Attribute::utf8("s").nullable())
        .capacity(1 + numbers.below(4))
        .allow_duplicates(false)
        .build()
        .unwrap();
    Array::create_with(&crate::uri(&format!("versions-{seed}")), &schema, &crate::options()).unwrap()
}

/// Writes some cells, each with the number of the write.
fn put(array: &Array, seed: u64, at: u64, numbers: &mut Numbers) {
    let mut places: Vec<(u64, u64)> =
        (0..1 + numbers.below(10)).map(|_| (numbers.below(4), numbers.below(4))).collect();
    places.sort_unstable();
    places.dedup();
    if matches!(seed % KINDS, 0 | 3) {
        places.dedup_by_key(|place| place.0);
    }
    let a: Vec<i64> = places.iter().map(|place| (100 * at + 10 * place.0 + place.1) as i64).collect();
    let s: Vec<Option<String>> = a.iter().map(|a| (a % 3 > 0).then(|| format!("text {a}"))).collect();
    let y: Vec<u16> = places.iter().map(|place| place.1 as u16).collect();
    let write = array.write().column("a", &a).column("s", &s).at(at);
    let ints: Vec<i32> = places.iter().map(|place| place.0 as i32).collect();
    let texts: Vec<String> = ints.iter().map(|x| "x".repeat(*x as usize)).collect();
    // Zeros of both signs among them.
    let float = |&(x, y): &(u64, u64)| if x == 1 && y > 1 { -0.0 } else { x as f64 - 1.0 };
    let floats: Vec<f64> = places.iter().map(float).collect();
    let write = match seed % KINDS {
        0 => write.column("x", &ints),
        1 => write.column("x", &ints).column("y", &y),
        2 => write.column("x", &texts).column("y", &y),
        _ => write.column("x", &floats),
    };
    write.commit().unwrap();
}

/// What reads of all kinds show, at every time until `end`.
fn shown(uri: &str, end: u64) -> Vec<String> {
    let mut all = Vec::new();
    let condition = || Condition::compare("a", Relation::Ge, Literal::from(300_i64));
    for at in (1..=end).chain([u64::MAX]) {
        let array = Array::open_with(uri, &crate::options().at(at)).unwrap();
        for layout in [Layout::Unordered, Layout::GlobalOrder, Layout::RowMajor] {
            for (kind, batch_cell_count) in [1, 2, 5, 1000].into_iter().enumerate() {
                let mut read = array.read().order(layout).batch_cells(batch_cell_count);
                // The times are read too, or not, nor the coordinates.
                read = match kind {
                    0 => read.timestamps(),
                    1 => read.select(["a"]),
                    _ => read,
                };
                if kind % 2 == 1 {
                    read = read.filter(condition());
                }
                let mut rows: Vec<String> = Vec::new();
                for batch in read.batches().unwrap() {
                    let batch = batch.unwrap();
                    assert!(batch.num_rows() <= batch_cell_count, "{}", batch.num_rows());
                    rows.extend((0..batch.num_rows()).map(|row| {
                        let cells =
                            batch.columns().iter().map(|column| format!("{:?}", column.slice(row, 1)));
                        cells.collect::<String>()
                    }));
                }
                if layout == Layout::Unordered {
                    rows.sort();
                }
                all.push(format!("at {at}, {layout}, batches of {batch_cell_count}: {rows:#?}"));
            }
        }
    }
    all
}

#[test]
fn merged_fragments_show_at_every_time_what_they_were_made_of() {
    for seed in 0..24 {
        let mut numbers = Numbers(seed);
        let array = create(seed, &mut numbers);
        let uri = crate::uri(&format!("versions-{seed}"));
        let end = 8;
        for at in 1..=end {
            if numbers.below(4) == 0 && at > 1 {
                let number = 100 * numbers.below(at) as i64;
                let condition = Condition::compare("a", Relation::Lt, Literal::from(number));
                array.delete(condition).at(at).commit().unwrap();
            } else {
                put(&array, seed, at, &mut numbers);
            }
        }
        let before = shown(&uri, end);
        let fragments = Array::open_with(&uri, &crate::options()).unwrap().fragments().unwrap();
        let names: Vec<String> = fragments.iter().map(|fragment| fragment.name().to_string()).collect();
        let count = names.len() - numbers.below(2) as usize;
        let choice = Choice::Listed(names[..count].to_vec());
        Array::open_with(&uri, &crate::options())
            .unwrap()
            .consolidate(&FragmentOptions { choice, ..FragmentOptions::default() })
            .unwrap();
        for (before, after) in before.iter().zip(shown(&uri, end)) {
            assert_eq!(*before, after, "seed {seed}");
        }
        Array::open_with(&uri, &crate::options()).unwrap().vacuum(&VacuumOptions::default()).unwrap();
        for (before, after) in
            before.iter().zip(shown(&uri, end)).filter(|(before, _)| before.contains("18446744073709551615"))
        {
            assert_eq!(*before, after, "seed {seed}");
        }
    }
}
