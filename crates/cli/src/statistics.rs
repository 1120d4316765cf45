//! What a read did and asked of the store, for people and for programs.

use crate::args::Global;
use serde_json::{Value as Json, json};
use smalti::{Array, ReadStatistics, Traffic};
use smalti_tools::human;
use std::time::{Duration, Instant};

/// A read that is under way.
pub(crate) struct Reading<'a> {
    array: &'a Array,
    opening: Traffic,
    start: Instant,
}

/// What became of a read.
pub(crate) struct Done {
    /// What opening the array asked for.
    opening: Traffic,
    /// What the read asked for, metadata of fragments too.
    reading: Traffic,
    statistics: ReadStatistics,
    time: Duration,
}

impl<'a> Reading<'a> {
    /// Of an array that is open; the read starts now.
    pub(crate) fn start(array: &'a Array) -> Self {
        Reading { array, opening: array.traffic(), start: Instant::now() }
    }

    /// The read is over.
    pub(crate) fn end(&self, statistics: ReadStatistics) -> Done {
        self.end_after(self.start.elapsed(), statistics)
    }

    /// The read is over, and took so long by itself.
    pub(crate) fn end_after(&self, time: Duration, statistics: ReadStatistics) -> Done {
        let reading = self.array.traffic().since(&self.opening);
        Done { opening: self.opening, reading, statistics, time }
    }
}

/// A number of things.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", human::count(count), if count == 1 { "" } else { "s" })
}

/// What was asked of a store: bytes, requests, and how often one waited for the answer to another.
pub(crate) fn asked(traffic: &Traffic) -> String {
    let bytes = human::bytes(traffic.read_byte_len);
    let requests = counted(traffic.request_count(), "request");
    format!("{bytes} in {requests}, {}", counted(traffic.round_count, "round"))
}

/// The same, for programs.
pub(crate) fn asked_to_json(traffic: &Traffic) -> Json {
    json!({
        "bytes": traffic.read_byte_len,
        "requests": traffic.request_count(),
        "rounds": traffic.round_count,
    })
}

impl Done {
    /// What the read did, in a line.
    pub(crate) fn text(&self) -> String {
        let statistics = &self.statistics;
        let kept = match statistics.kept_tile_count {
            0 => String::new(),
            count => format!(" and {} that were kept", human::count(count)),
        };
        format!(
            "{}, {} tiles of fields{}, {} cells, {:.1} ms",
            asked(&self.reading),
            human::count(statistics.tile_count),
            kept,
            human::count(statistics.cell_count),
            self.time.as_secs_f64() * 1000.0
        )
    }

    /// What the read did, for programs.
    pub(crate) fn to_json(&self) -> Json {
        let mut told = asked_to_json(&self.reading);
        told["tiles_of_fields"] = json!(self.statistics.tile_count);
        told["kept_tiles_of_fields"] = json!(self.statistics.kept_tile_count);
        told["cells"] = json!(self.statistics.cell_count);
        told["ms"] = json!(self.time.as_secs_f64() * 1000.0);
        told
    }

    /// Prints what opening and read did to standard error.
    pub(crate) fn report(&self, global: &Global) {
        if global.json {
            let mut told = self.to_json();
            told["opening"] = asked_to_json(&self.opening);
            eprintln!("{told}");
        } else {
            eprintln!("was opened: {}", asked(&self.opening));
            eprintln!("was read: {}", self.text());
        }
    }
}
