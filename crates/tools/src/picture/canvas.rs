//! Pixels to draw on, and PNG files of them.

use super::font;
use std::io::{Error, Write};

/// Red, green and blue, each 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Color(pub [f32; 3]);

impl Color {
    /// From `0xRRGGBB`.
    pub(crate) const fn hex(rgb: u32) -> Self {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Color([red as f32 / 255.0, green as f32 / 255.0, blue as f32 / 255.0])
    }

    /// Red, green and blue of 0 to 255.
    pub(crate) fn bytes(self) -> [u8; 3] {
        self.0.map(|channel| (channel.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
    }

    /// As `#rrggbb`.
    pub(crate) fn css(self) -> String {
        let [red, green, blue] = self.bytes();
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// The colour this far on the way to another: 0 is this one, 1 the other.
    pub(crate) fn mix(self, other: Color, share: f32) -> Self {
        let (from, to) = (self.0, other.0);
        Color(std::array::from_fn(|channel| from[channel] + (to[channel] - from[channel]) * share))
    }

    /// Lighter above 1, darker below.
    pub(crate) fn lit(self, light: f32) -> Self {
        Color(self.0.map(|channel| (channel * light).clamp(0.0, 1.0)))
    }
}

/// A picture of opaque pixels.
#[derive(Debug)]
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Color>,
}

impl Canvas {
    pub(crate) fn new(width: usize, height: usize, background: Color) -> Self {
        Canvas { width, height, pixels: vec![background; width * height] }
    }

    /// Covers a pixel by a share of 0 to 1. Outside of the picture nothing happens.
    pub(crate) fn blend(&mut self, x: i64, y: i64, color: Color, share: f32) {
        let inside = |at: i64, len: usize| usize::try_from(at).ok().filter(|at| *at < len);
        if let (Some(x), Some(y)) = (inside(x, self.width), inside(y, self.height))
            && let Some(pixel) = self.pixels.get_mut(y * self.width + x)
        {
            *pixel = pixel.mix(color, share.clamp(0.0, 1.0));
        }
    }

    /// A filled rectangle.
    pub(crate) fn rectangle(&mut self, x: i64, y: i64, width: i64, height: i64, color: Color, share: f32) {
        for row in y..y + height {
            for column in x..x + width {
                self.blend(column, row, color, share);
            }
        }
    }

    /// A disc with soft edges.
    pub(crate) fn disc(&mut self, x: f32, y: f32, radius: f32, color: Color, share: f32) {
        let reach = radius.ceil() as i64 + 1;
        let (left, top) = (x.floor() as i64, y.floor() as i64);
        for row in top - reach..=top + reach {
            for column in left - reach..=left + reach {
                let (dx, dy) = (column as f32 + 0.5 - x, row as f32 + 0.5 - y);
                let cover = (radius + 0.5 - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0);
                self.blend(column, row, color, cover * share);
            }
        }
    }

    /// A line with soft edges and round ends.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), width: f32, color: Color) {
        let (ax, ay) = (from.0 as f32, from.1 as f32);
        let (dx, dy) = (to.0 as f32 - ax, to.1 as f32 - ay);
        let length = (dx * dx + dy * dy).sqrt();
        let count = length.ceil().min((self.width + self.height) as f32 * 2.0).max(1.0);
        // Short pieces, so that of a slanted line few pixels are looked at.
        for piece in 0..(count / 8.0).ceil() as i64 {
            let (start, end) = (piece as f32 * 8.0 / count, ((piece + 1) as f32 * 8.0 / count).min(1.0));
            let (x0, y0, x1, y1) = (ax + dx * start, ay + dy * start, ax + dx * end, ay + dy * end);
            let reach = width / 2.0 + 1.0;
            let is_last = end >= 1.0;
            for y in (y0.min(y1) - reach).floor() as i64..=(y0.max(y1) + reach).ceil() as i64 {
                for x in (x0.min(x1) - reach).floor() as i64..=(x0.max(x1) + reach).ceil() as i64 {
                    let (px, py) = (x as f32 + 0.5 - ax, y as f32 + 0.5 - ay);
                    let along = if length > 0.0 { (px * dx + py * dy) / (length * length) } else { 0.0 };
                    // Each pixel belongs to the piece that it is nearest to, and is covered once.
                    let clamped = along.clamp(0.0, 1.0);
                    let belongs = (clamped >= start || piece == 0) && (clamped < end || is_last);
                    if belongs {
                        let (ox, oy) = (px - dx * clamped, py - dy * clamped);
                        let cover = width / 2.0 + 0.5 - (ox * ox + oy * oy).sqrt();
                        self.blend(x, y, color, cover.clamp(0.0, 1.0));
                    }
                }
            }
        }
    }

    /// A text that runs upward: letters begin at `y`, and their capitals reach from `x` to the right.
    pub(crate) fn upward_text(&mut self, x: i64, y: i64, text: &str, scale: i64, color: Color) {
        self.each_font_pixel(0, 0, text, scale, |canvas, px, py| {
            canvas.rectangle(x + py, y - px - scale, scale, scale, color, 1.0);
        });
    }

    /// The colour of a pixel inside the picture.
    #[cfg(test)]
    pub(crate) fn pixel(&self, x: usize, y: usize) -> Option<Color> {
        (x < self.width).then(|| self.pixels.get(y * self.width + x).copied()).flatten()
    }

    /// A text whose letters begin at `x` and whose capitals reach up to `y`, each font pixel `scale` pixels wide.
    pub(crate) fn text(&mut self, x: i64, y: i64, text: &str, scale: i64, color: Color) {
        self.each_font_pixel(x, y, text, scale, |canvas, px, py| {
            canvas.rectangle(px, py, scale, scale, color, 1.0);
        });
    }

    /// As [`text`](Canvas::text), on a soft rim of another colour.
    pub(crate) fn text_with_rim(&mut self, x: i64, y: i64, text: &str, scale: i64, color: Color, rim: Color) {
        let radius = scale as f32 * 1.4;
        self.each_font_pixel(x, y, text, scale, |canvas, px, py| {
            let middle = scale as f32 / 2.0;
            canvas.disc(px as f32 + middle, py as f32 + middle, radius, rim, 0.35);
        });
        self.text(x, y, text, scale, color);
    }

    /// Pixels that a text takes at a scale.
    pub(crate) fn text_width(text: &str, scale: i64) -> i64 {
        font::width(text) as i64 * scale
    }

    fn each_font_pixel(
        &mut self,
        x: i64,
        y: i64,
        text: &str,
        scale: i64,
        mut draw: impl FnMut(&mut Self, i64, i64),
    ) {
        for (idx, c) in text.chars().enumerate() {
            let left = x + (idx * font::ADVANCE) as i64 * scale;
            for (row, bits) in font::glyph(c).into_iter().enumerate() {
                for column in (0..5).filter(|column| bits >> (4 - column) & 1 == 1) {
                    draw(self, left + column * scale, y + row as i64 * scale);
                }
            }
        }
    }

    /// Pixels of a row, and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Red, green and blue of each pixel, row by row from the top.
    pub fn rgb(&self) -> Vec<u8> {
        self.pixels.iter().flat_map(|pixel| pixel.bytes()).collect()
    }

    /// Writes the picture as PNG.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_png(&self, out: impl Write) -> Result<(), Error> {
        let mut encoder = png::Encoder::new(out, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        // The default takes longer than all else that drawing does.
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(Error::other)?;
        writer.write_image_data(&self.rgb()).map_err(Error::other)?;
        writer.finish().map_err(Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_over_the_edge_does_nothing() {
        let mut canvas = Canvas::new(8, 8, Color::hex(0));
        canvas.disc(-3.0, 4.0, 2.0, Color::hex(0xffffff), 1.0);
        canvas.text(-20, -3, "Ag", 3, Color::hex(0xffffff));
        canvas.rectangle(7, 7, 5, 5, Color::hex(0xff0000), 1.0);
        assert_eq!(canvas.pixels[63], Color::hex(0xff0000));
        let mut png = Vec::new();
        canvas.write_png(&mut png).unwrap();
        assert_eq!(&png[1..4], b"PNG");
    }
}
