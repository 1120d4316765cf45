//! Long runs in pieces: from a unit on, a share of the units, until a time is over. `cargo xtask states` says which.

use super::parameter;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Time between two lines about progress.
const INTERVAL: Duration = Duration::from_secs(30);

/// The units of work that a run does, in an order that never changes.
pub struct Pieces {
    what: &'static str,
    next: u64,
    first: u64,
    /// Of so many units (the second) that with this number (the first).
    share: (u64, u64),
    end: Option<Instant>,
    stopped: Option<u64>,
    told: Option<Instant>,
}

impl Pieces {
    /// All units, without a word about progress.
    pub fn all(what: &'static str) -> Pieces {
        Pieces { what, next: 0, first: 0, share: (0, 1), end: None, stopped: None, told: None }
    }

    /// What the environment asks for: `SMALTI_FIRST`, `SMALTI_SHARE` of `SMALTI_SHARES`, `SMALTI_SECONDS`.
    pub fn asked_for(what: &'static str) -> Pieces {
        let seconds = parameter("SMALTI_SECONDS", 0);
        let now = Instant::now();
        Pieces {
            first: parameter("SMALTI_FIRST", 0),
            share: (parameter("SMALTI_SHARE", 0), parameter("SMALTI_SHARES", 1).max(1)),
            end: (seconds > 0).then(|| now + Duration::from_secs(seconds)),
            told: Some(now),
            ..Pieces::all(what)
        }
    }

    /// Whether the next unit is to be done. `done` is what was seen so far.
    pub fn take(&mut self, done: &impl Debug) -> bool {
        let unit = self.next;
        self.next += 1;
        let (share, share_count) = self.share;
        if unit < self.first || unit % share_count != share || self.stopped.is_some() {
            return false;
        }
        if self.end.is_some_and(|end| Instant::now() > end) {
            self.stopped = Some(unit);
            return false;
        }
        if self.told.is_some_and(|told| told.elapsed() > INTERVAL) {
            self.told = Some(Instant::now());
            println!("{}: before unit {unit}: {done:?}", self.what);
        }
        true
    }

    /// Says what was done, and how to go on.
    pub fn finish(self, done: &impl Debug) {
        println!("{}: {done:?}", self.what);
        let (from, count) = (self.first, self.next);
        match self.stopped {
            Some(unit) => {
                println!("{}: units {from} to {unit} of {count}; `--first {unit}` goes on", self.what)
            }
            None => println!("{}: units {from} to {count}, all", self.what),
        }
    }
}
