//! Which cells some ranges select.

use crate::column::{Column, values_of};
use crate::{BitMask, Interval, RangeSet};
use multiversion::multiversion;
use smalti_types::{Error, Physical, Result, dispatch_physical};

/// Up to this many ranges, every range is compared with all cells at once; with more, every cell is looked up among them.
pub(crate) const FEW: usize = 4;

/// The cells whose coordinates are selected on every dimension. Columns and ranges come in the order of the
/// dimensions.
///
/// Floats are compared by value: -0.0 equals 0.0, and NaN is in no range, except where a dimension is not restricted
/// at all ([`RangeSet::is_all`]).
///
/// # Errors
/// As [`select_column`], and when the columns differ in length.
pub fn select_cells(columns: &[Column<'_>], ranges: &[RangeSet]) -> Result<BitMask> {
    if columns.len() != ranges.len() {
        return Err(Error::invalid(format!(
            "ranges on {} dimensions were given for {} columns",
            ranges.len(),
            columns.len()
        )));
    }
    let mut mask = BitMask::ones(columns.first().map_or(0, Column::cell_count));
    for (column, ranges) in columns.iter().zip(ranges) {
        select_column(column, ranges, &mut mask)?;
    }
    Ok(mask)
}

/// Unsets the cells whose coordinate no range selects.
///
/// # Errors
/// `InvalidArgument` when the ranges are of the other kind than the column, or the mask has another number of cells.
pub fn select_column(column: &Column<'_>, ranges: &RangeSet, mask: &mut BitMask) -> Result<()> {
    if column.cell_count() != mask.len() {
        return Err(Error::invalid(format!(
            "a mask of {} cells does not fit a column of {}",
            mask.len(),
            column.cell_count()
        )));
    }
    if column.is_string() != ranges.is_string() {
        return Err(Error::invalid("the ranges are not of the column's kind"));
    }
    if ranges.is_all() {
        return Ok(());
    }
    let Some(datatype) = column.datatype() else {
        select_strings(column, ranges, mask);
        return Ok(());
    };
    let values = column.number_bytes(0..column.cell_count());
    dispatch_physical!(datatype, T => select_numbers::<T>(values, ranges.intervals(), datatype.is_float(), mask));
    Ok(())
}

/// Unsets the cells whose coordinate has its place outside an interval of a column of numbers. Unlike a range this goes by places alone: each of
/// the two zeros and every NaN has one of its own ([`smalti_types::Physical::ordinal`]), so that intervals that cover all places select each cell once.
///
/// # Errors
/// `InvalidArgument` for a column of strings, or when the mask has another number of cells.
pub fn select_places(column: &Column<'_>, interval: Interval, mask: &mut BitMask) -> Result<()> {
    let Some(datatype) = column.datatype().filter(|_| column.cell_count() == mask.len()) else {
        return Err(Error::invalid("a mask does not fit a column, or it has strings"));
    };
    let values = column.number_bytes(0..column.cell_count());
    if !datatype.is_float() {
        dispatch_physical!(datatype, T => select_numbers::<T>(values, &[interval], false, mask));
        return Ok(());
    }
    dispatch_physical!(datatype, T => {
        let blocks = values.chunks(64 * size_of::<T>()).zip(mask.words_mut());
        for (values, word) in blocks {
            let mut flags = [0u8; 64];
            for (flag, value) in flags.iter_mut().zip(values_of::<T>(values)) {
                *flag = u8::from(interval.contains(value.ordinal()));
            }
            *word &= packed(&flags);
        }
    });
    Ok(())
}

fn select_strings(column: &Column<'_>, ranges: &RangeSet, mask: &mut BitMask) {
    for (idx, word) in mask.words_mut().iter_mut().enumerate() {
        let mut rest = *word;
        while rest != 0 {
            let bit = rest & rest.wrapping_neg();
            rest ^= bit;
            let string = column.string(idx * 64 + bit.trailing_zeros() as usize).unwrap_or_default();
            if !ranges.contains_string(string) {
                *word ^= bit;
            }
        }
    }
}

/// With the vectors that the processor has.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn select_numbers<T: Physical>(values: &[u8], intervals: &[Interval], is_float: bool, mask: &mut BitMask) {
    select_numbers_plain::<T>(values, intervals, is_float, mask);
}

#[inline(always)]
fn select_numbers_plain<T: Physical>(
    values: &[u8],
    intervals: &[Interval],
    is_float: bool,
    mask: &mut BitMask,
) {
    let met = if intervals.len() > FEW { met_by::<T>(values, intervals) } else { intervals };
    let (ends, count) = ends_of::<T>(met, is_float);
    let blocks = values.chunks(64 * size_of::<T>()).zip(mask.words_mut()).filter(|(_, word)| **word != 0);
    match ends.get(..count).filter(|_| met.len() <= FEW) {
        Some([]) => mask.words_mut().fill(0),
        Some(&[(lo, hi)]) => {
            for (values, word) in blocks {
                *word &= in_range(values, lo, hi);
            }
        }
        Some(few) => {
            for (values, word) in blocks {
                *word &= few.iter().fold(0, |any, &(lo, hi)| any | in_range(values, lo, hi));
            }
        }
        None => {
            let clipped: Vec<Interval> = clipped::<T>(met, is_float).collect();
            let shelves = Shelves::new(&clipped);
            for (values, word) in blocks {
                let mut flags = [0u8; 64];
                for (flag, value) in flags.iter_mut().zip(values_of::<T>(values)) {
                    *flag = u8::from(shelves.holds(value.ordinal()));
                }
                *word &= packed(&flags);
            }
        }
    }
}

/// The first ends of intervals as values, and how many there are.
#[inline(always)]
pub(crate) fn ends_of<T: Physical>(intervals: &[Interval], is_float: bool) -> ([(T, T); FEW], usize) {
    let mut ends = [(T::from_ordinal(0), T::from_ordinal(0)); FEW];
    let mut count = 0;
    for (interval, ends) in clipped::<T>(intervals, is_float).zip(&mut ends) {
        *ends = (T::from_ordinal(interval.lo), T::from_ordinal(interval.hi));
        count += 1;
    }
    (ends, count)
}

/// What intervals have of the numbers of a type.
#[inline(always)]
fn clipped<T: Physical>(intervals: &[Interval], is_float: bool) -> impl Iterator<Item = Interval> {
    let type_bounds = number_bounds::<T>(is_float);
    intervals.iter().filter_map(move |interval| interval.intersect(type_bounds))
}

/// Of many intervals those between the least and the greatest value: a tile meets few of them.
fn met_by<'i, T: Physical>(values: &[u8], intervals: &'i [Interval]) -> &'i [Interval] {
    let (lo, hi) = values_of::<T>(values).fold((u64::MAX, 0), |(lo, hi), value| {
        let ordinal = value.ordinal();
        (ordinal.min(lo), ordinal.max(hi))
    });
    // The two zeros of floats are neighbours and the same value.
    let (lo, hi) = (lo.saturating_sub(1), hi.saturating_add(1));
    let first = intervals.partition_point(|interval| interval.hi < lo);
    let behind = intervals.partition_point(|interval| interval.lo <= hi);
    intervals.get(first..behind).unwrap_or_default()
}

/// The ordinals of all numbers of a type: all of them for integers, those between the infinities for floats.
fn number_bounds<T: Physical>(is_float: bool) -> Interval {
    let greatest = u64::MAX >> (64 - 8 * size_of::<T>() as u32);
    if !is_float {
        return Interval { lo: 0, hi: greatest };
    }
    let infinity = if size_of::<T>() == 4 { f32::INFINITY.ordinal() } else { f64::INFINITY.ordinal() };
    Interval { lo: greatest - infinity, hi: infinity }
}

/// Many intervals, in order and apart, and where to look for a value among them.
struct Shelves<'i> {
    intervals: &'i [Interval],
    /// The least value that is looked up.
    base: u64,
    /// How many values a shelf has, as a power of two.
    shift: u32,
    /// For each shelf, and for the end of the last, the first interval that does not end before it.
    firsts: Vec<u32>,
}

impl<'i> Shelves<'i> {
    /// Shelves for each interval: most of them have one at most.
    const FOR_EACH: u64 = 4;
    const MOST: u64 = 1 << 12;

    fn new(intervals: &'i [Interval]) -> Self {
        let base = intervals.first().map_or(0, |first| first.lo);
        let span = intervals.last().map_or(0, |last| last.hi).saturating_sub(base);
        let shelf_count = (intervals.len() as u64).saturating_mul(Self::FOR_EACH).min(Self::MOST);
        let shift = (span / shelf_count.max(1)).checked_ilog2().map_or(0, |bits| bits + 1);
        let mut first = 0;
        let firsts = (0..=(span >> shift) + 1)
            .map(|shelf| {
                let start = u128::from(base) + (u128::from(shelf) << shift);
                first +=
                    intervals[first..].iter().take_while(|interval| u128::from(interval.hi) < start).count();
                first as u32
            })
            .collect();
        Shelves { intervals, base, shift, firsts }
    }

    #[inline(always)]
    fn holds(&self, ordinal: u64) -> bool {
        let shelf = (ordinal.wrapping_sub(self.base) >> self.shift) as usize;
        let Some(&[first, behind]) = self.firsts.get(shelf..).and_then(<[u32]>::first_chunk) else {
            return false;
        };
        let between = self.intervals.get(first as usize..behind as usize).unwrap_or_default();
        let at = first as usize + between.partition_point(|interval| interval.hi < ordinal);
        self.intervals.get(at).is_some_and(|interval| interval.lo <= ordinal)
    }
}

/// Which of 64 values at most are in a range, one bit each.
#[inline(always)]
pub(crate) fn in_range<T: Physical>(values: &[u8], lo: T, hi: T) -> u64 {
    let are_in = |values| values_of::<T>(values).map(|value| (value >= lo) & (value <= hi));
    // Bits are put together as wide as the values, in vectors of their own: as many values as such a word has bits.
    match size_of::<T>() {
        8 => are_in(values).enumerate().fold(0, |word, (bit, is_in)| word | u64::from(is_in) << bit),
        4 => {
            let halves = values.chunks(32 * size_of::<T>()).enumerate();
            halves.fold(0, |word, (half, values)| {
                let bits = are_in(values).enumerate();
                let bits = bits.fold(0u32, |word, (bit, is_in)| word | u32::from(is_in) << bit);
                word | u64::from(bits) << (32 * half)
            })
        }
        _ => {
            let mut flags = [0u8; 64];
            flags.iter_mut().zip(are_in(values)).for_each(|(flag, is_in)| *flag = u8::from(is_in));
            packed(&flags)
        }
    }
}

/// Packs 64 bytes that are 0 or 1 into bits. The product moves bit `8 i` to bit `56 + i`.
#[inline(always)]
pub(crate) fn packed(flags: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        word |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some intervals between two values, in order and apart.
    fn intervals(seed: &mut u64, lo: u64, hi: u64, count: u64) -> Vec<Interval> {
        let mut ends: Vec<u64> = (0..2 * count)
            .map(|_| {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                lo + (*seed >> 11) % (hi - lo).saturating_add(1).max(1)
            })
            .collect();
        ends.sort_unstable();
        ends.dedup();
        ends.as_chunks().0.iter().map(|&[lo, hi]| Interval { lo, hi }).collect()
    }

    #[test]
    fn intervals_of_all_places_select_each_cell_once() {
        let floats = [f64::NEG_INFINITY, -7.5, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN, -f64::NAN];
        let numbers = [i64::MIN, -7, -1, 0, 1, 2, 1 << 40, i64::MAX];
        for (datatype, bytes) in [
            (smalti_types::Datatype::Float64, bytemuck::cast_slice::<f64, u8>(&floats)),
            (smalti_types::Datatype::Int64, bytemuck::cast_slice::<i64, u8>(&numbers)),
        ] {
            let column = Column::numbers(datatype, bytes).unwrap();
            let mut ends: Vec<u64> =
                bytes.as_chunks::<8>().0.iter().map(|value| datatype.ordinal(value).unwrap()).collect();
            ends.sort_unstable();
            let (mut from, mut seen) = (0, vec![0; floats.len()]);
            for hi in ends.into_iter().chain([u64::MAX]) {
                let mut mask = BitMask::ones(floats.len());
                select_places(&column, Interval { lo: from, hi }, &mut mask).unwrap();
                mask.iter_cells().for_each(|cell| seen[cell] += 1);
                if hi == u64::MAX {
                    break;
                }
                from = hi + 1;
            }
            assert_eq!(seen, [1; 8], "{datatype}");
        }
    }

    /// Whether the processor has wide vectors or not, the same cells are found.
    #[test]
    fn cells_found_in_wide_vectors_are_those_of_the_plain_code() {
        fn check<T: Physical>(is_float: bool) {
            let mut seed = 7;
            let bounds = number_bounds::<T>(is_float);
            let values: Vec<u8> = intervals(&mut seed, bounds.lo, bounds.hi, 1000)
                .iter()
                .flat_map(|interval| bytemuck::bytes_of(&T::from_ordinal(interval.lo)).to_vec())
                .collect();
            let count = values.len() / size_of::<T>();
            for of_ranges in [0, 1, 3, FEW as u64, 40] {
                let some = intervals(&mut seed, bounds.lo, bounds.hi, of_ranges);
                let (mut wide, mut plain) = (BitMask::ones(count), BitMask::ones(count));
                select_numbers::<T>(&values, &some, is_float, &mut wide);
                select_numbers_plain::<T>(&values, &some, is_float, &mut plain);
                let found = |mask: &BitMask| mask.iter_cells().collect::<Vec<_>>();
                assert_eq!(found(&wide), found(&plain), "{of_ranges} ranges");
                let is_in = |value: T| some.iter().any(|interval| interval.contains(value.ordinal()));
                let one_by_one = values_of::<T>(&values).enumerate().filter(|&(_, value)| is_in(value));
                assert_eq!(found(&plain), one_by_one.map(|(cell, _)| cell).collect::<Vec<_>>());
                assert_eq!(plain.any(), of_ranges > 0, "{of_ranges} ranges");
            }
        }
        check::<u8>(false);
        check::<i16>(false);
        check::<u32>(false);
        check::<i64>(false);
        check::<f32>(true);
        check::<f64>(true);
    }

    #[test]
    fn values_are_found_among_many_intervals() {
        let mut seed = 3;
        for (lo, hi, count) in [
            (0, u64::MAX, 5),
            (0, u64::MAX, 3000),
            (0, 9, 5),
            (1 << 63, (1 << 63) + 1000, 300),
            (u64::MAX - 100, u64::MAX, 40),
        ] {
            let mut some = intervals(&mut seed, lo, hi, count);
            // Most of the others lie on one shelf then.
            some.extend(
                (some.last().is_some_and(|last| last.hi < u64::MAX - 5))
                    .then_some(Interval { lo: u64::MAX - 2, hi: u64::MAX }),
            );
            let shelves = Shelves::new(&some);
            let near = |end: u64| [end.wrapping_sub(1), end, end.wrapping_add(1)];
            let values =
                some.iter().flat_map(|interval| near(interval.lo).into_iter().chain(near(interval.hi)));
            for value in values.chain([0, 1, 1 << 62, u64::MAX]) {
                let expected = some.iter().any(|interval| interval.lo <= value && value <= interval.hi);
                assert_eq!(shelves.holds(value), expected, "{value} of {count} intervals from {lo} to {hi}");
            }
        }
        assert!(!Shelves::new(&[]).holds(0));
    }
}
