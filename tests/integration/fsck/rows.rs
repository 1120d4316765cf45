//! Damages made by hand, with what a check has to say about each.

use super::place_of;
use crate::mutation::Files;
use smalti_array::Snapshot;
use smalti_format::Version;
use smalti_format::fragment::{ConsolidatedFooters, Footer};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::TimeRange;
use smalti_upkeep::{Class, FindingKind};

const ID: &str = "0123456789abcdef0123456789abcdef";

/// What a repair leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum After {
    /// The cells that were there before the damage.
    Same,
    /// An array that opens, with other cells.
    Opens,
    /// The damage.
    Damage,
}
use After::{Damage as Stays, Opens, Same};

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) damage: fn(&mut Files),
    pub(super) kind: FindingKind,
    pub(super) class: Class,
    /// A part of the file's path.
    pub(super) file: &'static str,
    /// The structure, where one is named.
    pub(super) structure: &'static str,
    pub(super) after: After,
    pub(super) is_sparse_alone: bool,
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

pub(super) fn flip(files: &mut Files, index: usize, offset: usize) {
    files[index].1[offset] ^= 0x10;
}

pub(super) const ROWS: &[Row] = &[
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
    row(
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

pub(super) fn data_file(files: &Files, name: &str) -> usize {
    let is_it =
        |(path, _): &(String, Vec<u8>)| path.contains(&metadata(10)) && path.ends_with(&format!("/{name}"));
    files.iter().position(is_it).unwrap()
}
