//! Bounds of short runs of coordinates: a zone map.
//!
//! Cells are stored in an order, so that those next to each other mostly have coordinates near each other, on some dimension at least. A range
//! then meets few runs, and only their cells have to be compared with it.

use crate::column::Column;
use crate::select::{FEW, ends_of, in_range, packed, select_column};
use crate::{BitMask, Interval, RangeSet};
use multiversion::multiversion;
use smalti_types::{Physical, Result, dispatch_physical};

/// Shorter numbers are compared sooner than zones of them.
const LEAST_BYTE_LEN: usize = 4;

/// The cells of a zone.
const CELL_COUNT: usize = 16;

/// Zones that are looked at together, a bit of a word each.
const BLOCK: usize = 64;

/// The least and the greatest coordinate of each sixteen cells of a column of numbers, NaN included, in 256 steps between those of the column. Of strings
/// and numbers of one or two bytes nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zones {
    /// The ordinals of all cells lie here.
    hull: Interval,
    /// A step has so many ordinals, as a power of two.
    shift: u32,
    /// By zone, the step of its least cell.
    lows: Vec<u8>,
    /// By zone, the step of its greatest cell.
    highs: Vec<u8>,
}

impl Default for Zones {
    /// Of no cells, or of those of which nothing is known.
    fn default() -> Self {
        Zones { hull: Interval::ALL, shift: 0, lows: Vec::new(), highs: Vec::new() }
    }
}

impl Zones {
    /// Looks at all cells of a column.
    pub fn of(column: &Column<'_>) -> Self {
        let datatype = column.datatype().filter(|datatype| datatype.byte_len() >= LEAST_BYTE_LEN);
        let Some(datatype) = datatype else { return Zones::default() };
        let values = column.number_bytes(0..column.cell_count());
        let mut bounds = vec![Interval::ALL; column.cell_count().div_ceil(CELL_COUNT)];
        dispatch_physical!(datatype, T => {
            if size_of::<T>() >= LEAST_BYTE_LEN {
                bound::<T>(values, &mut bounds);
            }
        });
        let Some(hull) = bounds.iter().copied().reduce(Interval::hull) else { return Zones::default() };
        let shift = (u64::BITS - (hull.hi - hull.lo).leading_zeros()).saturating_sub(u8::BITS);
        let step = |ordinal: u64| ((ordinal - hull.lo) >> shift) as u8;
        let lows = bounds.iter().map(|zone| step(zone.lo)).collect();
        let highs = bounds.iter().map(|zone| step(zone.hi)).collect();
        Zones { hull, shift, lows, highs }
    }

    /// The bytes that the zones of so many cells take.
    pub fn byte_len(cell_count: usize) -> usize {
        2 * cell_count.div_ceil(CELL_COUNT)
    }

    /// Unsets the cells of the column whose coordinate no range selects, as [`select_column`] does, but looks at the cells of those zones alone that a range
    /// meets, where the ranges are few.
    ///
    /// # Errors
    /// As [`select_column`].
    pub fn select_column(&self, column: &Column<'_>, ranges: &RangeSet, mask: &mut BitMask) -> Result<()> {
        let is_mine = column.cell_count() == mask.len() && self.lows.len() == mask.len().div_ceil(CELL_COUNT);
        let datatype = column.datatype().filter(|datatype| datatype.byte_len() >= LEAST_BYTE_LEN);
        let (Some(datatype), true) = (datatype, is_mine && !ranges.is_string()) else {
            return select_column(column, ranges, mask);
        };
        if ranges.is_all() || ranges.intervals().len() > FEW {
            return select_column(column, ranges, mask);
        }
        let values = column.number_bytes(0..column.cell_count());
        dispatch_physical!(datatype, T => {
            if size_of::<T>() >= LEAST_BYTE_LEN {
                let (ends, count) = ends_of::<T>(ranges.intervals(), datatype.is_float());
                let ends = ends.get(..count).unwrap_or_default();
                let steps = ends.iter().map(|&(lo, hi)| Interval { lo: lo.ordinal(), hi: hi.ordinal() });
                let found_in = |values: &[u8]| found_in::<T>(values, ends);
                self.select(values, size_of::<T>(), steps, &found_in, mask);
            }
        });
        Ok(())
    }

    /// Unsets the cells of zones in which `found_in` finds none; `intervals` are those that it looks for, four at most.
    fn select(
        &self,
        values: &[u8],
        cell_byte_len: usize,
        intervals: impl Iterator<Item = Interval>,
        found_in: &dyn Fn(&[u8]) -> u64,
        mask: &mut BitMask,
    ) {
        const WORD_ZONES: usize = 64 / CELL_COUNT;
        let mut steps = [Steps::default(); FEW];
        let mut count = 0;
        for (interval, steps) in intervals.zip(&mut steps) {
            *steps = self.steps(interval);
            count += 1;
        }
        let steps = steps.get(..count).unwrap_or_default();
        let blocks = self.lows.chunks(BLOCK).zip(self.highs.chunks(BLOCK));
        let blocks = blocks.zip(values.chunks(BLOCK * CELL_COUNT * cell_byte_len));
        for (((lows, highs), values), words) in blocks.zip(mask.words_mut().chunks_mut(BLOCK / WORD_ZONES)) {
            let (met, covered) = met_and_covered(lows, highs, steps);
            let met_alone = met & !covered;
            for (idx, word) in words.iter_mut().enumerate() {
                let at = idx * WORD_ZONES;
                *word &= SPREAD[(met >> at) as usize % SPREAD.len()];
                let looked_at = SPREAD[(met_alone >> at) as usize % SPREAD.len()];
                if *word & looked_at == 0 {
                    continue;
                }
                // One zone of a word is compared alone; more take as long as all of them.
                let shift = looked_at.trailing_zeros();
                let is_one = looked_at >> shift == CELLS;
                let (start, len) = if is_one { (shift as usize, CELL_COUNT) } else { (0, 64) };
                let values = values.get((idx * 64 + start) * cell_byte_len..).unwrap_or_default();
                let values = values.get(..len * cell_byte_len).unwrap_or(values);
                *word &= found_in(values) << start | !looked_at;
            }
        }
    }

    /// The steps that an interval meets, and those that it covers.
    fn steps(&self, interval: Interval) -> Steps {
        // The two zeros of floats are neighbours, and the same value to a range.
        let wide = Interval { lo: interval.lo.saturating_sub(1), hi: interval.hi.saturating_add(1) };
        let step = |ordinal: u64| ((ordinal - self.hull.lo) >> self.shift) as u8;
        let Some(met) = self.hull.intersect(wide) else { return Steps::default() };
        let (first, last) = (step(met.lo), step(met.hi));
        let behind = if interval.lo <= self.hull.lo { Some(first) } else { first.checked_add(1) };
        let before = if interval.hi >= self.hull.hi { Some(last) } else { last.checked_sub(1) };
        Steps { met: (first, last), covered: behind.zip(before).unwrap_or(NONE) }
    }
}

/// The first and the last of no steps.
const NONE: (u8, u8) = (u8::MAX, 0);

/// The steps of a range, the first and the last.
#[derive(Debug, Clone, Copy)]
struct Steps {
    /// Those in which it has ordinals.
    met: (u8, u8),
    /// Those of which it has all that the column may have there.
    covered: (u8, u8),
}

impl Default for Steps {
    fn default() -> Self {
        Steps { met: NONE, covered: NONE }
    }
}

/// Finds the bounds of zones with the vectors that the processor has.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn bound<T: Physical>(values: &[u8], bounds: &mut [Interval]) {
    let mut cells = [T::from_ordinal(0); CELL_COUNT];
    for (values, bounds) in values.chunks(size_of_val(&cells)).zip(bounds) {
        // Behind the cells of the last zone are those of the one before: it may be wider than it need be.
        match bytemuck::cast_slice_mut(&mut cells) {
            room if room.len() == values.len() => room.copy_from_slice(values),
            room => room.iter_mut().zip(values).for_each(|(room, value)| *room = *value),
        }
        let (mut los, mut his) = (cells.map(Physical::ordinal), cells.map(Physical::ordinal));
        // By halves, in vectors.
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                los[lane] = los[lane].min(los[lane + half]);
                his[lane] = his[lane].max(his[lane + half]);
            }
        }
        *bounds = Interval { lo: los[0], hi: his[0] };
    }
}

/// Some zones, a bit each, with the vectors that the processor has: those that meet steps, and those that lie in covered ones.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn met_and_covered(lows: &[u8], highs: &[u8], steps: &[Steps]) -> (u64, u64) {
    let zones = |is: fn(u8, u8, (u8, u8)) -> bool, steps: (u8, u8)| {
        let mut flags = [0; BLOCK];
        for ((flag, &low), &high) in flags.iter_mut().zip(lows).zip(highs) {
            *flag = u8::from(is(low, high, steps));
        }
        packed(&flags)
    };
    steps.iter().fold((0, 0), |(met, covered), steps| {
        let of_met = zones(|low, high, (first, last)| (high >= first) & (low <= last), steps.met);
        let of_covered = zones(|low, high, (first, last)| (low >= first) & (high <= last), steps.covered);
        (met | of_met, covered | of_covered)
    })
}

/// Which of 64 cells at most are in a range, with the vectors that the processor has.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn found_in<T: Physical>(values: &[u8], ends: &[(T, T)]) -> u64 {
    ends.iter().fold(0, |any, &(lo, hi)| any | in_range(values, lo, hi))
}

/// The bits of the cells of the first zone of a word.
const CELLS: u64 = (1 << CELL_COUNT) - 1;

/// By the bits of the zones of a word those of their cells.
const SPREAD: [u64; 16] = {
    let mut spread = [0; 16];
    let mut zones = 0;
    while zones < 16 {
        let mut zone = 0;
        while zone < 4 {
            if zones >> zone & 1 == 1 {
                spread[zones] |= CELLS << (zone * CELL_COUNT);
            }
            zone += 1;
        }
        zones += 1;
    }
    spread
};

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::{Datatype, Extent, Physical, Scalar};

    /// With zones the same cells are found as without, and most zones are left out of cells in an order.
    fn check<T: Physical>(datatype: Datatype, least: u64, greatest: u64) {
        let mut seed = 5_u64;
        let mut next = |lo: u64, hi: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7);
            lo + ((u128::from(seed) * (u128::from(hi - lo) + 1)) >> 64) as u64
        };
        for (cell_count, range_count) in [(0, 1), (1, 1), (64, 3), (1000, 1), (5000, 2), (5000, 9)] {
            for is_sorted in [false, true] {
                let mut ordinals: Vec<u64> = (0..cell_count).map(|_| next(least, greatest)).collect();
                if is_sorted {
                    ordinals.sort_unstable();
                }
                let values: Vec<u8> = ordinals
                    .iter()
                    .flat_map(|&ordinal| bytemuck::bytes_of(&T::from_ordinal(ordinal)).to_vec())
                    .collect();
                let column = Column::numbers(datatype, &values).unwrap();
                let width = (greatest - least) / 100;
                let some = (0..range_count).map(|_| {
                    let lo = next(least, greatest - width);
                    Extent::Num { lo, hi: lo + width }
                });
                let ranges = RangeSet::new(false, some.collect()).unwrap();
                let (mut zoned, mut plain) = (BitMask::ones(cell_count), BitMask::ones(cell_count));
                let zones = Zones::of(&column);
                zones.select_column(&column, &ranges, &mut zoned).unwrap();
                select_column(&column, &ranges, &mut plain).unwrap();
                assert!(zoned == plain, "{datatype}: {cell_count} cells, {range_count} ranges");
                if is_sorted && cell_count == 5000 {
                    let steps = ranges.intervals().iter().map(|range| zones.steps(*range));
                    let steps: Vec<Steps> = steps.collect();
                    let bounds = zones.lows.iter().zip(&zones.highs);
                    let is_compared = |(low, high): &(&u8, &u8)| {
                        let is_met = |of: &Steps| **high >= of.met.0 && **low <= of.met.1;
                        let is_covered = |of: &Steps| **low >= of.covered.0 && **high <= of.covered.1;
                        steps.iter().any(is_met) && !steps.iter().any(is_covered)
                    };
                    let count = bounds.filter(is_compared).count();
                    assert!(count < 150, "{datatype}: {count} of 313 zones");
                }
            }
        }
    }

    #[test]
    fn zones_leave_out_no_cell_of_a_range() {
        check::<u8>(Datatype::UInt8, 0, 255);
        check::<i16>(Datatype::Int16, 0, u64::from(u16::MAX));
        check::<u32>(Datatype::UInt32, 1000, 5000);
        check::<i64>(Datatype::Int64, 0, u64::MAX);
        // NaN are at both ends.
        check::<f32>(Datatype::Float32, 0, u64::from(u32::MAX));
        check::<f64>(Datatype::Float64, 0, u64::MAX);
    }

    #[test]
    fn the_two_zeros_are_one_value() {
        for (zero, of_range) in [(-0.0, 0.0), (0.0, -0.0)] {
            let values = [f64::to_le_bytes(zero); 70].concat();
            let column = Column::numbers(Datatype::Float64, &values).unwrap();
            let ordinal = Scalar::F64(of_range).ordinal();
            let ranges = RangeSet::new(false, vec![Extent::Num { lo: ordinal, hi: ordinal }]).unwrap();
            let mut mask = BitMask::ones(70);
            Zones::of(&column).select_column(&column, &ranges, &mut mask).unwrap();
            assert_eq!(mask.count(), 70);
        }
    }

    #[test]
    fn columns_that_zones_are_not_of_are_compared_as_without() {
        let strings = Column::strings(&[0, 1], b"ac").unwrap();
        let ranges = RangeSet::new(true, vec![Extent::Str { lo: (*b"c").into(), hi: None }]).unwrap();
        let mut mask = BitMask::ones(2);
        let zones = Zones::of(&strings);
        zones.select_column(&strings, &ranges, &mut mask).unwrap();
        assert_eq!(mask.iter_cells().collect::<Vec<_>>(), [1]);
        let numbers: Vec<u8> = (0..100).collect();
        let column = Column::numbers(Datatype::UInt8, &numbers).unwrap();
        let ranges = RangeSet::new(false, vec![Extent::Num { lo: 20, hi: 22 }]).unwrap();
        let mut mask = BitMask::ones(100);
        zones.select_column(&column, &ranges, &mut mask).unwrap();
        assert_eq!(mask.iter_cells().collect::<Vec<_>>(), [20, 21, 22]);
        assert!(Zones::of(&column).select_column(&column, &ranges, &mut BitMask::ones(99)).is_err());
    }
}
