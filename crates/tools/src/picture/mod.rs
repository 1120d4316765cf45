//! Pictures: plots of arrays as PNG, SVG and in the terminal; a raster map, and fragments.

mod axis;
mod canvas;
mod font;
mod fragments;
mod map;
mod plot;
mod ramp;
mod relief;
mod scene;
mod terminal;

pub use axis::{Axis, Unit};
pub use canvas::Canvas;
pub(crate) use canvas::Color;
pub use fragments::{FragmentShape, Plane, draw_fragments};
pub use map::{Label, MapPicture, Point, draw_map};
pub use plot::{Content, Figure, Panel, Raster, Scale, Series};
pub(crate) use ramp::CATEGORIES;
pub use ramp::Ramp;
pub use relief::Grid;
pub use scene::Scene;
pub use terminal::{Terminal, print};
