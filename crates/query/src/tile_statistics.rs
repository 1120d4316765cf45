//! What the metadata of a fragment says about the values of an attribute, tile by tile, for conditions.

use crate::condition::{BoundField, FieldBounds};
use crate::source::attribute_in;
use smalti_array::{BoundsOfTiles, FieldId, Fragment, NumbersOfTiles};
use smalti_format::Rule;
use smalti_tile::{CellShape, StatsKind};
use smalti_types::{Datatype, Result};

/// Tiles of a fragment from which on its statistics are worth their reads.
const LEAST_TILE_COUNT: usize = 4;

/// What the statistics of one attribute say about the tiles of a fragment.
pub(crate) struct TileStatistics {
    mins: BoundsOfTiles,
    maxes: BoundsOfTiles,
    null_counts: Option<NumbersOfTiles>,
    sums: Option<NumbersOfTiles>,
}

/// Whether the least and greatest values of a field's tiles, which are read and then taken apart, take no more than so many bytes.
///
/// # Errors
/// `Corrupt` from the fragment's metadata.
pub(crate) fn holds_bounds(fragment: &Fragment, field: FieldId, most: u64) -> Result<bool> {
    let mins = fragment.tile_bounds_byte_len(field, false)?;
    let maxes = fragment.tile_bounds_byte_len(field, true)?;
    Ok(mins.saturating_add(maxes).saturating_mul(2) <= most)
}

/// Whether a fragment keeps statistics of the tiles of such an attribute, and all of them can be trusted: the rule for conditions and
/// aggregates alike.
pub(crate) fn can_be_trusted(fragment: &Fragment, shape: &CellShape) -> bool {
    let kind = StatsKind::new(shape.datatype, shape.cell_val_num, false);
    let is_kept = match shape.datatype {
        Datatype::StringAscii => shape.is_var(),
        Datatype::Char => false,
        _ => kind.has_min_max && kind.has_sum,
    };
    // libtiledb miscounts the nulls, and misses bounds, of values of any length in dense tiles that it writes piece by piece.
    let is_miscounted = fragment.is_dense() && shape.is_var();
    is_kept && !is_miscounted && fragment.version().has(Rule::TileStatistics)
}

impl TileStatistics {
    /// The statistics of an attribute; `None` where the fragment has none that can be trusted, so few of its tiles are looked at
    /// that they are not worth it, or they take more than `most` bytes.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragment's metadata.
    pub(crate) fn read(
        fragment: &Fragment,
        field: &BoundField,
        tile_count: usize,
        most: u64,
    ) -> Result<Option<TileStatistics>> {
        if tile_count < LEAST_TILE_COUNT || !can_be_trusted(fragment, &field.shape) {
            return Ok(None);
        }
        let Some(id) = attribute_in(fragment, &field.name, field.shape)? else { return Ok(None) };
        if field.shape.is_var() && !holds_bounds(fragment, id, most)? {
            return Ok(None);
        }
        let totals =
            |are_kept: bool, nulls| are_kept.then(|| fragment.totals_of_tiles(id, nulls)).transpose();
        Ok(Some(TileStatistics {
            mins: fragment.bounds_of_tiles(id, false)?,
            maxes: fragment.bounds_of_tiles(id, true)?,
            null_counts: totals(field.shape.is_nullable, true)?,
            sums: totals(field.shape.datatype.is_float(), false)?,
        }))
    }

    /// What is known about the `cell_count` cells of a tile.
    ///
    /// # Errors
    /// `Corrupt` and `Permission` from the fragment's metadata.
    pub(crate) fn of_tile<'s>(
        &'s self,
        field: &BoundField,
        tile_idx: usize,
        cell_count: u64,
    ) -> Result<FieldBounds<'s>> {
        let value = |bounds: &'s BoundsOfTiles| match field.shape.is_var() {
            true => bounds.var_value(tile_idx),
            false => bounds.fixed_value(tile_idx, field.shape.cell_byte_len()),
        };
        let total = |totals: &Option<NumbersOfTiles>| match totals {
            Some(totals) => totals.of_tile(tile_idx),
            None => Ok(None),
        };
        // A sum that is no usual number tells of cells that are none.
        let is_usual = |sum: u64| {
            let sum = f64::from_bits(sum);
            sum.is_finite() && sum != f64::MAX && sum != f64::MIN
        };
        Ok(FieldBounds {
            cell_count,
            null_count: total(&self.null_counts)?,
            range: value(&self.mins)?.zip(value(&self.maxes)?),
            may_have_nan: field.shape.datatype.is_float() && !total(&self.sums)?.is_some_and(is_usual),
        })
    }
}
