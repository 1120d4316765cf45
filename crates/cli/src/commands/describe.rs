//! `smalti describe`: an array or group on one page.

use crate::args::{ArrayArgs, Global};
use crate::engine;
use crate::engine::Opened;
use crate::failure::Outcome;
use smalti_tools::report::describe::{array_json, array_text, group_json, group_text};
use std::io::Write;

pub(super) fn run(global: &Global, args: &ArrayArgs) -> Outcome {
    let (opened, uri) = (engine::open_any(global, &args.array, args.times)?, &args.array);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match (opened, global.json) {
        (Opened::Array(array), true) => writeln!(out, "{}", array_json(&array, uri)?)?,
        (Opened::Array(array), false) => array_text(&array, uri, &mut out)?,
        (Opened::Group(group), true) => writeln!(out, "{}", group_json(&group, uri)?)?,
        (Opened::Group(group), false) => group_text(&group, uri, &mut out)?,
    }
    Ok(out.flush()?)
}
