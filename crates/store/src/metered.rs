//! A store that counts what passes through it.

use crate::{
    Answer, ByteRange, Claim, Coalescing, Entry, FileVersion, FileWriter, Lease, Leftover, NewFile, NewTree,
    Pending, ReadInto, Request, Store, Tail, UnfinishedUpload,
};
use smalti_types::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Calls and bytes since the start; [`since`](Traffic::since) gives those of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Listings.
    pub list_count: u64,
    /// Questions for the size of a file.
    pub byte_len_count: u64,
    /// Ranges read; a batch counts as many as it holds.
    pub read_count: u64,
    /// Bytes read.
    pub read_byte_len: u64,
    /// Files written, in whatever way.
    pub write_count: u64,
    /// Bytes written.
    pub write_byte_len: u64,
    /// Files and folders deleted, or asked to be.
    pub delete_count: u64,
    /// Round trips that waited for each other, of listings, questions for sizes and reads: a call that begins after another one was
    /// answered counts as waiting for it. What goes out while others are under way takes no round of its own.
    pub round_count: u64,
}

impl Traffic {
    /// The difference from an earlier count of the same store.
    #[must_use]
    pub fn since(&self, earlier: &Traffic) -> Traffic {
        Traffic {
            list_count: self.list_count.saturating_sub(earlier.list_count),
            byte_len_count: self.byte_len_count.saturating_sub(earlier.byte_len_count),
            read_count: self.read_count.saturating_sub(earlier.read_count),
            read_byte_len: self.read_byte_len.saturating_sub(earlier.read_byte_len),
            write_count: self.write_count.saturating_sub(earlier.write_count),
            write_byte_len: self.write_byte_len.saturating_sub(earlier.write_byte_len),
            delete_count: self.delete_count.saturating_sub(earlier.delete_count),
            round_count: self.round_count.saturating_sub(earlier.round_count),
        }
    }
}

#[derive(Debug, Default)]
struct Counters {
    lists: AtomicU64,
    byte_lens: AtomicU64,
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    deletes: AtomicU64,
    /// The longest chain of answered calls.
    rounds: AtomicU64,
}

/// The place of a call in a chain of calls, each of which begins behind the answer to the one before.
#[derive(Debug, Clone, Copy)]
struct Round(u64);

impl Counters {
    fn begin(&self) -> Round {
        Round(self.rounds.load(Ordering::Relaxed) + 1)
    }

    fn end(&self, round: Round) {
        self.rounds.fetch_max(round.0, Ordering::Relaxed);
    }
}

fn add(counter: &AtomicU64, amount: usize) {
    counter.fetch_add(amount as u64, Ordering::Relaxed);
}

/// Wraps a store and counts successful calls and their bytes; a call that fails counts as a call, without bytes.
#[derive(Debug)]
pub struct MeteredStore<S> {
    store: S,
    counters: Arc<Counters>,
}

impl Traffic {
    /// Requests that a reader makes: listings, questions for sizes, ranges.
    pub fn request_count(&self) -> u64 {
        self.list_count + self.byte_len_count + self.read_count
    }
}

impl<S: Store> MeteredStore<S> {
    /// A wrapped store with all counts at zero.
    pub fn new(store: S) -> Self {
        MeteredStore { store, counters: Arc::default() }
    }

    /// The counts so far.
    pub fn traffic(&self) -> Traffic {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic {
            list_count: of(&self.counters.lists),
            byte_len_count: of(&self.counters.byte_lens),
            read_count: of(&self.counters.reads),
            read_byte_len: of(&self.counters.read_bytes),
            write_count: of(&self.counters.writes),
            write_byte_len: of(&self.counters.written_bytes),
            delete_count: of(&self.counters.deletes),
            round_count: of(&self.counters.rounds),
        }
    }

    /// The store without the counting.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Asks, as one round.
    fn round<T>(&self, ask: impl FnOnce(&S) -> T) -> T {
        let round = self.counters.begin();
        let answer = ask(&self.store);
        self.counters.end(round);
        answer
    }

    fn count_files(&self, files: &[NewFile<'_>]) {
        add(&self.counters.writes, files.len());
        add(
            &self.counters.written_bytes,
            files.iter().flat_map(|file| file.parts).map(|part| part.len()).sum(),
        );
    }
}

impl<S: Store> Store for MeteredStore<S> {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        add(&self.counters.lists, 1);
        self.round(|store| store.list(folder))
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        add(&self.counters.byte_lens, 1);
        self.round(|store| store.byte_len(path))
    }

    fn has_file(&self, path: &str) -> Result<bool> {
        add(&self.counters.byte_lens, 1);
        self.round(|store| store.has_file(path))
    }

    fn version(&self, path: &str) -> Option<FileVersion> {
        self.store.version(path)
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        add(&self.counters.reads, reads.len());
        let byte_len = reads.iter().map(|read| read.dest.len()).sum();
        self.round(|store| store.read_into(reads)).inspect(|()| add(&self.counters.read_bytes, byte_len))
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        add(&self.counters.reads, 1);
        let tail = self.round(|store| store.read_tail(path, byte_len))?;
        add(&self.counters.read_bytes, tail.bytes.len());
        Ok(tail)
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        for request in &requests {
            add(if request.is_list() { &self.counters.lists } else { &self.counters.reads }, 1);
        }
        let round = self.counters.begin();
        let counted = |pending: Pending| {
            let counters = Arc::clone(&self.counters);
            Pending::new(move || {
                let answer = pending.wait();
                counters.end(round);
                match &answer {
                    Ok(Answer::Bytes(bytes)) => add(&counters.read_bytes, bytes.len()),
                    Ok(Answer::Tail(tail)) => add(&counters.read_bytes, tail.bytes.len()),
                    _ => {}
                }
                answer
            })
        };
        self.store.submit(requests).into_iter().map(counted).collect()
    }

    fn has_waited(&self) -> bool {
        self.store.has_waited()
    }

    fn will_need(&self, path: &str, ranges: &[ByteRange]) {
        self.store.will_need(path, ranges);
    }

    fn is_distant(&self) -> bool {
        self.store.is_distant()
    }

    fn is_long(&self, folder: &str) -> bool {
        self.store.is_long(folder)
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        add(&self.counters.reads, paths.len());
        let tails = self.round(|store| store.read_tails(folder, paths, byte_len));
        add(&self.counters.read_bytes, tails.iter().flatten().map(|tail| tail.bytes.len()).sum());
        tails
    }

    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        self.store.put(path, parts).inspect(|()| self.count_files(&[NewFile { path, parts }]))
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        self.store.replace(path, parts).inspect(|()| self.count_files(&[NewFile { path, parts }]))
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        self.store.put_batch(files).inspect(|()| self.count_files(files))
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        let writer = self.store.create(path)?;
        Ok(Box::new(MeteredWriter { writer, counters: Arc::clone(&self.counters) }))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        self.store.sync_folder(folder)
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        self.store.create_folder(folder)
    }

    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()> {
        self.store.create_tree(root, tree).inspect(|()| self.count_files(tree.files))
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        add(&self.counters.deletes, paths.len());
        self.store.delete_files(paths)
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        add(&self.counters.deletes, folders.len());
        self.store.delete_folders(folders)
    }

    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        self.store.move_folder(from, to)
    }

    fn address(&self, path: &str) -> String {
        self.store.address(path)
    }

    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        add(&self.counters.lists, 1);
        self.round(|store| store.list_recursive(folder))
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        add(&self.counters.lists, 1);
        self.round(|store| store.list_names(folder))
    }

    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        add(&self.counters.lists, 1);
        self.round(|store| store.leftovers(folder))
    }

    fn unfinished_uploads(&self, folder: &str) -> Result<Vec<UnfinishedUpload>> {
        add(&self.counters.lists, 1);
        self.round(|store| store.unfinished_uploads(folder))
    }

    fn abort_upload(&self, upload: &UnfinishedUpload) -> Result<()> {
        add(&self.counters.deletes, 1);
        self.store.abort_upload(upload)
    }

    fn lease(&self, path: &str, claim: Claim) -> Result<Option<Lease>> {
        self.store.lease(path, claim)
    }

    fn last_change_ms(&self, folder: &str) -> Result<Option<u64>> {
        add(&self.counters.lists, 1);
        self.round(|store| store.last_change_ms(folder))
    }

    fn coalescing(&self) -> Coalescing {
        self.store.coalescing()
    }
}

#[derive(Debug)]
struct MeteredWriter {
    writer: Box<dyn FileWriter>,
    counters: Arc<Counters>,
}

impl FileWriter for MeteredWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write(bytes).inspect(|()| add(&self.counters.written_bytes, bytes.len()))
    }

    fn byte_len(&self) -> u64 {
        self.writer.byte_len()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish().inspect(|()| add(&self.counters.writes, 1))
    }
}
