//! What a dense read takes in memory, from the fragments' metadata alone.

use super::boxes::{Part, contiguous_parts, part_cell_count, slow_to_fast};
use super::plan::{DenseField, DensePlan, FragmentTiles};
use super::prune::wanted_rect;
use super::reader::TASKS_PER_THREAD;
use super::target::Target;
use crate::request::DEFAULT_BATCH_CELL_COUNT;
use crate::source::FieldSource;
use smalti_space::Interval;
use smalti_types::{Result, parallel};
use std::collections::HashSet;

impl DensePlan {
    /// Works out what the largest tile takes, and with it how many may be on their way at once.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata; `OutOfMemory` when the budget cannot hold a single tile.
    pub(super) fn settle_budget(&mut self) -> Result<()> {
        let cells = self.tile_cell_count().map_or(u64::MAX, |count| count as u64);
        let (mut largest, mut all_var) = (0u64, 0u64);
        // Tiles outside of it are not read. Nothing is where nothing is asked for.
        let wanted = wanted_rect(&self.axes).unwrap_or_default();
        let looked_at = self.filter.iter().flat_map(|filter| &filter.fields);
        for field in self.fields.iter().chain(looked_at) {
            let DenseField::Attribute { shape, sources, .. } = field else { continue };
            let mut of_tile =
                cells.saturating_mul(if shape.is_var() { 8 } else { shape.cell_byte_len() as u64 });
            if shape.is_var() {
                let mut longest = 0;
                for (source, fragment) in sources.iter().zip(&self.fragments) {
                    let Some(source) = source else { continue };
                    let mut add = |tile_idx: u64| -> Result<()> {
                        let byte_len = source.fragment.var_byte_len(source.field, tile_idx as usize)? as u64;
                        longest = longest.max(byte_len);
                        all_var = all_var.saturating_add(byte_len).saturating_add(of_tile);
                        Ok(())
                    };
                    match &fragment.tiles {
                        FragmentTiles::Space(block) => {
                            let mut tiles = block.walk_overlapping(&self.grid, &wanted);
                            while let Some((tile_idx, _)) = tiles.next() {
                                add(tile_idx)?;
                            }
                        }
                        FragmentTiles::Points(_) => (0..source.fragment.tile_count()).try_for_each(add)?,
                    }
                }
                of_tile = of_tile.saturating_add(longest);
            }
            if sources.iter().any(Option::is_some) {
                largest = largest.max(of_tile);
            }
        }
        self.budget.cover(largest)?;
        self.is_small = all_var <= self.budget.share();
        self.workspaces.limit(self.budget.task_count(largest.saturating_mul(2)));
        Ok(())
    }

    /// The cells of a batch: so many as asked for, unless they take too much memory.
    pub(super) fn max_cell_count(&self, asked: usize) -> usize {
        let cell_byte_len = |field: &DenseField| match field {
            DenseField::Dimension { datatype, .. } => datatype.byte_len() as u64,
            DenseField::Attribute { shape, .. } if shape.is_var() => 24,
            DenseField::Attribute { shape, .. } => shape.cell_byte_len() as u64 + 1,
        };
        let looked_at = self.filter.iter().flat_map(|filter| &filter.fields);
        let cell: u64 = self.fields.iter().chain(looked_at).map(cell_byte_len).sum();
        asked.min(self.budget.task_count(cell + self.row_byte_len_per_cell()))
    }

    /// What the rows of tiles along each dimension take for each cell of a part, at most. Tiles may be as small as a cell, and then there are as many rows
    /// of them as cells; mostly all of them together do not count, even if each task has all.
    fn row_byte_len_per_cell(&self) -> u64 {
        /// What a row of tiles takes while a part is read.
        const ROW_BYTE_LEN: u64 = 160;
        let axes = || self.axes.iter().zip(self.grid.dims());
        let rows = axes().map(|(axis, dim)| {
            (axis.len / dim.extent.max(1)).saturating_add(axis.segments.len() as u64).saturating_add(1)
        });
        let rows = rows.fold(0, u64::saturating_add);
        let tasks = TASKS_PER_THREAD * parallel::thread_count() as u64;
        if rows.saturating_mul(tasks).saturating_mul(ROW_BYTE_LEN) <= self.budget.share() / 8 {
            return 0;
        }
        let extents = axes().filter(|(axis, _)| axis.len > 1).map(|(_, dim)| dim.extent);
        ROW_BYTE_LEN / extents.min().unwrap_or(u64::MAX).max(1)
    }

    /// The cells of a step: so many as asked for, unless they take too much memory. Large steps take whole rows of tiles as far as memory
    /// allows, so that none is decoded again and again: a row for each thread, or one where that would be many cells; or a half, a quarter
    /// and so on of one, which chunks of tiles are most likely to end with.
    pub(super) fn step_cell_count(&self, asked: usize) -> usize {
        /// Steps of so many cells are large enough to be shared out.
        const ENOUGH_CELL_COUNT: usize = 4 * DEFAULT_BATCH_CELL_COUNT;
        let asked_for = self.max_cell_count(asked);
        if asked < DEFAULT_BATCH_CELL_COUNT {
            return asked_for;
        }
        let order = slow_to_fast(self.axes.len(), self.layout);
        let slowest = order.into_iter().find(|&dim| self.axes[dim].len > 1).unwrap_or(0);
        let row = self.axes.iter().enumerate().fold(1u64, |cells, (dim, axis)| {
            cells.saturating_mul(if dim == slowest { axis.step.min(axis.len) } else { axis.len })
        });
        let mut row = usize::try_from(row).unwrap_or(usize::MAX);
        let mut most = self.max_cell_count(usize::MAX);
        if self.filter.is_some() {
            // The fields of the condition, and the cells that are left of a step, lie beside it.
            most /= 3;
        }
        while row > most.max(1) {
            row = row.div_ceil(2);
        }
        let rows = row.saturating_mul(parallel::thread_count()).min(ENOUGH_CELL_COUNT).min(most);
        asked_for.max(row).max(rows / row.max(1) * row)
    }

    /// Cuts a part whose values of any length take too much memory at once; `None` when it may be read.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn cut_large_part(&self, part: &Part) -> Result<Option<Vec<Part>>> {
        let cell_count = part_cell_count(part).unwrap_or(u64::MAX);
        if self.is_small || cell_count <= 1 || self.var_byte_len_of_part(part)? <= self.budget.share() {
            return Ok(None);
        }
        let halves = contiguous_parts(&self.axes, part.clone(), self.layout, cell_count.div_ceil(2));
        Ok(Some(halves.collect()))
    }

    /// Whether the decoded values of any length of some tiles fit beside each other.
    pub(super) fn holds_values(&self, byte_len: u64) -> bool {
        byte_len <= self.budget.share()
    }

    /// The bytes that the values of any length in a tile of space take.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn var_byte_len_of_tile(&self, rect: &[Interval]) -> Result<u64> {
        self.var_byte_len(&Target::of_tile(&self.grid, rect, self.cell_order)?)
    }

    /// The bytes that the tiles of a target's values of any length take, of the field that takes most.
    fn var_byte_len(&self, target: &Target) -> Result<u64> {
        let mut most = 0;
        let looked_at = self.filter.iter().flat_map(|filter| &filter.fields);
        for field in self.fields.iter().chain(looked_at) {
            match field {
                DenseField::Attribute { shape, sources, .. } if shape.is_var() => {
                    most = most.max(self.var_byte_len_of(target, sources)?);
                }
                _ => {}
            }
        }
        Ok(most)
    }

    fn var_byte_len_of_part(&self, part: &Part) -> Result<u64> {
        self.var_byte_len(&Target::of_part(&self.grid, &self.axes, part, self.layout)?)
    }

    fn var_byte_len_of(&self, target: &Target, sources: &[Option<FieldSource>]) -> Result<u64> {
        let cells = self.tile_cell_count()? as u64;
        let (mut met, mut byte_len) = (HashSet::new(), 0u64);
        for piece in target.pieces() {
            for share in self.shares(&piece, sources)?.0 {
                let Some(source) = &sources[share.fragment_idx] else { continue };
                if met.insert((share.fragment_idx, share.tile_idx)) {
                    let values = source.fragment.var_byte_len(source.field, share.tile_idx)? as u64;
                    byte_len = byte_len.saturating_add(values).saturating_add(cells.saturating_mul(8));
                }
            }
        }
        Ok(byte_len)
    }
}
