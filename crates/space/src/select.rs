//! Which cells some ranges select.

use crate::column::{Column, values_of};
use crate::{BitMask, Interval, RangeSet};
use smalti_types::{Error, Physical, Result, dispatch_physical};

/// Up to this many ranges, every range is compared with all cells at once; with more, every cell is looked up.
const FEW: usize = 4;

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

fn select_numbers<T: Physical>(values: &[u8], intervals: &[Interval], is_float: bool, mask: &mut BitMask) {
    let type_bounds = number_bounds::<T>(is_float);
    let met = if intervals.len() > FEW { met_by::<T>(values, intervals) } else { intervals };
    let clipped: Vec<Interval> = met.iter().filter_map(|i| i.intersect(type_bounds)).collect();
    let ends: Vec<(T, T)> = clipped.iter().map(|i| (T::from_ordinal(i.lo), T::from_ordinal(i.hi))).collect();
    let blocks = values.chunks(64 * size_of::<T>()).zip(mask.words_mut()).filter(|(_, word)| **word != 0);
    match ends.as_slice() {
        [] => mask.words_mut().fill(0),
        &[(lo, hi)] => {
            for (values, word) in blocks {
                let mut flags = [0u8; 64];
                flag_range(values, lo, hi, &mut flags);
                *word &= packed(&flags);
            }
        }
        few if few.len() <= FEW => {
            for (values, word) in blocks {
                let mut flags = [0u8; 64];
                for &(lo, hi) in few {
                    flag_range(values, lo, hi, &mut flags);
                }
                *word &= packed(&flags);
            }
        }
        _ => {
            for (values, word) in blocks {
                let mut flags = [0u8; 64];
                for (flag, value) in flags.iter_mut().zip(values_of::<T>(values)) {
                    *flag = u8::from(is_inside(&clipped, value.ordinal()));
                }
                *word &= packed(&flags);
            }
        }
    }
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

fn is_inside(intervals: &[Interval], ordinal: u64) -> bool {
    let at = intervals.partition_point(|interval| interval.hi < ordinal);
    intervals.get(at).is_some_and(|interval| interval.lo <= ordinal)
}

#[inline(always)]
fn flag_range<T: Physical>(values: &[u8], lo: T, hi: T, flags: &mut [u8; 64]) {
    for (flag, value) in flags.iter_mut().zip(values_of::<T>(values)) {
        *flag |= u8::from((value >= lo) & (value <= hi));
    }
}

/// Packs 64 bytes that are 0 or 1 into bits. The product moves bit `8 i` to bit `56 + i`.
#[inline(always)]
fn packed(flags: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        word |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    word
}
