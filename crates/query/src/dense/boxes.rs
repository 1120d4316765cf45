//! Cuts the result of a dense read into pieces that are contiguous in the output.
//!
//! A result is a box: along each dimension the ranges of the read follow each other. Batches and the tasks inside a
//! batch are both made by [`contiguous_parts`]: every part is one unbroken piece of the output in the read's layout.

use smalti_space::Interval;
use smalti_types::Layout;
use std::ops::Range;
use std::sync::Arc;

/// One range of a dimension and where it starts in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The coordinates, in ordinals.
    pub(crate) cells: Interval,
    /// The position of the first of them along this dimension of the result.
    pub(crate) start: u64,
}

impl Segment {
    /// The position of its last coordinate.
    fn last(&self) -> u64 {
        self.start + (self.cells.hi - self.cells.lo)
    }
}

/// The result of a dense read along one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) segments: Vec<Segment>,
    /// The number of positions.
    pub(crate) len: u64,
    /// Positions between borders of space tiles, where parts are best cut; of several ranges their mean number.
    pub(crate) step: u64,
    /// Whether the ranges follow each other in the dimension as in the result.
    pub(crate) ascends: bool,
    /// Whether they do, and no two share a coordinate.
    pub(super) is_strict: bool,
    borders: Borders,
}

/// Positions where space tiles begin.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Borders {
    /// Of one range: the first of them, and every [`Axis::step`] from there.
    Even { lead: u64 },
    /// Of several ranges that ascend: where one begins in another tile than the last one ended in.
    At(Vec<u64>),
}

/// A part of a result: per dimension the positions it covers.
pub(crate) type Part = Vec<Range<u64>>;

impl Axis {
    /// The axis of some ranges on a dimension whose tiles have `extent` cells from `domain_lo` on; `None` when it has
    /// more positions than can be counted.
    pub(crate) fn new(ranges: &[Interval], domain_lo: u64, extent: u64) -> Option<Axis> {
        let mut segments = Vec::with_capacity(ranges.len());
        let mut len = 0u64;
        for &cells in ranges {
            segments.push(Segment { cells, start: len });
            len = len.checked_add(u64::try_from(cells.value_count()).ok()?)?;
        }
        if let [only] = ranges {
            let lead = (extent - (only.lo - domain_lo) % extent) % extent;
            return Some(Axis {
                segments,
                len,
                step: extent,
                ascends: true,
                is_strict: true,
                borders: Borders::Even { lead },
            });
        }
        let ascends = segments.is_sorted_by_key(|segment| segment.cells.lo);
        let is_strict = segments.windows(2).all(|pair| pair[0].cells.hi < pair[1].cells.lo);
        let tile = |cell: u64| (cell - domain_lo) / extent;
        let borders: Vec<u64> = segments
            .windows(2)
            .filter(|pair| ascends && tile(pair[0].cells.hi) != tile(pair[1].cells.lo))
            .map(|pair| pair[1].start)
            .collect();
        let step = len.div_ceil(borders.len() as u64 + 1).max(1);
        Some(Axis { segments, len, step, ascends, is_strict, borders: Borders::At(borders) })
    }

    /// The coordinates at positions `part`, each with the position in `part` where it starts.
    pub(crate) fn cells(&self, part: &Range<u64>) -> impl Iterator<Item = Segment> {
        let (from, to) = (part.start, part.end);
        let first = self.segments.partition_point(|segment| segment.last() < from);
        let met = self.segments[first..].iter().take_while(move |segment| segment.start < to);
        met.map(move |segment| {
            let (first, last) = (segment.start.max(from), segment.last().min(to - 1));
            Segment {
                cells: Interval {
                    lo: segment.cells.lo + (first - segment.start),
                    hi: segment.cells.lo + (last - segment.start),
                },
                start: first - from,
            }
        })
    }

    /// The positions from the first to the last that lie in an interval of coordinates; `None` where none does.
    pub(crate) fn hull(&self, side: Interval) -> Option<Range<u64>> {
        let meets = |segment: &&Segment| segment.cells.intersect(side).is_some();
        let (first, last) = if self.is_strict {
            let first = self.segments.partition_point(|segment| segment.cells.hi < side.lo);
            let behind = self.segments.partition_point(|segment| segment.cells.lo <= side.hi);
            let met = self.segments.get(first..behind)?;
            (met.first()?, met.last()?)
        } else {
            (self.segments.iter().find(meets)?, self.segments.iter().rev().find(meets)?)
        };
        let start = first.start + (side.lo.max(first.cells.lo) - first.cells.lo);
        Some(start..last.start + (side.hi.min(last.cells.hi) - last.cells.lo) + 1)
    }

    /// The greatest border at or before a position, the begin being one.
    pub(super) fn border(&self, at: u64) -> u64 {
        match &self.borders {
            Borders::Even { lead } if at < *lead => 0,
            Borders::Even { lead } => lead + (at - lead) / self.step * self.step,
            Borders::At(borders) => match borders.partition_point(|border| *border <= at) {
                0 => 0,
                behind => borders[behind - 1],
            },
        }
    }

    /// The least border behind a position, the end being one.
    pub(super) fn next_border(&self, at: u64) -> u64 {
        let next = match &self.borders {
            Borders::Even { lead } if at < *lead => *lead,
            Borders::Even { lead } => (lead + (at - lead) / self.step * self.step).saturating_add(self.step),
            Borders::At(borders) => {
                borders.get(borders.partition_point(|border| *border <= at)).copied().unwrap_or(self.len)
            }
        };
        next.min(self.len)
    }

    /// The tiles that some positions lie in, where borders are even.
    pub(super) fn tile_count(&self, side: &Range<u64>) -> u64 {
        let Borders::Even { lead } = &self.borders else { return 1 };
        let tile = |at: u64| if at < *lead { 0 } else { (at - lead) / self.step + u64::from(*lead > 0) };
        if side.start < side.end { tile(side.end - 1) - tile(side.start) + 1 } else { 0 }
    }

    /// The greatest border not beyond `from + most`, or `from + most` where there is none after `from`.
    fn cut(&self, from: u64, most: u64, end: u64) -> u64 {
        let limit = from.saturating_add(most).min(end);
        if limit == end {
            return limit;
        }
        let border = match &self.borders {
            Borders::Even { lead } if limit < *lead => from,
            Borders::Even { lead } => lead + (limit - lead) / self.step * self.step,
            Borders::At(borders) => match borders.partition_point(|border| *border <= limit) {
                0 => from,
                behind => borders[behind - 1],
            },
        };
        if border > from { border } else { limit }
    }
}

/// The dimensions from the slowest to the fastest in a layout.
pub(crate) fn slow_to_fast(dim_count: usize, layout: Layout) -> Vec<usize> {
    match layout {
        Layout::ColMajor => (0..dim_count).rev().collect(),
        _ => (0..dim_count).collect(),
    }
}

/// The number of cells of a part; `None` when it exceeds `u64`.
pub(crate) fn part_cell_count(part: &[Range<u64>]) -> Option<u64> {
    part.iter().try_fold(1u64, |count, side| count.checked_mul(side.end - side.start))
}

/// The cells of a rectangle.
pub(crate) fn rect_cell_count(rect: &[Interval]) -> u64 {
    smalti_space::cell_count(rect).unwrap_or(u64::MAX)
}

/// The parts of `whole`, each at most `max_cell_count` cells (but at least one), that follow each other in the output.
/// Cuts fall on borders of space tiles where the limit allows it.
pub(crate) struct ContiguousParts {
    axes: Arc<[Axis]>,
    order: Vec<usize>,
    whole: Part,
    max_cell_count: u64,
    /// The next position along each dimension; `None` at the end.
    next: Option<Vec<u64>>,
}

/// See [`ContiguousParts`].
pub(crate) fn contiguous_parts(
    axes: &Arc<[Axis]>,
    whole: Part,
    layout: Layout,
    max_cell_count: u64,
) -> ContiguousParts {
    let is_empty = whole.iter().any(|side| side.start >= side.end);
    let next = (!is_empty).then(|| whole.iter().map(|side| side.start).collect());
    ContiguousParts {
        axes: Arc::clone(axes),
        order: slow_to_fast(axes.len(), layout),
        whole,
        max_cell_count: max_cell_count.max(1),
        next,
    }
}

impl ContiguousParts {
    /// The next part, of at most so many cells.
    pub(crate) fn next_of(&mut self, max_cell_count: u64) -> Option<Part> {
        self.max_cell_count = max_cell_count.max(1);
        self.next()
    }

    /// Whether there is no next part.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none()
    }
}

impl Iterator for ContiguousParts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let next = self.next.as_mut()?;
        // The slowest dimension along which one position, with all faster dimensions whole, stays within the limit.
        let mut inner = 1u64;
        let mut level = self.order.len();
        while level > 0 {
            let dim = self.order[level - 1];
            let len = self.whole[dim].end - self.whole[dim].start;
            let is_whole = next[dim] == self.whole[dim].start;
            match inner.checked_mul(len) {
                Some(cells) if cells <= self.max_cell_count && is_whole && level > 1 => {
                    inner = cells;
                    level -= 1;
                }
                _ => break,
            }
        }
        let level = level.max(1) - 1;
        let split = self.order[level];
        let most = (self.max_cell_count / inner).max(1);
        let end = self.axes[split].cut(next[split], most, self.whole[split].end);
        let mut part: Part = self.whole.clone();
        for &dim in &self.order[..level] {
            part[dim] = next[dim]..next[dim] + 1;
        }
        part[split] = next[split]..end;
        // Advance like an odometer.
        next[split] = end;
        let mut at = level;
        while next[self.order[at]] >= self.whole[self.order[at]].end {
            next[self.order[at]] = self.whole[self.order[at]].start;
            if at == 0 {
                self.next = None;
                break;
            }
            at -= 1;
            next[self.order[at]] += 1;
        }
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axis(len: u64, step: u64) -> Axis {
        Axis::new(&[Interval { lo: 10, hi: 9 + len }], 10, step).unwrap()
    }

    proptest! {
        #[test]
        fn parts_follow_each_other_without_a_gap(
            lens in prop::collection::vec(1u64..7, 1..4), step in 1u64..4, most in 1u64..40, is_row in any::<bool>(),
        ) {
            let axes: Arc<[Axis]> = lens.iter().map(|&len| axis(len, step)).collect();
            let layout = if is_row { Layout::RowMajor } else { Layout::ColMajor };
            let order = slow_to_fast(axes.len(), layout);
            let position = |cell: &[u64]| order.iter().fold(0, |at, &dim| at * lens[dim] + cell[dim]);
            let mut expected = 0;
            for part in contiguous_parts(&axes, lens.iter().map(|&len| 0..len).collect(), layout, most) {
                let count = part_cell_count(&part).unwrap();
                prop_assert!(count >= 1 && count <= most.max(1));
                let first: Vec<u64> = part.iter().map(|side| side.start).collect();
                let last: Vec<u64> = part.iter().map(|side| side.end - 1).collect();
                prop_assert_eq!(position(&first), expected);
                prop_assert_eq!(position(&last), expected + count - 1);
                expected += count;
            }
            prop_assert_eq!(expected, lens.iter().product::<u64>());
        }
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a part of one dimension is one range")]
    fn cuts_prefer_the_borders_of_tiles() {
        let axes: Arc<[Axis]> = [Axis::new(&[Interval { lo: 3, hi: 22 }], 0, 8).unwrap()].into();
        let parts: Vec<Part> = contiguous_parts(&axes, vec![0..20], Layout::RowMajor, 9).collect();
        assert_eq!(parts, [vec![0..5], vec![5..13], vec![13..20]]);
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a part of one dimension is one range")]
    fn cuts_of_several_ranges_prefer_the_borders_of_tiles_too() {
        let ranges = [1, 3, 5, 9, 11, 12, 20, 21].map(|at| Interval { lo: at, hi: at });
        let axes: Arc<[Axis]> = [Axis::new(&ranges, 0, 8).unwrap()].into();
        let parts: Vec<Part> = contiguous_parts(&axes, vec![0..8], Layout::RowMajor, 5).collect();
        assert_eq!(parts, [vec![0..3], vec![3..8]]);
        let parts: Vec<Part> = contiguous_parts(&axes, vec![0..8], Layout::RowMajor, 2).collect();
        assert_eq!(parts, [vec![0..2], vec![2..3], vec![3..5], vec![5..6], vec![6..8]]);
    }

    #[test]
    fn positions_lead_back_to_the_coordinates_of_every_range() {
        let axis = Axis::new(&[Interval { lo: 5, hi: 7 }, Interval { lo: 1, hi: 2 }], 0, 4).unwrap();
        let cells: Vec<Segment> = axis.cells(&(2..4)).collect();
        assert_eq!(
            cells,
            [
                Segment { cells: Interval { lo: 7, hi: 7 }, start: 0 },
                Segment { cells: Interval { lo: 1, hi: 1 }, start: 1 },
            ]
        );
    }
}
