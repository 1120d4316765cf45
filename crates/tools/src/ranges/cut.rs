//! Ranges that leave the domain: cut with a warning, or refused.

use super::{Piece, Pieces, Ranges, expanded, parse_pieces, with_labels};
use crate::failure::{Failure, Outcome};
use crate::warning::{Warn, Warning};
use smalti::{Array, CutRange, Extent, LabelRange};

/// Warnings about single ranges; of hundreds of thousands the number is enough.
const MAX_WARNINGS: usize = 3;

/// Which part of an array to look at.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct RangeOptions {
    /// Range of a dimension or of a dimension label, both ends included; either end may be left out. Also one value, every
    /// STEP-th value from LO on, or several of these with commas between them; repeat for more. Bare integers are stored
    /// values, dates are ISO 8601 (bare ones are whole days; steps of dates may be 15m, 6h, 7d), strings that hold colons or commas
    /// are quoted
    #[cfg_attr(feature = "clap", arg(long, value_name = "D=LO:HI[:STEP]"))]
    pub range: Vec<String>,
    /// Ranges as JSON: {"d": [[lo, hi], [lo, hi, step], ...], ...}
    #[cfg_attr(feature = "clap", arg(long, value_name = "JSON", conflicts_with = "range"))]
    pub ranges_json: Option<String>,
    /// Refuse ranges that leave the domain, instead of cutting them with a warning
    #[cfg_attr(feature = "clap", arg(long))]
    pub strict: bool,
}

/// The ranges of a read of dimensions, and of dimension labels, which may stand in the same places. What leaves the domain is
/// cut, with a warning about `uri`.
///
/// # Errors
/// When a dimension is unknown, a range is not one of its type or lies outside the domain, strides make too many, or the read is
/// strict and a range leaves the domain.
pub fn of_read(
    array: &Array,
    args: &RangeOptions,
    uri: &str,
    warn: &Warn<'_>,
) -> Outcome<(Ranges, Vec<LabelRange>)> {
    let schema = array.schema();
    let known = with_labels(&schema);
    let mut pieces = parse_pieces(&known, &args.range, args.ranges_json.as_deref())?;
    let of_labels = pieces.split_off(schema.dimensions.len());
    let of_labels = expanded(&known.dimensions[schema.dimensions.len()..], &of_labels)?;
    let extents = |list: &Vec<Piece>| list.iter().map(|piece| piece.extent.clone()).collect();
    let cut = array.cut_ranges(&pieces.iter().map(extents).collect::<Vec<_>>());
    if args.strict
        && let Some(first) = cut.first()
    {
        return Err(Failure::invalid(format!("{first}; leave out --strict to have ranges cut")));
    }
    // What lies outside the domain is refused by the read; what lies outside the current one alone is not.
    let is_read = |cut: &CutRange| {
        let range = pieces.get(cut.dimension_idx).and_then(|list| list.get(cut.range_idx));
        let domain = schema.dimensions.get(cut.dimension_idx).and_then(|dimension| dimension.domain);
        let domain = domain.and_then(|(lo, hi)| Extent::between(lo, hi).ok());
        match (range, domain) {
            (Some(range), Some(domain)) => range.extent.as_ref().overlaps(domain.as_ref()),
            _ => true,
        }
    };
    for cut in cut.iter().take(MAX_WARNINGS).filter(|cut| is_read(cut)) {
        warn(Warning::new(uri, cut));
    }
    if cut.len() > MAX_WARNINGS {
        warn(Warning::new(uri, format_args!("{} more ranges leave the domain", cut.len() - MAX_WARNINGS)));
    }
    narrow(&mut pieces, &cut);
    let ranges = expanded(&schema.dimensions, &pieces)?;
    let named = schema.dimension_labels.iter().zip(of_labels).filter(|(_, ranges)| !ranges.is_empty());
    let named = named.map(|(label, ranges)| LabelRange { label: label.name.clone(), ranges });
    Ok((ranges, named.collect()))
}

/// Takes away what reads would cut; what lies outside stays, for the read to refuse.
fn narrow(pieces: &mut Pieces, cut: &[CutRange]) {
    for cut in cut {
        let piece = pieces.get_mut(cut.dimension_idx).and_then(|list| list.get_mut(cut.range_idx));
        let (Some(piece), Some(kept)) = (piece, &cut.kept) else { continue };
        match (&piece.extent, kept) {
            (Extent::Num { lo, .. }, Extent::Num { lo: first, hi: last }) if piece.step > 1 => {
                // The stride goes on from where it began outside.
                let missed = (first - lo).div_ceil(piece.step);
                let first = missed.checked_mul(piece.step).and_then(|far| lo.checked_add(far));
                if let Some(first) = first.filter(|first| first <= last) {
                    piece.extent = Extent::Num { lo: first, hi: *last };
                } else {
                    // Nothing of the stride lies inside: its first value is refused by the read.
                    piece.extent = Extent::Num { lo: *lo, hi: *lo };
                }
            }
            _ => piece.extent = kept.clone(),
        }
    }
}
