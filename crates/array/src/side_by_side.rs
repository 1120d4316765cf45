//! Work on many small things, shared out among threads.

use smalti_types::parallel;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The longest share: long enough that handing it out costs nothing beside the work, short enough that threads end together.
const MAX_SHARE_LEN: usize = 64;

/// Fewer items are not worth a thread.
const FEWEST_TO_SHARE: usize = 64;

/// Does `work` on shares of `items`, which it gets with the place of their first item, on this thread and on as many workers
/// as have nothing else to do. This thread takes share after share itself: where the others wake up late, little is
/// waited for. The outcomes are in the order of the items.
pub(crate) fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &[T]) -> R + Sync) -> Vec<R> {
    let thread_count = parallel::thread_count();
    let share_len = (items.len() / (4 * thread_count)).clamp(1, MAX_SHARE_LEN);
    let share_count = items.len().div_ceil(share_len);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(share_count));
    let take_shares = || {
        loop {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            if idx >= share_count {
                return;
            }
            let start = idx * share_len;
            #[expect(clippy::indexing_slicing, reason = "the shares were counted from the number of items")]
            let share = &items[start..items.len().min(start + share_len)];
            let outcome = work(start, share);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((idx, outcome));
        }
    };
    let other_count = match items.len() {
        FEWEST_TO_SHARE.. => thread_count.min(share_count).saturating_sub(1),
        _ => 0,
    };
    match other_count {
        0 => take_shares(),
        _ => parallel::scope(|scope| {
            if let Some(scope) = scope {
                // One more than are wanted: the first that wakes up may be on the processor of this thread.
                (0..=other_count).for_each(|_| scope.spawn(|_| take_shares()));
            }
            take_shares();
        }),
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(idx, _)| *idx);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Does `own` on this thread, and `other` at the same time on a worker, if there are any. `own` can ask whether `other` is still to
/// be waited for.
pub(crate) fn at_once<A, B: Send>(
    own: impl FnOnce(&dyn Fn() -> bool) -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let other = Mutex::new(Some(other));
    let outcome = Mutex::new(None);
    let is_done = AtomicBool::new(false);
    let take = || {
        let other = other.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(other) = other {
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(other());
            is_done.store(true, Ordering::Relaxed);
        }
    };
    let own = parallel::scope(|scope| {
        if let Some(scope) = scope {
            // Two, of which one does it: the first that wakes up may be on the processor of this thread.
            (0..2).for_each(|_| scope.spawn(|_| take()));
        }
        own(&|| !is_done.load(Ordering::Relaxed))
    });
    take();
    let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    #[expect(
        clippy::expect_used,
        reason = "whoever took it has done it: a scope ends when all that it spawned has"
    )]
    let other = outcome.expect("it is done by a worker, or here");
    (own, other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::parallel::Workers;
    use std::sync::Arc;

    #[test]
    fn two_things_are_done_with_workers_and_without() {
        let workers = Arc::new(Workers::new(2));
        for _ in 0..50 {
            assert_eq!(at_once(|_| 1, || 2), (1, 2));
            assert_eq!(workers.stand_by(|| at_once(|_| 1, || 2)), (1, 2));
            assert_eq!(workers.run(|| at_once(|_| 1, || 2)), (1, 2));
        }
    }

    #[test]
    fn what_is_done_need_not_be_waited_for() {
        let is_begun = AtomicBool::new(false);
        let own = |is_awaited: &dyn Fn() -> bool| {
            let before = is_awaited();
            is_begun.store(true, Ordering::Relaxed);
            while is_awaited() {
                std::thread::yield_now();
            }
            before
        };
        let other = || {
            while !is_begun.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        };
        assert_eq!(Arc::new(Workers::new(2)).stand_by(|| at_once(own, other)), (true, ()));
    }

    #[test]
    fn each_item_is_worked_on_once_and_outcomes_keep_their_order() {
        for count in [0, 1, 2, 7, 64, 1000, 5001] {
            let items: Vec<usize> = (0..count).collect();
            let shares = || {
                side_by_side(&items, |start, share| {
                    assert_eq!(share.first(), Some(&start));
                    share.to_vec()
                })
            };
            assert_eq!(shares().concat(), items, "{count}");
            assert_eq!(Arc::new(Workers::new(2)).stand_by(shares).concat(), items, "{count}, shared out");
        }
    }
}
