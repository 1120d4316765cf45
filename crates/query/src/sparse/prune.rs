//! Tiles that a condition rules out, or all of whose cells fulfil it, by what fragments know about their tiles: the
//! bounding rectangles for dimensions, and minimum, maximum and null count for attributes.

use super::plan::{SparsePlan, TileRef};
use crate::condition::{BoundCondition, BoundField, FieldBounds, Verdict};
use smalti_array::{FieldId, Fragment};
use smalti_format::Rule;
use smalti_format::fragment::TileBounds;
use smalti_space::{Interval, stored_mbr_interval};
use smalti_types::{CellValNum, Datatype, ExtentRef, Result};
use std::borrow::Cow;
use std::sync::Arc;

/// Tiles of a fragment from which on its statistics are worth their reads.
const LEAST_TILE_COUNT: usize = 4;

/// What the statistics of one attribute say about the tiles of a fragment.
struct TileStatistics {
    mins: TileBounds,
    maxes: TileBounds,
    null_counts: Vec<u64>,
    sums: Vec<u64>,
}

impl SparsePlan<'_> {
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
            self.judge(condition, self.fragments[first.fragment_idx].fragment, tiles, &mut verdicts)?;
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
            .map(|field| statistics(fragment, field, tiles.len()))
            .collect::<Result<Vec<_>>>()?;
        let rects = match fragment.version().has(Rule::UnsoundBounds) {
            true => None,
            false => fragment.rtree()?.leaves(),
        };
        verdicts.extend(tiles.iter().map(|tile| {
            condition.verdict(&|idx| {
                let field = &condition.fields()[idx];
                let cell_count = tile.cell_count as u64;
                match (field.id, &statistics[idx]) {
                    (FieldId::Dimension(dim), _) => {
                        let bounds = match rects?.extent(tile.tile_idx, dim) {
                            ExtentRef::Num { lo, hi } => {
                                let Interval { lo, hi } =
                                    stored_mbr_interval(field.shape.datatype, Interval { lo, hi });
                                FieldBounds::of_ordinals(field.shape.datatype, lo, hi, cell_count)
                            }
                            ExtentRef::Str { lo, hi } => FieldBounds::of_strings(lo, hi?, cell_count),
                        };
                        // NaN lies in no rectangle.
                        Some(FieldBounds { may_have_nan: field.shape.datatype.is_float(), ..bounds })
                    }
                    (_, Some(statistics)) => statistics.of_tile(field, tile),
                    _ => None,
                }
            })
        }));
        Ok(())
    }
}

/// The statistics of an attribute, if the fragment has them and enough tiles to make use of them.
fn statistics(fragment: &Fragment, field: &BoundField, tile_count: usize) -> Result<Option<TileStatistics>> {
    let is_kept = match field.shape.datatype {
        Datatype::StringAscii => field.shape.is_var(),
        Datatype::Char | Datatype::Any | Datatype::Blob | Datatype::GeomWkb | Datatype::GeomWkt => false,
        datatype => !datatype.is_string() && field.shape.cell_val_num == CellValNum::ONE,
    };
    if !is_kept || tile_count < LEAST_TILE_COUNT || !fragment.version().has(Rule::TileStatistics) {
        return Ok(None);
    }
    let Some((idx, _)) = fragment.schema().attribute(&field.name) else { return Ok(None) };
    let id = FieldId::Attribute(idx);
    Ok(Some(TileStatistics {
        mins: fragment.tile_bounds(id, false)?,
        maxes: fragment.tile_bounds(id, true)?,
        null_counts: if field.shape.is_nullable { fragment.tile_totals(id, true)? } else { Vec::new() },
        sums: if field.shape.datatype.is_float() { fragment.tile_totals(id, false)? } else { Vec::new() },
    }))
}

impl TileStatistics {
    fn of_tile<'s>(&'s self, field: &BoundField, tile: &TileRef) -> Option<FieldBounds<'s>> {
        let value = |bounds: &'s TileBounds| match field.shape.is_var() {
            true => bounds.var_value(tile.tile_idx),
            false => bounds.fixed_value(tile.tile_idx, field.shape.cell_byte_len()),
        };
        let range = value(&self.mins)
            .zip(value(&self.maxes))
            .map(|(min, max)| (Cow::Borrowed(min), Cow::Borrowed(max)));
        // A sum that is no usual number tells of cells that are none.
        let is_usual = |sum: &u64| {
            let sum = f64::from_bits(*sum);
            sum.is_finite() && sum != f64::MAX && sum != f64::MIN
        };
        Some(FieldBounds {
            cell_count: tile.cell_count as u64,
            null_count: self.null_counts.get(tile.tile_idx).copied(),
            range,
            may_have_nan: field.shape.datatype.is_float()
                && !self.sums.get(tile.tile_idx).is_some_and(is_usual),
        })
    }
}
