//! Data read back: every tile decoded, and its cells compared with what the metadata says of them.

mod cells;
mod floats;
mod statistics;

use super::Check;
use super::files::fields_of;
use super::finding::{Class, Finding, FindingKind};
use super::fragment::Examined;
use super::rebuild::Mending;
use cells::{Coordinates, Edge};
use rayon::prelude::*;
use smalti_array::{ArrayPlace, FieldId, Fragment, Plane, field_name};
use smalti_format::fragment::{RTree as StoredTree, Section};
use smalti_format::names::last_part;
use smalti_query::Unit;
use smalti_space::RTree;
use smalti_store::{ByteRange, StoreExt, join};
use smalti_tile::{Column, FieldCodec, FilteredTileRef, Scratch};
use smalti_types::parallel::{self, Shareable as _};
use smalti_types::{AlignedBuf, Datatype, Error, Extent, RectList, Result};
use statistics::Measured;
use std::collections::BTreeMap;

/// Findings about tiles of one fragment that are listed one by one.
const MAX_LISTED: usize = 100;

/// Tiles that are in flight at once, for each thread.
const TILES_PER_THREAD: usize = 4;

/// A field whose tiles are decoded.
pub(crate) struct TileSource<'a> {
    pub(crate) field: FieldId,
    pub(crate) codec: FieldCodec,
    place: &'a ArrayPlace,
    fragment: &'a Fragment,
}

impl<'a> TileSource<'a> {
    /// # Errors
    /// `Unsupported` when the filters cannot run on the field.
    pub(crate) fn new(place: &'a ArrayPlace, fragment: &'a Fragment, field: FieldId) -> Result<Self> {
        let codec = place.field_codec(fragment.schema(), fragment.version(), field)?;
        Ok(TileSource { field, codec, place, fragment })
    }

    fn part(&self, plane: Plane, tile: usize) -> Result<bytes::Bytes> {
        let range = self.fragment.tile_place(self.field, plane, tile)?;
        let path = self.fragment.data_file(self.field, plane)?;
        let byte_len = range.end.saturating_sub(range.start);
        let range = ByteRange { start: range.start, byte_len };
        self.place.store().read_at(&path, range).map_err(|error| error.at_offset(range.start))
    }

    /// The cells of a tile; where that fails, the file that is to blame as far as it can be told.
    pub(crate) fn decode(&self, tile: usize, scratch: &mut Scratch) -> Result<Column, (Plane, Error)> {
        let (shape, fragment) = (self.codec.shape(), self.fragment);
        let blame = |plane: Plane| move |error: Error| (plane, error);
        let fixed = self.part(Plane::Fixed, tile).map_err(blame(Plane::Fixed))?;
        let (mut var, mut validity, mut var_byte_len) = (bytes::Bytes::new(), bytes::Bytes::new(), 0);
        if shape.is_var() {
            var = self.part(Plane::Var, tile).map_err(blame(Plane::Var))?;
            var_byte_len = fragment.var_byte_len(self.field, tile).map_err(blame(Plane::Var))?;
        }
        if shape.is_nullable {
            validity = self.part(Plane::Validity, tile).map_err(blame(Plane::Validity))?;
        }
        let cell_count = fragment.cell_count_of_tile(tile as u64).map_err(blame(Plane::Fixed))?;
        let filtered = FilteredTileRef { fixed: &fixed, var: &var, validity: &validity };
        let decoded =
            self.codec.decode_tile(filtered, cell_count, var_byte_len, &AlignedBuf::zeroed, scratch);
        decoded.map_err(|error| {
            let mut values = Vec::new();
            let (data, data_len) = match shape.is_var() {
                true => (&var, var_byte_len),
                false => (&fixed, cell_count.saturating_mul(shape.cell_byte_len())),
            };
            let has_values = self.codec.data().decoded_len(data, u64::MAX).is_ok_and(|len| len == data_len)
                && values.try_reserve_exact(data_len).is_ok()
                && {
                    values.resize(data_len, 0);
                    self.codec.data().decode_into(data, &mut values, scratch).is_ok()
                };
            let plane = match (has_values, self.codec.validity(), shape.is_var()) {
                (false, _, true) => Plane::Var,
                (false, _, false) => Plane::Fixed,
                (true, Some(codec), _)
                    if !codec.decoded_len(&validity, u64::MAX).is_ok_and(|len| len == cell_count) =>
                {
                    Plane::Validity
                }
                (true, Some(_), false) => Plane::Validity,
                (true, _, _) => Plane::Fixed,
            };
            (plane, error)
        })
    }
}

/// What reading back a tile gave.
#[derive(Default)]
struct Outcome {
    findings: Vec<Finding>,
    /// By field, where the tile could be decoded.
    stats: BTreeMap<FieldId, Measured>,
    edge: Option<Edge>,
    /// The least rectangle around the tile's cells, if all coordinates could be decoded.
    rect: Option<Vec<Extent>>,
}

impl Check<'_> {
    /// Reads back all tiles of a fragment.
    pub(super) fn data(&mut self, examined: &Examined<'_>, mending: &mut Mending) {
        let fragment = examined.fragment;
        let mut sources = Vec::new();
        for field in fields_of(fragment) {
            if examined_len(examined, field) == 0 {
                continue;
            }
            match TileSource::new(self.place, fragment, field) {
                Ok(source) => sources.push(source),
                Err(error) => {
                    let path = examined.metadata_file();
                    let finding = Finding::of_error(FindingKind::Unknown, Class::Hidden, path, &error);
                    self.add(finding.not_mended("a newer release may know the filters"));
                }
            }
        }
        let coordinates = Coordinates::new(fragment, &sources);
        let kinds = statistics::kinds(fragment, &sources, mending);
        let tile_count = usize::try_from(fragment.tile_count()).unwrap_or(usize::MAX);
        let group = parallel::thread_count().max(1) * TILES_PER_THREAD;
        let mut stats: BTreeMap<FieldId, Vec<Measured>> = BTreeMap::new();
        let mut found: Vec<Finding> = Vec::new();
        let mut last: Option<Edge> = None;
        let mut rects: Vec<Vec<Extent>> = Vec::new();
        let byte_len: u64 = examined.entries.iter().map(|entry| entry.byte_len).sum();
        let mut start = 0;
        while start < tile_count && !sources.is_empty() && found.len() < 10 * MAX_LISTED {
            let end = start.saturating_add(group).min(tile_count);
            let outcomes: Vec<Outcome> = (start..end)
                .into_par_iter()
                .shared()
                .map_init(Scratch::new, |scratch, tile| {
                    self.tile(examined, &sources, &coordinates, &kinds, tile, scratch)
                })
                .collect();
            for (tile, outcome) in (start..end).zip(outcomes) {
                found.extend(outcome.findings);
                rects.extend(outcome.rect);
                for (field, of_tile) in outcome.stats {
                    stats.entry(field).or_default().push(of_tile);
                }
                if let (Some(last), Some(edge)) = (&last, &outcome.edge) {
                    found.extend(coordinates.between(examined, &sources, tile, last, edge));
                }
                last = outcome.edge;
            }
            let read = ((end - start) * sources.len()) as u64;
            self.tile_count += read;
            let share = (end as u128 * u128::from(byte_len) / tile_count as u128) as u64;
            self.work.progress.reach(self.work.phase, Unit::Bytes, self.checked_byte_len + share);
            if self.check_cancelled().is_err() {
                return;
            }
            start = end;
        }
        if found.len() > MAX_LISTED {
            let more = found.len() - MAX_LISTED;
            found.truncate(MAX_LISTED);
            if let Some(last) = found.last_mut() {
                last.message += &format!("; and {more} more tiles of this fragment");
            }
        }
        self.findings.extend(found);
        if let Some(finding) = mending.finding_of(Section::RTree)
            && rects.len() == tile_count
            && let Ok(payload) = tree_of(fragment, &rects)
        {
            mending.replace(Section::RTree, payload, finding);
        }
        statistics::compare(self, examined, &kinds, &stats, mending);
    }

    fn tile(
        &self,
        examined: &Examined<'_>,
        sources: &[TileSource<'_>],
        coordinates: &Coordinates,
        kinds: &statistics::Kinds,
        tile: usize,
        scratch: &mut Scratch,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let mut columns: BTreeMap<FieldId, Column> = BTreeMap::new();
        for source in sources {
            match source.decode(tile, scratch) {
                Ok(column) => {
                    outcome.findings.extend(not_ascii(examined, source, &column, tile));
                    if let Some(stats) = kinds.of_tile(examined.fragment, source.field, &column, tile) {
                        outcome.stats.insert(source.field, stats);
                    }
                    if matches!(source.field, FieldId::Dimension(_)) {
                        columns.insert(source.field, column);
                    }
                }
                Err((plane, error)) => {
                    outcome.findings.push(damaged(examined, source.field, plane, tile, &error))
                }
            }
        }
        outcome.rect = coordinates.rect(examined.fragment, &columns);
        let (findings, edge) = coordinates.check(examined, tile, &columns);
        outcome.findings.extend(findings);
        outcome.edge = edge;
        outcome
    }
}

/// The section of an R-tree over the rectangles of tiles.
fn tree_of(fragment: &Fragment, rects: &[Vec<Extent>]) -> Result<Vec<u8>> {
    let shape = fragment.schema().shape();
    let mut leaves = RectList::new(shape.string_dimensions());
    rects.iter().try_for_each(|rect| leaves.push(rect))?;
    let tree = RTree::build(leaves, RTree::FANOUT)?;
    StoredTree { fanout: RTree::FANOUT, levels: tree.levels().to_vec() }.encode(fragment.version(), &shape)
}

/// The bytes of a field's main file.
fn examined_len(examined: &Examined<'_>, field: FieldId) -> u64 {
    let (fragment, shape) = (examined.fragment, examined.fragment.schema().shape());
    let slot = fragment.footer().slot(&shape, field);
    slot.and_then(|slot| fragment.footer().file_sizes.get(slot).copied()).unwrap_or_default()
}

/// The finding for a tile of ASCII text that has other bytes in a cell.
fn not_ascii(
    examined: &Examined<'_>,
    source: &TileSource<'_>,
    column: &Column,
    tile: usize,
) -> Option<Finding> {
    let (shape, fragment) = (source.codec.shape(), examined.fragment);
    if shape.datatype != Datatype::StringAscii || column.data.as_slice().is_ascii() {
        return None;
    }
    let (cells, byte_len) = (column.as_ref(), shape.cell_byte_len());
    let cell_count = match cells.offsets {
        Some(offsets) => offsets.len().saturating_sub(1),
        None => cells.data.len().checked_div(byte_len).unwrap_or(0),
    };
    let is_other = |&cell: &usize| cells.is_valid(cell) && !cells.cell(cell, byte_len).is_ascii();
    let cell = (0..cell_count).find(is_other)?;
    let shown: String = String::from_utf8_lossy(cells.cell(cell, byte_len)).chars().take(40).collect();
    let plane = if shape.is_var() { Plane::Var } else { Plane::Fixed };
    let path = join(examined.folder, last_part(&fragment.data_file(source.field, plane).unwrap_or_default()));
    let name = field_name(fragment.schema(), source.field);
    let message = format!("cell {cell} of tile {tile} of {name:?} is {shown:?}, which is not ASCII");
    let start = fragment.tile_place(source.field, plane, tile).ok().map(|place| place.start);
    let finding = Finding::new(FindingKind::TextNotAscii, Class::Harmless, path, message);
    Some(finding.at("tile", name, start).not_mended("the bytes are what was written"))
}

/// The finding for a tile that cannot be decoded.
fn damaged(examined: &Examined<'_>, field: FieldId, plane: Plane, tile: usize, error: &Error) -> Finding {
    let fragment = examined.fragment;
    let path = fragment.data_file(field, plane).unwrap_or_default();
    let start = fragment.tile_place(field, plane, tile).map_or(0, |place| place.start);
    let name = field_name(fragment.schema(), field);
    let cells = fragment.cell_count_of_tile(tile as u64).unwrap_or_default();
    let message = format!("tile {tile} of {name:?}, {cells} cells: {}", error.message());
    let path = join(examined.folder, last_part(&path));
    let mut finding = Finding::new(FindingKind::TileDamaged, Class::Lost, path, message);
    finding.structure = Some("tile".to_owned());
    finding.field = Some(name.to_owned());
    finding.byte_offset = Some(start);
    finding
}
