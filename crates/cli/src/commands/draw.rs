//! `smalti draw`: pictures of slices, points and lines, in files or in the terminal.

use crate::args::{ColorChoice, DrawArgs, Global, PictureFormat};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::progress::Bar;
use crate::warning::warnings;
use smalti::Progress;
use smalti_tools::Environment;
use smalti_tools::draw::{self, DrawOptions};
use smalti_tools::output::OutputFile;
use smalti_tools::picture::{Figure, Terminal, print};
use std::io::{BufWriter, IsTerminal, Write};
use std::sync::Arc;

/// Lines of a picture where the height of the screen is not known.
const LINES: usize = 24;
/// Characters of a line where the width is not known.
const WIDTH: usize = 80;

pub(super) fn run(global: &Global, args: &DrawArgs) -> Outcome {
    let target = Target::new(global, args)?;
    let array = engine::open(global, &args.array, args.times)?;
    let options = DrawOptions {
        field: args.field.clone(),
        dims: args.dims.clone(),
        ranges: args.ranges.clone(),
        condition: args.condition.clone(),
        time: args.time,
        panels: args.panels,
        size: args.size,
        is_for_terminal: args.output.is_none(),
        colors: args.colors,
        log: args.log,
        min: args.min,
        max: args.max,
        reduce: args.reduce,
        flip: args.flip,
        title: args.title.clone(),
    };
    let (engine, work, warn) =
        (engine::options(global, args.times)?, Arc::new(Progress::new()), warnings(global));
    let environment =
        Environment { engine: &engine, memory: global.memory, folder: None, work: &work, warn: &warn };
    let watch = Watch::start(&work, None)?;
    let bar = Bar::of(&work);
    let figure = draw::figure(&array, &args.array, &options, &environment).map_err(Failure::from);
    drop(bar);
    write(global, args, target, &watch.end(figure)?)
}

/// A format; that the picture has one is known before anything is read.
#[derive(Debug, Clone, Copy)]
struct Target {
    format: PictureFormat,
    to_file: bool,
}

impl Target {
    fn new(global: &Global, args: &DrawArgs) -> Outcome<Target> {
        let path = args.output.as_ref().filter(|path| path.as_os_str() != "-");
        let by_path = path.map(|path| {
            PictureFormat::of_path(path).ok_or_else(|| {
                Failure::usage(format!(
                    "the ending of {} tells no picture; name it .png or .svg, or give --format",
                    path.display()
                ))
            })
        });
        let format = match (args.format, by_path, &args.output) {
            (Some(format), _, _) => format,
            (None, Some(format), _) => format?,
            (None, None, Some(_)) => {
                return Err(Failure::usage("standard output tells no picture; give --format png or svg"));
            }
            (None, None, None) => PictureFormat::Text,
        };
        if global.json && path.is_none() {
            return Err(Failure::usage("with --json a picture goes to a file; give -o FILE"));
        }
        Ok(Target { format, to_file: path.is_some() })
    }
}

fn write(global: &Global, args: &DrawArgs, target: Target, figure: &Figure) -> Outcome {
    let path = args.output.as_ref().filter(|_| target.to_file);
    let Some(path) = path else {
        let out = std::io::stdout().lock();
        let is_terminal = out.is_terminal();
        return Ok(write_to(args, target.format, figure, BufWriter::new(out), is_terminal)?);
    };
    let (file, out) = OutputFile::create(path)?;
    let named = |error: std::io::Error| Failure::from(error).at(path.display().to_string());
    write_to(args, target.format, figure, BufWriter::new(out), false).map_err(named)?;
    file.keep()?;
    if global.json {
        let panels = figure.panels.len();
        let picture = path.display().to_string();
        println!(
            "{}",
            serde_json::json!({"picture": picture, "panels": panels, "title": figure.title, "notes": figure.notes})
        );
    } else {
        println!("drew {} to {}", figure.title, path.display());
    }
    Ok(())
}

fn write_to(
    args: &DrawArgs,
    format: PictureFormat,
    figure: &Figure,
    mut out: impl Write,
    is_terminal: bool,
) -> std::io::Result<()> {
    match format {
        PictureFormat::Png => figure.scene().canvas().write_png(&mut out)?,
        PictureFormat::Svg => out.write_all(figure.scene().svg().as_bytes())?,
        PictureFormat::Text => print(figure, terminal(args, is_terminal), &mut out)?,
    }
    out.flush()
}

fn terminal(args: &DrawArgs, is_terminal: bool) -> Terminal {
    let (height, width) = match console::Term::stdout().size_checked().filter(|_| is_terminal) {
        Some((height, width)) => (usize::from(height), usize::from(width)),
        None => (LINES + 6, WIDTH),
    };
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    let knows_colors =
        std::env::var("COLORTERM").is_ok_and(|value| matches!(value.as_str(), "truecolor" | "24bit"));
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Terminal {
        width: columns.unwrap_or(width).clamp(20, 400),
        // Room for the title, the axis and the legend.
        height: height.saturating_sub(6).clamp(8, 200),
        has_colors: match args.color {
            ColorChoice::Auto => is_terminal && knows_colors && !is_refused,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        },
    }
}
