//! Walks over the boxes that fragments wrote, and over the gaps between them, so that work follows what was written however
//! large the domain is.
//!
//! A box is cut where a fragment begins or ends in it, and the halves are looked at in turn, until every fragment that meets
//! one covers it, or none does. In the order of a layout a box may only be cut along its slowest dimension: where fragments
//! begin or end along another one, its rows come one by one. What is blank around the fragments of a box is left out before.

use super::boxes::{Part, part_cell_count, slow_to_fast};
use smalti_types::Layout;

/// A box on a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Fragments wrote in it.
    Written(Part),
    /// No fragment did. Not all such boxes come on an ordered walk.
    Blank(Part),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Walk {
    /// What was written; an empty box is nothing.
    written: Vec<Part>,
    /// The dimensions, the slowest first, where the boxes are to come in an order.
    order: Option<Vec<usize>>,
    /// When boxes are not cut any more.
    grain: Grain,
    /// What is left, the next box last.
    stack: Vec<Frame>,
}

#[derive(Debug)]
struct Frame {
    part: Part,
    /// Those of the written boxes that may meet it.
    near: Vec<u32>,
}

/// When boxes of a walk are taken as written although they are blank in parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grain {
    /// When one cell of so many was written.
    pub(super) sparseness: u64,
    /// When they have so few cells.
    pub(super) least_cell_count: u64,
}

impl Walk {
    /// A walk over the whole of a box, in the order of a layout or in any.
    pub(super) fn new(whole: Part, written: Vec<Part>, order: Option<Layout>, grain: Grain) -> Walk {
        let near = (0..written.len() as u32).collect();
        let order = order.map(|layout| slow_to_fast(whole.len(), layout));
        let is_empty = whole.iter().any(|side| side.start >= side.end);
        let stack = if is_empty { Vec::new() } else { vec![Frame { part: whole, near }] };
        Walk { written, order, grain, stack }
    }

    /// Cuts a box in two at a position along a dimension; the first part comes next.
    fn cut(&mut self, frame: Frame, dim: usize, at: u64) {
        let Frame { part, near } = frame;
        let (mut first, mut second) = (part.clone(), part);
        first[dim].end = at;
        second[dim].start = at;
        self.stack.push(Frame { part: second, near: near.clone() });
        self.stack.push(Frame { part: first, near });
    }

    /// Where fragments begin or end along a dimension strictly inside a box: the middle one of these places.
    fn border(&self, frame: &Frame, dim: usize) -> Option<u64> {
        let side = &frame.part[dim];
        let ends = frame.near.iter().flat_map(|&idx| {
            let written = &self.written[idx as usize][dim];
            [written.start, written.end]
        });
        let mut inside: Vec<u64> = ends.filter(|at| *at > side.start && *at < side.end).collect();
        let middle = inside.len() / 2;
        (!inside.is_empty()).then(|| *inside.select_nth_unstable(middle).1)
    }

    /// Leaves out what is blank around all fragments of a box.
    fn shrink(&self, frame: &mut Frame) {
        for (dim, side) in frame.part.iter_mut().enumerate() {
            let written = || frame.near.iter().map(|&idx| &self.written[idx as usize][dim]);
            let start = written().map(|written| written.start).min().unwrap_or(side.start);
            let end = written().map(|written| written.end).max().unwrap_or(side.end);
            *side = side.start.max(start)..side.end.min(end);
        }
    }

    /// Whether a box is written densely enough to be taken as it is.
    fn is_dense(&self, frame: &Frame) -> bool {
        let cell_count = part_cell_count(&frame.part).unwrap_or(u64::MAX);
        if cell_count <= self.grain.least_cell_count {
            return true;
        }
        let shared = |idx: &u32| {
            let sides = frame.part.iter().zip(&self.written[*idx as usize]);
            sides.fold(1u64, |cells, (side, written)| {
                let shared = side.end.min(written.end).saturating_sub(side.start.max(written.start));
                cells.saturating_mul(shared)
            })
        };
        let written = frame.near.iter().map(shared).fold(0, u64::saturating_add);
        cell_count / self.grain.sparseness.max(1) <= written
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let mut frame = self.stack.pop()?;
            let part = &frame.part;
            frame.near.retain(|&idx| {
                let sides = part.iter().zip(&self.written[idx as usize]);
                sides.into_iter().all(|(side, written)| side.start < written.end && written.start < side.end)
            });
            if frame.near.is_empty() {
                return Some(Found::Blank(frame.part));
            }
            if self.order.is_some() {
                self.shrink(&mut frame);
            }
            let border = (0..frame.part.len()).find_map(|dim| Some((dim, self.border(&frame, dim)?)));
            let Some(border) = border.filter(|_| !self.is_dense(&frame)) else {
                return Some(Found::Written(frame.part));
            };
            let is_long = |dim: &&usize| frame.part[**dim].end - frame.part[**dim].start > 1;
            let slowest = self.order.as_ref().map(|order| order.iter().find(is_long).copied());
            let (dim, at) = match slowest {
                None => border,
                Some(None) => return Some(Found::Written(frame.part)),
                Some(Some(dim)) => (dim, self.border(&frame, dim).unwrap_or(frame.part[dim].start + 1)),
            };
            self.cut(frame, dim, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ops::Range;

    fn cells(part: &[Range<u64>]) -> Vec<Vec<u64>> {
        part.iter().fold(vec![Vec::new()], |cells, side| {
            let longer = |cell: &Vec<u64>| {
                let cell = cell.clone();
                side.clone().map(move |at| [cell.clone(), vec![at]].concat()).collect::<Vec<_>>()
            };
            cells.iter().flat_map(longer).collect()
        })
    }

    proptest! {
        #[test]
        fn walks_meet_every_cell_once_and_in_order(
            lens in prop::collection::vec(1u64..9, 1..4),
            boxes in prop::collection::vec(prop::collection::vec((0u64..9, 1u64..4), 3), 0..5),
            is_ordered in any::<bool>(),
            sparseness in 1u64..4,
        ) {
            let whole: Part = lens.iter().map(|&len| 0..len).collect();
            let written: Vec<Part> = boxes
                .iter()
                .map(|sides| sides.iter().zip(&lens).map(|((at, len), most)| *at..(at + len).min(*most)).collect())
                .filter(|part: &Part| part.iter().all(|side| side.start < side.end))
                .collect();
            let order = is_ordered.then_some(Layout::RowMajor);
            let mut met: Vec<Vec<u64>> = Vec::new();
            for found in Walk::new(whole.clone(), written.clone(), order, Grain { sparseness, least_cell_count: 2 }) {
                let is_written = |cell: &Vec<u64>| {
                    written.iter().any(|part| part.iter().zip(cell).all(|(side, at)| side.contains(at)))
                };
                match found {
                    Found::Blank(part) => {
                        prop_assert!(!cells(&part).iter().any(is_written));
                        met.extend(cells(&part));
                    }
                    Found::Written(part) => {
                        prop_assert!(cells(&part).iter().any(is_written));
                        met.extend(cells(&part));
                    }
                }
            }
            let mut expected = cells(&whole);
            if is_ordered {
                let is_written = |cell: &Vec<u64>| {
                    written.iter().any(|part| part.iter().zip(cell).all(|(side, at)| side.contains(at)))
                };
                expected.retain(|cell| is_written(cell) || met.contains(cell));
            } else {
                met.sort();
            }
            prop_assert_eq!(met, expected);
        }
    }

    #[test]
    fn a_walk_over_an_endless_domain_takes_few_steps() {
        let side = 0..1u64 << 60;
        let written: Vec<Part> = (0..500u64).map(|at| vec![at << 40..(at << 40) + 3; 3]).collect();
        for (order, sparseness) in
            [(None, 1), (None, 64), (Some(Layout::RowMajor), 64), (Some(Layout::ColMajor), 1)]
        {
            let whole = vec![side.clone(); 3];
            let found: Vec<Found> =
                Walk::new(whole, written.clone(), order, Grain { sparseness, least_cell_count: 0 }).collect();
            assert!(found.len() < 20_000, "{}", found.len());
            let is_written = |found: &&Found| matches!(found, Found::Written(_));
            assert_eq!(found.iter().filter(is_written).count(), 500);
        }
    }
}
