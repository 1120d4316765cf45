//! What a read did and asked of the store, for people and for programs.

use crate::human;
use serde_json::{Value as Json, json};
use smalti::{Array, ReadStatistics, Traffic};
use std::time::{Duration, Instant};

/// A read that is under way.
pub struct Reading<'a> {
    array: &'a Array,
    opening: Traffic,
    start: Instant,
}

/// What became of a read.
pub struct Done {
    /// What opening the array asked for.
    opening: Traffic,
    /// What the read asked for, metadata of fragments too.
    reading: Traffic,
    statistics: ReadStatistics,
    time: Duration,
}

impl<'a> Reading<'a> {
    /// Of an array that is open; the read starts now.
    pub fn start(array: &'a Array) -> Self {
        Reading { array, opening: array.traffic(), start: Instant::now() }
    }

    /// The read is over.
    pub fn end(&self, statistics: ReadStatistics) -> Done {
        self.end_after(self.start.elapsed(), statistics)
    }

    /// The read is over, and took so long by itself.
    pub fn end_after(&self, time: Duration, statistics: ReadStatistics) -> Done {
        let reading = self.array.traffic().since(&self.opening);
        Done { opening: self.opening, reading, statistics, time }
    }
}

/// A number of things.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", human::count(count), if count == 1 { "" } else { "s" })
}

/// What was asked of a store: bytes, requests, and how often one waited for the answer to another.
pub(super) fn asked(traffic: &Traffic) -> String {
    let bytes = human::bytes(traffic.read_byte_len);
    let requests = counted(traffic.request_count(), "request");
    format!("{bytes} in {requests}, {}", counted(traffic.round_count, "round"))
}

/// The same, for programs.
pub(super) fn asked_json(traffic: &Traffic) -> Json {
    json!({
        "bytes": traffic.read_byte_len,
        "requests": traffic.request_count(),
        "rounds": traffic.round_count,
    })
}

impl Done {
    /// What the read did, in a line.
    pub fn text(&self) -> String {
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
    pub fn json(&self) -> Json {
        let mut told = asked_json(&self.reading);
        told["tiles_of_fields"] = json!(self.statistics.tile_count);
        told["kept_tiles_of_fields"] = json!(self.statistics.kept_tile_count);
        told["cells"] = json!(self.statistics.cell_count);
        told["ms"] = json!(self.time.as_secs_f64() * 1000.0);
        told
    }

    /// What opening the array asked for and what the read did, a line each.
    pub fn lines(&self) -> [String; 2] {
        [format!("was opened: {}", asked(&self.opening)), format!("was read: {}", self.text())]
    }

    /// The same as JSON.
    pub fn lines_json(&self) -> Json {
        let mut told = self.json();
        told["opening"] = asked_json(&self.opening);
        told
    }
}
