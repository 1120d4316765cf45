//! What an array or group is and holds, in short.

use super::{domain_json, domain_text};
use crate::failure::Outcome;
use crate::{human, ranges};
use serde_json::{Value as Json, json};
use smalti::{Array, Extent, Group};
use std::io::Write;

/// What is told of an array.
struct Facts {
    domain: Vec<Extent>,
    non_empty: Option<Vec<Extent>>,
    /// What is left of a past that was vacuumed is not what was written then.
    lost: Option<String>,
    fragment_count: usize,
    cell_count: u64,
    byte_len: u64,
}

impl Facts {
    fn of(array: &Array) -> Outcome<Facts> {
        let (schema, fragments) = (array.schema(), array.fragments()?);
        let (non_empty, lost) = (array.non_empty_extents()?, array.lost_history()?);
        let cell_counts = fragments.iter().filter_map(|fragment| fragment.cell_count());
        Ok(Facts {
            domain: (0..schema.dimensions.len()).map(|idx| ranges::whole(&schema, idx)).collect(),
            non_empty,
            lost,
            fragment_count: fragments.len(),
            cell_count: cell_counts.fold(0, u64::saturating_add),
            byte_len: array.byte_len()?,
        })
    }
}

/// What an array is and holds, a line each; `uri` is what it is called there.
///
/// # Errors
/// Those of the engine, and of the output.
pub fn array_text(array: &Array, uri: &str, out: &mut dyn Write) -> Outcome {
    let (schema, facts) = (array.schema(), Facts::of(array)?);
    let non_empty = facts.lost.unwrap_or_else(|| {
        facts.non_empty.map_or("nothing is written".into(), |extents| domain_text(&schema, &extents))
    });
    let attributes: Vec<&str> = schema.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    for (name, value) in [
        ("array", uri.to_owned()),
        ("kind", format!("{}, format version {}", schema.array_type, schema.version.number())),
        ("domain", domain_text(&schema, &facts.domain)),
        ("non-empty domain", non_empty),
        ("attributes", attributes.join(", ")),
        ("fragments", human::count(facts.fragment_count as u64)),
        ("cells in fragments", human::count(facts.cell_count)),
        ("bytes in fragments", human::bytes(facts.byte_len)),
    ] {
        writeln!(out, "{name:<20}{value}")?;
    }
    Ok(())
}

/// The same as JSON.
///
/// # Errors
/// Those of the engine.
pub fn array_json(array: &Array, uri: &str) -> Outcome<Json> {
    let (schema, facts) = (array.schema(), Facts::of(array)?);
    Ok(json!({
        "array": uri,
        "array_type": schema.array_type.to_string(),
        "version": schema.version.number(),
        "domain": domain_json(&schema, &facts.domain),
        "non_empty_domain": facts.non_empty.as_ref().map(|extents| domain_json(&schema, extents)),
        "fragments": facts.fragment_count,
        "cells": facts.cell_count,
        "bytes": facts.byte_len,
        "lost_history": facts.lost,
    }))
}

/// What a group is and holds, a line each, and its members; `uri` is what it is called there.
///
/// # Errors
/// Those of the engine, and of the output.
pub fn group_text(group: &Group, uri: &str, out: &mut dyn Write) -> Outcome {
    let (members, metadata) = (group.members()?, group.metadata()?);
    for (name, value) in [
        ("group", uri.to_owned()),
        ("members", human::count(members.len() as u64)),
        ("metadata keys", human::count(metadata.len() as u64)),
    ] {
        writeln!(out, "{name:<20}{value}")?;
    }
    if members.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    super::group::members_text(&members, out)
}

/// The same as JSON.
///
/// # Errors
/// Those of the engine.
pub fn group_json(group: &Group, uri: &str) -> Outcome<Json> {
    let (members, metadata) = (group.members()?, group.metadata()?);
    Ok(json!({
        "group": uri,
        "members": members.iter().map(super::group::member_json).collect::<Vec<_>>(),
        "metadata_keys": metadata.len(),
    }))
}
