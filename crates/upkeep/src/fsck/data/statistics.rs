//! Statistics of tiles and fragments, beside those of the cells themselves.
//!
//! Writers agree on whole numbers to the bit. Of floats they agree as far as [`Floats`] says.

use super::super::Check;
use super::super::finding::{Class, Finding, FindingKind};
use super::super::fragment::Examined;
use super::super::rebuild::Mending;
use super::super::sections::described;
use super::TileSource;
use super::floats::Floats;
use smalti_array::{FieldId, Fragment, dense_grid, intervals};
use smalti_format::fragment::{FieldStatistics, FragmentStatistics, Section, TileBounds, TileNumbers};
use smalti_format::{Attribute, Rule};
use smalti_space::{Geometry, Interval, TileBlock, TileGrid, box_runs, intersect_rects};
use smalti_tile::{Column, Stats, StatsBuilder, StatsKind};
use smalti_types::{CellValNum, Datatype, Filter, Scalar};
use std::collections::BTreeMap;
use std::ops::Range;

/// What statistics the fields of a fragment have, and which cells count in them.
pub(super) struct Kinds {
    kinds: BTreeMap<FieldId, StatsKind>,
    dense: Option<Dense>,
}

/// The tiles of a dense fragment: cells outside its rectangle only fill them up.
struct Dense {
    grid: TileGrid,
    block: TileBlock,
    rect: Vec<Interval>,
    strides: Vec<usize>,
}

/// The statistics of a tile's cells, and what they may be compared by.
pub(super) struct Measured {
    stats: Stats,
    floats: Floats,
    /// Whether cells that only fill up the tile count for some writers and not for others.
    is_filled_up: bool,
}

/// The statistics that a fragment's metadata has of attributes. Of texts the least and the greatest, which may be as long as the
/// cells themselves, are looked for only where they are to be made anew: nobody is held to them.
pub(super) fn kinds(fragment: &Fragment, sources: &[TileSource<'_>], mending: &Mending) -> Kinds {
    let schema = fragment.schema();
    let dense = fragment.is_dense().then(|| {
        let grid = dense_grid(schema).ok()?;
        let rect = intervals(fragment.non_empty_domain()).ok()?;
        let block = grid.block(&rect).ok()?;
        let strides = grid.cell_strides(schema.cell_order).ok()?;
        Some(Dense { grid, block, rect, strides })
    });
    let mut kinds = BTreeMap::new();
    let is_known = fragment.version().has(Rule::TileStatistics) && !matches!(dense, Some(None));
    for source in sources.iter().filter(|_| is_known) {
        let shape = source.codec.shape();
        let is_sound = !shape.is_nullable
            || !shape.datatype.is_string()
            || fragment.version().has(Rule::NullableStringStatistics);
        if matches!(source.field, FieldId::Attribute(_)) && is_sound {
            let mut kind = StatsKind::new(shape.datatype, shape.cell_val_num, false);
            let slot = fragment.footer().slot(&schema.shape(), source.field);
            let bounds = slot.map(|slot| [Section::TileMins(slot), Section::TileMaxes(slot)]);
            let mut bounds = bounds.into_iter().flatten().chain([Section::FragmentStatistics]);
            let are_due = bounds.any(|section| mending.finding_of(section).is_some());
            kind.has_min_max &= !shape.is_var() || are_due;
            kinds.insert(source.field, kind);
        }
    }
    Kinds { kinds, dense: dense.flatten() }
}

impl Kinds {
    /// Measures a tile's cells.
    pub(super) fn of_tile(
        &self,
        fragment: &Fragment,
        field: FieldId,
        column: &Column,
        tile: usize,
    ) -> Option<Measured> {
        let (kind, FieldId::Attribute(idx)) = (self.kinds.get(&field)?, field) else { return None };
        let datatype = fragment.schema().attributes.get(idx)?.datatype;
        let (mut builder, mut floats) = (StatsBuilder::new(*kind), Floats::default());
        let cell_count = fragment.cell_count_of_tile(tile as u64).ok()?;
        let mut is_filled_up = false;
        let mut add = |cells: Range<usize>| {
            builder.add(column.as_ref(), cells.clone());
            if datatype.is_float() && kind.has_sum {
                floats.add(datatype, column.as_ref(), cells);
            }
        };
        match &self.dense {
            None => add(0..cell_count),
            Some(dense) => {
                let dim_count = dense.rect.len();
                let mut coords = vec![0; dim_count];
                let mut tile_rect = vec![Interval::ALL; dim_count];
                if !dense.block.tile_coords(tile as u64, &mut coords)
                    || !dense.grid.tile_rect(&coords, &mut tile_rect)
                {
                    return None;
                }
                let mut part = tile_rect.clone();
                if !intersect_rects(&tile_rect, &dense.rect, &mut part) {
                    return None;
                }
                is_filled_up = part != tile_rect;
                let extents: Vec<u64> = part.iter().map(|side| side.hi - side.lo + 1).collect();
                let geometry = Geometry::of_part(&dense.strides, &tile_rect, &part).ok()?;
                for (_, cell, len) in box_runs(geometry, geometry, &extents).ok()? {
                    if cell.checked_add(len)? > cell_count {
                        return None;
                    }
                    add(cell..cell + len);
                }
            }
        }
        Some(Measured { stats: builder.finish(), floats, is_filled_up })
    }
}

/// Whether writers can be held to the stored statistics of a field: numbers. Of other types, and of cells that fill up dense
/// tiles, releases of the reference differ among each other; where a filter loses digits, statistics are of the values
/// before it.
fn is_comparable(attribute: &Attribute) -> bool {
    let datatype = attribute.datatype;
    let is_number =
        datatype.is_integer() || datatype.is_datetime() || datatype.is_time() || datatype.is_float();
    let is_lossy = attribute
        .filters
        .filters
        .iter()
        .any(|filter| matches!(filter, Filter::ScaleFloat(_) | Filter::Webp { lossless: false, .. }));
    is_number && !is_lossy && attribute.cell_val_num == CellValNum::ONE
}

/// Compares statistics of tiles with those of their cells, and puts right what is wrong or cannot be read.
pub(super) fn compare(
    check: &mut Check<'_>,
    examined: &Examined<'_>,
    kinds: &Kinds,
    actual: &BTreeMap<FieldId, Vec<Measured>>,
    mending: &mut Mending,
) {
    let fragment = examined.fragment;
    let (schema, shape) = (fragment.schema(), fragment.schema().shape());
    for (field, kind) in &kinds.kinds {
        let Some(slot) = fragment.footer().slot(&shape, *field) else { continue };
        let measured = actual.get(field).filter(|tiles| tiles.len() as u64 == fragment.tile_count());
        let Some(tiles) = measured else { continue };
        let stats: Vec<&Stats> = tiles.iter().map(|tile| &tile.stats).collect();
        let FieldId::Attribute(idx) = *field else { continue };
        let attribute = &schema.attributes[idx];
        let cells = |tile: usize| fragment.cell_count_of_tile(tile as u64).unwrap_or_default() as u64;
        let has_values = |tile: &usize| !attribute.nullable || stats[*tile].null_count < cells(*tile);
        let is_list = |list: &Vec<u64>| list.len() == stats.len();
        let compared = (0..stats.len()).filter(|tile| !tiles[*tile].is_filled_up);
        let wrong = |section: Section| -> Option<usize> {
            if !is_comparable(attribute) {
                return None;
            }
            match section {
                Section::TileMins(_) | Section::TileMaxes(_) if kind.has_min_max => {
                    let is_greatest = matches!(section, Section::TileMaxes(_));
                    let bounds = fragment.tile_bounds(*field, is_greatest).ok()?;
                    compared.clone().filter(has_values).find(|&tile| {
                        let stored = match kind.is_var() {
                            true => bounds.var_value(tile),
                            false => bounds.fixed_value(tile, attribute.cell_byte_len().unwrap_or(1)),
                        };
                        let value = if is_greatest { &stats[tile].max } else { &stats[tile].min };
                        !stored.is_some_and(|stored| {
                            is_same(attribute.datatype, stored, value, tiles[tile].floats)
                        })
                    })
                }
                Section::TileSums(_) if kind.has_sum => {
                    let sums = fragment.tile_totals(*field, false).ok().filter(is_list)?;
                    compared.clone().find(|&tile| {
                        let sum = u64::from_le_bytes(stats[tile].sum);
                        !is_same_sum(attribute.datatype, sums[tile], sum, tiles[tile].floats)
                    })
                }
                Section::TileNullCounts(_) if attribute.nullable => {
                    let counts = fragment.tile_totals(*field, true).ok().filter(is_list)?;
                    compared.clone().find(|&tile| counts[tile] != stats[tile].null_count)
                }
                _ => None,
            }
        };
        for section in [
            Section::TileMins(slot),
            Section::TileMaxes(slot),
            Section::TileSums(slot),
            Section::TileNullCounts(slot),
        ] {
            let idx = match (mending.finding_of(section), wrong(section)) {
                (Some(idx), _) => idx,
                (None, Some(tile)) => {
                    let message =
                        format!("{} of tile {tile} is not that of its cells", described(section, fragment));
                    let path = examined.metadata_file();
                    let finding =
                        Finding::new(FindingKind::StatisticsWrong, Class::Misleading, path, message);
                    let offset = fragment.footer().section_offset(section, &shape).ok().flatten();
                    check.add(finding.at("tile bounds", &attribute.name, offset));
                    check.findings.len() - 1
                }
                (None, None) => continue,
            };
            if fragment.version().has(Rule::TileStatistics) {
                mending.replace(section, payload(section, kind, &stats, attribute.nullable), idx);
            }
        }
    }
    of_fragment(check, examined, kinds, actual, mending);
}

/// A section with the statistics of all tiles.
fn payload(section: Section, kind: &StatsKind, stats: &[&Stats], is_nullable: bool) -> Vec<u8> {
    let bounds = |value: fn(&Stats) -> &Vec<u8>| {
        let bounds = match (kind.has_min_max, kind.is_var()) {
            (false, _) => TileBounds { fixed: Vec::new(), var: Vec::new() },
            (true, true) => TileBounds::of_strings(stats.iter().map(|stats| &value(stats)[..])),
            (true, false) => TileBounds {
                fixed: stats.iter().flat_map(|stats| value(stats)).copied().collect(),
                var: Vec::new(),
            },
        };
        bounds.encode()
    };
    let numbers = |has: bool, value: fn(&Stats) -> u64| {
        let values = if has { stats.iter().map(|stats| value(stats)).collect() } else { Vec::new() };
        TileNumbers { values }.encode()
    };
    match section {
        Section::TileMins(_) => bounds(|stats| &stats.min),
        Section::TileMaxes(_) => bounds(|stats| &stats.max),
        Section::TileSums(_) => numbers(kind.has_sum, |stats| u64::from_le_bytes(stats.sum)),
        _ => numbers(is_nullable, |stats| stats.null_count),
    }
}

/// Puts the statistics of the whole fragment right where they cannot be read, or are not those of its tiles.
fn of_fragment(
    check: &mut Check<'_>,
    examined: &Examined<'_>,
    kinds: &Kinds,
    actual: &BTreeMap<FieldId, Vec<Measured>>,
    mending: &mut Mending,
) {
    let fragment = examined.fragment;
    let (schema, shape) = (fragment.schema(), fragment.schema().shape());
    if !fragment.version().has(Rule::FragmentStatistics) {
        return;
    }
    let section = Section::FragmentStatistics;
    let is_compared = |field: &FieldId| match *field {
        FieldId::Attribute(idx) => schema.attributes.get(idx).is_some_and(is_comparable),
        _ => false,
    };
    if mending.finding_of(section).is_none() && !kinds.kinds.keys().any(is_compared) {
        return;
    }
    let nothing = || FieldStatistics { min: Vec::new(), max: Vec::new(), sum: 0, null_count: 0 };
    let (mut fields, is_stored): (Vec<FieldStatistics>, bool) = match fragment.statistics() {
        Ok(stored) => (stored.fields, true),
        Err(_) => ((0..fragment.footer().slot_count(&shape)).map(|_| nothing()).collect(), false),
    };
    let (mut is_all, mut wrong) = (true, None);
    for (field, kind) in &kinds.kinds {
        let (Some(slot), FieldId::Attribute(idx)) = (fragment.footer().slot(&shape, *field), *field) else {
            continue;
        };
        let attribute = &schema.attributes[idx];
        let tiles = actual.get(field).filter(|tiles| tiles.len() as u64 == fragment.tile_count());
        let (Some(tiles), Some(entry)) = (tiles, fields.get_mut(slot)) else {
            is_all = false;
            continue;
        };
        let all = kind.merge(tiles.iter().map(|tile| &tile.stats));
        let floats = Floats::merge(tiles.iter().map(|tile| &tile.floats));
        let sum = u64::from_le_bytes(all.sum);
        let has_values = !attribute.nullable || Some(all.null_count) != fragment.cell_count();
        let is_right = (!kind.has_min_max
            || !has_values
            || is_same(attribute.datatype, &entry.min, &all.min, floats)
                && is_same(attribute.datatype, &entry.max, &all.max, floats))
            && (!kind.has_sum || is_same_sum(attribute.datatype, entry.sum, sum, floats))
            && (!attribute.nullable || entry.null_count == all.null_count);
        let is_filled_up = tiles.iter().any(|tile| tile.is_filled_up);
        if !is_stored || !is_right && !is_filled_up && is_comparable(attribute) {
            wrong.get_or_insert_with(|| attribute.name.clone());
            *entry = FieldStatistics { min: all.min, max: all.max, sum, null_count: all.null_count };
        }
    }
    let idx = match (mending.finding_of(section), &wrong) {
        (Some(idx), _) if is_all => idx,
        (None, Some(name)) if is_stored => {
            let message = "the statistics of the whole fragment are not those of its cells";
            let path = examined.metadata_file();
            let finding = Finding::new(FindingKind::StatisticsWrong, Class::Misleading, path, message);
            check.add(finding.at("fragment statistics", name, Some(fragment.footer().fragment_statistics)));
            check.findings.len() - 1
        }
        _ => return,
    };
    mending.replace(section, FragmentStatistics { fields }.encode(), idx);
}

/// Whether a stored bound is that of the cells.
fn is_same(datatype: Datatype, stored: &[u8], actual: &[u8], floats: Floats) -> bool {
    if stored == actual || !datatype.is_float() {
        return stored == actual;
    }
    match (Scalar::read(datatype, stored), Scalar::read(datatype, actual)) {
        (Ok(stored), Ok(actual)) => floats.allows_bound(stored.as_f64(), actual.as_f64()),
        _ => false,
    }
}

/// Whether a stored sum is that of the cells.
fn is_same_sum(datatype: Datatype, stored: u64, actual: u64, floats: Floats) -> bool {
    if stored == actual || !datatype.is_float() {
        return stored == actual;
    }
    floats.allows_sum(f64::from_bits(stored), f64::from_bits(actual))
}
