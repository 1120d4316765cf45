//! Arrays of so many fragments that they are opened in batches.

use smalti::SyncLevel;
use smalti::{Array, Dimension, prelude::*};
use std::fs;
use std::path::{Path, PathBuf};

/// More fragments than a folder holds that is listed with another one.
const COUNT: usize = 700;

fn options() -> Options {
    crate::options().sync(SyncLevel::None)
}

/// An array with a cell in each of many fragments, the values counting up.
fn written(uri: &str, dimension: Dimension, write: impl Fn(&Array, usize)) -> Array {
    let schema = Schema::sparse().dimension(dimension).attribute(Attribute::of::<i64>("a")).build().unwrap();
    let array = Array::create_with(uri, &schema, &options()).unwrap();
    (0..COUNT).for_each(|idx| write(&array, idx));
    Array::open_with(uri, &options()).unwrap()
}

fn line(uri: &str) -> Array {
    written(uri, Dimension::new("x", 0..=9_999), |array, idx| {
        let (x, a) = ([idx as i32], [idx as i64]);
        array.write().column("x", &x).column("a", &a).at(1000 + idx as u64).commit().unwrap();
    })
}

fn values(array: &Array) -> Vec<i64> {
    let batch = array.read().select(["a"]).collect().unwrap();
    let column = batch.column(0).as_any().downcast_ref::<arrow_array::Int64Array>().unwrap();
    let mut values = column.values().to_vec();
    values.sort_unstable();
    values
}

fn fragment_folders(array: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(array.join("__fragments")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

#[test]
fn many_fragments_are_opened_and_read_in_files_and_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = folder.path().join("array");
    for uri in [on_disk.to_str().unwrap(), "mem://many-fragments"] {
        let array = line(uri);
        assert_eq!(array.fragments().unwrap().len(), COUNT, "{uri}");
        assert_eq!(array.non_empty_domain().unwrap().unwrap()[0].to_string(), "0..=699");
        assert_eq!(values(&array), (0..COUNT as i64).collect::<Vec<_>>());
    }
    // All files of the fragments, whether their own metadata was read or not.
    let folders = fragment_folders(&on_disk);
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let byte_len = files.map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>();
    let array = Array::open_with(on_disk.to_str().unwrap(), &options()).unwrap();
    assert_eq!(array.byte_len().unwrap(), byte_len);
    array.consolidate_fragment_meta(&smalti::upkeep::UpkeepOptions::default()).unwrap();
    let array = Array::open_with(on_disk.to_str().unwrap(), &options()).unwrap();
    assert_eq!(array.byte_len().unwrap(), byte_len);
}

#[test]
fn footers_that_are_longer_than_expected_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, long) = (folder.path().join("array"), "s".repeat(3000));
    let array = written(path.to_str().unwrap(), Dimension::string("d"), |array, idx| {
        let name = format!("{idx:04}{long}");
        let (d, a) = ([name.as_str()], [idx as i64]);
        array.write().column("d", &d).column("a", &a).at(1000 + idx as u64).commit().unwrap();
    });
    let domain = array.non_empty_domain().unwrap().unwrap()[0].to_string();
    assert!(domain.starts_with("\"0000s") && domain.contains("\"0699s"), "{domain}");
    assert_eq!(values(&array), (0..COUNT as i64).collect::<Vec<_>>());
}

#[test]
fn damage_in_one_of_many_footers_is_named_when_the_array_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array");
    let uri = path.to_str().unwrap();
    drop(line(uri));
    let damaged = fragment_folders(&path)[321].join("__fragment_metadata.tdb");
    let whole = fs::read(&damaged).unwrap();
    let footer_byte_len = u64::from_le_bytes(whole[whole.len() - 8..].try_into().unwrap()) as usize;
    let footer_start = whole.len() - 8 - footer_byte_len;

    let mut other_version = whole.clone();
    other_version[footer_start] = 21;
    let mut other_length = whole.clone();
    other_length[whole.len() - 1] = 1;
    let mut other_schema = whole.clone();
    other_schema[footer_start + 14] ^= 1;
    for (bytes, what) in [
        (&whole[..whole.len() - 5], "footer"),
        (&other_version[..], "version"),
        (&other_length[..], "footer length"),
        (&other_schema[..], "schema"),
        (&[][..], "footer"),
    ] {
        fs::write(&damaged, bytes).unwrap();
        let error = Array::open_with(uri, &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let message = error.to_string();
        assert!(message.contains(damaged.to_str().unwrap()) && message.contains(what), "{what}: {message}");
    }
    fs::remove_file(&damaged).unwrap();
    let error = Array::open_with(uri, &options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains(damaged.to_str().unwrap()), "{error}");
    fs::write(&damaged, whole).unwrap();
    assert_eq!(values(&Array::open_with(uri, &options()).unwrap()).len(), COUNT);
}

#[test]
fn a_committed_fragment_without_a_folder_is_passed_over_among_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array");
    let uri = path.to_str().unwrap();
    drop(line(uri));
    fs::remove_dir_all(&fragment_folders(&path)[5]).unwrap();
    let array = Array::open_with(uri, &options()).unwrap();
    assert_eq!(array.fragments().unwrap().len(), COUNT - 1);
    assert_eq!(values(&array).len(), COUNT - 1);
}

/// What a plane of 40 by 40 cells holds, row by row.
fn cells_of(array: &Array, side: std::ops::RangeInclusive<i32>) -> Vec<i32> {
    let read = array.read().range("y", side.clone()).range("x", side);
    read.to_ndarray::<i32>("a").unwrap().iter().copied().collect()
}

#[test]
fn of_many_dense_fragments_over_each_other_the_newest_shows_in_every_cell() {
    let schema = Schema::dense()
        .dimension(Dimension::new("y", 0..=39).tile(5))
        .dimension(Dimension::new("x", 0..=39).tile(5))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let array = Array::create_with("mem://many-dense-fragments", &schema, &options()).unwrap();
    let mut model = vec![i32::MIN; 40 * 40];
    for at in 0..150 {
        // Places that look random, some fragments as large as a tile, some larger.
        let (y, x) = (at * 37 % 31, at * 53 % 29);
        let (height, width) = (1 + at % 9, 1 + at * 7 % 11);
        let (rows, columns) = (y..=y + height - 1, x..=x + width - 1);
        let cells = vec![at; (height * width) as usize];
        let write = array.write().range("y", rows.clone()).range("x", columns.clone()).column("a", &cells);
        write.at(1000 + at as u64).commit().unwrap();
        for row in rows {
            model[(row * 40 + columns.start()) as usize..=(row * 40 + columns.end()) as usize].fill(at);
        }
    }
    let array = Array::open_with("mem://many-dense-fragments", &options()).unwrap();
    assert_eq!(cells_of(&array, 0..=39), model);
    let inside = |at: usize| (7..=22).contains(&(at / 40)) && (7..=22).contains(&(at % 40));
    let part: Vec<i32> = (0..model.len()).filter(|&at| inside(at)).map(|at| model[at]).collect();
    assert_eq!(cells_of(&array, 7..=22), part);
}
