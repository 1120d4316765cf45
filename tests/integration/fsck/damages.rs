//! Damages made by hand, one after the other: each is named and classified, and mended where that is provable.

use super::place_of;
use super::rows::After::{Opens, Same, Stays};
use super::rows::{Row, rows_of};
use crate::digest::{CELLS, Form, array, digest_of, put};
use crate::mutation::Files;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::{MetadataEntry, MetadataValue};
use smalti_query::condition::Condition;
use smalti_store::{StoreExt, Stores};
use smalti_types::{ArrayType, Datatype, Filter, Layout, TimeRange};
use smalti_upkeep::{Class, Finding, FindingKind, FsckOptions, Remedy, RepairOptions, fsck, repair, salvage};

/// An array of two fragments and metadata, a sparse one with a delete too.
pub(super) fn whole(array_type: ArrayType) -> Files {
    let form = Form {
        extent: 4,
        capacity: 2,
        tile_order: Layout::RowMajor,
        filters: vec![Filter::Md5],
        allows_dups: false,
    };
    let place = array(array_type, &form, 3);
    put(&place, 10, &CELLS);
    put(&place, 20, &[(7, 7, 9, "g"), (7, 8, 8, "hh")]);
    let value = MetadataValue { datatype: Datatype::Int32, bytes: vec![1, 0, 0, 0] };
    place.put_metadata(vec![MetadataEntry { key: "k".into(), value: Some(value) }], Some(15)).unwrap();
    if array_type == ArrayType::Sparse {
        let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
        smalti_query::delete(&snapshot, &"n == 8".parse::<Condition>().unwrap(), Some(25)).unwrap();
    }
    files_in(&place)
}

fn files_in(place: &ArrayPlace) -> Files {
    let store = place.store();
    let entries = store.list_recursive("array").unwrap();
    let file = |name: &str| {
        let path = format!("array/{name}");
        let bytes = store.read_all(&path, 1 << 30).unwrap().to_vec();
        (path, bytes)
    };
    entries.iter().map(|entry| file(&entry.name)).collect()
}

fn opens(place: &ArrayPlace) -> Option<smalti_upkeep::Digest> {
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).ok()?;
    place.metadata(TimeRange::ALL).ok()?;
    smalti_upkeep::digest(&snapshot, &Default::default()).ok()
}

fn check_row(row: &Row, array_type: ArrayType) -> Result<(), String> {
    let mut files = whole(array_type);
    let (_, place) = place_of(&files, None);
    let before = digest_of(&place);
    (row.damage)(&mut files);
    let (store, place) = place_of(&files, None);
    let check = FsckOptions { reads_data: true, ..FsckOptions::default() };
    let report = fsck(&place, &check).map_err(|error| error.to_string())?;
    let shown = || {
        report.findings.iter().map(|f| format!("\n    {f}\n      {:?}", short(&f.remedy))).collect::<String>()
    };
    let is_it = |finding: &&Finding| finding.kind == row.kind && finding.file.contains(row.file);
    let found = report.findings.iter().find(is_it).ok_or_else(|| format!("not found: {}", shown()))?;
    if found.class != row.class {
        return Err(format!("class {:?}: {}", found.class, shown()));
    }
    if !row.structure.is_empty() && found.structure.as_deref() != Some(row.structure) {
        return Err(format!("structure {:?}: {}", found.structure, shown()));
    }
    if files_in(&place) != sorted(&files) {
        return Err("a check changed files".into());
    }
    let options = RepairOptions { check: check.clone(), ..RepairOptions::default() };
    let dry = repair(&place, &RepairOptions { is_dry_run: true, ..options.clone() }).unwrap();
    if files_in(&place) != sorted(&files) || dry.mended.iter().any(|mended| mended.failure.is_some()) {
        return Err("a dry run changed files".into());
    }
    let repaired = repair(&place, &options).unwrap();
    if let Some(failed) = repaired.mended.iter().find(|mended| mended.failure.is_some()) {
        return Err(format!("failed: {failed:?}"));
    }
    let after = opens(&place);
    match row.after {
        Same if after != Some(before) => {
            return Err(format!("cells differ after repair: {after:?} {}", shown()));
        }
        Same if !repaired.left.is_sound() => return Err(format!("left: {:?}", repaired.left.findings)),
        Opens if after.is_none() => return Err(format!("does not open after repair: {}", shown())),
        _ => {}
    }
    let all = store.files();
    if let Some((path, _)) = files.iter().find(|(_, bytes)| !all.values().any(|kept| kept[..] == bytes[..])) {
        return Err(format!("the bytes of {path} are gone"));
    }
    let again = repair(&place, &options).unwrap();
    if store.files() != all {
        return Err(format!("a second repair goes on: {:?}", again.mended));
    }
    if row.after == Stays && row.kind != FindingKind::NoSchema {
        let rest = salvage(&place, None).map_err(|error| format!("salvage: {error}"))?;
        if rest.lost.is_empty() && row.class == Class::Lost {
            return Err("salvage lists nothing".into());
        }
        opens(&rest.place).ok_or("what was salvaged cannot be read")?;
        let gone = repair(&place, &RepairOptions { gives_up: true, ..options }).unwrap();
        if gone.mended.is_empty() && matches!(found.remedy, Remedy::GiveUp { .. }) {
            return Err("nothing was given up".into());
        }
    }
    Ok(())
}

fn short(remedy: &Remedy) -> &'static str {
    match remedy {
        Remedy::NotNeeded => "not needed",
        Remedy::None(_) => "none",
        Remedy::Steps { .. } => "steps",
        Remedy::GiveUp { .. } => "give up",
        _ => "other",
    }
}

fn sorted(files: &Files) -> Files {
    let mut files = files.clone();
    files.sort();
    files
}

#[test]
fn every_damage_is_named_and_mended_where_that_is_provable() {
    let mut wrong = Vec::new();
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        for row in rows_of(array_type == ArrayType::Sparse) {
            if let Err(message) = check_row(row, array_type) {
                wrong.push(format!("{array_type:?}, {}: {message}", row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn whole_arrays_have_no_findings() {
    for array_type in [ArrayType::Sparse, ArrayType::Dense] {
        let (_, place) = place_of(&whole(array_type), None);
        let check = FsckOptions { reads_data: true, ..FsckOptions::default() };
        let report = fsck(&place, &check).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        let mut rest = salvage(&place, None).unwrap();
        assert!(rest.lost.is_empty());
        let (_, target) = place_of(&Vec::new(), None);
        rest.write_to(&target).unwrap();
        assert_eq!(digest_of(&target), digest_of(&place), "{array_type:?}");
    }
}

#[test]
fn the_kinds_of_findings_are_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/fsck.md");
    let text = std::fs::read_to_string(path).unwrap();
    for kind in FindingKind::ALL {
        assert!(text.contains(&format!("`{}`", kind.name())), "{} is missing in docs/fsck.md", kind.name());
    }
}

#[test]
fn fragments_that_somebody_may_be_writing_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let uri = folder.path().join("array").display().to_string();
    for (path, bytes) in whole(ArrayType::Sparse) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let fragments = folder.path().join("array/__fragments");
    std::fs::create_dir(fragments.join(format!("__30_30_{:032x}_22", 7))).unwrap();
    std::fs::write(fragments.join(format!("__30_30_{:032x}_22/a0.tdb", 7)), b"abc").unwrap();
    let env = smalti_store::system_env();
    let place = ArrayPlace::open(&Stores::new(), &uri, smalti_store::SyncLevel::None, None, env).unwrap();
    // Its name is of 1970; that it was written just now, the disk knows.
    let young = repair(&place, &RepairOptions::default()).unwrap();
    assert!(young.mended.is_empty() && young.found.is_sound(), "{young:?}");
    assert_eq!(young.found.findings[0].kind, FindingKind::Orphan);
    let check = FsckOptions { young_ms: 0, ..FsckOptions::default() };
    let old = repair(&place, &RepairOptions { check, ..RepairOptions::default() }).unwrap();
    assert_eq!(old.mended.len(), 1);
    let aside = folder.path().join("array").join(old.aside.unwrap());
    assert!(aside.join(format!("__fragments/__30_30_{:032x}_22/a0.tdb", 7)).is_file());
}

/// Writes at 10 and 20 of an array with duplicates, merged; then one at 10 again.
fn merged_with_another_of_its_time(late: &[(i32, i32, i32, &str)]) -> ArrayPlace {
    let form =
        Form { extent: 4, capacity: 2, tile_order: Layout::RowMajor, filters: Vec::new(), allows_dups: true };
    let place = array(ArrayType::Sparse, &form, 5);
    put(&place, 10, &[(1, 1, 1, "a"), (2, 2, 2, "b"), (3, 3, 3, "c")]);
    put(&place, 20, &[(1, 1, 4, "d")]);
    smalti_upkeep::consolidate_fragments(&place, &Default::default()).unwrap();
    put(&place, 10, late);
    place
}

#[test]
fn cells_that_were_written_in_one_millisecond_with_merged_ones_are_no_finding() {
    let check = FsckOptions { reads_data: true, ..FsckOptions::default() };
    // Other cells, and the very cells of one that was merged by right.
    for late in [&[(7, 7, 7, "g"), (8, 8, 8, "h")][..], &[(2, 2, 2, "b")]] {
        let place = merged_with_another_of_its_time(late);
        let report = fsck(&place, &check).unwrap();
        assert!(report.is_sound(), "{late:?}: {:?}", report.findings);
    }
    // Without the vacuum file the merged ones are seen twice, whatever else is of their time.
    let place = merged_with_another_of_its_time(&[(7, 7, 7, "g"); 9]);
    let commits = place.store().list("array/__commits").unwrap();
    let vacuum = commits.iter().find(|entry| entry.name.ends_with(".vac")).unwrap();
    place.store().delete_files(&[&format!("array/__commits/{}", vacuum.name)]).unwrap();
    let report = fsck(&place, &check).unwrap();
    let found: Vec<&Finding> =
        report.findings.iter().filter(|found| found.kind == FindingKind::VacuumMissing).collect();
    assert_eq!(found.len(), 1, "{:?}", report.findings);
    assert!(found[0].file.contains("__10_20_"), "{found:?}");
}
