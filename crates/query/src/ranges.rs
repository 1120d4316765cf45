//! Ranges that make no sense are refused before anything is planned.

use crate::current_domain::intersection;
use smalti_format::{ArraySchema, Dimension};
use smalti_types::{Error, Extent, Result, Scalar};
use std::fmt;

/// A range that leaves the domain of its dimension, or the current domain, and what a read takes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CutRange {
    /// The index of the dimension.
    pub dimension_idx: usize,
    /// The index of the range in the list of the dimension.
    pub range_idx: usize,
    /// What of it lies inside; `None` where nothing does.
    pub kept: Option<Extent>,
    message: String,
}

impl fmt::Display for CutRange {
    /// The range, its domain and what is left, with values as the schema shows them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The ranges that leave the domain, or the current one where there is one: reads cut them, strict reads refuse them.
pub fn cut_ranges(schema: &ArraySchema, ranges: &[Vec<Extent>]) -> Vec<CutRange> {
    let dimensions = schema.dimensions.iter().zip(ranges).enumerate();
    let cut = dimensions.filter(|(_, (_, ranges))| !ranges.is_empty()).flat_map(
        |(dimension_idx, (dimension, ranges))| {
            let whole = whole(schema, dimension_idx);
            let leaves = ranges.iter().enumerate().filter_map(move |(range_idx, range)| {
                let whole = whole.as_ref()?.as_ref();
                if whole.covers(range.as_ref()) {
                    return None;
                }
                let kept = intersection(range.as_ref(), whole);
                let left = match &kept {
                    Some(kept) => format!("only {} of it lies inside", dimension.shown(kept.as_ref())),
                    None => "nothing of it lies inside".into(),
                };
                let message = format!(
                    "the range {} of dimension {:?} leaves its domain {}; {left}",
                    dimension.shown(range.as_ref()),
                    dimension.name,
                    dimension.shown(whole)
                );
                Some(CutRange { dimension_idx, range_idx, kept, message })
            });
            leaves.collect::<Vec<_>>()
        },
    );
    cut.collect()
}

/// All of a dimension that a read can see; `None` where there is no end.
fn whole(schema: &ArraySchema, idx: usize) -> Option<Extent> {
    let dimension = schema.dimensions.get(idx)?;
    let current = schema.current_domain.rectangle().and_then(|current| current.get(idx));
    let (lo, hi) = match current {
        Some(Extent::Num { lo, hi }) => {
            let value = |ordinal| {
                Scalar::read(dimension.datatype, &dimension.datatype.bytes_of_ordinal(ordinal)).ok()
            };
            (value(*lo)?, value(*hi)?)
        }
        Some(text) => return Some(text.clone()),
        None => dimension.domain?,
    };
    // Both zeros of floats lie inside where one does.
    Extent::between(lo, hi).ok()
}

/// Checks the ranges of a read: they are of their dimensions' kind, not inverted, and not outside the domain. What leaves the
/// domain on one side is cut, or refused where the read is strict.
///
/// # Errors
/// `InvalidArgument`, with the dimension and its domain.
pub(crate) fn check(schema: &ArraySchema, ranges: &[Vec<Extent>], is_strict: bool) -> Result<()> {
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
    let cut = if is_strict { cut_ranges(schema, ranges) } else { Vec::new() };
    match cut.first() {
        Some(cut) => Err(Error::invalid(format!("{cut}, and a strict read cuts no range"))),
        None => Ok(()),
    }
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
