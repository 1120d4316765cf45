//! What a picture consists of, drawn as pixels or as SVG.

use super::{Canvas, Color, font};
use base64::Engine;
use std::fmt::Write;

/// Which part of a text lies at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A rectangle on the picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Area {
    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

#[derive(Debug, Clone)]
enum Shape {
    Rectangle {
        area: Area,
        color: Color,
    },
    Frame {
        area: Area,
        color: Color,
    },
    Lines {
        points: Vec<(f64, f64)>,
        color: Color,
        width: f64,
    },
    Disc {
        x: f64,
        y: f64,
        radius: f64,
        color: Color,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
        scale: i64,
        color: Color,
        anchor: Anchor,
        is_upward: bool,
    },
    /// Cells row by row; `None` is missing.
    Cells {
        area: Area,
        cols: usize,
        cells: Vec<Option<Color>>,
    },
}

/// Shapes, those behind others first.
#[derive(Debug, Clone)]
pub struct Scene {
    width: usize,
    height: usize,
    background: Color,
    shapes: Vec<Shape>,
}

/// The two greys of the pattern where there is no value.
const MISSING: [Color; 2] = [Color::hex(0xe9e9ec), Color::hex(0xd4d4da)];
/// Pixels of a stripe of the pattern.
const STRIPE: i64 = 5;
/// Cells that SVG has as rectangles; more are an embedded picture.
const MAX_SVG_CELLS: usize = 4096;

impl Scene {
    pub(crate) fn new(width: usize, height: usize, background: Color) -> Self {
        Scene { width, height, background, shapes: Vec::new() }
    }

    pub(crate) fn rectangle(&mut self, area: Area, color: Color) {
        self.shapes.push(Shape::Rectangle { area, color });
    }

    /// The outline of an area, outside of it.
    pub(crate) fn frame(&mut self, area: Area, color: Color) {
        self.shapes.push(Shape::Frame { area, color });
    }

    pub(crate) fn lines(&mut self, points: Vec<(f64, f64)>, color: Color, width: f64) {
        self.shapes.push(Shape::Lines { points, color, width });
    }

    pub(crate) fn disc(&mut self, x: f64, y: f64, radius: f64, color: Color) {
        self.shapes.push(Shape::Disc { x, y, radius, color });
    }

    /// A text that stands on `y`.
    pub(crate) fn text(&mut self, x: f64, y: f64, text: &str, scale: i64, color: Color, anchor: Anchor) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { x, y, text, scale, color, anchor, is_upward: false });
    }

    /// A text that runs upward, with `x` on its right, and its middle at `y`.
    pub(crate) fn upward_text(&mut self, x: f64, y: f64, text: &str, scale: i64, color: Color) {
        let (text, anchor) = (text.to_owned(), Anchor::Middle);
        self.shapes.push(Shape::Text { x, y, text, scale, color, anchor, is_upward: true });
    }

    /// Cells of equal size that fill an area, row by row; the ones without a colour show the pattern of what is missing.
    pub(crate) fn cells(&mut self, area: Area, cols: usize, cells: Vec<Option<Color>>) {
        self.shapes.push(Shape::Cells { area, cols: cols.max(1), cells });
    }

    /// Pixels that a text of a scale takes.
    pub(crate) fn text_width(text: &str, scale: i64) -> f64 {
        Canvas::text_width(text, scale) as f64
    }

    /// The picture as pixels.
    pub fn canvas(&self) -> Canvas {
        let mut canvas = Canvas::new(self.width, self.height, self.background);
        for shape in &self.shapes {
            match shape {
                Shape::Rectangle { area, color } => fill(&mut canvas, area, *color),
                Shape::Frame { area, color } => {
                    let (left, top) = (area.left.round() as i64, area.top.round() as i64);
                    let (right, bottom) = (area.right().round() as i64, area.bottom().round() as i64);
                    canvas.rectangle(left - 1, top - 1, right - left + 2, 1, *color, 1.0);
                    canvas.rectangle(left - 1, bottom, right - left + 2, 1, *color, 1.0);
                    canvas.rectangle(left - 1, top - 1, 1, bottom - top + 2, *color, 1.0);
                    canvas.rectangle(right, top - 1, 1, bottom - top + 2, *color, 1.0);
                }
                Shape::Lines { points, color, width } => {
                    for pair in points.windows(2) {
                        canvas.line(pair[0], pair[1], *width as f32, *color);
                    }
                }
                Shape::Disc { x, y, radius, color } => {
                    canvas.disc(*x as f32, *y as f32, *radius as f32, *color, 1.0);
                }
                Shape::Text { x, y, text, scale, color, anchor, is_upward } => {
                    let width = Scene::text_width(text, *scale);
                    let back = match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => width / 2.0,
                        Anchor::End => width,
                    };
                    if *is_upward {
                        let (x, y) = ((x - 7.0 * *scale as f64).round() as i64, (y + back).round() as i64);
                        canvas.upward_text(x, y, text, *scale, *color);
                    } else {
                        let (x, y) = ((x - back).round() as i64, y.round() as i64 - 7 * scale);
                        canvas.text(x, y, text, *scale, *color);
                    }
                }
                Shape::Cells { area, cols, cells } => draw_cells(&mut canvas, area, *cols, cells),
            }
        }
        canvas
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut svg = String::new();
        let _ = writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="system-ui, 'Helvetica Neue', Arial, sans-serif">"#
        );
        let (light, dark) = (MISSING[0].css(), MISSING[1].css());
        let _ = writeln!(
            svg,
            r#"<defs><pattern id="missing" width="10" height="10" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="10" height="10" fill="{light}"/><rect width="5" height="10" fill="{dark}"/></pattern></defs>"#
        );
        let _ =
            writeln!(svg, r#"<rect width="{width}" height="{height}" fill="{}"/>"#, self.background.css());
        for shape in &self.shapes {
            push_svg(&mut svg, shape);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn fill(canvas: &mut Canvas, area: &Area, color: Color) {
    let (left, top) = (area.left.round() as i64, area.top.round() as i64);
    let (right, bottom) = (area.right().round() as i64, area.bottom().round() as i64);
    canvas.rectangle(left, top, (right - left).max(1), (bottom - top).max(1), color, 1.0);
}

fn draw_cells(canvas: &mut Canvas, area: &Area, cols: usize, cells: &[Option<Color>]) {
    let rows = cells.len() / cols;
    let (left, top) = (area.left.round() as i64, area.top.round() as i64);
    let (width, height) = (area.width.round().max(1.0) as i64, area.height.round().max(1.0) as i64);
    for y in 0..height {
        let row = (y as usize * rows) / height as usize;
        for x in 0..width {
            let col = (x as usize * cols) / width as usize;
            let pattern = MISSING[((left + x + top + y).div_euclid(STRIPE) & 1) as usize];
            let color = cells.get(row * cols + col).copied().flatten().unwrap_or(pattern);
            canvas.blend(left + x, top + y, color, 1.0);
        }
    }
}

fn push_svg(svg: &mut String, shape: &Shape) {
    // Writing to memory does not fail.
    let _ = match shape {
        Shape::Rectangle { area: Area { left, top, width, height }, color } => writeln!(
            svg,
            r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="{}"/>"#,
            color.css()
        ),
        Shape::Frame { area: Area { left, top, width, height }, color } => writeln!(
            svg,
            r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="none" stroke="{}"/>"#,
            color.css()
        ),
        Shape::Lines { points, color, width } => {
            let mut path = String::new();
            for (idx, (x, y)) in points.iter().enumerate() {
                let _ = write!(path, "{}{x:.1} {y:.1}", if idx == 0 { 'M' } else { 'L' });
            }
            writeln!(
                svg,
                r#"<path d="{path}" fill="none" stroke="{}" stroke-width="{width}" stroke-linejoin="round"/>"#,
                color.css()
            )
        }
        Shape::Disc { x, y, radius, color } => {
            writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" fill="{}"/>"#, color.css())
        }
        Shape::Text { x, y, text, scale, color, anchor, is_upward } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let place = match is_upward {
                true => format!(r#"transform="translate({x:.1} {y:.1}) rotate(-90)""#),
                false => format!(r#"x="{x:.1}" y="{y:.1}""#),
            };
            writeln!(
                svg,
                r#"<text {place} font-size="{}" fill="{}" text-anchor="{anchor}">{}</text>"#,
                scale * 9,
                color.css(),
                escape(text)
            )
        }
        Shape::Cells { area, cols, cells } => {
            let Area { left, top, width, height } = area;
            let _ = writeln!(
                svg,
                r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="url(#missing)"/>"#
            );
            if cells.len() <= MAX_SVG_CELLS {
                push_svg_cells(svg, area, *cols, cells);
                return;
            }
            let png = base64::engine::general_purpose::STANDARD.encode(png_of(*cols, cells));
            writeln!(
                svg,
                r#"<image x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{png}"/>"#
            )
        }
    };
}

/// A rectangle for each run of equal colours in a row.
fn push_svg_cells(svg: &mut String, area: &Area, cols: usize, cells: &[Option<Color>]) {
    let (width, height) = (area.width / cols as f64, area.height / (cells.len() / cols).max(1) as f64);
    svg.push_str("<g shape-rendering=\"crispEdges\">\n");
    for (row, line) in cells.chunks(cols).enumerate() {
        let top = area.top + row as f64 * height;
        let mut col = 0;
        for run in line.chunk_by(|a, b| a == b) {
            if let Some(color) = run[0] {
                let (left, width) = (area.left + col as f64 * width, run.len() as f64 * width);
                let _ = writeln!(
                    svg,
                    r#"<rect x="{left:.2}" y="{top:.2}" width="{width:.2}" height="{height:.2}" fill="{}"/>"#,
                    color.css()
                );
            }
            col += run.len();
        }
    }
    svg.push_str("</g>\n");
}

/// Cells as pixels of a PNG; those without a colour are transparent.
fn png_of(cols: usize, cells: &[Option<Color>]) -> Vec<u8> {
    let pixels: Vec<u8> = cells
        .iter()
        .flat_map(|cell| match cell {
            Some(color) => {
                let [red, green, blue] = color.bytes();
                [red, green, blue, u8::MAX]
            }
            None => [0; 4],
        })
        .collect();
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, cols as u32, (cells.len() / cols) as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    if let Ok(mut writer) = encoder.write_header() {
        // Memory takes what is written to it.
        let _ = writer.write_image_data(&pixels);
    }
    png
}

/// A text as SVG holds it.
pub(super) fn escape(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).collect();
    clean.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A text cut to a width, with dots where something is missing.
pub(super) fn shortened(text: &str, scale: i64, width: f64) -> String {
    let most = (width / (font::ADVANCE as f64 * scale as f64)) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(2)).collect();
    format!("{kept}..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_show_the_same_cells() {
        let mut scene = Scene::new(20, 10, Color::hex(0xffffff));
        let area = Area { left: 0.0, top: 0.0, width: 20.0, height: 10.0 };
        let (red, blue) = (Some(Color::hex(0xff0000)), Some(Color::hex(0x0000ff)));
        scene.cells(area, 2, vec![red, blue, blue, None]);
        scene.text(0.0, 9.0, "a<b", 1, Color::hex(0), Anchor::Start);
        let svg = scene.svg();
        assert!(svg.contains(r##"x="10.00" y="0.00" width="10.00" height="5.00" fill="#0000ff""##), "{svg}");
        assert!(svg.contains("a&lt;b") && svg.contains("url(#missing)"));
        let canvas = scene.canvas();
        assert_eq!(canvas.pixel(0, 0), red);
        assert_eq!(canvas.pixel(19, 4), blue);
        assert!(MISSING.map(Some).contains(&canvas.pixel(19, 9)));
        assert_eq!(canvas.pixel(20, 0), None);
        let many = vec![red; MAX_SVG_CELLS + 2];
        scene.cells(area, 2, many);
        assert!(scene.svg().contains("data:image/png;base64,"));
    }
}
