//! `smalti scan`: what a read will give, as metadata tells, and the splits that it divides into.

use super::read;
use crate::args::{Global, ScanArgs};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::warning::warnings;
use smalti_tools::cells::Field;
use smalti_tools::notation::{Enums, Notation};
use smalti_tools::ranges;
use smalti_tools::report::scan;
use std::io::Write;

pub(super) fn run(global: &Global, args: &ScanArgs) -> Outcome {
    let ScanArgs { splits, into, read: args } = args;
    read::refuse_split(args)?;
    if args.stats || args.format.is_some() || args.output.is_some() {
        return Err(Failure::usage(
            "--stats, --format and --output are for `smalti read`; nothing is read here",
        ));
    }
    let array = engine::open(global, &args.array, args.times)?;
    let labels = Field::labels_of(&array.schema(), args.notation);
    let fields =
        Field::select(Field::of_array(&array, args.notation)?, labels, &args.select, args.timestamps)?;
    let wanted = ranges::of_read(&array, &args.ranges, &args.array, &warnings(global))?;
    let request = read::request(global, args, &array, &fields, wanted, args.limit)?;
    let found = array.scan_raw(&request)?;
    let written = match splits.zip(into.as_deref()) {
        Some((count, folder)) => Some(scan::write_splits(&found, count, folder)?),
        None => None,
    };
    // Statistics are of codes.
    let codes = Notation { enums: Enums::Codes, ..args.notation };
    let fields = Field::select(
        Field::of_array(&array, codes)?,
        Field::labels_of(&array.schema(), codes),
        &args.select,
        args.timestamps,
    )?;
    let mut out = std::io::stdout().lock();
    if global.json {
        return Ok(writeln!(out, "{}", scan::json(&found, &fields, written.as_deref())?)?);
    }
    Ok(scan::text(&found, &fields, written.as_deref(), &mut out)?)
}
