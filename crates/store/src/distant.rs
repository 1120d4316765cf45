//! A store that behaves as one far away does, for tests: each request takes a round trip, and many go side by side.

use crate::{
    Claim, Coalescing, Entry, FileVersion, FileWriter, Lease, Leftover, NewFile, NewTree, Pending, ReadInto,
    Request, Store, Tail,
};
use smalti_types::Result;
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

    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        self.store.list(folder)
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        self.store.byte_len(path)
    }

    fn version(&self, path: &str) -> Option<FileVersion> {
        self.store.version(path)
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        self.store.read_into(reads)
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        self.store.read_tail(path, byte_len)
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        self.store.read_tails(folder, paths, byte_len)
    }

    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        self.store.put(path, parts)
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        self.store.replace(path, parts)
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        self.store.put_batch(files)
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        self.store.create(path)
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        self.store.sync_folder(folder)
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        self.store.create_folder(folder)
    }

    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()> {
        self.store.create_tree(root, tree)
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        self.store.delete_files(paths)
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        self.store.delete_folders(folders)
    }

    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        self.store.move_folder(from, to)
    }

    fn address(&self, path: &str) -> String {
        self.store.address(path)
    }

    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        self.store.list_recursive(folder)
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        self.store.list_names(folder)
    }

    fn is_long(&self, folder: &str) -> bool {
        self.store.is_long(folder)
    }

    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        self.store.leftovers(folder)
    }

    fn lease(&self, path: &str, claim: Claim) -> Result<Option<Lease>> {
        self.store.lease(path, claim)
    }

    fn last_change_ms(&self, folder: &str) -> Result<Option<u64>> {
        self.store.last_change_ms(folder)
    }
}
