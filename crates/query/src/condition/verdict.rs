//! What statistics alone say about a condition.

use super::bound::{Absent, BoundCondition, BoundField, BoundNode, Leaf};
use super::test::Test;
use super::tree::Relation;
use smalti_types::{Datatype, Physical, Result, dispatch_physical};
use std::borrow::Cow;
use std::cmp::Ordering;

/// For how many of some cells a condition holds, as far as statistics tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// For none.
    None,
    /// Unknown.
    Some,
    /// For all.
    All,
}

/// What is known about the cells of a field in a tile.
#[derive(Debug, Clone)]
pub struct FieldBounds<'a> {
    /// The number of cells.
    pub cell_count: u64,
    /// How many of them are null; `None` when it is not known. Of fields that are never null it is not looked at.
    pub null_count: Option<u64>,
    /// Little-endian bytes of values, or whole texts, between which all cells lie that are not null, both included. Empty
    /// or inverted bounds say nothing.
    pub range: Option<(Cow<'a, [u8]>, Cow<'a, [u8]>)>,
    /// Of floats: whether NaN may be among the cells. Bounds are not used then: libtiledb's lie when there is one. A
    /// stored sum that is NaN, infinite or the greatest or least float shows that there may be.
    pub may_have_nan: bool,
}

impl<'a> FieldBounds<'a> {
    /// The bounds of a dimension from the ordinals of a rectangle, which is to cover all cells.
    pub fn of_ordinals(datatype: Datatype, lo: u64, hi: u64, cell_count: u64) -> FieldBounds<'a> {
        let bytes = |ordinal| Cow::Owned(datatype.bytes_of_ordinal(ordinal).to_vec());
        FieldBounds {
            cell_count,
            null_count: Some(0),
            range: Some((bytes(lo), bytes(hi))),
            may_have_nan: false,
        }
    }

    /// The bounds of a string dimension from those of a rectangle.
    pub fn of_strings(lo: &'a [u8], hi: &'a [u8], cell_count: u64) -> FieldBounds<'a> {
        let range = Some((Cow::Borrowed(lo), Cow::Borrowed(hi)));
        FieldBounds { cell_count, null_count: Some(0), range, may_have_nan: false }
    }
}

/// A combination whose children are being judged.
struct Frame {
    is_and: bool,
    end: usize,
    verdict: Verdict,
}

impl BoundCondition {
    /// The ordinals at which the answer of a test of a field may become another: between two neighbours of them no test of a
    /// number changes its mind. Ascending, each once.
    pub(crate) fn turns(&self, field: usize) -> Vec<u64> {
        let datatype = self.fields[field].shape.datatype;
        let mut turns: Vec<u64> = Vec::new();
        for node in &self.nodes {
            let BoundNode::Leaf(leaf) = node else { continue };
            match &leaf.test {
                Test::Number { value, .. } if leaf.field == field => {
                    turns.extend(datatype.ordinal(&value[..datatype.byte_len()]).ok());
                }
                Test::NumberSet { set, .. } if leaf.field == field => turns.extend(set.members()),
                _ => {}
            }
        }
        let behind: Vec<u64> = turns.iter().filter_map(|turn| turn.checked_add(1)).collect();
        turns.extend(behind);
        turns.sort_unstable();
        turns.dedup();
        turns
    }

    /// Judges cells by what is known about their fields; `bounds` gives that for an index in
    /// [`fields`](BoundCondition::fields), or nothing, as for fields that the fragment lacks. Never wrong as long as the
    /// bounds hold.
    ///
    /// # Errors
    /// What `bounds` reports.
    pub fn verdict<'b>(&self, bounds: &dyn Fn(usize) -> Result<Option<FieldBounds<'b>>>) -> Result<Verdict> {
        let mut frames: Vec<Frame> = Vec::new();
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            // A field that is absent may take with it what stands before it in an `or`.
            let (mut verdict, mut may_reset) = match node {
                BoundNode::Combination { is_and, span, .. } => {
                    let verdict = if *is_and { Verdict::All } else { Verdict::None };
                    frames.push(Frame { is_and: *is_and, end: at + span, verdict });
                    at += 1;
                    continue;
                }
                BoundNode::Leaf(leaf) => {
                    let (field, bounds) = (&self.fields[leaf.field], bounds(leaf.field)?);
                    let may_reset = bounds.is_none() && self.absent == Absent::Fails;
                    (bounds.map_or(Verdict::Some, |bounds| judge(leaf, field, &bounds)), may_reset)
                }
            };
            at += 1;
            loop {
                let Some(frame) = frames.last_mut() else { return Ok(verdict) };
                frame.verdict = match (frame.is_and, frame.verdict, verdict) {
                    (false, ..) if may_reset => Verdict::Some,
                    (true, Verdict::None, _) | (true, _, Verdict::None) => Verdict::None,
                    (true, Verdict::All, Verdict::All) => Verdict::All,
                    (false, Verdict::All, _) | (false, _, Verdict::All) => Verdict::All,
                    (false, Verdict::None, Verdict::None) => Verdict::None,
                    _ => Verdict::Some,
                };
                may_reset = false;
                let is_decided = match frame.is_and {
                    true => frame.verdict == Verdict::None,
                    false => frame.verdict == Verdict::All && self.absent == Absent::Filled,
                };
                if is_decided {
                    at = frame.end;
                }
                if at < frame.end {
                    break;
                }
                verdict = frame.verdict;
                frames.pop();
            }
        }
        Ok(Verdict::Some)
    }
}

fn judge(leaf: &Leaf, field: &BoundField, bounds: &FieldBounds<'_>) -> Verdict {
    let null_count = if field.shape.is_nullable { bounds.null_count } else { Some(0) };
    let (all_null, none_null) =
        (null_count.is_some_and(|count| count >= bounds.cell_count), null_count == Some(0));
    // What holds for all cells that are not null holds for all only if none is.
    let of_valid = |verdict| match verdict {
        _ if all_null => Verdict::None,
        Verdict::All if !none_null => Verdict::Some,
        verdict => verdict,
    };
    match &leaf.test {
        _ if bounds.cell_count == 0 => Verdict::None,
        Test::Null { is_null } => match (all_null, none_null) {
            (true, _) => {
                if *is_null {
                    Verdict::All
                } else {
                    Verdict::None
                }
            }
            (_, true) => {
                if *is_null {
                    Verdict::None
                } else {
                    Verdict::All
                }
            }
            _ => Verdict::Some,
        },
        Test::Always(holds) => of_valid(if *holds { Verdict::All } else { Verdict::None }),
        test => of_valid(judge_values(test, field, bounds)),
    }
}

fn judge_values(test: &Test, field: &BoundField, bounds: &FieldBounds<'_>) -> Verdict {
    let Some((min, max)) = &bounds.range else { return Verdict::Some };
    if field.shape.datatype.is_float() && bounds.may_have_nan {
        return Verdict::Some;
    }
    match test {
        Test::Number { relation, value } => dispatch_physical!(field.shape.datatype, T => {
            let value: T = bytemuck::pod_read_unaligned(&value[..size_of::<T>()]);
            number_range::<T>(min, max).map_or(Verdict::Some, |(min, max)| {
                by_order(*relation, min.partial_cmp(&value), max.partial_cmp(&value))
            })
        }),
        Test::NumberSet { set, is_in } => dispatch_physical!(field.shape.datatype, T => {
            let Some((min, max)) = number_range::<T>(min, max) else { return Verdict::Some };
            let in_range = |ordinal: &u64| {
                let member = T::from_ordinal(*ordinal);
                min <= member && member <= max
            };
            // Members are in the order of numbers, but for NaN at both ends and the two zeros beside each other.
            let members = set.members();
            let first = members.partition_point(|ordinal| *ordinal < lowest_ordinal(min));
            let reaches = members[first..].first().is_some_and(in_range);
            // Two zeros of floats are equal but not the same member.
            let is_one_value = min.ordinal() == max.ordinal() && !is_float_zero(field.shape.datatype, min);
            by_membership(*is_in, reaches, is_one_value)
        }),
        Test::Text { relation, value } => match text_range(field, min, max) {
            Some((min, max)) => by_order(
                *relation,
                Some(min.as_ref().cmp(value.as_slice())),
                Some(max.as_ref().cmp(value.as_slice())),
            ),
            None => Verdict::Some,
        },
        Test::TextSet { set, is_in } => match text_range(field, min, max) {
            Some((min, max)) => by_membership(*is_in, set.reaches(&min, &max), min == max),
            None => Verdict::Some,
        },
        Test::Null { .. } | Test::Always(_) => Verdict::Some,
    }
}

/// The bounds as numbers, if they are such and not inverted.
fn number_range<T: Physical>(min: &[u8], max: &[u8]) -> Option<(T, T)> {
    let min: T = bytemuck::try_pod_read_unaligned(min).ok()?;
    let max: T = bytemuck::try_pod_read_unaligned(max).ok()?;
    (min <= max).then_some((min, max))
}

/// The least ordinal of the numbers that are equal to one: a positive zero's is the negative one's.
fn lowest_ordinal<T: Physical>(number: T) -> u64 {
    let ordinal = number.ordinal();
    match ordinal.checked_sub(1) {
        Some(below) if T::from_ordinal(below) == number => below,
        _ => ordinal,
    }
}

fn is_float_zero<T: Physical>(datatype: Datatype, number: T) -> bool {
    datatype.is_float() && number == T::zeroed()
}

/// The bounds as texts. Those of fixed-size cells were compared up to the first zero byte by libtiledb, so what follows
/// one is open.
fn text_range<'b>(
    field: &BoundField,
    min: &'b [u8],
    max: &'b [u8],
) -> Option<(Cow<'b, [u8]>, Cow<'b, [u8]>)> {
    if field.shape.is_var() {
        return (min <= max).then_some((Cow::Borrowed(min), Cow::Borrowed(max)));
    }
    let byte_len = field.shape.cell_byte_len();
    if min.len() != byte_len || max.len() != byte_len {
        return None;
    }
    let open = |bound: &'b [u8], rest: u8| match bound.iter().position(|byte| *byte == 0) {
        Some(zero) if zero + 1 < bound.len() => {
            let mut open = bound.to_vec();
            open[zero + 1..].fill(rest);
            Cow::Owned(open)
        }
        _ => Cow::Borrowed(bound),
    };
    let (min, max) = (open(min, 0), open(max, u8::MAX));
    (min <= max).then_some((min, max))
}

/// From how the bounds compare with the value of a test.
fn by_order(relation: Relation, min: Option<Ordering>, max: Option<Ordering>) -> Verdict {
    use Ordering::*;
    let (Some(min), Some(max)) = (min, max) else { return Verdict::Some };
    let (all, none) = match relation {
        Relation::Lt => (max == Less, min != Less),
        Relation::Le => (max != Greater, min == Greater),
        Relation::Gt => (min == Greater, max != Greater),
        Relation::Ge => (min != Less, max == Less),
        Relation::Eq => (min == Equal && max == Equal, min == Greater || max == Less),
        Relation::Ne => (min == Greater || max == Less, min == Equal && max == Equal),
    };
    match (all, none) {
        (true, _) => Verdict::All,
        (_, true) => Verdict::None,
        _ => Verdict::Some,
    }
}

fn by_membership(is_in: bool, reaches: bool, is_one_value: bool) -> Verdict {
    match (reaches, is_one_value, is_in) {
        (false, _, true) | (true, true, false) => Verdict::None,
        (false, _, false) | (true, true, true) => Verdict::All,
        (true, false, _) => Verdict::Some,
    }
}
