//! Ranges that make no sense are refused before anything is planned.

use smalti_format::{ArraySchema, Dimension};
use smalti_types::{Error, Extent, Result};

/// Checks the ranges of a read: they are of their dimensions' kind, not inverted, and not outside the domain. What leaves the
/// domain on one side is cut.
///
/// # Errors
/// `InvalidArgument`, with the dimension and its domain.
pub(crate) fn check(schema: &ArraySchema, ranges: &[Vec<Extent>]) -> Result<()> {
    if let Some(dim) = (schema.dimensions.len()..ranges.len()).find(|dim| !ranges[*dim].is_empty()) {
        let names: Vec<&str> = schema.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        return Err(Error::invalid(format!(
            "there is a range for dimension {dim}; the dimensions from 0 on are {}",
            names.join(", ")
        )));
    }
    for (dimension, ranges) in schema.dimensions.iter().zip(ranges) {
        for range in ranges {
            check_range(dimension, range)?;
        }
    }
    Ok(())
}

fn check_range(dimension: &Dimension, range: &Extent) -> Result<()> {
    let name = &dimension.name;
    // There may be hundreds of thousands: nothing is worked out for those that are right.
    let is_inverted = match range {
        Extent::Num { .. } if dimension.is_var() => {
            return Err(Error::invalid(format!(
                "dimension {name:?} is one of strings; give it a range of strings"
            )));
        }
        Extent::Str { .. } if !dimension.is_var() => {
            return Err(Error::invalid(format!(
                "dimension {name:?} is of type {}; give it a range of numbers",
                dimension.datatype
            )));
        }
        Extent::Num { lo, hi } => lo > hi,
        Extent::Str { lo, hi } => hi.as_ref().is_some_and(|hi| lo > hi),
    };
    let shown = || dimension.shown(range.as_ref());
    if is_inverted {
        return Err(Error::invalid(format!(
            "the range {} of dimension {name:?} is inverted; give the lower end first",
            shown()
        )));
    }
    let Some((lo, hi)) = dimension.domain else { return Ok(()) };
    let domain = Extent::between(lo, hi).map_err(|error| Error::corrupt(error.message()))?;
    if range.as_ref().overlaps(domain.as_ref()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the range {} of dimension {name:?} lies outside its domain {}",
        shown(),
        dimension.shown(domain.as_ref())
    )))
}
