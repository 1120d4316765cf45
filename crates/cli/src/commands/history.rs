//! `smalti history`: what happened to an array or group, a line a change.

use crate::args::{Global, HistoryArgs};
use crate::engine::{self, Opened};
use crate::failure::Outcome;
use serde_json::{Value as Json, json};
use smalti::{Event, HistoryEntry, TimeRange};
use smalti_tools::human;
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
        let rows = entries.iter().map(|entry| Ok(to_json(entry, count(entry)?).to_string()));
        let rows = rows.collect::<Outcome<Vec<String>>>()?;
        writeln!(out, "[{}]", rows.join(",\n "))?;
        return Ok(out.flush()?);
    }
    for entry in &entries {
        writeln!(out, "{}", line(entry, count(entry)?))?;
    }
    Ok(out.flush()?)
}

/// A change on one line, whatever names and conditions hold.
fn line(entry: &HistoryEntry, deleted: Option<u64>) -> String {
    let (label, event) = of_label(&entry.event);
    let mut text = label.map_or(String::new(), |label| format!("label {label}: "));
    text += &told(event, entry.time, deleted);
    if matches!(event, Event::Write { .. } | Event::Merge { .. }) {
        text = format!("{text}  {}", entry.name);
    }
    let is_dated = entry.time.end > 0 || !matches!(event, Event::Created { .. });
    let time = if is_dated { human::timestamp(entry.time.end) } else { "at an unknown time".into() };
    let text: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    format!("{time:<24}  {:<10}{text}", kind(event))
}

/// The dimension label that a change is of, if it is of one, and what changed.
fn of_label(event: &Event) -> (Option<&str>, &Event) {
    match event {
        Event::Label { label, event } => (Some(label), event),
        event => (None, event),
    }
}

/// What changed, behind the word for its kind.
fn told(event: &Event, time: TimeRange, deleted: Option<u64>) -> String {
    match event {
        Event::Write { cell_count, byte_len, merged_into } => {
            format!("{}, {}{}", cells(*cell_count), human::bytes(*byte_len), since(merged_into))
        }
        Event::Merge { inputs, is_vacuumed, purged_until, cell_count, byte_len, merged_into } => {
            let start = human::timestamp(time.start);
            let purged = match purged_until {
                Some(time) => format!(", cells deleted up to {} purged", human::timestamp(*time)),
                None => String::new(),
            };
            let (cells, bytes) = (cells(*cell_count), human::bytes(*byte_len));
            let told = match inputs.len() {
                0 => format!(
                    "what was written since {start} is one fragment of {cells}, {bytes}; the single writes were vacuumed"
                ),
                count => {
                    let noun = if count == 1 { "fragment" } else { "fragments" };
                    let vacuumed = if *is_vacuumed { ", vacuumed" } else { "" };
                    let count = human::count(count as u64);
                    format!("{count} {noun} since {start} with {cells}, {bytes}{vacuumed}")
                }
            };
            format!("{told}{purged}{}", since(merged_into))
        }
        Event::Delete { condition: Some(condition) } => {
            let count = deleted.map_or(String::new(), |count| format!("{} ", human::cells(count)));
            format!("{count}where {condition}")
        }
        event => event.to_string(),
    }
}

fn since(merged_into: &Option<String>) -> &'static str {
    if merged_into.is_some() { ", merged since" } else { "" }
}

fn cells(count: Option<u64>) -> String {
    count.map_or("more cells than 64 bits count".into(), human::cells)
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Created { .. } => "create",
        Event::Write { .. } => "write",
        Event::Merge { .. } => "merge",
        Event::Delete { .. } => "delete",
        Event::Evolution { .. } => "evolve",
        Event::Metadata { .. } => "meta",
        Event::MetadataMerge { .. } => "merge meta",
        Event::Members { .. } => "members",
        _ => "change",
    }
}

/// A change for programs.
pub(super) fn to_json(entry: &HistoryEntry, deleted: Option<u64>) -> Json {
    let (label, event) = of_label(&entry.event);
    let mut json = json!({
        "timestamp": entry.time.end,
        "timestamps": [entry.time.start, entry.time.end],
        "change": kind(event),
        "name": entry.name,
    });
    let mut set = |key: &str, value: Json| json[key] = value;
    if let Some(label) = label {
        set("label", json!(label));
    }
    match event {
        Event::Created { format_version } => set("format_version", json!(format_version)),
        Event::Write { cell_count, byte_len, merged_into } => {
            set("cells", json!(cell_count));
            set("bytes", json!(byte_len));
            set("merged_into", json!(merged_into));
        }
        Event::Merge { inputs, is_vacuumed, purged_until, cell_count, byte_len, merged_into } => {
            set("inputs", json!(inputs));
            set("vacuumed", json!(is_vacuumed));
            set("purged_until", json!(purged_until));
            set("cells", json!(cell_count));
            set("bytes", json!(byte_len));
            set("merged_into", json!(merged_into));
        }
        Event::Delete { condition } => {
            set("where", json!(condition.as_ref().map(ToString::to_string)));
            if let Some(count) = deleted {
                set("cells", json!(count));
            }
        }
        Event::Evolution { changes } => set("changes", json!(changes)),
        Event::Metadata { put, deleted } => {
            set("put", json!(put));
            set("deleted", json!(deleted));
        }
        Event::MetadataMerge { inputs } => set("inputs", json!(inputs)),
        Event::Members { added, removed } => {
            let added: Vec<Json> =
                added.iter().map(|(name, uri)| json!({"name": name, "uri": uri})).collect();
            set("added", json!(added));
            set("removed", json!(removed));
        }
        _ => {}
    }
    json
}
