//! Clocks and randomness: the operating system's, and replayable ones for tests.

use smalti_types::{Clock, Entropy, Env, Error, ErrorKind, Result};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The operating system's random numbers, fit for nonces.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        getrandom::fill(bytes)
            .map_err(|e| Error::new(ErrorKind::Io, format!("no random bytes from the operating system: {e}")))
    }
}

/// The surroundings of a writer outside tests. All writers of the process share them: two writes never share a timestamp.
pub fn system_env() -> Env {
    static SHARED: LazyLock<Env> = LazyLock::new(|| Env::new(SystemClock, SystemEntropy));
    SHARED.clone()
}

/// A clock that stands still until it is moved, and may be moved back.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_ms: AtomicU64,
}

impl ManualClock {
    /// A clock that shows `now_ms`.
    pub fn new(now_ms: u64) -> Self {
        ManualClock { now_ms: AtomicU64::new(now_ms) }
    }

    /// Sets the time.
    pub fn set(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }

    /// Moves the time forward.
    pub fn advance(&self, by_ms: u64) {
        self.now_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }
}

/// A replayable stream of bytes from a seed (SplitMix64; Steele, Lea, Flood 2014). Never for nonces of real data.
#[derive(Debug)]
pub struct SeededEntropy {
    state: AtomicU64,
}

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl SeededEntropy {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        SeededEntropy { state: AtomicU64::new(seed) }
    }

    /// The next 64 bits.
    pub fn next_u64(&self) -> u64 {
        let z = self.state.fetch_add(GOLDEN_GAMMA, Ordering::SeqCst).wrapping_add(GOLDEN_GAMMA);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            for (byte, random) in chunk.iter_mut().zip(word) {
                *byte = random;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_replays_the_published_stream() {
        let entropy = SeededEntropy::new(1_234_567);
        assert_eq!(entropy.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(entropy.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn system_randomness_differs_from_call_to_call() {
        let (mut a, mut b) = ([0; 16], [0; 16]);
        let env = system_env();
        env.entropy.fill(&mut a).unwrap();
        env.entropy.fill(&mut b).unwrap();
        assert_ne!(a, b);
        assert!(env.clock.now_ms() > 1_700_000_000_000);
    }

    #[test]
    fn a_manual_clock_may_step_back() {
        let clock = ManualClock::new(5);
        clock.advance(3);
        assert_eq!(clock.now_ms(), 8);
        clock.set(2);
        assert_eq!(clock.now_ms(), 2);
    }
}
