//! The least rectangles around neighbours in a list of rectangles, each found in as many steps as there are dimensions.

use smalti_space::Interval;
use std::ops::Range;

/// The hulls of one, two, four and so on rectangles from each on: any range is two of them (a sparse table).
#[derive(Debug)]
pub(super) struct Hulls {
    dim_count: usize,
    levels: Vec<Vec<Interval>>,
    /// Before each rectangle the tiles of all.
    tile_counts: Vec<u128>,
}

impl Hulls {
    /// Those of rectangles of equally many dimensions.
    pub(super) fn new(rects: &[Vec<Interval>], tile_counts: impl Iterator<Item = u64>) -> Hulls {
        let dim_count = rects.first().map_or(0, Vec::len);
        let mut levels: Vec<Vec<Interval>> = vec![rects.concat()];
        let mut len = 1;
        while let Some(below) = levels.last().filter(|_| len * 2 <= rects.len() && dim_count > 0) {
            let pairs = below.iter().zip(below.iter().skip(len * dim_count));
            levels.push(pairs.map(|(a, b)| a.hull(*b)).collect());
            len *= 2;
        }
        let sums = tile_counts.scan(0u128, |sum, count| {
            *sum += u128::from(count);
            Some(*sum)
        });
        Hulls { dim_count, levels, tile_counts: std::iter::once(0).chain(sums).collect() }
    }

    /// The sides of the hull of a range of rectangles, which is not empty.
    pub(super) fn hull(&self, range: Range<usize>) -> impl Iterator<Item = Interval> + '_ {
        let level = range.len().max(1).ilog2() as usize;
        let sides = |at: usize| &self.levels[level][at * self.dim_count..(at + 1) * self.dim_count];
        let (first, last) = (sides(range.start), sides(range.end - (1 << level)));
        first.iter().zip(last).map(|(a, b)| a.hull(*b))
    }

    /// The tiles of a range of rectangles, as far as they can be counted.
    pub(super) fn tile_count(&self, range: Range<usize>) -> u64 {
        u64::try_from(self.tile_counts[range.end] - self.tile_counts[range.start]).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hull_of_every_range_is_that_of_its_rectangles_one_by_one() {
        let side = |at: u64| Interval { lo: at * 37 % 101, hi: at * 37 % 101 + at * 53 % 7 };
        for count in 1..20 {
            let rects: Vec<Vec<Interval>> = (0..count).map(|at| vec![side(at), side(at * 3 + 1)]).collect();
            let hulls = Hulls::new(&rects, 0..count);
            for start in 0..rects.len() {
                for end in start + 1..=rects.len() {
                    let mut hull = rects[start].clone();
                    for rect in &rects[start..end] {
                        hull.iter_mut().zip(rect).for_each(|(hull, side)| *hull = hull.hull(*side));
                    }
                    assert_eq!(hulls.hull(start..end).collect::<Vec<_>>(), hull);
                    assert_eq!(hulls.tile_count(start..end), (start as u64..end as u64).sum::<u64>());
                }
            }
        }
    }
}
