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
            let outcome = work(start, &items[start..items.len().min(start + share_len)]);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((idx, outcome));
        }
    };
    rayon::in_place_scope(|scope| {
        for _ in 1..thread_count.min(share_count) {
            scope.spawn(|_| take_shares());
        }
        take_shares();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(idx, _)| *idx);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
