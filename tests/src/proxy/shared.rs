//! What the connections of a proxy share: where it leads, its rules, and what it counts.

use super::rule::{Canned, Rule};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What went through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests that arrived.
    pub requests: u64,
    /// Times that a request arrived while no other was under way: what a client has to wait for one after the other. A request is under way
    /// until the last bytes of its answer are on their way. Without latency, requests that a client sends at once may be told apart by chance.
    pub rounds: u64,
    /// Bytes of bodies of requests.
    pub bytes_in: u64,
    /// Bytes of bodies of answers.
    pub bytes_out: u64,
}

/// What connections of a proxy share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) to: SocketAddr,
    latency_us: AtomicU64,
    pub(super) counters: Counters,
    pub(super) rules: Mutex<Vec<Rule>>,
    /// Answers that a rule had remembered, by method and path.
    pub(super) remembered: Mutex<BTreeMap<String, Canned>>,
    /// Whether what passes is written down, and what was.
    pub(super) log: Mutex<Option<Vec<String>>>,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(super) requests: AtomicU64,
    pub(super) rounds: AtomicU64,
    pub(super) bytes_in: AtomicU64,
    pub(super) bytes_out: AtomicU64,
    pub(super) under_way: AtomicU64,
}

impl Shared {
    pub(super) fn new(to: SocketAddr) -> Shared {
        Shared {
            to,
            latency_us: AtomicU64::new(0),
            counters: Counters::default(),
            rules: Mutex::default(),
            remembered: Mutex::default(),
            log: Mutex::default(),
        }
    }

    pub(super) fn set_latency(&self, latency: Duration) {
        self.latency_us.store(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(super) fn latency(&self) -> Duration {
        Duration::from_micros(self.latency_us.load(Relaxed))
    }
}

impl Counters {
    pub(super) fn now(&self) -> Counts {
        Counts {
            requests: self.requests.load(Relaxed),
            rounds: self.rounds.load(Relaxed),
            bytes_in: self.bytes_in.load(Relaxed),
            bytes_out: self.bytes_out.load(Relaxed),
        }
    }

    pub(super) fn reset(&self) {
        for counter in [&self.requests, &self.rounds, &self.bytes_in, &self.bytes_out] {
            counter.store(0, Relaxed);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
