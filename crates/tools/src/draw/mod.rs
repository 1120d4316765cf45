//! Pictures of arrays: slices, points and lines.

mod dense;
mod options;
mod plan;
mod source;
mod sparse;
mod values;

use crate::condition;
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::human;
use crate::picture::{Axis, Content, Figure, Panel, Ramp, Scale, Unit};
use crate::ranges::{self, Ranges};
use crate::warning::Warning;
pub use options::{DrawOptions, Reduction};
use plan::Slice;
use smalti::{Array, Value};
use source::Source;
use values::Drawable;

/// Lines that are drawn where no field is named.
const MAX_LINES: usize = 8;
/// Points of a line.
const LINE_BINS: usize = 2000;
/// Pixels of a map where no size is given.
const MAP_BINS: (usize, usize) = (960, 640);

/// Draws an array. `uri` is what it is called, and where it is opened again at earlier times, with the options of the environment.
///
/// # Errors
/// Options that do not fit each other or the array; what the engine reports.
pub fn figure(
    array: &Array,
    uri: &str,
    options: &DrawOptions,
    environment: &Environment<'_>,
) -> Outcome<Figure> {
    let condition = condition::parse(array, options.condition.as_deref(), uri, environment.warn)?;
    let (ranges, label_ranges) = ranges::of_read(array, &options.ranges, uri, environment.warn)?;
    if !label_ranges.is_empty() {
        return Err(Failure::usage("ranges of labels tell no axis; give ranges of dimensions"));
    }
    if let (Some(min), Some(max)) = (options.min, options.max)
        && min >= max
    {
        return Err(Failure::usage(format!("--min {min} is not below --max {max}")));
    }
    figure_of(&Source { environment, args: options, uri, condition }, array, &ranges)
}

fn figure_of(source: &Source<'_>, array: &Array, ranges: &Ranges) -> Outcome<Figure> {
    let args = source.args;
    let all = Drawable::all(array)?;
    let mut fields =
        args.field.iter().map(|name| Drawable::find(array, name.trim())).collect::<Outcome<Vec<_>>>()?;
    let is_dense = array.schema().is_dense();
    let first = fields.first().or(all.first()).cloned();
    let (slice, field) = if is_dense {
        let field = first.ok_or_else(|| {
            Failure::invalid("no attribute has single numbers for cells; there is nothing to draw")
        })?;
        let (slice, _) = plan::dense(array, args, ranges, &field, bins(source))?;
        (slice, Some(field))
    } else {
        (plan::sparse(array, args, ranges)?, fields.first().cloned())
    };
    for note in &slice.assumed {
        (source.environment.warn)(Warning::new(source.uri, note));
    }
    if slice.axes.len() == 1 {
        if fields.is_empty() {
            fields = all.into_iter().filter(Drawable::has_means).take(MAX_LINES).collect();
        }
        if fields.is_empty() {
            return Err(Failure::invalid("no attribute has numbers for lines; name one with --field"));
        }
        return lines(source, array, ranges, &slice, &fields);
    }
    if fields.len() > 1 {
        return Err(Failure::usage("a map shows one attribute; several are for lines along one dimension"));
    }
    map(source, array, &slice, field.as_ref())
}

/// Pixels that a map has room for.
fn bins(source: &Source<'_>) -> (usize, usize) {
    let wanted = match (source.args.size, source.args.is_for_terminal) {
        (Some((width, height)), _) => (width, height),
        (None, false) => MAP_BINS,
        (None, true) => (400, 200),
    };
    // Sums, counts, values and colours of a pixel.
    let budget = source
        .environment
        .memory
        .map_or(usize::MAX, |byte_len| usize::try_from(byte_len).unwrap_or(usize::MAX));
    let panels = if source.args.time { usize::from(source.args.panels) } else { 1 };
    let side = ((budget / panels / 128) as f64).sqrt() as usize;
    (wanted.0.min(side.max(16)), wanted.1.min(side.max(16)))
}

/// The moments that are drawn: of --time each change, or evenly chosen ones; else the array as it was opened.
fn moments(source: &Source<'_>, array: &Array) -> Outcome<Vec<Option<u64>>> {
    if !source.args.time {
        return Ok(vec![None]);
    }
    let mut times: Vec<u64> = array.fragments()?.iter().map(|fragment| fragment.time().end).collect();
    times.sort_unstable();
    times.dedup();
    let most = usize::from(source.args.panels);
    if times.len() > most {
        let last = times.len() - 1;
        let chosen = (0..most).map(|nth| times[if most == 1 { last } else { nth * last / (most - 1) }]);
        times = chosen.collect();
    }
    Ok(times.into_iter().map(Some).collect())
}

/// A panel for each moment.
fn panels(
    source: &Source<'_>,
    array: &Array,
    mut content: impl FnMut(&Array) -> Outcome<Content>,
) -> Outcome<Vec<Panel>> {
    let mut panels = Vec::new();
    for moment in moments(source, array)? {
        panels.push(match moment {
            None => Panel { title: None, content: content(array)? },
            Some(at) => {
                let options = source.environment.engine.clone().at(at);
                let earlier = Array::open_with(source.uri, &options)?;
                Panel { title: Some(human::timestamp(at)), content: content(&earlier)? }
            }
        });
    }
    Ok(panels)
}

fn map(source: &Source<'_>, array: &Array, slice: &Slice, field: Option<&Drawable>) -> Outcome<Figure> {
    let args = source.args;
    let names = Names::new(array, source.uri)?;
    let is_dense = array.schema().is_dense();
    let [across, up] = slice.axes.as_slice() else { return Err(Failure::invalid("a map has two axes")) };
    let x = across.axis(names.titled(&across.name), true);
    let y = up.axis(names.titled(&up.name), true);
    // Rows of a matrix go down; degrees north, and coordinates of points, up.
    let name = up.name.to_ascii_lowercase();
    let is_upright = !is_dense || name.starts_with("lat") || name.starts_with("north");
    let is_y_down = is_upright == args.flip;
    let mut panels = panels(source, array, |array| match (is_dense, field) {
        (true, Some(field)) => dense::raster(source, array, field, slice, is_y_down).map(Content::Heat),
        _ => sparse::points(source, array, field, slice, (&x, &y), is_y_down, None),
    })?;
    // All panels alike: of points and densities side by side, densities.
    let is_heat = |panel: &Panel| matches!(panel.content, Content::Heat(_));
    if panels.iter().any(is_heat) && !panels.iter().all(is_heat) {
        panels = self::panels(source, array, |array| {
            sparse::points(source, array, field, slice, (&x, &y), is_y_down, Some(false))
        })?;
    }
    let is_counted = field.is_none() && panels.iter().any(is_heat);
    let title = match field {
        Some(field) => names.titled(&field.name),
        None => "cells".into(),
    };
    let unit = field.map_or(Unit::Integer, |field| field.unit.clone());
    let scale = match (field, is_counted) {
        (None, false) => None,
        _ => {
            let values = panels.iter().flat_map(|panel| values_of(&panel.content));
            let mut axis = value_axis(args, title, unit, values, args.colors == Ramp::Diverging)?;
            if is_counted && args.min.is_none() {
                axis.lo = if axis.is_log { axis.lo } else { 0.0 };
            }
            Some(Scale { axis, ramp: args.colors })
        }
    };
    let is_square = match (&across.unit, &up.unit) {
        (Unit::Date(_), _) | (_, Unit::Date(_)) => false,
        (a, b) => a == b,
    };
    let mut notes = slice.notes.clone();
    notes.extend(args.condition.as_ref().map(|condition| format!("where {condition}")));
    let shown = field.map_or("cells", |field| field.name.as_str());
    let notes = if notes.is_empty() { Vec::new() } else { vec![notes.join(", ")] };
    let title = names.title(args, &names.long(shown));
    let size = args.size;
    Ok(Figure { title, notes, panels, x, y, is_y_down, is_square, scale, size, is_blank: !is_dense })
}

fn lines(
    source: &Source<'_>,
    array: &Array,
    ranges: &Ranges,
    slice: &Slice,
    fields: &[Drawable],
) -> Outcome<Figure> {
    let args = source.args;
    let names = Names::new(array, source.uri)?;
    let [axis] = slice.axes.as_slice() else { return Err(Failure::invalid("lines have one axis")) };
    let is_dense = array.schema().is_dense();
    let (slice, notes) = if is_dense {
        // Longer than a map is wide.
        let field = fields.iter().find(|field| !field.has_means()).unwrap_or(&fields[0]);
        let (slice, _) = plan::dense(array, args, ranges, field, (LINE_BINS, 1))?;
        let notes = slice.notes.clone();
        (slice, notes)
    } else {
        (slice.clone(), Vec::new())
    };
    let x = axis.axis(names.titled(&axis.name), false);
    let panels = panels(source, array, |array| {
        let series = match is_dense {
            true => dense::lines(source, array, fields, &slice),
            false => sparse::lines(source, array, fields, &slice),
        };
        series.map(Content::Lines)
    })?;
    let same_unit = fields.windows(2).all(|pair| pair[0].unit == pair[1].unit);
    let unit = if same_unit { fields[0].unit.clone() } else { Unit::Number };
    let title = match fields {
        [only] => names.titled(&only.name),
        several => names.common_units(several),
    };
    let values = panels.iter().flat_map(|panel| values_of(&panel.content));
    let mut y = value_axis(args, title, unit, values, false)?;
    if !y.is_log && !matches!(y.unit, Unit::Names(_)) {
        let room = (y.hi - y.lo) * 0.04;
        y.lo = if args.min.is_none() { y.lo - room } else { y.lo };
        y.hi = if args.max.is_none() { y.hi + room } else { y.hi };
    }
    let shown: Vec<String> = fields.iter().map(|field| names.long(&field.name)).collect();
    let mut notes = notes;
    notes.extend(args.condition.as_ref().map(|condition| format!("where {condition}")));
    let notes = if notes.is_empty() { Vec::new() } else { vec![notes.join(", ")] };
    let title = names.title(args, &shown.join(", "));
    let is_y_down = args.flip;
    let size = args.size;
    Ok(Figure { title, notes, panels, x, y, is_y_down, is_square: false, scale: None, size, is_blank: true })
}

fn values_of(content: &Content) -> Vec<f64> {
    match content {
        Content::Heat(raster) => raster.values.clone(),
        Content::Points(points) => points.iter().map(|(_, _, value)| *value).collect(),
        Content::Lines(series) => {
            series.iter().flat_map(|series| series.points.iter().map(|(_, value)| *value)).collect()
        }
    }
}

/// The axis of values: from the least to the greatest, unless the ends are given.
fn value_axis(
    args: &DrawOptions,
    title: String,
    unit: Unit,
    values: impl Iterator<Item = f64>,
    is_symmetric: bool,
) -> Outcome<Axis> {
    if let Unit::Names(names) = &unit {
        let last = names.len().saturating_sub(1) as f64;
        return Ok(Axis::new(title, 0.0, last, unit));
    }
    let usable = values.filter(|value| value.is_finite() && (!args.log || *value > 0.0));
    let found = usable.fold(None, |ends: Option<(f64, f64)>, value| {
        Some(ends.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))))
    });
    let (mut lo, mut hi) = found.unwrap_or(if args.log { (1.0, 10.0) } else { (0.0, 1.0) });
    if is_symmetric && lo < 0.0 && hi > 0.0 {
        let most = hi.max(-lo);
        (lo, hi) = (-most, most);
    }
    lo = args.min.unwrap_or(lo);
    hi = args.max.unwrap_or(hi);
    if args.log {
        if lo <= 0.0 {
            return Err(Failure::usage("--log needs a --min above 0"));
        }
        let hi = if hi > lo { hi } else { lo * 10.0 };
        return Ok(Axis { is_log: true, ..Axis::new(title, lo, hi, unit) });
    }
    let hi = if hi < lo { lo + 1.0 } else { hi };
    Ok(Axis::new(title, lo, hi, unit))
}

/// What arrays call themselves and their fields: the habits of climate data in metadata, `FIELD.units` and `FIELD.long_name`, or
/// `units` and `long_name` for the only attribute.
struct Names {
    array: String,
    metadata: smalti::Metadata,
    only: Option<String>,
}

impl Names {
    fn new(array: &Array, uri: &str) -> Outcome<Self> {
        let uri = uri.trim_end_matches('/');
        let name = uri.rsplit('/').next().unwrap_or(uri);
        let only = match array.schema().attributes.as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        };
        Ok(Names { array: name.to_owned(), metadata: array.metadata()?, only })
    }

    fn text(&self, field: &str, key: &str) -> Option<String> {
        let text = |key: &str| self.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        text(&format!("{field}.{key}")).or_else(|| text(key).filter(|_| self.only.as_deref() == Some(field)))
    }

    /// The title of a picture of what is shown.
    fn title(&self, args: &DrawOptions, shown: &str) -> String {
        match &args.title {
            Some(title) => title.clone(),
            None if self.array == shown => self.array.clone(),
            None => format!("{}: {shown}", self.array),
        }
    }

    fn long(&self, field: &str) -> String {
        self.text(field, "long_name").unwrap_or_else(|| field.to_owned())
    }

    /// The field with its units.
    fn titled(&self, field: &str) -> String {
        match self.text(field, "units") {
            Some(units) if !units.is_empty() => format!("{} ({units})", self.long(field)),
            _ => self.long(field),
        }
    }

    /// The units that all fields have.
    fn common_units(&self, fields: &[Drawable]) -> String {
        let mut units = fields.iter().map(|field| self.text(&field.name, "units").unwrap_or_default());
        let first = units.next().unwrap_or_default();
        if units.all(|units| units == first) { first } else { String::new() }
    }
}
