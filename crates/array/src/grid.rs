//! The space tiles of a dense array.

use smalti_format::ArraySchema;
use smalti_space::{GridDim, Interval, TileGrid};
use smalti_types::{Error, Extent, Result};

/// The grid of a dense array's space tiles.
///
/// # Errors
/// `Corrupt` when a dimension has no domain or extent.
pub fn dense_grid(schema: &ArraySchema) -> Result<TileGrid> {
    let dims = schema.dimensions.iter().map(|dimension| {
        let missing = |field: &str| {
            Error::corrupt(format!("dimension {:?} of a dense array has no {field}", dimension.name))
                .in_field("dimension", field)
        };
        let (lo, hi) = dimension.domain.ok_or_else(|| missing("domain"))?;
        let extent = dimension.extent_len().ok_or_else(|| missing("tile_extent"))?;
        Ok(GridDim { domain: Interval { lo: lo.ordinal(), hi: hi.ordinal() }, extent })
    });
    TileGrid::new(dims.collect::<Result<Vec<_>>>()?, schema.tile_order)
        .map_err(|error| Error::corrupt(error.message()).in_field("array schema", "dimensions"))
}

/// The sides of a rectangle of numeric dimensions.
///
/// # Errors
/// `Corrupt` for a side of strings.
pub fn intervals(rect: &[Extent]) -> Result<Vec<Interval>> {
    rect.iter()
        .map(|extent| {
            Interval::of_extent(extent.as_ref())
                .ok_or_else(|| Error::corrupt("a range of strings on a numeric dimension"))
        })
        .collect()
}
