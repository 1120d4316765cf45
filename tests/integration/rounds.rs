//! How often a distant store is waited for: by rounds, which time follows there, not by requests.

use crate::oracle::arrays::{Columns, Row, dimension, schema};
use smalti_array::{ArrayPlace, Resources, Snapshot};
use smalti_query::condition::{Condition, Relation};
use smalti_query::{BufferedRead, FieldBuffers, ReadRequest, read, write};
use smalti_store::{
    DiskCache, DistantStore, LocalStore, ManualClock, MemoryStore, MeteredStore, Place, Remote,
    SeededEntropy, SimDisk, Stores, SyncLevel, Traffic,
};
use smalti_tile::ColumnRef;
use smalti_types::{ArrayType, Env, Extent, Layout, Physical, Scalar, TimeRange};
use smalti_upkeep::{Options, consolidate_commits, consolidate_fragment_meta, vacuum_commits};
use std::sync::Arc;
use std::time::Duration;

/// The cells of a fragment, and how far it is from one to the next.
const CELL_COUNT: i32 = 20;

/// How long an answer takes, on a clock that does not run by itself.
const ROUND_TRIP: Duration = Duration::from_millis(50);

fn env() -> Env {
    Env::new(ManualClock::new(1), SeededEntropy::new(3))
}

fn place_in(store: Arc<dyn smalti_store::Store>) -> ArrayPlace {
    ArrayPlace::in_store(store, "array".into(), None, env())
}

fn extent(lo: i32, hi: i32) -> Extent {
    Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() }
}

/// An array of fragments, one behind the other.
fn array(array_type: ArrayType, fragment_count: i32) -> (MemoryStore, ArrayPlace) {
    let store = MemoryStore::new();
    let place = array_in(Arc::new(store.clone()), array_type, fragment_count);
    (store, place)
}

fn array_in(store: Arc<dyn smalti_store::Store>, array_type: ArrayType, fragment_count: i32) -> ArrayPlace {
    let place = place_in(store);
    let x = dimension(
        "x",
        Some((Scalar::I32(0), Scalar::I32(fragment_count * CELL_COUNT - 1))),
        Some(Scalar::I32(10)),
    );
    place.create(&schema(array_type, vec![x], (Layout::RowMajor, Layout::RowMajor))).unwrap();
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    for fragment in 0..fragment_count {
        let cells: Vec<i32> = (fragment * CELL_COUNT..(fragment + 1) * CELL_COUNT).collect();
        let text = |cell: i32| (cell % 3 != 0).then(|| vec![b'a'; cell as usize % 7]);
        let rows: Vec<Row> = cells.iter().map(|&cell| (cell as u32, text(cell))).collect();
        let columns = Columns::of(rows.iter());
        let mut request = columns.request(Layout::Unordered, None);
        match array_type {
            ArrayType::Dense => {
                request.layout = Layout::RowMajor;
                request.subarray = Some(vec![extent(fragment * CELL_COUNT, (fragment + 1) * CELL_COUNT - 1)]);
            }
            ArrayType::Sparse => {
                request.columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(&cells))));
            }
        }
        write(&snapshot, &request).unwrap();
    }
    place
}

struct Far {
    distant: DistantStore,
    metered: Arc<MeteredStore<DistantStore>>,
}

impl Far {
    fn new(store: &MemoryStore) -> Self {
        let distant = DistantStore::new(Arc::new(store.clone())).with_round_trip(ROUND_TRIP);
        Far { metered: Arc::new(MeteredStore::new(distant.clone())), distant }
    }

    fn spent<T>(&self, work: impl FnOnce() -> T) -> (T, Traffic) {
        let before = self.metered.traffic();
        let done = work();
        (done, self.metered.traffic().since(&before))
    }

    fn open(&self) -> (Snapshot, Traffic) {
        self.spent(|| Snapshot::open(place_in(self.metered.clone()), TimeRange::ALL).unwrap())
    }
}

fn cell_count(snapshot: &Snapshot, request: &ReadRequest) -> usize {
    read(snapshot, request).unwrap().map(|batch| batch.unwrap().cell_count).sum()
}

#[test]
fn opening_takes_three_rounds_and_a_read_two_more_whatever_the_number_of_fragments() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        for fragment_count in [1, 100, 10_000] {
            let (store, place) = array(array_type, fragment_count);
            for is_consolidated in [false, true] {
                let what =
                    format!("{array_type}, {fragment_count} fragments, consolidated: {is_consolidated}");
                if is_consolidated {
                    consolidate_fragment_meta(&place, &Options::default()).unwrap();
                    consolidate_commits(&place, &Options::default()).unwrap();
                }
                let far = Far::new(&store);
                let (snapshot, opening) = far.open();
                assert_eq!(snapshot.fragments().len() as i32, fragment_count);
                // More than a page of names have to be listed first; what lists say more waits for the lists.
                let most_rounds = if fragment_count > 100 { 3 } else { 2 };
                assert!(opening.round_count <= most_rounds, "{what}: {opening:?}");
                let most = if is_consolidated { 6 } else { 6 + fragment_count as u64 };
                assert!(opening.request_count() <= most, "{what}: {opening:?}");
                // Cells of the last three fragments, or of all that there are.
                let len = (3 * CELL_COUNT).min(fragment_count * CELL_COUNT);
                let end = fragment_count * CELL_COUNT;
                for layout in [Layout::RowMajor, Layout::GlobalOrder] {
                    let (snapshot, _) = far.open();
                    let request = ReadRequest {
                        ranges: vec![vec![extent(end - len, end - 5)]],
                        layout: Some(layout),
                        ..ReadRequest::default()
                    };
                    let (cells, reading) = far.spent(|| cell_count(&snapshot, &request));
                    assert_eq!(cells as i32, len - 4);
                    assert!(reading.round_count <= 2, "{what}, {layout}: {reading:?}");
                    // Again: what is known of the fragments is kept.
                    let (_, again) = far.spent(|| cell_count(&snapshot, &request));
                    assert!(again.round_count <= 1, "{what}, {layout}: {again:?}");
                }
            }
        }
    }
}

/// The array of a case of the corpus, with its only fragment so many times, under other names.
fn old_array(case: &std::path::Path, fragment_count: usize) -> MemoryStore {
    let store = MemoryStore::new();
    let put = |path: String, file: &std::path::Path| {
        smalti_store::Store::put(&store, &path, &[&std::fs::read(file).unwrap()]).unwrap();
    };
    for entry in std::fs::read_dir(case.join("array")).unwrap() {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        let name = name.to_str().unwrap();
        if entry.is_file() {
            put(format!("array/{name}"), &entry);
            continue;
        }
        // `__uuid_time`, or `__time_time_uuid`.
        let uuid = name.split('_').find(|part| part.len() == 32);
        for idx in 0..uuid.map_or(0, |_| fragment_count) {
            let other = name.replace(uuid.unwrap_or_default(), &format!("{idx:032x}"));
            for file in std::fs::read_dir(&entry).unwrap() {
                let file = file.unwrap().path();
                put(format!("array/{other}/{}", file.file_name().unwrap().to_str().unwrap()), &file);
            }
        }
    }
    store
}

#[test]
fn fragments_from_before_commit_files_take_no_more_rounds() {
    for version in 1..=4 {
        let archive = crate::corpus::Archive::unpack(version);
        let is_wanted = |case: &&std::path::PathBuf| {
            let name = case.file_name().unwrap().to_str().unwrap();
            ["", "synth_"].iter().any(|prefix| {
                name.strip_prefix(prefix)
                    .is_some_and(|name| ["chunks_and_cells", "chunks_and_cells_sparse"].contains(&name))
            })
        };
        let cases = archive.cases();
        let cases: Vec<_> = cases.iter().filter(is_wanted).collect();
        assert!(!cases.is_empty(), "version {version}");
        for case in cases {
            let far = Far::new(&old_array(case, 100));
            let (snapshot, opening) = far.open();
            assert_eq!(snapshot.fragments().len(), 100, "{case:?}");
            assert!(opening.round_count <= 3, "{case:?}: {opening:?}");
            assert!(opening.request_count() <= 6 + 2 * 100, "{case:?}: {opening:?}");
            let (cells, reading) = far.spent(|| cell_count(&snapshot, &ReadRequest::default()));
            assert!(cells > 0 && reading.round_count <= 2, "{case:?}: {reading:?}");
        }
    }
}

#[test]
fn time_follows_rounds_not_requests() {
    for fragment_count in [1, 100, 3_000] {
        let (store, _) = array(ArrayType::Sparse, fragment_count);
        let far = Far::new(&store);
        let (snapshot, opening) = far.open();
        let opened_after = far.distant.waited();
        assert_eq!(opened_after, ROUND_TRIP * opening.round_count as u32, "{opening:?}");
        assert!(opened_after <= 3 * ROUND_TRIP, "{opened_after:?}, {fragment_count} fragments");
        let request = ReadRequest { layout: Some(Layout::GlobalOrder), ..ReadRequest::default() };
        let (cells, reading) = far.spent(|| cell_count(&snapshot, &request));
        assert_eq!(cells as i32, fragment_count * CELL_COUNT);
        let read_after = far.distant.waited() - opened_after;
        assert!(read_after <= 2 * ROUND_TRIP, "{read_after:?}, {fragment_count} fragments");
        // One request after the other would take as long as this.
        let requests = opening.request_count() + reading.request_count();
        assert!(requests >= 4 * fragment_count as u64, "{opening:?}, {reading:?}");
    }
}

#[test]
fn nobody_waits_for_the_pages_of_a_long_listing_where_what_it_tells_is_known() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let (store, place) = array(array_type, 3_000);
        consolidate_fragment_meta(&place, &Options::default()).unwrap();
        consolidate_commits(&place, &Options::default()).unwrap();
        vacuum_commits(&place, &Options::default()).unwrap();
        let request = ReadRequest { layout: Some(Layout::GlobalOrder), ..ReadRequest::default() };
        for page_len in [1, 100, 1_000] {
            let distant =
                DistantStore::new(Arc::new(store.clone())).with_round_trip(ROUND_TRIP).with_pages(page_len);
            let metered = Arc::new(MeteredStore::new(distant.clone()));
            let snapshot = Snapshot::open(place_in(metered.clone()), TimeRange::ALL).unwrap();
            assert_eq!((snapshot.fragments().len(), snapshot.warnings().len()), (3_000, 0));
            assert!(metered.traffic().request_count() <= 6, "{:?}", metered.traffic());
            assert!(distant.waited() <= 3 * ROUND_TRIP, "{array_type}, {page_len}: {:?}", distant.waited());
            assert_eq!(cell_count(&snapshot, &request) as i32, 3_000 * CELL_COUNT);
        }
    }
}

#[test]
fn two_threads_have_a_hundred_requests_under_way() {
    let (store, _) = array(ArrayType::Sparse, 100);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    threads.install(|| {
        let far = Far::new(&store);
        let (snapshot, opening) = far.open();
        assert!(far.distant.most_under_way() >= 100, "{opening:?}");
        let request = ReadRequest { layout: Some(Layout::GlobalOrder), ..ReadRequest::default() };
        let (cells, reading) = far.spent(|| cell_count(&snapshot, &request));
        assert_eq!(cells, 2000);
        assert!(reading.round_count <= 2 && reading.read_count >= 300, "{reading:?}");
    });
}

#[test]
fn conditions_and_what_is_missing_ask_no_more_often() {
    let (store, _) = array(ArrayType::Sparse, 50);
    let far = Far::new(&store);
    let (snapshot, _) = far.open();
    let request = ReadRequest {
        condition: Some(Condition::compare("n", Relation::Ge, 150)),
        fields: vec!["s".into()],
        ..ReadRequest::default()
    };
    let (cells, reading) = far.spent(|| cell_count(&snapshot, &request));
    assert_eq!(cells as i32, 50 * CELL_COUNT - 150);
    assert!(reading.round_count <= 2, "{reading:?}");
}

/// A sparse array with a fragment for each list of coordinates, whose cells say the number of the fragment; consolidated as to what is listed
/// and known of fragments.
fn array_of(fragments: &[Vec<i32>]) -> MemoryStore {
    let store = MemoryStore::new();
    let place = place_in(Arc::new(store.clone()));
    let x = dimension("x", Some((Scalar::I32(0), Scalar::I32(999_999))), Some(Scalar::I32(1_000_000)));
    let mut schema = schema(ArrayType::Sparse, vec![x], (Layout::RowMajor, Layout::RowMajor));
    schema.capacity = 100;
    place.create(&schema).unwrap();
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    for (number, cells) in fragments.iter().enumerate() {
        let rows: Vec<Row> = cells.iter().map(|_| (number as u32, Some(b"text".to_vec()))).collect();
        let columns = Columns::of(rows.iter());
        let mut request = columns.request(Layout::Unordered, None);
        request.columns.push(("x".into(), ColumnRef::fixed(bytemuck::cast_slice(cells))));
        write(&snapshot, &request).unwrap();
    }
    consolidate_fragment_meta(&place, &Options::default()).unwrap();
    consolidate_commits(&place, &Options::default()).unwrap();
    store
}

/// The coordinates and numbers that a read gives, and what it takes from far away, where it gives the same.
fn numbers_of(store: &MemoryStore, request: &ReadRequest) -> (Vec<(i32, u32)>, Traffic) {
    let request = ReadRequest { fields: vec!["x".into(), "n".into()], ..request.clone() };
    let all = |snapshot: &Snapshot| {
        let batches = read(snapshot, &request).unwrap().map(Result::unwrap);
        let cells = batches.flat_map(|batch| {
            let (x, n): (&[i32], &[u32]) = (batch.columns[0].data.values(), batch.columns[1].data.values());
            x.iter().copied().zip(n.iter().copied()).collect::<Vec<_>>()
        });
        cells.collect::<Vec<(i32, u32)>>()
    };
    let near = Snapshot::open(place_in(Arc::new(store.clone())), TimeRange::ALL).unwrap();
    let far = Far::new(store);
    let (snapshot, _) = far.open();
    let (cells, reading) = far.spent(|| all(&snapshot));
    assert_eq!(cells, all(&near));
    (cells, reading)
}

#[test]
fn fields_of_tiles_all_of_whose_cells_others_hide_are_not_asked_for_where_they_are_many() {
    let cells: Vec<i32> = (0..10).map(|cell| cell * 1_000).collect();
    for layout in [Layout::Unordered, Layout::GlobalOrder, Layout::RowMajor] {
        let request = ReadRequest {
            ranges: vec![vec![extent(0, 4_999)]],
            layout: Some(layout),
            ..ReadRequest::default()
        };
        // Of a few all is asked for at once, of many the coordinates first. The footers tell where the only tile is.
        for (fragment_count, wanted) in [(20, (40, 1)), (1_000, (1_001, 2))] {
            let store = array_of(&vec![cells.clone(); fragment_count]);
            let (read, reading) = numbers_of(&store, &request);
            assert_eq!(read, [0, 1_000, 2_000, 3_000, 4_000].map(|x| (x, fragment_count as u32 - 1)));
            assert_eq!((reading.request_count(), reading.round_count), wanted, "{layout}: {reading:?}");
        }
    }
}

#[test]
fn fields_of_tiles_that_ranges_meet_between_their_cells_are_not_asked_for() {
    const LEN: i32 = 1_000;
    let has_one_inside = |fragment: i32| fragment % 10 == 7;
    let fragments: Vec<Vec<i32>> = (0..200)
        .map(|fragment| {
            let inside = has_one_inside(fragment).then_some(450);
            [Some(0), inside, Some(LEN - 1)].into_iter().flatten().map(|cell| fragment * LEN + cell).collect()
        })
        .collect();
    let store = array_of(&fragments);
    for layout in [Layout::Unordered, Layout::GlobalOrder, Layout::RowMajor] {
        let between = |fragments: std::ops::Range<i32>| ReadRequest {
            ranges: vec![
                fragments.map(|fragment| extent(fragment * LEN + 400, fragment * LEN + 500)).collect(),
            ],
            layout: Some(layout),
            ..ReadRequest::default()
        };
        let (read, reading) = numbers_of(&store, &between(0..200));
        let inside = (0..200).filter(|&fragment| has_one_inside(fragment));
        assert_eq!(read, inside.map(|fragment| (fragment * LEN + 450, fragment as u32)).collect::<Vec<_>>());
        assert_eq!((reading.request_count(), reading.round_count), (200 + 20, 2), "{layout}: {reading:?}");
        // Of a few all is asked for at once.
        let (read, reading) = numbers_of(&store, &between(0..7));
        assert_eq!((read.len(), reading.round_count), (0, 1), "{layout}: {reading:?}");
        // A tile of which all cells are wanted comes in one round.
        let all = ReadRequest { layout: Some(layout), ..ReadRequest::default() };
        let (read, reading) = numbers_of(&store, &all);
        assert_eq!(
            (read.len(), reading.request_count(), reading.round_count),
            (420, 400, 1),
            "{layout}: {reading:?}"
        );
    }
}

#[test]
fn how_much_fits_into_buffers_is_not_asked_of_the_store() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let (store, place) = array(array_type, 50);
        consolidate_fragment_meta(&place, &Options::default()).unwrap();
        let request = ReadRequest { fields: vec!["s".into()], ..ReadRequest::default() };
        let far = Far::new(&store);
        let (snapshot, _) = far.open();
        let (cells, batches) = far.spent(|| cell_count(&snapshot, &request));
        let far = Far::new(&store);
        let (snapshot, _) = far.open();
        let (mut text, mut starts, mut validity) = (vec![0; 1 << 16], vec![0; cells + 1], vec![0; cells]);
        let (filled, buffers) = far.spent(|| {
            let data =
                FieldBuffers { data: &mut text, offsets: Some(&mut starts), validity: Some(&mut validity) };
            BufferedRead::new(read(&snapshot, &request).unwrap()).fill(&mut [data]).unwrap()
        });
        assert_eq!((filled.cell_count, filled.is_complete), (cells, true), "{array_type}");
        assert!(buffers.request_count() <= batches.request_count(), "{array_type}: {buffers:?}, {batches:?}");
        assert!(buffers.round_count <= 2, "{array_type}: {buffers:?}");
    }
}

#[test]
fn what_a_program_has_read_it_does_not_ask_for_again() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let (store, _) = array(array_type, 100);
        let far = Far::new(&store);
        let resources = Arc::new(Resources::default());
        let open = || {
            let place = place_in(far.metered.clone()).with_resources(&resources);
            far.spent(|| Snapshot::open(place, TimeRange::ALL).unwrap())
        };
        let request = ReadRequest { ranges: vec![vec![extent(5, 1_904)]], ..ReadRequest::default() };
        let (snapshot, _) = open();
        assert_eq!(cell_count(&snapshot, &request), 1_900);
        for _ in 0..2 {
            let (snapshot, opening) = open();
            assert!(opening.round_count <= 1 && opening.read_count == 0, "{array_type}: {opening:?}");
            let (cells, reading) = far.spent(|| cell_count(&snapshot, &request));
            assert_eq!((cells, reading.request_count()), (1_900, 0), "{array_type}: {reading:?}");
        }
    }
}

/// A bucket that keeps what was read in a folder.
#[derive(Debug)]
struct FarAndKept {
    far: Arc<MeteredStore<DistantStore>>,
    cache: Arc<DiskCache>,
}

impl Remote for FarAndKept {
    fn schemes(&self) -> &'static [&'static str] {
        &["far"]
    }

    fn open(&self, _: &str, path: &str) -> smalti_types::Result<Place> {
        Ok(Place { store: self.far.clone(), path: path.to_owned() })
    }

    fn disk_cache(&self) -> Option<Arc<DiskCache>> {
        Some(Arc::clone(&self.cache))
    }
}

#[test]
fn another_program_with_the_same_folder_asks_for_listings_alone() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let (store, _) = array(array_type, 100);
        let folder = tempfile::tempdir().unwrap();
        let request = ReadRequest { ranges: vec![vec![extent(5, 1_904)]], ..ReadRequest::default() };
        let program = |folder: &std::path::Path| {
            let far = Far::new(&store);
            let cache = Arc::new(DiskCache::new(folder, 1 << 30, "test"));
            let kept = FarAndKept { far: far.metered.clone(), cache: Arc::clone(&cache) };
            let stores = Stores::new().with_remote(Arc::new(kept));
            let (cells, traffic) = far.spent(|| {
                let place = ArrayPlace::open(&stores, "far://array", SyncLevel::None, None, env()).unwrap();
                let place = place.with_resources(&Arc::new(Resources::default()));
                let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
                assert_eq!(snapshot.warnings(), [] as [String; 0]);
                cell_count(&snapshot, &request)
            });
            assert_eq!(cells, 1_900);
            traffic
        };
        let first = program(folder.path());
        assert!(first.read_count >= 300, "{array_type}: {first:?}");
        let second = program(folder.path());
        assert_eq!((second.read_count, second.list_count, second.round_count), (0, 3, 1), "{array_type}");
        // Of an array that was repaired nothing is known by the names of its fragments.
        smalti_store::Store::put(&store, "array/__aside/1/file", &[b"old"]).unwrap();
        let repaired = program(folder.path());
        assert!(repaired.round_count <= 5, "{array_type}: {repaired:?}");
    }
}

#[test]
fn a_disk_that_has_to_be_waited_for_is_told_what_comes() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let disk = SimDisk::new();
        // No more files than are worth opening before the first of them is read.
        array_in(Arc::new(LocalStore::on(disk.clone(), SyncLevel::None)), array_type, 20);
        let told = |disk: SimDisk| {
            let store = Arc::new(MeteredStore::new(LocalStore::on(disk.clone(), SyncLevel::None)));
            let told_byte_len = || disk.told().iter().map(|range| range.byte_len).sum::<u64>();
            let snapshot = Snapshot::open(place_in(store.clone()), TimeRange::ALL).unwrap();
            let footer_count = disk.told().len();
            // The first read brings what is known of the fragments too.
            assert_eq!(cell_count(&snapshot, &ReadRequest::default()), 400);
            let before = (told_byte_len(), store.traffic());
            assert_eq!(cell_count(&snapshot, &ReadRequest::default()), 400);
            (footer_count, told_byte_len() - before.0, store.traffic().since(&before.1).read_byte_len)
        };
        let (footer_count, told_byte_len, _) = told(disk.clone());
        assert_eq!((footer_count, told_byte_len), (0, 0), "{array_type}");
        let (footer_count, told_byte_len, read_byte_len) = told(disk.with_waits());
        assert_eq!(footer_count, 20, "{array_type}");
        // Of a field in several files each may be told of when the first one is read, and again when its own turn has come.
        let all = read_byte_len..=2 * read_byte_len;
        assert!(all.contains(&told_byte_len), "{array_type}: told of {told_byte_len}, read {read_byte_len}");
    }
}
