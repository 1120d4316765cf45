//! Which tiles are worth another wait: whose fields are asked for when their coordinates have told whether a cell of them is wanted.
//!
//! What is asked of a distant store together comes in one wait. But of a tile that ranges meet at its edge likely no cell is wanted, and of
//! one whose cells others hide perhaps none: then its fields were asked for in vain. So it is weighed what that costs, the
//! bytes and the turns of requests that go side by side, against the wait that it takes to ask later, if anything is left to be asked for.

use super::plan::{SparsePlan, TileRef};
use smalti_space::RangeSet;
use smalti_store::Coalescing;
use smalti_types::{Datatype, ExtentRef, Result, Scalar};

/// How likely it is thought that all cells of a tile are hidden, where some may be: before the coordinates are there nobody can tell.
const ALL_HIDDEN: f64 = 0.1;

/// A tile is thought to be met where more ranges than so many meet it, without a look at each of them.
const MAX_RANGE_COUNT: usize = 64;

/// What is known of the fields of a tile before its coordinates are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    /// Its place among the plan's tiles.
    pub(super) slot: usize,
    /// How likely it is that nobody wants them.
    pub(super) in_vain: f64,
    /// What they cost, in bytes.
    pub(super) cost: u64,
}

/// Those of some tiles whose fields should wait for the coordinates.
pub(super) fn worth_a_wait(mut chances: Vec<Chance>, wait: u64) -> Vec<usize> {
    chances.retain(|chance| chance.in_vain > 0.0);
    chances.sort_by(|a, b| b.in_vain.total_cmp(&a.in_vain));
    // The wait comes when the first of them turns out to be wanted.
    let (mut saved, mut none_is_wanted) = (0.0, 1.0);
    let (mut most, mut count) = (0.0, 0);
    for (at, chance) in chances.iter().enumerate() {
        saved += chance.in_vain * chance.cost as f64;
        none_is_wanted *= chance.in_vain;
        let gain = saved - (1.0 - none_is_wanted) * wait as f64;
        if gain > most {
            (most, count) = (gain, at + 1);
        }
    }
    chances[..count].iter().map(|chance| chance.slot).collect()
}

/// What fields of so many bytes, in so many requests, cost on a store.
pub(super) fn cost(limits: Coalescing, request_count: u64, byte_len: u64) -> u64 {
    limits.cost_of_requests(request_count).saturating_add(byte_len)
}

impl SparsePlan {
    /// How likely it is that no cell of a tile is wanted.
    pub(super) fn chance_of_none(&self, tile: &TileRef) -> f64 {
        let hidden = if tile.hides && !tile.is_side_by_side { ALL_HIDDEN } else { 0.0 };
        if tile.is_covered {
            return hidden;
        }
        // What is wrong with the rectangle is found when the tile is read.
        let expected = self.expected_cell_count(tile).unwrap_or(f64::INFINITY);
        (-expected).exp().max(hidden)
    }

    /// How many cells of a tile lie in the ranges, if they are spread evenly.
    fn expected_cell_count(&self, tile: &TileRef) -> Result<f64> {
        let fragment = &self.fragments[tile.fragment_idx].fragment;
        let leaves = fragment.tile_tree()?.leaves()?;
        let mut expected = tile.cell_count as f64;
        for (dim, (ranges, dimension)) in
            self.ranges.iter().zip(&self.snapshot.schema().dimensions).enumerate()
        {
            if !ranges.is_all() {
                expected *= share(ranges, leaves.extent(tile.tile_idx, dim)?, dimension.datatype);
            }
        }
        Ok(expected)
    }
}

/// The share of an interval that lies in ranges which meet it; all of it where nobody can tell.
fn share(ranges: &RangeSet, extent: ExtentRef<'_>, datatype: Datatype) -> f64 {
    let ExtentRef::Num { lo, hi } = extent else { return 1.0 };
    let intervals = ranges.intervals();
    let start = intervals.partition_point(|interval| interval.hi < lo);
    let count = intervals[start..].partition_point(|interval| interval.lo <= hi);
    if lo > hi || count > MAX_RANGE_COUNT {
        return 1.0;
    }
    let clipped = intervals[start..start + count]
        .iter()
        .map(|range| length(range.lo.max(lo), range.hi.min(hi), datatype));
    let share = clipped.sum::<f64>() / length(lo, hi, datatype);
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 }
}

/// How many values there are from one to another; of floats how far they are apart.
fn length(lo: u64, hi: u64, datatype: Datatype) -> f64 {
    if !datatype.is_float() {
        return (hi - lo) as f64 + 1.0;
    }
    let value = |ordinal| {
        Scalar::read(datatype, &datatype.bytes_of_ordinal(ordinal)).map_or(f64::NAN, Scalar::as_f64)
    };
    value(hi) - value(lo)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::{Extent, Physical};

    fn chance(slot: usize, in_vain: f64, cost: u64) -> Chance {
        Chance { slot, in_vain, cost }
    }

    #[test]
    fn a_few_tiles_wait_only_if_likely_none_of_them_is_wanted() {
        assert_eq!(worth_a_wait(vec![chance(7, 0.99, 10)], 100), [7]);
        assert_eq!(worth_a_wait(vec![chance(7, 0.5, 10)], 100), [] as [usize; 0]);
        assert_eq!(worth_a_wait(vec![chance(7, 0.0, 10)], 0), [] as [usize; 0]);
        // Large ones sooner.
        assert_eq!(worth_a_wait(vec![chance(7, 0.5, 1000)], 100), [7]);
    }

    #[test]
    fn many_tiles_wait_together_and_those_that_are_surely_wanted_do_not() {
        let mut chances: Vec<Chance> = (0..1000).map(|slot| chance(slot, 0.1, 3)).collect();
        chances.push(chance(1000, 0.0, 3));
        let mut waiting = worth_a_wait(chances.clone(), 200);
        waiting.sort_unstable();
        assert_eq!(waiting, (0..1000).collect::<Vec<_>>());
        chances.truncate(500);
        assert_eq!(worth_a_wait(chances, 200), [] as [usize; 0]);
    }

    #[test]
    fn the_share_of_an_interval_is_that_of_its_values() {
        let set = |extents| RangeSet::new(false, extents).unwrap();
        let of = |lo, hi| Extent::Num { lo, hi };
        let ranges = set(vec![of(10, 19), of(50, 54), of(99, 1000)]);
        let whole = ExtentRef::Num { lo: 0, hi: 99 };
        assert_eq!(share(&ranges, whole, Datatype::UInt64), 0.16);
        assert!(share(&ranges, ExtentRef::Num { lo: 0, hi: u64::MAX }, Datatype::UInt64) < 1e-15);
        let float = |value: f64| value.ordinal();
        let ranges = set(vec![of(float(2.5), float(5.0))]);
        let extent = ExtentRef::Num { lo: float(0.0), hi: float(10.0) };
        assert_eq!(share(&ranges, extent, Datatype::Float64), 0.25);
        let point = ExtentRef::Num { lo: float(3.0), hi: float(3.0) };
        assert_eq!(share(&ranges, point, Datatype::Float64), 1.0);
    }
}
