//! `smalti schema`: the schema of an array, as JSON or as tables.

use crate::args::{ArrayArgs, Global};
use crate::engine;
use crate::failure::Outcome;
use smalti_tools::report::schema;
use std::io::Write;

pub(super) fn run(global: &Global, args: &ArrayArgs) -> Outcome {
    let array = engine::open(global, &args.array, args.times)?;
    let mut out = std::io::stdout().lock();
    if global.json {
        return Ok(writeln!(out, "{}", schema::lines(&schema::json(&array)?))?);
    }
    Ok(schema::text(&array, &mut out)?)
}
