//! Arguments of `smalti draw`.

use super::OpenTimes;
use clap::{Args, ValueEnum};
use smalti_tools::draw::Reduction;
use smalti_tools::picture::Ramp;
use smalti_tools::ranges::RangeOptions;
use std::path::{Path, PathBuf};

/// Arguments of `smalti draw`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DrawArgs {
    /// Path or URI of the array
    pub(crate) array: String,
    /// File of the picture, .png or .svg; `-` for standard output with --format [default: draw in the terminal]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Attribute to draw; several, or repeated, for lines [default: the first that can be drawn, of lines all; of sparse arrays the
    /// number of cells]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) field: Vec<String>,
    /// Dimensions from left to right and from top to bottom [default: of dense arrays the last and the one before it]
    #[arg(long, value_name = "X,Y", value_delimiter = ',')]
    pub(crate) dims: Vec<String>,
    #[command(flatten)]
    pub(crate) ranges: RangeOptions,
    #[command(flatten)]
    pub(crate) times: OpenTimes,
    /// Only the cells that fulfil a condition, such as "depth > 100"
    #[arg(long = "where", value_name = "EXPR")]
    pub(crate) condition: Option<String>,
    /// A picture for each change of the array, side by side
    #[arg(long)]
    pub(crate) time: bool,
    /// The most pictures of --time; of more changes evenly chosen ones are drawn
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(1..=30), requires = "time")]
    pub(crate) panels: u8,
    /// Width and height of the picture in pixels [default: as the slice needs]
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    pub(crate) size: Option<(usize, usize)>,
    /// Colours of numbers
    #[arg(long, value_name = "NAME", default_value = "viridis")]
    pub(crate) colors: Ramp,
    /// Equal factors are equally far apart: of colours, or of the values of lines
    #[arg(long)]
    pub(crate) log: bool,
    /// Value where the colours, or the values of lines, begin [default: the least]
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub(crate) min: Option<f64>,
    /// Value where they end [default: the greatest]
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub(crate) max: Option<f64>,
    /// How several cells become one pixel [default: mean; stride for enumerations and very large slices]
    #[arg(long, value_name = "HOW")]
    pub(crate) reduce: Option<Reduction>,
    /// Turn the y axis around
    #[arg(long)]
    pub(crate) flip: bool,
    /// Title [default: the array and what is drawn of it]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Format of the picture [default: by the ending of --output]
    #[arg(long)]
    pub(crate) format: Option<PictureFormat>,
    /// Whether the terminal is given colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// What a picture is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureFormat {
    /// Pixels
    Png,
    /// Shapes, for papers and the web
    Svg,
    /// Characters
    Text,
}

impl PictureFormat {
    /// The format that the ending of a file's name tells.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "png" => PictureFormat::Png,
            "svg" => PictureFormat::Svg,
            "txt" => PictureFormat::Text,
            _ => return None,
        })
    }
}

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// Where the terminal says that it has 24-bit colours
    Auto,
    Always,
    Never,
}

/// Pixels of a side.
const SIDES: std::ops::RangeInclusive<usize> = 64..=4096;

fn parse_size(text: &str) -> Result<(usize, usize), String> {
    let (width, height) = text.split_once(['x', 'X']).ok_or("write it like 1200x800")?;
    let side = |text: &str| {
        let side: usize = text.trim().parse().map_err(|_| "write it like 1200x800")?;
        if SIDES.contains(&side) { Ok(side) } else { Err("a side has 64 to 4096 pixels") }
    };
    Ok((side(width)?, side(height)?))
}
