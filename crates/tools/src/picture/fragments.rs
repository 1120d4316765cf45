//! Fragments over a two-dimensional domain, as SVG: a rectangle for each tile, a colour for each fragment.

use super::scene::escape;
use std::fmt::Write;

/// The domain that is drawn.
#[derive(Debug, Clone)]
pub struct Plane {
    /// Name and range of the dimension drawn from left to right.
    pub across: (String, f64, f64),
    /// Name and range of the dimension drawn from bottom to top.
    pub up: (String, f64, f64),
    /// Rectangles as (left, bottom, right, top) that are drawn faintly below all others.
    pub backdrop: Vec<[f64; 4]>,
}

/// A fragment: the rectangles of its tiles as (left, bottom, right, top).
#[derive(Debug, Clone)]
pub struct FragmentShape {
    /// What the legend says.
    pub title: String,
    /// A second, smaller line of the legend.
    pub details: String,
    /// Its tiles.
    pub tiles: Vec<[f64; 4]>,
}

const COLORS: &[&str] =
    &["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6a3d9a", "#8c564b"];

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 64.0;
const TITLE: f64 = 56.0;
const LEGEND_ROW: f64 = 46.0;

/// Draws tile rectangles over the domain, with axes and a legend.
pub fn draw_fragments(title: &str, plane: &Plane, fragments: &[FragmentShape]) -> String {
    let (across, up) = (plane.across.2 - plane.across.1, plane.up.2 - plane.up.1);
    let plot_width = WIDTH - 2.0 * MARGIN;
    let plot_height = (plot_width * up / across).clamp(200.0, 1200.0);
    let legend_top = TITLE + plot_height + 64.0;
    let height = legend_top + fragments.len().div_ceil(2) as f64 * LEGEND_ROW + 16.0;
    let x = |value: f64| MARGIN + (value - plane.across.1) / across * plot_width;
    let y = |value: f64| TITLE + (plane.up.2 - value) / up * plot_height;

    let mut svg = Svg::default();
    svg.line(format_args!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" width="{WIDTH}" height="{height:.0}" font-family="system-ui, sans-serif" fill="#2b2b33">"##
    ));
    svg.line(format_args!(r##"<rect width="100%" height="100%" fill="#fbfaf7"/>"##));
    svg.line(format_args!(
        r#"<text x="{MARGIN}" y="36" font-size="24" font-weight="600">{}</text>"#,
        escape(title)
    ));
    svg.line(format_args!(
        r##"<rect x="{MARGIN}" y="{TITLE}" width="{plot_width:.1}" height="{plot_height:.1}" fill="#fff" stroke="#2b2b33"/>"##
    ));
    let bars = plane.backdrop.iter().map(|[left, bottom, right, top]| {
        let (width, tall) = (x(*right) - x(*left), y(*bottom) - y(*top));
        format!("M{:.1} {:.1}h{width:.1}v{tall:.1}h-{width:.1}z", x(*left), y(*top))
    });
    svg.line(format_args!(r##"<path fill="#ebe7dd" d="{}"/>"##, bars.collect::<String>()));
    for value in ticks(plane.across.1, plane.across.2) {
        svg.line(format_args!(
            r##"<path d="M{0:.1} {TITLE}v{plot_height:.1}" stroke="#2b2b33" stroke-opacity="0.12"/><text x="{0:.1}" y="{1:.1}" font-size="13" text-anchor="middle">{value}</text>"##,
            x(value),
            TITLE + plot_height + 20.0
        ));
    }
    for value in ticks(plane.up.1, plane.up.2) {
        svg.line(format_args!(
            r##"<path d="M{MARGIN} {0:.1}h{plot_width:.1}" stroke="#2b2b33" stroke-opacity="0.12"/><text x="{1:.1}" y="{2:.1}" font-size="13" text-anchor="end">{value}</text>"##,
            y(value),
            MARGIN - 8.0,
            y(value) + 4.0
        ));
    }
    svg.line(format_args!(
        r#"<text x="{:.1}" y="{:.1}" font-size="14" text-anchor="middle">{}</text>"#,
        WIDTH / 2.0,
        TITLE + plot_height + 42.0,
        escape(&plane.across.0)
    ));
    svg.line(format_args!(
        r#"<text transform="translate(18 {:.1}) rotate(-90)" font-size="14" text-anchor="middle">{}</text>"#,
        TITLE + plot_height / 2.0,
        escape(&plane.up.0)
    ));
    for (fragment, color) in fragments.iter().zip(COLORS.iter().cycle()) {
        svg.line(format_args!(
            r#"<g fill="{color}" fill-opacity="0.12" stroke="{color}" stroke-opacity="0.9"><title>{}</title>"#,
            escape(&fragment.title)
        ));
        for [left, bottom, right, top] in &fragment.tiles {
            // A tile of one cell is a point: it stays visible.
            let (width, tall) = ((x(*right) - x(*left)).max(1.0), (y(*bottom) - y(*top)).max(1.0));
            svg.line(format_args!(
                r#"<rect x="{:.1}" y="{:.1}" width="{width:.1}" height="{tall:.1}"/>"#,
                x(*left),
                y(*top)
            ));
        }
        svg.line(format_args!("</g>"));
    }
    for (idx, (fragment, color)) in fragments.iter().zip(COLORS.iter().cycle()).enumerate() {
        let left = MARGIN + (idx % 2) as f64 * plot_width / 2.0;
        let top = legend_top + (idx / 2) as f64 * LEGEND_ROW;
        svg.line(format_args!(
            r#"<rect x="{left:.1}" y="{top:.1}" width="22" height="22" fill="{color}" fill-opacity="0.35" stroke="{color}"/><text x="{0:.1}" y="{1:.1}" font-size="15" font-weight="600">{2}</text><text x="{0:.1}" y="{3:.1}" font-size="12">{4}</text>"#,
            left + 32.0,
            top + 10.0,
            escape(&fragment.title),
            top + 27.0,
            escape(&fragment.details)
        ));
    }
    svg.line(format_args!("</svg>"));
    svg.text
}

#[derive(Default)]
struct Svg {
    text: String,
}

impl Svg {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.text.write_fmt(line).expect("memory takes what is written to it");
        self.text.push('\n');
    }
}

/// Round numbers inside a range: steps of 1, 2, 3 or 5 times a power of ten, about ten of them.
fn ticks(from: f64, to: f64) -> impl Iterator<Item = f64> {
    let power = 10_f64.powf(((to - from) / 10.0).log10().floor());
    let step = [1.0, 2.0, 3.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|step| (to - from) / step <= 12.0).unwrap_or(to - from);
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    (first..=last).map(move |nth| nth as f64 * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(
            ticks(-180.0, 180.0).collect::<Vec<_>>(),
            (-6..=6).map(|n| f64::from(n) * 30.0).collect::<Vec<_>>()
        );
        assert_eq!(ticks(0.0, 9.5).collect::<Vec<_>>(), (0..=9).map(f64::from).collect::<Vec<_>>());
    }

    #[test]
    fn every_tile_is_a_rectangle_and_text_is_escaped() {
        let plane = Plane { across: ("x".into(), 0.0, 10.0), up: ("y".into(), 0.0, 5.0), backdrop: vec![] };
        let tiles = vec![[0.0, 0.0, 5.0, 5.0], [7.0, 1.0, 7.0, 1.0]];
        let fragment = FragmentShape { title: "a<b".into(), details: String::new(), tiles };
        let svg = draw_fragments("t & u", &plane, &[fragment]);
        assert_eq!(svg.matches("<rect").count(), 2 + 2 + 1);
        assert!(svg.contains("t &amp; u") && svg.contains("a&lt;b"));
    }
}
