//! What a dense read takes in memory, from the fragments' metadata alone.

use super::boxes::{Part, contiguous_parts, part_cell_count};
use super::reader::{DenseField, DensePlan};
use super::target::Target;
use crate::fetch::FieldSource;
use crate::workspace::Workspaces;
use smalti_types::Result;
use std::collections::HashSet;

impl DensePlan<'_> {
    /// Works out what the largest tile takes, and with it how many may be on their way at once.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata; `OutOfMemory` when the budget cannot hold a single tile.
    pub(super) fn settle_budget(&mut self) -> Result<()> {
        let cells = self.tile_cell_count().map_or(u64::MAX, |count| count as u64);
        let (mut largest, mut all_var) = (0u64, 0u64);
        let looked_at = self.filter.iter().flat_map(|filter| &filter.fields);
        for field in self.fields.iter().chain(looked_at) {
            let DenseField::Attribute { shape, sources, .. } = field else { continue };
            let mut of_tile =
                cells.saturating_mul(if shape.is_var() { 8 } else { shape.cell_byte_len() as u64 });
            if shape.is_var() {
                let mut longest = 0;
                for source in sources.iter().flatten() {
                    for tile_idx in 0..source.fragment.tile_count() {
                        let byte_len = source.fragment.var_byte_len(source.field, tile_idx as usize)? as u64;
                        longest = longest.max(byte_len);
                        all_var = all_var.saturating_add(byte_len).saturating_add(of_tile);
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
        self.workspaces = Workspaces::at_most(self.budget.task_count(largest.saturating_mul(2)));
        Ok(())
    }

    /// The cells of a batch: so many as asked for, unless they take too much memory.
    pub(super) fn max_cell_count(&self, asked: usize) -> usize {
        let cell_byte_len = |field: &DenseField<'_>| match field {
            DenseField::Dimension { datatype, .. } => datatype.byte_len() as u64,
            DenseField::Attribute { shape, .. } if shape.is_var() => 24,
            DenseField::Attribute { shape, .. } => shape.cell_byte_len() as u64 + 1,
        };
        let cell: u64 = self.fields.iter().map(cell_byte_len).sum();
        asked.min(self.budget.task_count(cell))
    }

    /// Cuts a part whose values of any length take too much memory at once; `None` when it may be read.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn cut_large_part(&self, part: &Part) -> Result<Option<Vec<Part>>> {
        let cell_count = part_cell_count(part).unwrap_or(u64::MAX);
        if self.is_small || cell_count <= 1 || self.var_byte_len(part)? <= self.budget.share() {
            return Ok(None);
        }
        let halves = contiguous_parts(&self.axes, part.clone(), self.layout, cell_count.div_ceil(2));
        Ok(Some(halves.collect()))
    }

    /// The bytes that the tiles of a part's values of any length take, of the field that takes most.
    fn var_byte_len(&self, part: &Part) -> Result<u64> {
        let mut most = 0;
        let looked_at = self.filter.iter().flat_map(|filter| &filter.fields);
        for field in self.fields.iter().chain(looked_at) {
            match field {
                DenseField::Attribute { shape, sources, .. } if shape.is_var() => {
                    most = most.max(self.var_byte_len_of(part, sources)?);
                }
                _ => {}
            }
        }
        Ok(most)
    }

    fn var_byte_len_of(&self, part: &Part, sources: &[Option<FieldSource<'_>>]) -> Result<u64> {
        let cells = self.tile_cell_count()? as u64;
        let (mut met, mut byte_len) = (HashSet::new(), 0u64);
        for piece in Target::of_part(&self.grid, &self.axes, part, self.layout)?.pieces() {
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
