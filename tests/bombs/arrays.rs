//! Small arrays on the disk, what they are used for, and their files, taken apart and put together again.

use crate::blast::BUDGET;
use smalti::upkeep::{FragmentOptions, UpkeepOptions, VacuumOptions};
use smalti::{Array, Dimension, prelude::*};
use smalti::{ReadRequest, Result, SyncLevel};
use smalti_format::fragment::{Footer, Section};
use smalti_format::{Shape, Version};
use smalti_tile::{DEFAULT_GENERIC_TILE_LIMIT, Scratch, read_generic_tile, write_generic_tile};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that goes with the value, with an array or group `thing` in it.
pub struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    pub fn new() -> Ground {
        Ground { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the array or group.
    pub fn thing(&self) -> PathBuf {
        self.path().join("thing")
    }

    pub fn uri(&self) -> String {
        self.thing().to_str().unwrap().to_owned()
    }

    /// Files below the array's folder whose path holds a text, sorted.
    pub fn files(&self, part: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.thing()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.to_str().unwrap().contains(part) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// The only file of [`files`](Ground::files), or the first.
    pub fn file(&self, part: &str) -> PathBuf {
        self.files(part).into_iter().next().unwrap_or_else(|| panic!("no file {part}"))
    }

    pub fn open(&self) -> Result<Array> {
        Array::open_with(&self.uri(), &options())
    }
}

pub fn options() -> Options {
    Options::new().sync(SyncLevel::None)
}

/// An array on `x` from 0 to 99 with a number `n`, a nullable text `s`, and a `kind` of an enumeration; without filters where
/// `is_plain`.
pub fn schema(is_dense: bool, is_plain: bool) -> Schema {
    let builder = if is_dense { Schema::dense() } else { Schema::sparse() };
    let filters = || if is_plain { Vec::new() } else { vec![Filter::zstd(1)] };
    builder
        .dimension(Dimension::new("x", 0..=99).tile(10))
        .attribute(Attribute::of::<u32>("n").filters(filters()))
        .attribute(Attribute::utf8("s").nullable().filters(filters()))
        .attribute(Attribute::of::<u8>("kind").enumeration("kinds"))
        .enumeration(Enumeration::new("kinds", ["big", "small"]))
        .coords_filters(filters())
        .offsets_filters(filters())
        .validity_filters(filters())
        .capacity(4)
        .build()
        .unwrap()
}

/// Writes six cells from `first` on.
pub fn put(array: &Array, first: i32, at: u64) {
    let x: Vec<i32> = (first..first + 6).collect();
    let n: Vec<u32> = x.iter().map(|&x| at as u32 * 100 + x as u32).collect();
    let s: Vec<Option<String>> =
        x.iter().map(|&x| (x % 3 != 0).then(|| "s".repeat(x as usize % 5))).collect();
    let kinds: Vec<u8> = x.iter().map(|x| (x % 2) as u8).collect();
    let write = array.write().column("n", &n).column("s", &s).column("kind", &kinds).at(at);
    if array.schema().is_dense() {
        write.range("x", first..=first + 5).commit().unwrap();
    } else {
        write.column("x", &x).commit().unwrap();
    }
}

/// An array with a file of every kind: fragments, single and consolidated commits and footers, a delete, metadata.
pub fn array(is_dense: bool, is_plain: bool) -> Ground {
    let ground = Ground::new();
    let array = Array::create_with(&ground.uri(), &schema(is_dense, is_plain), &options()).unwrap();
    put(&array, 3, 10);
    put(&array, 5, 20);
    array.write_metadata().put("key", "value").put("numbers", vec![1_i32, 2]).at(11).commit().unwrap();
    if !is_dense {
        array.delete(field("n").eq(1004_i64)).at(25).commit().unwrap();
    }
    let array = array.reopen().unwrap();
    array.consolidate_commits(&UpkeepOptions::default()).unwrap();
    array.consolidate_fragment_meta(&UpkeepOptions::default()).unwrap();
    put(&array, 7, 30);
    ground
}

/// The array of one fragment that a bomb is put into.
pub fn one_fragment(schema: &Schema) -> Ground {
    let ground = Ground::new();
    let array = Array::create_with(&ground.uri(), schema, &options()).unwrap();
    put(&array, 3, 10);
    ground
}

/// Opens the array and reads all that it says; the number of cells of the first batches.
pub fn read(ground: &Ground) -> Result<usize> {
    let array = ground.open()?;
    array.metadata()?;
    array.non_empty_domain()?;
    read_cells(&array)
}

/// Reads cells in every order, a budget's worth at a time; the number in the first batches.
pub fn read_cells(array: &Array) -> Result<usize> {
    let mut cell_count = 0;
    for layout in [None, Some(Layout::RowMajor), Some(Layout::Unordered)] {
        let request = ReadRequest {
            layout,
            batch_cell_count: Some(100),
            memory_byte_len: Some(BUDGET),
            ..ReadRequest::default()
        };
        for batch in array.read_raw(&request)?.take(3) {
            cell_count += batch?.cell_count;
        }
    }
    Ok(cell_count)
}

/// Consolidates and vacuums in every mode.
pub fn maintain(ground: &Ground) -> Result<()> {
    let mut array = ground.open()?;
    let plain = UpkeepOptions::default();
    array.consolidate_commits(&plain)?;
    array.vacuum_commits(&plain)?;
    array.consolidate_fragment_meta(&plain)?;
    array.vacuum_fragment_meta(&plain)?;
    array.consolidate_metadata(&plain)?;
    array.vacuum_metadata(&plain)?;
    array.consolidate(&FragmentOptions { memory_byte_len: Some(BUDGET), ..FragmentOptions::default() })?;
    array.vacuum(&VacuumOptions::default())?;
    Ok(())
}

/// The payload of a generic tile, and how many bytes the tile takes.
pub fn payload(tile: &[u8]) -> (Vec<u8>, usize) {
    let (payload, byte_len) =
        read_generic_tile(tile, None, DEFAULT_GENERIC_TILE_LIMIT, &mut Scratch::new()).unwrap();
    (payload.as_slice().to_vec(), byte_len as usize)
}

/// A generic tile around a payload.
pub fn tile(payload: &[u8]) -> Vec<u8> {
    let mut tile = Vec::new();
    write_generic_tile(payload, Version::DEFAULT, None, &mut tile, &mut Scratch::new()).unwrap();
    tile
}

/// The metadata file of a fragment, whose sections and footer can be exchanged.
pub struct FragmentFile {
    path: PathBuf,
    bytes: Vec<u8>,
    footer_start: usize,
    shape: Shape,
    pub footer: Footer,
}

impl FragmentFile {
    /// That of the first fragment.
    pub fn first(ground: &Ground) -> FragmentFile {
        let path = ground.file("__fragment_metadata.tdb");
        let bytes = fs::read(&path).unwrap();
        let shape = ground.open().unwrap().schema().shape();
        let range =
            Footer::range(Version::DEFAULT, &shape, bytes.len() as u64, &bytes[bytes.len() - 8..]).unwrap();
        let (start, end) = (range.start as usize, range.end as usize);
        let footer = Footer::decode(&bytes[start..end], &shape).unwrap();
        FragmentFile { path, bytes, footer_start: start, shape, footer }
    }

    pub fn sections(&self) -> Vec<(Section, Vec<u8>)> {
        let sections = self.footer.sections(&self.shape).unwrap();
        sections
            .into_iter()
            .map(|(section, offset)| (section, payload(&self.bytes[offset as usize..]).0))
            .collect()
    }

    /// Writes the file with another footer.
    pub fn put_footer(&self, footer: &Footer) {
        let end = footer.encode_file_end(&self.shape).unwrap();
        fs::write(&self.path, [&self.bytes[..self.footer_start], &end].concat()).unwrap();
    }

    /// Writes the file with another payload for a section, which comes behind the others.
    pub fn put_section(&self, section: Section, payload: &[u8]) {
        let mut footer = self.footer.clone();
        footer.set_section_offset(section, self.footer_start as u64);
        let end = footer.encode_file_end(&self.shape).unwrap();
        fs::write(&self.path, [&self.bytes[..self.footer_start], &tile(payload), &end].concat()).unwrap();
    }

    /// Writes the file as it was.
    pub fn restore(&self) {
        fs::write(&self.path, &self.bytes).unwrap();
    }
}
