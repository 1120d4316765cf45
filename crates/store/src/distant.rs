//! A store that behaves as one far away does, for tests: each request takes a round trip, and many go side by side.

use crate::forward::forward_store;
use crate::{Coalescing, Pending, Request, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Wraps a store and makes a distant one of it. No time passes: what would take long is counted, by a
/// [`MeteredStore`](crate::MeteredStore) around it, and by [`most_under_way`](DistantStore::most_under_way).
#[derive(Debug, Clone)]
pub struct DistantStore {
    store: Arc<dyn Store>,
    coalescing: Coalescing,
    under_way: Arc<UnderWay>,
}

#[derive(Debug, Default)]
struct UnderWay {
    now: AtomicU64,
    most: AtomicU64,
}

impl DistantStore {
    /// The store, far away.
    pub fn new(store: Arc<dyn Store>) -> Self {
        DistantStore { store, coalescing: Coalescing::default(), under_way: Arc::default() }
    }

    /// The same store, with other wishes for how reads are joined.
    #[must_use]
    pub fn with_coalescing(self, coalescing: Coalescing) -> Self {
        DistantStore { coalescing, ..self }
    }

    /// The most submitted requests that were under way at the same time.
    pub fn most_under_way(&self) -> u64 {
        self.under_way.most.load(Ordering::Relaxed)
    }
}

impl Store for DistantStore {
    forward_store!(self => self.store;
        list, byte_len, version, read_into, read_tail, read_tails, has_waited, will_need, put, replace, put_batch, create, sync_folder, create_folder, create_tree, delete_files, delete_folders, move_folder, address, list_recursive, list_names, is_long, leftovers, lease, last_change_ms);

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        let count = requests.len() as u64;
        let now = self.under_way.now.fetch_add(count, Ordering::Relaxed) + count;
        self.under_way.most.fetch_max(now, Ordering::Relaxed);
        let pending = requests.into_iter().map(|request| {
            let (store, under_way) = (Arc::clone(&self.store), Arc::clone(&self.under_way));
            Pending::new(move || {
                under_way.now.fetch_sub(1, Ordering::Relaxed);
                request.ask(&*store)
            })
        });
        pending.collect()
    }

    fn is_distant(&self) -> bool {
        true
    }

    fn coalescing(&self) -> Coalescing {
        self.coalescing
    }
}
