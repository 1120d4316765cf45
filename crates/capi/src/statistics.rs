//! Statistics of the process, as text: what the reads of all contexts counted while statistics were on.

use crate::boundary::Out;
use crate::boundary::entry::plain_entries;
use crate::boundary::memory::{Stream, free_text, give_text};
use serde_json::{Value, json};
use smalti::ReadStatistics;
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static IS_ENABLED: AtomicBool = AtomicBool::new(false);
static TILES: AtomicU64 = AtomicU64::new(0);
static REQUESTS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static CELLS: AtomicU64 = AtomicU64::new(0);
static READS: AtomicU64 = AtomicU64::new(0);
static WRITES: AtomicU64 = AtomicU64::new(0);
static WRITTEN_FIELDS: AtomicU64 = AtomicU64::new(0);

/// The counters with libtiledb's names for them.
const COUNTERS: [(&str, &AtomicU64); 7] = [
    ("Context.Query.Reader.loop_num", &READS),
    ("Context.Query.Reader.num_tiles_read", &TILES),
    ("Context.Query.Reader.result_num", &CELLS),
    ("Context.Query.Writer.attr_num", &WRITTEN_FIELDS),
    ("Context.Query.Writer.write_num", &WRITES),
    ("Context.VFS.read_byte_num", &BYTES),
    ("Context.VFS.read_ops_num", &REQUESTS),
];

/// Counts what a read did.
pub(crate) fn count(before: &ReadStatistics, after: &ReadStatistics) {
    if !IS_ENABLED.load(Ordering::Relaxed) {
        return;
    }
    let add = |counter: &AtomicU64, before: u64, after: u64| {
        counter.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
    };
    add(&TILES, before.tile_count, after.tile_count);
    add(&REQUESTS, before.request_count, after.request_count);
    add(&BYTES, before.byte_len, after.byte_len);
    add(&CELLS, before.cell_count, after.cell_count);
    add(&READS, 0, 1);
}

/// Counts a write of so many fields.
pub(crate) fn count_write(fields: usize) {
    if IS_ENABLED.load(Ordering::Relaxed) {
        WRITES.fetch_add(1, Ordering::Relaxed);
        WRITTEN_FIELDS.fetch_add(crate::values::count(fields), Ordering::Relaxed);
    }
}

/// What was counted; nothing of what did not happen.
fn counters() -> Value {
    let counted = COUNTERS.iter().map(|(name, counter)| (*name, counter.load(Ordering::Relaxed)));
    let counted: BTreeMap<_, _> = counted.filter(|(_, count)| *count > 0).collect();
    json!({ "timers": {}, "counters": counted })
}

/// The statistics of a context or query, as JSON.
pub(crate) fn text() -> String {
    if IS_ENABLED.load(Ordering::Relaxed) {
        serde_json::to_string_pretty(&counters()).unwrap_or_default()
    } else {
        String::new()
    }
}

/// The statistics of the process: a list, as libtiledb has one of each context.
fn all() -> String {
    if IS_ENABLED.load(Ordering::Relaxed) {
        serde_json::to_string_pretty(&json!([counters()])).unwrap_or_default()
    } else {
        String::new()
    }
}

plain_entries! {
    fn tiledb_stats_enable() {
        IS_ENABLED.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn tiledb_stats_disable() {
        IS_ENABLED.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn tiledb_stats_is_enabled(enabled: Out<u8>) {
        enabled.put(u8::from(IS_ENABLED.load(Ordering::Relaxed)))
    }

    fn tiledb_stats_reset() {
        COUNTERS.iter().for_each(|(_, counter)| counter.store(0, Ordering::Relaxed));
        Ok(())
    }

    fn tiledb_stats_dump(out: Stream) {
        out.put(&all())
    }

    fn tiledb_stats_dump_str(out: Out<*mut c_char>) {
        give_text(out, &all())
    }

    fn tiledb_stats_raw_dump(out: Stream) {
        out.put(&all())
    }

    fn tiledb_stats_raw_dump_str(out: Out<*mut c_char>) {
        give_text(out, &all())
    }

    fn tiledb_stats_free_str(out: Out<*mut c_char>) {
        free_text(out)
    }
}
