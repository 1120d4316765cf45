//! What may change between the schemas of one array: attributes and enumerations, and the current domain, but not the
//! space that cells lie in.

use smalti_format::{ArraySchema, Dimension};
use smalti_types::{Error, Result};

/// Checks that cells written with one schema lie in the space of another, so that a read can put them together.
///
/// # Errors
/// `Corrupt` when they do not: no evolution makes such schemas.
pub(crate) fn check_same_space(schema: &ArraySchema, other: &ArraySchema) -> Result<()> {
    let differs = |what: &str| {
        Err(Error::corrupt(format!("the {what} differs from that of the array's other schemas")))
    };
    if schema.array_type != other.array_type {
        return differs("array type");
    }
    if schema.dimensions.len() != other.dimensions.len() {
        return differs("number of dimensions");
    }
    for (dimension, other) in schema.dimensions.iter().zip(&other.dimensions) {
        if dimension.datatype != other.datatype || dimension.cell_val_num != other.cell_val_num {
            return differs("type of a dimension");
        }
        // Sparse tiles do not depend on the grid, and newer libraries write extents that older ones left out.
        if schema.is_dense() && grid(dimension) != grid(other) {
            return differs("domain or tile extent of a dimension");
        }
    }
    if schema.is_dense() && (schema.tile_order, schema.cell_order) != (other.tile_order, other.cell_order) {
        return differs("order of tiles or cells");
    }
    Ok(())
}

/// Domain and extent, comparable whatever the type.
fn grid(dimension: &Dimension) -> (Option<(u64, u64)>, Option<u64>) {
    let ordinals = dimension.domain.map(|(lo, hi)| (lo.ordinal(), hi.ordinal()));
    (ordinals, dimension.tile_extent.map(|extent| extent.ordinal()))
}
