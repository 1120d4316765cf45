//! What the metadata of fragments says about whole tiles, for aggregates.

use crate::fetch::FieldSource;
use crate::folded::Folded;
use crate::tile_statistics::{can_be_trusted, holds_bounds};
use smalti_array::FieldId;
use smalti_format::fragment::TileBounds;
use smalti_tile::Stats;
use smalti_types::{Datatype, Result};

/// The statistics of the tiles of one field of a fragment.
struct TileSummaries {
    mins: TileBounds,
    maxes: TileBounds,
    sums: Vec<u64>,
    null_counts: Vec<u64>,
    value_len: usize,
    is_var: bool,
    is_nullable: bool,
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
        Ok(Some(TileSummaries {
            mins: fragment.tile_bounds(field, false)?,
            maxes: fragment.tile_bounds(field, true)?,
            sums: if folded.kind.has_sum { fragment.tile_totals(field, false)? } else { Vec::new() },
            null_counts: if shape.is_nullable { fragment.tile_totals(field, true)? } else { Vec::new() },
            value_len: shape.cell_byte_len(),
            is_var: shape.is_var(),
            is_nullable: shape.is_nullable,
            datatype: shape.datatype,
            has_sum: folded.kind.has_sum,
            has_min_max: folded.kind.has_min_max,
        }))
    }

    /// The statistics of a tile; `None` where they do not say enough: a saturated sum, or numbers that are none.
    fn of_tile(&self, tile_idx: usize, cell_count: u64) -> Option<Stats> {
        let null_count = match self.is_nullable {
            true => *self.null_counts.get(tile_idx)?,
            false => 0,
        };
        if null_count > cell_count || (null_count == cell_count && self.is_var) {
            return None;
        }
        let value = |bounds: &TileBounds| match (self.has_min_max, self.is_var) {
            (false, _) => Some(Vec::new()),
            (true, true) => bounds.var_value(tile_idx).map(<[u8]>::to_vec),
            (true, false) => bounds.fixed_value(tile_idx, self.value_len).map(<[u8]>::to_vec),
        };
        let sum = match self.has_sum {
            true => *self.sums.get(tile_idx)?,
            false => 0,
        };
        let is_exact = match self.datatype {
            Datatype::Float32 | Datatype::Float64 => {
                let sum = f64::from_bits(sum);
                sum.is_finite() && sum != f64::MAX && sum != f64::MIN
            }
            _ => sum != u64::MAX && sum != i64::MAX as u64 && sum != i64::MIN as u64,
        };
        if self.has_sum && !is_exact {
            return None;
        }
        Some(Stats { min: value(&self.mins)?, max: value(&self.maxes)?, sum: sum.to_le_bytes(), null_count })
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
    pub(crate) fn fold(&self, folded: &mut [Folded], tile_idx: usize, cell_count: u64) -> bool {
        if self.fields.len() < folded.len() {
            return false;
        }
        let found: Option<Vec<Option<Stats>>> = self
            .fields
            .iter()
            .map(|field| match field {
                FieldSummary::Counted => Some(None),
                FieldSummary::Known(tiles) => tiles.of_tile(tile_idx, cell_count).map(Some),
                FieldSummary::Unknown => None,
            })
            .collect();
        let Some(found) = found else { return false };
        for (folded, stats) in folded.iter_mut().zip(&found) {
            if let Some(stats) = stats {
                folded.stats.add_tile(stats);
            }
            folded.cell_count += cell_count;
        }
        true
    }
}
