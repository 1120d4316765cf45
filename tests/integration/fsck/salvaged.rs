//! What is left of damaged arrays.

use super::damages::whole;
use super::place_of;
use super::rows::{data, flip};
use crate::corpus::Archive;
use crate::digest::digest_of;
use crate::mutation::{Files, named_arrays_of};
use crate::upkeep::crashes::changed;
use crate::upkeep::operation::Operation;
use crate::upkeep::state::State;
use crate::upkeep::{CHANGES, DENSE_CHANGES};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_codecs::Encryption;
use smalti_format::Version;
use smalti_query::{Progress, ReadRequest, read};
use smalti_store::{SeededEntropy, Store, StoreExt};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{ArrayType, EncryptionKey, ErrorKind, Extent, Physical, TimeRange};
use smalti_upkeep::{LostCells, Salvage, salvage};
use std::sync::Arc;

#[test]
fn salvage_keeps_all_but_the_tile_that_is_lost() {
    let mut files = whole(ArrayType::Sparse);
    let last = data(&mut files, "a1_var.tdb").len() - 1;
    flip(data(&mut files, "a1_var.tdb"), last);
    let (_, place) = place_of(&files, None);
    let rest = salvage(&place, None).unwrap();
    assert_eq!(rest.lost.len(), 1, "{:?}", rest.lost);
    assert_eq!(
        (rest.lost[0].tile, rest.lost[0].cell_count, rest.lost[0].field.as_deref()),
        (Some(2), Some(2), Some("s"))
    );
    // The delete took two of eight: that of the condition, and one with null.
    assert_eq!(digest_of(&rest.place).cell_count, 6);
    let mut files = whole(ArrayType::Sparse);
    data(&mut files, "d0.tdb").pop();
    let (_, place) = place_of(&files, None);
    let rest = salvage(&place, None).unwrap();
    assert_eq!((rest.lost.last().unwrap().tile, rest.lost.last().unwrap().field.as_deref()), (Some(2), None));
    assert_eq!(digest_of(&rest.place).cell_count, 4);
}

fn files_of(changes: &[Operation], before: &[Operation]) -> Files {
    let image = changed(changes, before).image();
    image.files.iter().map(|(path, bytes)| (path.clone(), bytes.to_vec())).collect()
}

/// Cuts the last byte off a file of the newest fragment.
fn cut(files: &mut Files, ending: &str) {
    let is_it = |(path, bytes): &(String, Vec<u8>)| path.ends_with(ending) && !bytes.is_empty();
    let at = files.iter().rposition(is_it).unwrap_or_else(|| panic!("no {ending}"));
    files[at].1.pop();
}

#[test]
fn deleted_cells_do_not_come_back_with_a_history_that_is_damaged() {
    let files = files_of(CHANGES, &[Operation::ConsolidateFragments, Operation::VacuumFragments]);
    let (_, place) = place_of(&files, None);
    let before = State::at(&place, u64::MAX).unwrap().cells.unwrap();
    let mut whole = salvage(&place, None).unwrap();
    assert!(whole.lost.is_empty(), "{:?}", whole.lost);
    let (_, target) = place_of(&Files::new(), None);
    assert_eq!(whole.write_to(&target).unwrap(), before.len() as u64);
    assert_eq!(State::at(&target, u64::MAX).unwrap().cells, Some(before.clone()));
    for ending in ["/t.tdb", "/dt.tdb", "/dci.tdb", "/a0.tdb"] {
        let mut files = files.clone();
        cut(&mut files, ending);
        let (_, place) = place_of(&files, None);
        let rest = salvage(&place, None).unwrap();
        assert!(!rest.lost.is_empty(), "{ending}");
        let cells = State::at(&rest.place, u64::MAX).unwrap().cells.unwrap();
        // Of the attribute only a value is lost.
        let is_known = |(x, n): &(i32, u32)| {
            before.iter().any(|(known, value)| x == known && (n == value || ending == "/a0.tdb"))
        };
        assert!(cells.iter().all(is_known), "{ending}: {cells:?} of {before:?}");
        let has_lost_cells = ending != "/a0.tdb";
        assert!(!cells.is_empty() && (cells.len() < before.len()) == has_lost_cells, "{ending}: {cells:?}");
    }
}

#[test]
fn cells_without_the_value_that_a_delete_asks_for_are_left_out() {
    let mut files = files_of(
        &[
            Operation::Create,
            Operation::Write { at: 10, cells: &[1, 2], number: 100 },
            Operation::Write { at: 20, cells: &[30, 31], number: 202 },
            Operation::Delete { at: 25, number: 202 },
            Operation::Write { at: 30, cells: &[40], number: 400 },
        ],
        &[],
    );
    // The newest fragment is younger than the delete.
    for (time, lost_field, cells) in
        [("__30_", Some("n"), vec![1, 2, 31, 40]), ("__20_", None, vec![1, 2, 40])]
    {
        let is_it = |(path, _): &(String, Vec<u8>)| path.contains(time) && path.ends_with("/a0.tdb");
        let at = files.iter().position(is_it).unwrap();
        files[at].1.pop();
        let (_, place) = place_of(&files, None);
        let rest = salvage(&place, None).unwrap();
        let is_said = |lost: &LostCells| lost.name.contains(time) && lost.field.as_deref() == lost_field;
        assert!(rest.lost.iter().any(is_said), "{:?}", rest.lost);
        let found = State::at(&rest.place, u64::MAX).unwrap().cells.unwrap();
        assert_eq!(found.iter().map(|(x, _)| *x).collect::<Vec<_>>(), cells);
    }
}

#[test]
fn of_two_values_of_a_cell_the_newer_is_salvaged() {
    let mut files = files_of(CHANGES, &[]);
    let before = State::at(&place_of(&files, None).1, u64::MAX).unwrap().cells.unwrap();
    // The fragment of the time 10 is lost, of which later ones have replaced cells.
    let is_first =
        |path: &str| path.contains("__fragments/__10_") && path.ends_with("__fragment_metadata.tdb");
    files.retain(|(path, _)| !is_first(path));
    let (_, place) = place_of(&files, None);
    let rest = salvage(&place, None).unwrap();
    let cells = State::at(&rest.place, u64::MAX).unwrap().cells.unwrap();
    let expected: Vec<(i32, u32)> = before.into_iter().filter(|(_, number)| *number >= 200).collect();
    assert_eq!(cells, expected);
    assert!(rest.lost.iter().any(|lost| lost.name.starts_with("__10_")), "{:?}", rest.lost);
}

/// A sparse array in which a later write replaces the cells 3 and 4, and adds 30.
const REPLACED: &[Operation] = &[
    Operation::Create,
    Operation::Write { at: 10, cells: &[1, 2, 3, 4, 5, 6, 7], number: 100 },
    Operation::Write { at: 20, cells: &[3, 4, 30], number: 200 },
];

/// The places that show older values, with the time that these are from.
fn older(rest: &Salvage) -> Vec<(i32, i32, u64)> {
    let places = rest.older.cells.iter().map(|cells| {
        let [Extent::Num { lo, hi }] = cells.extents[..] else { panic!("{cells:?}") };
        (<i32 as Physical>::from_ordinal(lo), <i32 as Physical>::from_ordinal(hi), cells.from.end)
    });
    let mut places: Vec<(i32, i32, u64)> = places.collect();
    places.sort_unstable();
    places
}

fn cells_of(place: &ArrayPlace) -> Vec<(i32, u32)> {
    State::at(place, u64::MAX).unwrap().cells.unwrap()
}

/// What is listed, and the cells that are left where these are left out.
fn listed_and_left_out(files: &Files) -> (Vec<(i32, i32, u64)>, Vec<i32>) {
    let (_, place) = place_of(files, None);
    let mut rest = salvage(&place, None).unwrap();
    let (listed, before) = (older(&rest), cells_of(&rest.place));
    assert_eq!(rest.older.cell_count, listed.len() as u64);
    assert!(rest.older.cells.iter().all(|cells| cells.lost == TimeRange { start: 20, end: 20 }));
    rest.leave_out_older().unwrap();
    let left = cells_of(&rest.place);
    assert_eq!(left.len() + listed.len(), before.len());
    assert!(left.iter().all(|cell| before.contains(cell)));
    let (_, target) = place_of(&Files::new(), None);
    assert_eq!(rest.write_to(&target).unwrap(), left.len() as u64);
    assert_eq!(cells_of(&target), left);
    (listed, left.into_iter().map(|(x, _)| x).collect())
}

#[test]
fn cells_that_show_an_older_value_are_listed_with_its_time_and_can_be_left_out() {
    // Nothing but the rectangle of the lost tile is known.
    let mut files = files_of(REPLACED, &[]);
    cut(&mut files, "/d0.tdb");
    assert_eq!(
        listed_and_left_out(&files),
        (vec![(3, 3, 10), (4, 4, 10), (5, 5, 10), (6, 6, 10), (7, 7, 10)], vec![1, 2])
    );
    // The tile is lost by an attribute that a delete asks for: its coordinates are known.
    let mut files = files_of(REPLACED, &[Operation::Delete { at: 25, number: 777 }]);
    let is_it = |(path, _): &(String, Vec<u8>)| path.contains("__20_") && path.ends_with("/a0.tdb");
    let at = files.iter().position(is_it).unwrap();
    files[at].1.pop();
    assert_eq!(listed_and_left_out(&files), (vec![(3, 3, 10), (4, 4, 10)], vec![1, 2, 5, 6, 7]));
    // Of the fragment nothing is left but its name, and a write came after it.
    let mut files = files_of(REPLACED, &[Operation::Write { at: 30, cells: &[1, 50], number: 300 }]);
    files.retain(|(path, _)| !(path.contains("__20_") && path.ends_with("__fragment_metadata.tdb")));
    let (listed, left) = listed_and_left_out(&files);
    assert_eq!(listed.iter().map(|(x, _, _)| *x).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7]);
    assert_eq!(left, [1, 50]);
    // What replaces nothing leaves nothing older.
    let dups: Vec<Operation> =
        [Operation::CreateDups].into_iter().chain(REPLACED[1..].iter().copied()).collect();
    let mut files = files_of(&dups, &[]);
    cut(&mut files, "/d0.tdb");
    let rest = salvage(&place_of(&files, None).1, None).unwrap();
    assert!(!rest.lost.is_empty() && rest.older.cell_count == 0, "{:?}", rest.older);
}

#[test]
fn older_values_of_dense_arrays_are_listed_in_boxes_and_left_out_as_fill_values() {
    let mut files = files_of(DENSE_CHANGES, &[]);
    files.retain(|(path, _)| !(path.contains("__20_") && path.ends_with("__fragment_metadata.tdb")));
    let (_, place) = place_of(&files, None);
    let mut rest = salvage(&place, None).unwrap();
    // From 6 on there is a later write.
    assert_eq!((older(&rest), rest.older.cell_count), (vec![(1, 5, 10)], 5));
    let with_values = |place: &ArrayPlace| -> Vec<i32> {
        let cells = cells_of(place).into_iter().filter(|(_, number)| *number < 1_000);
        cells.map(|(x, _)| x).collect()
    };
    assert_eq!(with_values(&rest.place), (1..=11).collect::<Vec<_>>());
    rest.leave_out_older().unwrap();
    let (_, target) = place_of(&Files::new(), None);
    rest.write_to(&target).unwrap();
    assert_eq!(with_values(&target), (6..=11).collect::<Vec<_>>());
}

#[test]
fn a_delete_that_is_given_up_is_listed() {
    let mut files = files_of(CHANGES, &[Operation::ConsolidateCommits, Operation::VacuumCommits]);
    let at = files.iter().position(|(path, _)| path.ends_with(".con")).unwrap();
    let text = String::from_utf8_lossy(&files[at].1).into_owned();
    let line = text.find(".del\n").unwrap() + 5;
    // The tile of the condition, behind its length and its header.
    flip(&mut files[at].1, line + 8 + 60);
    let (_, place) = place_of(&files, None);
    let rest = salvage(&place, None).unwrap();
    assert!(
        rest.lost.iter().any(|lost| lost.reason.contains("what it deleted comes back")),
        "{:?}",
        rest.lost
    );
    assert!(State::at(&rest.place, u64::MAX).is_ok());
}

#[test]
fn what_keeps_an_array_shut_and_is_no_damage_is_left_out() {
    let whole = files_of(CHANGES, &[]);
    let expected = State::at(&place_of(&whole, None).1, u64::MAX).unwrap();
    let id = "0123456789abcdef0123456789abcdef";
    let mut newer = whole.clone();
    newer.push((format!("array/__commits/__30_30_{id}_99.wrt"), Vec::new()));
    newer.push((format!("array/__fragments/__30_30_{id}_99/a0.tdb"), vec![1]));
    let mut locked = whole.clone();
    let key = EncryptionKey::new(b"0123456789abcdef0123456789abcdef").unwrap();
    let cipher = Encryption { key, entropy: Arc::new(SeededEntropy::new(7)) };
    let mut tile = Vec::new();
    write_generic_tile(&[], Version::DEFAULT, Some(&cipher), &mut tile, &mut Scratch::new()).unwrap();
    locked.push((format!("array/__meta/__90_90_{id}"), tile));
    for files in [newer, locked] {
        let (_, place) = place_of(&files, None);
        assert!(State::at(&place, u64::MAX).is_err());
        let rest = salvage(&place, None).unwrap();
        assert_eq!(State::at(&rest.place, u64::MAX).unwrap(), expected);
        assert!(
            !rest.lost.is_empty() && rest.lost.iter().all(|lost| lost.name.contains(id)),
            "{:?}",
            rest.lost
        );
    }
}

#[test]
fn conditions_on_what_is_salvaged_see_the_nulls_in_the_place_of_lost_values() {
    let mut files = whole(ArrayType::Sparse);
    files.retain(|(path, _)| !path.ends_with(".del"));
    let last = data(&mut files, "a0.tdb").len() - 1;
    flip(data(&mut files, "a0.tdb"), last);
    let (_, place) = place_of(&files, None);
    let rest = salvage(&place, None).unwrap();
    let lost = rest.lost.iter().filter_map(|lost| lost.cell_count).sum::<u64>();
    let snapshot = Snapshot::open(rest.place.clone(), TimeRange::ALL).unwrap();
    let all = cell_count(&snapshot, None);
    let (nulls, others) =
        (cell_count(&snapshot, Some("n is null")), cell_count(&snapshot, Some("n is not null")));
    assert_eq!(nulls + others, all);
    assert!(nulls >= lost && lost == 2, "{nulls} {lost}");
}

fn cell_count(snapshot: &Snapshot, condition: Option<&str>) -> u64 {
    let condition = condition.map(|text| text.parse().unwrap());
    let request = ReadRequest { condition, leaves_out: true, ..ReadRequest::default() };
    read(snapshot, &request).unwrap().map(|batch| batch.unwrap().cell_count as u64).sum()
}

/// An array of the reference with dimension labels.
fn labelled() -> Files {
    let arrays = named_arrays_of(&Archive::unpack(21));
    arrays.into_iter().find(|(name, ..)| name == "dimension_labels").unwrap().1
}

#[test]
fn a_label_that_is_lost_is_left_out_and_said_so() {
    let whole = labelled();
    let (_, place) = place_of(&whole, None);
    let labels = Snapshot::open(place.clone(), TimeRange::ALL).unwrap().schema().dimension_labels.clone();
    for label in &labels {
        let path = label.path().unwrap();
        for part in ["__fragment_metadata.tdb", "a0", "/__schema/"] {
            let mut files = whole.clone();
            let is_it =
                |name: &str| name.contains(path) && name.contains(part) && !name.contains("__enumerations");
            let Some(at) = files.iter().position(|(name, bytes)| is_it(name) && !bytes.is_empty()) else {
                continue;
            };
            files[at].1.truncate(1);
            let (_, place) = place_of(&files, None);
            let mut rest = salvage(&place, None).unwrap_or_else(|error| panic!("{path} {part}: {error}"));
            assert!(!rest.lost.is_empty(), "{path} {part}");
            let (_, target) = place_of(&Files::new(), None);
            rest.write_to(&target).unwrap_or_else(|error| panic!("{path} {part}: {error}"));
            let new = Snapshot::open(target.clone(), TimeRange::ALL).unwrap();
            let named = format!("{:?}", label.name);
            let is_said = rest.lost.iter().any(|lost| lost.name.contains(&named));
            assert_eq!(new.schema().label(&label.name).is_none(), is_said, "{path} {part}: {:?}", rest.lost);
            for other in &new.schema().dimension_labels {
                new.open_label(other).unwrap();
            }
            assert_eq!(digest_of(&target), digest_of(&place), "{path} {part}");
        }
    }
}

#[test]
fn a_salvage_that_is_stopped_leaves_nothing() {
    for changes in [CHANGES, DENSE_CHANGES] {
        let (_, place) = place_of(&files_of(changes, &[]), None);
        let progress = Arc::new(Progress::default());
        let mut rest = salvage(&place, Some(Arc::clone(&progress))).unwrap();
        let (store, target) = place_of(&Files::new(), None);
        progress.cancel();
        assert_eq!(rest.write_to(&target).unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(store.files().is_empty() && store.list("").unwrap().is_empty());
        assert_eq!(salvage(&place, Some(progress)).unwrap_err().kind(), ErrorKind::Cancelled);
        store.put("array/notes", &[b"mine"]).unwrap();
        let mut rest = salvage(&place, None).unwrap();
        assert_eq!(rest.write_to(&target).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(store.read_all("array/notes", 10).unwrap()[..], b"mine"[..]);
    }
}
