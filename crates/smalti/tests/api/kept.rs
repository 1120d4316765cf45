//! Decoded tiles that a context keeps, and the account of its memory.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int16Type, Int32Type, Int64Type, UInt8Type};
use smalti::{Array, Context, Dimension, Duplicates, Object, Progress, ReadStatistics, prelude::*};
use smalti_store::{ManualClock, SeededEntropy};
use smalti_types::Env;
use std::sync::Arc;

fn zstd() -> Filter {
    Filter::Zstd { level: 1 }
}

/// A line of 10,000 cells in tiles of 1,000, by two writes.
fn line(uri: &str, options: &Options, is_dense: bool) -> Array {
    let (schema, x) = match is_dense {
        true => (Schema::dense(), Dimension::new("x", 0..=9_999).tile(1_000)),
        false => (Schema::sparse().capacity(1_000), Dimension::new("x", 0..=9_999).filters([zstd()])),
    };
    let schema = schema
        .dimension(x)
        .attribute(Attribute::of::<i64>("a").filters([zstd()]))
        .attribute(Attribute::utf8("s").nullable().filters([zstd()]))
        .build()
        .unwrap();
    let array = Array::create_with(uri, &schema, options).unwrap();
    for part in 0..2 {
        let cells: Vec<i64> = (part * 5_000..(part + 1) * 5_000).collect();
        let a: Vec<i64> = cells.iter().map(|cell| cell * cell % 1_013).collect();
        let s: Vec<Option<String>> = a.iter().map(|a| (a % 3 > 0).then(|| format!("s{a}"))).collect();
        let write = array.write().column("a", &a).column("s", &s);
        let x: Vec<i32> = cells.iter().map(|&cell| cell as i32).collect();
        match is_dense {
            true => write.range("x", x[0]..=x[4_999]).commit(),
            false => write.column("x", &x).commit(),
        }
        .unwrap();
    }
    array
}

/// The values of a range, and what it took.
fn spent(
    array: &Array,
    range: std::ops::RangeInclusive<i32>,
) -> (smalti::arrow_array::RecordBatch, ReadStatistics) {
    let progress = Arc::new(Progress::default());
    let read = array.read().range("x", range).progress(Arc::clone(&progress));
    (read.collect().unwrap(), progress.statistics())
}

#[test]
fn boxes_over_the_same_tiles_decode_each_tile_once() {
    for is_dense in [true, false] {
        let (context, plain) = (Context::new(), Context::new().without_cache());
        let name = if is_dense { "mem://dense" } else { "mem://sparse" };
        let array = line(name, &Options::new().context(&context), is_dense);
        let uncached = line(name, &Options::new().context(&plain), is_dense);
        for pass in 0..3 {
            for range in [1_300..=1_700, 1_650..=2_100, 4_990..=5_010] {
                let (cells, statistics) = spent(&array, range.clone());
                let (expected, of_uncached) = spent(&uncached, range.clone());
                assert_eq!(cells, expected, "{name} {range:?}");
                assert_eq!(of_uncached.kept_tile_count, 0);
                if pass > 0 {
                    assert_eq!((statistics.tile_count, statistics.byte_len), (0, 0), "{name} {range:?}");
                    assert_eq!(statistics.kept_tile_count, of_uncached.tile_count, "{name} {range:?}");
                }
            }
        }
        // Another handle of the context finds them too; what reads everything does not look.
        let again = Array::open_with(name, &Options::new().context(&context)).unwrap();
        assert_eq!(spent(&again, 1_300..=1_700).1.tile_count, 0);
        let (progress, kept) = (Arc::new(Progress::default()), context.kept_byte_len());
        again.read().progress(Arc::clone(&progress)).collect().unwrap();
        assert_eq!(progress.statistics().kept_tile_count, 0);
        assert!(kept > 0 && context.kept_byte_len() == kept);
        context.forget_kept();
        assert!(spent(&again, 1_300..=1_700).1.tile_count > 0);
    }
}

/// Tiles of several chunks, of cells of several lengths.
#[test]
fn scattered_cells_come_from_chunks_as_from_tiles() {
    const CELL_COUNT: i64 = 70_000;
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=99_999_i64))
        .dimension(Dimension::new("y", 0..=99_999_i64))
        .capacity(30_000)
        .allow_duplicates(true)
        .attribute(Attribute::of::<i64>("long").filters([zstd()]))
        .attribute(Attribute::of::<i32>("three").values_per_cell(3).filters([zstd()]))
        .attribute(Attribute::of::<u8>("short").filters([zstd()]))
        .attribute(Attribute::of::<i16>("maybe").nullable().filters([zstd()]))
        .attribute(Attribute::of::<f32>("plain"))
        .build()
        .unwrap();
    let (context, plain) = (Context::new(), Context::new().without_cache());
    for (context, keeps) in [(&context, true), (&plain, false)] {
        let options = Options::new().context(context);
        let array = Array::create_with("mem://chunks", &schema, &options).unwrap();
        let x: Vec<i64> = (0..CELL_COUNT).collect();
        let y: Vec<i64> = x.iter().map(|x| x * 7_919 % 1_000).collect();
        let three: Vec<[i32; 3]> = x.iter().map(|&x| [x as i32, -x as i32, 5]).collect();
        let short: Vec<u8> = x.iter().map(|&x| x as u8).collect();
        let maybe: Vec<Option<i16>> = x.iter().map(|&x| (x % 5 > 0).then_some(x as i16)).collect();
        let plain: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let write = array.write().column("x", &x).column("y", &y).column("long", &x);
        let write = write.column("three", &three).column("short", &short).column("maybe", &maybe);
        write.column("plain", &plain).commit().unwrap();
        for pass in 0..3 {
            for (xs, ys) in
                [(0..=CELL_COUNT, 3..=3), (11_111..=55_555, 100..=900), (29_990..=30_010, 0..=999)]
            {
                let progress = Arc::new(Progress::default());
                let read = array.read().range("x", xs.clone()).range("y", ys.clone());
                let cells = read.progress(Arc::clone(&progress)).collect().unwrap();
                let is_kept = progress.statistics().kept_tile_count > 0;
                assert!(if keeps { is_kept || pass == 0 } else { !is_kept });
                let is_in = |(x, y): &(&i64, &i64)| xs.contains(*x) && ys.contains(*y);
                let expected: Vec<i64> = x.iter().zip(&y).filter(is_in).map(|(x, _)| *x).collect();
                assert_eq!(cells["long"].as_primitive::<Int64Type>().values(), &expected[..]);
                let triples = cells["three"].as_fixed_size_list().values().as_primitive::<Int32Type>();
                let expected_triples = expected.iter().flat_map(|&x| [x as i32, -x as i32, 5]);
                assert!(triples.values().iter().copied().eq(expected_triples));
                let short = cells["short"].as_primitive::<UInt8Type>().values();
                assert!(short.iter().copied().eq(expected.iter().map(|&x| x as u8)));
                let maybe = cells["maybe"].as_primitive::<Int16Type>();
                assert!(maybe.iter().eq(expected.iter().map(|&x| (x % 5 > 0).then_some(x as i16))));
                let plain = cells["plain"].as_primitive::<Float32Type>().values();
                assert!(plain.iter().copied().eq(expected.iter().map(|&x| x as f32)));
            }
        }
    }
}

#[test]
fn tiles_that_are_wanted_whole_stay_when_they_are_wanted_again() {
    let context = Context::new();
    let array = line("mem://whole", &Options::new().context(&context), true);
    let read = || spent(&array, 1_000..=2_999);
    let (first, statistics) = read();
    assert_eq!(statistics.kept_tile_count, 0);
    assert_eq!(read().0, first);
    let (third, statistics) = read();
    assert_eq!(third, first);
    assert_eq!(statistics.tile_count, 0);
}

#[test]
fn a_name_that_is_used_again_does_not_bring_back_old_cells() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = folder.path().join("again");
    for uri in ["mem://again", on_disk.to_str().unwrap()] {
        // The same clock and the same dice: fragments of the same names, with files of the same lengths.
        let env = || Env::new(ManualClock::new(7), SeededEntropy::new(7));
        let context = Context::new();
        let schema = Schema::dense()
            .dimension(Dimension::new("x", 0..=99).tile(100))
            .attribute(Attribute::of::<i64>("a").filters([zstd()]))
            .build()
            .unwrap();
        let mut names = Vec::new();
        for value in [1_i64, 2] {
            let options = Options::new().context(&context.clone().env(env()));
            let array = Array::create_with(uri, &schema, &options).unwrap();
            names.push(array.write().column("a", &[value; 100]).commit().unwrap());
            for _ in 0..2 {
                let read = array.read().range("x", 3..=5).to_ndarray::<i64>("a").unwrap();
                assert_eq!(read.into_raw_vec_and_offset().0, [value; 3], "{uri}");
            }
            drop(array);
            Object::at_with(uri, &options).unwrap().unwrap().remove().unwrap();
        }
        assert_eq!(names[0], names[1]);
    }
}

#[test]
fn a_byte_that_changes_on_disk_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("changed");
    let array = line(uri.to_str().unwrap(), &Options::new().context(&Context::new()), false);
    let files: Vec<std::path::PathBuf> = walk(&uri).filter(|path| path.ends_with("a0.tdb")).collect();
    assert_eq!(files.len(), 2);
    // As if it were old, so that it may be kept.
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    for file in &files {
        std::fs::File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();
    }
    let (before, _) = spent(&array, 1..=998);
    assert_eq!(spent(&array, 1..=998).0, before);
    assert!(spent(&array, 1..=998).1.kept_tile_count > 0);
    for file in files {
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 8;
        bytes[middle] ^= 0x55;
        std::fs::write(&file, bytes).unwrap();
    }
    let read = array.read().range("x", 1..=998).collect();
    assert!(read.is_err() || read.unwrap() != before);
}

fn walk(folder: &std::path::Path) -> impl Iterator<Item = std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.into_iter()
}

#[test]
fn what_a_context_may_hold_is_shared_by_all_that_it_does() {
    let context = Context::new().memory(64 << 20);
    let array = line("mem://shared", &Options::new().context(&context), false);
    let first = array.read().memory(40 << 20).columns().unwrap();
    let refused = array.read().memory(40 << 20).columns().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OutOfMemory);
    assert!(refused.to_string().contains("give the context more"), "{refused}");
    // Who does not ask gets half of what is left.
    array.read().collect().unwrap();
    let cells = vec![0_i64; 1 << 20];
    let x: Vec<i32> = (0..1 << 20).map(|cell| cell % 10_000).collect();
    let s = vec![None::<String>; 1 << 20];
    let write = || {
        array
            .write()
            .column("x", &x)
            .column("a", &cells)
            .column("s", &s)
            .duplicates(Duplicates::KeepFirst)
            .commit()
    };
    assert_eq!(write().unwrap_err().kind(), ErrorKind::OutOfMemory);
    drop(first);
    array.read().memory(40 << 20).collect().unwrap();
    assert_eq!(context.taken_byte_len(), 0);
}
