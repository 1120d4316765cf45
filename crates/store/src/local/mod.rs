//! The store on a local file system, and its write protocol.

mod by_name;
mod disk;
mod handles;
mod os;
mod protocol;
mod staging;
mod tree;
mod waits;

pub use disk::{Disk, DiskEntry};
pub(crate) use handles::Handles;
pub use os::OsDisk;
pub use staging::LEFTOVER_PREFIX;

use self::by_name::sorted_by_name;
use crate::ext::{ends_early, grow, zeroed};
use crate::path::{check_folder, check_move, check_path};
use crate::{
    ByteRange, Claim, Coalescing, Entry, EntryKind, FileVersion, FileWriter, Lease, Leftover, NewFile,
    NewTree, ReadInto, Store, SyncLevel, Tail,
};
use bytes::Bytes;
use rayon::prelude::*;
use smalti_types::parallel::Shareable as _;
use smalti_types::{Error, ErrorKind, Result};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A store in a folder of a local file system.
///
/// Nothing becomes visible under its name before it is whole and durable: a file is written under a temporary name,
/// synced, renamed without replacing, and its folder is synced. Temporary names begin with `.smalti-tmp-` and lie in
/// the folder of the file, or one above where libtiledb would stumble over them. The files of a fragment that no
/// commit names yet ([`Store::put_batch`]) are written in place. Whole arrays are built beside their place and renamed.
///
/// Writes and deletions never follow symbolic links below the root; reads do. The root is best the folder that
/// holds the array, so that creating and deleting the array is one rename; [`Stores::open`](crate::Stores::open) does that.
#[derive(Debug)]
pub struct LocalStore<D: Disk = OsDisk> {
    disk: Arc<D>,
    sync: SyncLevel,
}

impl LocalStore {
    /// The store in a folder. Nothing is touched yet; the folder comes into being with the first write.
    ///
    /// # Errors
    /// `Io` when the path is relative and the working directory is gone.
    pub fn new(root: impl AsRef<Path>, sync: SyncLevel) -> Result<Self> {
        Ok(LocalStore::on(OsDisk::new(root)?, sync))
    }

    /// As [`new`](LocalStore::new), with the open files of other stores.
    pub(crate) fn sharing(root: impl AsRef<Path>, sync: SyncLevel, handles: Handles) -> Result<Self> {
        Ok(LocalStore::on(OsDisk::sharing(root, handles)?, sync))
    }
}

impl<D: Disk> LocalStore<D> {
    /// The write protocol over any disk.
    pub fn on(disk: D, sync: SyncLevel) -> Self {
        LocalStore { disk: Arc::new(disk), sync }
    }

    /// The disk below.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    fn open(&self, path: &str, reuse: bool) -> Result<D::Reader> {
        check_path(path)?;
        self.disk.open(Path::new(path), reuse).map_err(|error| self.failed(error, path))
    }

    /// Turns an error of the disk into ours, naming the path.
    fn failed(&self, error: io::Error, path: impl AsRef<Path>) -> Error {
        failed(&*self.disk, error, path.as_ref())
    }

    /// A listing, empty where there is no such folder.
    fn unless_absent<T>(&self, listing: io::Result<Vec<T>>, folder: &str) -> Result<Vec<T>> {
        match listing {
            Err(error) if protocol::is_absent(&error) => Ok(Vec::new()),
            listing => listing.map_err(|error| self.failed(error, folder)),
        }
    }

    /// Reads all of `dest`; `path` is asked for errors alone.
    fn read_piece<P: AsRef<str>>(
        &self,
        reader: &D::Reader,
        path: impl FnOnce() -> P,
        offset: u64,
        dest: &mut [u8],
    ) -> Result<()> {
        self.disk.read_exact_at(reader, dest, offset).map_err(|error| {
            let (range, path) = (ByteRange { start: offset, byte_len: dest.len() as u64 }, path());
            let path = path.as_ref();
            match self.disk.byte_len(reader) {
                Ok(file_byte_len) if range.end() > file_byte_len => {
                    ends_early(range, file_byte_len).at_uri(self.address(path))
                }
                _ => self.failed(error, path),
            }
        })
    }
}

/// Turns an error of a disk into ours, naming the path.
fn failed<D: Disk>(disk: &D, error: io::Error, path: &Path) -> Error {
    let address = disk.address(path);
    let ours = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::not_found("no such file or folder"),
        io::ErrorKind::AlreadyExists => Error::new(ErrorKind::AlreadyExists, "something of that name exists"),
        io::ErrorKind::Unsupported => Error::unsupported(error.to_string()),
        io::ErrorKind::IsADirectory => Error::invalid("it is a folder, not a file"),
        io::ErrorKind::InvalidFilename => Error::invalid(error.to_string()),
        _ => error.into(),
    };
    ours.at_uri(address)
}

/// What a file is expected to have of which the end is wanted together with those of others.
const EXPECTED_TAIL_BYTE_LEN: usize = 8 << 10;
/// How many ends of files a disk that has waited is told of before the first of them is read.
const TAILS_AHEAD: usize = 32;
/// Batches below this size are read by the calling thread: waking others costs more than copying so much.
const PARALLEL_BYTE_LEN: usize = 1 << 20;
/// Long reads are cut into pieces of this size for several threads.
const PIECE_BYTE_LEN: usize = 4 << 20;

impl<D: Disk> Store for LocalStore<D> {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        check_folder(folder)?;
        let mut entries = self.unless_absent(self.disk.entries(Path::new(folder)), folder)?;
        entries.retain(|entry| !staging::is_leftover(&entry.name));
        Ok(sorted_by_name(entries, |entry| &entry.name))
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        check_folder(folder)?;
        let mut names = self.unless_absent(self.disk.names(Path::new(folder)), folder)?;
        names.retain(|name| !staging::is_leftover(name));
        Ok(sorted_by_name(names, |name| name))
    }

    fn is_long(&self, folder: &str) -> bool {
        check_folder(folder).is_ok() && self.disk.is_long(Path::new(folder))
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        let reader = self.open(path, false)?;
        self.disk.byte_len(&reader).map_err(|error| self.failed(error, path))
    }

    fn version(&self, path: &str) -> Option<FileVersion> {
        let reader = self.open(path, true).ok()?;
        self.disk.version(&reader)
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        let total = reads.iter().fold(0_usize, |sum, read| sum.saturating_add(read.dest.len()));
        let mut opened: Option<(&str, D::Reader)> = None;
        let mut pieces = Vec::new();
        let in_parallel = total >= PARALLEL_BYTE_LEN && self.disk.reads_in_parallel();
        for read in reads {
            let reader = match &opened {
                Some((path, reader)) if *path == read.path => reader.clone(),
                _ => self.open(read.path, true)?,
            };
            opened = Some((read.path, reader.clone()));
            if !in_parallel {
                self.read_piece(&reader, || read.path, read.offset, read.dest)?;
                continue;
            }
            let mut offset = read.offset;
            for dest in read.dest.chunks_mut(PIECE_BYTE_LEN) {
                let byte_len = dest.len() as u64;
                pieces.push((reader.clone(), read.path, offset, dest));
                offset = offset.saturating_add(byte_len);
            }
        }
        pieces
            .into_par_iter()
            .shared()
            .try_for_each(|(reader, path, offset, dest)| self.read_piece(&reader, || path, offset, dest))
    }

    fn has_waited(&self) -> bool {
        self.disk.has_waited()
    }

    fn will_need(&self, path: &str, ranges: &[ByteRange]) {
        if let Ok(reader) = self.open(path, true) {
            ranges.iter().for_each(|&range| self.disk.will_need(&reader, range));
        }
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        let reader = self.open(path, false)?;
        let file_byte_len = self.disk.byte_len(&reader).map_err(|error| self.failed(error, path))?;
        let tail_byte_len = file_byte_len.min(byte_len);
        let mut tail = zeroed(tail_byte_len)?;
        self.read_piece(&reader, || path, file_byte_len - tail_byte_len, tail.as_mut_slice())?;
        Ok(Tail { file_byte_len, bytes: Bytes::from_owner(tail) })
    }

    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        let checked = check_folder(folder).and_then(|()| paths.iter().try_for_each(|path| check_path(path)));
        if let Err(error) = checked {
            return vec![Err(error); paths.len()];
        }
        // One piece of memory for all: small files are read quicker than memory is found for each.
        let mut bytes = Vec::with_capacity(
            paths.len() * usize::try_from(byte_len).unwrap_or(usize::MAX).min(EXPECTED_TAIL_BYTE_LEN),
        );
        let mut ends = Vec::with_capacity(paths.len());
        let (mut names, mut group) = (paths.iter(), Vec::new());
        let mut read_group = |group: &mut Vec<(&str, io::Result<D::Reader>)>| {
            if group.len() > 1 {
                let there = group.iter().filter_map(|(_, opened)| opened.as_ref().ok());
                for reader in there {
                    let file_byte_len = self.disk.byte_len(reader).unwrap_or_default();
                    let byte_len = file_byte_len.min(byte_len);
                    self.disk.will_need(reader, ByteRange { start: file_byte_len - byte_len, byte_len });
                }
            }
            for (path, opened) in group.drain(..) {
                let read = || -> Result<(u64, Range<usize>)> {
                    let whole_path = || crate::join(folder, path);
                    let reader = opened.map_err(|error| self.failed(error, whole_path()))?;
                    let file_byte_len =
                        self.disk.byte_len(&reader).map_err(|error| self.failed(error, whole_path()))?;
                    let start = bytes.len();
                    let tail_byte_len = file_byte_len.min(byte_len);
                    grow(&mut bytes, tail_byte_len)?;
                    #[expect(clippy::indexing_slicing, reason = "that was its length before it grew")]
                    let dest = &mut bytes[start..];
                    self.read_piece(&reader, whole_path, file_byte_len - tail_byte_len, dest)
                        .inspect_err(|_| bytes.truncate(start))?;
                    Ok((file_byte_len, start..bytes.len()))
                };
                ends.push(read());
            }
        };
        self.disk.open_each(Path::new(folder), paths, &mut |opened| {
            group.extend(names.next().map(|path| (path.as_str(), opened)));
            if group.len() >= TAILS_AHEAD || !self.disk.has_waited() {
                read_group(&mut group);
            }
        });
        read_group(&mut group);
        let bytes = Bytes::from(bytes);
        let tail = |(file_byte_len, range)| Tail { file_byte_len, bytes: bytes.slice(range) };
        ends.into_iter().map(|end| end.map(tail)).collect()
    }

    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        protocol::put(&self.disk, self.sync, Path::new(path), parts)
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        check_path(path)?;
        protocol::replace(&self.disk, self.sync, Path::new(path), parts)
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        files.iter().try_for_each(|file| check_path(file.path))?;
        protocol::put_batch(&*self.disk, self.sync, files)
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        check_path(path)?;
        Ok(Box::new(protocol::StagedFile::create(&self.disk, self.sync, Path::new(path))?))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        check_folder(folder)?;
        protocol::sync_folder(&*self.disk, self.sync, Path::new(folder))
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        check_folder(folder)?;
        protocol::create_folders(&*self.disk, self.sync, Path::new(folder))
    }

    fn create_tree(&self, root: &str, new: &NewTree<'_>) -> Result<()> {
        new.check(root)?;
        tree::create(&self.disk, self.sync, Path::new(root), new)
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        paths.iter().try_for_each(|path| check_path(path))?;
        protocol::delete_files(&*self.disk, self.sync, paths)
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        folders.iter().try_for_each(|folder| check_path(folder))?;
        tree::delete(&*self.disk, self.sync, folders)
    }

    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        check_move(from, to)?;
        tree::rename(&*self.disk, self.sync, Path::new(from), Path::new(to))
    }

    fn address(&self, path: &str) -> String {
        self.disk.address(Path::new(path))
    }

    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        check_folder(folder)?;
        let entries = self.unless_absent(self.disk.raw_entries(Path::new(folder)), folder)?;
        let mut leftovers: Vec<_> = entries
            .into_iter()
            .filter_map(|entry| {
                let name = entry.name.to_str().filter(|name| staging::is_leftover(name))?;
                Some(Leftover {
                    path: crate::join(folder, name),
                    kind: if entry.is_folder { EntryKind::Folder } else { EntryKind::File },
                    modified_ms: entry.modified_ms,
                })
            })
            .collect();
        leftovers.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(leftovers)
    }

    fn lease(&self, path: &str, claim: Claim) -> Result<Option<Lease>> {
        check_folder(path)?;
        self.disk.lease(Path::new(path), claim).map_err(|error| self.failed(error, path))
    }

    fn last_change_ms(&self, folder: &str) -> Result<Option<u64>> {
        check_folder(folder)?;
        let inside = self.unless_absent(self.disk.raw_entries(Path::new(folder)), folder)?;
        let (above, name) = crate::split(folder);
        let beside = self.unless_absent(self.disk.raw_entries(Path::new(above)), above)?;
        let itself = beside.into_iter().filter(|entry| !name.is_empty() && entry.name == *name);
        Ok(inside.into_iter().chain(itself).filter_map(|entry| entry.modified_ms).max())
    }

    /// A page cache answers small reads quickly: only a page of waste is cheaper than another call.
    fn coalescing(&self) -> Coalescing {
        Coalescing { max_gap_byte_len: 4 << 10, ..Coalescing::default() }
    }
}
