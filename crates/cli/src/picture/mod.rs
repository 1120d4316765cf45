//! Pictures: a raster map as PNG, and fragments as SVG.

mod canvas;
mod font;
mod fragments;
mod map;
mod relief;

pub(crate) use canvas::{Canvas, Color};
pub(crate) use fragments::{FragmentShape, Plane, draw_fragments};
pub(crate) use map::{Label, MapPicture, Point, draw_map};
pub(crate) use relief::Grid;
