//! A bucket in memory, for simulations: what stores of objects promise and no more, one request after the other.
//!
//! It sends the requests that a client of a real bucket sends for each call of [`Store`], in the same order: so another user, or the end of the process,
//! can come between any two of them. What is put or deleted side by side there is one request after the other here, in the order given
//! or in the opposite one.

use crate::path::{check_folder, check_move, check_path, join};
use crate::{
    Answer, ByteRange, Coalescing, Entry, EntryKind, FileWriter, LEFTOVER_PREFIX, Leftover, NewFile, NewTree,
    Page, Pending, ReadInto, Request, SeededEntropy, Store, Tail, coalesce,
};
use bytes::Bytes;
use smalti_types::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files of more bytes are uploaded in parts: such an upload cannot be told not to replace anything.
const PART_BYTE_LEN: usize = 256;

/// So many names come in one answer, where somebody asks for a page. Listings have as many as there are, at one moment.
const PAGE_LEN: usize = 3;

/// The step of an object's times, as of buckets.
const TIME_STEP_MS: u64 = 1000;

/// What a bucket holds at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketImage {
    objects: BTreeMap<String, Object>,
    now_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    bytes: Bytes,
    put_at_ms: u64,
}

/// A request that changed a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BucketStep {
    /// An object has this content from now on.
    Put {
        /// Its key.
        path: String,
        /// Its content.
        bytes: Bytes,
    },
    /// There is no such object any more.
    Delete {
        /// Its key.
        path: String,
    },
}

impl BucketImage {
    /// Takes a step. Each takes a millisecond.
    pub fn apply(&mut self, step: &BucketStep) {
        self.now_ms += 1;
        match step {
            BucketStep::Put { path, bytes } => {
                let object = Object { bytes: bytes.clone(), put_at_ms: self.now_ms };
                self.objects.insert(path.clone(), object);
            }
            BucketStep::Delete { path } => drop(self.objects.remove(path)),
        }
    }

    /// Lets time pass.
    pub fn advance(&mut self, by_ms: u64) {
        self.now_ms += by_ms;
    }

    /// The bucket's time, in milliseconds since 1970-01-01T00:00:00Z.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// An object, and when it was put.
    pub fn object(&self, path: &str) -> Option<(&Bytes, u64)> {
        self.objects.get(path).map(|object| (&object.bytes, object.put_at_ms))
    }

    /// The objects whose keys begin so, in the order of their keys.
    pub fn objects_with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, &Bytes, u64)> {
        let from = self.objects.range(prefix.to_owned()..);
        let with_prefix = from.take_while(move |(path, _)| path.starts_with(prefix));
        with_prefix.map(|(path, object)| (path.as_str(), &object.bytes, object.put_at_ms))
    }

    /// The keys of all objects.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(String::as_str)
    }
}

impl Default for BucketImage {
    fn default() -> Self {
        // A time that nothing takes for that of a clock which was never set.
        BucketImage { objects: BTreeMap::new(), now_ms: 1_700_000_000_000 }
    }
}

/// A bucket with a record of all steps since it was made. Clones are the same bucket.
#[derive(Clone)]
pub struct BucketStore {
    state: Arc<Mutex<BucketState>>,
    before_request: Arc<dyn Fn() + Send + Sync>,
    is_reversed: bool,
    stale: Option<Arc<Stale>>,
}

/// How out of date listings are.
struct Stale {
    /// They are of a moment up to so many steps ago.
    most_steps: u64,
    entropy: SeededEntropy,
    /// How often each folder was listed.
    counts: Mutex<BTreeMap<String, u64>>,
}

/// Of so many listings of a folder, one is as it is.
const STALE_IN_A_ROW: u64 = 3;

impl Stale {
    fn age(&self, folder: &str) -> u64 {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(folder.to_owned()).or_insert(0);
        *count += 1;
        if count.is_multiple_of(STALE_IN_A_ROW) { 0 } else { self.entropy.next_u64() % (self.most_steps + 1) }
    }
}

#[derive(Default)]
struct BucketState {
    image: BucketImage,
    steps: Vec<BucketStep>,
    /// What the objects of the steps were before them.
    undo: Vec<(String, Option<Object>)>,
}

impl BucketStore {
    /// An empty bucket.
    pub fn new() -> Self {
        BucketStore::from_image(&BucketImage::default())
    }

    /// A bucket that holds what an image holds.
    pub fn from_image(image: &BucketImage) -> Self {
        let state = BucketState { image: image.clone(), ..BucketState::default() };
        BucketStore {
            state: Arc::new(Mutex::new(state)),
            before_request: Arc::new(|| ()),
            is_reversed: false,
            stale: None,
        }
    }

    /// The same bucket as a user has it who calls something before each request.
    #[must_use]
    pub fn calling(self, before_request: impl Fn() + Send + Sync + 'static) -> Self {
        BucketStore { before_request: Arc::new(before_request), ..self }
    }

    /// The same bucket as a user has it whose requests that go side by side arrive in the opposite order.
    #[must_use]
    pub fn reversed(self) -> Self {
        BucketStore { is_reversed: true, ..self }
    }

    /// The same bucket as a user has it to whom listings are as they were up to so many steps ago, but for the third of each folder. What is
    /// read is as it is.
    #[must_use]
    pub fn with_stale_lists(self, most_steps: u64, seed: u64) -> Self {
        let stale = Stale { most_steps, entropy: SeededEntropy::new(seed), counts: Mutex::default() };
        BucketStore { stale: Some(Arc::new(stale)), ..self }
    }

    /// Lets time pass.
    pub fn advance(&self, by_ms: u64) {
        self.state().image.advance(by_ms);
    }

    /// What the bucket holds now.
    pub fn image(&self) -> BucketImage {
        self.state().image.clone()
    }

    /// What the bucket held so many steps ago.
    pub fn image_before(&self, step_count: usize) -> BucketImage {
        let state = self.state();
        BucketImage { objects: state.before(step_count), now_ms: state.image.now_ms }
    }

    /// Takes a step, as a server does for a client of its own.
    pub fn perform(&self, step: BucketStep) {
        self.state().perform(step);
    }

    /// The steps so far, since the bucket was made.
    pub fn steps(&self) -> Vec<BucketStep> {
        self.state().steps.clone()
    }

    fn state(&self) -> MutexGuard<'_, BucketState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bucket when the next request arrives.
    fn request(&self) -> MutexGuard<'_, BucketState> {
        (self.before_request)();
        self.state()
    }

    fn get(&self, path: &str) -> Result<Bytes> {
        check_path(path)?;
        let found = self.request().image.objects.get(path).map(|object| object.bytes.clone());
        found.ok_or_else(|| Error::not_found("no such object").at_uri(self.address(path)))
    }

    fn has(&self, path: &str) -> bool {
        self.request().image.objects.contains_key(path)
    }

    fn put_new(&self, path: &str, bytes: Bytes) -> Result<()> {
        let mut state = self.request();
        if state.image.objects.contains_key(path) {
            let taken = Error::new(ErrorKind::AlreadyExists, "an object of that name exists");
            return Err(taken.at_uri(self.address(path)));
        }
        state.perform(BucketStep::Put { path: path.to_owned(), bytes });
        Ok(())
    }

    fn put_over(&self, path: &str, bytes: Bytes) {
        self.request().perform(BucketStep::Put { path: path.to_owned(), bytes });
    }

    fn delete(&self, path: &str) {
        let mut state = self.request();
        if state.image.objects.contains_key(path) {
            state.perform(BucketStep::Delete { path: path.to_owned() });
        }
    }

    /// The objects below a folder, with what is behind its name in their keys.
    fn below(&self, folder: &str) -> Vec<(String, Object)> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let age = self.stale.as_deref().map_or(0, |stale| stale.age(folder));
        let age = usize::try_from(age).unwrap_or(usize::MAX);
        let objects = self.request().before(age);
        let below = objects.range(prefix.clone()..);
        let below = below.map_while(|(path, object)| Some((path.strip_prefix(&prefix)?, object)));
        below.map(|(name, object)| (name.to_owned(), object.clone())).collect()
    }

    /// What is directly in a folder, with the times of objects.
    fn level(&self, folder: &str) -> Result<Vec<(Entry, u64)>> {
        check_folder(folder)?;
        let mut entries: Vec<(Entry, u64)> = Vec::new();
        for (name, object) in self.below(folder) {
            let entry = match name.split_once('/') {
                Some((name, _)) => Entry { name: name.to_owned(), kind: EntryKind::Folder, byte_len: 0 },
                None => Entry { name, kind: EntryKind::File, byte_len: object.bytes.len() as u64 },
            };
            if entries.last().is_none_or(|(last, _)| *last != entry) {
                entries.push((entry, object.put_at_ms - object.put_at_ms % TIME_STEP_MS));
            }
        }
        entries.sort_by(|(a, _), (b, _)| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
        entries.dedup();
        Ok(entries)
    }

    fn check_free(&self, folder: &str) -> Result<()> {
        if !self.below(folder).is_empty() || self.has(folder) {
            let taken = Error::new(ErrorKind::AlreadyExists, "something of that name exists");
            return Err(taken.at_uri(self.address(folder)));
        }
        Ok(())
    }

    /// Things in the order in which what is done to them side by side arrives.
    fn side_by_side<T>(&self, things: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut things: Vec<T> = things.into_iter().collect();
        if self.is_reversed {
            things.reverse();
        }
        things
    }

    /// Puts files side by side. The others go on where one fails, and those that were put are deleted then.
    fn put_all(&self, files: Vec<(String, Bytes)>) -> Result<()> {
        let (mut done, mut first) = (Vec::new(), Ok(()));
        for (path, bytes) in self.side_by_side(files) {
            match self.put_new(&path, bytes) {
                Ok(()) => done.push(path),
                Err(error) => first = first.and(Err(error)),
            }
        }
        if first.is_err() {
            done.iter().for_each(|path| self.delete(path));
        }
        first
    }
}

impl BucketState {
    fn perform(&mut self, step: BucketStep) {
        let (BucketStep::Put { path, .. } | BucketStep::Delete { path }) = &step;
        self.undo.push((path.clone(), self.image.objects.get(path).cloned()));
        self.image.apply(&step);
        self.steps.push(step);
    }

    /// The objects as they were so many steps ago.
    fn before(&self, step_count: usize) -> BTreeMap<String, Object> {
        let mut objects = self.image.objects.clone();
        for (path, before) in self.undo.iter().rev().take(step_count) {
            match before {
                Some(object) => drop(objects.insert(path.clone(), object.clone())),
                None => drop(objects.remove(path)),
            }
        }
        objects
    }
}

impl Default for BucketStore {
    fn default() -> Self {
        BucketStore::new()
    }
}

fn joined(parts: &[&[u8]]) -> Bytes {
    Bytes::from(parts.concat())
}

impl Store for BucketStore {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        let entries = self.level(folder)?.into_iter().map(|(entry, _)| entry);
        Ok(entries.filter(|entry| !entry.name.starts_with(LEFTOVER_PREFIX)).collect())
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        let ask = |request: Request| match request.ask(self) {
            Ok(Answer::Page(Page { mut entries, .. })) => {
                let is_whole = entries.len() <= PAGE_LEN;
                entries.truncate(PAGE_LEN);
                Ok(Answer::Page(Page { entries, is_whole }))
            }
            answer => answer,
        };
        requests.into_iter().map(|request| Pending::ready(ask(request))).collect()
    }

    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        let entries = self.level(folder)?.into_iter();
        let of_them = entries.filter(|(entry, _)| entry.is_file() && entry.name.starts_with(LEFTOVER_PREFIX));
        Ok(of_them
            .map(|(entry, put_at_ms)| Leftover {
                path: join(folder, &entry.name),
                kind: EntryKind::File,
                modified_ms: Some(put_at_ms),
            })
            .collect())
    }

    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        check_folder(folder)?;
        let is_shown = |name: &str| !name.split('/').any(|part| part.starts_with(LEFTOVER_PREFIX));
        let below = self.below(folder).into_iter().filter(|(name, _)| is_shown(name));
        let entry = |(name, object): (String, Object)| Entry {
            name,
            kind: EntryKind::File,
            byte_len: object.bytes.len() as u64,
        };
        Ok(below.map(entry).collect())
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        Ok(self.get(path)?.len() as u64)
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        let mut by_path: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (idx, read) in reads.iter().enumerate() {
            check_path(read.path)?;
            by_path.entry(read.path).or_default().push(idx);
        }
        let mut found = Vec::new();
        for (path, members) in by_path {
            let ranges = members.iter().filter_map(|idx| {
                let read = reads.get(*idx)?;
                Some(ByteRange { start: read.offset, byte_len: read.dest.len() as u64 })
            });
            let ranges: Vec<ByteRange> = ranges.collect();
            for merged in coalesce(&ranges, self.coalescing()) {
                let bytes = self.get(path)?;
                let idxs = merged.members.iter().filter_map(|member| members.get(*member).copied());
                found.extend(idxs.map(|idx| (idx, bytes.clone())));
            }
        }
        for (idx, bytes) in found {
            let Some(read) = reads.get_mut(idx) else { continue };
            read.fill_from(&bytes).map_err(|error| error.at_uri(self.address(read.path)))?;
        }
        Ok(())
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        Ok(Tail::of(&self.get(path)?, byte_len))
    }

    fn is_distant(&self) -> bool {
        true
    }

    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        self.put_new(path, joined(parts))
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        self.put_over(path, joined(parts));
        Ok(())
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        files.iter().try_for_each(|file| check_path(file.path))?;
        self.put_all(files.iter().map(|file| (file.path.to_owned(), file.joined())).collect())
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        check_path(path)?;
        Ok(Box::new(BucketWriter { store: self.clone(), path: path.to_owned(), bytes: Vec::new() }))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        check_folder(folder)
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        check_folder(folder)
    }

    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()> {
        tree.check(root)?;
        self.check_free(root)?;
        let Some((files, (path, bytes))) = tree.objects(root) else { return Ok(()) };
        self.put_all(files)?;
        self.put_new(&path, bytes)
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        paths.iter().try_for_each(|path| check_path(path))?;
        self.side_by_side(paths).into_iter().for_each(|path| self.delete(path));
        Ok(())
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        folders.iter().try_for_each(|folder| check_path(folder))?;
        for folder in folders {
            for (name, _) in self.side_by_side(self.below(folder)) {
                self.delete(&join(folder, &name));
            }
        }
        Ok(())
    }

    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        check_move(from, to)?;
        self.check_free(to)?;
        let found = self.below(from);
        if found.is_empty() {
            return Err(Error::not_found("no such folder").at_uri(self.address(from)));
        }
        let is_schema = |(name, _): &(String, Object)| name.split('/').any(|part| part == "__schema");
        let (schemas, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_schema);
        for (name, _) in self.side_by_side(&others).into_iter().chain(self.side_by_side(&schemas)) {
            let bytes = self.get(&join(from, name))?;
            self.put_over(&join(to, name), bytes);
        }
        for (name, _) in self.side_by_side(&schemas).into_iter().chain(self.side_by_side(&others)) {
            self.delete(&join(from, name));
        }
        Ok(())
    }

    fn address(&self, path: &str) -> String {
        format!("bucket://{path}")
    }

    fn last_change_ms(&self, folder: &str) -> Result<Option<u64>> {
        check_folder(folder)?;
        Ok(self.below(folder).iter().map(|(_, object)| object.put_at_ms).max())
    }

    fn coalescing(&self) -> Coalescing {
        Coalescing { max_gap_byte_len: 64, ..Coalescing::default() }
    }
}

impl fmt::Debug for BucketStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketStore({} objects)", self.state().image.objects.len())
    }
}

struct BucketWriter {
    store: BucketStore,
    path: String,
    bytes: Vec<u8>,
}

impl FileWriter for BucketWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn finish(self: Box<Self>) -> Result<()> {
        if self.bytes.len() <= PART_BYTE_LEN {
            return self.store.put_new(&self.path, self.bytes.into());
        }
        // Parts are seen by nobody. Whether the name is free is asked before, as completing an upload replaces what has it.
        if self.store.has(&self.path) {
            let taken = Error::new(ErrorKind::AlreadyExists, "an object of that name exists");
            return Err(taken.at_uri(self.store.address(&self.path)));
        }
        self.store.put_over(&self.path, self.bytes.into());
        Ok(())
    }
}

impl fmt::Debug for BucketWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketWriter({}, {} bytes)", self.path, self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_conforms_in_both_orders() {
        crate::conformance::run_of_objects(|| Arc::new(BucketStore::new()));
        crate::conformance::run_of_objects(|| Arc::new(BucketStore::new().reversed()));
    }

    #[test]
    fn steps_lead_from_one_image_to_the_next() {
        let bucket = BucketStore::new();
        let mut image = bucket.image();
        bucket.put("a/x", &[b"1"]).unwrap();
        bucket.put("a/x", &[b"2"]).unwrap_err();
        bucket.replace("a/x", &[b"3"]).unwrap();
        bucket.move_folder("a", "b").unwrap();
        let steps = bucket.steps();
        assert_eq!(steps.len(), 4);
        steps.iter().for_each(|step| image.apply(step));
        assert_eq!(image, bucket.image());
        assert_eq!(image.paths().collect::<Vec<_>>(), ["b/x"]);
    }

    #[test]
    fn stale_listings_are_of_a_moment_before_and_reads_are_not() {
        let bucket = BucketStore::new();
        for name in ["a", "b", "c", "d"] {
            bucket.put(name, &[]).unwrap();
        }
        bucket.delete_files(&["a"]).unwrap();
        let bucket = bucket.with_stale_lists(2, 1);
        let seen: std::collections::BTreeSet<usize> =
            (0..40).map(|_| bucket.list("").unwrap().len()).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [3, 4]);
        assert_eq!(bucket.byte_len("a").unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn every_request_is_announced() {
        let count = Arc::new(Mutex::new(0));
        let counting = Arc::clone(&count);
        let bucket = BucketStore::new().calling(move || *counting.lock().unwrap() += 1);
        bucket.create_tree("t", &NewTree { folders: &[], files: &[] }).unwrap();
        bucket.put("t/x", &[]).unwrap();
        bucket.delete_folders(&["t"]).unwrap();
        // Two whether the name is free, the put, the listing, the deletion.
        assert_eq!(*count.lock().unwrap(), 5);
    }
}
