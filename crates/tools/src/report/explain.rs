//! How a read would be carried out, and what came of it.

use super::statistics::{Done, asked, asked_json, counted};
use crate::failure::Outcome;
use crate::formats::Table;
use crate::human;
use serde_json::Value as Json;
use smalti::{Explanation, FragmentFate, Traffic};
use std::io::Write;

fn fate(fate: FragmentFate) -> &'static str {
    match fate {
        FragmentFate::Read => "read",
        FragmentFate::OutsideRanges => "outside the ranges",
        FragmentFate::NoTileMet => "no tile meets the ranges",
        FragmentFate::RuledOut => "ruled out by statistics",
        _ => "not read",
    }
}

/// How a read would be carried out, what opening the array asked for, and what came of the read where it was carried out.
///
/// # Errors
/// Those of the output.
pub fn text(
    explanation: &Explanation,
    opening: &Traffic,
    done: Option<&Done>,
    out: &mut dyn Write,
) -> Outcome {
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

/// The same as JSON.
pub fn json(explanation: &Explanation, opening: &Traffic, done: Option<&Done>) -> Json {
    let fragments = explanation.fragments.iter().map(|fragment| {
        serde_json::json!({
            "name": fragment.name,
            "fate": fate(fragment.fate),
            "tiles": fragment.tile_count,
            "tiles_met": fragment.met_tile_count,
            "tiles_read": fragment.read_tile_count,
        })
    });
    let fragments: Vec<Json> = fragments.collect();
    let mut explained = serde_json::json!({
        "array_type": explanation.array_type.to_string(),
        "layout": explanation.layout.to_string(),
        "strategy": explanation.strategy.describe(),
        "fragments_outside_time": explanation.fragments_outside_time,
        "fragments": fragments,
        "delete_conditions": explanation.delete_count,
        "bytes": explanation.byte_len,
        "requests": explanation.request_count,
        "rounds": explanation.round_count,
        "opening": asked_json(opening),
        "memory": explanation.memory_byte_len,
    });
    if let Some(done) = done {
        explained["analysis"] = done.json();
    }
    explained
}
