//! Which positions of a dimension labels stand at.

use smalti_format::{ArraySchema, DimensionLabel};
use smalti_types::{Error, Extent, Result};

/// The positions of a label's dimension in a rectangle, or else in the current domain, or in the domain.
pub(crate) fn side_of(
    schema: &ArraySchema,
    label: &DimensionLabel,
    rectangle: Option<&[Extent]>,
) -> Result<Extent> {
    let dim = label.dimension_idx as usize;
    let asked = rectangle.and_then(|sides| sides.get(dim));
    let current = schema.current_domain.rectangle().and_then(|sides| sides.get(dim));
    if let Some(side) = asked.or(current) {
        return Ok(side.clone());
    }
    let domain = schema.dimensions.get(dim).and_then(|dimension| dimension.domain);
    let (lo, hi) = domain.ok_or_else(|| Error::corrupt("a labelled dimension without a domain"))?;
    Extent::between(lo, hi)
}
