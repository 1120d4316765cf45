//! A store whose answers were asked for before they are needed.
//!
//! Code that reads goes step by step, and on a distant store each step would be a round trip. Whoever knows what the steps
//! will ask for [announces](AheadStore::announce) it: the requests go out together, and each step finds its answer, or waits for
//! it. What was not announced, or could not be had, is asked of the store as ever: nothing hangs on announcements but time.

use crate::forward::forward_store;
use crate::{Answer, ByteRange, Entry, Page, Pending, ReadInto, Request, Store, Tail, coalesce, join, split};
use bytes::Bytes;
use smalti_types::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A store and the answers that are under way from it. Made for one read, or for opening one array: an answer is as old as its
/// announcement.
#[derive(Debug)]
pub struct AheadStore {
    store: Arc<dyn Store>,
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    lists: HashMap<String, EarlyList>,
    tails: HashMap<(String, u64), Early>,
    /// By file and by the first byte.
    ranges: HashMap<String, BTreeMap<u64, EarlyRange>>,
}

/// An answer that several may wait for.
#[derive(Debug, Clone)]
struct Early {
    pending: Arc<Mutex<Option<Pending>>>,
    answer: Arc<OnceLock<Result<Answer>>>,
}

#[derive(Debug, Clone)]
struct EarlyList {
    early: Early,
    /// The place of the folder among those of the request.
    at: usize,
    /// Whether it was used: whoever lists again wants a new one.
    is_used: bool,
}

impl EarlyList {
    fn wait(&self) -> Result<Vec<Entry>> {
        self.early.wait().and_then(|answer| answer.list(self.at))
    }
}

#[derive(Debug, Clone)]
struct EarlyRange {
    range: ByteRange,
    early: Early,
    /// The number of the announcement, by which it is let go.
    turn: u64,
}

impl Early {
    fn new(pending: Pending) -> Self {
        Early { pending: Arc::new(Mutex::new(Some(pending))), answer: Arc::default() }
    }

    fn wait(&self) -> Result<Answer> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pending) = pending.take() {
            let _ = self.answer.set(pending.wait());
        }
        let lost = || Err(Error::new(ErrorKind::Io, "an answer was lost"));
        self.answer.get().cloned().unwrap_or_else(lost)
    }

    fn bytes(&self) -> Option<Bytes> {
        match self.wait() {
            Ok(Answer::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

impl AheadStore {
    /// A store of which nothing was asked yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        AheadStore { store, answers: Mutex::default() }
    }

    /// Asks for listings and ends of files. Those that are under way already are not asked for again.
    pub fn announce(&self, requests: Vec<Request>) {
        self.announce_ranges(requests, 0);
    }

    /// As [`announce`](AheadStore::announce), for ranges too, which are joined as the store likes it, and kept until
    /// the turn is [forgotten](AheadStore::forget). Returns how many requests went out, and how many bytes they ask for.
    pub fn announce_ranges(&self, requests: Vec<Request>, turn: u64) -> (u64, u64) {
        let mut wanted: BTreeMap<String, Vec<ByteRange>> = BTreeMap::new();
        let mut sent = Vec::new();
        {
            let answers = self.answers();
            for request in requests {
                match request {
                    Request::List { ref folder }
                    | Request::Lists { ref folder, .. }
                    | Request::Page { ref folder }
                        if answers.lists.contains_key(folder) => {}
                    Request::Tail { ref path, byte_len }
                        if answers.tails.contains_key(&(path.clone(), byte_len)) => {}
                    Request::Range { path, range } => {
                        if range.byte_len > 0 && answers.covering(&path, range).is_none() {
                            wanted.entry(path).or_default().push(range);
                        }
                    }
                    other => sent.push(other),
                }
            }
        }
        let limits = self.store.coalescing();
        for (path, ranges) in wanted {
            let merged = coalesce(&ranges, limits).into_iter();
            sent.extend(merged.map(|merged| Request::Range { path: path.clone(), range: merged.range }));
        }
        if sent.is_empty() {
            return (0, 0);
        }
        let byte_len = sent.iter().fold(0_u64, |sum, request| sum.saturating_add(request.byte_len()));
        let pending = self.store.submit(sent.clone());
        let mut answers = self.answers();
        let count = sent.len() as u64;
        for (request, pending) in sent.into_iter().zip(pending) {
            let early = Early::new(pending);
            match request {
                Request::List { .. } | Request::Lists { .. } | Request::Page { .. } => {
                    for (at, folder) in request.folders().into_iter().enumerate() {
                        let early = early.clone();
                        answers.lists.insert(folder, EarlyList { early, at, is_used: false });
                    }
                }
                Request::Tail { path, byte_len } => drop(answers.tails.insert((path, byte_len), early)),
                Request::Range { path, range } => {
                    let of_file = answers.ranges.entry(path).or_default();
                    of_file.insert(range.start, EarlyRange { range, early, turn });
                }
            }
        }
        (count, byte_len)
    }

    /// Lets go of the ranges that were announced for turns which are over.
    pub fn forget(&self, is_over: impl Fn(u64) -> bool) {
        self.answers().ranges.retain(|_, of_file| {
            of_file.retain(|_, early| !is_over(early.turn));
            !of_file.is_empty()
        });
    }

    /// The entries of a folder whose listing was announced; `None` where it was not, or failed. Nobody else's use of it counts.
    pub fn announced_list(&self, folder: &str) -> Option<Vec<Entry>> {
        let early = self.answers().lists.get(folder).cloned()?;
        early.wait().ok()
    }

    /// A page of a folder that was announced; `None` where it was not, or failed. If there is more than a page, all of the folder can be
    /// announced from then on.
    pub fn announced_page(&self, folder: &str) -> Option<Page> {
        let early = self.answers().lists.get(folder).cloned()?;
        let page = early.early.wait().and_then(Answer::page).ok()?;
        if !page.is_whole {
            self.answers().lists.remove(folder);
        }
        Some(page)
    }

    /// Whether bytes of a file are under way, or there.
    pub fn is_announced(&self, path: &str, range: ByteRange) -> bool {
        self.answers().covering(path, range).is_some()
    }

    /// Fills those reads that were announced, and returns the others.
    pub fn fill<'r, 'd>(&self, reads: &'r mut [ReadInto<'d>]) -> Vec<&'r mut ReadInto<'d>> {
        let mut missing = Vec::new();
        for read in reads {
            let range = ByteRange { start: read.offset, byte_len: read.dest.len() as u64 };
            let early = self.answers().covering(read.path, range);
            let filled = early.and_then(|early| {
                let skipped = usize::try_from(range.start - early.range.start).ok()?;
                let bytes = early.early.bytes()?;
                read.dest.copy_from_slice(bytes.get(skipped..skipped.checked_add(read.dest.len())?)?);
                Some(())
            });
            if filled.is_none() {
                missing.push(read);
            }
        }
        missing
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The announced entries of a folder, once.
    fn first_list(&self, folder: &str) -> Option<Result<Vec<Entry>>> {
        let early = {
            let mut answers = self.answers();
            let early = answers.lists.get_mut(folder).filter(|early| !early.is_used)?;
            early.is_used = true;
            early.clone()
        };
        Some(early.wait())
    }

    fn announced_tail(&self, path: &str, byte_len: u64) -> Option<Result<Tail>> {
        let early = self.answers().tails.remove(&(path.to_owned(), byte_len))?;
        Some(early.wait().and_then(Answer::tail))
    }
}

impl Answers {
    /// What holds a range.
    fn covering(&self, path: &str, range: ByteRange) -> Option<EarlyRange> {
        let (_, early) = self.ranges.get(path)?.range(..=range.start).next_back()?;
        (range.end() <= early.range.end()).then(|| early.clone())
    }
}

impl Store for AheadStore {
    forward_store!(self => self.store;
        version, submit, has_waited, will_need, is_distant, is_long, put, replace, put_batch, create, sync_folder, create_folder, create_tree, delete_files, delete_folders, move_folder, address, list_recursive, leftovers, unfinished_uploads, abort_upload, lease, last_change_ms, coalescing);

    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        self.first_list(folder).unwrap_or_else(|| self.store.list(folder))
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        let (folder, name) = split(path);
        let Some(entries) = self.announced_list(folder) else { return self.store.byte_len(path) };
        match entries.iter().find(|entry| entry.is_file() && entry.name == name) {
            Some(entry) if entry.byte_len == Entry::UNKNOWN_BYTE_LEN => self.store.byte_len(path),
            Some(entry) => Ok(entry.byte_len),
            None => Err(Error::not_found("no such file").at_uri(self.store.address(path))),
        }
    }

    fn has_file(&self, path: &str) -> Result<bool> {
        let (folder, name) = split(path);
        match self.announced_list(folder) {
            Some(entries) => Ok(entries.iter().any(|entry| entry.is_file() && entry.name == name)),
            None => self.store.has_file(path),
        }
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        let missing = self.fill(reads);
        if missing.is_empty() {
            return Ok(());
        }
        let mut missing: Vec<ReadInto<'_>> = missing
            .into_iter()
            .map(|read| ReadInto { path: read.path, offset: read.offset, dest: &mut *read.dest })
            .collect();
        self.store.read_into(&mut missing)
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        self.announced_tail(path, byte_len).unwrap_or_else(|| self.store.read_tail(path, byte_len))
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        let mut missing = Vec::new();
        let mut tails: Vec<Option<Result<Tail>>> = Vec::with_capacity(paths.len());
        for path in paths {
            let announced = self.announced_tail(&join(folder, path), byte_len);
            if announced.is_none() {
                missing.push(path.clone());
            }
            tails.push(announced);
        }
        let asked = match missing.is_empty() {
            true => Vec::new(),
            false => self.store.read_tails(folder, &missing, byte_len),
        };
        let mut asked = asked.into_iter();
        let lost = || Err(Error::new(ErrorKind::Io, "an answer was lost"));
        tails.into_iter().map(|tail| tail.or_else(|| asked.next()).unwrap_or_else(lost)).collect()
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        match self.first_list(folder) {
            Some(entries) => Ok(entries?.into_iter().map(|entry| entry.name).collect()),
            None => self.store.list_names(folder),
        }
    }
}
