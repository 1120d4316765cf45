//! What happened to an array or group, a line a change.

use crate::human;
use serde_json::Value as Json;
use smalti::{Event, HistoryEntry, TimeRange};

/// A change on one line, whatever names and conditions hold; `deleted` is how many cells a delete took away, if that was counted.
pub fn text(entry: &HistoryEntry, deleted: Option<u64>) -> String {
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

/// The same as JSON.
pub fn json(entry: &HistoryEntry, deleted: Option<u64>) -> Json {
    let (label, event) = of_label(&entry.event);
    let mut told = serde_json::json!({
        "timestamp": entry.time.end,
        "timestamps": [entry.time.start, entry.time.end],
        "change": kind(event),
        "name": entry.name,
    });
    let mut set = |key: &str, value: Json| told[key] = value;
    if let Some(label) = label {
        set("label", serde_json::json!(label));
    }
    match event {
        Event::Created { format_version } => set("format_version", serde_json::json!(format_version)),
        Event::Write { cell_count, byte_len, merged_into } => {
            set("cells", serde_json::json!(cell_count));
            set("bytes", serde_json::json!(byte_len));
            set("merged_into", serde_json::json!(merged_into));
        }
        Event::Merge { inputs, is_vacuumed, purged_until, cell_count, byte_len, merged_into } => {
            set("inputs", serde_json::json!(inputs));
            set("vacuumed", serde_json::json!(is_vacuumed));
            set("purged_until", serde_json::json!(purged_until));
            set("cells", serde_json::json!(cell_count));
            set("bytes", serde_json::json!(byte_len));
            set("merged_into", serde_json::json!(merged_into));
        }
        Event::Delete { condition } => {
            set("where", serde_json::json!(condition.as_ref().map(ToString::to_string)));
            if let Some(count) = deleted {
                set("cells", serde_json::json!(count));
            }
        }
        Event::Evolution { changes } => set("changes", serde_json::json!(changes)),
        Event::Metadata { put, deleted } => {
            set("put", serde_json::json!(put));
            set("deleted", serde_json::json!(deleted));
        }
        Event::MetadataMerge { inputs } => set("inputs", serde_json::json!(inputs)),
        Event::Members { added, removed } => {
            let added: Vec<Json> =
                added.iter().map(|(name, uri)| serde_json::json!({"name": name, "uri": uri})).collect();
            set("added", serde_json::json!(added));
            set("removed", serde_json::json!(removed));
        }
        _ => {}
    }
    told
}
