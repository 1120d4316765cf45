//! A store whose k-th call fails.

use crate::{
    ByteRange, Claim, Coalescing, Entry, FileVersion, FileWriter, Lease, Leftover, NewFile, NewTree, Pending,
    ReadInto, Request, Store, Tail, UNKNOWN_EFFECT, UnfinishedUpload,
};
use smalti_types::{Error, ErrorKind, Result};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a failing call does before it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultEffect {
    /// Nothing.
    Before,
    /// All it was asked for: the answer was lost.
    After,
    /// A part: half of the bytes of a write, half of the files of a batch.
    Torn,
    /// The process ends on the spot, before the call has any effect. For tests with real processes.
    Abort,
}

/// Which calls count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultScope {
    /// Calls that change something.
    Mutations,
    /// Calls that read or list.
    Reads,
    /// All calls.
    All,
}

impl FaultScope {
    fn holds(self, is_mutation: bool) -> bool {
        match self {
            FaultScope::Mutations => is_mutation,
            FaultScope::Reads => !is_mutation,
            FaultScope::All => true,
        }
    }
}

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
pub struct FaultPlan {
    /// The index of the failing call among those in scope, from 0.
    pub call_idx: u64,
    /// Which calls count.
    pub scope: FaultScope,
    /// What the failing call does first.
    pub effect: FaultEffect,
    /// Whether all later calls in scope fail too, without effect.
    pub is_lasting: bool,
    /// The error, for example `StorageFull`, `PermissionDenied`, `TimedOut`.
    pub error: io::ErrorKind,
}

impl FaultPlan {
    /// The call fails once, with a full disk, before it does anything.
    pub fn once(call_idx: u64) -> Self {
        FaultPlan {
            call_idx,
            scope: FaultScope::Mutations,
            effect: FaultEffect::Before,
            is_lasting: false,
            error: io::ErrorKind::StorageFull,
        }
    }
}

/// Counts calls and says which one fails. Shared by a store and its writers.
#[derive(Debug, Default)]
pub(crate) struct FaultSwitch {
    state: Mutex<FaultState>,
}

#[derive(Debug, Default)]
struct FaultState {
    plan: Option<FaultPlan>,
    call_count: u64,
}

impl FaultSwitch {
    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, plan: Option<FaultPlan>) {
        *self.state() = FaultState { plan, call_count: 0 };
    }

    /// Calls in the plan's scope since it was set; mutations where there is no plan.
    pub(crate) fn call_count(&self) -> u64 {
        self.state().call_count
    }

    /// Runs a call, or fails it. `torn` does half of it.
    pub(crate) fn pass<T, E: From<io::Error>>(
        &self,
        is_mutation: bool,
        torn: impl FnOnce(),
        call: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let fault = {
            let mut state = self.state();
            let scope = state.plan.map_or(FaultScope::Mutations, |plan| plan.scope);
            if !scope.holds(is_mutation) {
                None
            } else {
                let call_idx = state.call_count;
                state.call_count += 1;
                state.plan.and_then(|plan| {
                    if call_idx == plan.call_idx {
                        Some((plan.effect, plan.error))
                    } else {
                        (plan.is_lasting && call_idx > plan.call_idx)
                            .then_some((FaultEffect::Before, plan.error))
                    }
                })
            }
        };
        let Some((effect, error)) = fault else { return call() };
        match effect {
            FaultEffect::Before => {}
            FaultEffect::After => drop(call()?),
            FaultEffect::Torn => torn(),
            FaultEffect::Abort => std::process::abort(),
        }
        Err(E::from(io::Error::new(error, "injected fault")))
    }
}

/// Wraps a store and fails chosen calls as a whole. To fail single steps inside the local write protocol, wrap the disk in
/// a [`FaultDisk`](crate::FaultDisk) instead.
#[derive(Debug)]
pub struct FaultStore<S> {
    store: S,
    switch: Arc<FaultSwitch>,
}

impl<S: Store> FaultStore<S> {
    /// A wrapped store where nothing fails yet.
    pub fn new(store: S) -> Self {
        FaultStore { store, switch: Arc::default() }
    }

    /// Sets or clears the plan and counts calls anew.
    pub fn set_plan(&self, plan: Option<FaultPlan>) {
        self.switch.set(plan);
    }

    /// How many calls in the plan's scope were made since it was set, or mutating calls without a plan: the number of plans
    /// worth trying.
    pub fn call_count(&self) -> u64 {
        self.switch.call_count()
    }

    /// The store without faults.
    pub fn inner(&self) -> &S {
        &self.store
    }

    fn reading<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.switch.pass(false, || (), call)
    }

    fn mutating<T>(&self, torn: impl FnOnce(), call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.switch.pass(true, torn, call).map_err(|error: Error| match error.kind() {
            ErrorKind::Io => error.context(UNKNOWN_EFFECT),
            _ => error,
        })
    }
}

impl<S: Store> Store for FaultStore<S> {
    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        self.reading(|| self.store.list(folder))
    }

    fn byte_len(&self, path: &str) -> Result<u64> {
        self.reading(|| self.store.byte_len(path))
    }

    fn has_file(&self, path: &str) -> Result<bool> {
        self.reading(|| self.store.has_file(path))
    }

    fn version(&self, path: &str) -> Option<FileVersion> {
        self.store.version(path)
    }

    fn read_into(&self, reads: &mut [ReadInto<'_>]) -> Result<()> {
        self.reading(|| self.store.read_into(reads))
    }

    fn read_tail(&self, path: &str, byte_len: u64) -> Result<Tail> {
        self.reading(|| self.store.read_tail(path, byte_len))
    }

    /// Each tail is a call, which may fail; the others are read together.
    fn read_tails(&self, folder: &str, paths: &[String], byte_len: u64) -> Vec<Result<Tail>> {
        let passed: Vec<Result<()>> = paths.iter().map(|_| self.reading(|| Ok(()))).collect();
        let wanted = paths.iter().zip(&passed).filter(|(_, passed)| passed.is_ok());
        let wanted: Vec<String> = wanted.map(|(path, _)| path.clone()).collect();
        let mut tails = self.store.read_tails(folder, &wanted, byte_len).into_iter();
        let lost = || Err(Error::not_found("the store gave fewer tails than were asked for").at_uri(folder));
        passed.into_iter().map(|passed| passed.and_then(|()| tails.next().unwrap_or_else(lost))).collect()
    }

    fn put(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        self.mutating(|| (), || self.store.put(path, parts))
    }

    fn replace(&self, path: &str, parts: &[&[u8]]) -> Result<()> {
        self.mutating(|| (), || self.store.replace(path, parts))
    }

    fn put_batch(&self, files: &[NewFile<'_>]) -> Result<()> {
        let torn = || {
            let (whole, rest) = files.split_at(files.len() / 2);
            let _ = self.store.put_batch(whole);
            if let Some(file) = rest.first() {
                let bytes = file.parts.concat();
                let (half, _) = bytes.split_at(bytes.len() / 2);
                let _ = self.store.put_batch(&[NewFile { path: file.path, parts: &[half] }]);
            }
        };
        self.mutating(torn, || self.store.put_batch(files))
    }

    fn create(&self, path: &str) -> Result<Box<dyn FileWriter>> {
        let writer = self.mutating(|| (), || self.store.create(path))?;
        Ok(Box::new(FaultWriter { writer, switch: Arc::clone(&self.switch) }))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        self.mutating(|| (), || self.store.sync_folder(folder))
    }

    fn create_folder(&self, folder: &str) -> Result<()> {
        self.mutating(|| (), || self.store.create_folder(folder))
    }

    fn create_tree(&self, root: &str, tree: &NewTree<'_>) -> Result<()> {
        self.mutating(|| (), || self.store.create_tree(root, tree))
    }

    fn delete_files(&self, paths: &[&str]) -> Result<()> {
        let torn = || drop(self.store.delete_files(paths.split_at(paths.len() / 2).0));
        self.mutating(torn, || self.store.delete_files(paths))
    }

    fn delete_folders(&self, folders: &[&str]) -> Result<()> {
        let torn = || drop(self.store.delete_folders(folders.split_at(folders.len() / 2).0));
        self.mutating(torn, || self.store.delete_folders(folders))
    }

    fn move_folder(&self, from: &str, to: &str) -> Result<()> {
        self.mutating(|| (), || self.store.move_folder(from, to))
    }

    fn address(&self, path: &str) -> String {
        self.store.address(path)
    }

    fn list_recursive(&self, folder: &str) -> Result<Vec<Entry>> {
        self.reading(|| self.store.list_recursive(folder))
    }

    fn submit(&self, requests: Vec<Request>) -> Vec<Pending> {
        let passed: Vec<Result<()>> = requests.iter().map(|_| self.reading(|| Ok(()))).collect();
        let mut answers = self.store.submit(requests).into_iter();
        let lost =
            || Pending::ready(Err(Error::not_found("the store gave fewer answers than were asked for")));
        let answer = |passed: Result<()>| {
            let answer = answers.next().unwrap_or_else(lost);
            passed.map_or_else(|error| Pending::ready(Err(error)), |()| answer)
        };
        passed.into_iter().map(answer).collect()
    }

    fn has_waited(&self) -> bool {
        self.store.has_waited()
    }

    fn will_need(&self, path: &str, ranges: &[ByteRange]) {
        self.store.will_need(path, ranges);
    }

    fn is_distant(&self) -> bool {
        self.store.is_distant()
    }

    fn is_long(&self, folder: &str) -> bool {
        self.store.is_long(folder)
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        self.reading(|| self.store.list_names(folder))
    }

    fn leftovers(&self, folder: &str) -> Result<Vec<Leftover>> {
        self.reading(|| self.store.leftovers(folder))
    }

    fn unfinished_uploads(&self, folder: &str) -> Result<Vec<UnfinishedUpload>> {
        self.reading(|| self.store.unfinished_uploads(folder))
    }

    fn abort_upload(&self, upload: &UnfinishedUpload) -> Result<()> {
        self.mutating(|| (), || self.store.abort_upload(upload))
    }

    fn lease(&self, path: &str, claim: Claim) -> Result<Option<Lease>> {
        self.store.lease(path, claim)
    }

    fn last_change_ms(&self, folder: &str) -> Result<Option<u64>> {
        self.reading(|| self.store.last_change_ms(folder))
    }

    fn coalescing(&self) -> Coalescing {
        self.store.coalescing()
    }
}

#[derive(Debug)]
struct FaultWriter {
    writer: Box<dyn FileWriter>,
    switch: Arc<FaultSwitch>,
}

impl FileWriter for FaultWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        // Half a write of a writer that is then dropped is no file at all: tearing is failing.
        self.switch.pass(true, || (), || self.writer.write(bytes))
    }

    fn byte_len(&self) -> u64 {
        self.writer.byte_len()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let FaultWriter { writer, switch } = *self;
        switch.pass(true, || (), || writer.finish())
    }
}
