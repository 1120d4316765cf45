//! Where tiles lie in data files: what the metadata says, and what the files say themselves through the headers of chunks.

use super::Check;
use super::files::data_files_of;
use super::finding::{Class, Finding, FindingKind};
use super::fragment::Examined;
use super::rebuild::Mending;
use bytes::Bytes;
use smalti_array::{ArrayPlace, Plane};
use smalti_format::fragment::{RTree as StoredTree, Section, TileNumbers};
use smalti_store::{ByteRange, StoreExt, join};
use std::collections::BTreeMap;

/// Bytes that are read at once where only headers are looked at.
const WINDOW_BYTE_LEN: u64 = 256 << 10;

/// A tile as the headers of its chunks tell it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkedTile {
    pub(super) start: u64,
    pub(super) unfiltered_len: u64,
}

/// The tiles of a data file, if at most so many of them follow one another up to its very end.
pub(super) fn walk(
    place: &ArrayPlace,
    path: &str,
    file_byte_len: u64,
    max_tile_count: u64,
) -> Option<Vec<WalkedTile>> {
    let mut window = Window { place, path, file_byte_len, start: 0, bytes: Bytes::new() };
    let mut tiles = Vec::new();
    let mut at = 0;
    while at < file_byte_len {
        if tiles.len() as u64 == max_tile_count {
            return None;
        }
        let start = at;
        let chunk_count = u64::from_le_bytes(window.take(at)?);
        at = at.checked_add(8)?;
        let mut unfiltered_len = 0_u64;
        for _ in 0..chunk_count {
            let lens: [u8; 12] = window.take(at)?;
            let len = |idx: usize| {
                let bytes = lens.get(4 * idx..4 * idx + 4).and_then(|bytes| bytes.try_into().ok());
                u64::from(u32::from_le_bytes(bytes.unwrap_or_default()))
            };
            unfiltered_len = unfiltered_len.checked_add(len(0))?;
            at = at.checked_add(12)?.checked_add(len(1))?.checked_add(len(2))?;
            if at > file_byte_len {
                return None;
            }
        }
        tiles.push(WalkedTile { start, unfiltered_len });
    }
    Some(tiles)
}

struct Window<'a> {
    place: &'a ArrayPlace,
    path: &'a str,
    file_byte_len: u64,
    start: u64,
    bytes: Bytes,
}

impl Window<'_> {
    fn take<const N: usize>(&mut self, at: u64) -> Option<[u8; N]> {
        let end = at.checked_add(N as u64).filter(|end| *end <= self.file_byte_len)?;
        if at < self.start || end > self.start + self.bytes.len() as u64 {
            let range = ByteRange { start: at, byte_len: WINDOW_BYTE_LEN.min(self.file_byte_len - at) };
            self.bytes = self.place.store().read_at(self.path, range).ok()?;
            self.start = at;
        }
        let from = usize::try_from(at - self.start).ok()?;
        self.bytes.get(from..from + N)?.try_into().ok()
    }
}

impl Check<'_> {
    /// Looks at offsets and sizes of tiles, and makes new ones where the files tell them.
    pub(super) fn offsets(&mut self, examined: &Examined<'_>, mending: &mut Mending) {
        let fragment = examined.fragment;
        if fragment.tile_count() == 0 {
            return;
        }
        let (footer, shape) = (fragment.footer(), fragment.schema().shape());
        let lens: BTreeMap<&str, u64> =
            examined.entries.iter().map(|entry| (entry.name.as_str(), entry.byte_len)).collect();
        for file in data_files_of(fragment) {
            let Some(slot) = footer.slot(&shape, file.field) else { continue };
            let section = match file.plane {
                Plane::Fixed => Section::TileOffsets(slot),
                Plane::Var => Section::TileVarOffsets(slot),
                Plane::Validity => Section::TileValidityOffsets(slot),
            };
            let places = fragment.tile_place(file.field, file.plane, 0);
            let sizes = match file.plane {
                Plane::Var => {
                    let last = usize::try_from(fragment.tile_count() - 1).unwrap_or(usize::MAX);
                    fragment.var_byte_len(file.field, last).map(drop)
                }
                _ => Ok(()),
            };
            let wrong = [(section, places.map(drop)), (Section::TileVarSizes(slot), sizes)];
            for (section, error) in
                wrong.into_iter().filter_map(|(section, read)| Some((section, read.err()?)))
            {
                let idx = mending.finding_of(section).unwrap_or_else(|| {
                    let path = examined.metadata_file();
                    self.add(Finding::of_error(FindingKind::OffsetsWrong, Class::Hidden, path, &error));
                    self.findings.len() - 1
                });
                let actual = lens.get(file.name.as_str()).copied().unwrap_or_default();
                let path = self.place.join(&join(examined.folder, &file.name));
                let walked = walk(self.place, &path, actual, fragment.tile_count());
                let Some(tiles) = walked.filter(|tiles| tiles.len() as u64 == fragment.tile_count()) else {
                    mending.leave_open(idx);
                    continue;
                };
                let values = match section {
                    Section::TileVarSizes(_) => tiles.iter().map(|tile| tile.unfiltered_len).collect(),
                    _ => tiles.iter().map(|tile| tile.start).collect(),
                };
                mending.replace(section, TileNumbers { values }.encode(), idx);
            }
        }
        self.unused_offsets(examined, mending);
    }

    /// What says nothing: lists for files that a field does not have hold zeros.
    fn unused_offsets(&mut self, examined: &Examined<'_>, mending: &mut Mending) {
        let fragment = examined.fragment;
        let footer = fragment.footer();
        let Ok(tile_count) = usize::try_from(fragment.tile_count()) else { return };
        for (section, finding) in mending.flawed_sections() {
            let (list, slot) = match section {
                // The tiles of a dense fragment are those of the schema: its tree has no levels.
                Section::RTree if fragment.is_dense() => {
                    let empty = StoredTree { fanout: StoredTree::FANOUT, levels: Vec::new() };
                    if let Ok(payload) = empty.encode(fragment.version(), &fragment.schema().shape()) {
                        mending.replace(section, payload, finding);
                    }
                    continue;
                }
                Section::TileOffsets(slot) => (&footer.file_sizes, slot),
                Section::TileVarOffsets(slot) | Section::TileVarSizes(slot) => (&footer.file_var_sizes, slot),
                Section::TileValidityOffsets(slot) => (&footer.file_validity_sizes, slot),
                _ => continue,
            };
            // A count from disk must not become an allocation: files tell how many tiles there can be.
            let is_known = tile_count <= examined.bytes.len().saturating_mul(8);
            if list.get(slot).copied().unwrap_or_default() == 0 && is_known {
                mending.replace(section, TileNumbers { values: vec![0; tile_count] }.encode(), finding);
            }
        }
    }
}
