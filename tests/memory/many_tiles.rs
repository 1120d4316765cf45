//! A box of a fragment of very many tiles: what is held and decoded follows the box, not the fragment.

use super::TURN;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{ReadRequest, read};
use smalti_store::MeteredStore;
use smalti_tests::counting::{forget_peak, live_byte_len, peak_byte_len};
use smalti_tests::many_tiles::{array_of_tiles, number_of};
use smalti_types::{Extent, Physical, TimeRange};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// Tiles along each dimension: `SMALTI_TILE_SIDE` says how many. 10,000 make a hundred million.
fn side() -> u64 {
    std::env::var("SMALTI_TILE_SIDE").ok().and_then(|side| side.parse().ok()).unwrap_or(1_200)
}

/// What a read may hold: decoded blocks of sections, lists of where others are, and the cells.
const MOST_HELD: usize = 24 << 20;

/// Tiles along each dimension of which the metadata is read as a whole too, to compare.
const LARGEST_HELD_SIDE: u64 = 3_200;

/// Bytes of a block of a section.
const BLOCK_BYTE_LEN: u64 = 64 << 10;

fn extent(range: std::ops::Range<u64>) -> Vec<Extent> {
    vec![Extent::Num { lo: (range.start as i64).ordinal(), hi: (range.end as i64 - 1).ordinal() }]
}

fn cells(place: &ArrayPlace, request: &ReadRequest) -> Vec<u64> {
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    let mut numbers = Vec::new();
    for batch in read(&snapshot, request).unwrap() {
        numbers.extend_from_slice(batch.unwrap().columns[0].data.values::<u64>());
    }
    numbers
}

#[test]
fn a_box_of_a_fragment_of_a_million_tiles_holds_little_and_decodes_what_it_meets() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let side = side();
    let folder = tempfile::tempdir().unwrap();
    let (rows, columns) = (side / 2..side / 2 + 8, side / 3..side / 3 + 6);
    let with_cells: Vec<_> = rows.clone().map(|y| y * side + columns.start..y * side + columns.end).collect();
    let start = Instant::now();
    let array = array_of_tiles(folder.path(), side, &with_cells).unwrap();
    let metadata_byte_len = array.metadata_file.metadata().unwrap().len();
    eprintln!("{} tiles, {metadata_byte_len} bytes of metadata: {:?}", side * side, start.elapsed());
    let expected: Vec<u64> = with_cells.iter().cloned().flatten().map(number_of).collect();
    let request = ReadRequest {
        fields: vec!["n".into()],
        ranges: vec![extent(rows), extent(columns)],
        ..ReadRequest::default()
    };
    let conditional = ReadRequest {
        condition: Some(Condition::compare("n", Relation::Lt, expected[0] as i64)),
        ..request.clone()
    };
    if side <= LARGEST_HELD_SIDE {
        let (place, before) = (array.place.clone().with_whole_sections(u64::MAX), live_byte_len());
        forget_peak();
        let start = Instant::now();
        assert_eq!(cells(&place, &request), expected);
        let held = peak_byte_len().saturating_sub(before);
        eprintln!("a box, with sections as a whole: {:?}, {held} bytes held", start.elapsed());
    }
    // Levels of the tree that do not share a block, then both ends of rows in the places of three fields and in statistics.
    for (request, most_blocks, what) in [(request, 60, "a box"), (conditional, 110, "a condition")] {
        let (place, before) = (array.place.clone().with_whole_sections(8 << 20), live_byte_len());
        let mut metered = None;
        let place = place.seen_through(|store| {
            let store = Arc::new(MeteredStore::new(store));
            metered = Some(Arc::clone(&store));
            store
        });
        let decoded = place.decoded_section_byte_len();
        forget_peak();
        let start = Instant::now();
        let found = cells(&place, &request);
        let held = peak_byte_len().saturating_sub(before);
        let decoded = place.decoded_section_byte_len() - decoded;
        let traffic = metered.unwrap().traffic();
        eprintln!(
            "{what}: {:?}, {held} bytes held, {decoded} decoded, {} read by {} reads",
            start.elapsed(),
            traffic.read_byte_len,
            traffic.read_count
        );
        match what {
            "a box" => assert_eq!(found, expected),
            _ => assert!(found.is_empty()),
        }
        assert!(held <= MOST_HELD, "{what}: {held} bytes were held");
        assert!(decoded <= most_blocks * BLOCK_BYTE_LEN, "{what}: {decoded} bytes were decoded");
    }
}
