//! Metadata of a distant store that is asked for once in a program.

use crate::forward::forward_store;
use crate::through::{self, Found, Part, Through};
use crate::{FileVersion, Pending, ReadInto, Request, Store, Tail};
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::unsync::Cache;
use smalti_types::Result;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of files that do not change, up to a limit: those that are asked for again stay longest.
pub struct KeptBytes {
    kept: Mutex<Cache<Name, Found, ByLen>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    address: String,
    version: FileVersion,
    part: Part,
}

#[derive(Clone)]
struct ByLen;

impl Weighter<Name, Found> for ByLen {
    fn weight(&self, name: &Name, found: &Found) -> u64 {
        /// What the row itself takes, about.
        const ROW_BYTE_LEN: usize = 160;
        (name.address.len() + found.bytes.len() + ROW_BYTE_LEN) as u64
    }
}

impl KeptBytes {
    /// Room for so many bytes.
    pub fn new(byte_len: u64) -> Self {
        /// What a file of metadata is thought to have, to make room for the names.
        const TYPICAL_BYTE_LEN: u64 = 8 << 10;
        let expected = usize::try_from(byte_len / TYPICAL_BYTE_LEN).unwrap_or(usize::MAX).clamp(16, 1 << 16);
        KeptBytes { kept: Mutex::new(Cache::with_weighter(expected, byte_len, ByLen)) }
    }

    fn kept(&self) -> MutexGuard<'_, Cache<Name, Found, ByLen>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that it holds.
    pub fn byte_len(&self) -> u64 {
        self.kept().weight()
    }

    /// Lets everything go.
    pub fn clear(&self) {
        self.kept().clear();
    }
}

impl fmt::Debug for KeptBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptBytes").field("byte_len", &self.byte_len()).finish()
    }
}

/// A store whose files are asked for once: what was read stays, by the files' [versions](Store::version). For metadata of distant stores; files without
/// a version, and listings, are asked for each time.
///
/// A store of objects knows the version of a file when it has answered the first request for it: what was read is kept under the version that the file
/// has then, unless it had another one before.
#[derive(Debug, Clone)]
pub struct KeptStore {
    store: Arc<dyn Store>,
    kept: Arc<KeptBytes>,
}

impl KeptStore {
    /// The store, with what is kept of others too.
    pub fn new(store: Arc<dyn Store>, kept: Arc<KeptBytes>) -> Self {
        KeptStore { store, kept }
    }
}

/// A part of a file that is not there yet.
pub(crate) struct Wanted {
    path: String,
    part: Part,
    /// As far as it was known before anybody asked.
    version: Option<FileVersion>,
}

impl Through for KeptStore {
    type Wanted = Wanted;

    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn wanted(&self, path: &str, part: Part) -> Wanted {
        Wanted { path: path.to_owned(), part, version: self.store.version(path) }
    }

    fn find(&self, wanted: &Wanted) -> Option<Found> {
        let version = wanted.version?;
        let name = Name { address: self.store.address(&wanted.path), version, part: wanted.part };
        self.kept.kept().get(&name).cloned()
    }

    /// Keeps what was read, under the version that the file has now, unless it had another one before.
    fn keep(&self, wanted: &Wanted, bytes: &Bytes, file_byte_len: u64) {
        let version = self.store.version(&wanted.path);
        if let Some(version) = version.filter(|now| wanted.version.is_none_or(|before| before == *now)) {
            let name = Name { address: self.store.address(&wanted.path), version, part: wanted.part };
            self.kept.kept().insert(name, Found { bytes: bytes.clone(), file_byte_len });
        }
    }

    fn early(&self, _: &Request, wanted: Wanted) -> std::result::Result<Pending, Wanted> {
        match self.find(&wanted) {
            Some(found) => Ok(Pending::ready(Ok(wanted.part.answer(found)))),
            None => Err(wanted),
        }
    }
}

impl Store for KeptStore {
    forward_store!(self => self.store;
        list, byte_len, has_file, version, has_waited, will_need, is_distant, put, replace, put_batch, create, sync_folder, create_folder, create_tree,
        delete_files, delete_folders, move_folder, address, list_recursive, list_names, is_long, leftovers, unfinished_uploads, abort_upload, lease,
        last_change_ms, coalescing);

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, ByteRange, DistantStore, MemoryStore, MeteredStore};

    #[test]
    fn what_was_read_is_not_asked_for_again_until_the_file_is_another() {
        let below = MemoryStore::new();
        below.put("a", &[b"0123456789"]).unwrap();
        let metered = Arc::new(MeteredStore::new(DistantStore::new(Arc::new(below.clone()))));
        let kept = Arc::new(KeptBytes::new(1 << 20));
        let read = |store: &KeptStore| {
            let tail = store.read_tail("a", 3).unwrap();
            let (path, range) = ("a".to_owned(), ByteRange { start: 2, byte_len: 2 });
            let answers = store.submit(vec![
                Request::Range { path: path.clone(), range },
                Request::Tail { path, byte_len: 3 },
                Request::List { folder: String::new() },
            ]);
            let mut answers = answers.into_iter().map(|answer| answer.wait().unwrap());
            let mut dest = [0; 2];
            store.read_into(&mut [ReadInto { path: "a", offset: 2, dest: &mut dest }]).unwrap();
            assert_eq!(answers.next(), Some(Answer::Bytes(Bytes::copy_from_slice(&dest))));
            assert_eq!(answers.next(), Some(Answer::Tail(tail.clone())));
            assert_eq!(answers.next().unwrap().entries().unwrap().len(), 1);
            assert_eq!(store.read_tails("", &["a".into(), "b".into()], 3).len(), 2);
            (tail.file_byte_len, [&dest[..], &tail.bytes].concat())
        };
        let before = metered.traffic();
        assert_eq!(read(&KeptStore::new(metered.clone(), kept.clone())), (10, b"23789".to_vec()));
        let first = metered.traffic().since(&before);
        assert_eq!(read(&KeptStore::new(metered.clone(), kept.clone())), (10, b"23789".to_vec()));
        let both = metered.traffic().since(&before);
        assert_eq!(both.read_byte_len, first.read_byte_len, "only the listing, and what is not there");
        below.replace("a", &[b"abcdefghij"]).unwrap();
        assert_eq!(read(&KeptStore::new(metered.clone(), kept.clone())), (10, b"cdhij".to_vec()));
        assert!(kept.byte_len() > 0);
        kept.clear();
        assert_eq!(kept.byte_len(), 0);
    }
}
