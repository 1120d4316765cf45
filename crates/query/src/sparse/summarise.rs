//! Tiles of a sparse aggregate that their statistics answer for.

use super::plan::SparsePlan;
use crate::folded::Folded;
use crate::progress::{Phase, Unit};
use crate::summary::FragmentSummary;
use smalti_types::Result;

impl SparsePlan {
    /// Folds the statistics of the tiles all of whose cells count, and takes these tiles out. Only before the first cell is
    /// read.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragments' metadata.
    pub(crate) fn summarise(&mut self, folded: &mut [Folded]) -> Result<()> {
        self.read_metadata();
        let mut tiles = std::mem::take(&mut self.tiles);
        let mut start = 0;
        let mut is_answered = vec![false; tiles.len()];
        while let Some(first) = tiles.get(start) {
            let len =
                tiles[start..].iter().take_while(|tile| tile.fragment_idx == first.fragment_idx).count();
            let fragment = &self.fragments[first.fragment_idx];
            let may_answer = |fulfils: bool| {
                !fragment.splits_in_time
                    && fragment.delete_times.is_none()
                    && fragment.predicates.iter().all(|predicate| predicate.is_condition && fulfils)
            };
            if may_answer(true) {
                let summary = FragmentSummary::new(
                    fragment.sources.iter().map(Option::as_ref),
                    folded,
                    self.budget.share(),
                )?;
                for (tile, is_answered) in tiles[start..start + len].iter().zip(&mut is_answered[start..]) {
                    *is_answered = tile.is_covered
                        && !tile.hides
                        && may_answer(tile.fulfils)
                        && summary.fold(folded, tile.tile_idx, tile.cell_count as u64)?;
                }
            }
            start += len;
        }
        let answered = is_answered.iter().filter(|is_answered| **is_answered).count();
        self.fetch.progress().advance(Phase::Reading, Unit::Tiles, self.tile_reads(answered));
        let mut is_answered = is_answered.into_iter();
        tiles.retain(|_| !is_answered.next().unwrap_or(false));
        self.tiles = tiles;
        self.cut_into_stretches();
        Ok(())
    }
}
