//! Watching work from outside, and stopping it.
//!
//! Work that takes long goes phase by phase. Whoever was asked for it announces its phases before the first, so that their number is
//! fixed; what it uses — a merge reads, a salvage reads and writes — enters phases of its own, which count where they were
//! announced and are passed over otherwise. So one [`Progress`] goes through all layers, and tells one story.

use smalti_types::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A phase of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Finding out what is to be done.
    Choosing,
    /// Looking at input to find out what it holds.
    Inferring,
    /// Reading cells of an array, or input.
    Reading,
    /// Checking the cells of a write.
    Validating,
    /// Checking the files of an array.
    Checking,
    /// Bringing cells into the order of the array.
    Sorting,
    /// Filtering tiles and handing them to the store, one group of them while the next is filtered.
    Writing,
    /// Making files durable, the commit last.
    Syncing,
    /// Reading fragments and writing one that says the same.
    Merging,
    /// Reading back what was written.
    Verifying,
    /// Making visible what was written.
    Publishing,
    /// Removing files.
    Removing,
    /// Carrying out the steps of a repair.
    Mending,
    /// Checking once more what was mended.
    Rechecking,
    /// Decoding every tile.
    Decoding,
    /// Copying cells or files.
    Copying,
    /// Making a digest of cells.
    Hashing,
    /// Comparing cells.
    Comparing,
}

impl Phase {
    /// The phases of [a write](crate::write) of a dense array.
    pub const DENSE_WRITE: &'static [Phase] = &[Phase::Validating, Phase::Writing, Phase::Syncing];
    /// The phases of a write of a sparse array.
    pub const SPARSE_WRITE: &'static [Phase] =
        &[Phase::Validating, Phase::Sorting, Phase::Writing, Phase::Syncing];

    /// What people call it: `sorting`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Choosing => "choosing",
            Phase::Inferring => "inferring",
            Phase::Reading => "reading",
            Phase::Validating => "checking cells",
            Phase::Checking => "checking",
            Phase::Sorting => "sorting",
            Phase::Writing => "filtering and writing",
            Phase::Syncing => "syncing",
            Phase::Merging => "merging",
            Phase::Verifying => "verifying",
            Phase::Publishing => "publishing",
            Phase::Removing => "removing",
            Phase::Mending => "mending",
            Phase::Rechecking => "checking again",
            Phase::Decoding => "decoding",
            Phase::Copying => "copying",
            Phase::Hashing => "hashing",
            Phase::Comparing => "comparing",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a phase counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// Cells; rows of input.
    Cells,
    /// Bytes.
    Bytes,
    /// Tiles, each for every field.
    Tiles,
    /// Fragments.
    Fragments,
    /// Files.
    Files,
    /// Steps that differ in size.
    Steps,
}

impl Unit {
    /// What people call it: `cells`.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Cells => "cells",
            Unit::Bytes => "bytes",
            Unit::Tiles => "tiles",
            Unit::Fragments => "fragments",
            Unit::Files => "files",
            Unit::Steps => "steps",
        }
    }
}

/// How far a phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhaseProgress {
    /// Which one.
    pub phase: Phase,
    /// Its place among the phases of the work; 1 for the first.
    pub number: usize,
    /// How many phases the work has.
    pub phase_count: usize,
    /// Of work that goes through its phases several times, such as a consolidation with several merges: which time this is, from 1
    /// on, and how many there are.
    pub part: Option<(u64, u64)>,
    /// What is counted.
    pub unit: Unit,
    /// How many there are; fixed from the phase's begin. `None` where nobody can tell, as of input from a pipe.
    pub total: Option<u64>,
    /// How many are done; never more than there are.
    pub done: u64,
}

/// How far long work is: a read, a write, or upkeep of an array. Other threads may look at it, and stop the work.
///
/// Work that was [cancelled](Progress::cancel) ends with an error of kind `Cancelled`. A read ends before the next tile is fetched,
/// or, where it sorts, filters, copies or converts, within some 65,000 cells of each thread or the values of one column. A write or a
/// merge ends alike, as long as nothing of it is visible: then it removes what it put. Once the commit is put the work goes on to
/// its end.
///
/// A progress is of one work at a time; of several after each other it tells the phases of the last, and the statistics of all.
#[derive(Debug)]
pub struct Progress {
    is_cancelled: AtomicBool,
    /// How often the work asked whether it goes on, and the question that is the last.
    questions: AtomicU64,
    last_question: AtomicU64,
    tiles_to_read: AtomicU64,
    tile_reads: AtomicU64,
    kept_tile_reads: AtomicU64,
    requests: AtomicU64,
    byte_len: AtomicU64,
    cells: AtomicU64,
    /// What `done` counts; see [`code`].
    counted: AtomicU32,
    done: AtomicU64,
    work: Mutex<Work>,
}

/// The phases of the work under way.
#[derive(Debug, Default)]
struct Work {
    announced: Vec<Phase>,
    is_under_way: bool,
    part: Option<(u64, u64)>,
    /// Those that have begun, in the order of their last begin; the last is under way.
    entered: Vec<PhaseProgress>,
}

/// What reads did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadStatistics {
    /// Tiles that the plan of a sparse read names, each counted for every field that is read of it; 0 for dense reads.
    pub planned_tile_count: u64,
    /// Tiles that were fetched, counted alike; a tile that is looked at twice counts twice.
    pub tile_count: u64,
    /// The tiles, counted alike, that an earlier read had decoded.
    pub kept_tile_count: u64,
    /// Byte ranges of data files that were asked of the store.
    pub request_count: u64,
    /// The bytes in them.
    pub byte_len: u64,
    /// Cells that were handed out.
    pub cell_count: u64,
}

/// Work whose phases are announced; it is over when this is dropped.
#[derive(Debug)]
#[must_use = "the work is over when this is dropped"]
pub struct Announced {
    /// `None` for work that is part of other work, which has announced its own phases.
    progress: Option<Arc<Progress>>,
}

impl Announced {
    /// Says that nothing is left to count in a phase, if this work announced it.
    pub(crate) fn complete(&self, phase: Phase) {
        if let Some(progress) = &self.progress {
            progress.complete(phase);
        }
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        if let Some(progress) = &self.progress {
            progress.settle(&mut progress.work());
            progress.work().is_under_way = false;
        }
    }
}

/// A number for what is counted; 0 is nothing.
fn code(phase: Phase, unit: Unit) -> u32 {
    1 + (phase as u32) * 256 + unit as u32
}

impl Default for Progress {
    fn default() -> Self {
        Progress::new()
    }
}

impl Progress {
    /// Nothing done yet.
    pub fn new() -> Self {
        Progress {
            is_cancelled: AtomicBool::new(false),
            questions: AtomicU64::new(0),
            last_question: AtomicU64::new(u64::MAX),
            tiles_to_read: AtomicU64::new(0),
            tile_reads: AtomicU64::new(0),
            kept_tile_reads: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            byte_len: AtomicU64::new(0),
            cells: AtomicU64::new(0),
            counted: AtomicU32::new(0),
            done: AtomicU64::new(0),
            work: Mutex::default(),
        }
    }

    /// Stops the work that this is the progress of.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Relaxed);
    }

    /// Stops the work when it asks for the so-manieth time whether it goes on, 1 for the first: a moment that does not depend on
    /// how fast the machine is.
    pub fn cancel_at_question(&self, number: u64) {
        self.last_question.store(number, Relaxed);
    }

    /// How often the work has asked whether it goes on, all threads together: a loop over cells does after some 65,000 of them.
    pub fn question_count(&self) -> u64 {
        self.questions.load(Relaxed)
    }

    /// Whether the work goes on.
    ///
    /// # Errors
    /// `Cancelled` once it was stopped.
    pub fn check(&self) -> Result<()> {
        let number = self.questions.fetch_add(1, Relaxed) + 1;
        if number >= self.last_question.load(Relaxed) {
            self.cancel();
        }
        match self.is_cancelled.load(Relaxed) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Cancelled, "the work was stopped")),
        }
    }

    /// What reads did so far, those within other work too.
    pub fn statistics(&self) -> ReadStatistics {
        ReadStatistics {
            planned_tile_count: self.tiles_to_read.load(Relaxed),
            tile_count: self.tile_reads.load(Relaxed),
            kept_tile_count: self.kept_tile_reads.load(Relaxed),
            request_count: self.requests.load(Relaxed),
            byte_len: self.byte_len.load(Relaxed),
            cell_count: self.cells.load(Relaxed),
        }
    }

    /// The phase under way; `None` before the first and after the last.
    pub fn phase(&self) -> Option<PhaseProgress> {
        let work = self.work();
        let last = work.entered.last().filter(|_| work.is_under_way)?;
        Some(self.counted_in(*last))
    }

    /// The phases that have begun, in their order, the one under way last; after the work all of them.
    pub fn phases(&self) -> Vec<PhaseProgress> {
        let work = self.work();
        let mut phases = work.entered.clone();
        if let Some(last) = phases.last_mut().filter(|_| work.is_under_way) {
            *last = self.counted_in(*last);
        }
        phases
    }

    fn counted_in(&self, phase: PhaseProgress) -> PhaseProgress {
        let done = self.done.load(Relaxed);
        PhaseProgress { done: phase.total.map_or(done, |total| done.min(total)), ..phase }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down how far the phase under way came.
    fn settle(&self, work: &mut Work) {
        if let Some(last) = work.entered.last_mut().filter(|_| self.counted.load(Relaxed) > 0) {
            *last = self.counted_in(*last);
        }
        self.counted.store(0, Relaxed);
    }
}

/// For those who work: engines of reads, writes and upkeep, and programs that have phases of their own.
impl Progress {
    /// Says which phases follow. Within work that has announced its own this says nothing: of the phases entered there those
    /// count that the outer work announced.
    pub fn announce(self: &Arc<Self>, phases: &[Phase]) -> Announced {
        let mut work = self.work();
        if work.is_under_way {
            return Announced { progress: None };
        }
        *work = Work { announced: phases.to_vec(), is_under_way: true, part: None, entered: Vec::new() };
        self.counted.store(0, Relaxed);
        Announced { progress: Some(Arc::clone(self)) }
    }

    /// Begins a phase, with all that there is to count in it. One that was not announced is passed over. A phase may begin again, for
    /// another part of the work.
    pub fn enter(&self, phase: Phase, unit: Unit, total: Option<u64>) {
        let mut work = self.work();
        let place = work.announced.iter().position(|announced| *announced == phase);
        let Some(place) = place.filter(|_| work.is_under_way) else { return };
        self.settle(&mut work);
        work.entered.retain(|entered| entered.phase != phase);
        let (phase_count, part) = (work.announced.len(), work.part);
        work.entered.push(PhaseProgress {
            phase,
            number: place + 1,
            phase_count,
            part,
            unit,
            total,
            done: 0,
        });
        self.done.store(0, Relaxed);
        self.counted.store(code(phase, unit), Relaxed);
    }

    /// Goes on with a phase that others came in between of, and counts on from where it was: input is read again once what was read of
    /// it is written. One that has not begun is passed over.
    pub fn resume(&self, phase: Phase) {
        let mut work = self.work();
        let place = work.entered.iter().position(|entered| entered.phase == phase);
        let Some(place) = place.filter(|_| work.is_under_way) else { return };
        self.settle(&mut work);
        let resumed = work.entered.remove(place);
        work.entered.push(resumed);
        self.done.store(resumed.done, Relaxed);
        self.counted.store(code(phase, resumed.unit), Relaxed);
    }

    /// Says that the phases to come are those of one part of the work: which, from 1 on, and of how many.
    pub fn part(&self, number: u64, count: u64) {
        self.work().part = (count > 1).then_some((number, count));
    }

    /// Counts what was done of a phase; nothing when another phase is under way, or counts other things.
    pub fn advance(&self, phase: Phase, unit: Unit, count: u64) {
        if self.counted.load(Relaxed) == code(phase, unit) {
            let _ = self.done.fetch_update(Relaxed, Relaxed, |done| Some(done.saturating_add(count)));
        }
    }

    /// Says how much was done of a phase by now; counts never go back.
    pub fn reach(&self, phase: Phase, unit: Unit, done: u64) {
        if self.counted.load(Relaxed) == code(phase, unit) {
            self.done.fetch_max(done, Relaxed);
        }
    }

    /// Says that nothing is left to count in a phase: less was there than could be told before.
    pub fn complete(&self, phase: Phase) {
        let work = self.work();
        let last = work.entered.last().filter(|last| last.phase == phase && work.is_under_way);
        if let Some(total) = last.and_then(|last| last.total) {
            self.done.fetch_max(total, Relaxed);
        }
    }

    pub(crate) fn plan(&self, tile_count: u64) {
        self.tiles_to_read.fetch_add(tile_count, Relaxed);
    }

    pub(crate) fn count_tile(&self) {
        self.tile_reads.fetch_add(1, Relaxed);
        self.advance(Phase::Reading, Unit::Tiles, 1);
    }

    /// Counts a tile that an earlier read had decoded.
    pub(crate) fn count_kept_tile(&self) {
        self.kept_tile_reads.fetch_add(1, Relaxed);
        self.advance(Phase::Reading, Unit::Tiles, 1);
    }

    pub(crate) fn count_requests(&self, count: u64, byte_len: u64) {
        self.requests.fetch_add(count, Relaxed);
        self.byte_len.fetch_add(byte_len, Relaxed);
    }

    pub(crate) fn count_cells(&self, count: u64) {
        self.cells.fetch_add(count, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_is_resumed_counts_on() {
        let progress = Arc::new(Progress::new());
        let _work = progress.announce(&[Phase::Reading, Phase::Writing]);
        progress.resume(Phase::Reading);
        assert_eq!(progress.phase(), None);
        progress.enter(Phase::Reading, Unit::Bytes, Some(10));
        progress.advance(Phase::Reading, Unit::Bytes, 4);
        progress.enter(Phase::Writing, Unit::Tiles, Some(2));
        progress.advance(Phase::Writing, Unit::Tiles, 2);
        progress.resume(Phase::Reading);
        progress.advance(Phase::Reading, Unit::Bytes, 5);
        let told: Vec<(Phase, u64)> =
            progress.phases().iter().map(|phase| (phase.phase, phase.done)).collect();
        assert_eq!(told, [(Phase::Writing, 2), (Phase::Reading, 9)]);
        assert_eq!(progress.phase().unwrap().number, 1);
    }

    #[test]
    fn phases_of_inner_work_count_where_the_outer_work_announced_them() {
        let progress = Arc::new(Progress::new());
        assert_eq!(progress.phase(), None);
        let outer = progress.announce(&[Phase::Reading, Phase::Writing, Phase::Syncing]);
        progress.enter(Phase::Reading, Unit::Bytes, Some(10));
        progress.advance(Phase::Reading, Unit::Bytes, 7);
        progress.advance(Phase::Reading, Unit::Tiles, 100);
        {
            let _inner = progress.announce(Phase::SPARSE_WRITE);
            progress.enter(Phase::Sorting, Unit::Steps, Some(3));
            assert_eq!(progress.phase().unwrap().phase, Phase::Reading);
            progress.enter(Phase::Writing, Unit::Tiles, Some(4));
            progress.advance(Phase::Writing, Unit::Tiles, 9);
        }
        let expected = PhaseProgress {
            phase: Phase::Writing,
            number: 2,
            phase_count: 3,
            part: None,
            unit: Unit::Tiles,
            total: Some(4),
            done: 4,
        };
        assert_eq!(progress.phase(), Some(expected));
        drop(outer);
        assert_eq!(progress.phase(), None);
        let done: Vec<_> = progress.phases().iter().map(|phase| (phase.phase, phase.done)).collect();
        assert_eq!(done, [(Phase::Reading, 7), (Phase::Writing, 4)]);
        let _next = progress.announce(&[Phase::Hashing]);
        assert_eq!(progress.phases(), []);
    }

    #[test]
    fn parts_go_through_the_phases_again() {
        let progress = Arc::new(Progress::new());
        let _work = progress.announce(&[Phase::Merging, Phase::Verifying]);
        for part in 1..=2 {
            progress.part(part, 2);
            for phase in [Phase::Merging, Phase::Verifying] {
                progress.enter(phase, Unit::Cells, Some(5));
                assert_eq!(progress.phase().unwrap().part, Some((part, 2)));
                assert_eq!(progress.phase().unwrap().done, 0);
                progress.complete(phase);
            }
        }
        let done: Vec<_> = progress.phases().iter().map(|phase| (phase.part, phase.done)).collect();
        assert_eq!(done, [(Some((2, 2)), 5), (Some((2, 2)), 5)]);
    }
}
