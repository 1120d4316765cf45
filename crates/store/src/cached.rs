//! A distant store of which a folder on this machine keeps what was read.

use crate::cache_entry::CacheEntry;
use crate::forward::forward_store;
use crate::through::{self, Found, Part, Through};
use crate::{
    DiskCache, FileVersion, LEFTOVER_PREFIX, NewFile, NewTree, Pending, ReadInto, Request, Store, Tail, join,
    split,
};
use bytes::Bytes;
use smalti_types::Result;
use std::fmt;
use std::sync::Arc;

/// A store whose bytes are looked for in a [folder](DiskCache) first, and left there. Listings are asked for each time.
///
/// An entry counts for a file if it is of the [version](Store::version) that the store knows of the file. Of a file of which nothing is known yet, it counts
/// if the file's name alone tells its content: if no other content ever has the name. Which names are such is said by whoever makes the store. What this process
/// replaces or deletes is not known by its name any more.
#[derive(Clone)]
pub struct CachedStore {
    store: Arc<dyn Store>,
    cache: Arc<DiskCache>,
    is_final: fn(&str) -> bool,
}

/// A part of a file that somebody wants.
pub(crate) struct Wanted {
    path: String,
    address: String,
    part: Part,
    /// The version that the file was known to have before anybody asked.
    version: Option<FileVersion>,
    /// Whether an entry of any version will do.
    is_known_by_name: bool,
}

impl CachedStore {
    /// The store with a cache. `is_final` tells of paths whether no two contents ever have them.
    pub fn new(store: Arc<dyn Store>, cache: Arc<DiskCache>, is_final: fn(&str) -> bool) -> Self {
        CachedStore { store, cache, is_final }
    }

    /// From now on no file below a folder is known by its name alone: somebody replaced some there.
    pub fn distrust_names_in(&self, folder: &str) {
        self.cache.distrust(self.store.address(folder));
    }

    fn is_final_still(&self, path: &str, address: &str) -> bool {
        (self.is_final)(path)
            && !split(path).1.starts_with(LEFTOVER_PREFIX)
            && !self.cache.versions().is_of_several(address)
            && self.cache.trusts(address)
    }

    /// Whether it is worth looking for an entry.
    fn may_be_there(&self, wanted: &Wanted) -> bool {
        let is_some = wanted.version.is_some() || wanted.is_known_by_name;
        is_some
            && wanted.part.byte_len() > 0
            && self.cache.has(&self.cache.name(&wanted.address, wanted.part))
    }

    fn changes(&self, paths: impl IntoIterator<Item = impl AsRef<str>>) {
        for path in paths {
            self.cache.versions().replaced(&self.store.address(path.as_ref()));
        }
    }
}

impl Through for CachedStore {
    type Wanted = Wanted;

    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn wanted(&self, path: &str, part: Part) -> Wanted {
        let address = self.store.address(path);
        let version = self.store.version(path).or_else(|| self.cache.versions().of(&address));
        let is_known_by_name = version.is_none() && self.is_final_still(path, &address);
        Wanted { path: path.to_owned(), address, part, version, is_known_by_name }
    }

    fn find(&self, wanted: &Wanted) -> Option<Found> {
        if (wanted.version.is_none() && !wanted.is_known_by_name) || wanted.part.byte_len() == 0 {
            return None;
        }
        let entry = self.cache.find(&self.cache.name(&wanted.address, wanted.part))?;
        match (wanted.version, entry.version) {
            (None, Some(version)) => self.cache.versions().assume(&wanted.address, version),
            (known, told) if known != told => return None,
            _ => {}
        }
        Some(Found { bytes: entry.bytes, file_byte_len: entry.file_byte_len })
    }

    /// Keeps what the store answered, if it is known of which content it is.
    fn keep(&self, wanted: &Wanted, bytes: &Bytes, file_byte_len: u64) {
        let now = self.store.version(&wanted.path);
        let is_same = wanted.version.is_none_or(|before| now == Some(before));
        if !is_same {
            self.cache.versions().replaced(&wanted.address);
        }
        let is_known = now.is_some() || self.is_final_still(&wanted.path, &wanted.address);
        if is_same && is_known && wanted.part.byte_len() > 0 {
            let entry = CacheEntry { version: now, file_byte_len, bytes: bytes.clone() };
            self.cache.keep(&self.cache.name(&wanted.address, wanted.part), &entry);
        }
    }

    /// What seems to be in the folder is read when it is waited for; what then is not there after all is asked of the store.
    fn early(&self, request: &Request, wanted: Wanted) -> std::result::Result<Pending, Wanted> {
        if !self.may_be_there(&wanted) {
            return Err(wanted);
        }
        let (cached, request) = (self.clone(), request.clone());
        Ok(Pending::new(move || {
            if let Some(found) = cached.find(&wanted) {
                return Ok(wanted.part.answer(found));
            }
            let answer = request.ask(&*cached.store)?;
            cached.keep_answer(&wanted, &answer);
            Ok(answer)
        }))
    }
}

impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedStore").field("store", &self.store).field("cache", &self.cache).finish()
    }
}

impl Store for CachedStore {
    forward_store!(self => self.store;
        list, byte_len, has_file, has_waited, will_need, is_distant, put, put_batch, create, sync_folder, create_folder,
        address, list_recursive, list_names, is_long, leftovers, unfinished_uploads, abort_upload, lease, last_change_ms, coalescing);

    fn version(&self, path: &str) -> Option<FileVersion> {
        self.store.version(path).or_else(|| self.cache.versions().of(&self.store.address(path)))
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        through::read_into(self, reads)
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        through::read_tail(self, path, byte_len)
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        through::read_tails(self, folder, paths, byte_len)
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        through::submit(self, requests)
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        self.changes([path]);
        self.store.replace(path, parts)
    }

    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()> {
        self.changes(tree.files.iter().map(|NewFile { path, .. }| join(root, path)));
        self.store.create_tree(root, tree)
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        self.changes(paths);
        self.store.delete_files(paths)
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        folders.iter().for_each(|folder| self.distrust_names_in(folder));
        self.store.delete_folders(folders)
    }

    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        self.distrust_names_in(from);
        self.distrust_names_in(to);
        self.store.move_folder(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteRange, DistantStore, Entry, MemoryStore, MeteredStore, Traffic};
    use std::path::Path;

    /// A store that knows versions of those files only about which it was asked, as one of objects does.
    #[derive(Debug)]
    struct Asked {
        store: Arc<dyn Store>,
        versions: crate::Versions,
    }

    impl Asked {
        fn told(&self, path: &str) {
            let Some(version) = self.store.version(path) else { return };
            let tag = format!("{version:?}");
            let told = crate::Told { entity_tag: Some(&tag), byte_len: 0, modified_s: None };
            self.versions.told(path, told);
        }
    }

    impl Store for Asked {
        forward_store!(self => self.store;
            byte_len, has_file, submit, has_waited, will_need, put, replace, put_batch, create, sync_folder, create_folder, create_tree,
            delete_files, delete_folders, move_folder, address, list_recursive, list_names, is_long, leftovers, lease,
            last_change_ms, coalescing, read_tails);

        fn version(&self, path: &str) -> Option<FileVersion> {
            self.versions.of(path)
        }

        fn is_distant(&self) -> bool {
            true
        }

        fn list(&self, folder: &str) -> Result<Vec<Entry>> {
            let entries = self.store.list(folder)?;
            entries.iter().for_each(|entry| self.told(&join(folder, &entry.name)));
            Ok(entries)
        }

        fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
            self.store.read_into(reads)?;
            reads.iter().for_each(|read| self.told(read.path));
            Ok(())
        }

        fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
            let tail = self.store.read_tail(path, byte_len)?;
            self.told(path);
            Ok(tail)
        }
    }

    /// What another process is: it shares the bucket and the folder, and knows nothing.
    struct Process {
        metered: Arc<MeteredStore<DistantStore>>,
        store: CachedStore,
        cache: Arc<DiskCache>,
    }

    impl Process {
        fn new(bucket: &MemoryStore, folder: &Path) -> Process {
            let asked = Asked { store: Arc::new(bucket.clone()), versions: crate::Versions::new() };
            let metered = Arc::new(MeteredStore::new(DistantStore::new(Arc::new(asked))));
            let cache = Arc::new(DiskCache::new(folder, 1 << 20, "test"));
            let store =
                CachedStore::new(metered.clone(), Arc::clone(&cache), |path| path.starts_with("final/"));
            Process { metered, store, cache }
        }

        /// The first bytes and the last ones of a file, in every way that there is to ask for them.
        fn read(&self, path: &str) -> Vec<u8> {
            let range = ByteRange { start: 0, byte_len: 3 };
            let mut answers = self.store.submit(vec![
                Request::Range { path: path.to_owned(), range },
                Request::Tail { path: path.to_owned(), byte_len: 2 },
            ]);
            let tail = answers.pop().unwrap().wait().unwrap().tail().unwrap();
            let bytes = answers.pop().unwrap().wait().unwrap().bytes().unwrap();
            let mut dest = [0; 3];
            self.store.read_into(&mut [ReadInto { path, offset: 0, dest: &mut dest }]).unwrap();
            assert_eq!(dest, *bytes);
            assert_eq!(self.store.read_tail(path, 2).unwrap(), tail);
            assert_eq!(self.store.read_tails("", &[path.to_owned()], 2).pop().unwrap().unwrap(), tail);
            [&bytes[..], &tail.bytes, tail.file_byte_len.to_string().as_bytes()].concat()
        }

        fn spent<T>(&self, work: impl FnOnce() -> T) -> (T, Traffic) {
            let before = self.metered.traffic();
            let done = work();
            (done, self.metered.traffic().since(&before))
        }
    }

    fn bucket() -> MemoryStore {
        let bucket = MemoryStore::new();
        for path in ["final/a", "listed/a"] {
            bucket.put(path, &[b"abcdefgh"]).unwrap();
        }
        bucket
    }

    #[test]
    fn another_process_asks_for_listings_alone() {
        let folder = tempfile::tempdir().unwrap();
        let bucket = bucket();
        let read = |process: &Process| {
            assert_eq!(process.store.list("listed").unwrap().len(), 1);
            [process.read("final/a"), process.read("listed/a")]
        };
        let (first, traffic) =
            Process::new(&bucket, folder.path()).pipe(|process| process.spent(|| read(process)));
        assert_eq!((traffic.list_count, traffic.read_count), (1, 4), "each part of each file once");
        let (second, traffic) =
            Process::new(&bucket, folder.path()).pipe(|process| process.spent(|| read(process)));
        assert_eq!(second, first);
        assert_eq!((traffic.list_count, traffic.read_count, traffic.round_count), (1, 0, 1), "{traffic:?}");
    }

    #[test]
    fn what_no_listing_tells_of_is_asked_for_unless_its_name_is_final() {
        let folder = tempfile::tempdir().unwrap();
        let bucket = bucket();
        let first = Process::new(&bucket, folder.path());
        first.read("listed/a");
        bucket.replace("listed/a", &[b"ABCDEFGHI"]).unwrap();
        let second = Process::new(&bucket, folder.path());
        assert_eq!(second.read("listed/a"), b"ABCHI9");
    }

    #[test]
    fn a_file_that_another_process_replaced_is_another_as_soon_as_an_answer_tells() {
        let folder = tempfile::tempdir().unwrap();
        let bucket = bucket();
        let [first, second] = [(); 2].map(|()| Process::new(&bucket, folder.path()));
        assert_eq!(first.read("listed/a"), b"abcgh8");
        second.store.list("listed").unwrap();
        assert_eq!(second.read("listed/a"), b"abcgh8");
        bucket.replace("listed/a", &[b"ABCDEFGHI"]).unwrap();
        for process in [&first, &second] {
            process.store.list("listed").unwrap();
            assert_eq!(process.read("listed/a"), b"ABCHI9");
        }
        // What is there of old versions is no help to those who know of the new one.
        let third = Process::new(&bucket, folder.path());
        third.store.list("listed").unwrap();
        assert_eq!(third.read("listed/a"), b"ABCHI9");
    }

    #[test]
    fn a_part_of_another_version_is_not_put_beside_a_part_that_was_taken_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let bucket = bucket();
        let part = |process: &Process, start| {
            let range = ByteRange { start, byte_len: 2 };
            let request = Request::Range { path: "final/a".to_owned(), range };
            process.store.submit(vec![request]).pop().unwrap().wait().unwrap().bytes().unwrap()
        };
        let first = Process::new(&bucket, folder.path());
        part(&first, 0);
        bucket.replace("final/a", &[b"ABCDEFGH"]).unwrap();
        let second = Process::new(&bucket, folder.path());
        part(&second, 2);
        // The folder has bytes 0 and 1 of the old content, and 2 and 3 of the new one.
        let third = Process::new(&bucket, folder.path());
        part(&third, 0);
        assert_eq!(part(&third, 2), "CD");
        assert_eq!(part(&third, 0), "AB");
    }

    #[test]
    fn what_a_process_changes_it_does_not_know_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let changes: [fn(&CachedStore); 4] = [
            |store| store.replace("final/a", &[b"ABCDEFGHI"]).unwrap(),
            |store| {
                store.delete_files(&["final/a"]).unwrap();
                store.put("final/a", &[b"ABCDEFGHI"]).unwrap();
            },
            |store| {
                store.delete_folders(&["final"]).unwrap();
                store.put("final/a", &[b"ABCDEFGHI"]).unwrap();
            },
            |store| {
                store.put("other/a", &[b"ABCDEFGHI"]).unwrap();
                store.delete_folders(&["final"]).unwrap();
                store.move_folder("other", "final").unwrap();
            },
        ];
        for change in changes {
            let bucket = bucket();
            let process = Process::new(&bucket, folder.path());
            Process::new(&bucket, folder.path()).read("final/a");
            change(&process.store);
            assert_eq!(process.read("final/a"), b"ABCHI9");
        }
    }

    #[test]
    fn names_in_a_folder_that_was_repaired_are_not_enough() {
        let folder = tempfile::tempdir().unwrap();
        let bucket = bucket();
        Process::new(&bucket, folder.path()).read("final/a");
        bucket.replace("final/a", &[b"ABCDEFGHI"]).unwrap();
        let process = Process::new(&bucket, folder.path());
        process.store.distrust_names_in("fin");
        assert_eq!(process.read("final/a"), b"abcgh8", "it is another folder");
        let process = Process::new(&bucket, folder.path());
        process.store.distrust_names_in("final");
        assert_eq!(process.read("final/a"), b"ABCHI9");
    }

    #[test]
    fn a_damaged_entry_is_asked_for_again() {
        let folder = tempfile::tempdir().unwrap();
        let bucket = bucket();
        Process::new(&bucket, folder.path()).read("final/a");
        for below in std::fs::read_dir(folder.path()).unwrap() {
            for file in std::fs::read_dir(below.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let mut bytes = std::fs::read(&path).unwrap();
                *bytes.last_mut().unwrap() ^= 1;
                std::fs::write(&path, bytes).unwrap();
            }
        }
        let process = Process::new(&bucket, folder.path());
        let (read, traffic) = process.spent(|| process.read("final/a"));
        assert_eq!((read.as_slice(), traffic.read_count), (b"abcgh8".as_slice(), 2));
        assert_eq!(process.cache.take_trouble(), None);
    }

    trait Pipe: Sized {
        fn pipe<T>(self, work: impl FnOnce(&Self) -> T) -> T {
            work(&self)
        }
    }

    impl Pipe for Process {}
}
