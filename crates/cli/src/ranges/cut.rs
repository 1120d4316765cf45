//! Ranges that leave the domain: cut with a warning, or refused.

use super::{Piece, Pieces, Ranges, expanded, parse_pieces, with_labels};
use crate::args::{Global, RangeArgs};
use crate::failure::{Failure, Outcome};
use crate::warning::warn;
use smalti::{Array, CutRange, Extent, LabelRange};

/// Warnings about single ranges; of hundreds of thousands the number is enough.
const MAX_WARNINGS: usize = 3;

/// The ranges of a read of dimensions, and of dimension labels, which may stand in the same places. What leaves the domain is
/// cut, with a warning.
///
/// # Errors
/// When a dimension is unknown, a range is not one of its type or lies outside the domain, strides make too many, or the read is
/// strict and a range leaves the domain.
pub(crate) fn of_read(
    global: &Global,
    uri: &str,
    array: &Array,
    args: &RangeArgs,
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
        warn(global, uri, cut);
    }
    if cut.len() > MAX_WARNINGS {
        warn(global, uri, format_args!("{} more ranges leave the domain", cut.len() - MAX_WARNINGS));
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
