//! Space that no fragment covers: every cell of it has the fill values of the attributes, so that it is never looked at cell by
//! cell. What a condition says about it can only change where a test of a coordinate changes its mind.

use super::boxes::{Axis, Part, Segment, part_cell_count};
use super::plan::{DenseField, DenseFilter, DensePlan, FragmentTiles};
use super::prune::bounds_of_fill;
use crate::condition::{FieldBounds, Verdict};
use crate::folded::Folded;
use smalti_array::FieldId;
use smalti_space::Interval;
use smalti_tile::{ColumnRef, StatsBuilder};
use smalti_types::{Error, Result, ValueBytes};
use std::collections::HashSet;
use std::sync::Arc;

/// So many boxes at most are told apart in which fill values fulfil a condition.
const MAX_FULFILLED_BOXES: usize = 1 << 12;

/// So many ranges at most are made of a dimension where it is narrowed to what counts.
const MAX_NARROWED_RANGES: usize = 1 << 16;

impl DensePlan {
    /// The rectangles of cells that fragments cover, as far as the read wants any of them; of cells that were written alone the
    /// space tiles.
    pub(super) fn written_rects(&self) -> Vec<Vec<Interval>> {
        let mut rects = Vec::with_capacity(self.fragments.len());
        let (mut tile, mut rect) = (vec![0; self.axes.len()], vec![Interval::ALL; self.axes.len()]);
        for fragment in &self.fragments {
            let FragmentTiles::Points(points) = &fragment.tiles else {
                rects.push(fragment.rect.clone());
                continue;
            };
            let mut tiles = HashSet::new();
            for coords in points.coords() {
                let is_new = self.grid.tile_of(coords, &mut tile) && !tiles.contains(&tile);
                if is_new && self.grid.clipped_tile_rect(&tile, &mut rect) {
                    tiles.insert(tile.clone());
                    rects.push(rect.clone());
                }
            }
        }
        rects.retain(|rect| self.hull_of(rect).is_some());
        rects
    }

    /// The least box of the result that holds the wanted cells of a rectangle; `None` where none is wanted.
    pub(super) fn hull_of(&self, rect: &[Interval]) -> Option<Part> {
        self.axes.iter().zip(rect).map(|(axis, side)| axis.hull(*side)).collect()
    }

    /// The least rectangle around the cells of a box of the result; `None` when it has none.
    fn rect_of(&self, part: &Part) -> Option<Vec<Interval>> {
        let hull = |(axis, side): (&Axis, _)| axis.cells(side).map(|at| at.cells).reduce(Interval::hull);
        self.axes.iter().zip(part).map(hull).collect()
    }

    /// The rectangles that a read has to look at which leaves cells out: those that fragments wrote, and those where fill
    /// values fulfil the condition. `None` when these are everywhere, or too many to be told apart.
    ///
    /// # Errors
    /// As [`each_fulfilled`](DensePlan::each_fulfilled).
    pub(super) fn counted_rects(&self) -> Result<Option<Vec<Vec<Interval>>>> {
        let whole: Part = self.axes.iter().map(|axis| 0..axis.len).collect();
        let mut rects = self.written_rects();
        if let (Some(filter), false) = (&self.filter, self.is_written_only) {
            let (mut is_told, mut left) = (true, MAX_FULFILLED_BOXES);
            self.each_fulfilled(filter, whole.clone(), &mut |part| {
                left -= 1;
                is_told = part != whole && left > 0;
                rects.extend(self.rect_of(&part));
                Ok(is_told)
            })?;
            if !is_told {
                return Ok(None);
            }
        }
        Ok(Some(rects))
    }

    /// Takes the positions out of the result in which no rectangle lies, dimension by dimension.
    pub(super) fn narrow_to(&mut self, rects: &[Vec<Interval>]) {
        let narrowed = self.axes.iter().zip(self.grid.dims()).enumerate().map(|(dim, (axis, grid))| {
            let sides = merged(rects.iter().map(|rect| rect[dim]).collect());
            let mut ranges: Vec<Interval> = Vec::new();
            for segment in &axis.segments {
                let from = sides.partition_point(|side| side.hi < segment.cells.lo);
                ranges.extend(sides[from..].iter().map_while(|side| side.intersect(segment.cells)));
                if ranges.len() > MAX_NARROWED_RANGES.max(axis.segments.len()) {
                    return Some(axis.clone());
                }
            }
            Axis::new(&ranges, grid.domain.lo, grid.extent)
        });
        if let Some(narrowed) = narrowed.collect::<Option<Arc<[Axis]>>>() {
            self.axes = narrowed;
        }
    }

    /// Hands out the boxes inside of one, in any order, whose cells fulfil the condition if they have fill values, until
    /// `visit` returns `false`.
    ///
    /// # Errors
    /// `Cancelled`; what evaluating the condition or `visit` report.
    fn each_fulfilled(
        &self,
        filter: &DenseFilter,
        part: Part,
        visit: &mut dyn FnMut(Part) -> Result<bool>,
    ) -> Result<()> {
        let mut left = vec![part];
        while let Some(part) = left.pop() {
            self.fetch.check()?;
            let Some(rect) = self.rect_of(&part) else { continue };
            let is_fulfilled = match verdict_of_blank(filter, &rect)? {
                Verdict::None => false,
                Verdict::All => true,
                Verdict::Some => match self.turn(filter, &part) {
                    Some((dim, at)) => {
                        let (mut first, mut second) = (part.clone(), part);
                        first[dim].end = at;
                        second[dim].start = at;
                        left.extend([second, first]);
                        continue;
                    }
                    None => self.holds_for_blank(filter, &rect)?,
                },
            };
            if is_fulfilled && !visit(part)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A place strictly inside a box, in the middle of all along a dimension, where the condition may change its mind.
    fn turn(&self, filter: &DenseFilter, part: &Part) -> Option<(usize, u64)> {
        filter.turns.iter().enumerate().find_map(|(dim, turns)| {
            if turns.is_empty() {
                return None;
            }
            let side = &part[dim];
            let segments: Vec<Segment> = self.axes[dim].cells(side).collect();
            if let [Segment { cells, .. }] = segments[..] {
                let from = turns.partition_point(|turn| *turn <= cells.lo);
                let to = turns.partition_point(|turn| *turn <= cells.hi);
                return (from < to).then(|| (dim, side.start + (turns[(from + to) / 2] - cells.lo)));
            }
            segments.get(segments.len() / 2).map(|segment| (dim, side.start + segment.start))
        })
    }

    /// Whether fill values fulfil the condition in the first cell of a rectangle.
    fn holds_for_blank(&self, filter: &DenseFilter, rect: &[Interval]) -> Result<bool> {
        let coordinates: Vec<Option<ValueBytes>> = filter
            .condition
            .fields()
            .iter()
            .map(|field| match field.id {
                FieldId::Dimension(dim) => Some(field.shape.datatype.bytes_of_ordinal(rect[dim].lo)),
                _ => None,
            })
            .collect();
        let columns: Vec<Option<ColumnRef<'_>>> =
            coordinates.iter().map(|bytes| bytes.as_deref().map(ColumnRef::fixed)).collect();
        Ok(filter.condition.evaluate(&columns, 1, &|| self.fetch.check())?.any())
    }

    /// Takes the cells of a box of the result that no fragment wrote into an aggregate.
    ///
    /// # Errors
    /// `InvalidArgument` when there are more than can be counted; as [`each_fulfilled`](DensePlan::each_fulfilled).
    pub(super) fn fold_blank(&self, part: Part, folded: &mut [Folded]) -> Result<()> {
        match &self.filter {
            None => self.fold_fill(&part, folded),
            Some(filter) => {
                self.each_fulfilled(filter, part, &mut |part| self.fold_fill(&part, folded).map(|()| true))
            }
        }
    }

    fn fold_fill(&self, part: &Part, folded: &mut [Folded]) -> Result<()> {
        let too_many = || Error::invalid("the ranges select more cells than can be counted; narrow them");
        let cell_count = part_cell_count(part).ok_or_else(too_many)?;
        for (field, folded) in self.fields.iter().zip(folded) {
            folded.cell_count = folded.cell_count.checked_add(cell_count).ok_or_else(too_many)?;
            match field {
                _ if folded.is_counted_only => {}
                DenseField::Dimension { dim, .. } => {
                    let side = &part[*dim];
                    let times = cell_count / (side.end - side.start).max(1);
                    for Segment { cells, .. } in self.axes[*dim].cells(side) {
                        folded.stats.add_sequence(cells.lo, cells.hi, times);
                    }
                }
                DenseField::Attribute { shape, fill, fill_valid, .. } => {
                    let (offsets, validity) = ([0, fill.len() as u64], [u8::from(*fill_valid)]);
                    let cell = ColumnRef {
                        data: fill,
                        offsets: shape.is_var().then_some(&offsets[..]),
                        validity: shape.is_nullable.then_some(&validity[..]),
                    };
                    let mut one = StatsBuilder::new(folded.kind);
                    one.add(cell, 0..1);
                    folded.stats.add_times(&one, cell_count);
                }
            }
        }
        Ok(())
    }
}

/// What the condition says about the cells of a rectangle if they have fill values.
fn verdict_of_blank(filter: &DenseFilter, rect: &[Interval]) -> Result<Verdict> {
    let bounds = |idx: usize| {
        let field = &filter.condition.fields()[idx];
        Ok(Some(match field.id {
            FieldId::Dimension(dim) => {
                FieldBounds::of_ordinals(field.shape.datatype, rect[dim].lo, rect[dim].hi, 1)
            }
            _ => bounds_of_fill(field),
        }))
    };
    filter.condition.verdict(&bounds)
}

/// Intervals in ascending order, those that overlap or touch as one.
pub(super) fn merged(mut sides: Vec<Interval>) -> Vec<Interval> {
    sides.sort_unstable_by_key(|side| side.lo);
    let mut merged: Vec<Interval> = Vec::new();
    for side in sides {
        match merged.last_mut() {
            Some(last) if side.lo <= last.hi.saturating_add(1) => last.hi = last.hi.max(side.hi),
            _ => merged.push(side),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_touch_are_one() {
        let side = |lo, hi| Interval { lo, hi };
        let sides = vec![side(8, 9), side(0, 3), side(2, 2), side(4, 5), side(u64::MAX, u64::MAX)];
        assert_eq!(merged(sides), [side(0, 5), side(8, 9), side(u64::MAX, u64::MAX)]);
    }
}
