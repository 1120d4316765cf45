//! Statistics under libtiledb's names: of each query and context, and of the process. They count while statistics are on.
//!
//! A counter has the name that libtiledb has for what it counts; what is not counted here has no line.

use crate::boundary::Out;
use crate::boundary::entry::plain_entries;
use crate::boundary::handle::locked;
use crate::boundary::memory::{Stream, free_text, give_text};
use serde_json::{Map, Value, json};
use smalti::{ReadStatistics, Traffic};
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

static IS_ENABLED: AtomicBool = AtomicBool::new(false);

/// How often everything was set back to nothing: what was counted before the last time is gone.
static RESETS: AtomicU64 = AtomicU64::new(0);

/// What all contexts counted.
static ALL: Statistics = Statistics { counted: Mutex::new(Counted::nothing()) };

/// Counters by their names, and times with how often they were taken.
#[derive(Debug, Clone)]
struct Counted {
    counters: BTreeMap<&'static str, u64>,
    timers: BTreeMap<&'static str, (Duration, u32)>,
    resets: u64,
}

impl Counted {
    const fn nothing() -> Counted {
        Counted { counters: BTreeMap::new(), timers: BTreeMap::new(), resets: 0 }
    }

    /// What of it holds since the last reset.
    fn fresh(&mut self) -> &mut Counted {
        let resets = RESETS.load(Ordering::Relaxed);
        if self.resets != resets {
            *self = Counted { resets, ..Counted::nothing() };
        }
        self
    }

    /// What was counted, as JSON, if anything was; nothing of what did not happen.
    fn told(&self) -> Option<Value> {
        let counters: BTreeMap<_, _> = self.counters.iter().filter(|(_, count)| **count > 0).collect();
        let mut timers = Map::new();
        for (name, (sum, times)) in &self.timers {
            let seconds = sum.as_secs_f64();
            timers.insert(format!("{name}.sum"), json!(seconds));
            timers.insert(format!("{name}.avg"), json!(seconds / f64::from((*times).max(1))));
        }
        let is_something = !timers.is_empty() || !counters.is_empty();
        is_something.then(|| json!({ "timers": timers, "counters": counters }))
    }
}

/// What was counted of something.
#[derive(Debug)]
pub(crate) struct Statistics {
    counted: Mutex<Counted>,
}

impl Default for Statistics {
    fn default() -> Statistics {
        Statistics { counted: Mutex::new(Counted::nothing()) }
    }
}

impl Statistics {
    fn take(&self, more: &Counted) {
        let mut counted = locked(&self.counted);
        let counted = counted.fresh();
        for (name, count) in &more.counters {
            *counted.counters.entry(name).or_default() += count;
        }
        for (name, (sum, times)) in &more.timers {
            let timer = counted.timers.entry(name).or_default();
            *timer = (timer.0 + *sum, timer.1.saturating_add(*times));
        }
    }

    /// As JSON; nothing while statistics are off, and where nothing was counted.
    pub(crate) fn text(&self) -> String {
        if !IS_ENABLED.load(Ordering::Relaxed) {
            return String::new();
        }
        let told = locked(&self.counted).fresh().told();
        told.and_then(|told| serde_json::to_string_pretty(&told).ok()).unwrap_or_default()
    }
}

/// What passed between an open array and its store, as far as it was counted.
pub(crate) type Seen = Arc<Mutex<Traffic>>;

/// Work whose time is taken, and what it did.
#[must_use = "what was counted is told at its end"]
pub(crate) struct Work {
    /// Nothing while statistics are off.
    begun: Option<Instant>,
    counted: Counted,
}

impl Work {
    /// Begins.
    pub(crate) fn begin() -> Work {
        let begun = IS_ENABLED.load(Ordering::Relaxed).then(Instant::now);
        Work { begun, counted: Counted::nothing() }
    }

    /// Whether anything is counted.
    pub(crate) fn counts(&self) -> bool {
        self.begun.is_some()
    }

    /// Counts.
    pub(crate) fn count(&mut self, name: &'static str, count: u64) {
        if self.counts() {
            *self.counted.counters.entry(name).or_default() += count;
        }
    }

    /// Counts what a read did between two looks at it. libtiledb counts the cells of sparse ones alone.
    pub(crate) fn count_read(&mut self, before: &ReadStatistics, after: &ReadStatistics, is_sparse: bool) {
        self.count("Context.Query.Reader.loop_num", 1);
        self.count("Context.Query.Reader.num_tiles_read", after.tile_count.saturating_sub(before.tile_count));
        if is_sparse {
            let cells = after.cell_count.saturating_sub(before.cell_count);
            self.count("Context.Query.Reader.result_num", cells);
        }
    }

    /// Counts what passed to and from a store since the last look, whoever asked for it.
    pub(crate) fn count_traffic(&mut self, now: Traffic, seen: &Seen) {
        if !self.counts() {
            return;
        }
        let mut seen = locked(seen);
        let new = now.since(&seen);
        *seen = now;
        drop(seen);
        self.count("Context.VFS.ls_num", new.list_count);
        self.count("Context.VFS.file_size_num", new.byte_len_count);
        self.count("Context.VFS.read_ops_num", new.read_count);
        self.count("Context.VFS.read_byte_num", new.read_byte_len);
        self.count("Context.VFS.write_ops_num", new.write_count);
        self.count("Context.VFS.write_byte_num", new.write_byte_len);
    }

    /// Ends, and adds the time and the counters to those of the process and of others.
    pub(crate) fn end(mut self, timer: &'static str, of: &[&Statistics]) {
        let Some(begun) = self.begun else { return };
        self.counted.timers.insert(timer, (begun.elapsed(), 1));
        self.add_to(of);
    }

    /// Ends without a time.
    pub(crate) fn end_untimed(self, of: &[&Statistics]) {
        if self.counts() {
            self.add_to(of);
        }
    }

    fn add_to(&self, of: &[&Statistics]) {
        ALL.take(&self.counted);
        of.iter().for_each(|statistics| statistics.take(&self.counted));
    }
}

/// The statistics of the process: a list, as libtiledb has one of each context.
fn all() -> String {
    if IS_ENABLED.load(Ordering::Relaxed) {
        match locked(&ALL.counted).fresh().told() {
            Some(told) => serde_json::to_string_pretty(&json!([told])).unwrap_or_default() + "\n",
            None => "[\n\n]\n".to_owned(),
        }
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
        RESETS.fetch_add(1, Ordering::Relaxed);
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
