//! Time and randomness as arguments: whatever decides is injected, so that a failing seed replays for ever.

use crate::Result;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A source of wall-clock time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01T00:00:00Z. May step back; callers keep their own order.
    fn now_ms(&self) -> u64;
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
}

impl Env {
    /// Surroundings of their own.
    pub fn new(clock: impl Clock + 'static, entropy: impl Entropy + 'static) -> Self {
        Env { clock: Arc::new(clock), entropy: Arc::new(entropy), latest_stamp: Arc::default() }
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env").finish_non_exhaustive()
    }
}
