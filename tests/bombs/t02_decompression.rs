//! T2: small files that decompress into much.

use crate::arrays::{FragmentFile, Ground, options, read, tile};
use crate::blast::{light, refused, turn};
use smalti::{Array, Dimension, prelude::*};
use smalti::{CellValNum, FilterPipeline};
use smalti_codecs::FieldKind;
use smalti_format::Version;
use smalti_tile::{Codec, Scratch, codec_rules};
use std::fs;

/// What the bombs decompress into.
const BLOWN_UP: usize = 100 << 20;

/// Bytes of a chunk's lengths, behind the number of chunks: unfiltered, filtered, of its metadata.
const UNFILTERED: std::ops::Range<usize> = 8..12;

fn one_number(filter: Filter) -> (Ground, std::path::PathBuf) {
    let ground = Ground::new();
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=99).tile(10))
        .attribute(Attribute::of::<u32>("n").filters(filter))
        .build()
        .unwrap();
    let array = Array::create_with(&ground.uri(), &schema, &options()).unwrap();
    array.write().column("x", &[1, 2, 3]).column("n", &[7_u32, 7, 7]).at(10).commit().unwrap();
    let path = ground.file("/a0.tdb");
    (ground, path)
}

/// Puts a tile in the place of that of `n`; the metadata knows its length.
fn put_tile(ground: &Ground, path: &std::path::Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    let file = FragmentFile::first(ground);
    let mut footer = file.footer.clone();
    footer.file_sizes[0] = content.len() as u64;
    file.put_footer(&footer);
}

#[test]
fn t2_what_decompresses_into_more_than_its_tile_is_refused_by_every_codec() {
    // The others shrink by little.
    let filters = [
        Filter::gzip(6),
        Filter::zstd(3),
        Filter::lz4(),
        Filter::bzip2(1),
        Filter::rle(),
        Filter::double_delta(),
    ];
    let _turn = turn();
    for filter in filters {
        let (ground, path) = one_number(filter);
        let pipeline = FilterPipeline { filters: vec![filter], max_chunk_size: 0 };
        let field = FieldKind::data(Datatype::UInt32, CellValNum::ONE);
        let codec = Codec::new(&pipeline, field, codec_rules(Version::DEFAULT), None).unwrap();
        let mut bomb = Vec::new();
        let zeros = vec![0; BLOWN_UP];
        codec.encode(&zeros, &mut bomb, &mut Scratch::new()).unwrap();
        drop(zeros);
        assert!(bomb.len() < BLOWN_UP / 10, "{filter:?}: {}", bomb.len());
        put_tile(&ground, &path, &bomb);
        refused(&format!("{filter:?} that says so"), || read(&ground));
        bomb[UNFILTERED].copy_from_slice(&12_u32.to_le_bytes());
        put_tile(&ground, &path, &bomb);
        refused(&format!("{filter:?} that hides it"), || read(&ground));
    }
}

#[test]
fn t2_a_schema_file_that_is_stretched_costs_what_its_header_says() {
    let _turn = turn();
    let (ground, _) = one_number(Filter::zstd(3));
    let folder = std::path::Path::new(ground.uri().trim_start_matches("file://")).join("__schema");
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let schema = files.find(|path| path.is_file()).unwrap();
    // A hole: the disk holds no more than before.
    fs::OpenOptions::new().write(true).open(&schema).unwrap().set_len(4 << 30).unwrap();
    light("a stretched schema", || read(&ground)).unwrap();
}

#[test]
fn t2_a_zstd_frame_with_a_huge_window_takes_no_memory() {
    let _turn = turn();
    // One block: twelve bytes that are all 7, as a run.
    let block = ((12_u32 << 3) | (1 << 1) | 1).to_le_bytes();
    for exponent in [21, 31] {
        let (ground, path) = one_number(Filter::zstd(3));
        let content = fs::read(&path).unwrap();
        let metadata_len = u32::from_le_bytes(content[16..20].try_into().unwrap()) as usize;
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3];
        frame.extend([block[0], block[1], block[2], 7]);
        let mut bomb = content[..20 + metadata_len].to_vec();
        bomb[12..16].copy_from_slice(&(frame.len() as u32).to_le_bytes());
        // The metadata of a compressor ends with the part's length.
        let end = bomb.len();
        bomb[end - 4..].copy_from_slice(&(frame.len() as u32).to_le_bytes());
        bomb.extend(frame);
        put_tile(&ground, &path, &bomb);
        match light("a huge window", || read(&ground)) {
            Ok(cell_count) => assert!(cell_count > 0),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
        }
    }
}

#[test]
fn t2_strings_that_a_dictionary_or_runs_multiply_are_refused() {
    let _turn = turn();
    for filter in [Filter::dictionary(), Filter::rle()] {
        let ground = Ground::new();
        let schema = Schema::sparse()
            .dimension(Dimension::new("x", 0..=99).tile(10))
            .attribute(Attribute::ascii("s").filters(filter))
            .build()
            .unwrap();
        let array = Array::create_with(&ground.uri(), &schema, &options()).unwrap();
        array.write().column("x", &[1, 2, 3]).column("s", &["same", "same", "same"]).at(10).commit().unwrap();
        let path = ground.file("/a0_var.tdb");
        let content = fs::read(&path).unwrap();
        for at in 0..content.len() - 3 {
            let mut bomb = content.clone();
            bomb[at..at + 4].copy_from_slice(&[0xff, 0xff, 0xff, 0x3f]);
            fs::write(&path, bomb).unwrap();
            let _ = light(&format!("byte {at} of strings by {filter:?}"), || read(&ground));
        }
    }
}

#[test]
fn t2_a_generic_tile_that_decompresses_into_more_than_it_says_is_refused() {
    let _turn = turn();
    let ground = crate::arrays::array(false, false);
    let path = ground.file("/__meta/");
    let bomb = tile(&vec![0; 32 << 20]);
    // Behind the version (4 bytes) and the length on disk (8).
    for claimed in [100_u64, 1 << 30, u64::MAX] {
        let mut bomb = bomb.clone();
        bomb[12..20].copy_from_slice(&claimed.to_le_bytes());
        fs::write(&path, bomb).unwrap();
        refused("metadata", || read(&ground));
    }
}

#[test]
fn t2_metadata_takes_no_more_memory_than_was_allowed() {
    let _turn = turn();
    let ground = crate::arrays::array(false, false);
    fs::write(ground.file("/__meta/"), tile(&vec![0; 128 << 20])).unwrap();
    let limited = options().metadata_limit(16 << 20);
    refused("metadata beyond the limit", || {
        let array = Array::open_with(&ground.uri(), &limited)?;
        array.metadata().map(drop)
    });
    let error = Array::open_with(&ground.uri(), &options().metadata_limit(10)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
}
