//! The ranges that a query asks for on one dimension.

use crate::Interval;
use smalti_types::{Error, Extent, ExtentRef, Result};

/// Ranges on one dimension: in the user's order, and as disjoint ranges in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeSet {
    extents: Vec<Extent>,
    normal: Normal,
    is_all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Normal {
    Numbers(Vec<Interval>),
    Strings(Vec<(Box<[u8]>, Option<Box<[u8]>>)>),
}

/// How a set of ranges meets an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    Apart,
    Partial,
    Covered,
}

impl RangeSet {
    /// No restriction.
    pub fn all(is_string: bool) -> Self {
        let normal = if is_string {
            Normal::Strings(vec![(Box::default(), None)])
        } else {
            Normal::Numbers(vec![Interval::ALL])
        };
        RangeSet { extents: vec![Extent::all(is_string)], normal, is_all: true }
    }

    /// These ranges, in any order and overlapping or not. None at all select nothing.
    ///
    /// # Errors
    /// `InvalidArgument` when a range is of the other kind or inverted.
    pub fn new(is_string: bool, extents: Vec<Extent>) -> Result<Self> {
        let mut numbers = Vec::new();
        let mut strings = Vec::new();
        for extent in &extents {
            match extent {
                Extent::Num { lo, hi } if !is_string => numbers.push(Interval::new(*lo, *hi)?),
                Extent::Str { lo, hi } if is_string => {
                    if hi.as_ref().is_some_and(|hi| hi < lo) {
                        return Err(Error::invalid("a range of strings is inverted"));
                    }
                    strings.push((lo.clone(), hi.clone()));
                }
                _ => return Err(Error::invalid("a range is not of the dimension's kind")),
            }
        }
        let (normal, is_all) = if is_string {
            let strings = coalesced_strings(strings);
            let is_all = matches!(strings.as_slice(), [(lo, None)] if lo.is_empty());
            (Normal::Strings(strings), is_all)
        } else {
            let numbers = coalesced(numbers);
            let is_all = numbers.as_slice() == [Interval::ALL];
            (Normal::Numbers(numbers), is_all)
        };
        Ok(RangeSet { extents, normal, is_all })
    }

    /// The ranges as they were given.
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// The disjoint intervals in ascending order, no two of them adjacent; none for string ranges.
    pub fn intervals(&self) -> &[Interval] {
        match &self.normal {
            Normal::Numbers(intervals) => intervals,
            Normal::Strings(_) => &[],
        }
    }

    /// Whether these are ranges of strings.
    pub fn is_string(&self) -> bool {
        matches!(self.normal, Normal::Strings(_))
    }

    /// Whether nothing is restricted.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// Whether an ordinal is selected; no ordinal is by ranges of strings.
    #[inline]
    pub fn contains(&self, ordinal: u64) -> bool {
        let intervals = self.intervals();
        let at = intervals.partition_point(|interval| interval.hi < ordinal);
        intervals.get(at).is_some_and(|interval| interval.lo <= ordinal)
    }

    /// Whether a string is selected; none is by ranges of numbers.
    #[inline]
    pub fn contains_string(&self, string: &[u8]) -> bool {
        let Normal::Strings(ranges) = &self.normal else { return false };
        let at = ranges.partition_point(|(_, hi)| hi.as_deref().is_some_and(|hi| hi < string));
        ranges.get(at).is_some_and(|(lo, _)| **lo <= *string)
    }

    /// Whether any selected value lies in an interval.
    pub fn overlaps(&self, extent: ExtentRef<'_>) -> bool {
        self.meeting(extent) != Meeting::Apart
    }

    /// Whether all values of an interval are selected.
    pub fn covers(&self, extent: ExtentRef<'_>) -> bool {
        self.meeting(extent) == Meeting::Covered
    }

    pub(crate) fn meeting(&self, extent: ExtentRef<'_>) -> Meeting {
        let first = match (&self.normal, extent) {
            (Normal::Numbers(intervals), ExtentRef::Num { lo, .. }) => {
                let at = intervals.partition_point(|interval| interval.hi < lo);
                intervals.get(at).map(|interval| ExtentRef::Num { lo: interval.lo, hi: interval.hi })
            }
            (Normal::Strings(ranges), ExtentRef::Str { lo, .. }) => {
                let at = ranges.partition_point(|(_, hi)| hi.as_deref().is_some_and(|hi| hi < lo));
                ranges.get(at).map(|(lo, hi)| ExtentRef::Str { lo, hi: hi.as_deref() })
            }
            _ => None,
        };
        match first {
            // Old writers got some MBRs wrong: what lies between inverted bounds is not known.
            Some(range) if range.covers(extent) && !is_inverted(extent) => Meeting::Covered,
            Some(range) if range.overlaps(extent) => Meeting::Partial,
            _ => Meeting::Apart,
        }
    }
}

fn is_inverted(extent: ExtentRef<'_>) -> bool {
    matches!(extent, ExtentRef::Num { lo, hi } if lo > hi)
}

fn coalesced(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_unstable_by_key(|interval| interval.lo);
    intervals.dedup_by(|next, last| {
        let joins = next.lo <= last.hi.saturating_add(1);
        if joins {
            last.hi = last.hi.max(next.hi);
        }
        joins
    });
    intervals
}

fn coalesced_strings(mut ranges: Vec<(Box<[u8]>, Option<Box<[u8]>>)>) -> Vec<(Box<[u8]>, Option<Box<[u8]>>)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let joins = last.1.as_ref().is_none_or(|hi| next.0 <= *hi);
        if joins {
            // An absent end is above all others, though `Option` orders it below.
            match (&last.1, &mut next.1) {
                (Some(hi), Some(next_hi)) if *next_hi > *hi => last.1 = Some(std::mem::take(next_hi)),
                (Some(_), None) => last.1 = None,
                _ => {}
            }
        }
        joins
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn num(lo: u64, hi: u64) -> Extent {
        Extent::Num { lo, hi }
    }

    #[test]
    fn ranges_are_sorted_and_joined_but_the_users_order_is_kept() {
        let set =
            RangeSet::new(false, vec![num(10, 20), num(1, 3), num(4, 5), num(18, 30), num(7, 7)]).unwrap();
        assert_eq!(
            set.intervals(),
            [Interval { lo: 1, hi: 5 }, Interval { lo: 7, hi: 7 }, Interval { lo: 10, hi: 30 }]
        );
        assert_eq!(set.extents()[0], num(10, 20));
        assert!(set.contains(7) && !set.contains(6) && set.contains(30) && !set.contains(31));
        assert!(set.covers(num(2, 5).as_ref()) && !set.covers(num(5, 7).as_ref()));
        assert!(set.overlaps(num(5, 7).as_ref()) && !set.overlaps(num(8, 9).as_ref()));
        assert!(RangeSet::new(false, vec![num(2, 1)]).is_err());
        assert!(RangeSet::new(false, vec![num(0, 5), num(6, u64::MAX)]).unwrap().is_all());
    }

    #[test]
    fn string_ranges_may_have_no_upper_end() {
        let open = Extent::Str { lo: b"x".as_slice().into(), hi: None };
        let set = RangeSet::new(
            true,
            vec![
                Extent::between_strings(b"c", b"f").unwrap(),
                open,
                Extent::between_strings(b"a", b"d").unwrap(),
                Extent::between_strings(b"y", b"z").unwrap(),
            ],
        )
        .unwrap();
        for (string, is_inside) in [
            (&b"a"[..], true),
            (b"ez", true),
            (b"f", true),
            (b"fa", false),
            (b"w", false),
            (b"zzz", true),
            (b"", false),
        ] {
            assert_eq!(set.contains_string(string), is_inside, "{string:?}");
        }
        assert!(RangeSet::all(true).is_all() && RangeSet::all(true).contains_string(b""));
        assert!(!RangeSet::new(true, vec![]).unwrap().contains_string(b""));
    }
}
