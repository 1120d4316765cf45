//! The labels along a dimension, searched without reading all of them.

use super::lookup::Lookup;
use crate::request::ReadRequest;
use smalti_array::{Snapshot, intervals};
use smalti_format::{DataOrder, DimensionLabel};
use smalti_space::Interval;
use smalti_tile::{Column, ColumnRef};
use smalti_types::{Datatype, Error, Extent, ExtentRef, Result};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Labels that are read at once: few reads for a search, whatever the tiles.
const BLOCK_LEN: u64 = 1 << 14;

/// The labels of a dimension as they lie in their array.
pub(super) struct LabelLine<'a> {
    labels: Lookup,
    label: &'a DimensionLabel,
    /// The positions that have labels.
    positions: Interval,
    /// Blocks that were read, counted from the first position.
    blocks: RefCell<HashMap<u64, Column>>,
}

impl<'a> LabelLine<'a> {
    /// Opens the array of a label; `None` when it holds no labels.
    ///
    /// # Errors
    /// `InvalidArgument` when the labels have gaps, or are out of order from one write to the next.
    pub(super) fn open(
        snapshot: &Snapshot,
        label: &'a DimensionLabel,
        request: &ReadRequest,
    ) -> Result<Option<Self>> {
        let labels = Lookup::open(snapshot, label, request)?;
        let mut written = Vec::new();
        for fragment in labels.array().fragments() {
            written.extend(intervals(fragment.non_empty_domain())?);
        }
        written.sort_by_key(|side| side.lo);
        let Some(positions) = without_gaps(&written)? else { return Ok(None) };
        let line = LabelLine { labels, label, positions, blocks: RefCell::default() };
        // Writes are checked to be in order; so it can only break where one ends.
        for side in &written {
            line.check_step_to(side.lo)?;
            line.check_step_to(side.hi.saturating_add(1))?;
        }
        Ok(Some(line))
    }

    /// The positions whose labels lie in a range.
    pub(super) fn positions(&self, range: ExtentRef<'_>) -> Result<Option<Extent>> {
        let is_before = |label: Value<'_>| label.compare(range).is_lt();
        let is_behind = |label: Value<'_>| label.compare(range).is_gt();
        let (first, end) = if self.is_increasing() {
            (self.partition(is_before)?, self.partition(|label| !is_behind(label))?)
        } else {
            (self.partition(is_behind)?, self.partition(|label| !is_before(label))?)
        };
        Ok((first < end).then(|| Extent::Num { lo: first, hi: end - 1 }))
    }

    fn is_increasing(&self) -> bool {
        self.label.order != DataOrder::Decreasing
    }

    /// The first position whose label, and those of all behind it, do not satisfy the predicate.
    fn partition(&self, is_in_front: impl Fn(Value<'_>) -> bool) -> Result<u64> {
        let (mut from, mut until) = (self.positions.lo, self.positions.hi.saturating_add(1));
        while from < until {
            let middle = from + (until - from) / 2;
            if self.with_label(middle, &is_in_front)? {
                from = middle + 1;
            } else {
                until = middle;
            }
        }
        Ok(from)
    }

    /// Checks that the label at a position continues the order of the one in front of it.
    fn check_step_to(&self, position: u64) -> Result<()> {
        if position <= self.positions.lo || position > self.positions.hi {
            return Ok(());
        }
        let front = self.with_label(position - 1, |label| label.to_extent())?;
        let order = self.with_label(position, |label| label.compare(front.as_ref()))?;
        let wanted = if self.is_increasing() { Ordering::Greater } else { Ordering::Less };
        if order == wanted {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "several writes left labels that do not {} at position {}; write these positions again",
            if self.is_increasing() { "increase" } else { "decrease" },
            crate::show::number(self.labels.array().schema().dimensions[0].datatype, position)
        )))
    }

    /// Does something with the label at a position that has one.
    fn with_label<T>(&self, position: u64, work: impl FnOnce(Value<'_>) -> T) -> Result<T> {
        let missing = || Error::corrupt("a label is not where its fragment says");
        let offset = position.checked_sub(self.positions.lo).ok_or_else(missing)?;
        let (block, cell) = (offset / BLOCK_LEN, (offset % BLOCK_LEN) as usize);
        let mut blocks = self.blocks.borrow_mut();
        let column = match blocks.entry(block) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let lo = self.positions.lo + block * BLOCK_LEN;
                let hi = lo.saturating_add(BLOCK_LEN - 1).min(self.positions.hi);
                vacant.insert(self.labels.in_ranges(&[Interval { lo, hi }])?)
            }
        };
        Value::of(column.as_ref(), cell, self.label.datatype).map(work).ok_or_else(missing)
    }
}

/// The hull of sorted intervals that leave nothing out; `None` when there are none.
fn without_gaps(sorted: &[Interval]) -> Result<Option<Interval>> {
    let Some(&(mut hull)) = sorted.first() else { return Ok(None) };
    for side in sorted {
        if side.lo > hull.hi.saturating_add(1) {
            return Err(Error::invalid(
                "positions between others have no labels yet; ranges of labels need all of them",
            ));
        }
        hull.hi = hull.hi.max(side.hi);
    }
    Ok(Some(hull))
}

/// A label.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    /// By its ordinal.
    Number(u64),
    Text(&'a [u8]),
}

impl<'a> Value<'a> {
    fn of(cells: ColumnRef<'a>, cell: usize, datatype: Datatype) -> Option<Value<'a>> {
        if let Some(offsets) = cells.offsets {
            let (start, end) = (*offsets.get(cell)?, *offsets.get(cell + 1)?);
            return cells.data.get(start as usize..end as usize).map(Value::Text);
        }
        let len = datatype.byte_len();
        let start = cell.checked_mul(len)?;
        datatype.ordinal(cells.data.get(start..start.checked_add(len)?)?).ok().map(Value::Number)
    }

    /// Whether the label lies in front of a range, in it, or behind it.
    fn compare(self, range: ExtentRef<'_>) -> Ordering {
        let (before, behind) = match (self, range) {
            (Value::Number(label), ExtentRef::Num { lo, hi }) => (label < lo, label > hi),
            (Value::Text(label), ExtentRef::Str { lo, hi }) => (label < lo, hi.is_some_and(|hi| label > hi)),
            // Ranges were checked to be of the label's kind.
            _ => (true, false),
        };
        match (before, behind) {
            (true, _) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => Ordering::Equal,
        }
    }

    fn to_extent(self) -> Extent {
        match self {
            Value::Number(label) => Extent::Num { lo: label, hi: label },
            Value::Text(label) => Extent::Str { lo: label.into(), hi: Some(label.into()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_without_labels_are_told() {
        let side = |lo, hi| Interval { lo, hi };
        assert_eq!(without_gaps(&[]).unwrap(), None);
        assert_eq!(without_gaps(&[side(2, 9), side(3, 4), side(10, 11)]).unwrap(), Some(side(2, 11)));
        assert!(without_gaps(&[side(2, 3), side(5, 6)]).is_err());
    }
}
