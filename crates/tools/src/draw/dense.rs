//! Slices of dense arrays: cells as pixels of a raster, or points of lines.

use super::plan::{Drawn, Slice};
use super::source::{Source, series};
use super::values::Drawable;
use crate::failure::{Failure, Outcome};
use crate::picture::{Raster, Series};
use smalti::{Array, Layout};

/// Sums of cells that fall together.
struct Bins {
    sums: Vec<f64>,
    counts: Vec<u32>,
}

impl Bins {
    fn new(count: usize) -> Self {
        Bins { sums: vec![0.0; count], counts: vec![0; count] }
    }

    fn add(&mut self, bin: usize, value: f64) {
        if !value.is_nan() {
            self.sums[bin] += value;
            self.counts[bin] += 1;
        }
    }

    fn means(self) -> Vec<f64> {
        let bins = self.sums.into_iter().zip(self.counts);
        bins.map(|(sum, count)| if count == 0 { f64::NAN } else { sum / f64::from(count) }).collect()
    }
}

/// The bin of a position.
fn bin(axis: &Drawn, nth: u64) -> usize {
    (u128::from(nth) * axis.bins as u128 / u128::from(axis.count.max(1))) as usize
}

/// Reads the cells of a slice in row-major order, and hands each to `take` with its number.
fn each_cell(
    source: &Source<'_>,
    array: &Array,
    fields: &[Drawable],
    slice: &Slice,
    mut take: impl FnMut(u64, &[f64]),
) -> Outcome {
    let request = source.request(slice, fields, Layout::RowMajor);
    let mut nth = 0;
    let mut cell = vec![f64::NAN; fields.len()];
    source.each_batch(array, request, |batch| {
        let columns: Vec<Vec<f64>> =
            fields.iter().zip(&batch.columns).map(|(field, column)| field.numbers(column)).collect();
        if columns.iter().any(|column| column.len() != batch.cell_count) {
            return Err(Failure::invalid("a batch holds other cells than its columns"));
        }
        for row in 0..batch.cell_count {
            for (value, column) in cell.iter_mut().zip(&columns) {
                *value = column[row];
            }
            take(nth, &cell);
            nth += 1;
        }
        Ok(())
    })
}

/// The cells of a slice along two axes, from left to right and, unless it is flipped, from top to bottom.
pub(super) fn raster(
    source: &Source<'_>,
    array: &Array,
    field: &Drawable,
    slice: &Slice,
    is_y_down: bool,
) -> Outcome<Raster> {
    let (x, y) = slice.plane()?;
    let (cols, rows) = (x.bins, y.bins);
    let mut bins = Bins::new(cols * rows);
    let is_x_inner = x.idx > y.idx;
    let inner = if is_x_inner { x.count } else { y.count }.max(1);
    each_cell(source, array, std::slice::from_ref(field), slice, |nth, cell| {
        let (outer, inner) = (nth / inner, nth % inner);
        let (across, down) = if is_x_inner { (inner, outer) } else { (outer, inner) };
        let (col, row) = (bin(x, across), bin(y, down));
        if col < cols && row < rows {
            let row = if is_y_down { row } else { rows - 1 - row };
            bins.add(row * cols + col, cell[0]);
        }
    })?;
    Ok(Raster { cols, rows, values: bins.means() })
}

/// A line for each field along the only axis.
pub(super) fn lines(
    source: &Source<'_>,
    array: &Array,
    fields: &[Drawable],
    slice: &Slice,
) -> Outcome<Vec<Series>> {
    let axis = slice.line()?;
    let mut bins: Vec<Bins> = fields.iter().map(|_| Bins::new(axis.bins)).collect();
    each_cell(source, array, fields, slice, |nth, cell| {
        let bin = bin(axis, nth).min(axis.bins - 1);
        bins.iter_mut().zip(cell).for_each(|(bins, value)| bins.add(bin, *value));
    })?;
    let width = (axis.ends.1 - axis.ends.0) / axis.bins.saturating_sub(1).max(1) as f64;
    let points = bins.into_iter().map(|bins| {
        let means = bins.means().into_iter().enumerate();
        means.map(|(bin, value)| (axis.ends.0 + bin as f64 * width, value)).collect()
    });
    Ok(series(fields, points))
}
