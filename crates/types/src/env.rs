//! Time and randomness as arguments: whatever decides is injected, so that a failing seed replays for ever.

use crate::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// A source of wall-clock time, and what waits for others by it.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01T00:00:00Z. May step back; callers keep their own order.
    fn now_ms(&self) -> u64;

    /// The time since some moment, which never steps back: how long something took. That of the machine, unless a clock has its own.
    fn uptime(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }

    /// Returns when [`uptime`](Clock::uptime) has gone on by that much. Sleeps, unless a clock knows better.
    fn wait(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// A source of random bytes: fragment names and encryption nonces.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// `Io` when the operating system has no randomness to give.
    fn fill(&self, bytes: &mut [u8]) -> Result<()>;
}

/// The injected surroundings of every writer.
#[derive(Clone)]
pub struct Env {
    /// The clock that stamps writes.
    pub clock: Arc<dyn Clock>,
    /// Random names and nonces.
    pub entropy: Arc<dyn Entropy>,
    /// The latest timestamp that a write in these surroundings was given. All that share it never share a timestamp.
    pub latest_stamp: Arc<AtomicU64>,
    /// What the latest id of a name began with, plus 1; 0 before the first.
    latest_id_prefix: Arc<AtomicU64>,
}

impl Env {
    /// Surroundings of their own.
    pub fn new(clock: impl Clock + 'static, entropy: impl Entropy + 'static) -> Self {
        Env {
            clock: Arc::new(clock),
            entropy: Arc::new(entropy),
            latest_stamp: Arc::default(),
            latest_id_prefix: Arc::default(),
        }
    }

    /// What the next id of a name begins with: more than all before. The first comes from `random`.
    pub fn next_id_prefix(&self, random: u32) -> u32 {
        // Half of the numbers are left to count.
        let first = u64::from(random >> 1) + 1;
        let started = self.latest_id_prefix.compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
        let stored = match started {
            Ok(_) => first,
            Err(_) => self.latest_id_prefix.fetch_add(1, Ordering::Relaxed) + 1,
        };
        (stored - 1) as u32
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env").finish_non_exhaustive()
    }
}
