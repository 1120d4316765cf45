//! Which of many rectangles meet one, the last first, without looking at all of them.
//!
//! A packed R-tree over ordinals that is built at once (Leutenegger et al., STR: a simple and efficient algorithm for R-tree
//! packing, 1997): rectangles are cut in two along the dimension along which they lie furthest apart, again and again, until as many are
//! left as a node has. Each node knows the last rectangle below it, so that a search goes to the last ones first, and ends where its
//! caller has seen enough: of fragments, the newest hide the others.

use crate::Interval;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Entries of a node. So many rectangles are looked at one after the other.
const FANOUT: usize = 16;

/// An index over rectangles, which are called by their places.
#[derive(Debug, Clone)]
pub struct RectIndex {
    dim_count: usize,
    rect_count: usize,
    /// The sides of all rectangles of the level, rectangle after rectangle. The first level has those that were given, in the order of
    /// `places`; each level above the hulls of the nodes of the one below.
    levels: Vec<Level>,
}

#[derive(Debug, Clone)]
struct Level {
    sides: Vec<Interval>,
    /// Of a rectangle its place, of a node the last place below it.
    last_places: Vec<u32>,
}

impl RectIndex {
    /// An index over rectangles, each with a side for each dimension. Of none, and of those without dimensions, nothing is found.
    pub fn new<'r>(dim_count: usize, rects: impl IntoIterator<Item = &'r [Interval]>) -> Self {
        let mut sides = Vec::new();
        for rect in rects {
            sides.extend((0..dim_count).map(|dim| rect.get(dim).copied().unwrap_or(Interval::ALL)));
        }
        let rect_count = sides.len().checked_div(dim_count).unwrap_or(0);
        // Places take 32 bits, as those of fragments do elsewhere.
        let mut order: Vec<u32> = (0..rect_count as u32).collect();
        let mut levels = Vec::new();
        if rect_count > FANOUT {
            pack(&mut order, &sides, dim_count);
            let packed = order.iter().flat_map(|&place| side_range(&sides, dim_count, place as usize));
            let packed = packed.copied().collect();
            levels.push(Level { sides: packed, last_places: order });
            while let Some(below) = levels.last().filter(|level| level.last_places.len() > FANOUT) {
                levels.push(below.above(dim_count));
            }
        } else {
            levels.push(Level { sides, last_places: order });
        }
        RectIndex { dim_count, rect_count, levels }
    }

    /// The number of rectangles.
    pub fn rect_count(&self) -> usize {
        self.rect_count
    }

    /// The places of the rectangles that share a cell with one, the last first.
    pub fn meeting<'a>(&'a self, rect: &'a [Interval]) -> RectsMet<'a> {
        let mut met =
            RectsMet { index: self, rect, ahead: BinaryHeap::new(), listed: 0..0, compared_count: 0 };
        if rect.len() == self.dim_count {
            match self.levels.len() {
                // In order already.
                1 => met.listed = 0..self.rect_count,
                height => met.open(height - 1, 0..self.levels[height - 1].last_places.len()),
            }
        }
        met
    }
}

impl Level {
    fn meets(&self, at: usize, rect: &[Interval]) -> bool {
        side_range(&self.sides, rect.len(), at).iter().zip(rect).all(|(a, b)| a.overlaps(*b))
    }

    /// The nodes of so many of its entries each.
    fn above(&self, dim_count: usize) -> Level {
        let node = |sides: &[Interval]| {
            let mut hull = sides[..dim_count].to_vec();
            for rect in sides.chunks_exact(dim_count) {
                for (hull, side) in hull.iter_mut().zip(rect) {
                    *hull = Interval { lo: hull.lo.min(side.lo), hi: hull.hi.max(side.hi) };
                }
            }
            hull
        };
        Level {
            sides: self.sides.chunks(FANOUT * dim_count).flat_map(node).collect(),
            last_places: self
                .last_places
                .chunks(FANOUT)
                .map(|places| places.iter().copied().max().unwrap_or(0))
                .collect(),
        }
    }
}

fn side_range(sides: &[Interval], dim_count: usize, at: usize) -> &[Interval] {
    &sides[at * dim_count..(at + 1) * dim_count]
}

/// Puts places into an order in which those of a node lie near each other.
fn pack(order: &mut [u32], sides: &[Interval], dim_count: usize) {
    let mut left: Vec<Range<usize>> = Vec::new();
    left.push(0..order.len());
    while let Some(range) = left.pop() {
        let places = &mut order[range.clone()];
        if places.len() <= FANOUT {
            continue;
        }
        let side = |place: u32, dim: usize| sides[place as usize * dim_count + dim];
        // Twice the middle.
        let middle =
            |place: u32, dim: usize| u128::from(side(place, dim).lo) + u128::from(side(place, dim).hi);
        let spread = |dim: usize| {
            let middles = || places.iter().map(|&place| middle(place, dim));
            let span = middles().max().unwrap_or(0) - middles().min().unwrap_or(0);
            let len: u128 = places.iter().map(|&place| side(place, dim).value_count()).sum();
            span as f64 / (len as f64).max(1.0)
        };
        let spreads: Vec<f64> = (0..dim_count).map(spread).collect();
        let Some((dim, furthest)) = spreads.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) else {
            return;
        };
        // Whole nodes on the left.
        let cut = (places.len() / 2).next_multiple_of(FANOUT);
        if cut >= places.len() {
            continue;
        }
        if *furthest > 0.0 {
            places.select_nth_unstable_by_key(cut, |&place| (middle(place, dim), place));
        } else {
            // All around one place: the last ones together.
            places.select_nth_unstable(cut);
        }
        left.push(range.start..range.start + cut);
        left.push(range.start + cut..range.end);
    }
}

/// The rectangles that meet one: see [`RectIndex::meeting`].
#[derive(Debug)]
pub struct RectsMet<'a> {
    index: &'a RectIndex,
    rect: &'a [Interval],
    /// Nodes and rectangles that meet it by the last place below them, with their levels and places in these.
    ahead: BinaryHeap<(u32, usize, usize)>,
    /// Of an index with a single node: the places that are left, none of which was looked at.
    listed: Range<usize>,
    compared_count: u64,
}

impl RectsMet<'_> {
    /// How many rectangles and nodes were compared with the one that is asked for.
    pub fn compared_count(&self) -> u64 {
        self.compared_count
    }

    fn open(&mut self, level: usize, entries: Range<usize>) {
        let entries_of = &self.index.levels[level];
        for at in entries {
            self.compared_count += 1;
            if entries_of.meets(at, self.rect) {
                self.ahead.push((entries_of.last_places[at], level, at));
            }
        }
    }
}

impl Iterator for RectsMet<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while let Some(at) = self.listed.next_back() {
            self.compared_count += 1;
            if self.index.levels[0].meets(at, self.rect) {
                return Some(at);
            }
        }
        while let Some((place, level, at)) = self.ahead.pop() {
            if level == 0 {
                return Some(place as usize);
            }
            let below = self.index.levels[level - 1].last_places.len();
            self.open(level - 1, at * FANOUT..below.min((at + 1) * FANOUT));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, and are the same again.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) % end
        }

        fn rect(&mut self, dim_count: usize, end: u64, longest: u64) -> Vec<Interval> {
            let side = |_| {
                let lo = self.below(end);
                Interval { lo, hi: lo + self.below(longest) }
            };
            (0..dim_count).map(side).collect()
        }
    }

    fn index(dim_count: usize, rects: &[Vec<Interval>]) -> RectIndex {
        RectIndex::new(dim_count, rects.iter().map(Vec::as_slice))
    }

    fn plain(rects: &[Vec<Interval>], rect: &[Interval]) -> Vec<usize> {
        let meets = |at: &usize| rects[*at].iter().zip(rect).all(|(a, b)| a.overlaps(*b));
        (0..rects.len()).rev().filter(meets).collect()
    }

    #[test]
    fn the_rectangles_that_meet_one_come_last_first_as_a_look_at_all_finds_them() {
        let mut numbers = Numbers(1);
        for (count, longest) in
            [(0, 5), (1, 5), (16, 5), (17, 5), (100, 1), (300, 10), (500, 200), (5000, 30)]
        {
            for dim_count in 1..4 {
                let rects: Vec<_> = (0..count).map(|_| numbers.rect(dim_count, 300, longest)).collect();
                let index = index(dim_count, &rects);
                assert_eq!(index.rect_count(), count);
                for _ in 0..20 {
                    let rect = numbers.rect(dim_count, 300, 40);
                    assert_eq!(index.meeting(&rect).collect::<Vec<_>>(), plain(&rects, &rect), "{count}");
                }
            }
        }
    }

    #[test]
    fn asking_each_of_ten_thousand_tiles_compares_few_rectangles_each() {
        let tile = |at: u64| {
            let side = |at: u64| Interval { lo: at * 10, hi: at * 10 + 9 };
            vec![side(at / 100), side(at % 100)]
        };
        let rects: Vec<_> = (0..10_000).map(|at| tile(at * 7919 % 10_000)).collect();
        let index = index(2, &rects);
        let compared = |rect: &[Interval]| {
            let mut met = index.meeting(rect);
            assert_eq!(met.by_ref().count(), 1);
            met.compared_count()
        };
        let compared: u64 = rects.iter().map(|rect| compared(rect)).sum();
        assert!(compared < 10_000 * 100, "{compared}");
    }

    #[test]
    fn of_many_rectangles_over_each_other_the_last_is_found_at_once() {
        let rects = vec![vec![Interval { lo: 0, hi: 9 }; 2]; 10_000];
        let index = index(2, &rects);
        let mut met = index.meeting(&rects[0]);
        assert_eq!(met.next(), Some(9999));
        assert!(met.compared_count() <= 100, "{}", met.compared_count());
    }

    #[test]
    fn a_rectangle_of_another_number_of_dimensions_meets_nothing() {
        let index = index(2, &[vec![Interval::ALL; 2]]);
        assert_eq!(index.meeting(&[Interval::ALL]).next(), None);
        assert_eq!(RectIndex::new(0, [&[] as &[Interval]]).meeting(&[]).next(), None);
    }
}
