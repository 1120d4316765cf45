//! A disk whose k-th step fails.

use crate::fault::FaultSwitch;
use crate::local::{Disk, DiskEntry};
use crate::{ByteRange, Claim, Entry, FaultPlan, FileVersion, Lease};
use std::io;
use std::path::Path;

/// Wraps a disk and fails chosen steps of the local write protocol: a full disk at the third write, an fsync that fails, a
/// rename whose success is reported as a time-out, the process killed before any step.
///
/// Mutating steps count as mutations, listing, opening and reading as reads.
#[derive(Debug)]
pub struct FaultDisk<D> {
    disk: D,
    switch: FaultSwitch,
}

impl<D: Disk> FaultDisk<D> {
    /// A wrapped disk where nothing fails yet.
    pub fn new(disk: D) -> Self {
        FaultDisk { disk, switch: FaultSwitch::default() }
    }

    /// Sets or clears the plan and counts steps anew.
    pub fn set_plan(&self, plan: Option<FaultPlan>) {
        self.switch.set(plan);
    }

    /// How many steps in the plan's scope were made since it was set, or mutating steps without a plan.
    pub fn call_count(&self) -> u64 {
        self.switch.call_count()
    }

    /// The disk without faults.
    pub fn inner(&self) -> &D {
        &self.disk
    }

    fn reading<T>(&self, step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.switch.pass(false, || (), step)
    }

    fn mutating<T>(&self, step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.switch.pass(true, || (), step)
    }
}

impl<D: Disk> Disk for FaultDisk<D> {
    type Writer = D::Writer;
    type Reader = D::Reader;

    fn create_file(&self, path: &Path) -> io::Result<D::Writer> {
        self.mutating(|| self.disk.create_file(path))
    }

    fn append(&self, file: &mut D::Writer, bytes: &[u8]) -> io::Result<()> {
        let file = std::cell::RefCell::new(file);
        let torn = || drop(self.disk.append(&mut file.borrow_mut(), bytes.split_at(bytes.len() / 2).0));
        self.switch.pass(true, torn, || self.disk.append(&mut file.borrow_mut(), bytes))
    }

    fn sync_file(&self, file: &mut D::Writer) -> io::Result<()> {
        self.mutating(|| self.disk.sync_file(file))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.mutating(|| self.disk.sync_folder(folder))
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.mutating(|| self.disk.create_folder(folder))
    }

    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.mutating(|| self.disk.rename_file(from, to))
    }

    fn replace_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.mutating(|| self.disk.replace_file(from, to))
    }

    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.mutating(|| self.disk.rename_folder(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.mutating(|| self.disk.remove_file(path))
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.mutating(|| self.disk.remove_folder(folder))
    }

    fn raw_entries(&self, folder: &Path) -> io::Result<Vec<DiskEntry>> {
        self.reading(|| self.disk.raw_entries(folder))
    }

    fn is_folder(&self, folder: &Path) -> io::Result<bool> {
        self.reading(|| self.disk.is_folder(folder))
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.reading(|| self.disk.entries(folder))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.reading(|| self.disk.names(folder))
    }

    fn is_long(&self, folder: &Path) -> bool {
        self.disk.is_long(folder)
    }

    fn open(&self, path: &Path, reuse: bool) -> io::Result<D::Reader> {
        self.reading(|| self.disk.open(path, reuse))
    }

    fn byte_len(&self, file: &D::Reader) -> io::Result<u64> {
        self.reading(|| self.disk.byte_len(file))
    }

    fn version(&self, file: &D::Reader) -> Option<FileVersion> {
        self.disk.version(file)
    }

    fn read_exact_at(&self, file: &D::Reader, dest: &mut [u8], offset: u64) -> io::Result<()> {
        self.reading(|| self.disk.read_exact_at(file, dest, offset))
    }

    fn has_waited(&self) -> bool {
        self.disk.has_waited()
    }

    fn will_sync(&self, file: &D::Writer, range: ByteRange) {
        self.disk.will_sync(file, range);
    }

    fn will_need(&self, file: &D::Reader, range: ByteRange) {
        self.disk.will_need(file, range);
    }

    fn lease(&self, path: &Path, claim: Claim) -> io::Result<Option<Lease>> {
        self.disk.lease(path, claim)
    }

    fn unique(&self) -> io::Result<u64> {
        self.disk.unique()
    }

    fn write_parallelism(&self) -> usize {
        // One after the other: the k-th step must be the same one every time.
        1
    }

    fn reads_in_parallel(&self) -> bool {
        false
    }

    fn address(&self, path: &Path) -> String {
        self.disk.address(path)
    }
}
