//! T4: offsets that fall, overlap or leave their file.

use crate::arrays::{FragmentFile, one_fragment, read, schema};
use crate::blast::{refused, turn};
use smalti_format::fragment::Section;
use std::fs;

/// Where the offsets of the first tile begin in an unfiltered file: behind the number of chunks and the lengths of the first.
const OFFSETS_START: usize = 20;

#[test]
fn t4_offsets_of_cells_that_fall_or_leave_the_tile_are_refused() {
    let _turn = turn();
    for is_dense in [false, true] {
        let ground = one_fragment(&schema(is_dense, true));
        assert!(read(&ground).is_ok());
        let path = ground.file("/a1.tdb");
        let content = fs::read(&path).unwrap();
        // Of two cells of the first tile that were written, whatever the order of tiles.
        for (cell, offset) in
            [(0, 1), (0, u64::MAX), (1, u64::MAX), (1, 1 << 40), (2, u64::MAX / 8), (3, 1 << 20)]
        {
            let mut bomb = content.clone();
            let at = OFFSETS_START + 8 * cell;
            bomb[at..at + 8].copy_from_slice(&u64::to_le_bytes(offset));
            fs::write(&path, bomb).unwrap();
            refused(&format!("cell {cell} at {offset}"), || read(&ground));
        }
        // Each smaller than the one before.
        let mut bomb = content.clone();
        for cell in 0..4_u64 {
            let at = OFFSETS_START + 8 * cell as usize;
            bomb[at..at + 8].copy_from_slice(&(16 - 4 * cell).to_le_bytes());
        }
        fs::write(&path, bomb).unwrap();
        refused("falling offsets", || read(&ground));
    }
}

#[test]
fn t4_offsets_of_tiles_that_fall_overlap_or_leave_the_file_are_refused() {
    let _turn = turn();
    let ground = one_fragment(&schema(false, true));
    let file = FragmentFile::first(&ground);
    let numbers = |values: &[u64]| -> Vec<u8> {
        let all = [&[values.len() as u64], values].concat();
        all.into_iter().flat_map(u64::to_le_bytes).collect()
    };
    // Slots: the attributes, the unused one of old coordinates, the dimension.
    for section in [
        Section::TileOffsets(0),
        Section::TileOffsets(1),
        Section::TileVarOffsets(1),
        Section::TileValidityOffsets(1),
        Section::TileOffsets(4),
    ] {
        for values in [&[0, u64::MAX][..], &[8, 0], &[0, 1 << 40], &[u64::MAX, 0], &[0], &[0, 0, 0]] {
            file.put_section(section, &numbers(values));
            refused(&format!("{section:?} are {values:?}"), || read(&ground));
        }
    }
    for values in [[u64::MAX, 1], [1 << 50, 1 << 50]] {
        file.put_section(Section::TileVarSizes(1), &numbers(&values));
        refused(&format!("sizes {values:?}"), || read(&ground));
    }
    file.restore();
    assert!(read(&ground).is_ok());
}

#[test]
fn t4_sizes_beyond_the_files_are_refused() {
    let _turn = turn();
    let ground = one_fragment(&schema(false, true));
    let file = FragmentFile::first(&ground);
    for byte_len in [u64::MAX, 1 << 60, 1 << 33, 4096] {
        for slot in [0, 1, 4] {
            let mut footer = file.footer.clone();
            footer.file_sizes[slot] = byte_len;
            file.put_footer(&footer);
            refused(&format!("a file {slot} of {byte_len}"), || read(&ground));
        }
        let mut footer = file.footer.clone();
        footer.file_var_sizes[1] = byte_len;
        file.put_footer(&footer);
        refused(&format!("a var file of {byte_len}"), || read(&ground));
    }
    for count in [0, 1, 3, 1 << 32, u64::MAX] {
        let mut footer = file.footer.clone();
        footer.sparse_tile_count = count;
        file.put_footer(&footer);
        refused(&format!("{count} tiles"), || read(&ground));
    }
}
