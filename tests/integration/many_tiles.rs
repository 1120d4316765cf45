//! Sections of metadata that are too long to be held: read chunk by chunk they give the same cells as when they are held.

use smalti_array::{ArrayPlace, Snapshot};
use smalti_codecs::ChunkHeader;
use smalti_format::GenericTileHeader;
use smalti_format::fragment::Section;
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Aggregate, AggregateRequest, Function, ReadRequest, aggregate, read};
use smalti_store::{DistantStore, MeteredStore};
use smalti_tests::many_tiles::{ManyTiles, array_of_tiles, number_of};
use smalti_types::{Error, ErrorKind, Extent, Layout, Physical, Result, TimeRange};
use smalti_upkeep::{FsckOptions, fsck};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Tiles along each dimension.
const SIDE: u64 = 300;

/// What is held as a whole here: all but the lists with an entry for each tile, and the tree.
const WHOLE_BYTE_LEN: u64 = 64 << 10;

fn array(folder: &Path) -> ManyTiles {
    array_of_tiles(folder, SIDE, std::slice::from_ref(&(0..SIDE * SIDE))).unwrap()
}

fn side(lo: u64, hi: u64) -> Vec<Extent> {
    vec![Extent::Num { lo: (lo as i64).ordinal(), hi: (hi as i64).ordinal() }]
}

/// The box of some rows and columns, both ends included.
fn of_box((y, end_y): (u64, u64), (x, end_x): (u64, u64)) -> ReadRequest {
    ReadRequest { ranges: vec![side(y, end_y), side(x, end_x)], ..ReadRequest::default() }
}

fn open(place: &ArrayPlace) -> Result<Snapshot> {
    Snapshot::open(place.clone(), TimeRange::ALL)
}

/// The cells of a read: values of each field in turn.
fn cells(place: &ArrayPlace, request: &ReadRequest) -> Result<Vec<Vec<u8>>> {
    let batches = read(&open(place)?, request)?;
    let mut fields = vec![Vec::new(); batches.fields().len()];
    for batch in batches {
        for (field, column) in fields.iter_mut().zip(&batch?.columns) {
            field.extend_from_slice(column.data.as_slice());
        }
    }
    Ok(fields)
}

/// The array held as usual, chunk by chunk, and chunk by chunk from far away.
fn ways(array: &ManyTiles) -> [ArrayPlace; 3] {
    let piecemeal = array.place.clone().with_whole_sections(WHOLE_BYTE_LEN);
    let far = piecemeal.seen_through(|store| Arc::new(DistantStore::new(store)));
    [array.place.clone(), piecemeal, far]
}

#[test]
fn boxes_of_long_sections_are_the_same_as_of_those_that_are_held() {
    let folder = tempfile::tempdir().unwrap();
    let array = array(folder.path());
    let [held, piecemeal, far] = ways(&array);
    let mut state = 7u64;
    let mut random = |most: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) % most
    };
    let layouts = [None, Some(Layout::RowMajor), Some(Layout::ColMajor), Some(Layout::Unordered)];
    for round in 0..24 {
        let mut sides = || {
            let lo = random(SIDE);
            (lo, (lo + random(12)).min(SIDE - 1))
        };
        let condition = (round % 3 == 0).then(|| Condition::compare("n", Relation::Lt, 60));
        let request = ReadRequest { layout: layouts[round % 4], condition, ..of_box(sides(), sides()) };
        let expected = cells(&held, &request).unwrap();
        assert_eq!(cells(&piecemeal, &request).unwrap(), expected, "{request:?}");
        assert_eq!(cells(&far, &request).unwrap(), expected, "{request:?}, from far away");
    }
    let all = ReadRequest::default();
    assert_eq!(cells(&piecemeal, &all).unwrap(), cells(&held, &all).unwrap());
    assert!(piecemeal.decoded_section_byte_len() > 0);
}

#[test]
fn statistics_out_of_long_sections_answer_for_tiles() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing but metadata: no tile could be read.
    let array = array_of_tiles(folder.path(), SIDE, &[]).unwrap();
    let aggregates = vec![Aggregate::sum("n"), Aggregate::new(Function::Max, "n")];
    let request = AggregateRequest { aggregates, ..AggregateRequest::default() };
    let values = ways(&array).map(|place| aggregate(&open(&place).unwrap(), &request).unwrap());
    assert_eq!(format!("{:?}", values[1]), format!("{:?}", values[0]));
    assert_eq!(format!("{:?}", values[2]), format!("{:?}", values[0]));
    let condition = Some(Condition::compare("n", Relation::Gt, number_of(SIDE * SIDE) as i64));
    for place in ways(&array) {
        let request = ReadRequest { condition: condition.clone(), ..ReadRequest::default() };
        assert!(cells(&place, &request).unwrap().iter().all(Vec::is_empty));
    }
}

#[test]
fn a_box_decodes_the_blocks_that_it_meets_and_a_distant_store_is_asked_for_them_in_few_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let array = array(folder.path());
    let request = of_box((200, 203), (17, 30));
    let [_, piecemeal, far] = ways(&array);
    let before = piecemeal.decoded_section_byte_len();
    cells(&piecemeal, &request).unwrap();
    let decoded = piecemeal.decoded_section_byte_len() - before;
    // Of four megabytes: the top of the tree, two levels below it, and the places of three fields.
    assert!(decoded <= 16 * (64 << 10), "{decoded} bytes were decoded");

    let mut metered = None;
    let far = far.seen_through(|store| {
        let store = Arc::new(MeteredStore::new(store));
        metered = Some(Arc::clone(&store));
        store
    });
    cells(&far, &request).unwrap();
    let rounds = metered.unwrap().traffic().round_count;
    assert!(rounds <= 24, "{rounds} rounds");
}

/// Flips a bit in the middle of the data of a chunk of a section: of that which some tenths of the chunks are before.
fn damage(array: &ManyTiles, wanted: Section, tenths: u64) {
    let (_, start) = array.sections.iter().find(|(section, _)| *section == wanted).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&array.metadata_file).unwrap();
    let mut head = [0; 128];
    file.read_exact_at(&mut head, *start).unwrap();
    let header_len = GenericTileHeader::header_len(&head).unwrap();
    let mut at = start + header_len;
    let count = u64::from_le_bytes(head[header_len as usize..][..8].try_into().unwrap());
    at += 8;
    let mut chunk = [0; ChunkHeader::BYTE_LEN as usize];
    for _ in 0..count * tenths / 10 {
        file.read_exact_at(&mut chunk, at).unwrap();
        at += ChunkHeader::decode(&chunk).unwrap().chunk_byte_len();
    }
    file.read_exact_at(&mut chunk, at).unwrap();
    let place = at + ChunkHeader::decode(&chunk).unwrap().chunk_byte_len() / 2;
    let mut byte = [0];
    file.read_exact_at(&mut byte, place).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], place).unwrap();
}

fn said(error: &Error) -> String {
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("__fragment_metadata.tdb"), "{error}");
    error.to_string()
}

#[test]
fn damage_of_a_long_section_is_told_by_those_who_meet_it_and_by_fsck() {
    for (section, name) in [(Section::RTree, "RTree"), (Section::TileOffsets(2), "TileOffsets(2)")] {
        let folder = tempfile::tempdir().unwrap();
        let array = array(folder.path());
        damage(&array, section, 7);
        for place in &ways(&array)[1..] {
            cells(place, &of_box((3, 5), (0, 20))).unwrap();
            let error =
                cells(place, &ReadRequest { layout: Some(Layout::RowMajor), ..of_box((100, 299), (5, 6)) });
            assert!(said(&error.unwrap_err()).contains(name));
        }
        let held = cells(&array.place.clone().with_whole_sections(u64::MAX), &of_box((3, 5), (0, 20)));
        said(&held.unwrap_err());
        let report = fsck(&array.place, &FsckOptions::default()).unwrap();
        assert!(!report.findings.is_empty());
    }
}

#[test]
fn a_long_section_that_lies_about_its_chunks_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let array = array(folder.path());
    let piecemeal = array.place.clone().with_whole_sections(WHOLE_BYTE_LEN);
    let file = std::fs::File::options().read(true).write(true).open(&array.metadata_file).unwrap();
    let (_, start) = array.sections[0];
    let mut head = vec![0; 128];
    file.read_exact_at(&mut head, start).unwrap();
    let header_len = GenericTileHeader::header_len(&head).unwrap();
    // The lengths of the tile on disk and in memory, and the number of chunks; the lengths of the first chunk.
    let places = [4, 12, header_len, header_len + 8, header_len + 12, header_len + 16];
    for place in places {
        let mut word = [0; 4];
        file.read_exact_at(&mut word, start + place).unwrap();
        for lie in [0, 1, u32::from_le_bytes(word).wrapping_add(1), u32::MAX / 2, u32::MAX] {
            file.write_all_at(&lie.to_le_bytes(), start + place).unwrap();
            let found = cells(&piecemeal, &of_box((3, 5), (0, 20)));
            let kind = found.as_ref().map_err(Error::kind).err();
            assert!(
                matches!(kind, Some(ErrorKind::Corrupt | ErrorKind::OutOfMemory)),
                "{lie} at {place}: {kind:?}"
            );
            file.write_all_at(&word, start + place).unwrap();
        }
    }
    cells(&piecemeal, &of_box((3, 5), (0, 20))).unwrap();
}
