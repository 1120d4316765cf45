//! Work on many small things, shared out among threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The longest share: long enough that handing it out costs nothing beside the work, short enough that threads end together.
const MAX_SHARE_LEN: usize = 64;

/// Does `work` on shares of `items`, which it gets with the place of their first item, on this thread and on as many others of its
/// pool as have nothing else to do. This thread takes share after share itself: where the others wake up late, little is
/// waited for. The outcomes are in the order of the items.
pub(crate) fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &[T]) -> R + Sync) -> Vec<R> {
    let thread_count = rayon::current_num_threads();
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
    let here = Processor::of_this_thread();
    rayon::in_place_scope(|scope| {
        let other_count = thread_count.min(share_count).saturating_sub(1);
        for _ in 0..other_count {
            scope.spawn(|_| {
                here.leave();
                take_shares();
            });
        }
        if other_count > 0 {
            std::thread::yield_now();
        }
        take_shares();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(idx, _)| *idx);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Does `own` on this thread, and `other` at the same time on another one of its pool, if there is one that has nothing else to do.
pub(crate) fn at_once<A, B: Send>(own: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    let here = Processor::of_this_thread();
    let mut outcome = None;
    let own = rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            here.leave();
            outcome = Some(other());
        });
        std::thread::yield_now();
        own()
    });
    #[expect(clippy::expect_used, reason = "a scope ends when all that it spawned has ended")]
    let other = outcome.expect("a scope ends when all that it spawned has ended");
    (own, other)
}

/// The processor that a thread runs on.
///
/// In virtual machines a processor that sleeps passes for one that is taken away, so that Linux puts a thread that is woken up behind
/// the one that woke it, and leaves it there for some milliseconds: longer than what the two are to share takes. So the one that
/// wakes gives way for a moment, and the one that is woken moves to another processor, if it finds itself on the same one.
#[derive(Debug, Clone, Copy)]
struct Processor {
    #[cfg(target_os = "linux")]
    number: usize,
}

#[cfg(target_os = "linux")]
impl Processor {
    fn of_this_thread() -> Self {
        Processor { number: rustix::thread::sched_getcpu() }
    }

    /// Moves this thread to another processor if it is on this one. It may come back at any time.
    fn leave(self) {
        use rustix::thread::{sched_getaffinity, sched_setaffinity};
        if Processor::of_this_thread().number != self.number {
            return;
        }
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let mut others = allowed;
        others.unset(self.number);
        // Refused when there is no other one.
        if sched_setaffinity(None, &others).is_ok() {
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Processor {
    fn of_this_thread() -> Self {
        Processor {}
    }

    fn leave(self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_things_are_done_at_once_wherever_threads_run() {
        for _ in 0..50 {
            let here = Processor::of_this_thread();
            let (own, other) = at_once(|| 1, || 2);
            here.leave();
            assert_eq!((own, other), (1, 2));
        }
        #[cfg(target_os = "linux")]
        {
            let allowed = rustix::thread::sched_getaffinity(None).unwrap();
            Processor::of_this_thread().leave();
            assert!(
                rustix::thread::sched_getaffinity(None).unwrap() == allowed,
                "threads keep their processors"
            );
        }
    }

    #[test]
    fn each_item_is_worked_on_once_and_outcomes_keep_their_order() {
        for count in [0, 1, 2, 7, 64, 1000, 5001] {
            let items: Vec<usize> = (0..count).collect();
            let shares = side_by_side(&items, |start, share| {
                assert_eq!(share.first(), Some(&start));
                share.to_vec()
            });
            assert_eq!(shares.concat(), items, "{count}");
        }
    }
}
