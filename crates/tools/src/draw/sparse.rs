//! Cells of sparse arrays: points, or how many there are where.

use super::plan::Slice;
use super::source::{Source, series};
use super::values::Drawable;
use crate::failure::Outcome;
use crate::picture::{Axis, Content, Raster, Series};
use smalti::{Array, Layout};

/// More points are drawn as their density.
const MAX_POINTS: usize = 20_000;
/// Points of a line that are drawn as they are; of more the means.
const MAX_LINE_POINTS: usize = 50_000;

/// Cells as points with the values of a field, or as a raster of their number or the mean of the field.
pub(super) fn points(
    source: &Source<'_>,
    array: &Array,
    field: Option<&Drawable>,
    slice: &Slice,
    axes: (&Axis, &Axis),
    is_y_down: bool,
    only: Option<bool>,
) -> Outcome<Content> {
    let (x, y) = slice.plane()?;
    let places = [Drawable::find(array, &x.name)?, Drawable::find(array, &y.name)?];
    let request = source.request(slice, places.iter().chain(field), Layout::Unordered);
    let (cols, rows) = (320, 240);
    let (mut sums, mut counts) = (vec![0.0; cols * rows], vec![0_u32; cols * rows]);
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    let mut total = 0;
    let is_mean = field.is_none_or(Drawable::has_means);
    source.each_batch(array, request, |batch| {
        let columns = places.iter().chain(field).zip(&batch.columns);
        let columns: Vec<Vec<f64>> = columns.map(|(field, column)| field.numbers(column)).collect();
        for row in 0..batch.cell_count {
            let at = |idx: usize| columns.get(idx).and_then(|column| column.get(row)).copied();
            let (Some(across), Some(up)) = (at(0), at(1)) else { continue };
            let value = at(2).unwrap_or(f64::NAN);
            total += 1;
            if points.len() < MAX_POINTS {
                points.push((across, up, value));
            }
            let share = (axes.0.share(across), axes.1.share(up));
            let bin = |share: f64, count: usize| ((share * count as f64) as usize).min(count - 1);
            if !(0.0..=1.0).contains(&share.0) || !(0.0..=1.0).contains(&share.1) {
                continue;
            }
            let (col, row) = (bin(share.0, cols), bin(share.1, rows));
            let row = if is_y_down { row } else { rows - 1 - row };
            let at = row * cols + col;
            if field.is_none() || !value.is_nan() {
                counts[at] += 1;
                // Of names the last one stands for all.
                sums[at] = if is_mean { sums[at] + value } else { value };
            }
        }
        Ok(())
    })?;
    if total <= MAX_POINTS && only != Some(false) {
        return Ok(Content::Points(points));
    }
    let values = sums.into_iter().zip(&counts).map(|(sum, count)| match (field, count) {
        (_, 0) => f64::NAN,
        (None, count) => f64::from(*count),
        (Some(_), count) if is_mean => sum / f64::from(*count),
        (Some(_), _) => sum,
    });
    Ok(Content::Heat(Raster { cols, rows, values: values.collect() }))
}

/// A line for each field along the only axis.
pub(super) fn lines(
    source: &Source<'_>,
    array: &Array,
    fields: &[Drawable],
    slice: &Slice,
) -> Outcome<Vec<Series>> {
    let place = Drawable::find(array, &slice.line()?.name)?;
    let request = source.request(slice, std::iter::once(&place).chain(fields), Layout::RowMajor);
    let mut lines: Vec<Vec<(f64, f64)>> = vec![Vec::new(); fields.len()];
    source.each_batch(array, request, |batch| {
        let Some((first, rest)) = batch.columns.split_first() else { return Ok(()) };
        let places = place.numbers(first);
        for ((points, field), column) in lines.iter_mut().zip(fields).zip(rest) {
            points.extend(places.iter().copied().zip(field.numbers(column)));
            if points.len() > MAX_LINE_POINTS * 2 {
                *points = halved(points);
            }
        }
        Ok(())
    })?;
    Ok(series(fields, lines))
}

/// The means of two points each.
fn halved(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mean = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ => a / 2.0 + b / 2.0,
    };
    let pair = |pair: &[(f64, f64)]| match pair {
        [a, b] => (mean(a.0, b.0), mean(a.1, b.1)),
        _ => pair[0],
    };
    points.chunks(2).map(pair).collect()
}
