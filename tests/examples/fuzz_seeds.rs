//! Writes `fuzz/seeds` anew from the corpus in `tests/fixtures` and from the codecs: see `fuzz/README.md`.
#![forbid(unsafe_code)]

use smalti_codecs::{Codec, CodecRules, FieldKind, Scratch, fuzz as codec_fuzz};
use smalti_format::fragment::{Footer, Section};
use smalti_format::names::{OLD_SCHEMA_FILE, TimestampedName};
use smalti_format::{ArraySchema, Encryption, GenericTileHeader, Shape, Version, fuzzing};
use smalti_tests::fuzz::array::packed;
use smalti_tests::fuzz::condition::with_schema;
use smalti_tests::fuzz::{Random, manifest, seeds_folder, settings, split, targets, tile};
use smalti_tile::{DEFAULT_GENERIC_TILE_LIMIT, read_generic_tile};
use smalti_types::FilterPipeline;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::path::Path;

/// The longest seed, in bytes.
const MAX_SEED_BYTE_LEN: usize = 8 << 10;

/// The versions of the format in the corpus.
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=23;

/// Seeds of one target from one version.
const SEEDS_OF_A_VERSION: usize = 3;

/// Files of one array, by their paths below its folder.
type Files = Vec<(String, Vec<u8>)>;

/// Candidates by target; each with a name that says where it is from.
#[derive(Default)]
struct Candidates(BTreeMap<&'static str, Vec<(String, Vec<u8>)>>);

impl Candidates {
    fn add(&mut self, target: &'static str, name: &str, bytes: Vec<u8>) {
        if bytes.len() <= MAX_SEED_BYTE_LEN {
            self.0.entry(target).or_default().push((name.to_owned(), bytes));
        }
    }
}

fn main() -> std::io::Result<()> {
    for (target, _) in targets() {
        let folder = seeds_folder(target);
        std::fs::create_dir_all(&folder)?;
        for file in std::fs::read_dir(&folder)? {
            let file = file?;
            if !file.file_name().to_string_lossy().starts_with("found_") {
                std::fs::remove_file(file.path())?;
            }
        }
    }
    let mut seen = HashSet::new();
    let mut byte_len = 0;
    for version in VERSIONS {
        let mut candidates = Candidates::default();
        for (case, files) in cases(version) {
            add_structures(&mut candidates, &case, &files);
            add_array(&mut candidates, &case, &files);
        }
        for (target, found) in candidates.0 {
            byte_len += write_some(target, version, found, &mut seen)?;
        }
    }
    for (target, _) in codec_fuzz::TARGETS {
        byte_len += write_streams(target)?;
    }
    byte_len += write_lines("names", NAMES)?;
    byte_len += write_lines("condition_text", CONDITIONS)?;
    let made = [
        ("split", split::seeds()),
        ("chunked_tile", tile::seeds()),
        ("cache_entry", Ok(cache_entries())),
        ("manifest", manifest::seeds()),
        ("listing_page", Ok(manifest::pages())),
        ("settings", Ok(settings::seeds())),
    ];
    for (target, seeds) in made {
        for (name, bytes) in seeds.map_err(std::io::Error::other)? {
            byte_len += bytes.len();
            std::fs::write(seeds_folder(target).join(name), bytes)?;
        }
    }
    println!("{} KiB", byte_len >> 10);
    Ok(())
}

/// A part of a file and the end of one, as a cache on disk keeps them.
fn cache_entries() -> Vec<(String, Vec<u8>)> {
    let names = ["range", "tail"].map(str::to_owned);
    names.into_iter().zip(smalti_tests::fuzz::fuzz_cache_entry_seeds()).collect()
}

/// Writes the least, the greatest and one in the middle of the inputs that are new.
fn write_some(
    target: &'static str,
    version: u32,
    mut found: Vec<(String, Vec<u8>)>,
    seen: &mut HashSet<(&'static str, Vec<u8>)>,
) -> std::io::Result<usize> {
    found.retain(|(_, bytes)| seen.insert((target, bytes.clone())));
    found.sort_by(|(a_name, a), (b_name, b)| (a.len(), a_name).cmp(&(b.len(), b_name)));
    let last = found.len().saturating_sub(1);
    let places: BTreeSet<usize> =
        (0..SEEDS_OF_A_VERSION).map(|place| last * place / (SEEDS_OF_A_VERSION - 1)).collect();
    let mut byte_len = 0;
    for (name, bytes) in places.into_iter().filter_map(|place| found.get(place)) {
        byte_len += bytes.len();
        std::fs::write(seeds_folder(target).join(format!("v{version:02}_{name}")), bytes)?;
    }
    Ok(byte_len)
}

fn cases(version: u32) -> BTreeMap<String, Files> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/corpus/v{version}.tar.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut cases: BTreeMap<String, Files> = BTreeMap::new();
    for entry in tar::Archive::new(flate2::read::GzDecoder::new(file)).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().trim_start_matches("./").to_owned();
        let mut parts = path.splitn(4, '/').skip(1);
        let (Some(case), Some("array"), Some(inner)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if entry.header().entry_type() == tar::EntryType::Regular {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            cases.entry(case.to_owned()).or_default().push((inner.to_owned(), bytes));
        }
    }
    cases.values_mut().for_each(|files| files.sort());
    cases
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The target that reads a file of an array or group as a whole.
fn target_of(path: &str) -> Option<&'static str> {
    let name = last(path);
    Some(match last(parent(path)) {
        _ if name == OLD_SCHEMA_FILE => "schema",
        "__schema" => "schema",
        "__enumerations" => "enumeration",
        "__meta" if !name.ends_with(".vac") => "metadata",
        "__group" => "group",
        _ if name.ends_with(".meta") => "consolidated_footers",
        _ if name.ends_with(".del") => "condition",
        _ if name.ends_with(".con") => "consolidated_commits",
        _ if name.ends_with(".ign") || name.ends_with(".vac") => "name_list",
        _ => return None,
    })
}

fn is_text(target: &str) -> bool {
    matches!(target, "consolidated_commits" | "name_list")
}

/// The unfiltered tile at a place of a file, and its header; none for encrypted ones and for what is no tile.
fn unfiltered(bytes: &[u8]) -> Option<(GenericTileHeader, Vec<u8>)> {
    let (header, _) = GenericTileHeader::split(bytes).ok()?;
    let (tile, _) = read_generic_tile(bytes, None, DEFAULT_GENERIC_TILE_LIMIT, &mut Scratch::new()).ok()?;
    (header.encryption == Encryption::None).then(|| (header, tile.as_slice().to_vec()))
}

/// The schemas of an array by the names of their files, which are unique in a case.
fn schemas(files: &Files) -> BTreeMap<String, ArraySchema> {
    let found = files.iter().filter(|(path, _)| target_of(path) == Some("schema"));
    found
        .filter_map(|(path, bytes)| {
            Some((last(path).to_owned(), ArraySchema::decode(&unfiltered(bytes)?.1).ok()?))
        })
        .collect()
}

fn add_structures(candidates: &mut Candidates, case: &str, files: &Files) {
    let schemas = schemas(files);
    let any_shape = schemas.values().next_back().map(ArraySchema::shape).unwrap_or_default();
    for (path, bytes) in files {
        if last(path) == "__fragment_metadata.tdb" {
            add_fragment(candidates, case, path, bytes, &schemas);
        }
        let Some(target) = target_of(path) else { continue };
        if is_text(target) {
            candidates.add(target, case, bytes.clone());
            continue;
        }
        let Some((_, tile)) = unfiltered(bytes) else { continue };
        candidates.add("generic_tile", case, bytes.iter().copied().take(200).collect());
        if target == "consolidated_footers" {
            let input = fuzzing::with_shape(&any_shape, &tile);
            input.into_iter().for_each(|input| candidates.add(target, case, input));
        } else {
            // Deletes and the schema that they are of.
            if target == "condition" {
                let schema = schemas.values().next_back().and_then(|schema| schema.encode().ok());
                let input = schema.map(|schema| with_schema(&schema, &tile));
                input.into_iter().for_each(|input| candidates.add("stored_condition", case, input));
            }
            candidates.add(target, case, tile);
        }
    }
}

/// The footer of fragment metadata, where it begins, and the shape that it is read with.
fn footer(path: &str, bytes: &[u8], schemas: &BTreeMap<String, ArraySchema>) -> Option<(Footer, Shape)> {
    let version = TimestampedName::parse(last(parent(path))).ok()?.fragment_version().ok()?;
    let old = schemas.get(OLD_SCHEMA_FILE).map(ArraySchema::shape).unwrap_or_default();
    let range = Footer::range(version, &old, bytes.len() as u64, bytes).ok()?;
    let footer = bytes.get(range.start as usize..range.end as usize)?;
    let shape = schemas.get(&Footer::schema_name_of(footer).ok()?)?.shape();
    Some((Footer::decode(footer, &shape).ok()?, shape))
}

fn add_fragment(
    candidates: &mut Candidates,
    case: &str,
    path: &str,
    bytes: &[u8],
    schemas: &BTreeMap<String, ArraySchema>,
) {
    let Some((footer, shape)) = footer(path, bytes, schemas) else {
        let shape = schemas.values().next().map(ArraySchema::shape);
        if let (Some(shape), Some((_, tile))) = (shape, unfiltered(bytes)) {
            let input = fuzzing::with_shape(&shape, &tile);
            input.into_iter().for_each(|input| candidates.add("legacy_fragment", case, input));
        }
        return;
    };
    let own = footer.encode(&shape).ok();
    let own = own.and_then(|footer| fuzzing::with_shape(&shape, &footer));
    own.into_iter().for_each(|input| candidates.add("footer", case, input));
    for (section, offset) in footer.sections(&shape).unwrap() {
        let Some((_, tile)) = bytes.get(offset as usize..).and_then(unfiltered) else { continue };
        if section == Section::RTree {
            let input = fuzzing::with_shape(&shape, &tile);
            input.into_iter().for_each(|input| candidates.add("rtree", case, input));
        } else {
            candidates.add("sections", case, tile);
        }
    }
}

/// A generic tile without filters, so that damage reaches the structure in it.
fn plain_tile(tile: &[u8], version: Version) -> Vec<u8> {
    let mut header = GenericTileHeader::new(version, tile.len() as u64, Encryption::None);
    header.filters = FilterPipeline::default();
    let codec = Codec::new(&header.filters, FieldKind::bytes(), CodecRules::NEWEST, None).unwrap();
    let mut filtered = Vec::new();
    codec.encode(tile, &mut filtered, &mut Scratch::new()).unwrap();
    header.filtered_len = filtered.len() as u64;
    [header.encode().unwrap(), filtered].concat()
}

/// The whole array, its generic tiles without filters.
fn add_array(candidates: &mut Candidates, case: &str, files: &Files) {
    let schemas = schemas(files);
    if schemas.is_empty() {
        return;
    }
    let plain = files.iter().map(|(path, bytes)| {
        let target = target_of(path).filter(|target| !is_text(target));
        let whole = target.and_then(|_| unfiltered(bytes));
        let plain = match whole {
            Some((header, tile)) => Some(plain_tile(&tile, header.version)),
            None if last(path) == "__fragment_metadata.tdb" => plain_fragment(path, bytes, &schemas),
            None => None,
        };
        (path.clone(), plain.unwrap_or_else(|| bytes.clone()))
    });
    candidates.add("array", case, packed(&plain.collect::<Vec<_>>()));
}

fn plain_fragment(path: &str, bytes: &[u8], schemas: &BTreeMap<String, ArraySchema>) -> Option<Vec<u8>> {
    let Some((mut footer, shape)) = footer(path, bytes, schemas) else {
        return unfiltered(bytes).map(|(header, tile)| plain_tile(&tile, header.version));
    };
    // What a later version put into the footer as raw bytes would point nowhere.
    if !footer.optional_sections.is_empty() {
        return None;
    }
    let mut plain = Vec::new();
    for (section, offset) in footer.sections(&shape).ok()? {
        let (header, tile) = bytes.get(offset as usize..).and_then(unfiltered)?;
        footer.set_section_offset(section, plain.len() as u64);
        plain.extend(plain_tile(&tile, header.version));
    }
    plain.extend(footer.encode_file_end(&shape).ok()?);
    Some(plain)
}

/// Streams of the codecs: for each filter of a family and several fields, some encoded and some to encode.
fn write_streams(target: &str) -> std::io::Result<usize> {
    let mut random = Random(7);
    let mut written = BTreeMap::new();
    for number in 0..4000u32 {
        let is_pipeline = target == "codec_pipeline";
        let mut head: Vec<u8> =
            (0..if is_pipeline { 12 } else { 5 }).map(|_| random.number() as u8).collect();
        let (kinds, input) = (kinds_of(target), head.clone());
        let configured = match kinds {
            None => {
                head.truncate(head_len(&input));
                head.clone()
            }
            Some(kinds) => [&[1, kinds[usize::from(head[0]) % kinds.len()]], &head[1..]].concat(),
        };
        let Some((codec, _)) = codec_fuzz::codec(&configured) else { continue };
        let (pipeline, field, ..) = codec_fuzz::configuration(&configured);
        let cells = cells(field, &pipeline, &mut random);
        let flags = head.len() - 1;
        let encodes = !is_pipeline && number % 4 == 0;
        let stream = if encodes {
            head[flags] |= 16;
            cells
        } else {
            head[flags] &= !16;
            let offsets: Vec<u64> = (0..cells.len() as u64).step_by(3 * field.cell_byte_len()).collect();
            let mut out = Vec::new();
            if codec.encode_var(&cells, &offsets, &mut out, &mut Scratch::new()).is_err() {
                continue;
            }
            out
        };
        let kind = (pipeline.filters.first().map_or("none", |filter| filter.name()), encodes);
        let place = written.entry(kind).or_insert(0);
        if *place < if encodes { 3 } else { 9 } && stream.len() < 2000 {
            *place += 1;
            let name = format!("{}_{}_{place}", kind.0, if encodes { "cells" } else { "stream" });
            std::fs::write(seeds_folder(target).join(name), [head, stream].concat())?;
        }
    }
    let files = std::fs::read_dir(seeds_folder(target))?;
    files.map(|file| Ok(file?.metadata()?.len() as usize)).sum()
}

/// The filters of a family by their numbers in a configuration; see `smalti_codecs::fuzz::TARGETS`.
fn kinds_of(target: &str) -> Option<&'static [u8]> {
    Some(match target {
        "codec_gzip" => &[1],
        "codec_zstd" => &[2],
        "codec_lz4" => &[3],
        "codec_rle" => &[4],
        "codec_bzip2" => &[5],
        "codec_delta" => &[6, 18],
        "codec_bit_width" => &[7, 10],
        "codec_shuffle" => &[8, 9],
        "codec_webp" => &[11],
        "codec_checksum" => &[12, 13],
        "codec_dictionary" => &[14],
        "codec_scale_float" => &[15],
        "codec_xor" => &[16],
        _ => return None,
    })
}

/// Bytes that a configuration of any pipeline takes.
fn head_len(input: &[u8]) -> usize {
    input.len() - codec_fuzz::configuration(input).4.len()
}

/// Cells that rise slowly, of the length of an image where one is wanted.
fn cells(field: FieldKind, pipeline: &FilterPipeline, random: &mut Random) -> Vec<u8> {
    let width = field.cell_byte_len();
    let mut cell_count = 1 + random.below(60);
    if let Some(smalti_types::Filter::Webp { y_extent, x_extent, .. }) = pipeline.filters.first() {
        cell_count = usize::from(*y_extent) * usize::from(*x_extent) / width;
    }
    let mut value = 0u64;
    let mut cells = Vec::new();
    for _ in 0..cell_count * width / field.datatype.byte_len() {
        value += random.below(3) as u64;
        cells.extend(value.to_le_bytes().iter().take(field.datatype.byte_len()));
    }
    cells
}

/// Names as they stand in listings.
const NAMES: &[&str] = &[
    "__1700000000000_1700000000001_0123456789abcdef0123456789abcdef_22",
    "__1700000000000_1700000000001_0123456789abcdef0123456789abcdef_22.wrt",
    "__1700000000000_1700000000001_0123456789abcdef0123456789abcdef_22.del",
    "__1_1_0123456789abcdef0123456789abcdef_15.con",
    "__1_1_0123456789abcdef0123456789abcdef_15.ign",
    "__1_1_0123456789abcdef0123456789abcdef_15.vac",
    "__1_1_0123456789abcdef0123456789abcdef_9.meta",
    "__0123456789abcdef0123456789abcdef_1500000000000",
    "__0123456789abcdef0123456789abcdef_1500000000000_1500000000001",
    "__1_2_0123456789abcdef0123456789abcdef_9.ok",
    "__array_schema.tdb",
];

/// Conditions as people write them.
const CONDITIONS: &[&str] = &[
    "pop > 1000000 and country == 'FR' and not (name is null)",
    "c in ('red', 'blue') or c not in ('it''s')",
    "\"a field\" <> -1.5e3 OR `other` is not null",
    "code(color)<=18446744073709551615 and not not day >= '2024-02-29T00:00'",
    "((a = x'00ff') or (b != nan and c < -inf) or d = true)",
];

/// One seed a line.
fn write_lines(target: &str, lines: &[&str]) -> std::io::Result<usize> {
    for (place, line) in lines.iter().enumerate() {
        std::fs::write(
            seeds_folder(target)
                .join(format!("{}_{place:02}", if target == "names" { "name" } else { "line" })),
            line,
        )?;
    }
    Ok(lines.iter().map(|line| line.len()).sum())
}
