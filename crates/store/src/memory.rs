//! A store in memory, shaped like an object store: puts are atomic, nothing is ever renamed.

use crate::lease::Claims;
use crate::path::{check_folder, check_move, check_path, join, split};
use crate::{
    Claim, Coalescing, Entry, EntryKind, FileVersion, FileWriter, LEFTOVER_PREFIX, Lease, Leftover, NewFile,
    NewTree, ReadInto, Store, Tail,
};
use bytes::Bytes;
use smalti_types::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Files and folders in memory. Clones share them; they live as long as the last clone.
///
/// Folders exist by themselves, as on a disk: they outlive their files until they are deleted.
#[derive(Clone, Default)]
pub struct MemoryStore {
    content: Arc<RwLock<Content>>,
    claims: Claims,
}

#[derive(Default)]
struct Content {
    files: BTreeMap<String, File>,
    folders: BTreeSet<String>,
}

struct File {
    bytes: Bytes,
    /// Which of all that the process ever put into stores in memory: names come again.
    number: u64,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    /// A store that holds these files.
    ///
    /// # Errors
    /// `InvalidArgument` for an illegal path, `AlreadyExists` for one given twice.
    pub fn from_files<P: AsRef<str>, B: Into<Bytes>>(
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Result<Self> {
        let store = MemoryStore::new();
        for (path, bytes) in files {
            check_path(path.as_ref())?;
            store.insert(path.as_ref(), bytes.into())?;
        }
        Ok(store)
    }

    /// A copy of all files with their paths. Costs no copy of their bytes.
    pub fn files(&self) -> BTreeMap<String, Bytes> {
        self.read(|content| {
            content.files.iter().map(|(path, file)| (path.clone(), file.bytes.clone())).collect()
        })
    }

    fn read<T>(&self, look: impl FnOnce(&Content) -> T) -> T {
        // Changes are checked before they are made, so that a panic leaves no half of one.
        look(&self.content.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Content) -> T) -> T {
        change(&mut self.content.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn file(&self, path: &str) -> Result<Bytes> {
        check_path(path)?;
        self.read(|content| content.files.get(path).map(|file| file.bytes.clone()))
            .ok_or_else(|| Error::not_found("no such file").at_uri(self.address(path)))
    }

    /// All files and folders directly in a folder, sorted.
    fn entries(&self, folder: &str) -> Result<Vec<Entry>> {
        check_folder(folder)?;
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = self.read(|content| {
            let mut entries = Vec::new();
            let mut start = prefix.clone();
            // Folders hold every folder on the way to a file, so that files deeper down can be skipped.
            while let Some((path, file)) = content.files.range(start.clone()..).next() {
                let Some(name) = path.strip_prefix(&prefix) else { break };
                match name.split_once('/') {
                    Some((child, _)) => start = below(&join(folder, child)).1,
                    None => {
                        let byte_len = file.bytes.len() as u64;
                        entries.push(Entry { name: name.to_owned(), kind: EntryKind::File, byte_len });
                        start = format!("{path}\0");
                    }
                }
            }
            let mut start = prefix.clone();
            while let Some(path) = content.folders.range(start.clone()..).next() {
                let Some(name) = path.strip_prefix(&prefix) else { break };
                let child = name.split_once('/').map_or(name, |(child, _)| child);
                if child == name {
                    entries.push(Entry { name: name.to_owned(), kind: EntryKind::Folder, byte_len: 0 });
                    start = format!("{path}\0");
                } else {
                    start = below(&join(folder, child)).1;
                }
            }
            entries
        });
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn insert(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.change(|content| {
            content.check_free(path)?;
            content.add_folder(split(path).0);
            content.set(path.to_owned(), bytes);
            Ok(())
        })
        .map_err(|error: Error| error.at_uri(self.address(path)))
    }
}

impl Content {
    fn set(&mut self, path: String, bytes: Bytes) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.files.insert(path, File { bytes, number: NEXT.fetch_add(1, Ordering::Relaxed) });
    }

    fn check_free(&self, path: &str) -> Result<()> {
        if self.files.contains_key(path) || self.folders.contains(path) {
            return Err(exists_already("something of that name exists"));
        }
        self.check_folder_free(split(path).0)
    }

    /// Fails where a folder is not empty, or it, or one above it, is a file.
    fn check_tree_free(&self, root: &str) -> Result<()> {
        let (start, end) = below(root);
        let is_taken = self.files.range(start.clone()..end.clone()).next().is_some()
            || self.folders.range(start..end).next().is_some();
        if is_taken {
            return Err(exists_already("the folder exists and is not empty"));
        }
        self.check_folder_free(root)
    }

    /// Fails where a folder, or one above it, is a file.
    fn check_folder_free(&self, folder: &str) -> Result<()> {
        let mut folder = folder;
        while !folder.is_empty() {
            if self.files.contains_key(folder) {
                return Err(exists_already("a file has the name of the folder"));
            }
            folder = split(folder).0;
        }
        Ok(())
    }

    fn add_folder(&mut self, folder: &str) {
        let mut folder = folder;
        while !folder.is_empty() && self.folders.insert(folder.to_owned()) {
            folder = split(folder).0;
        }
    }
}

fn exists_already(message: &str) -> Error {
    Error::new(ErrorKind::AlreadyExists, message)
}

/// The keys of a sorted map that lie below a folder, as the range in which to search.
fn below(folder: &str) -> (String, String) {
    // `0` follows `/` in ASCII: everything below `a` lies between `a/` and `a0`.
    (format!("{folder}/"), format!("{folder}0"))
}

impl Store for MemoryStore {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        let mut entries = self.entries(folder)?;
        entries.retain(|entry| !entry.name.starts_with(LEFTOVER_PREFIX));
        Ok(entries)
    }

    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        let mut entries = self.entries(folder)?;
        entries.retain(|entry| entry.name.starts_with(LEFTOVER_PREFIX));
        let leftover =
            |entry: Entry| Leftover { path: join(folder, &entry.name), kind: entry.kind, modified_ms: None };
        Ok(entries.into_iter().map(leftover).collect())
    }
    fn byte_len(&self, path: &str) -> Result<u64> {
        Ok(self.file(path)?.len() as u64)
    }

    fn version(&self, path: &str) -> Option<FileVersion> {
        let file = self.read(|content| content.files.get(path).map(|file| (file.number, file.bytes.len())));
        file.map(|(number, byte_len)| FileVersion::new([number, byte_len as u64, 0, 0]))
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        for read in reads {
            let bytes = self.file(read.path)?;
            read.fill_from(&bytes).map_err(|error| error.at_uri(self.address(read.path)))?;
        }
        Ok(())
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        Ok(Tail::of(&self.file(path)?, byte_len))
    }

    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        self.insert(path, parts.concat().into())
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        self.change(|content| {
            if !content.files.contains_key(path) {
                content.check_free(path)?;
                content.add_folder(split(path).0);
            }
            content.set(path.to_owned(), parts.concat().into());
            Ok(())
        })
        .map_err(|error: Error| error.at_uri(self.address(path)))
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        files.iter().try_for_each(|file| check_path(file.path))?;
        for (idx, file) in files.iter().enumerate() {
            if let Err(error) = self.put(file.path, file.parts) {
                let done: Vec<_> = files.iter().take(idx).map(|file| file.path).collect();
                self.delete_files(&done)?;
                return Err(error);
            }
        }
        Ok(())
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        check_path(path)?;
        Ok(Box::new(MemoryWriter { store: self.clone(), path: path.to_owned(), bytes: Vec::new() }))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        check_folder(folder)
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        check_folder(folder)?;
        self.change(|content| {
            content.check_folder_free(folder)?;
            content.add_folder(folder);
            Ok(())
        })
        .map_err(|error: Error| error.at_uri(self.address(folder)))
    }

    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()> {
        tree.check(root)?;
        self.change(|content| {
            content.check_tree_free(root)?;
            content.add_folder(root);
            for folder in tree.folders {
                content.add_folder(&join(root, folder));
            }
            for file in tree.files {
                let path = join(root, file.path);
                content.add_folder(split(&path).0);
                content.set(path, file.joined());
            }
            Ok(())
        })
        .map_err(|error: Error| error.at_uri(self.address(root)))
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        paths.iter().try_for_each(|path| check_path(path))?;
        self.change(|content| {
            for path in paths {
                if content.folders.contains(*path) {
                    return Err(Error::invalid("it is a folder, not a file").at_uri(self.address(path)));
                }
                content.files.remove(*path);
            }
            Ok(())
        })
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        folders.iter().try_for_each(|folder| check_path(folder))?;
        self.change(|content| {
            for folder in folders {
                let (start, end) = below(folder);
                let files: Vec<_> =
                    content.files.range(start.clone()..end.clone()).map(|(path, _)| path.clone()).collect();
                for path in files {
                    content.files.remove(&path);
                }
                let folders: Vec<_> = content.folders.range(start..end).cloned().collect();
                for path in folders {
                    content.folders.remove(&path);
                }
                content.folders.remove(*folder);
            }
        });
        Ok(())
    }

    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        check_move(from, to)?;
        self.change(|content| {
            if !content.folders.contains(from) {
                return Err(Error::not_found("no such folder").at_uri(self.address(from)));
            }
            content.check_tree_free(to).map_err(|error| error.at_uri(self.address(to)))?;
            let renamed = |path: &str| path.strip_prefix(from).map(|below| format!("{to}{below}"));
            let (start, end) = below(from);
            let files: Vec<_> =
                content.files.range(start.clone()..end.clone()).map(|(path, _)| path.clone()).collect();
            for path in files {
                if let (Some(name), Some(file)) = (renamed(&path), content.files.remove(&path)) {
                    content.files.insert(name, file);
                }
            }
            let folders: Vec<_> = content.folders.range(start..end).cloned().collect();
            for path in folders {
                content.folders.remove(&path);
                content.folders.extend(renamed(&path));
            }
            content.folders.remove(from);
            content.add_folder(to);
            Ok(())
        })
    }

    fn address(&self, path: &str) -> String {
        format!("mem://{path}")
    }

    fn lease(&self, path: &str, claim: Claim) -> Result<Option<Lease>> {
        check_folder(path)?;
        Ok(self.claims.take(path, claim))
    }

    fn coalescing(&self) -> Coalescing {
        Coalescing { max_gap_byte_len: 64, ..Coalescing::default() }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file_count, byte_len) = self.read(|content| {
            (content.files.len(), content.files.values().map(|file| file.bytes.len()).sum::<usize>())
        });
        write!(f, "MemoryStore({file_count} files, {byte_len} bytes)")
    }
}

struct MemoryWriter {
    store: MemoryStore,
    path: String,
    bytes: Vec<u8>,
}

impl FileWriter for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.try_reserve(bytes.len()).map_err(|_| {
            Error::new(ErrorKind::OutOfMemory, format!("no memory for {} more bytes", bytes.len()))
                .at_uri(self.store.address(&self.path))
        })?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.store.insert(&self.path, self.bytes.into())
    }
}

impl fmt::Debug for MemoryWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryWriter({}, {} bytes)", self.path, self.bytes.len())
    }
}
