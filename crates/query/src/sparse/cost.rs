//! What tiles take in memory, from the fragments' metadata alone.

use super::plan::{SparsePlan, TileRef};
use crate::progress::{Phase, Unit};
use crate::source::FieldSource;
use smalti_array::FieldId;
use smalti_types::{Result, parallel};
use std::ops::Range;

/// The bytes that one tile takes decoded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TileCost {
    /// Its coordinates, and times if cells have them.
    pub(crate) coords: u64,
    /// The fields of the result.
    pub(crate) fields: u64,
    /// What the condition of the read and deletes look at: fields of the result, which are kept, and the others of that which looks at most.
    pub(crate) asked: u64,
}

impl TileCost {
    /// What is decoded of a tile to find the cells that are wanted.
    pub(crate) fn finding(self) -> u64 {
        self.coords.saturating_add(self.asked)
    }
}

impl SparsePlan {
    /// What a tile takes.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn cost(&self, tile: &TileRef) -> Result<TileCost> {
        let fragment = &self.fragments[tile.fragment_idx];
        let mut cost = TileCost::default();
        for source in fragment.dims.iter().chain(&fragment.timestamps) {
            cost.coords = cost.coords.saturating_add(decoded_byte_len(source, tile)?);
        }
        for (field, source) in self.fields.iter().zip(&fragment.sources) {
            let byte_len = match source {
                Some(source) => decoded_byte_len(source, tile)?,
                None => (field.fill.len() as u64 + 8).saturating_mul(tile.cell_count as u64),
            };
            cost.fields = cost.fields.saturating_add(byte_len);
        }
        let asks = fragment.predicates.iter().filter(|predicate| !predicate.is_condition || !tile.fulfils);
        let mut kept: Vec<FieldId> = Vec::new();
        let mut most = 0u64;
        for predicate in asks {
            let mut others = 0u64;
            for source in predicate.attributes() {
                let byte_len = decoded_byte_len(source, tile)?;
                if !self.is_kept(tile, source) {
                    others = others.saturating_add(byte_len);
                } else if !kept.contains(&source.field) {
                    kept.push(source.field);
                    cost.asked = cost.asked.saturating_add(byte_len);
                }
            }
            most = most.max(others);
        }
        cost.asked = cost.asked.saturating_add(most);
        Ok(cost)
    }
}

/// Of more tiles the last ones keep the workers of a read at work long enough.
const FEW_TILES_PER_THREAD: usize = 4;
/// Values, their places and their validity, each of which may be read by a task of its own.
const PLANES_PER_FIELD: u64 = 3;

impl SparsePlan {
    /// Works out what the largest tile takes, and with it how many may be on their way at once.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata; `OutOfMemory` when the budget cannot hold a single tile.
    pub(crate) fn settle_budget(&mut self) -> Result<()> {
        let (mut largest_tile, mut largest_field) = (0, 0);
        for tile in &self.tiles {
            let cost @ TileCost { coords, fields, asked } = self.cost(tile)?;
            largest_tile = largest_tile
                .max(coords.saturating_add(fields))
                .max(coords.saturating_add(ordering(tile)))
                .max(cost.finding());
            largest_field = largest_field.max(fields).max(coords).max(asked);
        }
        let tile_reads = self.tile_reads(self.tiles.len());
        self.fetch.progress().plan(tile_reads);
        self.fetch.progress().enter(Phase::Reading, Unit::Tiles, Some(tile_reads));
        self.budget.cover(largest_tile)?;
        // Filtered bytes and the decoded tile beside them.
        self.workspaces.limit(self.budget.task_count(largest_field.saturating_mul(2)));
        let most_tasks = tile_reads.saturating_mul(PLANES_PER_FIELD);
        if self.tiles.len() <= FEW_TILES_PER_THREAD * parallel::thread_count()
            && self.workspaces.suffice(usize::try_from(most_tasks).unwrap_or(usize::MAX))
        {
            self.fetch.spread_tiles();
        }
        Ok(())
    }

    /// The reads of so many tiles, one for every field and dimension.
    pub(crate) fn tile_reads(&self, tile_count: usize) -> u64 {
        let fields = self.fields.iter().filter(|field| !matches!(field.id, FieldId::Dimension(_))).count();
        tile_count as u64 * (fields + self.snapshot.schema().dimensions.len()) as u64
    }

    /// Whether some tiles, decoded and in order, fit in the budget at once.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn holds_at_once<'t>(&self, tiles: impl IntoIterator<Item = &'t TileRef>) -> Result<bool> {
        let mut all = 0u64;
        for tile in tiles {
            let TileCost { coords, fields, asked } = self.cost(tile)?;
            // Coordinates are held as decoded and as selected, and each cell has a key and a place; results are copies.
            let held = coords.saturating_add(fields).saturating_mul(2).saturating_add(ordering(tile));
            all = all.saturating_add(held).saturating_add(asked);
        }
        Ok(self.budget.holds(all))
    }

    /// The next groups of tiles of a stretch that is read tile after tile. None but single tiles have more cells than asked for, and there are
    /// as many groups as it takes to have `wanted_tile_count` tiles; but all of them together take no more than the read may
    /// hold at once.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn next_groups(
        &self,
        tiles: Range<usize>,
        max_cell_count: usize,
        wanted_tile_count: usize,
    ) -> Result<Vec<Range<usize>>> {
        let (mut groups, mut start) = (Vec::new(), tiles.start);
        let (mut byte_len, mut cell_count) = (0u64, 0usize);
        for at in tiles.clone() {
            let tile = &self.tiles[at];
            let cost = self.cost(tile)?;
            byte_len = byte_len.saturating_add(cost.finding()).saturating_add(cost.fields);
            let is_full = byte_len > self.budget.share();
            if at > start && (cell_count.saturating_add(tile.cell_count) > max_cell_count || is_full) {
                groups.push(start..at);
                (start, cell_count) = (at, 0);
            }
            if at > tiles.start && start == at && (is_full || at - tiles.start >= wanted_tile_count) {
                return Ok(groups);
            }
            cell_count = cell_count.saturating_add(tile.cell_count);
        }
        if start < tiles.end {
            groups.push(start..tiles.end);
        }
        Ok(groups)
    }
}

/// Bytes that the order of a cell takes: its key, its place, and its position in the order.
const ORDERED_CELL_BYTE_LEN: u64 = 40;

fn ordering(tile: &TileRef) -> u64 {
    (tile.cell_count as u64).saturating_mul(ORDERED_CELL_BYTE_LEN)
}

/// The bytes of a decoded tile of a field.
pub(crate) fn decoded_byte_len(source: &FieldSource, tile: &TileRef) -> Result<u64> {
    let shape = source.codec.shape();
    let cells = tile.cell_count as u64;
    let values = match shape.is_var() {
        true => (source.fragment.var_byte_len(source.field, tile.tile_idx)? as u64)
            .saturating_add(cells.saturating_mul(8)),
        false => cells.saturating_mul(shape.cell_byte_len() as u64),
    };
    Ok(values.saturating_add(if shape.is_nullable { cells } else { 0 }))
}
