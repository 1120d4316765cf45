//! Damages made by hand, with what a check has to say about each.

use super::place_of;
use crate::mutation::Files;
use smalti_array::Snapshot;
use smalti_format::Version;
use smalti_format::fragment::{ConsolidatedFooters, Footer};
use smalti_tile::{Scratch, write_generic_tile};
use smalti_types::{Extent, TimeRange};
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
    Stays,
}

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) damage: fn(&mut Files),
    pub(super) kind: FindingKind,
    pub(super) class: Class,
    /// A part of the file's path.
    pub(super) file: &'static str,
    /// The structure; empty where none is named, or none is asked for.
    pub(super) structure: &'static str,
    pub(super) after: After,
}

/// The file that has a part in its path.
fn at(files: &Files, part: &str) -> usize {
    files.iter().position(|(path, _)| path.contains(part)).unwrap_or_else(|| panic!("no {part} in {files:?}"))
}

fn content<'a>(files: &'a mut Files, part: &str) -> &'a mut Vec<u8> {
    let at = at(files, part);
    &mut files[at].1
}

fn add(files: &mut Files, path: &str, bytes: impl AsRef<[u8]>) {
    files.push((format!("array/{path}"), bytes.as_ref().to_vec()));
}

/// A file among the commits.
fn add_commit(files: &mut Files, name: &str, bytes: impl AsRef<[u8]>) {
    add(files, &format!("__commits/{}", name.replace("ID", ID)), bytes);
}

fn drop_all(files: &mut Files, part: &str) {
    at(files, part);
    files.retain(|(path, _)| !path.contains(part));
}

pub(super) fn flip(bytes: &mut [u8], offset: usize) {
    bytes[offset] ^= 0x10;
}

fn flip_from_end(bytes: &mut [u8], offset: usize) {
    flip(bytes, bytes.len() - offset);
}

fn cut_end(bytes: &mut Vec<u8>, byte_len: usize) {
    bytes.truncate(bytes.len() - byte_len);
}

/// The folder name of the fragment written at a time.
fn fragment(files: &Files, time: u64) -> String {
    let path = &files[at(files, &format!("__fragments/__{time}_"))].0;
    path.split('/').nth(2).unwrap().to_owned()
}

/// A line of a list of commits, for the fragment written at a time.
fn commit_line(files: &Files, time: u64) -> String {
    format!("__commits/{}.wrt\n", fragment(files, time))
}

/// As [`commit_line`], of a vacuum file.
fn vacuum_line(files: &Files, time: u64) -> String {
    format!("/__fragments/{}\n", fragment(files, time))
}

fn file_of(files: &Files, time: u64, name: &str) -> usize {
    at(files, &format!("{}/{name}", fragment(files, time)))
}

fn metadata(files: &mut Files, time: u64) -> &mut Vec<u8> {
    let at = file_of(files, time, "__fragment_metadata.tdb");
    &mut files[at].1
}

pub(super) fn data<'a>(files: &'a mut Files, name: &str) -> &'a mut Vec<u8> {
    let at = file_of(files, 10, name);
    &mut files[at].1
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
    let bytes = &files[file_of(files, time, "__fragment_metadata.tdb")].1;
    let range = Footer::range(Version::DEFAULT, &shape, bytes.len() as u64, bytes).unwrap();
    let footer = Footer::decode(&bytes[range.start as usize..range.end as usize], &shape).unwrap();
    (footer, range.start as usize, shape)
}

fn edit_footer(files: &mut Files, time: u64, edit: impl FnOnce(&mut Footer)) {
    let (mut footer, start, shape) = footer_of(files, time);
    edit(&mut footer);
    let bytes = metadata(files, time);
    bytes.truncate(start);
    bytes.extend(footer.encode_file_end(&shape).unwrap());
}

/// Flips a bit of a section of a fragment's metadata.
fn flip_section(files: &mut Files, time: u64, section: impl FnOnce(&Footer) -> u64) {
    let start = section(&footer_of(files, time).0) as usize;
    flip(metadata(files, time), start + 64);
}

/// Consolidated metadata with the footer of one fragment.
fn add_copy(files: &mut Files, time: u64, edit: impl FnOnce(&mut Footer)) {
    let (mut footer, _, shape) = footer_of(files, time);
    edit(&mut footer);
    let entry = (fragment(files, time), footer.encode(&shape).unwrap());
    let payload = ConsolidatedFooters::encode(&[entry]).unwrap();
    add(files, &format!("__fragment_meta/__10_20_{ID}_22.meta"), tile(&payload));
}

macro_rules! rows {
    ($($name:literal $kind:ident $class:ident $file:literal $(in $structure:literal)? => $after:ident, $damage:expr;)*) => {
        &[$(Row {
            name: $name,
            damage: $damage,
            kind: FindingKind::$kind,
            class: Class::$class,
            file: $file,
            structure: concat!($($structure)?),
            after: After::$after,
        }),*]
    };
}

/// Damages of arrays of both kinds: what is found, how bad it is, in which file and structure, what a repair leaves, and how
/// the damage is done.
pub(super) const ROWS: &[Row] = rows! {
    "torn metadata" Torn Hidden "__meta/" in "generic tile header" => Same, |f| content(f, "__meta/").truncate(20);
    "metadata of zeros" Torn Hidden "__meta/" in "generic tile header" => Same, |f| content(f, "__meta/").fill(0);
    "metadata flipped" Damaged Lost "__meta/" => Same, |f| flip_from_end(content(f, "__meta/"), 6);
    "stray among metadata" Stray Hidden "__meta/notes.txt" => Same, |f| add(f, "__meta/notes.txt", "x");
    "stray among schemas" Stray Hidden "__schema/notes" => Same, |f| add(f, "__schema/notes", "x");
    "stray commit" Stray Hidden "notes.wrt" => Same, |f| add_commit(f, "notes.wrt", "");
    "a fragment that ends before it starts" NameImpossible Hidden "__fragments/__20_3_" => Stays, |f| {
        let (old, new) = (fragment(f, 20), fragment(f, 20).replacen("__20_20_", "__20_3_", 1));
        f.iter_mut().for_each(|(path, _)| *path = path.replace(&old, &new))
    };
    "a commit of a version beyond all" Stray Hidden "__30_30_" => Same, |f| add_commit(f, "__30_30_ID_99999999999.wrt", "");
    "stray beside commits" Stray Harmless "__commits/notes" => Same, |f| add_commit(f, "notes", "");
    "torn schema" Torn Hidden "__schema/__30" in "generic tile header" => Same, |f| {
        let start = content(f, "__schema/")[..30].to_vec();
        add(f, &format!("__schema/__30_30_{ID}"), start)
    };
    "needed schema flipped" NoSchema Lost "__schema" => Stays, |f| flip(content(f, "__schema/"), 60);
    "torn enumeration of nobody" Torn Harmless "__enumerations" in "generic tile header" => Same,
        |f| add(f, &format!("__schema/__enumerations/__{ID}_0"), "x");
    "future" FutureTime Harmless "__meta/__2000001" => Same, |f| {
        let bytes = content(f, "__meta/").clone();
        add(f, &format!("__meta/__2000001000000_2000001000000_{ID}"), bytes)
    };

    "torn consolidated footers" Torn Hidden ".meta" in "generic tile header" => Same,
        |f| add(f, &format!("__fragment_meta/__10_20_{ID}_22.meta"), "x");
    "stale footer" FooterStale Misleading ".meta" in "consolidated footer" => Same,
        |f| add_copy(f, 20, |footer| footer.last_tile_cell_count += 1);
    "torn delete" Torn Hidden ".del" in "generic tile header" => Same,
        |f| add_commit(f, "__30_30_ID_22.del", [22, 0, 0]);

    "commit without fragment" FragmentMissing Lost ".wrt" => Same, |f| add_commit(f, "__30_30_ID_22.wrt", "");
    "fragment gone" FragmentMissing Lost ".wrt" => Opens, |f| drop_all(f, "__fragments/__20_");
    "commit gone" Orphan Hidden "__fragments/__20_" => Opens, |f| drop_all(f, "__commits/__20_");
    "fragment cut off" Orphan Harmless "__fragments/__30_" => Same,
        |f| add(f, &format!("__fragments/__30_30_{ID}_22/a0.tdb"), "abc");
    "bad line in a vacuum file" BadLine Misleading ".vac" in "list of names" => Opens, |f| {
        let text = format!("\n?\n{}", vacuum_line(f, 10));
        add_commit(f, &format!("{}.vac", fragment(f, 20)), text)
    };
    "vacuum file without fragment" VacuumWithoutFragment Hidden ".vac" => Same,
        |f| add_commit(f, "__5_25_ID_22.vac", vacuum_line(f, 10));
    "empty vacuum file" VacuumEmpty Misleading ".vac" => Stays,
        |f| add_commit(f, &format!("{}.vac", fragment(f, 20)), "");
    "idle vacuum file" ListIdle Harmless ".vac" => Same,
        |f| add_commit(f, &format!("{}.vac", fragment(f, 20)), format!("/__fragments/__1_1_{ID}_22\n"));
    "pending vacuum file" VacuumPending Harmless ".vac.tmp" => Same,
        |f| add_commit(f, "__5_25_ID_22.vac.tmp", vacuum_line(f, 10));
    "idle ignore file" ListIdle Harmless ".ign" => Same,
        |f| add_commit(f, "__1_1_ID_22.ign", format!("__commits/__1_1_{ID}_22.wrt\n"));
    "torn consolidated commits" Torn Hidden ".con" in "consolidated commits" => Same, |f| {
        let (first, second) = (commit_line(f, 10), commit_line(f, 20));
        drop_all(f, &format!("__commits/{}", fragment(f, 10)));
        add_commit(f, "__10_20_ID_22.con", format!("{first}{}", &second[..19]))
    };
    "consolidated commits of a fragment that is gone" FragmentMissing Lost ".con" => Same,
        |f| add_commit(f, "__10_20_ID_22.con", format!("__commits/__1_1_{ID}_22.wrt\n"));
    "commits twice" CommitTwice Harmless ".con" => Same,
        |f| add_commit(f, "__10_20_ID_22.con", commit_line(f, 10));
    "lists overlap" ListsOverlap Harmless ".con" in "consolidated commits" => Same, |f| {
        add_commit(f, "__10_20_ID_22.con", commit_line(f, 10));
        add_commit(f, "__10_21_ID_22.con", commit_line(f, 10))
    };

    "fragment metadata gone" MetadataMissing Lost "__fragment_metadata.tdb" => Stays, |f| {
        let at = file_of(f, 20, "__fragment_metadata.tdb");
        f.remove(at);
    };
    "fragment metadata empty" Torn Lost "__fragment_metadata.tdb" in "footer" => Stays, |f| metadata(f, 20).clear();
    "fragment metadata cut in half" Damaged Lost "__fragment_metadata.tdb" in "footer" => Stays, |f| {
        let half = metadata(f, 20).len() / 2;
        cut_end(metadata(f, 20), half)
    };
    "footer cut, with a copy" Damaged Hidden "__fragment_metadata.tdb" in "footer" => Same, |f| {
        add_copy(f, 20, |_| {});
        cut_end(metadata(f, 20), 12)
    };
    "offsets flipped" Damaged Hidden "__fragment_metadata.tdb" => Same,
        |f| flip_section(f, 20, |footer| footer.tile_offsets[1]);
    "R-tree flipped" Damaged Hidden "__fragment_metadata.tdb" => Same, |f| flip_section(f, 10, |footer| footer.rtree);
    "sizes of nothing flipped" Damaged Hidden "__fragment_metadata.tdb" => Same,
        |f| flip_section(f, 10, |footer| footer.tile_var_sizes[0]);
    "statistics flipped" Damaged Misleading "__fragment_metadata.tdb" => Same,
        |f| flip_section(f, 20, |footer| footer.tile_sums[0]);
    "file length in the footer" OffsetsWrong Misleading "__fragment_metadata.tdb" in "footer" => Same,
        |f| edit_footer(f, 20, |footer| footer.file_sizes[0] += 8);
    "sections outside the file" Damaged Misleading "__fragment_metadata.tdb" in "footer" => Same,
        |f| edit_footer(f, 20, |footer| footer.tile_maxes[0] = 1 << 40);

    "data file gone" FileMissing Lost "a1_var.tdb" in "data file" => Stays, |f| {
        let at = file_of(f, 10, "a1_var.tdb");
        f.remove(at);
    };
    "data file short" FileShort Lost "a0.tdb" in "data file" => Stays, |f| cut_end(data(f, "a0.tdb"), 1);
    "data file long" FileLong Harmless "a0.tdb" in "data file" => Same, |f| data(f, "a0.tdb").push(7);
    "data flipped" TileDamaged Lost "a1_var.tdb" in "tile" => Stays, |f| flip_from_end(data(f, "a1_var.tdb"), 1);
    "validity flipped" TileDamaged Lost "a0_validity.tdb" in "tile" => Stays,
        |f| flip_from_end(data(f, "a0_validity.tdb"), 1);
    "stray beside data" Stray Harmless "a9.tdb" => Same, |f| {
        let folder = fragment(f, 20);
        add(f, &format!("__fragments/{folder}/a9.tdb"), "x")
    };
};

/// Damages that dense arrays cannot have.
pub(super) const SPARSE_ROWS: &[Row] = rows! {
    "flipped delete" Damaged Lost ".del" => Stays, |f| flip_from_end(content(f, ".del"), 3);
    "non-empty domain too small" DomainWrong Hidden "__fragment_metadata.tdb" in "footer" => Same,
        |f| edit_footer(f, 10, |footer| {
            if let Extent::Num { lo, hi } = &mut footer.non_empty_domain.as_mut().unwrap()[1] {
                *hi = *lo
            }
        });
    "least for greatest" StatisticsWrong Misleading "__fragment_metadata.tdb" in "tile bounds" => Same,
        |f| edit_footer(f, 10, |footer| std::mem::swap(&mut footer.tile_mins[0], &mut footer.tile_maxes[0]));
};

/// The damages of arrays of a kind.
pub(super) fn rows_of(is_sparse: bool) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(SPARSE_ROWS.iter().filter(move |_| is_sparse))
}
