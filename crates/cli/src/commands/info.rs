//! `smalti info`: what an array is and holds.

use super::{domain_json, domain_text};
use crate::args::{ArrayArgs, Global};
use crate::engine;
use crate::engine::Opened;
use crate::failure::Outcome;
use smalti::{Extent, Group};
use smalti_tools::{human, ranges};
use std::io::Write;

pub(super) fn run(global: &Global, args: &ArrayArgs) -> Outcome {
    let array = match engine::open_any(global, &args.array, args.times)? {
        Opened::Array(array) => array,
        Opened::Group(group) => return of_group(global, args, &group),
    };
    let schema = array.schema();
    let fragments = array.fragments()?;
    let domain: Vec<Extent> = (0..schema.dimensions.len()).map(|idx| ranges::whole(&schema, idx)).collect();
    let (non_empty, lost) = (array.non_empty_extents()?, array.lost_history()?);
    let cells = fragments.iter().filter_map(|fragment| fragment.cell_count()).fold(0, u64::saturating_add);
    let bytes = fragments
        .iter()
        .try_fold(0_u64, |sum, fragment| fragment.byte_len().map(|byte_len| sum.saturating_add(byte_len)))?;
    let mut out = std::io::stdout().lock();
    if global.json {
        let json = serde_json::json!({
            "array": args.array,
            "array_type": schema.array_type.to_string(),
            "version": schema.version.number(),
            "domain": domain_json(&schema, &domain),
            "non_empty_domain": non_empty.as_ref().map(|extents| domain_json(&schema, extents)),
            "fragments": fragments.len(),
            "cells": cells,
            "bytes": bytes,
            "lost_history": lost,
        });
        return Ok(writeln!(out, "{json}")?);
    }
    // What is left of a past that was vacuumed is not what was written then.
    let non_empty = lost.unwrap_or_else(|| {
        non_empty.map_or("nothing is written".into(), |extents| domain_text(&schema, &extents))
    });
    let attributes: Vec<&str> = schema.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    for (name, value) in [
        ("array", args.array.clone()),
        ("kind", format!("{}, format version {}", schema.array_type, schema.version.number())),
        ("domain", domain_text(&schema, &domain)),
        ("non-empty domain", non_empty),
        ("attributes", attributes.join(", ")),
        ("fragments", human::count(fragments.len() as u64)),
        ("cells in fragments", human::count(cells)),
        ("bytes in fragments", human::bytes(bytes)),
    ] {
        writeln!(out, "{name:<20}{value}")?;
    }
    Ok(())
}

fn of_group(global: &Global, args: &ArrayArgs, group: &Group) -> Outcome {
    let (members, metadata) = (group.members()?, group.metadata()?);
    let mut out = std::io::stdout().lock();
    if global.json {
        let json = serde_json::json!({
            "group": args.array,
            "members": members.iter().map(super::group::to_json).collect::<Vec<_>>(),
            "metadata_keys": metadata.len(),
        });
        return Ok(writeln!(out, "{json}")?);
    }
    for (name, value) in [
        ("group", args.array.clone()),
        ("members", human::count(members.len() as u64)),
        ("metadata keys", human::count(metadata.len() as u64)),
    ] {
        writeln!(out, "{name:<20}{value}")?;
    }
    if members.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    super::group::print_members(&mut out, &members)
}
