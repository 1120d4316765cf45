//! What is drawn of an array, and how.

use crate::picture::Ramp;
use crate::ranges::RangeOptions;

/// What is drawn of an array, and how.
#[derive(Debug, Clone)]
pub struct DrawOptions {
    /// The attribute to draw, or several for lines; if there is none, the first that can be drawn, of lines all, and of sparse arrays
    /// the number of cells.
    pub field: Vec<String>,
    /// The dimensions from left to right and from top to bottom; if there is none, of dense arrays the last and the one before it.
    pub dims: Vec<String>,
    /// The part of the array.
    pub ranges: RangeOptions,
    /// Only cells that fulfil it are drawn.
    pub condition: Option<String>,
    /// There is a picture for each change of the array, side by side.
    pub time: bool,
    /// The most pictures then; of more changes evenly chosen ones are drawn.
    pub panels: u8,
    /// Width and height of the picture in pixels; as the slice needs, if it is `None`.
    pub size: Option<(usize, usize)>,
    /// The picture is for a terminal, which shows fewer pixels.
    pub is_for_terminal: bool,
    /// Colours of numbers.
    pub colors: Ramp,
    /// Equal factors are equally far apart: of colours, or of the values of lines.
    pub log: bool,
    /// The value where the colours, or the values of lines, begin; the least, if it is `None`.
    pub min: Option<f64>,
    /// The value where they end; the greatest, if it is `None`.
    pub max: Option<f64>,
    /// How several cells become one pixel; if it is `None`, by their mean, and by strides for enumerations and very large slices.
    pub reduce: Option<Reduction>,
    /// The y axis is turned around.
    pub flip: bool,
    /// The title; the array and what is drawn of it, if it is `None`.
    pub title: Option<String>,
}

impl Default for DrawOptions {
    fn default() -> Self {
        DrawOptions {
            field: Vec::new(),
            dims: Vec::new(),
            ranges: RangeOptions::default(),
            condition: None,
            time: false,
            panels: 6,
            size: None,
            is_for_terminal: false,
            colors: Ramp::default(),
            log: false,
            min: None,
            max: None,
            reduce: None,
            flip: false,
            title: None,
        }
    }
}

/// How several cells become one pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Reduction {
    /// The mean of all of them
    Mean,
    /// One of them, at even distances: fewer cells are read
    Stride,
}
