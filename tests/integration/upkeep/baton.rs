//! A scheduler of several users of one disk: one runs at a time, and at each step of the disk a seed says who goes on. So any
//! interleaving of their steps can happen, and a seed replays it.

use smalti_store::{Claim, Disk, DiskEntry, Entry, Lease, SeededEntropy, SimDisk, SimWriter};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Whose turn it is.
#[derive(Debug)]
pub struct Baton {
    state: Mutex<Turn>,
    /// Wakes each user.
    turned: Vec<Condvar>,
    /// Somebody else's turn comes after one of so many steps.
    stay_count: u64,
}

#[derive(Debug)]
struct Turn {
    holder: usize,
    is_running: Vec<bool>,
    entropy: SeededEntropy,
}

impl Baton {
    /// A baton for some users, who all take part at once.
    pub fn new(user_count: usize, seed: u64) -> Arc<Baton> {
        let entropy = SeededEntropy::new(seed);
        // Long stretches find other mistakes than short ones.
        let stay_count = [2, 2, 8, 32][(entropy.next_u64() % 4) as usize];
        let holder = (entropy.next_u64() % user_count as u64) as usize;
        let turn = Turn { holder, is_running: vec![true; user_count], entropy };
        let turned = (0..user_count).map(|_| Condvar::new()).collect();
        Arc::new(Baton { state: Mutex::new(turn), turned, stay_count })
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, turn: &mut Turn, may_stay: bool) {
        let holder = turn.holder;
        if may_stay && turn.is_running[holder] && !turn.entropy.next_u64().is_multiple_of(self.stay_count) {
            return;
        }
        let others: Vec<usize> =
            (0..turn.is_running.len()).filter(|&user| user != holder && turn.is_running[user]).collect();
        if !others.is_empty() {
            turn.holder = others[(turn.entropy.next_u64() % others.len() as u64) as usize];
            self.turned[turn.holder].notify_one();
        }
    }

    fn wait(&self, mut turn: MutexGuard<'_, Turn>, user: usize) {
        while turn.holder != user {
            turn = self.turned[user].wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Before a user's first step.
    pub fn join(&self, user: usize) {
        self.wait(self.turn(), user);
    }

    /// Between two steps of a user.
    pub fn step(&self, user: usize, may_stay: bool) {
        let mut turn = self.turn();
        self.pass(&mut turn, may_stay);
        self.wait(turn, user);
    }

    /// Takes part for a user until it is dropped, however the user ends.
    pub fn part(self: &Arc<Self>, user: usize) -> Part {
        self.join(user);
        Part { baton: Arc::clone(self), user }
    }
}

/// A user's part in a schedule.
pub struct Part {
    baton: Arc<Baton>,
    user: usize,
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut turn = self.baton.turn();
        turn.is_running[self.user] = false;
        self.baton.pass(&mut turn, false);
    }
}

/// A disk that something happens to before each step.
pub struct TurnDisk {
    disk: SimDisk,
    /// Is told whether the same user may go on at once.
    before_step: Box<dyn Fn(bool) + Send + Sync>,
}

impl std::fmt::Debug for TurnDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnDisk").field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl TurnDisk {
    /// A disk as one user has it: each step is taken in turn.
    pub fn new(disk: SimDisk, baton: Arc<Baton>, user: usize) -> Self {
        TurnDisk::calling(disk, move |may_stay| baton.step(user, may_stay))
    }

    /// A disk that calls something before each step.
    pub fn calling(disk: SimDisk, before_step: impl Fn(bool) + Send + Sync + 'static) -> Self {
        TurnDisk { disk, before_step: Box::new(before_step) }
    }

    fn next(&self) -> &SimDisk {
        (self.before_step)(true);
        &self.disk
    }
}

impl Disk for TurnDisk {
    type Writer = SimWriter;
    type Reader = <SimDisk as Disk>::Reader;

    fn create_file(&self, path: &Path) -> io::Result<SimWriter> {
        self.next().create_file(path)
    }

    fn append(&self, file: &mut SimWriter, bytes: &[u8]) -> io::Result<()> {
        self.next().append(file, bytes)
    }

    fn sync_file(&self, file: &mut SimWriter) -> io::Result<()> {
        // Nobody but a power cut sees whether it was done.
        self.disk.sync_file(file)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.next().create_folder(folder)
    }

    fn rename_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.next().rename_file(from, to)
    }

    fn replace_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.next().replace_file(from, to)
    }

    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.next().rename_folder(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.next().remove_file(path)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.next().remove_folder(folder)
    }

    fn raw_entries(&self, folder: &Path) -> io::Result<Vec<DiskEntry>> {
        self.next().raw_entries(folder)
    }

    fn is_folder(&self, folder: &Path) -> io::Result<bool> {
        self.next().is_folder(folder)
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.next().entries(folder)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.next().names(folder)
    }

    fn is_long(&self, folder: &Path) -> bool {
        self.disk.is_long(folder)
    }

    fn open(&self, path: &Path, reuse: bool) -> io::Result<Self::Reader> {
        self.next().open(path, reuse)
    }

    fn byte_len(&self, file: &Self::Reader) -> io::Result<u64> {
        self.disk.byte_len(file)
    }

    fn read_exact_at(&self, file: &Self::Reader, dest: &mut [u8], offset: u64) -> io::Result<()> {
        // An open file does not change.
        self.disk.read_exact_at(file, dest, offset)
    }

    fn lease(&self, path: &Path, claim: Claim) -> io::Result<Option<Lease>> {
        let lease = self.next().lease(path, claim)?;
        if lease.is_none() {
            // Who waits for a claim lets others go on.
            (self.before_step)(false);
        }
        Ok(lease)
    }

    fn unique(&self) -> io::Result<u64> {
        self.disk.unique()
    }

    fn write_parallelism(&self) -> usize {
        1
    }

    fn reads_in_parallel(&self) -> bool {
        false
    }

    fn address(&self, path: &Path) -> String {
        self.disk.address(path)
    }
}
