//! The write protocol for files: temporary name, sync, rename without replacing, sync of the folder.

use super::{Disk, failed, staging};
use crate::{ByteRange, FileWriter, NewFile, SyncLevel};
use smalti_types::{Error, Result};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a caller must know when a step failed after which the file may be there or not.
pub(super) use crate::store::UNKNOWN_EFFECT;

pub(super) fn put<D: Disk>(disk: &Arc<D>, sync: SyncLevel, path: &Path, parts: &[&[u8]]) -> Result<()> {
    put_by(disk, sync, path, parts, D::rename_file)
}

/// As [`put`], in the place of a file that has the name.
pub(super) fn replace<D: Disk>(disk: &Arc<D>, sync: SyncLevel, path: &Path, parts: &[&[u8]]) -> Result<()> {
    put_by(disk, sync, path, parts, D::replace_file)
}

/// How a file under its temporary name gets its own.
type Rename<D> = fn(&D, &Path, &Path) -> io::Result<()>;

fn put_by<D: Disk>(
    disk: &Arc<D>,
    sync: SyncLevel,
    path: &Path,
    parts: &[&[u8]],
    rename: Rename<D>,
) -> Result<()> {
    let mut file = StagedFile::create(disk, sync, path)?;
    parts.iter().try_for_each(|part| file.append(part))?;
    file.publish(rename)?;
    sync_folder(&**disk, sync, folder_of(path)).map_err(|error| error.context(UNKNOWN_EFFECT))
}

/// A file that is written under a temporary name.
#[derive(Debug)]
pub(super) struct StagedFile<D: Disk> {
    disk: Arc<D>,
    sync: SyncLevel,
    target: PathBuf,
    staged: PathBuf,
    /// Absent once it is closed.
    writer: Option<D::Writer>,
    /// Bytes not yet handed to the disk.
    buffer: Vec<u8>,
    byte_len: u64,
    /// The bytes that the disk was handed, and those of which it was told that they will have to be durable.
    handed: u64,
    announced: u64,
    is_published: bool,
}

/// Small pieces are gathered up to this size: a call for each would cost more than copying.
const BUFFER_BYTE_LEN: usize = 128 << 10;

/// A file that has to be durable is written to the disk from so many bytes on, while the next ones are made: the sync at the end finds few.
const ANNOUNCED_BYTE_LEN: u64 = 1 << 20;

impl<D: Disk> StagedFile<D> {
    pub(super) fn create(disk: &Arc<D>, sync: SyncLevel, target: &Path) -> Result<Self> {
        create_folders(&**disk, sync, folder_of(target))?;
        let staged = disk.unique().map(|unique| staging::staged_path(target, unique));
        let staged = staged.map_err(|error| failed(&**disk, error, target))?;
        let writer = disk.create_file(&staged).map_err(|error| match error.kind() {
            // Not the caller's name: it must not read as if the target existed.
            io::ErrorKind::AlreadyExists => failed(&**disk, io::Error::other(error.to_string()), &staged),
            _ => failed(&**disk, error, &staged),
        })?;
        Ok(StagedFile {
            disk: Arc::clone(disk),
            sync,
            target: target.to_owned(),
            staged,
            writer: Some(writer),
            buffer: Vec::new(),
            byte_len: 0,
            handed: 0,
            announced: 0,
            is_published: false,
        })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.byte_len += bytes.len() as u64;
        if self.buffer.len() + bytes.len() > BUFFER_BYTE_LEN {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_BYTE_LEN {
            return self.append_now(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        self.append_now(&buffer)?;
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn append_now(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Err(Error::invalid("the file is closed after a failed write"));
        };
        let result = self.disk.append(writer, bytes);
        if result.is_err() {
            // What is on disk is unknown now: nothing may follow.
            self.writer = None;
        }
        result.map_err(|error| failed(&*self.disk, error, &self.target))?;
        self.handed += bytes.len() as u64;
        let byte_len = self.handed - self.announced;
        if self.sync != SyncLevel::None && byte_len >= ANNOUNCED_BYTE_LEN {
            if let Some(writer) = &self.writer {
                self.disk.will_sync(writer, ByteRange { start: self.announced, byte_len });
            }
            self.announced = self.handed;
        }
        Ok(())
    }

    /// Makes the content durable and names the file; its name is durable after a sync of the folder.
    fn publish(&mut self, rename: Rename<D>) -> Result<()> {
        self.flush()?;
        let Some(mut writer) = self.writer.take() else {
            return Err(Error::invalid("the file is closed after a failed write"));
        };
        if self.sync != SyncLevel::None {
            self.disk.sync_file(&mut writer).map_err(|error| failed(&*self.disk, error, &self.target))?;
        }
        drop(writer);
        match rename(&self.disk, &self.staged, &self.target) {
            Ok(()) => {
                self.is_published = true;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(failed(&*self.disk, error, &self.target))
            }
            // A time-out of a network file system may hide a success.
            Err(error) => Err(failed(&*self.disk, error, &self.target).context(UNKNOWN_EFFECT)),
        }
    }
}

impl<D: Disk> FileWriter for StagedFile<D> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.append(bytes)
    }

    fn byte_len(&self) -> u64 {
        self.byte_len
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.publish(D::rename_file)
    }
}

impl<D: Disk> Drop for StagedFile<D> {
    fn drop(&mut self) {
        if !self.is_published {
            self.writer = None;
            // A leftover that cannot be removed is found by a later repair.
            let _ = self.disk.remove_file(&self.staged);
        }
    }
}

/// Writes files under their final names, several at once, and syncs their folders.
pub(super) fn put_batch<D: Disk>(disk: &D, sync: SyncLevel, files: &[NewFile<'_>]) -> Result<()> {
    let folders: BTreeSet<&Path> = files.iter().map(|file| folder_of(Path::new(file.path))).collect();
    folders.iter().try_for_each(|folder| create_folders(disk, sync, folder))?;
    // Threads are for waiting. Without syncs there is nothing to wait for, and creating files in one folder is serial.
    let thread_count = if sync == SyncLevel::None { 1 } else { disk.write_parallelism() };
    let results = each_in_parallel(thread_count, files, |file| put_in_place(disk, sync, file));
    if let Some(error) = results.iter().find_map(|result| result.as_ref().err()) {
        for (file, _) in files.iter().zip(&results).filter(|(_, result)| result.is_ok()) {
            let _ = disk.remove_file(Path::new(file.path));
        }
        return Err(error.clone());
    }
    folders.iter().try_for_each(|folder| sync_folder(disk, sync, folder))
}

/// Writes one file under its final name; after an error, removes it if it is ours.
fn put_in_place<D: Disk>(disk: &D, sync: SyncLevel, file: &NewFile<'_>) -> Result<()> {
    let path = Path::new(file.path);
    let mut writer = disk.create_file(path).map_err(|error| failed(disk, error, path))?;
    let mut write = || {
        for part in file.parts {
            disk.append(&mut writer, part)?;
        }
        if sync == SyncLevel::None { Ok(()) } else { disk.sync_file(&mut writer) }
    };
    write().map_err(|error| {
        let _ = disk.remove_file(path);
        failed(disk, error, path)
    })
}

/// Applies `work` to every item on up to `thread_count` threads that end with the call. They wait for the disk rather
/// than compute, so they are no share of the pool that decodes tiles. Results are in the order of the items.
fn each_in_parallel<T: Sync>(
    thread_count: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<()> + Sync,
) -> Vec<Result<()>> {
    if thread_count < 2 || items.len() < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take_and_work = || {
        let mut done = Vec::new();
        loop {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(idx) else { return done };
            done.push((idx, work(item)));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..thread_count.min(items.len())).map(|_| scope.spawn(take_and_work)).collect();
        let mut results = take_and_work();
        for other in others {
            match other.join() {
                Ok(done) => results.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(idx, _)| *idx);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Deletes files and makes that durable, folder by folder.
pub(super) fn delete_files<D: Disk>(disk: &D, sync: SyncLevel, paths: &[&str]) -> Result<()> {
    let mut folders = BTreeSet::new();
    for path in paths.iter().map(Path::new) {
        match disk.remove_file(path) {
            Ok(()) => {
                folders.insert(folder_of(path));
            }
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(failed(disk, error, path)),
        }
    }
    folders.iter().try_for_each(|folder| sync_folder(disk, sync, folder))
}

/// Creates a folder and those above it; the names of new ones are durable on return.
pub(super) fn create_folders<D: Disk>(disk: &D, sync: SyncLevel, folder: &Path) -> Result<()> {
    if disk.is_folder(folder).map_err(|error| failed(disk, error, folder))? {
        return Ok(());
    }
    // From the root down; `ancestors` goes up and ends with the root itself.
    let mut lineage: Vec<&Path> = folder.ancestors().collect();
    lineage.reverse();
    for folder in lineage {
        match disk.create_folder(folder) {
            Ok(()) => {
                if !folder.as_os_str().is_empty() {
                    sync_folder(disk, sync, folder_of(folder))?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !disk.is_folder(folder).map_err(|error| failed(disk, error, folder))? {
                    return Err(failed(disk, error, folder));
                }
            }
            Err(error) => return Err(failed(disk, error, folder)),
        }
    }
    Ok(())
}

/// Makes the names in a folder durable, if the level asks for it.
pub(super) fn sync_folder<D: Disk>(disk: &D, sync: SyncLevel, folder: &Path) -> Result<()> {
    if sync != SyncLevel::Full {
        return Ok(());
    }
    disk.sync_folder(folder).map_err(|error| failed(disk, error, folder))
}

/// The folder of a path; the root's path is empty.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Whether an error says that nothing of that name is there.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
