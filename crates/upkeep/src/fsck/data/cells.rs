//! Coordinates of cells: in the domain, in their tile's rectangle, in the array's order, once.

use super::super::finding::{Class, Finding, FindingKind};
use super::super::fragment::Examined;
use super::super::sections::holds;
use super::TileSource;
use smalti_array::{FieldId, Fragment, Plane};
use smalti_format::names::last_part;
use smalti_format::{ArraySchema, Rule};
use smalti_query::cell_order;
use smalti_space::{Column as Coords, Interval, KeyLayout, UNSTOPPED, column_bounds, column_extent};
use smalti_store::join;
use smalti_tile::Column;
use smalti_types::{Extent, Layout, Result};
use std::collections::BTreeMap;

/// The first and the last cell of a tile, a coordinate for each dimension.
pub(super) struct Edge {
    first: Vec<Vec<u8>>,
    last: Vec<Vec<u8>>,
}

/// How coordinates of a fragment are checked.
pub(super) struct Coordinates {
    /// Whether all dimensions have data files of their own that can be decoded.
    is_known: bool,
    /// Whether a cell may be there twice.
    allows_dups: bool,
}

impl Coordinates {
    pub(super) fn new(fragment: &Fragment, sources: &[TileSource<'_>]) -> Self {
        let dim_count = fragment.schema().dimensions.len();
        let dims = sources.iter().filter(|source| matches!(source.field, FieldId::Dimension(_)));
        // Old writers kept cells in an order of their own, under rectangles that do not hold them.
        let is_trusted = !fragment.version().has(Rule::UnsoundBounds);
        Coordinates {
            is_known: !fragment.is_dense() && is_trusted && dims.count() == dim_count,
            allows_dups: fragment.schema().allows_dups || fragment.footer().includes_timestamps,
        }
    }

    /// The least rectangle around the cells of a tile, if all its coordinates were decoded.
    pub(super) fn rect(
        &self,
        fragment: &Fragment,
        columns: &BTreeMap<FieldId, Column>,
    ) -> Option<Vec<Extent>> {
        let schema = fragment.schema();
        let dims = (0..schema.dimensions.len()).filter(|_| self.is_known);
        let sides: Vec<Extent> = dims
            .map(|dim| column_extent(&coords_of(columns.get(&FieldId::Dimension(dim))?, schema, dim).ok()?))
            .collect::<Option<_>>()?;
        (!sides.is_empty()).then_some(sides)
    }

    /// Checks a tile; its edge too, if all its coordinates were decoded.
    pub(super) fn check(
        &self,
        examined: &Examined<'_>,
        tile: usize,
        columns: &BTreeMap<FieldId, Column>,
    ) -> (Vec<Finding>, Option<Edge>) {
        let fragment = examined.fragment;
        let schema = fragment.schema();
        let mut findings = Vec::new();
        if !self.is_known {
            return (findings, None);
        }
        let mut coords = Vec::new();
        for (dim, dimension) in schema.dimensions.iter().enumerate() {
            let Some(column) = columns.get(&FieldId::Dimension(dim)) else { continue };
            let Ok(column) = coords_of(column, schema, dim) else { continue };
            let path = || file_of(examined, dim);
            if let (Some((lo, hi)), Some(bounds)) = (dimension.domain, column_bounds(&column)) {
                let domain = Extent::Num { lo: lo.ordinal(), hi: hi.ordinal() };
                let bounds = Extent::Num { lo: bounds.lo, hi: bounds.hi };
                if !holds(dimension.datatype, domain.as_ref(), bounds.as_ref()) {
                    let message = format!(
                        "tile {tile} has cells of {} on {:?}, outside the domain {}",
                        dimension.shown(bounds.as_ref()),
                        dimension.name,
                        dimension.shown(domain.as_ref())
                    );
                    let finding = Finding::new(FindingKind::CellOutside, Class::Hidden, path(), message);
                    findings.push(finding.at("tile", &dimension.name, offset_of(fragment, dim, tile)));
                }
            }
            let leaf =
                fragment.rtree().ok().and_then(|tree| tree.leaves()).filter(|leaves| tile < leaves.len());
            if let (Some(leaves), Some(extent)) = (leaf, column_extent(&column)) {
                let rect = leaves.extent(tile, dim);
                if !holds(dimension.datatype, rect, extent.as_ref()) {
                    let message = format!(
                        "tile {tile} has cells of {} on {:?}, its rectangle is {}",
                        dimension.shown(extent.as_ref()),
                        dimension.name,
                        dimension.shown(rect)
                    );
                    let path = examined.metadata_file();
                    let finding = Finding::new(FindingKind::RectangleWrong, Class::Hidden, path, message);
                    findings.push(finding.at("R-tree", "levels", Some(fragment.footer().rtree)));
                }
            }
            coords.push(column);
        }
        if coords.len() < schema.dimensions.len() || schema.is_dense() {
            return (findings, None);
        }
        findings.extend(self.order(examined, &coords, tile, false));
        (findings, edge_of(schema, columns))
    }

    /// Checks the last cell of a tile against the first of the next.
    pub(super) fn between(
        &self,
        examined: &Examined<'_>,
        sources: &[TileSource<'_>],
        tile: usize,
        before: &Edge,
        after: &Edge,
    ) -> Option<Finding> {
        let schema = examined.fragment.schema();
        let mut columns = Vec::new();
        for dim in 0..schema.dimensions.len() {
            let source = sources.iter().find(|source| source.field == FieldId::Dimension(dim))?;
            let (last, first) = (before.last.get(dim)?, after.first.get(dim)?);
            let data = aligned(&[last.as_slice(), first.as_slice()].concat())?;
            let mut column = Column { data, ..Column::default() };
            if source.codec.shape().is_var() {
                let ends = [0, last.len() as u64, (last.len() + first.len()) as u64];
                column.offsets = Some(aligned(bytemuck::cast_slice(&ends))?);
            }
            columns.push(column);
        }
        let coords: Vec<Coords<'_>> = columns
            .iter()
            .enumerate()
            .map(|(dim, column)| coords_of(column, schema, dim).ok())
            .collect::<Option<_>>()?;
        self.order(examined, &coords, tile, true)
    }

    fn order(
        &self,
        examined: &Examined<'_>,
        coords: &[Coords<'_>],
        tile: usize,
        is_between: bool,
    ) -> Option<Finding> {
        let fragment = examined.fragment;
        let schema = fragment.schema();
        let bounds: Vec<Interval> =
            coords.iter().map(|column| column_bounds(column).unwrap_or(Interval::ALL)).collect();
        let order = cell_order(schema, Layout::GlobalOrder).ok()?;
        let keys = KeyLayout::new(&order, &bounds).ok()?.keys(coords, UNSTOPPED).ok()?;
        let place = |cell: usize| match is_between {
            true => format!("the first cell of tile {tile}"),
            false => format!("cell {cell} of tile {tile}"),
        };
        let finding = |kind, message| {
            let finding = Finding::new(kind, Class::Misleading, file_of(examined, 0), message);
            finding.at("tile", &schema.dimensions[0].name, offset_of(fragment, 0, tile))
        };
        if let Some(cell) = keys.first_descent() {
            let message = format!("{} belongs before the cell in front of it", place(cell));
            return Some(finding(FindingKind::CellDisorder, message));
        }
        let repeat = keys.first_repeat().filter(|_| !self.allows_dups)?;
        let message = format!("{} has the coordinates of the cell in front of it", place(repeat));
        Some(finding(FindingKind::CellTwice, message))
    }
}

fn aligned(bytes: &[u8]) -> Option<smalti_types::AlignedBuf> {
    let mut buffer = smalti_types::AlignedBuf::zeroed(bytes.len()).ok()?;
    buffer.as_mut_slice().copy_from_slice(bytes);
    Some(buffer)
}

fn edge_of(schema: &ArraySchema, columns: &BTreeMap<FieldId, Column>) -> Option<Edge> {
    let mut edge = Edge { first: Vec::new(), last: Vec::new() };
    for (dim, dimension) in schema.dimensions.iter().enumerate() {
        let column = columns.get(&FieldId::Dimension(dim))?.as_ref();
        let byte_len = dimension.datatype.byte_len();
        let cell_count = match column.offsets {
            Some(offsets) => offsets.len().saturating_sub(1),
            None => column.data.len() / byte_len,
        };
        let last = cell_count.checked_sub(1)?;
        edge.first.push(column.cell(0, byte_len).to_vec());
        edge.last.push(column.cell(last, byte_len).to_vec());
    }
    Some(edge)
}

pub(super) fn coords_of<'a>(column: &'a Column, schema: &ArraySchema, dim: usize) -> Result<Coords<'a>> {
    match column.offsets.as_ref().map(|offsets| offsets.values::<u64>()) {
        Some([starts @ .., _]) => Coords::strings(starts, column.data.as_slice()),
        _ => Coords::numbers(schema.dimensions[dim].datatype, column.data.as_slice()),
    }
}

fn file_of(examined: &Examined<'_>, dim: usize) -> String {
    let path = examined.fragment.data_file(FieldId::Dimension(dim), Plane::Fixed).unwrap_or_default();
    join(examined.folder, last_part(&path))
}

fn offset_of(fragment: &Fragment, dim: usize, tile: usize) -> Option<u64> {
    fragment.tile_place(FieldId::Dimension(dim), Plane::Fixed, tile).ok().map(|place| place.start)
}
