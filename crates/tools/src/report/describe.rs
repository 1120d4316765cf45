//! An array or group on one page.

use super::schema::{attribute_row, dimension_row, enumeration_row, label_row};
use super::{domain_json, domain_text, extent_text, history, metadata};
use crate::cells::TextNotation;
use crate::failure::Outcome;
use crate::formats::Table;
use crate::human;
use serde_json::{Map, Value as Json, json};
use smalti::format::{Attribute, CurrentDomain};
use smalti::{Array, CellValNum, Fragment, Group, HistoryEntry, Metadata, Value};
use std::io::Write;

/// The most rows of a table of things that there may be thousands of.
const MAX_ROWS: usize = 12;

/// What is told of an array beside its schema.
struct Facts {
    fragments: Vec<Fragment>,
    cell_count: u64,
    stored_byte_len: u64,
    unfiltered_byte_len: u64,
    metadata: Metadata,
    history: Vec<HistoryEntry>,
}

impl Facts {
    fn of(array: &Array) -> Outcome<Facts> {
        let fragments = array.fragments()?;
        let cells = fragments.iter().filter_map(Fragment::cell_count);
        Ok(Facts {
            cell_count: cells.fold(0, u64::saturating_add),
            stored_byte_len: fragments.iter().map(Fragment::data_byte_len).fold(0, u64::saturating_add),
            unfiltered_byte_len: array.unfiltered_byte_len()?,
            metadata: array.metadata()?,
            history: array.history()?,
            fragments,
        })
    }
}

/// An array on one page; `uri` is what it is called there.
///
/// # Errors
/// Those of the engine, and of the output.
pub fn array_text(array: &Array, uri: &str, out: &mut dyn Write) -> Outcome {
    let facts = &Facts::of(array)?;
    let schema = array.schema();
    let written = array.non_empty_extents()?;
    let duplicates = if schema.allows_dups { ", duplicates allowed" } else { "" };
    let kind = format!(
        "{}, format version {}, tiles {}, cells {}{duplicates}",
        schema.array_type,
        schema.version.number(),
        schema.tile_order,
        schema.cell_order
    );
    let mut rows = vec![("array", uri.to_owned()), ("kind", kind)];
    rows.push((
        "written",
        written.as_ref().map_or("nothing".into(), |extents| domain_text(&schema, extents)),
    ));
    if let CurrentDomain::Rectangle(extents) = &schema.current_domain {
        rows.push(("current domain", domain_text(&schema, extents)));
    }
    let fragments = human::count(facts.fragments.len() as u64);
    rows.push(("fragments", format!("{fragments} with {}", human::cells(facts.cell_count))));
    rows.push(("size", size_text(facts)));
    for (name, entry) in [("first change", facts.history.first()), ("last change", facts.history.last())] {
        if let Some(entry) = entry {
            rows.push((name, format!("{}, {}", human::timestamp(entry.time.end), entry.event)));
        }
    }
    print_rows(out, &rows)?;

    let mut table = table(&["dimension", "type", "domain", "tile", "filters", "written"]);
    for (idx, dimension) in schema.dimensions.iter().enumerate() {
        let mut row = dimension_row(&schema, dimension);
        let extent = written.as_ref().and_then(|extents| extents.get(idx));
        row.push(extent.map_or_else(String::new, |extent| extent_text(dimension, extent)));
        table.push(row);
    }
    print_table(out, &table)?;
    let mut table =
        self::table(&["attribute", "type", "values", "nullable", "fill", "enumeration", "filters", "range"]);
    for attribute in &schema.attributes {
        let mut row = attribute_row(attribute);
        row.push(bounds(array, attribute)?.map_or_else(String::new, |(min, max)| {
            format!("{}..{}", bound_text(attribute, &min), bound_text(attribute, &max))
        }));
        table.push(row);
    }
    print_table(out, &table)?;
    if !schema.dimension_labels.is_empty() {
        let mut table = self::table(&["label", "dimension", "type", "order"]);
        schema.dimension_labels.iter().for_each(|label| table.push(label_row(&schema, label)));
        print_table(out, &table)?;
    }
    if !schema.enumerations.is_empty() {
        let mut table = self::table(&["enumeration", "type", "order", "labels"]);
        for (name, _) in &schema.enumerations {
            table.push(enumeration_row(&*array.enumeration(name)?));
        }
        print_table(out, &table)?;
    }
    print_metadata(out, &facts.metadata)?;
    if facts.fragments.is_empty() {
        return Ok(());
    }
    let mut table = self::table(&["fragment", "written", "cells", "bytes"]);
    for fragment in facts.fragments.iter().rev().take(MAX_ROWS) {
        let (start, end) = (human::timestamp(fragment.time().start), human::timestamp(fragment.time().end));
        table.push(vec![
            fragment.name().to_owned(),
            if start == end { start } else { format!("{start} to {end}") },
            fragment.cell_count().map_or("beyond 64 bits".into(), human::count),
            human::bytes(fragment.data_byte_len()),
        ]);
    }
    print_table(out, &table)?;
    more(out, facts.fragments.len(), "`smalti fragments` lists all")
}

fn size_text(facts: &Facts) -> String {
    let (stored, raw) = (facts.stored_byte_len, facts.unfiltered_byte_len);
    let times = if stored > 0 && raw > stored {
        format!(", {:.1} times less than in memory", raw as f64 / stored as f64)
    } else {
        String::new()
    };
    format!("{} stored, {} in memory{times}", human::bytes(stored), human::bytes(raw))
}

/// The range of an attribute; not of codes, which stand for labels.
fn bounds(array: &Array, attribute: &Attribute) -> Outcome<Option<(Value, Value)>> {
    if attribute.enumeration.is_some() {
        return Ok(None);
    }
    Ok(array.attribute_bounds(&attribute.name)?)
}

fn bound_text(attribute: &Attribute, value: &Value) -> String {
    let cell_val_num = if attribute.datatype.is_bytes() { CellValNum::Var } else { CellValNum::ONE };
    let mut text = Vec::new();
    TextNotation::new(attribute.datatype, cell_val_num, true).push(&mut text, value.as_bytes());
    short(&String::from_utf8_lossy(&text))
}

/// A text on one line that leaves room for others.
fn short(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut chars = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut out: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// The same as JSON.
///
/// # Errors
/// Those of the engine.
pub fn array_json(array: &Array, uri: &str) -> Outcome<Json> {
    let facts = &Facts::of(array)?;
    let schema = array.schema();
    let mut ranges = Map::new();
    for attribute in &schema.attributes {
        let bounds = bounds(array, attribute)?;
        let pair =
            bounds.map(|(min, max)| json!([metadata::json(&min)["value"], metadata::json(&max)["value"]]));
        ranges.insert(attribute.name.clone(), pair.unwrap_or(Json::Null));
    }
    let written = array.non_empty_extents()?;
    let fragments = facts.fragments.iter().map(|fragment| {
        json!({
            "name": fragment.name(), "timestamps": [fragment.time().start, fragment.time().end],
            "cells": fragment.cell_count(), "bytes": fragment.data_byte_len(),
        })
    });
    let change = |entry: Option<&HistoryEntry>| entry.map(|entry| history::json(entry, None));
    Ok(json!({
        "array": uri,
        "schema": super::schema::json(array)?,
        "non_empty_domain": written.as_ref().map(|extents| domain_json(&schema, extents)),
        "ranges": ranges,
        "cells": facts.cell_count,
        "stored_bytes": facts.stored_byte_len,
        "unfiltered_bytes": facts.unfiltered_byte_len,
        "metadata": metadata_json(&facts.metadata),
        "fragments": fragments.collect::<Vec<Json>>(),
        "first_change": change(facts.history.first()),
        "last_change": change(facts.history.last()),
    }))
}

/// A group on one page; `uri` is what it is called there.
///
/// # Errors
/// Those of the engine, and of the output.
pub fn group_text(group: &Group, uri: &str, out: &mut dyn Write) -> Outcome {
    let (visits, metadata, entries) =
        (group.walk()?.collect::<Vec<_>>(), group.metadata()?, group.history()?);
    let direct = visits.iter().filter(|visit| visit.depth == 0).count();
    let mut rows = vec![("group", uri.to_owned()), ("members", human::count(direct as u64))];
    for (name, entry) in [("first change", entries.first()), ("last change", entries.last())] {
        if let Some(entry) = entry {
            rows.push((name, format!("{}, {}", human::timestamp(entry.time.end), entry.event)));
        }
    }
    print_rows(out, &rows)?;
    if !visits.is_empty() {
        writeln!(out)?;
        super::group::tree_text(uri, &visits, out)?;
    }
    print_metadata(out, &metadata)
}

/// The same as JSON.
///
/// # Errors
/// Those of the engine.
pub fn group_json(group: &Group, uri: &str) -> Outcome<Json> {
    let (visits, metadata, entries) =
        (group.walk()?.collect::<Vec<_>>(), group.metadata()?, group.history()?);
    let change = |entry: Option<&HistoryEntry>| entry.map(|entry| history::json(entry, None));
    Ok(json!({
        "group": uri,
        "members": super::group::tree_json(&visits),
        "metadata": metadata_json(&metadata),
        "first_change": change(entries.first()),
        "last_change": change(entries.last()),
    }))
}

fn print_rows(out: &mut dyn Write, rows: &[(&str, String)]) -> Outcome {
    for (name, value) in rows {
        let value: String = value.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        writeln!(out, "{name:<16}{value}")?;
    }
    Ok(())
}

fn table(titles: &[&str]) -> Table {
    Table::new(titles.iter().map(|title| (title.to_string(), matches!(*title, "cells" | "bytes"))))
}

fn print_table(out: &mut dyn Write, table: &Table) -> Outcome {
    writeln!(out)?;
    Ok(table.print(out)?)
}

fn print_metadata(out: &mut dyn Write, metadata: &Metadata) -> Outcome {
    if metadata.is_empty() {
        return Ok(());
    }
    let mut table = table(&["metadata", "type", "value"]);
    for (key, value) in metadata.iter().take(MAX_ROWS) {
        table.push(vec![short(key), value.datatype().to_string(), short(&metadata::text(value))]);
    }
    print_table(out, &table)?;
    more(out, metadata.len(), "`smalti meta` prints all")
}

fn more(out: &mut dyn Write, count: usize, remedy: &str) -> Outcome {
    if count > MAX_ROWS {
        writeln!(out, "... and {} more; {remedy}", human::count((count - MAX_ROWS) as u64))?;
    }
    Ok(())
}

fn metadata_json(metadata: &Metadata) -> Json {
    let entries = metadata.iter().map(|(key, value)| (key.clone(), metadata::json(value)));
    Json::Object(entries.collect::<Map<String, Json>>())
}
