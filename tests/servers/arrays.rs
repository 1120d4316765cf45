//! Whole arrays in buckets of every server, through the public interface: what programs do on a disk they do there.

use crate::server::{Server, servers};
use smalti::arrow_array::RecordBatch;
use smalti::arrow_array::cast::AsArray as _;
use smalti::arrow_array::types::{Int32Type, Int64Type};
use smalti::ndarray::Array2;
use smalti::upkeep::{FragmentChoice, FragmentDeletion, FragmentOptions, UpkeepOptions, VacuumOptions};
use smalti::{
    Array, Dimension, FindingKind, FsckOptions, Object, SharedWrite, TimeRange, WalkOrder, prelude::*,
};

/// A place in a bucket of a server. Whoever opens something there is like another program: it knows nothing of what others have read.
struct Place {
    server: &'static dyn Server,
    uri: String,
}

/// Does something on each server, in a bucket of its own.
fn everywhere(work: impl Fn(&Place)) {
    for server in servers() {
        work(&Place { server, uri: server.new_uri("folder/object") });
    }
}

impl Drop for Place {
    /// What failed tells where it was.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was in a bucket of {}", self.server.name());
        }
    }
}

impl Place {
    fn options(&self) -> Options {
        Options::new().context(&self.server.context())
    }

    fn create(&self, schema: &Schema) -> Array {
        Array::create_with(&self.uri, schema, &self.options()).unwrap()
    }

    fn open(&self) -> Array {
        Array::open_with(&self.uri, &self.options()).unwrap()
    }

    fn open_at(&self, time: u64) -> Array {
        Array::open_with(&self.uri, &self.options().at(time)).unwrap()
    }

    fn check_soundness(&self) {
        let check = FsckOptions { reads_data: true, ..FsckOptions::default() };
        let report = Array::fsck(&self.uri, &self.options(), &check).unwrap();
        // Commits stand twice between their consolidation and its vacuum.
        let is_known = report.findings.iter().all(|finding| finding.kind == FindingKind::CommitTwice);
        assert!(is_known && report.is_sound(), "{:?}", report.findings);
    }
}

fn cells_of_line() -> Schema {
    Schema::sparse()
        .dimension(Dimension::new("x", 0..=9999).tile(100))
        .attribute(Attribute::of::<i64>("a").filters([Filter::zstd(3)]))
        .attribute(Attribute::utf8("s").nullable())
        .capacity(7)
        .build()
        .unwrap()
}

/// Fragments of [`put_rounds`]: more than a page of the shortest listing has.
const ROUNDS: i32 = 12;

/// Cells of a round.
const CELLS: i32 = 30;

/// The cell of a round: its place, its number, and a word or none.
fn cell(round: i32, cell: i32) -> (i32, i64, Option<String>) {
    let x = cell * ROUNDS + round;
    (x, i64::from(x) * 3 - 50, (x % 4 != 0).then(|| "w".repeat((x % 5) as usize)))
}

fn put_round(array: &Array, round: i32) {
    let cells: Vec<_> = (0..CELLS).map(|idx| cell(round, idx)).collect();
    let x: Vec<i32> = cells.iter().map(|cell| cell.0).collect();
    let a: Vec<i64> = cells.iter().map(|cell| cell.1).collect();
    let s: Vec<Option<String>> = cells.into_iter().map(|cell| cell.2).collect();
    let at = 10 * (round as u64 + 1);
    array.write().column("x", &x).column("a", &a).column("s", &s).at(at).commit().unwrap();
}

/// Writes rounds at 10, 20 and so on, a fragment each.
fn put_rounds(array: &Array) {
    (0..ROUNDS).for_each(|round| put_round(array, round));
}

/// All cells of the rounds before `end` that are wanted.
fn wanted(end: i32, is_wanted: impl Fn(i32, i64) -> bool) -> Vec<(i32, i64, Option<String>)> {
    let cells = (0..end).flat_map(|round| (0..CELLS).map(move |idx| cell(round, idx)));
    let mut cells: Vec<_> = cells.filter(|(x, a, _)| is_wanted(*x, *a)).collect();
    cells.sort();
    cells
}

/// The cells of a batch, sorted.
fn found(batch: &RecordBatch) -> Vec<(i32, i64, Option<String>)> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let x = column("x").as_primitive::<Int32Type>().values();
    let a = column("a").as_primitive::<Int64Type>().values();
    let s = column("s").as_string::<i64>().iter().map(|word| word.map(str::to_owned));
    let mut cells: Vec<_> = x.iter().zip(a).zip(s).map(|((x, a), s)| (*x, *a, s)).collect();
    cells.sort();
    cells
}

fn all_of(array: &Array) -> Vec<(i32, i64, Option<String>)> {
    found(&array.read().collect().unwrap())
}

#[test]
fn dense_cells_are_read_whole_in_boxes_and_at_earlier_times() {
    everywhere(|place| {
        let schema = Schema::dense()
            .dimension(Dimension::new("y", 0..=19).tile(5))
            .dimension(Dimension::new("x", 0..=29).tile(7))
            .attribute(Attribute::of::<i64>("a").filters([Filter::zstd(3)]));
        let array = place.create(&schema.build().unwrap());
        let again = Array::create_with(&place.uri, &array.schema(), &place.options()).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists, "{again}");
        let first = Array2::from_shape_fn((20, 30), |(y, x)| (30 * y + x) as i64);
        array.write().column("a", &first).at(10).commit().unwrap();
        let patch = Array2::from_shape_fn((6, 11), |(y, x)| -((11 * y + x) as i64));
        array.write().range("y", 3..=8).range("x", 10..=20).column("a", &patch).at(20).commit().unwrap();
        let mut both = first.clone();
        both.slice_mut(smalti::ndarray::s![3..=8, 10..=20]).assign(&patch);

        for array in [array, place.open()] {
            assert_eq!(array.read().to_ndarray::<i64>("a").unwrap(), both.clone().into_dyn());
            let part = array.read().range("y", 2..=9).range("x", 8..=13).to_ndarray::<i64>("a").unwrap();
            assert_eq!(part, both.slice(smalti::ndarray::s![2..=9, 8..=13]).to_owned().into_dyn());
        }
        let before = place.open_at(19).read().to_ndarray::<i64>("a").unwrap();
        assert_eq!(before, first.into_dyn());
        assert!(place.open_at(9).fragments().unwrap().is_empty());
        place.check_soundness();
    });
}

#[test]
fn sparse_cells_are_found_by_ranges_conditions_and_times() {
    everywhere(|place| {
        put_rounds(&place.create(&cells_of_line()));
        let array = place.open();
        assert_eq!(array.fragments().unwrap().len(), ROUNDS as usize);
        assert_eq!(all_of(&array), wanted(ROUNDS, |_, _| true));
        let ranges = array.read().range("x", 17..=40).range("x", 100..=250);
        let is_within = |x| (17..=40).contains(&x) || (100..=250).contains(&x);
        assert_eq!(found(&ranges.collect().unwrap()), wanted(ROUNDS, |x, _| is_within(x)));
        let large = array.read().filter(field("a").gt(400));
        assert_eq!(found(&large.collect().unwrap()), wanted(ROUNDS, |_, a| a > 400));
        let ordered = array.read().order(Layout::RowMajor).limit(25).collect().unwrap();
        assert_eq!(found(&ordered), wanted(ROUNDS, |x, _| x < 25));
        assert_eq!(all_of(&place.open_at(35)), wanted(3, |_, _| true));
        let nothing = array.read().range("x", 9000..=9999).collect().unwrap();
        assert_eq!(nothing.num_rows(), 0);
        place.check_soundness();
    });
}

#[test]
fn deletes_hide_cells_from_their_time_on() {
    everywhere(|place| {
        let array = place.create(&cells_of_line());
        put_rounds(&array);
        array.delete(field("a").gt(300)).at(75).commit().unwrap();
        let is_deleted = |x: i32, a: i64| a > 300 && x % ROUNDS < 7;
        for array in [array, place.open()] {
            assert_eq!(all_of(&array), wanted(ROUNDS, |x, a| !is_deleted(x, a)));
        }
        assert_eq!(all_of(&place.open_at(74)), wanted(7, |_, _| true));
        assert_eq!(all_of(&place.open_at(75)), wanted(7, |_, a| a <= 300));
        place.check_soundness();
    });
}

#[test]
fn fragments_are_merged_vacuumed_and_deleted() {
    everywhere(|place| {
        let mut array = place.create(&cells_of_line());
        put_rounds(&array);
        array.consolidate(&FragmentOptions::default()).unwrap();
        let unlocked = VacuumOptions { ignores_readers: true, ..VacuumOptions::default() };
        for is_vacuumed in [false, true] {
            let other = place.open();
            assert_eq!(other.fragments().unwrap().len(), 1);
            assert_eq!(all_of(&other), wanted(ROUNDS, |_, _| true));
            assert_eq!(all_of(&place.open_at(35)), wanted(3, |_, _| true));
            place.check_soundness();
            let removed = array.vacuum(&unlocked).unwrap().fragments.len();
            assert_eq!(removed, if is_vacuumed { 0 } else { ROUNDS as usize });
        }

        let (x, a, s) = ([9998, 9999], [1_i64, 2], ["late", "later"]);
        array.write().column("x", &x).column("a", &a).column("s", &s).at(1000).commit().unwrap();
        assert_eq!(all_of(&place.open()).len(), (CELLS * ROUNDS) as usize + 2);
        let late = FragmentChoice::Within(TimeRange { start: 1000, end: u64::MAX });
        let deletion = FragmentDeletion { ignores_readers: true, ..FragmentDeletion::of(late) };
        assert_eq!(array.delete_fragments(&deletion).unwrap().fragments.len(), 1);
        assert_eq!(all_of(&place.open()), wanted(ROUNDS, |_, _| true));
        place.check_soundness();
    });
}

#[test]
fn consolidated_footers_commits_and_metadata_say_what_they_were_made_of() {
    everywhere(|place| {
        let (array, options) = (place.create(&cells_of_line()), UpkeepOptions::default());
        put_rounds(&array);
        for at in 1..=9_u64 {
            array.write_metadata().put(format!("key{at}"), at).put("last", at).at(at).commit().unwrap();
        }
        let count = ROUNDS as usize;
        let check = || {
            let array = place.open();
            assert_eq!(array.fragments().unwrap().len(), count);
            assert_eq!(all_of(&array), wanted(ROUNDS, |_, _| true));
            assert_eq!(all_of(&place.open_at(35)), wanted(3, |_, _| true));
            let metadata = array.metadata().unwrap();
            assert_eq!((metadata.len(), metadata.get("last")), (10, Some(&Value::from(9_u64))));
            place.check_soundness();
        };
        assert_eq!(array.consolidate_fragment_meta(&options).unwrap().read.len(), count);
        check();
        assert_eq!(array.consolidate_commits(&options).unwrap().written.len(), 1);
        check();
        assert_eq!(array.vacuum_commits(&options).unwrap().removed.len(), count);
        check();
        let merged = array.consolidate_metadata(&options).unwrap().read;
        assert_eq!(merged.len(), 9);
        check();
        // The list of what was merged goes with it.
        let removed = array.vacuum_metadata(&options).unwrap().removed;
        assert!(merged.iter().all(|file| removed.contains(file)) && removed.len() == 10, "{removed:?}");
        check();
        assert!(array.vacuum_fragment_meta(&options).unwrap().removed.is_empty());
        assert!(place.open().fragments().unwrap().iter().all(|one| one.has_consolidated_metadata()));
    });
}

#[test]
fn schemas_evolve_and_cells_of_all_of_them_are_read() {
    everywhere(|place| {
        let schema = Schema::sparse()
            .dimension(Dimension::new("x", 0..=999).tile(10))
            .current_domain("x", 0..=99)
            .attribute(Attribute::of::<i64>("a"))
            .attribute(Attribute::of::<u8>("old"))
            .build()
            .unwrap();
        let array = place.create(&schema);
        array
            .write()
            .column("x", &[1, 2])
            .column("a", &[10_i64, 20])
            .column("old", &[1_u8, 2])
            .commit()
            .unwrap();
        let evolution = array
            .evolve()
            .add_attribute(Attribute::of::<i8>("sky").enumeration("skies").fill(0))
            .add_enumeration(Enumeration::new("skies", ["clear", "overcast"]))
            .drop_attribute("old")
            .expand_current_domain("x", 0..=499);
        let at = evolution.commit().unwrap();
        let array = place.open();
        let skies = ["overcast", "clear"];
        array
            .write()
            .column("x", &[300, 301])
            .column("a", &[30_i64, 40])
            .column("sky", &skies)
            .commit()
            .unwrap();
        let read = |array: &Array| {
            let batch = array.read().select(["a"]).order(Layout::RowMajor).collect().unwrap();
            batch.column(0).as_primitive::<Int64Type>().values().to_vec()
        };
        let now = place.open();
        assert_eq!(read(&now), [10, 20, 30, 40]);
        let overcast = now.read().filter(field("sky").eq("overcast")).collect().unwrap();
        assert_eq!(overcast.num_rows(), 1);
        let before = place.open_at(at - 1);
        assert!(before.schema().attribute("old").is_some() && now.schema().attribute("old").is_none());
        assert_eq!(read(&before), [10, 20]);
        place.check_soundness();
    });
}

#[test]
fn parts_of_a_shared_write_are_seen_at_one_moment() {
    everywhere(|place| {
        let array = place.create(&cells_of_line());
        let write = array.share_write_at(1000).unwrap();
        let told = write.to_string();
        let put = |round: i32| {
            let other: SharedWrite = told.parse().unwrap();
            let (x, a, s) = cell(round, 0);
            let part = place.open();
            let part = part.write().column("x", &[x]).column("a", &[a]).column("s", &[s]).put(&other);
            part.unwrap().name().to_owned()
        };
        let names: Vec<String> = std::thread::scope(|scope| {
            let parts: Vec<_> = (0..4).map(|round| scope.spawn(move || put(round))).collect();
            parts.into_iter().map(|part| part.join().unwrap()).collect()
        });
        assert!(place.open().fragments().unwrap().is_empty());
        array.commit_shared(&write, &names).unwrap();
        assert_eq!(all_of(&place.open()), wanted(4, |x, _| x < ROUNDS));
        assert!(place.open_at(999).fragments().unwrap().is_empty());
        let lost = array.share_write_at(2000).unwrap();
        array.write().column("x", &[1]).column("a", &[1_i64]).column("s", &["s"]).put(&lost).unwrap();
        assert_eq!(array.abandon_shared(&lost).unwrap(), 1);
        place.check_soundness();
    });
}

#[test]
fn groups_have_members_and_metadata_and_go_with_them() {
    everywhere(|place| {
        let options = place.options();
        let group = Group::create_with(&place.uri, &options).unwrap();
        for name in ["a", "b"] {
            let array = Array::create_with(&format!("{}/{name}", place.uri), &cells_of_line(), &options);
            put_round(&array.unwrap(), 0);
            group.add(name).unwrap();
        }
        Group::create_with(&format!("{}/inner", place.uri), &options).unwrap();
        group.add("inner").unwrap();
        group.write_metadata().put("unit", "metre").commit().unwrap();

        let group = Group::open_with(&place.uri, &place.options()).unwrap();
        let members = group.members().unwrap();
        assert!(members.iter().map(|member| member.uri()).eq(["a", "b", "inner"]), "{members:?}");
        assert_eq!(all_of(&group.array("b").unwrap()), wanted(1, |_, _| true));
        assert_eq!(group.metadata().unwrap().get("unit"), Some(&Value::from("metre")));
        group.remove("a").unwrap();
        assert_eq!(group.members().unwrap().len(), 2);
        place.check_soundness();
        let walked = Object::walk_with(&place.uri, WalkOrder::Pre, &options).unwrap();
        assert_eq!(walked.len(), 3, "{walked:?}");
        let deleted = group.delete_with_members().unwrap().deleted;
        assert_eq!(deleted.len(), 3, "{deleted:?}");
        assert!(Object::at_with(&place.uri, &options).unwrap().is_none());
        let left = Object::at_with(&format!("{}/a", place.uri), &options).unwrap();
        assert!(left.is_some(), "what was no member any more stays");
    });
}

#[test]
fn arrays_are_moved_and_removed_whole() {
    everywhere(|place| {
        put_rounds(&place.create(&cells_of_line()));
        let (moved, options) = (format!("{}-moved", place.uri), place.options());
        let object = Object::at_with(&place.uri, &options).unwrap().unwrap();
        object.move_to(&moved).unwrap();
        let gone = Array::open_with(&place.uri, &place.options()).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound, "{gone}");
        let array = Array::open_with(&moved, &place.options()).unwrap();
        assert_eq!(all_of(&array), wanted(ROUNDS, |_, _| true));
        Object::at_with(&moved, &options).unwrap().unwrap().remove().unwrap();
        assert!(Object::at_with(&moved, &place.options()).unwrap().is_none());
    });
}

#[test]
fn files_of_several_parts_are_written_and_read_in_pieces() {
    /// Two parts of the least size and a piece.
    const CELL_COUNT: i32 = (11 << 20) / 8;
    everywhere(|place| {
        let context = {
            let mut settings = place.server.settings();
            settings.set("network.part_size", "5 MiB").unwrap();
            smalti::Context::new().storage(settings)
        };
        let schema = Schema::dense()
            .dimension(Dimension::new("x", 0..=CELL_COUNT - 1).tile(50_000))
            .attribute(Attribute::of::<i64>("a"));
        let options = Options::new().context(&context);
        let array = Array::create_with(&place.uri, &schema.build().unwrap(), &options).unwrap();
        let value = |x: i32| i64::from(x).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed());
        let a: Vec<i64> = (0..CELL_COUNT).map(value).collect();
        array.write().column("a", &a).commit().unwrap();
        let array = place.open();
        for range in [700_000..=700_009, 0..=0, CELL_COUNT - 5..=CELL_COUNT - 1] {
            let read = array.read().range("x", range.clone()).to_ndarray::<i64>("a").unwrap();
            assert!(read.iter().copied().eq(range.map(value)));
        }
        let whole = array.read().to_ndarray::<i64>("a").unwrap();
        assert!(whole.as_slice() == Some(&a), "all of a long file comes back");
        place.check_soundness();
    });
}

#[test]
fn encrypted_arrays_open_with_their_key_alone() {
    everywhere(|place| {
        let options = place.options().key(EncryptionKey::new(&[7; 32]).unwrap());
        put_rounds(&Array::create_with(&place.uri, &cells_of_line(), &options).unwrap());
        let refused = Array::open_with(&place.uri, &place.options()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Permission, "{refused}");
        let array = Array::open_with(&place.uri, &options).unwrap();
        assert_eq!(all_of(&array), wanted(ROUNDS, |_, _| true));
    });
}
