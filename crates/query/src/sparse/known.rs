//! What the metadata tells of a sparse read before it reads.

use super::plan::{SparseFragment, SparsePlan, TileRef};
use crate::condition::BoundField;
use crate::count::Count;
use crate::field_statistics::{FieldStatistics, FieldSummary};
use crate::source::FieldSource;
use smalti_array::FieldId;
use smalti_format::Rule;
use smalti_types::{ExtentRef, Result};

impl SparsePlan {
    /// Whether all cells of all tiles are wanted, and none hides another.
    fn is_whole(&self) -> bool {
        let is_whole = |tile: &TileRef| {
            let SparseFragment { splits_in_time, delete_times, predicates, .. } =
                &self.fragments[tile.fragment_idx];
            let asks = predicates.iter().any(|predicate| !(predicate.is_condition && tile.fulfils));
            tile.is_covered
                && tile.is_in_part
                && !tile.hides
                && !splits_in_time
                && delete_times.is_none()
                && !asks
        };
        self.tiles.iter().all(is_whole)
    }

    /// The cells of the read.
    pub(crate) fn known_cell_count(&self) -> Count {
        let count = self.tiles.iter().fold(0, |sum: u64, tile| sum.saturating_add(tile.cell_count as u64));
        if self.is_whole() { Count::Exact(count) } else { Count::AtMost(count) }
    }

    /// The bytes of the columns.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn known_byte_len(&self) -> Result<Count> {
        let mut sum = 0u64;
        for tile in &self.tiles {
            sum = sum.saturating_add(self.cost(tile)?.fields);
        }
        Ok(Count::AtMost(sum))
    }

    /// The mean bytes of the values of a cell of a field of any length, as far as something is known of them.
    pub(crate) fn mean_var_byte_len(&self, field: usize) -> Option<usize> {
        let sources = self.fragments.iter().filter_map(|fragment| fragment.sources.get(field)?.as_ref());
        let cell_count =
            |source: &FieldSource, tile_idx| source.fragment.cell_count_of_tile(tile_idx as u64).ok();
        self.fetch.mean_var_byte_len(sources, cell_count)
    }

    /// What is known of the values of a field.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(crate) fn field_statistics(&self, field: &BoundField, cells: Count) -> Result<FieldStatistics> {
        self.read_metadata();
        let mut summary = FieldSummary::new(field.shape.datatype);
        let mut start = 0;
        let mut tiles: Vec<&TileRef> = self.tiles.iter().collect();
        tiles.sort_by_key(|tile| (tile.fragment_idx, tile.tile_idx));
        let mut is_told = true;
        while let Some(first) = tiles.get(start) {
            let fragment = &self.fragments[first.fragment_idx].fragment;
            let len =
                tiles[start..].iter().take_while(|tile| tile.fragment_idx == first.fragment_idx).count();
            let of_fragment = &tiles[start..start + len];
            start += len;
            match field.id {
                FieldId::Dimension(_) if fragment.version().has(Rule::UnsoundBounds) => summary.forget(),
                FieldId::Dimension(dim) => {
                    let leaves = fragment.tile_tree()?.leaves()?;
                    for tile in of_fragment {
                        match leaves.extent(tile.tile_idx, dim)? {
                            ExtentRef::Num { lo, hi } => {
                                let bytes = |ordinal| field.shape.datatype.bytes_of_ordinal(ordinal);
                                summary.widen(&bytes(lo), &bytes(hi))?;
                            }
                            ExtentRef::Str { lo, hi: Some(hi) } => summary.widen(lo, hi)?,
                            ExtentRef::Str { .. } => summary.forget(),
                        }
                    }
                }
                FieldId::Timestamps => {
                    let time = fragment.time();
                    summary.widen(&time.start.to_le_bytes(), &time.end.to_le_bytes())?;
                    is_told = false;
                }
                _ => {
                    let counted = of_fragment.iter().map(|tile| (tile.tile_idx, tile.cell_count as u64));
                    summary.add_tiles(fragment, field, counted, self.budget.share())?;
                }
            }
        }
        // A limit ends before the values may be met.
        let is_whole = is_told && self.is_whole() && self.limit.is_none_or(|limit| limit >= cells.most());
        Ok(summary.finish(field, cells, is_whole && cells.is_exact()))
    }
}
