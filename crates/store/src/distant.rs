//! A store that behaves as one far away does, for tests: each request takes a round trip, and many go side by side.

use crate::forward::forward_store;
use crate::{Answer, Coalescing, Entry, Page, Pending, ReadInto, Request, Store, Tail};
use smalti_types::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Wraps a store and makes a distant one of it. No real time passes: what would take long is counted, by a
/// [`MeteredStore`](crate::MeteredStore) around it, by [`most_under_way`](DistantStore::most_under_way), and on a clock of its own
/// ([`waited`](DistantStore::waited)).
#[derive(Debug, Clone)]
pub struct DistantStore {
    store: Arc<dyn Store>,
    coalescing: Coalescing,
    under_way: Arc<UnderWay>,
    round_trip: Duration,
    page_len: usize,
    /// Nanoseconds.
    clock: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct UnderWay {
    now: AtomicU64,
    most: AtomicU64,
}

impl DistantStore {
    /// The store, far away.
    pub fn new(store: Arc<dyn Store>) -> Self {
        DistantStore {
            store,
            coalescing: Coalescing::default(),
            under_way: Arc::default(),
            round_trip: Duration::ZERO,
            page_len: usize::MAX,
            clock: Arc::default(),
        }
    }

    /// The same store, with other wishes for how reads are joined.
    #[must_use]
    pub fn with_coalescing(self, coalescing: Coalescing) -> Self {
        DistantStore { coalescing, ..self }
    }

    /// The same store, whose answers take so long on its own clock, however many requests are under way.
    #[must_use]
    pub fn with_round_trip(self, round_trip: Duration) -> Self {
        DistantStore { round_trip, ..self }
    }

    /// The same store, whose listings come in pages of so many names, each of which is asked for when the one before has come.
    #[must_use]
    pub fn with_pages(self, page_len: usize) -> Self {
        DistantStore { page_len: page_len.max(1), ..self }
    }

    /// The time on the store's own clock: it goes on when an answer is waited for that is not there yet.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.clock.load(Ordering::Relaxed))
    }

    /// When the answer to a request is there that is sent now.
    fn due(&self) -> u64 {
        let round_trip = u64::try_from(self.round_trip.as_nanos()).unwrap_or(u64::MAX);
        self.clock.load(Ordering::Relaxed).saturating_add(round_trip)
    }

    /// Waits for the pages of a listing behind its first.
    fn turn_pages(&self, entries: &[Entry]) {
        let more_count = (entries.len().saturating_sub(1) / self.page_len) as u64;
        let round_trip = u64::try_from(self.round_trip.as_nanos()).unwrap_or(u64::MAX);
        self.clock.fetch_add(round_trip.saturating_mul(more_count), Ordering::Relaxed);
    }

    /// Asks and waits.
    fn trip<T>(&self, ask: impl FnOnce(&dyn Store) -> T) -> T {
        let due = self.due();
        let answer = ask(&*self.store);
        self.clock.fetch_max(due, Ordering::Relaxed);
        answer
    }

    /// The most submitted requests that were under way at the same time.
    pub fn most_under_way(&self) -> u64 {
        self.under_way.most.load(Ordering::Relaxed)
    }
}

impl Store for DistantStore {
    forward_store!(self => self.store;
        version, has_waited, will_need, put, replace, put_batch, create, sync_folder, create_folder, create_tree, delete_files, delete_folders, move_folder, address, is_long, leftovers, unfinished_uploads, abort_upload, lease, last_change_ms);

    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        self.trip(|store| store.list(folder)).inspect(|entries| self.turn_pages(entries))
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        self.trip(|store| store.byte_len(path))
    }

    fn has_file(&self, path: &str) -> Result<bool> {
        self.trip(|store| store.has_file(path))
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        self.trip(|store| store.read_into(reads))
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        self.trip(|store| store.read_tail(path, byte_len))
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        self.trip(|store| store.read_tails(folder, paths, byte_len))
    }

    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        self.trip(|store| store.list_recursive(folder))
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        self.trip(|store| store.list_names(folder))
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        let count = requests.len() as u64;
        let now = self.under_way.now.fetch_add(count, Ordering::Relaxed) + count;
        self.under_way.most.fetch_max(now, Ordering::Relaxed);
        let due = self.due();
        let pending = requests.into_iter().map(|request| {
            let distant = self.clone();
            Pending::new(move || {
                distant.under_way.now.fetch_sub(1, Ordering::Relaxed);
                distant.clock.fetch_max(due, Ordering::Relaxed);
                let mut answer = request.ask(&*distant.store)?;
                match &mut answer {
                    Answer::Entries(entries) => distant.turn_pages(entries),
                    Answer::Page(Page { entries, is_whole }) => {
                        *is_whole = entries.len() <= distant.page_len;
                        entries.truncate(distant.page_len);
                    }
                    _ => {}
                }
                Ok(answer)
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
