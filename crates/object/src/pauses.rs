//! Pauses before a request is sent again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Pauses between tries, each longer than the one before, until there were enough of them.
pub(crate) struct Pauses {
    left: u64,
    rest: Duration,
    next: Duration,
}

impl Pauses {
    /// So many at most, and so long together, of which the first is so long.
    pub(crate) fn new(count: u64, time: Duration, first: Duration) -> Pauses {
        Pauses { left: count, rest: time, next: first.min(MAX_PAUSE) }
    }

    /// As the clients of stores pause.
    #[cfg(feature = "uploads")]
    pub(crate) fn of(retries: &object_store::RetryConfig) -> Pauses {
        let count = u64::try_from(retries.max_retries).unwrap_or(u64::MAX);
        Pauses::new(count, retries.retry_timeout, retries.backoff.init_backoff)
    }

    /// Pauses; false where there have been enough.
    pub(crate) async fn wait(&mut self) -> bool {
        if self.left == 0 || self.rest.is_zero() {
            return false;
        }
        tokio::time::sleep(jittered(self.next)).await;
        self.left -= 1;
        self.rest = self.rest.saturating_sub(self.next);
        self.next = (self.next * 2).min(MAX_PAUSE);
        true
    }
}

/// Half to one and a half times as long, so that those who failed together do not come again together.
fn jittered(pause: Duration) -> Duration {
    // What tables of hashes are seeded with is as random as this has to be.
    let percent = 50 + RandomState::new().hash_one(()) % 101;
    pause * u32::try_from(percent).unwrap_or(100) / 100
}
