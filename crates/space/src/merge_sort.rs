//! Parallel merge sort that can be stopped.

use crate::check::Check;
use smalti_types::Result;
use smalti_types::parallel;
use std::cmp::Ordering;

/// Items that one task of a parallel merge writes.
const MERGE_TASK: usize = 1 << 16;
/// Items that one task sorts by comparisons.
const SORT_TASK: usize = 1 << 14;

/// Merges runs that ascend into one; each run ends where `ends` says, the last with the items. Of equal items those of
/// earlier runs stay first.
///
/// # Errors
/// What `check` returns; the items are in no order then.
pub fn merge_runs<T: Copy + Default + Send + Sync>(
    items: &mut [T],
    ends: &[usize],
    compare: impl Fn(&T, &T) -> Ordering + Sync,
    check: Check<'_>,
) -> Result<()> {
    // Halves of the items are found among the runs: with empty ones between them one might be peeled off after the other.
    let mut ends: Vec<usize> = ends.iter().copied().filter(|&end| end > 0).collect();
    ends.dedup();
    if ends.len() < 2 {
        return Ok(());
    }
    let leaf = |_: &mut [T], _: &mut [T]| Ok(false);
    MergeSort { leaf, compare, check }.sort(items, &mut vec![T::default(); items.len()], &ends)
}

/// Sorts items; equal ones stay in the order that they are in.
///
/// # Errors
/// What `check` returns; the items are in no order then.
pub fn sort_items<T: Copy + Default + Send + Sync>(
    items: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering + Sync,
    check: Check<'_>,
) -> Result<()> {
    if items.len() <= SORT_TASK {
        check()?;
        items.sort_by(&compare);
        return Ok(());
    }
    let leaf = |part: &mut [T], _: &mut [T]| {
        part.sort_by(&compare);
        Ok(false)
    };
    let ends = part_ends(items.len(), items.len().div_ceil(SORT_TASK));
    MergeSort { leaf, compare: &compare, check }.sort(items, &mut vec![T::default(); items.len()], &ends)
}

/// Where each of so many parts of nearly equal length ends.
pub(crate) fn part_ends(len: usize, part_count: usize) -> Vec<usize> {
    (1..=part_count).map(|part| (len as u128 * part as u128 / part_count as u128) as usize).collect()
}

/// A merge sort: `leaf` sorts each part, with a buffer as long beside it, and says whether the result is in that.
pub(crate) struct MergeSort<'a, L, C> {
    pub(crate) leaf: L,
    pub(crate) compare: C,
    pub(crate) check: Check<'a>,
}

impl<L, C> MergeSort<'_, L, C> {
    /// Sorts items whose parts end at `ends`, with a buffer as long.
    pub(crate) fn sort<T>(&self, items: &mut [T], scratch: &mut [T], ends: &[usize]) -> Result<()>
    where
        T: Copy + Send + Sync,
        L: Fn(&mut [T], &mut [T]) -> Result<bool> + Sync,
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        self.sort_parts(items, scratch, ends, 0, false)
    }

    /// Sorts the parts in `items`, which begin at `start` of all, with the result in `scratch` where that is wanted: halves
    /// are sorted into the other buffer and merged.
    fn sort_parts<T>(
        &self,
        items: &mut [T],
        scratch: &mut [T],
        ends: &[usize],
        start: usize,
        into_scratch: bool,
    ) -> Result<()>
    where
        T: Copy + Send + Sync,
        L: Fn(&mut [T], &mut [T]) -> Result<bool> + Sync,
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        if ends.len() <= 1 {
            (self.check)()?;
            match ((self.leaf)(items, scratch)?, into_scratch) {
                (true, false) => items.copy_from_slice(scratch),
                (false, true) => scratch.copy_from_slice(items),
                _ => {}
            }
            return Ok(());
        }
        let half = start + items.len() / 2;
        let left_count = ends.partition_point(|&end| end <= half).clamp(1, ends.len() - 1);
        let (left_ends, right_ends) = ends.split_at(left_count);
        let middle = left_ends[left_count - 1] - start;
        {
            let (left, right) = items.split_at_mut(middle);
            let (left_scratch, right_scratch) = scratch.split_at_mut(middle);
            let (left, right) = parallel::join(
                || self.sort_parts(left, left_scratch, left_ends, start, !into_scratch),
                || self.sort_parts(right, right_scratch, right_ends, start + middle, !into_scratch),
            );
            left.and(right)?;
        }
        let (from, to) = if into_scratch { (items, scratch) } else { (scratch, items) };
        let (left, right) = from.split_at(middle);
        self.merge(left, right, to)
    }

    /// Merges two ascending parts into `out`, in parallel where that pays.
    fn merge<T>(&self, left: &[T], right: &[T], out: &mut [T]) -> Result<()>
    where
        T: Copy + Send + Sync,
        L: Sync,
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        let is_less = |a: &T, b: &T| (self.compare)(a, b) == Ordering::Less;
        if out.len() > MERGE_TASK {
            // What equals the item in the middle of the longer part goes to the side that keeps the left before the right.
            let (left_middle, right_middle) = if left.len() >= right.len() {
                let pivot = &left[left.len() / 2];
                (left.len() / 2, right.partition_point(|item| is_less(item, pivot)))
            } else {
                let pivot = &right[right.len() / 2];
                (left.partition_point(|item| !is_less(pivot, item)), right.len() / 2)
            };
            let (left_low, left_high) = left.split_at(left_middle);
            let (right_low, right_high) = right.split_at(right_middle);
            let (out_low, out_high) = out.split_at_mut(left_middle + right_middle);
            let (low, high) = parallel::join(
                || self.merge(left_low, right_low, out_low),
                || self.merge(left_high, right_high, out_high),
            );
            return low.and(high);
        }
        (self.check)()?;
        let (mut l, mut r) = (0, 0);
        let mut at = 0;
        while let (Some(&a), Some(&b)) = (left.get(l), right.get(r)) {
            let is_right = is_less(&b, &a);
            out[at] = if is_right { b } else { a };
            r += usize::from(is_right);
            l += usize::from(!is_right);
            at += 1;
        }
        let rest = if l < left.len() { &left[l..] } else { &right[r..] };
        out[at..].copy_from_slice(rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::UNSTOPPED;
    use smalti_types::{Error, ErrorKind};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Pairs whose first numbers repeat often; the second is their place.
    fn pairs(count: u32) -> Vec<(u32, u32)> {
        (0..count).map(|at| (at.wrapping_mul(2_654_435_761) >> 16 & 0x1ff, at)).collect()
    }

    #[test]
    fn equal_items_stay_in_their_order() {
        for count in [0, 1, 2, 100, 20_000, 300_000] {
            let mut items = pairs(count);
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            sort_items(&mut items, |a, b| a.0.cmp(&b.0), UNSTOPPED).unwrap();
            assert_eq!(items, expected);
        }
    }

    #[test]
    fn runs_of_any_lengths_are_merged() {
        for ends in [vec![200_000], vec![0, 1, 1, 150_000, 200_000], part_ends(200_000, 77)] {
            let mut items = pairs(200_000);
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            let mut start = 0;
            for &end in &ends {
                items[start..end].sort_by_key(|item| item.0);
                start = end;
            }
            merge_runs(&mut items, &ends, |a, b| a.0.cmp(&b.0), UNSTOPPED).unwrap();
            assert_eq!(items, expected);
        }
    }

    #[test]
    fn any_number_of_empty_runs_is_no_matter() {
        let ends: Vec<usize> =
            [0, 70, 70, 100].into_iter().flat_map(|end| std::iter::repeat_n(end, 100_000)).collect();
        let mut items = pairs(100);
        let mut expected = items.clone();
        expected.sort_by_key(|item| item.0);
        items[..70].sort_by_key(|item| item.0);
        items[70..].sort_by_key(|item| item.0);
        merge_runs(&mut items, &ends, |a, b| a.0.cmp(&b.0), UNSTOPPED).unwrap();
        assert_eq!(items, expected);
    }

    #[test]
    fn a_sort_that_is_stopped_ends_with_the_error() {
        let asked = AtomicUsize::new(0);
        let check = || match asked.fetch_add(1, Relaxed) {
            0..10 => Ok(()),
            _ => Err(Error::new(ErrorKind::Cancelled, "stopped")),
        };
        let error = sort_items(&mut pairs(1_000_000), |a, b| a.0.cmp(&b.0), &check).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(asked.load(Relaxed) < 200, "few tasks begin after the error");
    }
}
