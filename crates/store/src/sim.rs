//! A model of a disk in memory that records every step, for tests that enumerate crashes.

use crate::crash::{DiskOp, FileId, Image, Layout};
use crate::lease::Claims;
use crate::local::{Disk, DiskEntry};
use crate::{ByteRange, Claim, Entry, EntryKind, Lease};
use bytes::Bytes;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk in memory. With [`LocalStore::on`](crate::LocalStore::on) it runs the real write protocol, step by step and on one
/// thread, so that the same calls give the same steps. Clones share the content and the record.
///
/// A crash test starts from an [`Image`], runs an operation, takes [`ops`](SimDisk::ops), and asks
/// [`crash_states`](crate::crash_states) for every image that a power cut may have left.
#[derive(Debug, Clone, Default)]
pub struct SimDisk {
    state: Arc<Mutex<SimState>>,
    claims: Claims,
    locks: Locks,
    /// Whether every folder counts as one of many hundreds of names.
    has_long_folders: bool,
    /// Whether every read counts as one that waited.
    waits: bool,
}

/// What locks a [`SimDisk`] has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Locks {
    #[default]
    Work,
    Fail,
    Unknown,
}

#[derive(Debug, Default)]
struct SimState {
    layout: Layout,
    ops: Vec<DiskOp>,
    told: Vec<ByteRange>,
    told_of_syncs: Vec<ByteRange>,
    unique_count: u64,
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> Self {
        SimDisk::default()
    }

    /// A disk that holds what an image holds, all of it durable.
    pub fn from_image(image: &Image) -> Self {
        let state = SimState { layout: Layout::of(image), ..SimState::default() };
        SimDisk { state: Arc::new(Mutex::new(state)), ..SimDisk::default() }
    }

    /// The same disk where nothing can be locked, and where asking says so.
    #[must_use]
    pub fn without_locks(self) -> Self {
        SimDisk { locks: Locks::Unknown, ..self }
    }

    /// The same disk where every lock fails.
    #[must_use]
    pub fn with_failing_locks(self) -> Self {
        SimDisk { locks: Locks::Fail, ..self }
    }

    /// The same disk, all of whose folders say that they hold many hundreds of names.
    #[must_use]
    pub fn with_long_folders(self) -> Self {
        SimDisk { has_long_folders: true, ..self }
    }

    /// The same disk, all of whose reads say that they waited, so that it is [told](SimDisk::told) what comes.
    #[must_use]
    pub fn with_waits(self) -> Self {
        SimDisk { waits: true, ..self }
    }

    /// What the disk was told that it will be asked for, one range after the other.
    pub fn told(&self) -> Vec<ByteRange> {
        self.state().told.clone()
    }

    /// What the disk was told that it will have to make durable, one range of a file after the other.
    pub fn told_of_syncs(&self) -> Vec<ByteRange> {
        self.state().told_of_syncs.clone()
    }

    /// What the disk holds now.
    pub fn image(&self) -> Image {
        self.state().layout.image()
    }

    /// The steps so far, since the disk was made or since [`forget_ops`](SimDisk::forget_ops).
    pub fn ops(&self) -> Vec<DiskOp> {
        self.state().ops.clone()
    }

    /// Forgets the record of steps.
    pub fn forget_ops(&self) {
        self.state().ops.clear();
    }

    fn state(&self) -> MutexGuard<'_, SimState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs a step, and records it if it could be done.
    fn perform(&self, op: DiskOp) -> io::Result<()> {
        let mut state = self.state();
        state.layout.apply(&op)?;
        state.ops.push(op);
        Ok(())
    }
}

/// A file of a [`SimDisk`] that is being written.
#[derive(Debug)]
pub struct SimWriter(FileId);

impl Disk for SimDisk {
    type Writer = SimWriter;
    type Reader = Arc<Bytes>;

    fn create_file(&self, path: &Path) -> io::Result<SimWriter> {
        let mut state = self.state();
        let file = state.layout.next_file();
        let op = DiskOp::CreateFile { path: path.to_owned(), file };
        state.layout.apply(&op)?;
        state.ops.push(op);
        Ok(SimWriter(file))
    }

    fn append(&self, file: &mut SimWriter, bytes: &[u8]) -> io::Result<()> {
        self.perform(DiskOp::Append { file: file.0, bytes: Bytes::copy_from_slice(bytes) })
    }

    fn sync_file(&self, file: &mut SimWriter) -> io::Result<()> {
        self.perform(DiskOp::SyncFile { file: file.0 })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.perform(DiskOp::SyncFolder { path: folder.to_owned() })
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.perform(DiskOp::CreateFolder { path: folder.to_owned() })
    }

    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.state().layout.exists(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.perform(DiskOp::Rename { from: from.to_owned(), to: to.to_owned() })
    }

    fn replace_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.state().layout.is_folder(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.perform(DiskOp::Rename { from: from.to_owned(), to: to.to_owned() })
    }

    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.perform(DiskOp::Rename { from: from.to_owned(), to: to.to_owned() })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.perform(DiskOp::RemoveFile { path: path.to_owned() })
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.perform(DiskOp::RemoveFolder { path: folder.to_owned() })
    }

    fn raw_entries(&self, folder: &Path) -> io::Result<Vec<DiskEntry>> {
        let entries = self.entries(folder)?;
        Ok(entries
            .into_iter()
            .map(|entry| DiskEntry {
                is_folder: entry.is_folder(),
                name: OsString::from(entry.name),
                modified_ms: None,
            })
            .collect())
    }

    fn is_folder(&self, folder: &Path) -> io::Result<bool> {
        Ok(self.state().layout.is_folder(folder))
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let children = self.state().layout.children(folder)?;
        let entry = |(name, byte_len): (String, Option<u64>)| {
            let kind = if byte_len.is_some() { EntryKind::File } else { EntryKind::Folder };
            Entry { name, kind, byte_len: byte_len.unwrap_or_default() }
        };
        Ok(children.into_iter().map(entry).collect())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        Ok(self.entries(folder)?.into_iter().map(|entry| entry.name).collect())
    }

    fn is_long(&self, _folder: &Path) -> bool {
        self.has_long_folders
    }

    fn has_waited(&self) -> bool {
        self.waits
    }

    fn will_sync(&self, _file: &SimWriter, range: ByteRange) {
        self.state().told_of_syncs.push(range);
    }

    fn will_need(&self, _file: &Arc<Bytes>, range: ByteRange) {
        self.state().told.push(range);
    }

    fn open(&self, path: &Path, _reuse: bool) -> io::Result<Arc<Bytes>> {
        Ok(Arc::new(self.state().layout.content(path)?))
    }

    fn byte_len(&self, file: &Arc<Bytes>) -> io::Result<u64> {
        Ok(file.len() as u64)
    }

    fn read_exact_at(&self, file: &Arc<Bytes>, dest: &mut [u8], offset: u64) -> io::Result<()> {
        let source = usize::try_from(offset)
            .ok()
            .and_then(|start| file.get(start..start.checked_add(dest.len())?))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        dest.copy_from_slice(source);
        Ok(())
    }

    fn lease(&self, path: &Path, claim: Claim) -> io::Result<Option<Lease>> {
        match self.locks {
            // Claims end with the process that holds them: the image that a crash leaves has none.
            Locks::Work => Ok(self.claims.take(&path.to_string_lossy(), claim)),
            Locks::Fail => Err(io::Error::other("the lock daemon does not answer")),
            Locks::Unknown => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn unique(&self) -> io::Result<u64> {
        let mut state = self.state();
        loop {
            state.unique_count += 1;
            // Leftovers of an earlier life carry numbers from the same sequence.
            if !state.layout.has_name_ending(&format!("{:016x}", state.unique_count)) {
                return Ok(state.unique_count);
            }
        }
    }

    fn write_parallelism(&self) -> usize {
        1
    }

    fn reads_in_parallel(&self) -> bool {
        false
    }

    fn address(&self, path: &Path) -> String {
        format!("sim:{}", path.display())
    }
}
