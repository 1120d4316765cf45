//! `smalti explain`: how a read would be carried out, and with `--analyze` what came of it.

use super::read;
use crate::args::{ExplainArgs, Global};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::statistics::{Done, Reading, asked, asked_to_json, counted};
use crate::warning::warnings;
use serde_json::{Value as Json, json};
use smalti::{Explanation, FragmentFate, Traffic};
use smalti_tools::cells::Field;
use smalti_tools::formats::Table;
use smalti_tools::{human, ranges};
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
        return Ok(writeln!(out, "{}", to_json(&explanation, &opening, done.as_ref()))?);
    }
    print(&explanation, &opening, done.as_ref(), &mut out)
}

fn fate(fate: FragmentFate) -> &'static str {
    match fate {
        FragmentFate::Read => "read",
        FragmentFate::OutsideRanges => "outside the ranges",
        FragmentFate::NoTileMet => "no tile meets the ranges",
        FragmentFate::RuledOut => "ruled out by statistics",
        _ => "not read",
    }
}

fn print(explanation: &Explanation, opening: &Traffic, done: Option<&Done>, out: &mut impl Write) -> Outcome {
    let Explanation { array_type, layout, strategy, .. } = explanation;
    writeln!(out, "{array_type} read in {layout} order: {}", strategy.describe())?;
    let read = explanation.fragments.iter().filter(|fragment| fragment.fate == FragmentFate::Read).count();
    writeln!(
        out,
        "fragments: {} of {} in the time range are read, {} are outside it; delete conditions: {}",
        read,
        explanation.fragments.len(),
        explanation.fragments_outside_time,
        explanation.delete_count
    )?;
    let met: u64 = explanation.fragments.iter().map(|fragment| fragment.met_tile_count).sum();
    let all: u64 = explanation.fragments.iter().map(|fragment| fragment.tile_count).sum();
    writeln!(
        out,
        "tiles: {} of {} meet the ranges, {} are read",
        human::count(met),
        human::count(all),
        human::count(explanation.read_tile_count())
    )?;
    writeln!(
        out,
        "to read: {} in {}, {} of a distant store at least; memory: {}",
        human::bytes(explanation.byte_len),
        counted(explanation.request_count, "request"),
        counted(explanation.round_count, "round"),
        human::bytes(explanation.memory_byte_len)
    )?;
    writeln!(out, "was opened: {}", asked(opening))?;
    if let Some(done) = done {
        writeln!(out, "was read: {}", done.text())?;
    }
    if explanation.fragments.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let titles = [("fate", false), ("tiles", true), ("met", true), ("read", true), ("fragment", false)];
    let mut table = Table::new(titles.map(|(title, is_number)| (title.to_string(), is_number)));
    for fragment in &explanation.fragments {
        table.push(vec![
            fate(fragment.fate).to_string(),
            human::count(fragment.tile_count),
            human::count(fragment.met_tile_count),
            human::count(fragment.read_tile_count),
            fragment.name.clone(),
        ]);
    }
    Ok(table.print(out)?)
}

fn to_json(explanation: &Explanation, opening: &Traffic, done: Option<&Done>) -> Json {
    let fragments = explanation.fragments.iter().map(|fragment| {
        json!({
            "name": fragment.name,
            "fate": fate(fragment.fate),
            "tiles": fragment.tile_count,
            "tiles_met": fragment.met_tile_count,
            "tiles_read": fragment.read_tile_count,
        })
    });
    let fragments: Vec<Json> = fragments.collect();
    let mut explained = json!({
        "array_type": explanation.array_type.to_string(),
        "layout": explanation.layout.to_string(),
        "strategy": explanation.strategy.describe(),
        "fragments_outside_time": explanation.fragments_outside_time,
        "fragments": fragments,
        "delete_conditions": explanation.delete_count,
        "bytes": explanation.byte_len,
        "requests": explanation.request_count,
        "rounds": explanation.round_count,
        "opening": asked_to_json(opening),
        "memory": explanation.memory_byte_len,
    });
    if let Some(done) = done {
        explained["analysis"] = done.to_json();
    }
    explained
}
