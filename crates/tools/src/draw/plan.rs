//! Which part of an array is drawn, and how many cells become a pixel.

use super::options::{DrawOptions, Reduction};
use super::values::Drawable;
use crate::failure::{Failure, Outcome};
use crate::picture::{Axis, Unit};
use crate::ranges::{self, Ranges};
use smalti::format::{ArraySchema, Dimension};
use smalti::{Array, Extent, Scalar};

/// Cells whose mean is taken at most; larger slices are drawn by strides.
const MAX_MEAN_CELLS: u64 = 64_000_000;

/// A dimension along an axis.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) idx: usize,
    pub(super) name: String,
    /// What is read of it.
    pub(super) ranges: Vec<Extent>,
    /// Positions in these ranges.
    pub(super) count: u64,
    /// Pixels, or points, that they become.
    pub(super) bins: usize,
    /// Its first and last value that is drawn.
    pub(super) ends: (f64, f64),
    pub(super) unit: Unit,
}

/// All ranges of a read, and what to say about them.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) axes: Vec<Drawn>,
    pub(super) ranges: Ranges,
    /// Positions of the dimensions that are not drawn.
    pub(super) notes: Vec<String>,
    /// Those of them that nobody asked for.
    pub(super) assumed: Vec<String>,
}

impl Slice {
    /// The axis of lines.
    pub(super) fn line(&self) -> Outcome<&Drawn> {
        match self.axes.as_slice() {
            [axis] => Ok(axis),
            _ => Err(Failure::invalid("lines have one axis")),
        }
    }

    /// The axes of a map, from left to right and from bottom to top.
    pub(super) fn plane(&self) -> Outcome<(&Drawn, &Drawn)> {
        match self.axes.as_slice() {
            [x, y] => Ok((x, y)),
            _ => Err(Failure::invalid("a map has two axes")),
        }
    }
}

impl Drawn {
    fn new(schema: &ArraySchema, idx: usize, ranges: Vec<Extent>) -> Outcome<Drawn> {
        let dimension = &schema.dimensions[idx];
        let mut ends: Option<(u64, u64)> = None;
        let mut count: u64 = 0;
        for range in &ranges {
            let Extent::Num { lo, hi } = range else { return Err(no_axis(dimension)) };
            ends = Some(ends.map_or((*lo, *hi), |(least, most)| (least.min(*lo), most.max(*hi))));
            count = count.saturating_add((hi - lo).saturating_add(1));
        }
        let (lo, hi) = ends.ok_or_else(|| no_axis(dimension))?;
        let unit = if dimension.datatype.is_datetime() || dimension.datatype.is_time() {
            Unit::Date(dimension.datatype)
        } else if dimension.datatype.is_float() {
            Unit::Number
        } else {
            Unit::Integer
        };
        let ends = (number(dimension, lo), number(dimension, hi));
        Ok(Drawn { idx, name: dimension.name.clone(), ranges, count, bins: 1, ends, unit })
    }

    /// Reads only as many positions as there are bins, evenly apart.
    fn stride(&mut self) {
        let bins = self.bins as u64;
        if self.count <= bins {
            return;
        }
        let places = (0..bins).map(|bin| {
            let nth = (u128::from(self.count) * (2 * u128::from(bin) + 1) / (2 * u128::from(bins))) as u64;
            self.position(nth)
        });
        self.ranges = places.map(|at| Extent::Num { lo: at, hi: at }).collect();
        self.count = bins;
    }

    /// The ordinal of a position in the ranges.
    fn position(&self, mut nth: u64) -> u64 {
        for range in &self.ranges {
            if let Extent::Num { lo, hi } = range {
                if nth <= hi - lo {
                    return lo + nth;
                }
                nth -= hi - lo + 1;
            }
        }
        0
    }

    /// The axis, with half a position on both sides where positions are cells.
    pub(super) fn axis(&self, title: String, has_cells: bool) -> Axis {
        let edge = if has_cells && self.unit != Unit::Number { 0.5 } else { 0.0 };
        Axis::new(title, self.ends.0 - edge, self.ends.1 + edge, self.unit.clone())
    }
}

fn number(dimension: &Dimension, ordinal: u64) -> f64 {
    let bytes = dimension.datatype.bytes_of_ordinal(ordinal);
    Scalar::read(dimension.datatype, &bytes).map_or(0.0, Scalar::as_f64)
}

fn no_axis(dimension: &Dimension) -> Failure {
    Failure::invalid(format!(
        "dimension {:?} of type {} makes no axis; name others with --dims",
        dimension.name, dimension.datatype
    ))
}

/// What is drawn of each dimension: the given ranges, or the part where something was written.
fn extents(array: &Array, asked: &Ranges) -> Outcome<Ranges> {
    let written = array.non_empty_extents()?.ok_or_else(|| {
        Failure::invalid("nothing is written in the array at this time; there is nothing to draw")
    })?;
    let schema = array.schema();
    let one = |(idx, written): (usize, &Extent)| match asked.get(idx).filter(|list| !list.is_empty()) {
        Some(list) => list.clone(),
        None => {
            let clipped = match (written, ranges::whole(&schema, idx)) {
                (Extent::Num { lo, hi }, Extent::Num { lo: least, hi: most })
                    if *lo <= most && *hi >= least =>
                {
                    Extent::Num { lo: (*lo).max(least), hi: (*hi).min(most) }
                }
                _ => written.clone(),
            };
            vec![clipped]
        }
    };
    Ok(written.iter().enumerate().map(one).collect())
}

/// The dimensions of `--dims`: the one from left to right, then the other.
fn named(schema: &ArraySchema, dims: &[String]) -> Outcome<Vec<usize>> {
    let mut found = Vec::new();
    for name in dims {
        let (idx, _) = schema.dimension(name.trim()).ok_or_else(|| {
            let known: Vec<&str> =
                schema.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
            Failure::invalid(format!("there is no dimension {name:?}; there are {}", known.join(", ")))
        })?;
        if found.contains(&idx) {
            return Err(Failure::usage(format!("--dims names {name:?} twice")));
        }
        found.push(idx);
    }
    if found.len() > 2 {
        return Err(Failure::usage("--dims names one dimension for lines, two for a map"));
    }
    Ok(found)
}

/// A slice of a dense array, along one axis or two.
pub(super) fn dense(
    array: &Array,
    args: &DrawOptions,
    asked: &Ranges,
    field: &Drawable,
    most_bins: (usize, usize),
) -> Outcome<(Slice, Reduction)> {
    let schema = array.schema();
    let mut ranges = extents(array, asked)?;
    let lengths = ranges.iter().enumerate().map(|(idx, list)| Drawn::new(&schema, idx, list.clone()));
    let lengths = lengths.collect::<Outcome<Vec<Drawn>>>()?;
    let mut axes = named(&schema, &args.dims)?;
    if axes.is_empty() {
        axes = (0..lengths.len()).rev().filter(|idx| lengths[*idx].count > 1).take(2).collect();
        if axes.is_empty() {
            axes = (0..lengths.len()).rev().take(2).collect();
        }
    }
    let (mut notes, mut assumed) = (Vec::new(), Vec::new());
    for (idx, list) in ranges.iter_mut().enumerate().filter(|(idx, _)| !axes.contains(idx)) {
        let drawn = &lengths[idx];
        let at = drawn.position(0);
        let first = Extent::Num { lo: at, hi: at };
        let shown = crate::report::extent_text(&schema.dimensions[idx], &first);
        let shown = format!("{} {}", drawn.name, shown.split("..").next().unwrap_or_default());
        if drawn.count > 1 {
            assumed.push(format!(
                "of dimension {:?} the first of {} positions is drawn, {shown}; choose another with --range {}=...",
                drawn.name,
                crate::human::count(drawn.count),
                drawn.name
            ));
        }
        notes.push(shown);
        *list = vec![first];
    }
    let mut axes: Vec<Drawn> = axes.into_iter().map(|idx| lengths[idx].clone()).collect();
    for (axis, most) in axes.iter_mut().zip([most_bins.0, most_bins.1]) {
        axis.bins = usize::try_from(axis.count).unwrap_or(usize::MAX).min(most).max(1);
    }
    let cells = axes.iter().fold(1_u64, |cells, axis| cells.saturating_mul(axis.count));
    let is_reduced = axes.iter().any(|axis| axis.count > axis.bins as u64);
    let reduction = match args.reduce {
        Some(Reduction::Mean) if !field.has_means() => {
            return Err(Failure::usage(format!(
                "field {:?} has names, of which there is no mean; leave out --reduce mean",
                field.name
            )));
        }
        Some(asked) => asked,
        None if field.has_means() && cells <= MAX_MEAN_CELLS => Reduction::Mean,
        None => Reduction::Stride,
    };
    if is_reduced {
        let each: Vec<String> =
            axes.iter().map(|axis| format!("{:.4}", axis.count as f64 / axis.bins as f64)).collect();
        let each: Vec<&str> =
            each.iter().map(|text| text.trim_end_matches('0').trim_end_matches('.')).collect();
        let what = if axes.len() == 1 { "point" } else { "pixel" };
        notes.push(match reduction {
            Reduction::Mean => format!("mean of {} cells a {what}", each.join(" x ")),
            Reduction::Stride => format!("one of {} cells a {what}", each.join(" x ")),
        });
    }
    if reduction == Reduction::Stride {
        axes.iter_mut().for_each(Drawn::stride);
    }
    for axis in &axes {
        ranges[axis.idx] = axis.ranges.clone();
    }
    Ok((Slice { axes, ranges, notes, assumed }, reduction))
}

/// The axes of a sparse array: the first two dimensions of numbers, or the only one.
pub(super) fn sparse(array: &Array, args: &DrawOptions, asked: &Ranges) -> Outcome<Slice> {
    let schema = array.schema();
    let extents = extents(array, asked)?;
    let mut axes = named(&schema, &args.dims)?;
    if axes.is_empty() {
        let numeric = schema.dimensions.iter().enumerate().filter(|(_, dimension)| !dimension.is_var());
        axes = numeric.map(|(idx, _)| idx).take(2).collect();
        // Rows before columns, as in a matrix; but what is called so goes across.
        let is_across = |idx: &usize| {
            let name = schema.dimensions[*idx].name.to_ascii_lowercase();
            name == "x" || name.starts_with("lon") || name.starts_with("east")
        };
        if axes.first().is_some_and(|first| !is_across(first)) {
            axes.reverse();
        }
    }
    if axes.is_empty() {
        return Err(Failure::invalid("all dimensions are strings, and make no axis"));
    }
    let axes = axes.into_iter().map(|idx| Drawn::new(&schema, idx, extents[idx].clone()));
    let axes = axes.collect::<Outcome<Vec<Drawn>>>()?;
    let mut ranges = asked.clone();
    ranges.resize(schema.dimensions.len(), Vec::new());
    Ok(Slice { axes, ranges, notes: Vec::new(), assumed: Vec::new() })
}
