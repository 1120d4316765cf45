//! The fragments of an array, a row each.

use super::{domain_json, domain_text};
use crate::failure::Outcome;
use crate::formats::Table;
use crate::human;
use serde_json::Value as Json;
use smalti::{Array, Extent, Fragment, Schema};
use std::io::Write;

/// The fragments of an array as JSON, an object each, with the rectangles of their tiles if they are asked for.
///
/// # Errors
/// Those of the engine.
pub fn json(array: &Array, shows_tiles: bool) -> Outcome<Vec<Json>> {
    let schema = array.schema();
    let row = |fragment: &Fragment| {
        let mut row = serde_json::json!({
            "name": fragment.name(),
            "version": fragment.format_version(),
            "schema": fragment.schema_name(),
            "timestamps": [fragment.time().start, fragment.time().end],
            "kind": kind(fragment),
            "cells": fragment.cell_count(),
            "tiles": fragment.tile_count(),
            "bytes": fragment.byte_len()?,
            "data_bytes": fragment.data_byte_len(),
            "cell_timestamps": fragment.has_cell_times(),
            "consolidated_metadata": fragment.has_consolidated_metadata(),
            "non_empty_domain": domain_json(&schema, fragment.non_empty_extents()),
        });
        if shows_tiles {
            let tiles = tiles(fragment, &schema)?;
            row["mbrs"] = tiles.iter().map(|extents| domain_json(&schema, extents)).collect();
        }
        Ok(row)
    };
    array.fragments()?.iter().map(row).collect()
}

/// The fragments of an array as a table, with the rectangles of their tiles behind it if they are asked for.
///
/// # Errors
/// Those of the engine, and of the output.
pub fn text(array: &Array, shows_tiles: bool, out: &mut dyn Write) -> Outcome {
    let (schema, fragments) = (array.schema(), array.fragments()?);
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
            domain_text(&schema, fragment.non_empty_extents()),
            fragment.name().to_string(),
        ]);
    }
    table.print(out)?;
    for fragment in fragments.iter().filter(|fragment| shows_tiles && !fragment.is_dense()) {
        writeln!(out, "{}", fragment.name())?;
        for (idx, extents) in tiles(fragment, &schema)?.iter().enumerate() {
            writeln!(out, "    tile {idx}: {}", domain_text(&schema, extents))?;
        }
    }
    Ok(())
}

/// The rectangle of each tile; none for dense fragments.
fn tiles(fragment: &Fragment, schema: &Schema) -> Outcome<Vec<Vec<Extent>>> {
    let Some(rects) = fragment.tile_rectangles()? else { return Ok(Vec::new()) };
    let dim_count = schema.dimensions.len();
    let tile = |idx| (0..dim_count).map(|dim| rects.extent(idx, dim).to_owned()).collect();
    Ok((0..rects.len()).map(tile).collect())
}

fn kind(fragment: &Fragment) -> &'static str {
    if fragment.is_dense() { "dense" } else { "sparse" }
}
