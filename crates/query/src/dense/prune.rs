//! Pieces of space tiles that a condition rules out, or all of whose cells fulfil it, by what fragments know about their tiles.
//!
//! A verdict holds for the cells of a piece whoever wrote them: it is the one of every tile that shows there, and of the fill
//! value where none does.

use super::boxes::Axis;
use super::plan::{
    DenseField, DenseFilter, DenseFragment, DensePlan, FragmentStatistics, FragmentTiles, contains,
};
use super::target::{Piece, Target};
use super::task::Task;
use crate::condition::{BoundCondition, BoundField, FieldBounds, Verdict};
use crate::tile_statistics::TileStatistics;
use smalti_array::FieldId;
use smalti_space::{BitMask, Interval, Pace, TileGrid, intersect_rects};
use smalti_types::Result;
use std::borrow::Cow;

/// The statistics of fragments that a condition is judged by; of a fragment with few wanted tiles none, nor those of values of any
/// length that take more than `most` bytes.
///
/// # Errors
/// `Corrupt` and `Permission` from the fragments' metadata.
pub(super) fn statistics(
    condition: &BoundCondition,
    fragments: &[DenseFragment],
    grid: &TileGrid,
    axes: &[Axis],
    most: u64,
) -> Result<Vec<FragmentStatistics>> {
    let wanted = wanted_rect(axes);
    let of_fragment = |fragment: &DenseFragment| {
        let mut met = vec![Interval::ALL; axes.len()];
        let is_met = wanted.as_ref().is_some_and(|wanted| intersect_rects(&fragment.rect, wanted, &mut met));
        let tile_count = match &fragment.tiles {
            FragmentTiles::Space(_) if is_met => {
                usize::try_from(grid.block(&met)?.tile_count()).unwrap_or(usize::MAX)
            }
            _ => 0,
        };
        let fields = condition.fields().iter();
        fields.map(|field| TileStatistics::read(&fragment.fragment, field, tile_count, most)).collect()
    };
    fragments.iter().map(of_fragment).collect()
}

/// The least rectangle around all wanted cells; `None` where none is wanted.
pub(super) fn wanted_rect(axes: &[Axis]) -> Option<Vec<Interval>> {
    let hull = |axis: &Axis| {
        let cells = || axis.segments.iter().map(|segment| segment.cells);
        let (lo, hi) = (cells().map(|cells| cells.lo).min()?, cells().map(|cells| cells.hi).max()?);
        Some(Interval { lo, hi })
    };
    axes.iter().map(hull).collect()
}

impl DensePlan {
    /// What the condition says about the cells of each piece of a task.
    ///
    /// # Errors
    /// `Corrupt` from the fragments' metadata.
    pub(super) fn verdicts(&self, filter: &DenseFilter, task: &Task) -> Result<Vec<Verdict>> {
        task.target.pieces().map(|piece| self.verdict(filter, &piece)).collect()
    }

    /// What the condition says about the wanted cells of one tile.
    ///
    /// # Errors
    /// `Corrupt` from the fragments' metadata.
    pub(super) fn verdict_of_rect(&self, filter: &DenseFilter, rect: &[Interval]) -> Result<Verdict> {
        let target = Target::of_tile(&self.grid, rect, self.cell_order)?;
        let mut pieces = target.pieces();
        match (pieces.next(), pieces.next()) {
            (Some(piece), None) => self.verdict(filter, &piece),
            _ => Ok(Verdict::Some),
        }
    }

    /// What the condition says about the cells of a piece.
    ///
    /// # Errors
    /// `Corrupt` from the fragments' metadata.
    pub(super) fn verdict(&self, filter: &DenseFilter, piece: &Piece<'_>) -> Result<Verdict> {
        let Some((tiles, is_covered)) = self.tiles_shown(filter, piece)? else { return Ok(Verdict::Some) };
        let tile_cell_count = self.tile_cell_count()? as u64;
        let judge = |tile: Option<(usize, usize)>| {
            let bounds = |idx: usize| {
                let field = &filter.condition.fields()[idx];
                Ok(match (field.id, tile) {
                    (FieldId::Dimension(dim), _) => {
                        let Interval { lo, hi } = piece.rect[dim];
                        Some(FieldBounds::of_ordinals(field.shape.datatype, lo, hi, tile_cell_count))
                    }
                    (_, Some((fragment_idx, tile_idx))) => {
                        // Of a tile that reaches beyond what was written libtiledb counts other cells than it has.
                        if !contains(&self.fragments[fragment_idx].rect, &piece.tile_rect) {
                            return Ok(None);
                        }
                        match &filter.statistics[fragment_idx][idx] {
                            Some(statistics) => Some(statistics.of_tile(field, tile_idx, tile_cell_count)?),
                            None => None,
                        }
                    }
                    (_, None) => Some(bounds_of_fill(field)),
                })
            };
            filter.condition.verdict(&bounds)
        };
        let mut verdicts = tiles.into_iter().map(Some).chain((!is_covered).then_some(None)).map(judge);
        let first = verdicts.next().transpose()?.unwrap_or(Verdict::Some);
        for verdict in verdicts {
            if verdict? != first {
                return Ok(Verdict::Some);
            }
        }
        Ok(first)
    }

    /// The tiles that show in a piece, by fragment, and whether they show everywhere; `None` where they differ from field to
    /// field of the condition, or cells were written alone.
    #[expect(clippy::type_complexity, reason = "read in one place")]
    fn tiles_shown(
        &self,
        filter: &DenseFilter,
        piece: &Piece<'_>,
    ) -> Result<Option<(Vec<(usize, usize)>, bool)>> {
        let mut shown: Option<(Vec<(usize, usize)>, bool)> = None;
        for field in &filter.fields {
            let DenseField::Attribute { sources, .. } = field else { continue };
            let (shares, is_covered) = self.shares(piece, sources)?;
            if shares.iter().any(|share| share.is_single_cell()) {
                return Ok(None);
            }
            let of_field =
                (shares.iter().map(|share| (share.fragment_idx, share.tile_idx)).collect(), is_covered);
            if shown.as_ref().is_some_and(|shown| *shown != of_field) {
                return Ok(None);
            }
            shown = Some(of_field);
        }
        // A condition on coordinates alone holds whoever wrote the cells.
        Ok(Some(shown.unwrap_or_default()))
    }

    /// Settles the cells of the pieces whose verdict is known.
    ///
    /// # Errors
    /// `InvalidArgument` when a piece does not lie in its output; `Cancelled`.
    pub(super) fn apply_verdicts(&self, tasks: &[Task], mask: &mut BitMask) -> Result<()> {
        if tasks.iter().all(|task| task.verdicts.iter().all(|verdict| *verdict == Verdict::Some)) {
            return Ok(());
        }
        let check = || self.fetch.check();
        let mut pace = Pace::new(&check);
        let word_count = mask.len().div_ceil(64);
        let (mut all, mut none) = (vec![0; word_count], vec![0; word_count]);
        let mut start = 0;
        for task in tasks {
            for (piece, verdict) in task.target.pieces().zip(&task.verdicts) {
                let words = match verdict {
                    Verdict::All => &mut all,
                    Verdict::None => &mut none,
                    Verdict::Some => continue,
                };
                piece.cells(&piece.rect).for_each_place(&task.target.strides, |at, len| {
                    set_run(words, start + at, len);
                    pace.went(len)
                })?;
            }
            start += task.cell_count;
        }
        mask.or(&BitMask::from_words(all, mask.len()));
        mask.and_not(&BitMask::from_words(none, mask.len()));
        Ok(())
    }
}

/// What is known about cells that nobody wrote.
pub(super) fn bounds_of_fill(field: &BoundField) -> FieldBounds<'_> {
    FieldBounds {
        cell_count: 1,
        null_count: Some(u64::from(!field.fill_valid)),
        range: Some((Cow::Borrowed(&field.fill[..]), Cow::Borrowed(&field.fill[..]))),
        // Bounds that are NaN are none.
        may_have_nan: false,
    }
}

/// Sets `len` bits from `start` on.
fn set_run(words: &mut [u64], start: usize, len: usize) {
    let (mut at, end) = (start, start + len);
    while at < end {
        let bits = (64 - at % 64).min(end - at);
        words[at / 64] |= (u64::MAX >> (64 - bits)) << (at % 64);
        at += bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_bits_cross_words() {
        for (start, len) in [(0, 0), (0, 64), (3, 5), (60, 10), (1, 190), (64, 64), (63, 1)] {
            let mut words = vec![0; 3];
            set_run(&mut words, start, len);
            let mask = BitMask::from_words(words, 192);
            assert_eq!(
                mask.iter_cells().collect::<Vec<_>>(),
                (start..start + len).collect::<Vec<_>>(),
                "{start} {len}"
            );
        }
    }
}
