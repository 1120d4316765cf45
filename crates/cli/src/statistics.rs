//! What a read did, for people and for programs.

use crate::args::Global;
use crate::human;
use serde_json::{Value as Json, json};
use smalti::ReadStatistics;
use std::time::Duration;

/// What a read did, in a line.
pub(crate) fn text(statistics: &ReadStatistics, time: Duration) -> String {
    let kept = match statistics.kept_tile_count {
        0 => String::new(),
        count => format!(" and {} that were kept", human::count(count)),
    };
    format!(
        "{} in {} requests, {} tiles of fields{}, {} cells, {:.1} ms",
        human::bytes(statistics.byte_len),
        human::count(statistics.request_count),
        human::count(statistics.tile_count),
        kept,
        human::count(statistics.cell_count),
        time.as_secs_f64() * 1000.0
    )
}

/// What a read did, for programs.
pub(crate) fn to_json(statistics: &ReadStatistics, time: Duration) -> Json {
    json!({
        "bytes": statistics.byte_len,
        "requests": statistics.request_count,
        "tiles_of_fields": statistics.tile_count,
        "kept_tiles_of_fields": statistics.kept_tile_count,
        "cells": statistics.cell_count,
        "ms": time.as_secs_f64() * 1000.0,
    })
}

/// Prints what a read did to standard error.
pub(crate) fn report(global: &Global, statistics: &ReadStatistics, time: Duration) {
    if global.json {
        eprintln!("{}", to_json(statistics, time));
    } else {
        eprintln!("was read: {}", text(statistics, time));
    }
}
