//! From coordinates to places on the Hilbert curve.

use crate::check::Check;
use crate::column::{Column, values_of};
use crate::tile_number::Coordinate;
use crate::{CellOrder, Hilbert, OrderDim};
use rayon::prelude::*;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, Layout, Result, dispatch_physical};

/// Cells whose places are computed together.
const BLOCK: usize = 64;
/// Cells of one parallel task.
const TASK: usize = 64 * BLOCK;

/// The place of every cell on the Hilbert curve of an order, as the format defines it.
///
/// A number is mapped to a bucket along its dimension by its share of the domain, computed in double precision; a
/// string by the bits of its first eight bytes. Columns come in the order of the dimensions.
///
/// # Errors
/// `InvalidArgument` when the order is not Hilbert or the columns do not fit its dimensions; what `check` returns.
pub fn hilbert_values(order: &CellOrder, columns: &[Column<'_>], check: Check<'_>) -> Result<Vec<u64>> {
    if order.cell_order != Layout::Hilbert {
        return Err(Error::invalid(format!("the cell order is {}, not hilbert", order.cell_order)));
    }
    let cell_count = check_columns(&order.dims, columns)?;
    let curve = Hilbert::new(order.dims.len())?;
    let spread = curve.spread_table();
    let mut places = vec![0u64; cell_count];
    let task = |(task_idx, places): (usize, &mut [u64])| {
        check()?;
        let mut axes = vec![[0u64; BLOCK]; order.dims.len()];
        let mut narrow = vec![[0u32; BLOCK]; order.dims.len()];
        for (block_idx, places) in places.chunks_mut(BLOCK).enumerate() {
            let start = task_idx * TASK + block_idx * BLOCK;
            for ((axis, dim), column) in axes.iter_mut().zip(&order.dims).zip(columns) {
                fill_buckets(&curve, dim, column, start..start + places.len(), axis);
            }
            let mut block = [0; BLOCK];
            if narrow_axes(&curve, &axes, &mut narrow) {
                curve.narrow_places(&mut narrow, &spread, &mut block);
            } else {
                curve.places(&mut axes, &spread, &mut block);
            }
            places.copy_from_slice(&block[..places.len()]);
        }
        Ok::<(), Error>(())
    };
    if cell_count <= TASK {
        places.chunks_mut(TASK).enumerate().try_for_each(task)?;
    } else {
        places.par_chunks_mut(TASK).enumerate().shared().try_for_each(task)?;
    }
    Ok(places)
}

/// Copies bucket numbers to half their width and says whether they fit: those of coordinates outside the domain may not.
fn narrow_axes(curve: &Hilbert, axes: &[[u64; BLOCK]], narrow: &mut [[u32; BLOCK]]) -> bool {
    if curve.bits() > u32::BITS {
        return false;
    }
    let mut all = 0;
    for (axis, narrow) in axes.iter().zip(narrow) {
        for (wide, narrow) in axis.iter().zip(narrow) {
            all |= wide;
            *narrow = *wide as u32;
        }
    }
    all <= curve.max_bucket()
}

/// Checks that columns fit dimensions and agree in length, which is returned.
pub(crate) fn check_columns(dims: &[OrderDim], columns: &[Column<'_>]) -> Result<usize> {
    if dims.len() != columns.len() {
        return Err(Error::invalid(format!(
            "{} columns were given for {} dimensions",
            columns.len(),
            dims.len()
        )));
    }
    let cell_count = columns.first().map_or(0, Column::cell_count);
    for (i, (dim, column)) in dims.iter().zip(columns).enumerate() {
        let fits = match column.datatype() {
            Some(datatype) => !dim.is_string() && datatype.physical() == dim.datatype.physical(),
            None => dim.is_string(),
        };
        if !fits {
            return Err(Error::invalid(format!(
                "column {i} is not of the dimension's type {}",
                dim.datatype
            )));
        }
        if column.cell_count() != cell_count {
            return Err(Error::invalid(format!(
                "column {i} has {} cells where the first has {cell_count}",
                column.cell_count()
            )));
        }
    }
    Ok(cell_count)
}

fn fill_buckets(
    curve: &Hilbert,
    dim: &OrderDim,
    column: &Column<'_>,
    cells: std::ops::Range<usize>,
    buckets: &mut [u64; BLOCK],
) {
    if column.is_string() {
        for (bucket, cell) in buckets.iter_mut().zip(cells) {
            *bucket = string_bucket(column.string(cell).unwrap_or_default(), curve.bits());
        }
        return;
    }
    fn fill<T: Coordinate>(curve: &Hilbert, dim: &OrderDim, values: &[u8], buckets: &mut [u64; BLOCK]) {
        let scale = BucketScale::new(
            T::from_ordinal(dim.domain.lo).to_f64(),
            T::from_ordinal(dim.domain.hi).to_f64(),
            curve.max_bucket(),
        );
        for (bucket, value) in buckets.iter_mut().zip(values_of::<T>(values)) {
            *bucket = scale.bucket(value.to_f64());
        }
    }
    let values = column.number_bytes(cells);
    dispatch_physical!(dim.datatype, T => fill::<T>(curve, dim, values, buckets));
}

/// The mapping of numbers to buckets.
#[derive(Debug, Clone, Copy)]
struct BucketScale {
    lo: f64,
    range: f64,
    max_bucket: f64,
}

impl BucketScale {
    fn new(lo: f64, hi: f64, max_bucket: u64) -> Self {
        BucketScale { lo, range: hi - lo, max_bucket: max_bucket as f64 }
    }

    /// Rounding is part of the format: one division, one multiplication, cut off. What has no defined bucket (NaN, and
    /// coordinates outside the domain) gets the one that x86-64 computes, so that such cells sort as they were written.
    #[inline(always)]
    fn bucket(self, value: f64) -> u64 {
        const TOP: f64 = 9_223_372_036_854_775_808.0;
        let share = (value - self.lo) / self.range * self.max_bucket;
        if share.is_nan() {
            1 << 63
        } else if share >= TOP {
            share as u64
        } else {
            share as i64 as u64
        }
    }
}

/// The first eight bytes, big-endian, shifted to fit. Bytes from 0x80 on set all bits before them: the format's
/// arithmetic on signed characters, kept because it decides the order on disk.
fn string_bucket(string: &[u8], bits: u32) -> u64 {
    let mut bucket = 0u64;
    for i in 0..8 {
        bucket <<= 8;
        bucket |= string.get(i).map_or(0, |&byte| byte as i8 as u64);
    }
    bucket >> (64 - bits)
}

/// Whether no two ordinals of a dimension inside `bounds` share a bucket, so that the place on the curve alone orders
/// the cells. Holds when buckets are at least twice as many as values and all
/// values exact doubles: rounding then moves none by a whole bucket.
pub(crate) fn buckets_are_distinct(curve: &Hilbert, dim: &OrderDim, bounds: crate::Interval) -> bool {
    if dim.is_string() || dim.datatype.is_float() || !dim.domain.covers(bounds) {
        return false;
    }
    fn is_exact<T: Coordinate>(ordinal: u64) -> bool {
        T::from_ordinal(ordinal).to_f64().abs() < (1u64 << 52) as f64
    }
    let range = dim.domain.hi - dim.domain.lo;
    range > 0
        && range < 1 << 50
        && range <= curve.max_bucket() / 2
        && dispatch_physical!(dim.datatype, T => is_exact::<T>(dim.domain.lo) && is_exact::<T>(dim.domain.hi))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_domain_are_the_ends_of_the_buckets() {
        let scale = BucketScale::new(1.0, 100.0, (1 << 31) - 1);
        assert_eq!(scale.bucket(1.0), 0);
        assert_eq!(scale.bucket(100.0), (1 << 31) - 1);
        assert_eq!(scale.bucket(50.0), ((49.0f64 / 99.0) * 2_147_483_647.0) as u64);
        assert_eq!(BucketScale::new(5.0, 5.0, 7).bucket(5.0), 1 << 63);
    }

    #[test]
    fn strings_are_placed_by_their_first_bytes() {
        assert_eq!(string_bucket(b"cat", 63), 0x6361_7400_0000_0000 >> 1);
        assert_eq!(string_bucket(b"", 31), 0);
        assert_eq!(string_bucket(b"abcdefghij", 31), 0x6162_6364 >> 1);
        assert_eq!(string_bucket(&[b'a', 0xff], 63), u64::MAX << 48 >> 1);
    }
}
