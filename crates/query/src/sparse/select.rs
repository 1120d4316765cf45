//! Which cells of a tile a sparse read wants.

use super::filter::Values;
use super::plan::{SparsePlan, TileRef};
use crate::fetch::FoundTile;
use crate::gather::CellRun;
use crate::source::FieldSource;
use rayon::prelude::*;
use smalti_array::{FieldId, Plane};
use smalti_space::{BitMask, Column as CoordColumn, Zones, select_column};
use smalti_tile::Column;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Result};
use std::borrow::Borrow;
use std::sync::Arc;

/// The wanted cells of a tile, and the columns that were decoded to find them.
#[derive(Clone, Default)]
pub(crate) struct Selection {
    /// The wanted cells; `None` for all.
    pub(crate) mask: Option<BitMask>,
    /// How many they are.
    pub(crate) count: usize,
    /// The coordinates of each dimension, if they were needed.
    pub(crate) coords: Vec<Option<Arc<Column>>>,
    /// Times of the cells, if they were needed.
    pub(crate) timestamps: Option<Arc<Column>>,
    /// Fields of the result that the condition or deletes looked at, if they were to be kept.
    pub(crate) values: Values,
}

/// What is decoded or kept of a tile beside what it takes to find the wanted cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wants {
    /// Coordinates of each dimension are decoded.
    pub(crate) coords: bool,
    /// Times of cells are, where the fragment has them.
    pub(crate) times: bool,
    /// Fields of the result that are decoded for the condition, or for deletes, are kept.
    pub(crate) values: bool,
}

impl SparsePlan {
    /// Finds the wanted cells of a tile by the ranges, and by the times of cells where the fragment has them.
    ///
    /// # Errors
    /// What store and codecs report.
    pub(crate) fn select(&self, tile: &TileRef, wants: Wants) -> Result<Selection> {
        let fragment = &self.fragments[tile.fragment_idx];
        let mut coords: Vec<Option<Arc<Column>>> = vec![None; fragment.dims.len()];
        let mut mask = None;
        if !tile.is_covered {
            mask = self.select_by_ranges(tile, &mut coords)?;
        }
        if !tile.is_in_part {
            self.select_by_part(tile, &mut coords, &mut mask)?;
        }
        if wants.coords {
            fragment.dims.par_iter().zip(&mut coords).shared().try_for_each(|(source, column)| {
                if column.is_none() {
                    *column = Some(self.tile_column(source, tile)?);
                }
                Ok::<(), Error>(())
            })?;
        }
        let timestamps = match &fragment.timestamps {
            Some(source) if wants.times || fragment.splits_in_time => Some(self.tile_column(source, tile)?),
            _ => None,
        };
        if let (Some(times), true) = (&timestamps, fragment.splits_in_time) {
            let time = self.snapshot.time();
            let mask = mask.get_or_insert_with(|| BitMask::ones(tile.cell_count));
            for (cell, &at) in times.data.values::<u64>().iter().enumerate() {
                if at < time.start || at > time.end {
                    mask.unset(cell);
                }
            }
        }
        let mut values = Values::default();
        let is_asked = !tile.hides && self.history.is_none();
        if is_asked && (fragment.delete_times.is_some() || !fragment.predicates.is_empty()) {
            if coords.iter().all(Option::is_none) {
                self.check_claim(tile)?;
            }
            let mask = mask.get_or_insert_with(|| BitMask::ones(tile.cell_count));
            let kept = wants.values.then_some(&mut values);
            self.apply_predicates(tile, mask, &coords, timestamps.as_deref(), kept)?;
        }
        let count = mask.as_ref().map_or(tile.cell_count, BitMask::count);
        if count == tile.cell_count {
            mask = None;
        }
        Ok(Selection { mask, count, coords, timestamps, values })
    }

    /// The cells in the ranges, found dimension by dimension: none is decoded whose ranges take in the whole tile, nor any
    /// when no cell is left. `None` when nothing was decoded.
    fn select_by_ranges(
        &self,
        tile: &TileRef,
        coords: &mut [Option<Arc<Column>>],
    ) -> Result<Option<BitMask>> {
        let fragment = &self.fragments[tile.fragment_idx];
        let mut mask: Option<BitMask> = None;
        for dim in self.looked_at(tile)? {
            let (source, ranges) = (&fragment.dims[dim], &self.ranges[dim]);
            let found = self
                .workspaces
                .with(|workspace| self.fetch.kept_tile(source, tile.tile_idx, tile.cell_count, workspace))?;
            let coordinates = coord_column(found.column(), source.codec.shape().datatype)?;
            let mask = mask.get_or_insert_with(|| BitMask::ones(tile.cell_count));
            match &found {
                FoundTile::Kept(kept) => {
                    kept.zones(|| Zones::of(&coordinates)).select_column(&coordinates, ranges, mask)?;
                }
                FoundTile::Decoded(_) => select_column(&coordinates, ranges, mask)?,
            }
            coords[dim] = Some(Arc::clone(found.column()));
            if !mask.any() {
                break;
            }
        }
        Ok(mask)
    }

    /// The dimensions on which the ranges leave out coordinates that cells of a tile may have.
    pub(super) fn looked_at(&self, tile: &TileRef) -> Result<Vec<usize>> {
        let fragment = &self.fragments[tile.fragment_idx];
        let leaves = fragment.fragment.tile_tree()?.leaves()?;
        let mut dims = Vec::with_capacity(fragment.dims.len());
        for (dim, (_, ranges)) in fragment.dims.iter().zip(&self.ranges).enumerate() {
            if !ranges.is_all() && !ranges.covers(leaves.extent(tile.tile_idx, dim)?) {
                dims.push(dim);
            }
        }
        Ok(dims)
    }

    /// Checks that a tile has the cells that its fragment says, before memory is taken for them.
    fn check_claim(&self, tile: &TileRef) -> Result<()> {
        let Some(source) = self.fragments[tile.fragment_idx].dims.first() else { return Ok(()) };
        let shape = source.codec.shape();
        if shape.is_var() {
            return self.tile_column(source, tile).map(drop);
        }
        let byte_len = shape.cell_byte_len();
        self.fetch.tile_byte_len(source, Plane::Fixed, tile.tile_idx, tile.cell_count, byte_len).map(drop)
    }

    /// All cells of a tile of a field.
    pub(crate) fn tile_column(&self, source: &FieldSource, tile: &TileRef) -> Result<Arc<Column>> {
        self.workspaces.with(|workspace| self.fetch.tile(source, tile.tile_idx, tile.cell_count, workspace))
    }
}

impl Selection {
    /// All cells of the tile of a field of the result, if they were decoded to find the wanted ones, and kept.
    pub(super) fn known(&self, id: FieldId, source: Option<&FieldSource>) -> Option<&Arc<Column>> {
        match id {
            FieldId::Dimension(dim) => self.coords.get(dim)?.as_ref(),
            FieldId::Timestamps => self.timestamps.as_ref(),
            _ => self.values.of(source?),
        }
    }

    /// Appends the runs of wanted cells.
    pub(crate) fn push_runs(&self, slot: u32, cell_count: usize, runs: &mut Vec<CellRun>) {
        match &self.mask {
            None if cell_count == 0 => {}
            None => runs.push(CellRun { slot, start: 0, len: cell_count as u32 }),
            Some(mask) => runs.extend(mask.iter_runs().map(|run| CellRun {
                slot,
                start: run.start as u32,
                len: (run.end - run.start) as u32,
            })),
        }
    }
}

/// Columns of coordinates as the order of cells wants them.
pub(crate) fn coord_columns<'c, 's>(
    columns: &'c [impl Borrow<Column>],
    sources: impl Iterator<Item = &'s FieldSource>,
) -> Result<Vec<CoordColumn<'c>>> {
    columns
        .iter()
        .zip(sources)
        .map(|(column, source)| coord_column(column.borrow(), source.codec.shape().datatype))
        .collect()
}

/// One column of coordinates as the order of cells wants it.
pub(crate) fn coord_column(column: &Column, datatype: smalti_types::Datatype) -> Result<CoordColumn<'_>> {
    match &column.offsets {
        None => CoordColumn::numbers(datatype, column.data.as_slice()),
        Some(offsets) => match offsets.values::<u64>() {
            [starts @ .., _] => CoordColumn::strings(starts, column.data.as_slice()),
            [] => Err(Error::corrupt("a column of strings without offsets")),
        },
    }
}
