//! Metadata of a distant store that is asked for once in a program.

use crate::forward::forward_store;
use crate::{Answer, ByteRange, FileVersion, Pending, ReadInto, Request, Store, Tail, join};
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::unsync::Cache;
use smalti_types::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of files that do not change, up to a limit: those that are asked for again stay longest.
pub struct KeptBytes {
    kept: Mutex<Cache<Name, Kept, ByLen>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    address: String,
    version: FileVersion,
    part: Part,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Range(ByteRange),
    Tail(u64),
}

#[derive(Clone)]
struct Kept {
    bytes: Bytes,
    /// Of a tail.
    file_byte_len: u64,
}

#[derive(Clone)]
struct ByLen;

impl Weighter<Name, Kept> for ByLen {
    fn weight(&self, name: &Name, kept: &Kept) -> u64 {
        /// What the row itself takes, about.
        const ROW_BYTE_LEN: usize = 160;
        (name.address.len() + kept.bytes.len() + ROW_BYTE_LEN) as u64
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

    fn kept(&self) -> MutexGuard<'_, Cache<Name, Kept, ByLen>> {
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
#[derive(Debug)]
pub struct KeptStore {
    store: Arc<dyn Store>,
    kept: Arc<KeptBytes>,
}

impl KeptStore {
    /// The store, with what is kept of others too.
    pub fn new(store: Arc<dyn Store>, kept: Arc<KeptBytes>) -> Self {
        KeptStore { store, kept }
    }

    fn wanted(&self, path: &str, part: Part) -> Wanted {
        Wanted { path: path.to_owned(), part, version: self.store.version(path) }
    }

    fn find(&self, wanted: &Wanted) -> Option<Kept> {
        let version = wanted.version?;
        let name = Name { address: self.store.address(&wanted.path), version, part: wanted.part };
        self.kept.kept().get(&name).cloned()
    }

    /// Keeps what was read, under the version that the file has now, unless it had another one before.
    fn keep(&self, wanted: Wanted, bytes: Bytes, file_byte_len: u64) {
        let version = self.store.version(&wanted.path);
        if let Some(version) = version.filter(|now| wanted.version.is_none_or(|before| before == *now)) {
            let name = Name { address: self.store.address(&wanted.path), version, part: wanted.part };
            self.kept.kept().insert(name, Kept { bytes, file_byte_len });
        }
    }
}

/// A part of a file that is not there yet.
struct Wanted {
    path: String,
    part: Part,
    /// As far as it was known before anybody asked.
    version: Option<FileVersion>,
}

impl Part {
    fn of(request: &Request) -> Option<(&str, Part)> {
        match request {
            Request::Range { path, range } => Some((path, Part::Range(*range))),
            Request::Tail { path, byte_len } => Some((path, Part::Tail(*byte_len))),
            Request::List { .. } | Request::Lists { .. } | Request::Page { .. } => None,
        }
    }

    fn answer(self, kept: Kept) -> Answer {
        match self {
            Part::Range(_) => Answer::Bytes(kept.bytes),
            Part::Tail(_) => Answer::Tail(Tail { file_byte_len: kept.file_byte_len, bytes: kept.bytes }),
        }
    }
}

impl Store for KeptStore {
    forward_store!(self => self.store;
        list, byte_len, has_file, version, has_waited, will_need, is_distant, put, replace, put_batch, create, sync_folder, create_folder, create_tree,
        delete_files, delete_folders, move_folder, address, list_recursive, list_names, is_long, leftovers, unfinished_uploads, abort_upload, lease,
        last_change_ms, coalescing);

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        let mut missing = Vec::new();
        for read in reads {
            let range = ByteRange { start: read.offset, byte_len: read.dest.len() as u64 };
            let wanted = self.wanted(read.path, Part::Range(range));
            match self.find(&wanted) {
                Some(kept) if kept.bytes.len() == read.dest.len() => read.dest.copy_from_slice(&kept.bytes),
                _ => missing.push((wanted, read)),
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let asked = missing.iter_mut().map(|(_, read)| ReadInto {
            path: read.path,
            offset: read.offset,
            dest: &mut *read.dest,
        });
        self.store.read_into(&mut asked.collect::<Vec<_>>())?;
        for (wanted, read) in missing {
            self.keep(wanted, Bytes::copy_from_slice(read.dest), 0);
        }
        Ok(())
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        let wanted = self.wanted(path, Part::Tail(byte_len));
        if let Some(Kept { bytes, file_byte_len }) = self.find(&wanted) {
            return Ok(Tail { file_byte_len, bytes });
        }
        let tail = self.store.read_tail(path, byte_len)?;
        self.keep(wanted, tail.bytes.clone(), tail.file_byte_len);
        Ok(tail)
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        let requests = paths.iter().map(|path| Request::Tail { path: join(folder, path), byte_len });
        let pending = self.submit(requests.collect());
        pending.into_iter().map(|pending| pending.wait().and_then(Answer::tail)).collect()
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        let mut answers: Vec<Option<Pending>> = Vec::with_capacity(requests.len());
        let (mut asked, mut missing) = (Vec::new(), Vec::new());
        for request in requests {
            let wanted = Part::of(&request).map(|(path, part)| self.wanted(path, part));
            let known = wanted.as_ref().and_then(|wanted| Some(wanted.part.answer(self.find(wanted)?)));
            if known.is_none() {
                asked.push(request);
                missing.push(wanted);
            }
            answers.push(known.map(|answer| Pending::ready(Ok(answer))));
        }
        let mut pending = match asked.is_empty() {
            true => Vec::new(),
            false => self.store.submit(asked),
        }
        .into_iter()
        .zip(missing)
        .map(|(pending, wanted)| {
            let kept = KeptStore { store: Arc::clone(&self.store), kept: Arc::clone(&self.kept) };
            Pending::new(move || {
                let answer = pending.wait()?;
                match (&answer, wanted) {
                    (Answer::Bytes(bytes), Some(wanted)) => kept.keep(wanted, bytes.clone(), 0),
                    (Answer::Tail(tail), Some(wanted)) => {
                        kept.keep(wanted, tail.bytes.clone(), tail.file_byte_len);
                    }
                    _ => {}
                }
                Ok(answer)
            })
        });
        let lost = || Pending::ready(Err(Error::new(ErrorKind::Io, "an answer was lost")));
        answers.into_iter().map(|answer| answer.or_else(|| pending.next()).unwrap_or_else(lost)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DistantStore, MemoryStore, MeteredStore};

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
