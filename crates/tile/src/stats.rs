//! Minimum, maximum, sum and null count of the cells of a tile or a fragment.
//!
//! Specification: `fragment.md`, tile mins/maxes, sums, null counts. Which fields carry which statistics, and how
//! sums saturate, follows the reference. NaN takes part in sums only, so that bounds hold for every number.

use crate::ColumnRef;
use multiversion::multiversion;
use smalti_types::{CellValNum, Datatype, Physical, Scalar, dispatch_physical};
use std::ops::Range;

/// What statistics a field carries.
#[derive(Debug, Clone, Copy)]
pub struct StatsKind {
    datatype: Datatype,
    cell_val_num: CellValNum,
    cell_byte_len: usize,
    /// Minimum and maximum: single numbers, and `CHAR` or ASCII text of any length.
    pub has_min_max: bool,
    /// Sum: single numbers.
    pub has_sum: bool,
}

/// The statistics of some cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// The least value, little-endian; empty when there is none.
    pub min: Vec<u8>,
    /// The greatest value, little-endian; empty when there is none.
    pub max: Vec<u8>,
    /// The sum as `i64`, `u64` or `f64`, little-endian; saturated at the type's bounds.
    pub sum: [u8; 8],
    /// The number of null cells.
    pub null_count: u64,
}

/// A sum before it is cut to 64 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Total {
    /// Of signed integers, dates and times.
    Signed(i128),
    /// Of unsigned integers.
    Unsigned(u128),
    /// Of floats.
    Float(f64),
}

/// Gathers the statistics of one tile, run of cells by run of cells.
#[derive(Debug, Clone)]
pub struct StatsBuilder {
    kind: StatsKind,
    min: Option<Vec<u8>>,
    max: Option<Vec<u8>>,
    total: Total,
    null_count: u64,
}

impl StatsKind {
    /// The statistics of an attribute, or of a dimension (which carries none but its rectangles).
    pub fn new(datatype: Datatype, cell_val_num: CellValNum, is_dimension: bool) -> Self {
        use Datatype::*;
        let is_single = cell_val_num == CellValNum::ONE;
        let is_text = matches!(datatype, Char | StringAscii);
        let is_opaque =
            matches!(datatype, Any | Blob | GeomWkb | GeomWkt) || (datatype.is_string() && !is_text);
        StatsKind {
            datatype,
            cell_val_num,
            cell_byte_len: cell_val_num.fixed().unwrap_or(1) * datatype.byte_len(),
            has_min_max: !is_dimension && !is_opaque && (is_single || is_text),
            has_sum: !is_opaque && is_single && datatype != StringAscii,
        }
    }

    /// Whether the field's cells are var-sized.
    pub fn is_var(&self) -> bool {
        self.cell_val_num.is_var()
    }

    /// The statistics of no cells: what a fragment starts from, and an all-null tile ends with.
    pub fn empty(&self) -> Stats {
        StatsBuilder::new(*self).finish()
    }

    /// Folds the statistics of tiles into those of their fragment.
    pub fn merge<'a>(&self, tiles: impl Iterator<Item = &'a Stats>) -> Stats {
        let mut all = StatsBuilder::new(*self);
        for tile in tiles {
            all.add_tile(tile);
        }
        all.finish()
    }

    fn is_bytewise(&self) -> bool {
        matches!(self.datatype, Datatype::Char | Datatype::StringAscii)
    }
}

impl StatsBuilder {
    /// Nothing gathered yet.
    pub fn new(kind: StatsKind) -> Self {
        let total = match kind.datatype.physical() {
            smalti_types::PhysicalKind::F32 | smalti_types::PhysicalKind::F64 => Total::Float(0.0),
            smalti_types::PhysicalKind::I8
            | smalti_types::PhysicalKind::I16
            | smalti_types::PhysicalKind::I32
            | smalti_types::PhysicalKind::I64 => Total::Signed(0),
            _ if kind.datatype == Datatype::Char => Total::Signed(0),
            _ => Total::Unsigned(0),
        };
        StatsBuilder { kind, min: None, max: None, total, null_count: 0 }
    }

    /// Takes in the cells of a range.
    ///
    /// # Panics
    /// When the range is not within the column.
    #[expect(clippy::indexing_slicing, reason = "its documentation says so")]
    pub fn add(&mut self, column: ColumnRef<'_>, cells: Range<usize>) {
        if let Some(validity) = column.validity {
            self.null_count +=
                validity[cells.clone()].iter().map(|&valid| u64::from(valid == 0)).sum::<u64>();
        }
        if !self.kind.has_min_max && !self.kind.has_sum {
            return;
        }
        if self.kind.is_bytewise() {
            self.add_text(column, cells);
        } else {
            dispatch_physical!(self.kind.datatype, T => self.add_numbers::<T>(column, cells));
        }
    }

    /// The number of null cells so far.
    pub fn null_count(&self) -> u64 {
        self.null_count
    }

    /// The sum so far.
    pub fn total(&self) -> Total {
        self.total
    }

    /// The least value so far, little-endian; `None` before the first.
    pub fn min(&self) -> Option<&[u8]> {
        self.min.as_deref()
    }

    /// The greatest value so far, little-endian; `None` before the first.
    pub fn max(&self) -> Option<&[u8]> {
        self.max.as_deref()
    }

    /// The statistics of all cells taken in.
    pub fn finish(self) -> Stats {
        let kind = self.kind;
        let (min, max) = if !kind.has_min_max {
            (Vec::new(), Vec::new())
        } else if kind.is_bytewise() {
            let fixed = || if kind.cell_val_num.is_var() { Vec::new() } else { vec![0; kind.cell_byte_len] };
            (self.min.unwrap_or_else(fixed), self.max.unwrap_or_else(fixed))
        } else {
            let (low, high) = dispatch_physical!(kind.datatype, T => (
                bytemuck::bytes_of(&<T as Limits>::LOWEST).to_vec(),
                bytemuck::bytes_of(&<T as Limits>::HIGHEST).to_vec(),
            ));
            (self.min.unwrap_or(high), self.max.unwrap_or(low))
        };
        let sum = if !kind.has_sum {
            [0; 8]
        } else {
            match self.total {
                Total::Signed(total) => {
                    let bound = if total < 0 { i64::MIN } else { i64::MAX };
                    i64::try_from(total).unwrap_or(bound).to_le_bytes()
                }
                Total::Unsigned(total) => u64::try_from(total).unwrap_or(u64::MAX).to_le_bytes(),
                Total::Float(total) => saturate(total).to_le_bytes(),
            }
        };
        Stats { min, max, sum, null_count: self.null_count }
    }

    #[expect(clippy::indexing_slicing, reason = "the cells are those of the column, as `add` wants")]
    fn add_text(&mut self, column: ColumnRef<'_>, cells: Range<usize>) {
        // Nearly all comparisons end among the first bytes.
        let led = |value| (leading(value, &(0..value.len())), value);
        let (mut min, mut max) = (self.min.as_deref().map(led), self.max.as_deref().map(led));
        for cell in cells.clone().filter(|&cell| column.is_valid(cell)) {
            let place = column.cell_range(cell, self.kind.cell_byte_len);
            let (first, value) = (leading(column.data, &place), &column.data[place]);
            if min.is_none_or(|min| (first, value) < min) {
                min = Some((first, value));
            }
            if max.is_none_or(|max| (first, value) > max) {
                max = Some((first, value));
            }
        }
        let (min, max) = (min.map(|(_, min)| min), max.map(|(_, max)| max));
        let (min, max) = (min.map(<[u8]>::to_vec), max.map(<[u8]>::to_vec));
        (self.min, self.max) = (min, max);
        if self.kind.has_sum
            && let Total::Signed(total) = &mut self.total
        {
            *total += cells
                .filter(|&cell| column.is_valid(cell))
                .map(|cell| i128::from(column.data[cell].cast_signed()))
                .sum::<i128>();
        }
    }

    #[expect(clippy::indexing_slicing, reason = "the cells are those of the column, as `add` wants")]
    fn add_numbers<T: Limits>(&mut self, column: ColumnRef<'_>, cells: Range<usize>) {
        let byte_len = size_of::<T>();
        let bytes = &column.data[cells.start * byte_len..cells.end * byte_len];
        let owned;
        let values: &[T] = match bytemuck::try_cast_slice(bytes) {
            Ok(values) => values,
            Err(_) => {
                owned = bytemuck::pod_collect_to_vec::<u8, T>(bytes);
                &owned
            }
        };
        let (low, high, total) = folded(values, column.validity.map(|validity| &validity[cells]));
        if low <= high {
            self.widen(low, high);
        }
        match (&mut self.total, total) {
            (Total::Signed(all), Total::Signed(some)) => *all += some,
            (Total::Unsigned(all), Total::Unsigned(some)) => *all += some,
            (Total::Float(all), Total::Float(some)) => *all += some,
            _ => {}
        }
    }

    fn widen<T: Physical>(&mut self, low: T, high: T) {
        let read = |bytes: &Vec<u8>| bytemuck::pod_read_unaligned::<T>(bytes);
        if self.min.as_ref().map(read).is_none_or(|min| low < min) {
            self.min = Some(bytemuck::bytes_of(&low).to_vec());
        }
        if self.max.as_ref().map(read).is_none_or(|max| high > max) {
            self.max = Some(bytemuck::bytes_of(&high).to_vec());
        }
    }

    /// Takes in what another gathered of the same kind of cells, as if each of these were there so many times.
    pub fn add_times(&mut self, cells: &StatsBuilder, times: u64) {
        if times == 0 {
            return;
        }
        self.null_count = self.null_count.saturating_add(cells.null_count.saturating_mul(times));
        if let (Some(low), Some(high)) = (&cells.min, &cells.max) {
            if self.kind.is_bytewise() {
                if self.min.as_ref().is_none_or(|min| low < min) {
                    self.min = Some(low.clone());
                }
                if self.max.as_ref().is_none_or(|max| high > max) {
                    self.max = Some(high.clone());
                }
            } else {
                dispatch_physical!(self.kind.datatype, T => {
                    let read = |bytes: &Vec<u8>| bytemuck::pod_read_unaligned::<T>(bytes);
                    self.widen(read(low), read(high));
                });
            }
        }
        match (&mut self.total, cells.total) {
            (Total::Signed(all), Total::Signed(some)) => {
                *all = all.saturating_add(some.saturating_mul(i128::from(times)));
            }
            (Total::Unsigned(all), Total::Unsigned(some)) => {
                *all = all.saturating_add(some.saturating_mul(u128::from(times)));
            }
            (Total::Float(all), Total::Float(some)) => *all += some * times as f64,
            _ => {}
        }
    }

    /// Takes in whole numbers that follow each other, both ends included, by their ordinals, each so many times.
    pub fn add_sequence(&mut self, lo: u64, hi: u64, times: u64) {
        if times == 0 || lo > hi || !(self.kind.has_sum || self.kind.has_min_max) {
            return;
        }
        dispatch_physical!(self.kind.datatype, T => self.widen(T::from_ordinal(lo), T::from_ordinal(hi)));
        let number = |ordinal| {
            let bytes = self.kind.datatype.bytes_of_ordinal(ordinal);
            Scalar::read(self.kind.datatype, &bytes).ok().and_then(Scalar::as_i128).unwrap_or_default()
        };
        let (ends, len) = (number(lo) + number(hi), u128::from(hi - lo) + 1);
        // Either the length or the sum of both ends is even.
        let (ends, len) = if len.is_multiple_of(2) { (ends, len / 2) } else { (ends / 2, len) };
        let times = len.saturating_mul(u128::from(times));
        match &mut self.total {
            Total::Signed(total) => {
                let sum = ends.saturating_mul(i128::try_from(times).unwrap_or(i128::MAX));
                *total = total.saturating_add(sum);
            }
            Total::Unsigned(total) => {
                *total = total.saturating_add(ends.unsigned_abs().saturating_mul(times));
            }
            Total::Float(total) => *total += ends as f64 * times as f64,
        }
    }

    /// Takes in the statistics of a tile.
    ///
    /// # Panics
    /// When the bounds of numbers are not of the type's length.
    pub fn add_tile(&mut self, tile: &Stats) {
        self.null_count += tile.null_count;
        if self.kind.has_min_max {
            if self.kind.is_bytewise() {
                if self.min.as_ref().is_none_or(|min| tile.min < *min) {
                    self.min = Some(tile.min.clone());
                }
                if self.max.as_ref().is_none_or(|max| tile.max > *max) {
                    self.max = Some(tile.max.clone());
                }
            } else {
                dispatch_physical!(self.kind.datatype, T => {
                    let low: T = bytemuck::pod_read_unaligned(&tile.min);
                    let high: T = bytemuck::pod_read_unaligned(&tile.max);
                    if low <= high {
                        self.widen(low, high);
                    }
                });
            }
        }
        if self.kind.has_sum {
            match &mut self.total {
                Total::Signed(total) => *total += i128::from(i64::from_le_bytes(tile.sum)),
                Total::Unsigned(total) => *total += u128::from(u64::from_le_bytes(tile.sum)),
                Total::Float(total) => *total += f64::from_le_bytes(tile.sum),
            }
        }
    }
}

/// The first eight bytes of a value in `data` as one number, zeros behind a shorter one: numbers that differ are ordered as values are.
fn leading(data: &[u8], value: &Range<usize>) -> u64 {
    let whole = |bytes: &[u8]| {
        let mut first = [0; 8];
        first.iter_mut().zip(bytes).for_each(|(first, byte)| *first = *byte);
        u64::from_be_bytes(first)
    };
    let behind = data.get(value.start..).unwrap_or_default();
    // What follows in memory is read too, and taken out: lengths change from value to value, and no branch hangs on them.
    let first = behind.first_chunk().map_or_else(|| whole(behind), |first| u64::from_be_bytes(*first));
    let bit_count = u32::try_from(8 * value.len().min(8)).unwrap_or(u64::BITS);
    first & !u64::MAX.checked_shr(bit_count).unwrap_or(0)
}

fn saturate(total: f64) -> f64 {
    if total.is_infinite() { f64::MAX.copysign(total) } else { total }
}

/// A machine type with its bounds and its folds.
trait Limits: Physical {
    const LOWEST: Self;
    const HIGHEST: Self;
    /// Least, greatest and sum. The least lies above the greatest when there are no numbers.
    fn fold(values: &[Self]) -> (Self, Self, Total);
    /// The same over the cells whose validity byte is not 0.
    fn fold_valid(values: &[Self], validity: &[u8]) -> (Self, Self, Total);
}

/// The bounds and the sum of values, of those whose validity byte is not 0, with the vectors that the processor has.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn folded<T: Limits>(values: &[T], validity: Option<&[u8]>) -> (T, T, Total) {
    match validity {
        Some(validity) => T::fold_valid(values, validity),
        None => T::fold(values),
    }
}

/// Values that are looked at for their bounds and then for their sum, while they are in the fastest cache.
const BLOCK_BYTE_LEN: usize = 8 << 10;

macro_rules! integer_limits {
    ($($t:ty, $wide:ty, $total:ident, $sum:expr;)*) => {$(
        impl Limits for $t {
            const LOWEST: Self = <$t>::MIN;
            const HIGHEST: Self = <$t>::MAX;
            // Bounds and sums go through a block one after the other: each alone is a loop over vectors of the type's own width.
            #[inline(always)]
            fn fold(values: &[Self]) -> (Self, Self, Total) {
                let (mut low, mut high, mut total) = (<$t>::MAX, <$t>::MIN, 0 as $wide);
                for block in values.chunks(BLOCK_BYTE_LEN / size_of::<$t>()) {
                    for &value in block {
                        low = low.min(value);
                        high = high.max(value);
                    }
                    total += $sum(block);
                }
                (low, high, Total::$total(total))
            }
            #[inline(always)]
            fn fold_valid(values: &[Self], validity: &[u8]) -> (Self, Self, Total) {
                let (mut low, mut high, mut total) = (<$t>::MAX, <$t>::MIN, 0 as $wide);
                for (&value, &valid) in values.iter().zip(validity) {
                    if valid != 0 {
                        low = low.min(value);
                        high = high.max(value);
                        total += value as $wide;
                    }
                }
                (low, high, Total::$total(total))
            }
        }
    )*};
}

/// The sum of a block of narrow numbers: `$most` of them cannot overflow `$narrow`.
macro_rules! narrow_sum {
    ($t:ty, $narrow:ty, $most:expr, $wide:ty) => {
        |block: &[$t]| {
            let sum_of = |some: &[$t]| some.iter().map(|&value| <$narrow>::from(value)).sum::<$narrow>();
            block.chunks($most).map(|some| <$wide>::from(sum_of(some))).sum::<$wide>()
        }
    };
}

/// The sum of a block of numbers of 64 bits, of their halves: less than 2^32 of these cannot overflow.
#[inline(always)]
fn long_sum(block: impl ExactSizeIterator<Item = u64>) -> u128 {
    let (mut low, mut high) = (0_u64, 0_u64);
    for value in block {
        low += value & u64::from(u32::MAX);
        high += value >> 32;
    }
    (u128::from(high) << 32) + u128::from(low)
}

/// The same of signed ones, each 2^63 above what it is.
#[inline(always)]
fn long_signed_sum(block: &[i64]) -> i128 {
    let sum = long_sum(block.iter().map(|&value| value.cast_unsigned() ^ (1 << 63)));
    sum.cast_signed() - ((block.len() as i128) << 63)
}

integer_limits! {
    i8, i128, Signed, narrow_sum!(i8, i16, 1 << 8, i128);
    i16, i128, Signed, narrow_sum!(i16, i32, 1 << 16, i128);
    i32, i128, Signed, narrow_sum!(i32, i64, 1 << 32, i128);
    i64, i128, Signed, long_signed_sum;
    u8, u128, Unsigned, narrow_sum!(u8, u16, 1 << 8, u128);
    u16, u128, Unsigned, narrow_sum!(u16, u32, 1 << 16, u128);
    u32, u128, Unsigned, narrow_sum!(u32, u64, 1 << 32, u128);
    u64, u128, Unsigned, |block: &[u64]| long_sum(block.iter().copied());
}

/// Independent accumulators, so that the additions of floats overlap.
const LANES: usize = 16;

macro_rules! float_limits {
    ($($t:ty)*) => {$(
        impl Limits for $t {
            const LOWEST: Self = <$t>::MIN;
            const HIGHEST: Self = <$t>::MAX;
            #[expect(clippy::indexing_slicing, reason = "a lane is less than their number, which is the length of what is indexed")]
            #[inline(always)]
            fn fold(values: &[Self]) -> (Self, Self, Total) {
                let mut low = [<$t>::INFINITY; LANES];
                let mut high = [<$t>::NEG_INFINITY; LANES];
                let mut sum = [0f64; LANES];
                let (lines, rest) = values.as_chunks::<LANES>();
                for line in lines {
                    for lane in 0..LANES {
                        let value = line[lane];
                        low[lane] = if value < low[lane] { value } else { low[lane] };
                        high[lane] = if value > high[lane] { value } else { high[lane] };
                        sum[lane] += value as f64;
                    }
                }
                let mut total: f64 = sum.iter().sum();
                let (mut least, mut most) = (<$t>::INFINITY, <$t>::NEG_INFINITY);
                for &value in low.iter().chain(rest) {
                    least = if value < least { value } else { least };
                }
                for &value in high.iter().chain(rest) {
                    most = if value > most { value } else { most };
                }
                for &value in rest {
                    total += value as f64;
                }
                (least, most, Total::Float(total))
            }
            #[inline(always)]
            fn fold_valid(values: &[Self], validity: &[u8]) -> (Self, Self, Total) {
                let (mut low, mut high, mut total) = (<$t>::INFINITY, <$t>::NEG_INFINITY, 0f64);
                for (&value, &valid) in values.iter().zip(validity) {
                    if valid != 0 {
                        low = if value < low { value } else { low };
                        high = if value > high { value } else { high };
                        total += value as f64;
                    }
                }
                (low, high, Total::Float(total))
            }
        }
    )*};
}
float_limits!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn stats<T: bytemuck::Pod>(datatype: Datatype, values: &[T], validity: Option<&[u8]>) -> Stats {
        let mut builder = StatsBuilder::new(StatsKind::new(datatype, CellValNum::ONE, false));
        let column = ColumnRef { data: bytemuck::cast_slice(values), offsets: None, validity };
        builder.add(column, 0..values.len() / 2);
        builder.add(column, values.len() / 2..values.len());
        builder.finish()
    }

    #[test]
    fn leading_bytes_are_ordered_as_values_are() {
        let texts: Vec<&[u8]> = vec![
            b"",
            b"\0",
            b"\0\0",
            b"a",
            b"a\0",
            b"aa",
            b"ab",
            b"abcd",
            b"abcde",
            b"abcdefg",
            b"abcdefgh",
            b"abcdefghi",
            b"b",
            b"\xff",
        ];
        for (at, one) in texts.iter().enumerate() {
            for (other_at, other) in texts.iter().enumerate() {
                // In front of something else, and at the end.
                let both = [*one, *other].concat();
                let places = (0..one.len(), one.len()..both.len());
                let first = (leading(&both, &places.0), leading(&both, &places.1));
                let ordered = (first.0, *one).cmp(&(first.1, *other));
                assert_eq!(ordered, at.cmp(&other_at), "{one:?}, {other:?}");
            }
        }
    }

    #[test]
    fn numbers_have_bounds_and_a_sum_without_their_nulls() {
        let found = stats(Datatype::Int32, &[5i32, -7, 100, 3], Some(&[1, 1, 0, 1]));
        assert_eq!(found.min, (-7i32).to_le_bytes());
        assert_eq!(found.max, 5i32.to_le_bytes());
        assert_eq!(found.sum, 1i64.to_le_bytes());
        assert_eq!(found.null_count, 1);
    }

    /// All values of short types and the ends of long ones, more than a block of each.
    #[test]
    fn bounds_and_sums_of_blocks_are_those_of_values_one_by_one() {
        macro_rules! check {
            ($($t:ty, $datatype:ident;)*) => {$(
                let ends = [<$t>::MIN, <$t>::MAX, <$t>::MIN + 1, <$t>::MAX - 1, 0, 1];
                let mut state = 1_u64;
                let mixed: Vec<$t> = (0..30_001)
                    .map(|at| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        if at % 3 == 0 { ends[at / 3 % 6] } else { (state >> 8) as $t }
                    })
                    .collect();
                let least = vec![<$t>::MIN; 20_000];
                let greatest = vec![<$t>::MAX; 20_000];
                for values in [&mixed[..], &mixed[1..700], &least, &greatest, &[]] {
                    assert_eq!(folded(values, None), <$t>::fold(values));
                    let validity: Vec<u8> = values.iter().map(|&value| u8::from(value as i128 % 3 == 0)).collect();
                    assert_eq!(folded(values, Some(&validity)), <$t>::fold_valid(values, &validity));
                    let kind = StatsKind::new(Datatype::$datatype, CellValNum::ONE, false);
                    let mut builder = StatsBuilder::new(kind);
                    builder.add(ColumnRef::fixed(bytemuck::cast_slice(values)), 0..values.len());
                    let sum = values.iter().map(|&value| value as i128).sum::<i128>();
                    let total = match builder.total() {
                        Total::Signed(total) => total,
                        Total::Unsigned(total) => total as i128,
                        Total::Float(_) => unreachable!(),
                    };
                    assert_eq!(total, sum, "{}", stringify!($t));
                    let bytes = |value: Option<&$t>| value.map(|value| value.to_le_bytes().to_vec());
                    assert_eq!(builder.min().map(<[u8]>::to_vec), bytes(values.iter().min()));
                    assert_eq!(builder.max().map(<[u8]>::to_vec), bytes(values.iter().max()));
                }
            )*};
        }
        check! {
            i8, Int8; i16, Int16; i32, Int32; i64, Int64; u8, UInt8; u16, UInt16; u32, UInt32; u64, UInt64;
        }
    }

    /// Wide vectors add floats in the order of the plain code.
    #[test]
    fn sums_of_floats_are_the_same_to_the_bit_on_all_processors() {
        let values: Vec<f32> = (0..10_007).map(|at| 1e9 / (at as f32 - 5000.5)).collect();
        let long: Vec<f64> = values.iter().map(|&value| f64::from(value).sqrt()).collect();
        let validity: Vec<u8> = (0..values.len()).map(|at| u8::from(at % 7 > 1)).collect();
        assert_eq!(folded(&values, None), f32::fold(&values));
        assert_eq!(folded(&values, Some(&validity)), f32::fold_valid(&values, &validity));
        assert!(long.iter().any(|value| value.is_nan()));
        let bits = |(low, high, total): (f64, f64, Total)| {
            let Total::Float(total) = total else { unreachable!() };
            [low, high, total].map(f64::to_bits)
        };
        assert_eq!(bits(folded(&long, None)), bits(f64::fold(&long)));
    }

    #[test]
    fn sums_saturate() {
        assert_eq!(stats(Datatype::Int64, &[i64::MAX, 1], None).sum, i64::MAX.to_le_bytes());
        assert_eq!(stats(Datatype::UInt64, &[u64::MAX, 1], None).sum, u64::MAX.to_le_bytes());
        assert_eq!(stats(Datatype::Float64, &[f64::MAX, f64::MAX], None).sum, f64::MAX.to_le_bytes());
    }

    #[test]
    fn cells_that_repeat_are_multiplied() {
        for (datatype, total) in
            [(Datatype::Int16, Total::Signed(-21)), (Datatype::UInt8, Total::Unsigned(765))]
        {
            let kind = StatsKind::new(datatype, CellValNum::ONE, false);
            let (mut one, mut all) = (StatsBuilder::new(kind), StatsBuilder::new(kind));
            let bytes: &[u8] = if datatype == Datatype::Int16 { &[0xF9, 0xFF] } else { &[255] };
            one.add(ColumnRef::fixed(bytes), 0..1);
            all.add_times(&one, 3);
            assert_eq!((all.total(), all.min(), all.max()), (total, Some(bytes), Some(bytes)));
        }
        let kind = StatsKind::new(Datatype::Float32, CellValNum::ONE, false);
        let (mut one, mut all) = (StatsBuilder::new(kind), StatsBuilder::new(kind));
        one.add(ColumnRef { data: &[0; 4], offsets: None, validity: Some(&[0]) }, 0..1);
        all.add_times(&one, u64::MAX);
        assert_eq!((all.null_count(), all.min()), (u64::MAX, None));
    }

    #[test]
    fn the_sum_of_numbers_that_follow_each_other_is_known_without_them() {
        for (lo, hi) in [(-3i8, 4), (-3, 3), (5, 5), (i8::MIN, i8::MAX)] {
            let mut builder = StatsBuilder::new(StatsKind::new(Datatype::Int8, CellValNum::ONE, false));
            builder.add_sequence(lo.ordinal(), hi.ordinal(), 7);
            let sum = (lo..=hi).map(|number| i128::from(number) * 7).sum();
            assert_eq!(builder.total(), Total::Signed(sum));
            assert_eq!((builder.min(), builder.max()), (Some(&[lo as u8][..]), Some(&[hi as u8][..])));
        }
        let mut builder = StatsBuilder::new(StatsKind::new(Datatype::UInt64, CellValNum::ONE, false));
        builder.add_sequence(0, u64::MAX, 1);
        assert_eq!(builder.total(), Total::Unsigned(u128::from(u64::MAX) << 63));
    }

    #[test]
    fn nan_does_not_spoil_the_bounds() {
        let values: Vec<f32> = (0..100).map(|i| if i % 7 == 3 { f32::NAN } else { i as f32 }).collect();
        let found = stats(Datatype::Float32, &values, None);
        assert_eq!(found.min, 0f32.to_le_bytes());
        assert_eq!(found.max, 99f32.to_le_bytes());
    }

    #[test]
    fn an_all_null_tile_has_inverted_bounds() {
        let found = stats(Datatype::UInt8, &[9u8, 9], Some(&[0, 0]));
        assert_eq!((found.min, found.max, found.null_count), (vec![255], vec![0], 2));
    }

    #[test]
    fn text_has_bounds_in_the_order_of_bytes() {
        let mut builder = StatsBuilder::new(StatsKind::new(Datatype::StringAscii, CellValNum::Var, false));
        builder.add(ColumnRef::var(b"bbabz", &[0, 2, 3, 4, 5]), 0..4);
        let found = builder.finish();
        assert_eq!((found.min, found.max), (b"a".to_vec(), b"z".to_vec()));
    }

    #[test]
    fn tiles_merge_into_their_fragment() {
        let kind = StatsKind::new(Datatype::Int16, CellValNum::ONE, false);
        let tiles =
            [stats(Datatype::Int16, &[3i16, 4], None), stats(Datatype::Int16, &[-1i16, 2], Some(&[1, 0]))];
        let all = kind.merge(tiles.iter());
        assert_eq!((all.min, all.max), ((-1i16).to_le_bytes().to_vec(), 4i16.to_le_bytes().to_vec()));
        assert_eq!((all.sum, all.null_count), (6i64.to_le_bytes(), 1));
    }
}
