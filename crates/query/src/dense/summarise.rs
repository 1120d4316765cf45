//! Tiles of a dense aggregate that their statistics answer for.

use super::plan::{DenseField, DensePlan, FragmentTiles, contains};
use crate::folded::Folded;
use crate::summary::FragmentSummary;
use smalti_space::Interval;
use smalti_types::{Error, Result};

impl DensePlan {
    /// Folds the statistics of the tile that a rectangle is; `false` where it is none, or more than one fragment, or none,
    /// has cells of it.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub(super) fn summarise(
        &self,
        rect: &[Interval],
        summaries: &mut Vec<Option<FragmentSummary>>,
        folded: &mut [Folded],
    ) -> Result<bool> {
        let mut tile = vec![0; rect.len()];
        let corner: Vec<u64> = rect.iter().map(|side| side.lo).collect();
        let mut whole = vec![Interval::ALL; rect.len()];
        if !self.grid.tile_of(&corner, &mut tile)
            || !self.grid.tile_rect(&tile, &mut whole)
            || rect != whole.as_slice()
        {
            return Ok(false);
        }
        let Some(fragment_idx) = self.rects.meeting(rect).next() else { return Ok(false) };
        let fragment = &self.fragments[fragment_idx];
        let FragmentTiles::Space(block) = &fragment.tiles else { return Ok(false) };
        if !contains(&fragment.rect, rect) {
            return Ok(false);
        }
        summaries.resize_with(self.fragments.len(), || None);
        let summary = match &mut summaries[fragment_idx] {
            Some(summary) => summary,
            none => {
                let sources = self.fields.iter().map(|field| match field {
                    DenseField::Attribute { sources, .. } => sources[fragment_idx].as_ref(),
                    DenseField::Dimension { .. } => None,
                });
                none.insert(FragmentSummary::new(sources, folded, self.budget.share())?)
            }
        };
        let tile_idx = block
            .tile_idx(&tile)
            .ok_or_else(|| Error::corrupt("a fragment's tiles do not cover its non-empty domain"))?;
        summary.fold(folded, tile_idx as usize, self.tile_cell_count()? as u64)
    }
}
