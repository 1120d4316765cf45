//! Closed intervals of ordinals, and rectangles made of them.

use smalti_types::{Error, Extent, ExtentRef, Result};

/// A closed interval of ordinals. An interval whose `lo` is above its `hi` is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The least ordinal.
    pub lo: u64,
    /// The greatest ordinal.
    pub hi: u64,
}

impl Interval {
    /// Every ordinal.
    pub const ALL: Interval = Interval { lo: 0, hi: u64::MAX };

    /// The interval between two ordinals.
    ///
    /// # Errors
    /// `InvalidArgument` when `lo` is above `hi`.
    pub fn new(lo: u64, hi: u64) -> Result<Self> {
        if lo > hi {
            return Err(Error::invalid(format!("the interval of ordinals {lo}:{hi} is inverted")));
        }
        Ok(Interval { lo, hi })
    }

    /// The interval of a numeric [`Extent`]; `None` for one of strings.
    pub fn of_extent(extent: ExtentRef<'_>) -> Option<Self> {
        match extent {
            ExtentRef::Num { lo, hi } => Some(Interval { lo, hi }),
            ExtentRef::Str { .. } => None,
        }
    }

    /// How many ordinals lie inside.
    pub fn value_count(self) -> u128 {
        if self.lo > self.hi { 0 } else { u128::from(self.hi - self.lo) + 1 }
    }

    /// Whether an ordinal lies inside.
    #[inline]
    pub fn contains(self, ordinal: u64) -> bool {
        self.lo <= ordinal && ordinal <= self.hi
    }

    /// Whether `other` lies wholly inside.
    #[inline]
    pub fn covers(self, other: Interval) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// Whether the two share an ordinal.
    #[inline]
    pub fn overlaps(self, other: Interval) -> bool {
        self.lo.max(other.lo) <= self.hi.min(other.hi)
    }

    /// The shared part, if there is one.
    #[inline]
    pub fn intersect(self, other: Interval) -> Option<Interval> {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        (lo <= hi).then_some(Interval { lo, hi })
    }

    /// The least interval that covers both.
    #[inline]
    pub fn hull(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

impl From<Interval> for Extent {
    fn from(interval: Interval) -> Self {
        Extent::Num { lo: interval.lo, hi: interval.hi }
    }
}

/// The number of cells of a rectangle of integer dimensions; `None` when it exceeds `u64`.
pub fn cell_count(rect: &[Interval]) -> Option<u64> {
    if rect.iter().any(|side| side.lo > side.hi) {
        return Some(0);
    }
    rect.iter().try_fold(1u64, |count, side| count.checked_mul(u64::try_from(side.value_count()).ok()?))
}

/// Writes the shared part of two rectangles to `out` and says whether there is one. Dimensions beyond the shortest
/// of the three are left out.
pub fn intersect_rects(a: &[Interval], b: &[Interval], out: &mut [Interval]) -> bool {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        match a.intersect(*b) {
            Some(shared) => *out = shared,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_exceed_64_bits_are_none() {
        assert_eq!(cell_count(&[Interval::ALL]), None);
        assert_eq!(cell_count(&[Interval { lo: 1, hi: u64::MAX }]), Some(u64::MAX));
        assert_eq!(cell_count(&[Interval { lo: 0, hi: u64::MAX - 1 }, Interval { lo: 0, hi: 1 }]), None);
        assert_eq!(cell_count(&[Interval::ALL, Interval { lo: 2, hi: 1 }]), Some(0));
        assert_eq!(cell_count(&[]), Some(1));
    }

    #[test]
    fn intersection_and_hull_agree_with_membership_for_all_small_intervals() {
        let all: Vec<Interval> = (0..6).flat_map(|lo| (lo..6).map(move |hi| Interval { lo, hi })).collect();
        for &a in &all {
            for &b in &all {
                for v in 0..6 {
                    let shared = a.intersect(b).is_some_and(|i| i.contains(v));
                    assert_eq!(shared, a.contains(v) && b.contains(v));
                    assert!(a.hull(b).contains(v) || !(a.contains(v) || b.contains(v)));
                }
                assert_eq!(a.overlaps(b), a.intersect(b).is_some());
                assert_eq!(a.covers(b), a.hull(b) == a);
            }
        }
    }
}
