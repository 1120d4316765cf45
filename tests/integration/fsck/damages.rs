//! Damages made by hand, one after the other: each is named and classified, and mended where that is provable.

use super::place_of;
use crate::digest::{CELLS, Form, array, digest_of, put};
use crate::mutation::Files;
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::fragment::{ConsolidatedFooters, Footer};
use smalti_format::{MetadataEntry, MetadataValue, Version};
use smalti_query::condition::Condition;
use smalti_store::StoreExt;
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{ArrayType, Datatype, Filter, Layout, TimeRange};
use smalti_upkeep::{Class, Finding, FindingKind, FsckOptions, Remedy, RepairOptions, fsck, repair, salvage};

const ID: &str = "0123456789abcdef0123456789abcdef";

/// What a repair leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
enum After {
    /// The cells that were there before the damage.
    Same,
    /// An array that opens, with other cells.
    Opens,
    /// The damage.
    Damage,
}
use After::{Damage as Stays, Opens, Same};

struct Row {
    name: &'static str,
    damage: fn(&mut Files),
    kind: FindingKind,
    class: Class,
    /// A part of the file's path.
    file: &'static str,
    /// The structure, where one is named.
    structure: &'static str,
    after: After,
    is_sparse_alone: bool,
}

fn at(files: &Files, part: &str) -> usize {
    files.iter().position(|(path, _)| path.contains(part)).unwrap_or_else(|| panic!("no {part} in {files:?}"))
}

fn add(files: &mut Files, path: &str, bytes: &[u8]) {
    files.push((format!("array/{path}"), bytes.to_vec()));
}

fn cut(files: &mut Files, part: &str, byte_len: usize) {
    let at = at(files, part);
    files[at].1.truncate(byte_len);
}

fn drop_all(files: &mut Files, part: &str) {
    at(files, part);
    files.retain(|(path, _)| !path.contains(part));
}

/// The folder name of the fragment written at a time.
fn fragment(files: &Files, time: u64) -> String {
    let path = &files[at(files, &format!("__fragments/__{time}_"))].0;
    path.split('/').nth(2).unwrap().to_owned()
}

fn metadata(time: u64) -> String {
    format!("__fragments/__{time}_{time}_")
}

fn metadata_at(files: &Files, time: u64) -> usize {
    let is_metadata = |(path, _): &(String, Vec<u8>)| {
        path.contains(&metadata(time)) && path.ends_with("__fragment_metadata.tdb")
    };
    files.iter().position(is_metadata).unwrap()
}

fn tile(payload: &[u8]) -> Vec<u8> {
    let mut tile = Vec::new();
    write_generic_tile(payload, Version::DEFAULT, None, &mut tile, &mut Scratch::new()).unwrap();
    tile
}

/// The footer of a fragment, and where it starts in the metadata file.
fn footer_of(files: &Files, time: u64) -> (Footer, usize, smalti_format::Shape) {
    let (_, place) = place_of(files, None);
    let shape = Snapshot::open(place, TimeRange::ALL).unwrap().schema().shape();
    let bytes = &files[metadata_at(files, time)].1;
    let range = Footer::range(Version::DEFAULT, &shape, bytes.len() as u64, bytes).unwrap();
    let footer = Footer::decode(&bytes[range.start as usize..range.end as usize], &shape).unwrap();
    (footer, range.start as usize, shape)
}

fn edit_footer(files: &mut Files, time: u64, edit: impl FnOnce(&mut Footer)) {
    let (mut footer, start, shape) = footer_of(files, time);
    edit(&mut footer);
    let at = metadata_at(files, time);
    files[at].1.truncate(start);
    files[at].1.extend(footer.encode_file_end(&shape).unwrap());
}

/// Consolidated metadata with the footer of one fragment.
fn add_copy(files: &mut Files, time: u64, edit: impl FnOnce(&mut Footer)) {
    let (mut footer, _, shape) = footer_of(files, time);
    edit(&mut footer);
    let entry = (fragment(files, time), footer.encode(&shape).unwrap());
    let payload = ConsolidatedFooters::encode(&[entry]).unwrap();
    add(files, &format!("__fragment_meta/__10_20_{ID}_22.meta"), &tile(&payload));
}

fn flip(files: &mut Files, index: usize, offset: usize) {
    files[index].1[offset] ^= 0x10;
}

const ROWS: &[Row] = &[
    row(
        "torn metadata",
        |f| cut(f, "__meta/", 20),
        FindingKind::Torn,
        Class::Hidden,
        "__meta/",
        "generic tile header",
        Same,
    ),
    row(
        "metadata of zeros",
        |f| {
            let i = at(f, "__meta/");
            f[i].1.fill(0)
        },
        FindingKind::Torn,
        Class::Hidden,
        "__meta/",
        "generic tile header",
        Same,
    ),
    row(
        "metadata flipped",
        |f| {
            let i = at(f, "__meta/");
            let end = f[i].1.len() - 6;
            flip(f, i, end)
        },
        FindingKind::Damaged,
        Class::Lost,
        "__meta/",
        "",
        Same,
    ),
    row(
        "stray among metadata",
        |f| add(f, "__meta/notes.txt", b"x"),
        FindingKind::Stray,
        Class::Hidden,
        "__meta/notes.txt",
        "",
        Same,
    ),
    row(
        "stray among schemas",
        |f| add(f, "__schema/notes", b"x"),
        FindingKind::Stray,
        Class::Hidden,
        "__schema/notes",
        "",
        Same,
    ),
    row(
        "stray commit",
        |f| add(f, "__commits/notes.wrt", b""),
        FindingKind::Stray,
        Class::Hidden,
        "notes.wrt",
        "",
        Same,
    ),
    row(
        "stray beside commits",
        |f| add(f, "__commits/notes", b""),
        FindingKind::Stray,
        Class::Harmless,
        "__commits/notes",
        "",
        Same,
    ),
    row(
        "torn schema",
        |f| {
            let b = f[at(f, "__schema/")].1[..30].to_vec();
            add(f, &format!("__schema/__30_30_{ID}"), &b)
        },
        FindingKind::Torn,
        Class::Hidden,
        "__schema/__30",
        "generic tile header",
        Same,
    ),
    row(
        "needed schema flipped",
        |f| {
            let i = at(f, "__schema/");
            flip(f, i, 60)
        },
        FindingKind::NoSchema,
        Class::Lost,
        "__schema",
        "",
        Stays,
    ),
    row(
        "torn consolidated footers",
        |f| add(f, &format!("__fragment_meta/__10_20_{ID}_22.meta"), b"x"),
        FindingKind::Torn,
        Class::Hidden,
        ".meta",
        "generic tile header",
        Same,
    ),
    row(
        "stale footer",
        |f| add_copy(f, 20, |footer| footer.last_tile_cell_count += 1),
        FindingKind::FooterStale,
        Class::Misleading,
        ".meta",
        "consolidated footer",
        Same,
    ),
    row(
        "torn delete",
        |f| add(f, &format!("__commits/__30_30_{ID}_22.del"), &[22, 0, 0]),
        FindingKind::Torn,
        Class::Hidden,
        ".del",
        "generic tile header",
        Same,
    ),
    sparse(
        "flipped delete",
        |f| {
            let i = at(f, ".del");
            let end = f[i].1.len() - 3;
            flip(f, i, end)
        },
        FindingKind::Damaged,
        Class::Lost,
        ".del",
        "",
        Stays,
    ),
    row(
        "commit without fragment",
        |f| add(f, &format!("__commits/__30_30_{ID}_22.wrt"), b""),
        FindingKind::FragmentMissing,
        Class::Lost,
        ".wrt",
        "",
        Same,
    ),
    row(
        "fragment gone",
        |f| drop_all(f, "__fragments/__20_"),
        FindingKind::FragmentMissing,
        Class::Lost,
        ".wrt",
        "",
        Opens,
    ),
    row(
        "commit gone",
        |f| drop_all(f, "__commits/__20_"),
        FindingKind::Orphan,
        Class::Hidden,
        "__fragments/__20_",
        "",
        Opens,
    ),
    row(
        "fragment cut off",
        |f| add(f, &format!("__fragments/__30_30_{ID}_22/a0.tdb"), b"abc"),
        FindingKind::Orphan,
        Class::Harmless,
        "__fragments/__30_",
        "",
        Same,
    ),
    row(
        "fragment metadata gone",
        |f| {
            let i = metadata_at(f, 20);
            f.remove(i);
        },
        FindingKind::MetadataMissing,
        Class::Lost,
        "__fragment_metadata.tdb",
        "",
        Stays,
    ),
    row(
        "fragment metadata empty",
        |f| {
            let i = metadata_at(f, 20);
            f[i].1.clear()
        },
        FindingKind::Torn,
        Class::Lost,
        "__fragment_metadata.tdb",
        "footer",
        Stays,
    ),
    row(
        "fragment metadata cut in half",
        |f| {
            let i = metadata_at(f, 20);
            let n = f[i].1.len() / 2;
            f[i].1.truncate(n)
        },
        FindingKind::Damaged,
        Class::Lost,
        "__fragment_metadata.tdb",
        "footer",
        Stays,
    ),
    row(
        "footer cut, with a copy",
        |f| {
            add_copy(f, 20, |_| {});
            let i = metadata_at(f, 20);
            let n = f[i].1.len() - 12;
            f[i].1.truncate(n)
        },
        FindingKind::Damaged,
        Class::Hidden,
        "__fragment_metadata.tdb",
        "footer",
        Same,
    ),
    row(
        "offsets flipped",
        |f| {
            let o = footer_of(f, 20).0.tile_offsets[1];
            let i = metadata_at(f, 20);
            flip(f, i, o as usize + 64)
        },
        FindingKind::Damaged,
        Class::Hidden,
        "__fragment_metadata.tdb",
        "",
        Same,
    ),
    sparse(
        "R-tree flipped",
        |f| {
            let o = footer_of(f, 10).0.rtree;
            let i = metadata_at(f, 10);
            flip(f, i, o as usize + 64)
        },
        FindingKind::Damaged,
        Class::Hidden,
        "__fragment_metadata.tdb",
        "",
        Same,
    ),
    row(
        "sizes of nothing flipped",
        |f| {
            let o = footer_of(f, 10).0.tile_var_sizes[0];
            let i = metadata_at(f, 10);
            flip(f, i, o as usize + 64)
        },
        FindingKind::Damaged,
        Class::Hidden,
        "__fragment_metadata.tdb",
        "",
        Same,
    ),
    row(
        "statistics flipped",
        |f| {
            let o = footer_of(f, 20).0.tile_sums[0];
            let i = metadata_at(f, 20);
            flip(f, i, o as usize + 64)
        },
        FindingKind::Damaged,
        Class::Misleading,
        "__fragment_metadata.tdb",
        "",
        Same,
    ),
    row(
        "file length in the footer",
        |f| edit_footer(f, 20, |footer| footer.file_sizes[0] += 8),
        FindingKind::OffsetsWrong,
        Class::Misleading,
        "__fragment_metadata.tdb",
        "footer",
        Same,
    ),
    row(
        "sections outside the file",
        |f| edit_footer(f, 20, |footer| footer.tile_maxes[0] = 1 << 40),
        FindingKind::Damaged,
        Class::Misleading,
        "__fragment_metadata.tdb",
        "footer",
        Same,
    ),
    sparse(
        "non-empty domain too small",
        |f| {
            edit_footer(f, 10, |footer| {
                let domain = footer.non_empty_domain.as_mut().unwrap();
                if let smalti_types::Extent::Num { lo, hi } = &mut domain[1] {
                    *hi = *lo
                }
            })
        },
        FindingKind::DomainWrong,
        Class::Hidden,
        "__fragment_metadata.tdb",
        "footer",
        Same,
    ),
    sparse(
        "least for greatest",
        |f| edit_footer(f, 10, |footer| std::mem::swap(&mut footer.tile_mins[0], &mut footer.tile_maxes[0])),
        FindingKind::StatisticsWrong,
        Class::Misleading,
        "__fragment_metadata.tdb",
        "tile bounds",
        Same,
    ),
    row(
        "data file gone",
        |f| {
            let i = data_file(f, "a1_var.tdb");
            f.remove(i);
        },
        FindingKind::FileMissing,
        Class::Lost,
        "a1_var.tdb",
        "data file",
        Stays,
    ),
    row(
        "data file short",
        |f| {
            let i = data_file(f, "a0.tdb");
            f[i].1.pop();
        },
        FindingKind::FileShort,
        Class::Lost,
        "a0.tdb",
        "data file",
        Stays,
    ),
    row(
        "data file long",
        |f| {
            let i = data_file(f, "a0.tdb");
            f[i].1.push(7)
        },
        FindingKind::FileLong,
        Class::Harmless,
        "a0.tdb",
        "data file",
        Same,
    ),
    row(
        "data flipped",
        |f| {
            let i = data_file(f, "a1_var.tdb");
            let n = f[i].1.len() - 1;
            flip(f, i, n)
        },
        FindingKind::TileDamaged,
        Class::Lost,
        "a1_var.tdb",
        "tile",
        Stays,
    ),
    row(
        "validity flipped",
        |f| {
            let i = data_file(f, "a0_validity.tdb");
            let n = f[i].1.len() - 1;
            flip(f, i, n)
        },
        FindingKind::TileDamaged,
        Class::Lost,
        "a0_validity.tdb",
        "tile",
        Stays,
    ),
    row(
        "stray beside data",
        |f| {
            let name = fragment(f, 20);
            add(f, &format!("__fragments/{name}/a9.tdb"), b"x")
        },
        FindingKind::Stray,
        Class::Harmless,
        "a9.tdb",
        "",
        Same,
    ),
    row(
        "bad line in a vacuum file",
        |f| {
            let (a, b) = (fragment(f, 10), fragment(f, 20));
            add(f, &format!("__commits/{b}.vac"), format!("\n?\n/__fragments/{a}\n").as_bytes())
        },
        FindingKind::BadLine,
        Class::Misleading,
        ".vac",
        "list of names",
        Opens,
    ),
    row(
        "vacuum file without fragment",
        |f| {
            let a = fragment(f, 10);
            add(f, &format!("__commits/__5_25_{ID}_22.vac"), format!("/__fragments/{a}\n").as_bytes())
        },
        FindingKind::VacuumWithoutFragment,
        Class::Hidden,
        ".vac",
        "",
        Same,
    ),
    row(
        "empty vacuum file",
        |f| {
            let b = fragment(f, 20);
            add(f, &format!("__commits/{b}.vac"), b"")
        },
        FindingKind::VacuumEmpty,
        Class::Misleading,
        ".vac",
        "",
        Stays,
    ),
    row(
        "idle vacuum file",
        |f| {
            let b = fragment(f, 20);
            add(f, &format!("__commits/{b}.vac"), format!("/__fragments/__1_1_{ID}_22\n").as_bytes())
        },
        FindingKind::ListIdle,
        Class::Harmless,
        ".vac",
        "",
        Same,
    ),
    row(
        "pending vacuum file",
        |f| {
            let a = fragment(f, 10);
            add(f, &format!("__commits/__5_25_{ID}_22.vac.tmp"), format!("/__fragments/{a}\n").as_bytes())
        },
        FindingKind::VacuumPending,
        Class::Harmless,
        ".vac.tmp",
        "",
        Same,
    ),
    row(
        "idle ignore file",
        |f| {
            add(
                f,
                &format!("__commits/__1_1_{ID}_22.ign"),
                format!("__commits/__1_1_{ID}_22.wrt\n").as_bytes(),
            )
        },
        FindingKind::ListIdle,
        Class::Harmless,
        ".ign",
        "",
        Same,
    ),
    row(
        "torn consolidated commits",
        |f| {
            let (a, b) = (fragment(f, 10), fragment(f, 20));
            drop_all(f, &format!("__commits/{a}"));
            add(
                f,
                &format!("__commits/__10_20_{ID}_22.con"),
                format!("__commits/{a}.wrt\n__commits/{}", &b[..9]).as_bytes(),
            )
        },
        FindingKind::Torn,
        Class::Hidden,
        ".con",
        "consolidated commits",
        Same,
    ),
    row(
        "consolidated commits of a fragment that is gone",
        |f| {
            add(
                f,
                &format!("__commits/__10_20_{ID}_22.con"),
                format!("__commits/__1_1_{ID}_22.wrt\n").as_bytes(),
            )
        },
        FindingKind::FragmentMissing,
        Class::Lost,
        ".con",
        "",
        Same,
    ),
    row(
        "commits twice",
        |f| {
            let a = fragment(f, 10);
            add(f, &format!("__commits/__10_20_{ID}_22.con"), format!("__commits/{a}.wrt\n").as_bytes())
        },
        FindingKind::CommitTwice,
        Class::Harmless,
        ".con",
        "",
        Same,
    ),
    row(
        "lists overlap",
        |f| {
            let a = fragment(f, 10);
            let line = format!("__commits/{a}.wrt\n");
            add(f, &format!("__commits/__10_20_{ID}_22.con"), line.as_bytes());
            add(f, &format!("__commits/__10_21_{ID}_22.con"), line.as_bytes())
        },
        FindingKind::ListsOverlap,
        Class::Harmless,
        ".con",
        "consolidated commits",
        Same,
    ),
    row(
        "torn enumeration of nobody",
        |f| add(f, &format!("__schema/__enumerations/__{ID}_0"), b"x"),
        FindingKind::Torn,
        Class::Harmless,
        "__enumerations",
        "generic tile header",
        Same,
    ),
    row(
        "future",
        |f| {
            let b = f[at(f, "__meta/")].1.clone();
            add(f, &format!("__meta/__2000001000000_2000001000000_{ID}"), &b)
        },
        FindingKind::FutureTime,
        Class::Harmless,
        "__meta/__2000001",
        "",
        Same,
    ),
];

const fn row(
    name: &'static str,
    damage: fn(&mut Files),
    kind: FindingKind,
    class: Class,
    file: &'static str,
    structure: &'static str,
    after: After,
) -> Row {
    Row { name, damage, kind, class, file, structure, after, is_sparse_alone: false }
}

const fn sparse(
    name: &'static str,
    damage: fn(&mut Files),
    kind: FindingKind,
    class: Class,
    file: &'static str,
    structure: &'static str,
    after: After,
) -> Row {
    Row { name, damage, kind, class, file, structure, after, is_sparse_alone: true }
}

fn data_file(files: &Files, name: &str) -> usize {
    let is_it =
        |(path, _): &(String, Vec<u8>)| path.contains(&metadata(10)) && path.ends_with(&format!("/{name}"));
    files.iter().position(is_it).unwrap()
}

/// An array of two fragments and metadata, a sparse one with a delete too.
fn whole(array_type: ArrayType) -> Files {
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
        for row in ROWS.iter().filter(|row| array_type == ArrayType::Sparse || !row.is_sparse_alone) {
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
fn salvage_keeps_all_but_the_tile_that_is_lost() {
    let mut files = whole(ArrayType::Sparse);
    let at = data_file(&files, "a1_var.tdb");
    let end = files[at].1.len() - 1;
    flip(&mut files, at, end);
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
    let at = data_file(&files, "d0.tdb");
    let end = files[at].1.len() - 1;
    files[at].1.truncate(end);
    let (_, place) = place_of(&files, None);
    let rest = salvage(&place, None).unwrap();
    assert_eq!((rest.lost.last().unwrap().tile, rest.lost.last().unwrap().field.as_deref()), (Some(2), None));
    assert_eq!(digest_of(&rest.place).cell_count, 4);
}

#[test]
fn the_kinds_of_findings_are_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/fsck.md");
    let text = std::fs::read_to_string(path).unwrap();
    for kind in FindingKind::ALL {
        assert!(text.contains(&format!("`{}`", kind.name())), "{} is missing in docs/fsck.md", kind.name());
    }
}
