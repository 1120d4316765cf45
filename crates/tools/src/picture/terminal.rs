//! Figures in a terminal: half blocks of any colour, or plain characters.

use super::axis::number_text;
use super::plot::{Content, Figure, Panel, Raster};
use super::{Axis, CATEGORIES, Color, Unit};
use std::io::{Result, Write};

/// What a terminal can show.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// Characters of a line.
    pub width: usize,
    /// Lines of a picture.
    pub height: usize,
    /// Whether it knows 24-bit colours.
    pub has_colors: bool,
}

/// Plain characters from the least to the greatest value.
const SHADES: [char; 9] = ['.', ':', '-', '=', '+', '*', '#', '%', '@'];
/// Plain characters of lines and categories.
const MARKS: [char; 8] = ['*', '+', 'o', 'x', '#', '@', '%', '&'];

/// Characters of a value beside the picture.
const MAX_TICK_CHARS: usize = 24;

/// A place on the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Dot {
    color: Option<Color>,
    mark: Option<char>,
}

/// Prints a figure.
///
/// # Errors
/// Those of `out`.
pub fn print(figure: &Figure, terminal: Terminal, out: &mut dyn Write) -> Result<()> {
    for line in std::iter::once(&figure.title).chain(&figure.notes).filter(|line| !line.is_empty()) {
        writeln!(out, "{}", cut(line, terminal.width))?;
    }
    for panel in &figure.panels {
        if let Some(title) = &panel.title {
            writeln!(out, "\n{}", cut(title, terminal.width))?;
        }
        print_panel(figure, panel, terminal, out)?;
    }
    print_legend(figure, terminal, out)
}

fn print_panel(figure: &Figure, panel: &Panel, terminal: Terminal, out: &mut dyn Write) -> Result<()> {
    let per_line = if terminal.has_colors { 2 } else { 1 };
    let mut ticks = figure.y.ticks((terminal.height / 3).max(2));
    ticks.iter_mut().for_each(|tick| tick.text = cut(&tick.text, MAX_TICK_CHARS));
    let margin = ticks.iter().map(|tick| tick.text.chars().count()).max().unwrap_or(0) + 1;
    let room = terminal.width.saturating_sub(margin + 2).max(8);
    let (cols, lines) = shape(figure, panel, room, terminal.height);
    let rows = lines * per_line;
    let dots = dots(figure, panel, cols, rows);
    let line_of = |at: f64| {
        let share = figure.y.share(at);
        let share = if figure.is_y_down { share } else { 1.0 - share };
        ((share * lines as f64) as usize).min(lines - 1)
    };
    for line in 0..lines {
        let tick = ticks.iter().find(|tick| line_of(tick.at) == line);
        let (text, mark) = tick.map_or(("", ' '), |tick| (tick.text.as_str(), '-'));
        write!(out, "{text:>margin$}{mark}")?;
        for col in 0..cols {
            let upper = dots[line * per_line * cols + col];
            match terminal.has_colors {
                true => write_halves(out, upper, dots[(line * 2 + 1) * cols + col])?,
                false => write!(out, "{}", upper.mark.unwrap_or(' '))?,
            }
        }
        writeln!(out, "{}", if terminal.has_colors { "\x1b[0m" } else { "" })?;
    }
    writeln!(out, "{}", x_line(&figure.x, margin + 1, cols))?;
    let title = cut(&figure.x.title, cols);
    let before = margin + 1 + (cols - title.chars().count()) / 2;
    writeln!(out, "{}{title}", " ".repeat(before))
}

/// Columns and lines of a panel: letters are about twice as high as wide.
fn shape(figure: &Figure, panel: &Panel, room: usize, height: usize) -> (usize, usize) {
    let height = height.max(4);
    match &panel.content {
        Content::Heat(raster) => {
            let ratio = raster.cols as f64 / raster.rows.max(1) as f64;
            if figure.is_square && (0.2..=5.0).contains(&ratio) {
                let cols = room.min((height as f64 * 2.0 * ratio) as usize).max(1);
                return (cols, ((cols as f64 / ratio / 2.0).round() as usize).clamp(1, height));
            }
            (room, height.min(raster.rows.max(2)))
        }
        _ => (room, height),
    }
}

fn dots(figure: &Figure, panel: &Panel, cols: usize, rows: usize) -> Vec<Dot> {
    let mut dots = vec![Dot::default(); cols * rows];
    let x = |value: f64| place(figure.x.share(value), cols);
    let y = |value: f64| {
        let share = figure.y.share(value);
        place(if figure.is_y_down { share } else { 1.0 - share }, rows)
    };
    match &panel.content {
        Content::Heat(raster) => {
            for (idx, dot) in dots.iter_mut().enumerate() {
                *dot = value_dot(figure, block(figure, raster, (idx / cols, rows), (idx % cols, cols)));
            }
        }
        Content::Points(points) => {
            for (across, up, value) in points {
                if let (Some(col), Some(row)) = (x(*across), y(*up)) {
                    let dot = value_dot(figure, *value);
                    let plain = Dot { color: Some(CATEGORIES[0]), mark: Some(MARKS[0]) };
                    dots[row * cols + col] = if dot.mark.is_some() { dot } else { plain };
                }
            }
        }
        Content::Lines(series) => {
            for (idx, series) in series.iter().enumerate() {
                let (color, mark) = (CATEGORIES[idx % CATEGORIES.len()], MARKS[idx % MARKS.len()]);
                let mut earlier: Option<(usize, usize)> = None;
                for (at, value) in &series.points {
                    let here = x(*at).zip(y(*value)).filter(|_| !value.is_nan());
                    if let Some((col, row)) = here {
                        let (from_col, from_row) = earlier.unwrap_or((col, row));
                        let steps = from_col.abs_diff(col).max(from_row.abs_diff(row)).max(1);
                        for step in 0..=steps {
                            let between = |from: usize, to: usize| {
                                (from as f64 + (to as f64 - from as f64) * step as f64 / steps as f64).round()
                                    as usize
                            };
                            let (row, col) = (between(from_row, row), between(from_col, col));
                            dots[row * cols + col] = Dot { color: Some(color), mark: Some(mark) };
                        }
                    }
                    earlier = here;
                }
            }
        }
    }
    dots
}

/// What the cells of a raster come to that fall on one dot: their mean, or the first of names.
fn block(figure: &Figure, raster: &Raster, row: (usize, usize), col: (usize, usize)) -> f64 {
    let span = |(at, count): (usize, usize), len: usize| {
        let start = at * len / count;
        start..((at + 1) * len / count).clamp(start + 1, len.max(start + 1))
    };
    let values = span(row, raster.rows).flat_map(|row| {
        let line = raster.values.get(row * raster.cols..(row + 1) * raster.cols).unwrap_or_default();
        line.get(span(col, raster.cols)).unwrap_or_default()
    });
    let known: Vec<f64> = values.copied().filter(|value| !value.is_nan()).collect();
    let is_named = figure.scale.as_ref().is_some_and(|scale| scale.names().is_some());
    match known.as_slice() {
        [] => f64::NAN,
        [first, ..] if is_named => *first,
        all => all.iter().map(|value| value / all.len() as f64).sum(),
    }
}

fn place(share: f64, count: usize) -> Option<usize> {
    (0.0..=1.0).contains(&share).then(|| ((share * count as f64) as usize).min(count - 1))
}

fn value_dot(figure: &Figure, value: f64) -> Dot {
    let Some(scale) = &figure.scale else { return Dot::default() };
    let color = scale.color(value);
    let mark = match scale.names() {
        Some(_) => MARKS[value.max(0.0) as usize % MARKS.len()],
        None => {
            SHADES[((scale.axis.share(value).clamp(0.0, 1.0) * SHADES.len() as f64) as usize)
                .min(SHADES.len() - 1)]
        }
    };
    Dot { color, mark: color.map(|_| mark) }
}

fn write_halves(out: &mut dyn Write, upper: Dot, lower: Dot) -> Result<()> {
    let code = |kind: u8, color: Color| {
        let [red, green, blue] = color.bytes();
        format!("\x1b[{kind};2;{red};{green};{blue}m")
    };
    match (upper.color, lower.color) {
        (None, None) => write!(out, "\x1b[0m "),
        (Some(upper), Some(lower)) => write!(out, "{}{}▀", code(38, upper), code(48, lower)),
        (Some(upper), None) => write!(out, "\x1b[0m{}▀", code(38, upper)),
        (None, Some(lower)) => write!(out, "\x1b[0m{}▄", code(38, lower)),
    }
}

fn x_line(axis: &Axis, margin: usize, cols: usize) -> String {
    let mut line: Vec<char> = vec![' '; margin + cols];
    let mut free = 0;
    for tick in axis.ticks((cols / 12).max(2)) {
        let Some(at) = place(axis.share(tick.at), cols) else { continue };
        let text: Vec<char> = tick.text.chars().collect();
        let start = (margin + at).saturating_sub(text.len() / 2);
        let start = start.min((margin + cols).saturating_sub(text.len()));
        if start >= free && start + text.len() <= line.len() {
            line[start..start + text.len()].copy_from_slice(&text);
            free = start + text.len() + 2;
        }
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

fn print_legend(figure: &Figure, terminal: Terminal, out: &mut dyn Write) -> Result<()> {
    let colored = |color: Color, text: &str| {
        let [red, green, blue] = color.bytes();
        format!("\x1b[38;2;{red};{green};{blue}m{text}\x1b[0m")
    };
    let legend = figure.legend();
    if !legend.is_empty() {
        for (idx, (name, color)) in legend.iter().take(32).enumerate() {
            let mark = MARKS[idx % MARKS.len()].to_string();
            let mark = if terminal.has_colors { colored(*color, "■") } else { mark };
            writeln!(out, "{mark} {}", cut(name, terminal.width))?;
        }
        return Ok(());
    }
    let Some(scale) = &figure.scale else { return Ok(()) };
    let axis = &scale.axis;
    let (first, last) = match &axis.unit {
        Unit::Date(_) => {
            let mut ticks = axis.ticks(5).into_iter().map(|tick| tick.text);
            let first = ticks.next().unwrap_or_default();
            let last = ticks.next_back().unwrap_or_default();
            (first, last)
        }
        Unit::Integer if axis.lo.fract() == 0.0 && axis.hi.fract() == 0.0 => {
            (number_text(axis.lo, 1.0), number_text(axis.hi, 1.0))
        }
        _ => {
            let step = (axis.hi / 100.0 - axis.lo / 100.0).max(f64::MIN_POSITIVE);
            (number_text(axis.lo, step), number_text(axis.hi, step))
        }
    };
    let bar: String = match terminal.has_colors {
        true => (0..24).map(|step| colored(scale.ramp.color(f64::from(step) / 23.0), "█")).collect(),
        false => SHADES.iter().collect(),
    };
    writeln!(out, "{first} {bar} {last}  {}", cut(&axis.title, terminal.width))
}

/// A line without control characters, no longer than the terminal.
fn cut(text: &str, width: usize) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Ramp, Scale, Series};
    use super::*;

    fn figure(content: Content, scale: Option<Scale>) -> Figure {
        Figure {
            title: "title \x1b".into(),
            notes: Vec::new(),
            panels: vec![Panel { title: None, content }],
            x: Axis::new("x", -0.5, 3.5, Unit::Integer),
            y: Axis::new("y", -0.5, 1.5, Unit::Integer),
            is_y_down: true,
            is_square: false,
            scale,
            size: None,
            is_blank: false,
        }
    }

    fn shown(figure: &Figure, has_colors: bool) -> String {
        let mut out = Vec::new();
        print(figure, Terminal { width: 20, height: 4, has_colors }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn plain_characters_get_denser_with_the_value() {
        let values = vec![0.0, 1.0, 2.0, 3.0, f64::NAN, 3.0, 0.0, 0.0];
        let scale = Scale { axis: Axis::new("v", 0.0, 3.0, Unit::Number), ramp: Ramp::Viridis };
        let heat = figure(Content::Heat(Raster { cols: 4, rows: 2, values }), Some(scale));
        let text = shown(&heat, false);
        let expected = "title \u{fffd}\n 0-....====####@@@@\n 1-    @@@@........\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(shown(&heat, true).contains("▀"));
    }

    #[test]
    fn lines_are_joined() {
        let points = vec![(0.0, 0.0), (3.0, 1.0)];
        let text = shown(&figure(Content::Lines(vec![Series { name: "a".into(), points }]), None), false);
        assert!(text.matches('*').count() >= 8, "{text}");
    }
}
