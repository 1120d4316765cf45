//! Rectangles in the order of their writes, and which of them meet a box, the newest first.
//!
//! A kd-tree that is packed once: rectangles are sorted by alternating dimensions, sixteen make a node, sixteen nodes one above. A node
//! knows its bounds and the newest rectangle below it. A search takes the newest out of a heap of nodes that meet the box, so that
//! who needs only the newest looks at little, however many lie below it.

use crate::Interval;
use std::collections::BinaryHeap;

/// Nodes below a node.
const FANOUT: usize = 16;

/// Rectangles by number, of which the greatest is the newest.
#[derive(Debug, Clone)]
pub struct NewestFirst {
    dim_count: usize,
    /// By level, from the rectangles up.
    levels: Vec<Level>,
    /// The numbers of the rectangles in the order of the lowest level.
    numbers: Vec<u32>,
}

#[derive(Debug, Clone, Default)]
struct Level {
    /// The bounds of a node, dimension by dimension.
    sides: Vec<Interval>,
    /// The greatest number below a node.
    newest: Vec<u32>,
}

impl NewestFirst {
    /// The rectangles of a list, each with as many sides as there are dimensions; others are never found. More than 2^32 are left out.
    pub fn new<'r>(dim_count: usize, rects: impl Iterator<Item = &'r [Interval]>) -> Self {
        let rects: Vec<&[Interval]> = rects.take(u32::MAX as usize).collect();
        let mut numbers: Vec<u32> =
            (0u32..).zip(&rects).filter(|(_, rect)| rect.len() == dim_count).map(|(idx, _)| idx).collect();
        let centre = |number: u32, dim: usize| {
            let side =
                rects.get(number as usize).and_then(|rect| rect.get(dim)).copied().unwrap_or(Interval::ALL);
            side.lo / 2 + side.hi / 2
        };
        sort_by_dimensions(&mut numbers, dim_count, 0, &centre);
        let sides = numbers
            .iter()
            .filter_map(|&number| rects.get(number as usize))
            .flat_map(|rect| rect.iter().copied());
        let mut levels = vec![Level { sides: sides.collect(), newest: numbers.clone() }];
        while let Some(below) = levels.last().filter(|level| level.newest.len() > 1) {
            let mut level = Level::default();
            for (at, newest) in below.newest.chunks(FANOUT).enumerate() {
                level.newest.push(newest.iter().copied().max().unwrap_or_default());
                let start = at * FANOUT * dim_count;
                let nodes = below.sides.get(start..start + newest.len() * dim_count).unwrap_or_default();
                level.sides.extend((0..dim_count).map(|dim| {
                    let along = || nodes.iter().skip(dim).step_by(dim_count.max(1));
                    Interval {
                        lo: along().map(|side| side.lo).min().unwrap_or(0),
                        hi: along().map(|side| side.hi).max().unwrap_or(u64::MAX),
                    }
                }));
            }
            levels.push(level);
        }
        NewestFirst { dim_count, levels, numbers }
    }

    /// The numbers of the rectangles that share a cell with a box, the greatest first.
    pub fn meeting<'s>(&'s self, wanted: &'s [Interval]) -> Meetings<'s> {
        let mut found = Meetings { index: self, wanted, heap: BinaryHeap::new(), visit_count: 0 };
        if let (Some(top), true) = (self.levels.len().checked_sub(1), wanted.len() == self.dim_count) {
            found.push(top, 0..1);
        }
        found
    }
}

fn sort_by_dimensions(
    numbers: &mut [u32],
    dim_count: usize,
    dim: usize,
    centre: &impl Fn(u32, usize) -> u64,
) {
    if numbers.len() <= FANOUT || dim_count == 0 {
        return;
    }
    // Whole nodes on either side.
    let middle = (numbers.len() / 2).next_multiple_of(FANOUT).min(numbers.len() - 1);
    numbers.select_nth_unstable_by_key(middle, |&number| centre(number, dim));
    let (low, high) = numbers.split_at_mut(middle);
    sort_by_dimensions(low, dim_count, (dim + 1) % dim_count, centre);
    sort_by_dimensions(high, dim_count, (dim + 1) % dim_count, centre);
}

/// A search under way.
#[derive(Debug)]
pub struct Meetings<'s> {
    index: &'s NewestFirst,
    wanted: &'s [Interval],
    /// The newest below a node, its level, and its place there.
    heap: BinaryHeap<(u32, usize, usize)>,
    visit_count: usize,
}

impl Meetings<'_> {
    /// How many nodes and rectangles were looked at so far.
    pub fn visit_count(&self) -> usize {
        self.visit_count
    }

    /// Takes those nodes of a level that meet the box.
    fn push(&mut self, level: usize, nodes: std::ops::Range<usize>) {
        let Some(of_level) = self.index.levels.get(level) else { return };
        let dim_count = self.index.dim_count;
        for node in nodes.start..nodes.end.min(of_level.newest.len()) {
            self.visit_count += 1;
            let sides = of_level.sides.get(node * dim_count..(node + 1) * dim_count).unwrap_or_default();
            let meets = sides
                .iter()
                .zip(self.wanted)
                .all(|(side, wanted)| side.lo <= wanted.hi && wanted.lo <= side.hi);
            if let (Some(newest), true) = (of_level.newest.get(node), meets) {
                self.heap.push((*newest, level, node));
            }
        }
    }
}

impl Iterator for Meetings<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            let (_, level, node) = self.heap.pop()?;
            match level.checked_sub(1) {
                None => return self.index.numbers.get(node).copied(),
                Some(below) => self.push(below, node * FANOUT..(node + 1) * FANOUT),
            }
        }
    }
}

/// Whether two of some rectangles share a cell.
pub fn any_overlap(dim_count: usize, rects: &[Vec<Interval>]) -> bool {
    let index = NewestFirst::new(dim_count, rects.iter().map(Vec::as_slice));
    rects.iter().enumerate().any(|(number, rect)| index.meeting(rect).any(|other| other as usize != number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(rects: &[Vec<Interval>], wanted: &[Interval]) -> Vec<u32> {
        let meets = |rect: &Vec<Interval>| rect.iter().zip(wanted).all(|(a, b)| a.lo <= b.hi && b.lo <= a.hi);
        (0..rects.len() as u32)
            .zip(rects)
            .rev()
            .filter(|(_, rect)| meets(rect))
            .map(|(number, _)| number)
            .collect()
    }

    fn rect(dims: usize) -> impl Strategy<Value = Vec<Interval>> {
        let side = (0..60u64, 0..9u64).prop_map(|(lo, len)| Interval { lo, hi: lo + len });
        prop::collection::vec(side, dims)
    }

    proptest! {
        #[test]
        fn all_that_meet_a_box_are_found_the_newest_first(
            (rects, wanted) in (1..4usize).prop_flat_map(|dims| (prop::collection::vec(rect(dims), 0..200), rect(dims)))
        ) {
            let index = NewestFirst::new(wanted.len(), rects.iter().map(Vec::as_slice));
            let found: Vec<u32> = index.meeting(&wanted).collect();
            prop_assert_eq!(found, naive(&rects, &wanted));
            let pairs = (0..rects.len()).any(|at| !naive(&rects[..at], &rects[at]).is_empty());
            prop_assert_eq!(any_overlap(wanted.len(), &rects), pairs);
        }
    }

    #[test]
    fn a_box_costs_what_it_meets_and_the_newest_little() {
        let tile = |at: u64| {
            vec![
                Interval { lo: at % 100 * 10, hi: at % 100 * 10 + 9 },
                Interval { lo: at / 100 * 10, hi: at / 100 * 10 + 9 },
            ]
        };
        let mut rects: Vec<Vec<Interval>> = (0..10_000).map(|at| tile(at * 7_919 % 10_000)).collect();
        let index = NewestFirst::new(2, rects.iter().map(Vec::as_slice));
        for wanted in &rects {
            let mut found = index.meeting(wanted);
            assert_eq!(found.by_ref().count(), 1);
            assert!(found.visit_count() < 200, "{}", found.visit_count());
        }
        assert!(!any_overlap(2, &rects));
        rects.push(tile(5));
        assert!(any_overlap(2, &rects));
        // All in one place: the newest is found without a look at the others.
        let stacked: Vec<Vec<Interval>> = (0..10_000).map(|_| tile(3)).collect();
        let index = NewestFirst::new(2, stacked.iter().map(Vec::as_slice));
        let mut found = index.meeting(&stacked[0]);
        assert_eq!(found.next(), Some(9_999));
        assert!(found.visit_count() < 100, "{}", found.visit_count());
    }

    #[test]
    fn what_does_not_fit_is_not_found() {
        let one = vec![Interval { lo: 0, hi: 5 }];
        let index = NewestFirst::new(1, [one.as_slice(), &[]].into_iter());
        assert_eq!(index.meeting(&one).collect::<Vec<_>>(), [0]);
        assert_eq!(index.meeting(&[]).count(), 0);
        assert_eq!(NewestFirst::new(0, std::iter::empty()).meeting(&[]).count(), 0);
    }
}
