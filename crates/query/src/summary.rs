//! What the metadata of fragments says about whole tiles, for aggregates.

use crate::folded::Folded;
use crate::source::FieldSource;
use crate::tile_statistics::{can_be_trusted, holds_bounds};
use smalti_array::{BoundsOfTiles, FieldId, NumbersOfTiles};
use smalti_tile::Stats;
use smalti_types::{Datatype, Result};
use std::borrow::Cow;

/// The statistics of the tiles of one field of a fragment.
struct TileSummaries {
    mins: BoundsOfTiles,
    maxes: BoundsOfTiles,
    sums: Option<NumbersOfTiles>,
    null_counts: Option<NumbersOfTiles>,
    value_len: usize,
    is_var: bool,
    datatype: Datatype,
    has_sum: bool,
    has_min_max: bool,
}

impl TileSummaries {
    /// Those of a field; `None` where a fragment keeps none that can be trusted for all that is asked of the field, or they take
    /// more than `most` bytes.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragment's metadata.
    fn new(source: &FieldSource, folded: &Folded, most: u64) -> Result<Option<TileSummaries>> {
        let (fragment, field) = (&*source.fragment, source.field);
        let shape = folded.shape;
        let is_attribute = matches!(field, FieldId::Attribute(_));
        if !is_attribute || !can_be_trusted(fragment, &shape) {
            return Ok(None);
        }
        if shape.is_var() && !holds_bounds(fragment, field, most)? {
            return Ok(None);
        }
        let totals =
            |are_kept: bool, nulls| are_kept.then(|| fragment.totals_of_tiles(field, nulls)).transpose();
        Ok(Some(TileSummaries {
            mins: fragment.bounds_of_tiles(field, false)?,
            maxes: fragment.bounds_of_tiles(field, true)?,
            sums: totals(folded.kind.has_sum, false)?,
            null_counts: totals(shape.is_nullable, true)?,
            value_len: shape.cell_byte_len(),
            is_var: shape.is_var(),
            datatype: shape.datatype,
            has_sum: folded.kind.has_sum,
            has_min_max: folded.kind.has_min_max,
        }))
    }

    /// The statistics of a tile; `None` where they do not say enough: a saturated sum, or numbers that are none.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragment's metadata.
    fn of_tile(&self, tile_idx: usize, cell_count: u64) -> Result<Option<Stats>> {
        let total = |totals: &Option<NumbersOfTiles>| match totals {
            Some(totals) => totals.of_tile(tile_idx),
            None => Ok(Some(0)),
        };
        let (Some(null_count), Some(sum)) = (total(&self.null_counts)?, total(&self.sums)?) else {
            return Ok(None);
        };
        if null_count > cell_count || (null_count == cell_count && self.is_var) {
            return Ok(None);
        }
        let value = |bounds: &BoundsOfTiles| -> Result<Option<Vec<u8>>> {
            let value = match (self.has_min_max, self.is_var) {
                (false, _) => return Ok(Some(Vec::new())),
                (true, true) => bounds.var_value(tile_idx)?,
                (true, false) => bounds.fixed_value(tile_idx, self.value_len)?,
            };
            Ok(value.map(Cow::into_owned))
        };
        let is_exact = match self.datatype {
            Datatype::Float32 | Datatype::Float64 => {
                let sum = f64::from_bits(sum);
                sum.is_finite() && sum != f64::MAX && sum != f64::MIN
            }
            _ => sum != u64::MAX && sum != i64::MAX as u64 && sum != i64::MIN as u64,
        };
        if self.has_sum && !is_exact {
            return Ok(None);
        }
        let (Some(min), Some(max)) = (value(&self.mins)?, value(&self.maxes)?) else { return Ok(None) };
        Ok(Some(Stats { min, max, sum: sum.to_le_bytes(), null_count }))
    }
}

/// What the metadata of a fragment says about the tiles of the fields of an aggregate.
pub(crate) struct FragmentSummary {
    fields: Vec<FieldSummary>,
}

enum FieldSummary {
    /// Only the number of cells is asked for.
    Counted,
    Known(TileSummaries),
    /// Tiles have to be looked at.
    Unknown,
}

impl FragmentSummary {
    /// That of a fragment with these sources of the fields; values of any length take no more than `most` bytes in it.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragment's metadata.
    pub(crate) fn new<'s>(
        sources: impl IntoIterator<Item = Option<&'s FieldSource>>,
        folded: &[Folded],
        most: u64,
    ) -> Result<FragmentSummary> {
        let mut fields = Vec::with_capacity(folded.len());
        for (source, folded) in sources.into_iter().zip(folded) {
            let known = match source {
                _ if folded.is_counted_only => FieldSummary::Counted,
                Some(source) => match TileSummaries::new(source, folded, most)? {
                    Some(summaries) => FieldSummary::Known(summaries),
                    None => FieldSummary::Unknown,
                },
                None => FieldSummary::Unknown,
            };
            let is_useless = matches!(known, FieldSummary::Unknown);
            fields.push(known);
            if is_useless {
                break;
            }
        }
        Ok(FragmentSummary { fields })
    }

    /// Folds the statistics of a tile into what was gathered of each field; `false`, and nothing is done, where they do not
    /// say enough.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragment's metadata.
    pub(crate) fn fold(&self, folded: &mut [Folded], tile_idx: usize, cell_count: u64) -> Result<bool> {
        if self.fields.len() < folded.len() {
            return Ok(false);
        }
        let mut found: Vec<Option<Stats>> = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            found.push(match field {
                FieldSummary::Counted => None,
                FieldSummary::Known(tiles) => match tiles.of_tile(tile_idx, cell_count)? {
                    Some(stats) => Some(stats),
                    None => return Ok(false),
                },
                FieldSummary::Unknown => return Ok(false),
            });
        }
        for (folded, stats) in folded.iter_mut().zip(&found) {
            if let Some(stats) = stats {
                folded.stats.add_tile(stats);
            }
            folded.cell_count += cell_count;
        }
        Ok(true)
    }
}
