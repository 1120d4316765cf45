//! Tiles that a condition rules out, or all of whose cells fulfil it, by what fragments know about their tiles: the
//! bounding rectangles for dimensions, and minimum, maximum and null count for attributes.

use super::plan::{SparsePlan, TileRef};
use crate::condition::{BoundCondition, FieldBounds, Verdict};
use crate::tile_statistics::TileStatistics;
use smalti_array::{FieldId, Fragment};
use smalti_format::Rule;
use smalti_space::{Interval, stored_mbr_interval};
use smalti_types::{ExtentRef, Result};
use std::sync::Arc;

impl SparsePlan {
    /// Takes tiles out in which no cell fulfils the read's condition, unless their cells may hide others, and notes those in
    /// which all cells do.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the metadata.
    pub(super) fn prune(&mut self, condition: Option<&Arc<BoundCondition>>) -> Result<()> {
        let Some(condition) = condition else { return Ok(()) };
        let mut start = 0;
        let mut verdicts = Vec::with_capacity(self.tiles.len());
        while let Some(first) = self.tiles.get(start) {
            let len = self.tiles[start..].iter().take_while(|t| t.fragment_idx == first.fragment_idx).count();
            let tiles = &self.tiles[start..start + len];
            self.judge(condition, &self.fragments[first.fragment_idx].fragment, tiles, &mut verdicts)?;
            start += len;
        }
        let mut verdicts = verdicts.into_iter();
        self.tiles.retain_mut(|tile| {
            let verdict = verdicts.next().unwrap_or(Verdict::Some);
            tile.fulfils = verdict == Verdict::All;
            tile.hides || verdict != Verdict::None
        });
        Ok(())
    }

    fn judge(
        &self,
        condition: &BoundCondition,
        fragment: &Fragment,
        tiles: &[TileRef],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<()> {
        let statistics = condition
            .fields()
            .iter()
            .map(|field| TileStatistics::read(fragment, field, tiles.len(), self.budget.share()))
            .collect::<Result<Vec<_>>>()?;
        let rects = match fragment.version().has(Rule::UnsoundBounds) {
            true => None,
            false => Some(fragment.tile_tree()?.leaves()?),
        };
        for tile in tiles {
            verdicts.push(condition.verdict(&|idx| {
                let field = &condition.fields()[idx];
                let cell_count = tile.cell_count as u64;
                Ok(match (field.id, &statistics[idx]) {
                    (FieldId::Dimension(dim), _) => {
                        let Some(rects) = &rects else { return Ok(None) };
                        let bounds = match rects.extent(tile.tile_idx, dim)? {
                            ExtentRef::Num { lo, hi } => {
                                let Interval { lo, hi } =
                                    stored_mbr_interval(field.shape.datatype, Interval { lo, hi });
                                FieldBounds::of_ordinals(field.shape.datatype, lo, hi, cell_count)
                            }
                            ExtentRef::Str { lo, hi: Some(hi) } => {
                                FieldBounds::of_strings(lo, hi, cell_count)
                            }
                            ExtentRef::Str { .. } => return Ok(None),
                        };
                        // NaN lies in no rectangle.
                        Some(FieldBounds { may_have_nan: field.shape.datatype.is_float(), ..bounds })
                    }
                    (_, Some(statistics)) => Some(statistics.of_tile(field, tile.tile_idx, cell_count)?),
                    _ => None,
                })
            })?);
        }
        Ok(())
    }
}
