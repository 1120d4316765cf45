//! A store that shows another one with some files in other forms: repairs that nobody makes.

use bytes::Bytes;
use smalti_store::{
    Coalescing, Entry, EntryKind, FileVersion, FileWriter, NewFile, NewTree, ReadInto, Store, Tail, split,
};
use smalti_types::{AlignedBuf, Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Some bytes of a file that is put together.
#[derive(Debug, Clone)]
pub(super) enum Segment {
    /// Of a file of the store below.
    Of { path: String, start: u64, byte_len: u64 },
    /// In memory.
    Bytes(Bytes),
}

impl Segment {
    pub(super) fn byte_len(&self) -> u64 {
        match self {
            Segment::Of { byte_len, .. } => *byte_len,
            Segment::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

/// The store; it takes no writes.
#[derive(Debug, Clone)]
pub(super) struct Overlay {
    below: Arc<dyn Store>,
    hidden: BTreeSet<String>,
    files: BTreeMap<String, Vec<Segment>>,
}

impl Overlay {
    pub(super) fn new(below: Arc<dyn Store>) -> Self {
        Overlay { below, hidden: BTreeSet::new(), files: BTreeMap::new() }
    }

    /// Hides a file, or a folder with all it holds.
    pub(super) fn hide(&mut self, path: String) {
        self.files.remove(&path);
        self.hidden.insert(path);
    }

    /// Shows a file in the place of what is there.
    pub(super) fn show(&mut self, path: String, segments: Vec<Segment>) {
        self.hidden.remove(&path);
        self.files.insert(path, segments);
    }

    /// The segments of a part of a file, as it is shown.
    pub(super) fn part(&self, path: &str, start: u64, byte_len: u64) -> Vec<Segment> {
        let Some(segments) = self.files.get(path) else {
            return vec![Segment::Of { path: path.to_owned(), start, byte_len }];
        };
        let (mut part, mut at) = (Vec::new(), 0);
        let end = start.saturating_add(byte_len);
        for segment in segments {
            let (from, to) = (start.max(at), end.min(at + segment.byte_len()));
            if from < to {
                part.push(match segment {
                    Segment::Of { path, start, .. } => {
                        Segment::Of { path: path.clone(), start: start + (from - at), byte_len: to - from }
                    }
                    Segment::Bytes(bytes) => {
                        Segment::Bytes(bytes.slice((from - at) as usize..(to - at) as usize))
                    }
                });
            }
            at += segment.byte_len();
        }
        part
    }

    fn is_hidden(&self, path: &str) -> bool {
        let mut at = path;
        loop {
            if self.hidden.contains(at) {
                return true;
            }
            match at.rsplit_once('/') {
                Some((above, _)) => at = above,
                None => return false,
            }
        }
    }

    fn missing(&self, path: &str) -> Error {
        Error::not_found("no such file").at_uri(self.below.address(path))
    }

    fn read_only<T>(&self) -> Result<T> {
        Err(Error::unsupported("what is salvaged can be read alone; write to the array itself"))
    }
}

impl Store for Overlay {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        if self.is_hidden(folder) {
            return Ok(Vec::new());
        }
        let mut entries = self.below.list(folder)?;
        entries.retain(|entry| {
            let path = smalti_store::join(folder, &entry.name);
            !self.is_hidden(&path) && !self.files.contains_key(&path)
        });
        for (path, segments) in &self.files {
            let (above, name) = split(path);
            if above == folder {
                let byte_len = segments.iter().map(Segment::byte_len).sum();
                entries.push(Entry { name: name.to_owned(), kind: EntryKind::File, byte_len });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        match self.files.get(path) {
            Some(segments) => Ok(segments.iter().map(Segment::byte_len).sum()),
            None if self.is_hidden(path) => Err(self.missing(path)),
            None => self.below.byte_len(path),
        }
    }

    fn version(&self, path: &str) -> Option<FileVersion> {
        match self.files.contains_key(path) || self.is_hidden(path) {
            true => None,
            false => self.below.version(path),
        }
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        for read in reads {
            if !self.files.contains_key(read.path) {
                if self.is_hidden(read.path) {
                    return Err(self.missing(read.path));
                }
                let mut below = [ReadInto { path: read.path, offset: read.offset, dest: &mut *read.dest }];
                self.below.read_into(&mut below)?;
                continue;
            }
            let byte_len = read.dest.len() as u64;
            let mut at = 0;
            for segment in self.part(read.path, read.offset, byte_len) {
                let len = segment.byte_len() as usize;
                let dest = &mut read.dest[at..at + len];
                match &segment {
                    Segment::Of { path, start, .. } => {
                        self.below.read_into(&mut [ReadInto { path, offset: *start, dest }])?;
                    }
                    Segment::Bytes(bytes) => dest.copy_from_slice(bytes),
                }
                at += len;
            }
            if at < read.dest.len() {
                return Err(Error::corrupt("the file ends early").at_uri(self.below.address(read.path)));
            }
        }
        Ok(())
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        if !self.files.contains_key(path) {
            return if self.is_hidden(path) {
                Err(self.missing(path))
            } else {
                self.below.read_tail(path, byte_len)
            };
        }
        let file_byte_len = self.byte_len(path)?;
        let tail_byte_len = file_byte_len.min(byte_len);
        let mut tail = AlignedBuf::zeroed(usize::try_from(tail_byte_len).unwrap_or(usize::MAX))?;
        let offset = file_byte_len - tail_byte_len;
        self.read_into(&mut [ReadInto { path, offset, dest: tail.as_mut_slice() }])?;
        Ok(Tail { file_byte_len, bytes: Bytes::from_owner(tail) })
    }

    fn put(&self, _: &str, _: &[&[u8]]) -> Result<()> {
        self.read_only()
    }

    fn replace(&self, _: &str, _: &[&[u8]]) -> Result<()> {
        self.read_only()
    }

    fn put_batch(&self, _: &[NewFile<'_>]) -> Result<()> {
        self.read_only()
    }

    fn create(&self, _: &str) -> Result<Box<dyn FileWriter>> {
        self.read_only()
    }

    fn sync_folder(&self, _: &str) -> Result<()> {
        self.read_only()
    }

    fn create_folder(&self, _: &str) -> Result<()> {
        self.read_only()
    }

    fn create_tree(&self, _: &str, _: &NewTree<'_>) -> Result<()> {
        self.read_only()
    }

    fn delete_files(&self, _: &[&str]) -> Result<()> {
        self.read_only()
    }

    fn delete_folders(&self, _: &[&str]) -> Result<()> {
        self.read_only()
    }

    fn move_folder(&self, _: &str, _: &str) -> Result<()> {
        self.read_only()
    }

    fn address(&self, path: &str) -> String {
        self.below.address(path)
    }

    fn coalescing(&self) -> Coalescing {
        self.below.coalescing()
    }
}
