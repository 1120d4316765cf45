//! `smalti explain`: how a read would be carried out, and with `--analyze` what came of it.

use super::read;
use crate::args::{ExplainArgs, Global};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::warning::warnings;
use smalti_tools::cells::Field;
use smalti_tools::ranges;
use smalti_tools::report::explain;
use smalti_tools::report::statistics::Reading;
use std::io::Write;
use std::sync::Arc;

pub(super) fn run(global: &Global, args: &ExplainArgs) -> Outcome {
    let ExplainArgs { analyze, read: args } = args;
    if args.stats {
        return Err(Failure::usage("--stats is for `smalti read`; --analyze says what the read did"));
    }
    read::refuse_split(args)?;
    let array = engine::open(global, &args.array, args.times)?;
    let labels = Field::labels_of(&array.schema(), args.notation);
    let fields =
        Field::select(Field::of_array(&array, args.notation)?, labels, &args.select, args.timestamps)?;
    let wanted = ranges::of_read(&array, &args.ranges, &args.array, &warnings(global))?;
    let mut request = read::request(global, args, &array, &fields, wanted, args.limit)?;
    let opening = array.traffic();
    let (explanation, done) = if *analyze {
        let progress = Arc::clone(request.progress.get_or_insert_default());
        let watch = Watch::start(&progress, None)?;
        let reading = Reading::start(&array);
        let (explanation, analysis) = watch.run(|| array.analyze_raw(&request))?;
        (explanation, Some(reading.end_after(analysis.time, analysis.statistics)))
    } else {
        (array.explain_raw(&request)?, None)
    };
    let mut out = std::io::stdout().lock();
    if global.json {
        return Ok(writeln!(out, "{}", explain::json(&explanation, &opening, done.as_ref()))?);
    }
    Ok(explain::text(&explanation, &opening, done.as_ref(), &mut out)?)
}
