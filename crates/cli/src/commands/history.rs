//! `smalti history`: what happened to an array or group, a line a change.

use crate::args::{Global, HistoryArgs};
use crate::engine::{self, Opened};
use crate::failure::Outcome;
use smalti::HistoryEntry;
use smalti_tools::report::history;
use std::io::Write;

pub(super) fn run(global: &Global, args: &HistoryArgs) -> Outcome {
    let opened = engine::open_any(global, &args.array, args.times)?;
    let mut entries = match &opened {
        Opened::Array(array) => array.history()?,
        Opened::Group(group) => group.history()?,
    };
    if !args.oldest_first {
        entries.reverse();
    }
    entries.truncate(args.limit.unwrap_or(usize::MAX));
    let count = |entry: &HistoryEntry| match &opened {
        Opened::Array(array) if args.count => array.deleted_cell_count(entry),
        _ => Ok(None),
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if global.json {
        let rows = entries.iter().map(|entry| Ok(history::json(entry, count(entry)?).to_string()));
        let rows = rows.collect::<Outcome<Vec<String>>>()?;
        writeln!(out, "[{}]", rows.join(",\n "))?;
        return Ok(out.flush()?);
    }
    for entry in &entries {
        writeln!(out, "{}", history::text(entry, count(entry)?))?;
    }
    Ok(out.flush()?)
}
