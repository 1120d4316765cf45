//! `smalti fragments`: a row for each fragment.

use super::{domain_json, domain_text};
use crate::args::{ArrayArgs, Global};
use crate::failure::Outcome;
use crate::formats::Table;
use crate::{engine, human};
use smalti::Fragment;
use std::io::Write;

pub(super) fn run(global: &Global, args: &ArrayArgs) -> Outcome {
    let array = engine::open(global, &args.array, args.times)?;
    let (schema, fragments) = (array.schema(), array.fragments()?);
    let mut out = std::io::stdout().lock();
    if global.json {
        let row = |fragment: &Fragment| {
            let row = serde_json::json!({
                "name": fragment.name(),
                "version": fragment.format_version(),
                "timestamps": [fragment.time().start, fragment.time().end],
                "kind": kind(fragment),
                "cells": fragment.cell_count(),
                "tiles": fragment.tile_count(),
                "bytes": fragment.byte_len()?,
                "non_empty_domain": domain_json(schema, fragment.non_empty_extents()),
            });
            Ok(row.to_string())
        };
        let rows = fragments.iter().map(row).collect::<Outcome<Vec<String>>>()?;
        return Ok(writeln!(out, "[{}]", rows.join(",\n "))?);
    }
    let titles = ["written", "kind", "cells", "tiles", "bytes", "non-empty domain", "name"];
    let mut table =
        Table::new(titles.map(|title| (title.to_string(), ["cells", "tiles", "bytes"].contains(&title))));
    for fragment in &fragments {
        let (start, end) = (human::timestamp(fragment.time().start), human::timestamp(fragment.time().end));
        table.push(vec![
            if start == end { start } else { format!("{start} to {end}") },
            kind(fragment).into(),
            fragment.cell_count().map_or("beyond 64 bits".into(), human::count),
            human::count(fragment.tile_count()),
            human::bytes(fragment.byte_len()?),
            domain_text(schema, fragment.non_empty_extents()),
            fragment.name().to_string(),
        ]);
    }
    Ok(table.print(&mut out)?)
}

fn kind(fragment: &Fragment) -> &'static str {
    if fragment.is_dense() { "dense" } else { "sparse" }
}
