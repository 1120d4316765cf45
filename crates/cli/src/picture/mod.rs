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

pub(crate) use axis::{Axis, Unit};
pub(crate) use canvas::{Canvas, Color};
pub(crate) use fragments::{FragmentShape, Plane, draw_fragments};
pub(crate) use map::{Label, MapPicture, Point, draw_map};
pub(crate) use plot::{Content, Figure, Panel, Raster, Scale, Series};
pub(crate) use ramp::{CATEGORIES, Ramp};
pub(crate) use relief::Grid;
pub(crate) use scene::Scene;
pub(crate) use terminal::{Terminal, print};
