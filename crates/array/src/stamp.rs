//! Timestamps of writes: two writes in the same surroundings never share one.

use smalti_types::Env;
use std::sync::atomic::Ordering;

/// The timestamp of a write: the one asked for, or now, but later than every one given out before. A clock that steps back
/// only makes timestamps run ahead of it for a while.
pub(crate) fn next_timestamp(env: &Env, asked: Option<u64>) -> u64 {
    if let Some(at) = asked {
        return at;
    }
    let now = env.clock.now_ms();
    let next = |latest: u64| now.max(latest.saturating_add(1));
    let mut latest = env.latest_stamp.load(Ordering::Relaxed);
    loop {
        match env.latest_stamp.compare_exchange_weak(
            latest,
            next(latest),
            Ordering::Relaxed,
            Ordering::Relaxed,
        ) {
            Ok(before) => return next(before),
            Err(other) => latest = other,
        }
    }
}
