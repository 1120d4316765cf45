//! Figures: one panel or several, with axes, a title and a legend.

use super::scene::{Anchor, Area, shortened};
use super::{Axis, CATEGORIES, Color, Ramp, Scene, Unit};

/// Cells of equal size, row by row from the top; NaN is missing.
#[derive(Debug, Clone)]
pub struct Raster {
    /// Cells of a row.
    pub cols: usize,
    /// How many rows there are.
    pub rows: usize,
    /// The values of the cells.
    pub values: Vec<f64>,
}

/// A line; NaN interrupts it.
#[derive(Debug, Clone)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Places on both axes.
    pub points: Vec<(f64, f64)>,
}

/// What a panel shows.
#[derive(Debug, Clone)]
pub enum Content {
    /// Cells as colours.
    Heat(Raster),
    /// Places with a value, or NaN.
    Points(Vec<(f64, f64, f64)>),
    /// Lines over the x axis.
    Lines(Vec<Series>),
}

/// One of the pictures of a figure.
#[derive(Debug, Clone)]
pub struct Panel {
    /// What stands above it.
    pub title: Option<String>,
    /// What it shows.
    pub content: Content,
}

/// Values as colours.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The values.
    pub axis: Axis,
    /// The colours from its start to its end.
    pub ramp: Ramp,
}

/// Everything that is on a picture.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What stands above all panels.
    pub title: String,
    /// Lines below the title.
    pub notes: Vec<String>,
    /// The pictures, side by side.
    pub panels: Vec<Panel>,
    /// From left to right, of all panels.
    pub x: Axis,
    /// From bottom to top, of all panels.
    pub y: Axis,
    /// Whether the y axis begins at the top, as the rows of a matrix do.
    pub is_y_down: bool,
    /// Whether a step is as long on both axes.
    pub is_square: bool,
    /// The colours of values, where values are colours.
    pub scale: Option<Scale>,
    /// Width and height in pixels.
    pub size: Option<(usize, usize)>,
    /// Whether cells without a value are left blank instead of marked as missing.
    pub is_blank: bool,
}

pub(super) const INK: Color = Color::hex(0x2b2b33);
const FAINT: Color = Color::hex(0x6c6c76);
const PAPER: Color = Color::hex(0xffffff);
const LINE: Color = Color::hex(0xdcdce0);
/// Of texts: letters of 14 pixels.
const SCALE: i64 = 2;
const CAPITAL: f64 = 14.0;
const TITLE_SCALE: i64 = 3;
const GAP: f64 = 12.0;
/// The plot of a figure whose size is not given.
const BOX: (f64, f64) = (960.0, 640.0);
const BAR_WIDTH: f64 = 22.0;
/// Names that a legend has room for.
const MAX_NAMES: usize = 24;

impl Scale {
    /// The colour of a value; of NaN there is none, nor of one that a logarithm does not know.
    pub(crate) fn color(&self, value: f64) -> Option<Color> {
        if let Unit::Names(names) = &self.axis.unit {
            let place = value.round();
            let is_there = place >= 0.0 && (place as usize) < names.len();
            return is_there.then(|| self.name_color(place as usize, names.len()));
        }
        let share = self.axis.share(value);
        (!share.is_nan()).then(|| self.ramp.color(share))
    }

    fn name_color(&self, idx: usize, count: usize) -> Color {
        match CATEGORIES.get(idx) {
            Some(color) if count <= CATEGORIES.len() => *color,
            _ => self.ramp.color(idx as f64 / (count - 1) as f64),
        }
    }

    /// Names with their colours, where the values are names.
    pub(super) fn names(&self) -> Option<Vec<(String, Color)>> {
        let Unit::Names(names) = &self.axis.unit else { return None };
        let named = names.iter().enumerate();
        Some(named.map(|(idx, name)| (name.clone(), self.name_color(idx, names.len()))).collect())
    }
}

/// Pixels around the plot.
struct Margins {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Figure {
    /// The legend: names with their colours.
    pub(super) fn legend(&self) -> Vec<(String, Color)> {
        if let Some(names) = self.scale.as_ref().and_then(Scale::names) {
            return names;
        }
        let lines = self.panels.iter().find_map(|panel| match &panel.content {
            Content::Lines(series) if series.len() > 1 => Some(series),
            _ => None,
        });
        let colors = CATEGORIES.iter().cycle();
        lines.into_iter().flatten().zip(colors).map(|(series, color)| (series.name.clone(), *color)).collect()
    }

    /// Panels side by side.
    fn panel_cols(&self) -> usize {
        match self.panels.len() {
            0 | 1 => 1,
            2 => 2,
            3..=6 => 3,
            7..=12 => 4,
            _ => 5,
        }
    }

    /// What the picture consists of, ready to be pixels or SVG.
    pub fn scene(&self) -> Scene {
        let (cols, rows) = (self.panel_cols(), self.panels.len().div_ceil(self.panel_cols()).max(1));
        let has_titles = self.panels.iter().any(|panel| panel.title.is_some());
        let head = if has_titles { CAPITAL + 10.0 } else { 0.0 };
        let about = self.size.map_or(BOX, |(width, height)| (width as f64 * 0.75, height as f64 * 0.75));
        let (gap_x, gap_y) = (20.0, 14.0 + head);
        let cell_of = |(width, height): (f64, f64)| {
            let width = (width - gap_x * (cols - 1) as f64) / cols as f64;
            let height = (height - gap_y * (rows - 1) as f64) / rows as f64;
            (width.max(24.0), height.max(24.0))
        };
        let margins = self.margins(cell_of(about), head);
        let inner = match self.size {
            Some((width, height)) => (
                (width as f64 - margins.left - margins.right).max(40.0),
                (height as f64 - margins.top - margins.bottom).max(40.0),
            ),
            None => BOX,
        };
        let (cell_width, cell_height) = self.squared(cell_of(inner));
        let width = cell_width * cols as f64 + gap_x * (cols - 1) as f64 + margins.left + margins.right;
        let height = cell_height * rows as f64 + gap_y * (rows - 1) as f64 + margins.top + margins.bottom;
        let least = Scene::text_width(&self.title, TITLE_SCALE).min(BOX.0) + margins.left + GAP;
        let size = self.size.unwrap_or((width.max(least).ceil() as usize, height.ceil() as usize));
        let mut scene = Scene::new(size.0, size.1, PAPER);
        self.draw_head(&mut scene, margins.left, size.0 as f64);
        let mut last = Area { left: margins.left, top: margins.top, width: cell_width, height: cell_height };
        for (idx, panel) in self.panels.iter().enumerate() {
            let (col, row) = (idx % cols, idx / cols);
            let area = Area {
                left: margins.left + col as f64 * (cell_width + gap_x),
                top: margins.top + row as f64 * (cell_height + gap_y),
                width: cell_width,
                height: cell_height,
            };
            let is_lowest = idx + cols >= self.panels.len();
            self.draw_panel(&mut scene, panel, area, col == 0, is_lowest);
            last = area;
        }
        let whole = Area {
            height: last.bottom() - margins.top,
            top: margins.top,
            left: margins.left,
            width: cell_width * cols as f64 + gap_x * (cols - 1) as f64,
        };
        self.draw_axis_titles(&mut scene, whole);
        self.draw_legend(&mut scene, whole);
        scene
    }

    fn margins(&self, cell: (f64, f64), head: f64) -> Margins {
        let widest = |axis: &Axis, wanted| {
            axis.ticks(wanted).iter().map(|tick| Scene::text_width(&tick.text, SCALE)).fold(0.0, f64::max)
        };
        let y_texts = widest(&self.y, wanted_rows(cell.1));
        let x_texts = widest(&self.x, 4);
        let legend = self.legend();
        let right = if !legend.is_empty() {
            let names = legend.iter().take(MAX_NAMES).map(|(name, _)| Scene::text_width(name, SCALE));
            GAP * 2.0 + 30.0 + names.fold(0.0, f64::max).min(300.0) + GAP
        } else if let Some(scale) = &self.scale {
            let texts = widest(&scale.axis, wanted_rows(cell.1));
            let title = if scale.axis.title.is_empty() { 0.0 } else { GAP + CAPITAL };
            GAP * 2.0 + BAR_WIDTH + 10.0 + texts + title + GAP
        } else {
            GAP * 2.0
        };
        let title = if self.title.is_empty() { 0.0 } else { 7.0 * TITLE_SCALE as f64 + GAP };
        Margins {
            left: GAP + CAPITAL + GAP + y_texts + 12.0,
            right: right.max(x_texts / 2.0 + 6.0),
            top: GAP * 1.5 + title + self.notes.len() as f64 * (CAPITAL + 8.0) + head + 6.0,
            bottom: 12.0 + CAPITAL + GAP + CAPITAL + GAP * 1.5,
        }
    }

    /// The size of a panel whose steps are as long on both axes, where that leaves something to see.
    fn squared(&self, (width, height): (f64, f64)) -> (f64, f64) {
        let (across, up) = (self.x.hi - self.x.lo, self.y.hi - self.y.lo);
        let ratio = across / up;
        if !self.is_square || !(0.2..=5.0).contains(&ratio) {
            return (width, height);
        }
        if width / height > ratio { (height * ratio, height) } else { (width, width / ratio) }
    }

    fn draw_head(&self, scene: &mut Scene, left: f64, width: f64) {
        let mut y = GAP * 1.5;
        let room = width - left - GAP;
        if !self.title.is_empty() {
            y += 7.0 * TITLE_SCALE as f64;
            let title = shortened(&self.title, TITLE_SCALE, room);
            scene.text(left, y, &title, TITLE_SCALE, INK, Anchor::Start);
            y += GAP;
        }
        for note in &self.notes {
            scene.text(left, y + CAPITAL, &shortened(note, SCALE, room), SCALE, FAINT, Anchor::Start);
            y += CAPITAL + 8.0;
        }
    }

    fn draw_panel(&self, scene: &mut Scene, panel: &Panel, area: Area, has_left: bool, has_bottom: bool) {
        if let Some(title) = &panel.title {
            let title = shortened(title, SCALE, area.width);
            scene.text(area.left, area.top - 9.0, &title, SCALE, INK, Anchor::Start);
        }
        let x = |value: f64| area.left + self.x.share(value) * area.width;
        let y = |value: f64| match self.is_y_down {
            true => area.top + self.y.share(value) * area.height,
            false => area.bottom() - self.y.share(value) * area.height,
        };
        let is_heat = matches!(panel.content, Content::Heat(_));
        let (x_ticks, y_ticks) = (fitting(&self.x, area.width), self.y.ticks(wanted_rows(area.height)));
        if !is_heat {
            for tick in &x_ticks {
                scene.lines(vec![(x(tick.at), area.top), (x(tick.at), area.bottom())], LINE, 1.0);
            }
            for tick in &y_ticks {
                scene.lines(vec![(area.left, y(tick.at)), (area.right(), y(tick.at))], LINE, 1.0);
            }
        }
        match &panel.content {
            Content::Heat(raster) => {
                let blank = self.is_blank.then_some(PAPER);
                let color = |value: &f64| self.scale.as_ref().and_then(|scale| scale.color(*value)).or(blank);
                scene.cells(area, raster.cols, raster.values.iter().map(color).collect());
            }
            Content::Points(points) => {
                let radius = if points.len() > 2000 {
                    1.6
                } else if points.len() > 200 {
                    2.5
                } else {
                    4.0
                };
                for (across, up, value) in points {
                    let (px, py) = (x(*across), y(*up));
                    let inside = (area.left - 0.5..=area.right() + 0.5).contains(&px)
                        && (area.top - 0.5..=area.bottom() + 0.5).contains(&py);
                    let color = match &self.scale {
                        Some(scale) => scale.color(*value).unwrap_or(LINE),
                        None => CATEGORIES[0],
                    };
                    if inside {
                        scene.disc(px, py, radius, color);
                    }
                }
            }
            Content::Lines(series) => {
                for (series, color) in series.iter().zip(CATEGORIES.iter().cycle()) {
                    for part in series.points.split(|(_, value)| value.is_nan()) {
                        let points: Vec<(f64, f64)> = part
                            .iter()
                            .map(|(at, value)| (x(*at), y(*value).clamp(area.top, area.bottom())))
                            .collect();
                        if let [(px, py)] = points[..] {
                            scene.disc(px, py, 2.0, *color);
                        } else if !points.is_empty() {
                            scene.lines(points, *color, 2.0);
                        }
                    }
                }
            }
        }
        scene.frame(area, INK);
        for tick in x_ticks.iter().filter(|_| has_bottom) {
            scene.lines(vec![(x(tick.at), area.bottom()), (x(tick.at), area.bottom() + 6.0)], INK, 1.0);
            let (at, below) = (x(tick.at), area.bottom() + 12.0 + CAPITAL);
            scene.text(at, below, &tick.text, SCALE, INK, Anchor::Middle);
        }
        for tick in y_ticks.iter().filter(|_| has_left) {
            scene.lines(vec![(area.left - 6.0, y(tick.at)), (area.left, y(tick.at))], INK, 1.0);
            let middle = y(tick.at) + CAPITAL / 2.0;
            scene.text(area.left - 10.0, middle, &tick.text, SCALE, INK, Anchor::End);
        }
    }

    fn draw_axis_titles(&self, scene: &mut Scene, area: Area) {
        let middle = area.left + area.width / 2.0;
        let below = area.bottom() + 12.0 + CAPITAL + GAP + CAPITAL;
        scene.text(middle, below, &shortened(&self.x.title, SCALE, area.width), SCALE, INK, Anchor::Middle);
        let title = shortened(&self.y.title, SCALE, area.height);
        scene.upward_text(GAP + CAPITAL, area.top + area.height / 2.0, &title, SCALE, INK);
    }

    fn draw_legend(&self, scene: &mut Scene, area: Area) {
        let left = area.right() + GAP * 2.0;
        let legend = self.legend();
        for (idx, (name, color)) in legend.iter().take(MAX_NAMES).enumerate() {
            let top = area.top + idx as f64 * (CAPITAL + 12.0);
            scene.rectangle(Area { left, top, width: 20.0, height: CAPITAL }, *color);
            let name = if idx + 1 == MAX_NAMES && legend.len() > MAX_NAMES {
                format!("and {} more", legend.len() - idx)
            } else {
                shortened(name, SCALE, 300.0)
            };
            scene.text(left + 30.0, top + CAPITAL, &name, SCALE, INK, Anchor::Start);
        }
        let Some(scale) = self.scale.as_ref().filter(|_| legend.is_empty()) else { return };
        let bar = Area { left, width: BAR_WIDTH, ..area };
        let steps = (bar.height as usize).clamp(2, 256);
        let shares = (0..steps).map(|step| 1.0 - (step as f64 + 0.5) / steps as f64);
        scene.cells(bar, 1, shares.map(|share| Some(scale.ramp.color(share))).collect());
        scene.frame(bar, INK);
        let mut widest: f64 = 0.0;
        for tick in scale.axis.ticks(wanted_rows(bar.height)) {
            let y = bar.bottom() - scale.axis.share(tick.at) * bar.height;
            scene.lines(vec![(bar.right(), y), (bar.right() + 6.0, y)], INK, 1.0);
            scene.text(bar.right() + 10.0, y + CAPITAL / 2.0, &tick.text, SCALE, INK, Anchor::Start);
            widest = widest.max(Scene::text_width(&tick.text, SCALE));
        }
        let title = shortened(&scale.axis.title, SCALE, bar.height.max(200.0));
        let x = bar.right() + 10.0 + widest + GAP + CAPITAL;
        scene.upward_text(x, bar.top + bar.height / 2.0, &title, SCALE, INK);
    }
}

/// Ticks beside a height.
fn wanted_rows(height: f64) -> usize {
    ((height / 64.0) as usize).clamp(2, 12)
}

/// As many ticks below a width as their texts leave room for.
fn fitting(axis: &Axis, width: f64) -> Vec<super::axis::Tick> {
    let mut ticks = Vec::new();
    for wanted in (2..=12).rev() {
        ticks = axis.ticks(wanted);
        let shares: Vec<f64> = ticks.iter().map(|tick| axis.share(tick.at) * width).collect();
        let widest =
            ticks.iter().map(|tick| Scene::text_width(&tick.text, SCALE)).fold(0.0, f64::max) + GAP * 1.5;
        if shares.windows(2).all(|pair| pair[1] - pair[0] >= widest) {
            return ticks;
        }
    }
    ticks.truncate(1);
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(values: Vec<f64>) -> Figure {
        Figure {
            title: "t".into(),
            notes: vec!["n".into()],
            panels: vec![Panel { title: None, content: Content::Heat(Raster { cols: 2, rows: 2, values }) }],
            x: Axis::new("x", -0.5, 1.5, Unit::Integer),
            y: Axis::new("y", -0.5, 1.5, Unit::Integer),
            is_y_down: true,
            is_square: true,
            scale: Some(Scale { axis: Axis::new("v", 0.0, 3.0, Unit::Number), ramp: Ramp::Viridis }),
            size: None,
            is_blank: false,
        }
    }

    #[test]
    fn a_heat_map_has_axes_a_bar_and_a_pattern_where_values_are_missing() {
        let svg = heat(vec![0.0, 1.0, f64::NAN, 3.0]).scene().svg();
        for text in [">t<", ">n<", ">x<", ">y<", ">v<", ">0<", ">1<", ">3.0<", "url(#missing)"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(svg.contains(&Ramp::Viridis.color(0.0).css()));
    }

    #[test]
    fn no_size_is_too_small_to_draw() {
        for size in [(1, 1), (40, 300), (300, 40)] {
            let figure = Figure { size: Some(size), ..heat(vec![f64::MIN, f64::MAX, f64::INFINITY, 0.0]) };
            assert_eq!(figure.scene().canvas().pixel(0, 0), Some(PAPER));
            figure.scene().svg();
        }
    }

    #[test]
    fn names_have_colours_that_differ() {
        let names = Unit::Names(["a", "b", "c"].map(String::from).to_vec());
        let scale = Scale { axis: Axis::new("", 0.0, 2.0, names), ramp: Ramp::Viridis };
        assert_eq!(scale.color(1.0), Some(CATEGORIES[1]));
        assert_eq!(scale.color(3.0), None);
        assert_eq!(scale.color(f64::NAN), None);
    }
}
