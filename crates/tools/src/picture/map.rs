//! A map: relief, places as dots, some names, coordinates around it and a legend.

use super::plot::INK;
use super::relief::{Relief, land_color};
use super::{Canvas, Color, Grid};

/// What a map shows.
#[derive(Debug)]
pub struct MapPicture<'a> {
    /// Elevations of the window.
    pub grid: &'a Grid,
    /// Degrees north of the lower and the upper edge.
    pub lat: (f64, f64),
    /// Degrees east of the left and the right edge.
    pub lon: (f64, f64),
    /// Places to dot.
    pub points: &'a [Point],
    /// Places to name.
    pub labels: &'a [Label],
    /// The title above the map.
    pub title: &'a str,
    /// A line of sources below.
    pub sources: &'a str,
}

/// A place.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
}

/// A place with its name.
#[derive(Debug, Clone)]
pub struct Label {
    /// Where it is.
    pub point: Point,
    /// What it is called.
    pub name: String,
}

const PAPER: Color = Color::hex(0xfbfaf7);
const FAINT: Color = Color::hex(0x8a8a92);
const DOT: Color = Color::hex(0x8c1d3f);

/// Pixels of the map's width; its height follows from the window.
const MAP_WIDTH: i64 = 1500;
const LEFT: i64 = 84;
const RIGHT: i64 = 36;
const TOP: i64 = 84;
const BOTTOM: i64 = 150;

/// Where degrees lie on the picture.
struct Frame {
    lat: (f64, f64),
    lon: (f64, f64),
    height: i64,
}

impl Frame {
    fn x(&self, lon: f64) -> f32 {
        (LEFT as f64 + (lon - self.lon.0) / (self.lon.1 - self.lon.0) * MAP_WIDTH as f64) as f32
    }

    fn y(&self, lat: f64) -> f32 {
        (TOP as f64 + (self.lat.1 - lat) / (self.lat.1 - self.lat.0) * self.height as f64) as f32
    }

    fn holds(&self, point: Point) -> bool {
        (self.lat.0..=self.lat.1).contains(&point.lat) && (self.lon.0..=self.lon.1).contains(&point.lon)
    }
}

/// Draws a map.
pub fn draw_map(map: &MapPicture<'_>) -> Canvas {
    // A degree of longitude is shorter than one of latitude: right in the middle of the window.
    let middle = ((map.lat.0 + map.lat.1) / 2.0).to_radians().cos();
    let height = MAP_WIDTH as f64 * (map.lat.1 - map.lat.0) / ((map.lon.1 - map.lon.0) * middle);
    let frame = Frame { lat: map.lat, lon: map.lon, height: height as i64 };
    let mut canvas =
        Canvas::new((LEFT + MAP_WIDTH + RIGHT) as usize, (TOP + frame.height + BOTTOM) as usize, PAPER);
    canvas.text(LEFT, 28, map.title, 4, INK);
    draw_relief(&mut canvas, map.grid, &frame);
    for point in map.points.iter().filter(|point| frame.holds(**point)) {
        canvas.disc(frame.x(point.lon), frame.y(point.lat), 1.0, DOT, 0.38);
    }
    draw_coordinates(&mut canvas, &frame);
    draw_labels(&mut canvas, map.labels, &frame);
    draw_legend(&mut canvas, map, &frame);
    canvas
}

fn draw_relief(canvas: &mut Canvas, grid: &Grid, frame: &Frame) {
    let relief = Relief::new(grid);
    for y in 0..frame.height {
        let row = (y as f32 + 0.5) / frame.height as f32 * grid.rows as f32;
        for x in 0..MAP_WIDTH {
            let col = (x as f32 + 0.5) / MAP_WIDTH as f32 * grid.cols as f32;
            canvas.blend(LEFT + x, TOP + y, relief.color(row, col), 1.0);
        }
    }
}

fn draw_coordinates(canvas: &mut Canvas, frame: &Frame) {
    let line = Color::hex(0xffffff);
    for lon in multiples_of_5(frame.lon) {
        let x = frame.x(f64::from(lon)) as i64;
        canvas.rectangle(x, TOP, 1, frame.height, line, 0.3);
        canvas.rectangle(x, TOP + frame.height, 1, 8, INK, 1.0);
        let text = degrees(lon, 'E', 'W');
        canvas.text(x - Canvas::text_width(&text, 2) / 2, TOP + frame.height + 14, &text, 2, INK);
    }
    for lat in multiples_of_5(frame.lat) {
        let y = frame.y(f64::from(lat)) as i64;
        canvas.rectangle(LEFT, y, MAP_WIDTH, 1, line, 0.3);
        canvas.rectangle(LEFT - 8, y, 8, 1, INK, 1.0);
        let text = degrees(lat, 'N', 'S');
        canvas.text(LEFT - 14 - Canvas::text_width(&text, 2), y - 7, &text, 2, INK);
    }
    canvas.rectangle(LEFT - 2, TOP - 2, MAP_WIDTH + 4, 2, INK, 1.0);
    canvas.rectangle(LEFT - 2, TOP + frame.height, MAP_WIDTH + 4, 2, INK, 1.0);
    canvas.rectangle(LEFT - 2, TOP - 2, 2, frame.height + 4, INK, 1.0);
    canvas.rectangle(LEFT + MAP_WIDTH, TOP - 2, 2, frame.height + 4, INK, 1.0);
}

fn multiples_of_5(range: (f64, f64)) -> impl Iterator<Item = i32> {
    let (from, to) = ((range.0 / 5.0).ceil() as i32, (range.1 / 5.0).floor() as i32);
    (from..=to).map(|step| step * 5)
}

fn degrees(value: i32, positive: char, negative: char) -> String {
    match value {
        0 => "0°".into(),
        1.. => format!("{value}°{positive}"),
        _ => format!("{}°{negative}", -value),
    }
}

fn draw_labels(canvas: &mut Canvas, labels: &[Label], frame: &Frame) {
    let mut taken: Vec<(i64, i64, i64, i64)> = Vec::new();
    for label in labels.iter().filter(|label| frame.holds(label.point)) {
        let (x, y) = (frame.x(label.point.lon), frame.y(label.point.lat));
        let width = Canvas::text_width(&label.name, 2);
        let right_edge = LEFT + MAP_WIDTH - 6;
        let left = if x as i64 + 10 + width > right_edge { x as i64 - 10 - width } else { x as i64 + 10 };
        let area = (left - 4, y as i64 - 10, left + width + 4, y as i64 + 12);
        let meets = |other: &(i64, i64, i64, i64)| {
            area.0 < other.2 && other.0 < area.2 && area.1 < other.3 && other.1 < area.3
        };
        if taken.iter().any(meets) {
            continue;
        }
        taken.push(area);
        canvas.disc(x, y, 6.0, PAPER, 1.0);
        canvas.disc(x, y, 4.0, DOT, 1.0);
        canvas.text_with_rim(left, y as i64 - 7, &label.name, 2, INK, PAPER);
    }
}

fn draw_legend(canvas: &mut Canvas, map: &MapPicture<'_>, frame: &Frame) {
    let top = TOP + frame.height + 58;
    let (bar_width, max_metres) = (560_i64, 4000.0);
    for x in 0..bar_width {
        let metres = x as f32 / bar_width as f32 * max_metres;
        canvas.rectangle(LEFT + x, top, 1, 20, land_color(metres), 1.0);
    }
    for metres in [0, 1000, 2000, 3000, 4000] {
        let x = LEFT + i64::from(metres) * bar_width / max_metres as i64;
        canvas.rectangle(x, top + 20, 1, 6, INK, 1.0);
        let text = if metres == 4000 { "4000 m".to_string() } else { metres.to_string() };
        canvas.text(x - if metres == 0 { 0 } else { 22 }, top + 30, &text, 2, INK);
    }
    let x = LEFT + bar_width + 90;
    canvas.disc(x as f32, top as f32 + 10.0, 3.0, DOT, 0.8);
    let count = map.points.iter().filter(|point| frame.holds(**point)).count();
    let text = format!("{} places with more than 1,000 inhabitants", crate::human::count(count as u64));
    canvas.text(x + 16, top + 3, &text, 2, INK);
    canvas.text(x + 16, top + 30, map.sources, 2, FAINT);
}
