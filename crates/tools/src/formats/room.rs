//! The room that the cells of a write have: all of them are in memory at once, or where the write may be of several fragments, as many as
//! the budget has room for.

use super::Budget;
use super::input::{too_much, unpacked_len};
use crate::cells::Field;
use crate::failure::Outcome;
use crate::human;
use smalti::{Column, Phase, Progress, Unit};
use std::sync::Arc;

/// What the way of cells into a fragment takes at most, whatever there are, beside a copy of the largest column.
const WAY_BYTE_LEN: u64 = 128 << 20;

/// What the order of a cell takes.
const ORDERED_CELL_BYTE_LEN: u64 = 64;

/// Columns on their way into a fragment.
pub(crate) type Cells = Vec<(Field, Column)>;

/// Takes cells for which there was no room beside those to come.
pub(crate) type Take<'a> = dyn FnMut(Cells) -> Outcome + 'a;

/// The room that the cells of a write have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    /// Whether cells may be handed on before all are there.
    is_cleared: bool,
    budget: Budget,
    /// How long the input is, where that is known.
    input_byte_len: Option<u64>,
    work: Arc<Progress>,
}

/// What is in memory of a write.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// Of all columns.
    pub(crate) byte_len: u64,
    /// What comes beside them before they are written: a copy of the largest column, or of rows on their way.
    pub(crate) beside: u64,
    /// How many cells there are.
    pub(crate) cell_count: u64,
}

impl Room {
    /// Room for an input; `work` is told how much of it was read.
    pub(crate) fn new(budget: Budget, input_byte_len: Option<u64>, work: &Arc<Progress>) -> Self {
        Room { is_cleared: false, budget, input_byte_len, work: Arc::clone(work) }
    }

    /// Room for cells that somebody else has seen to.
    pub(crate) fn unlimited() -> Self {
        Room { budget: Budget::asked(u64::MAX), ..Room::default() }
    }

    /// The same room, from which cells are handed on when it is full, if somebody has asked for a budget.
    pub(crate) fn cleared(self) -> Self {
        Room { is_cleared: self.budget.is_asked_for(), ..self }
    }

    /// The room of a part of the work, which has one of `count` equal parts of the budget.
    pub(crate) fn part(self, count: u64) -> Self {
        match self.budget.is_asked_for() {
            true => Room { budget: Budget::asked(self.budget.byte_len() / count.max(1)), ..self },
            false => self,
        }
    }

    /// Whether cells are to be handed on before more are read. Rooms from which nothing is handed on are never full.
    pub(crate) fn is_full(&self, held: Held) -> bool {
        self.is_cleared && taken(held) >= self.limit()
    }

    /// The budget.
    pub(crate) fn budget(&self) -> Budget {
        self.budget
    }

    /// The most bytes that cells may take: what was asked for; if nothing was, what an input of this length can honestly hold.
    fn limit(&self) -> u64 {
        if self.budget.is_asked_for() {
            return self.budget.byte_len();
        }
        let read = self.work.phase().filter(|phase| phase.unit == Unit::Bytes).map_or(0, |phase| phase.done);
        unpacked_len(self.budget.byte_len(), self.input_byte_len.unwrap_or(read))
    }

    /// Checks that there is room for what was read so far.
    ///
    /// # Errors
    /// `OutOfMemory`, with about the budget that would do for all of the input.
    pub(crate) fn check(&self, held: Held) -> Outcome {
        if held.byte_len.saturating_add(held.beside) <= self.limit() {
            return Ok(());
        }
        let phase = self.work.phase().filter(|phase| phase.phase == Phase::Reading && phase.done > 0);
        let (done, total) = phase.map_or((1, None), |phase| (phase.done, phase.total));
        let whole = |here: u64| {
            let whole = u128::from(here) * u128::from(total.unwrap_or(done).max(done)) / u128::from(done);
            u64::try_from(whole).unwrap_or(u64::MAX)
        };
        let (byte_len, cell_count) = (whole(held.byte_len), whole(held.cell_count));
        let wanted = taken(Held { byte_len, cell_count, ..held });
        let (cells, byte_len) = (human::count(held.cell_count), human::bytes(held.byte_len));
        let so_far = if total.is_some_and(|total| total > done) { "the first " } else { "" };
        let at_least = if total.is_none() { "at least " } else { "about " };
        Err(self.refused(&format!("{so_far}{cells} cells take {byte_len}"), at_least, wanted))
    }

    /// Checks that there is room for a write whose cells are all there, and for `work` beside them.
    ///
    /// # Errors
    /// `OutOfMemory`, with the budget that would do.
    pub(crate) fn check_work(&self, held: Held, work: u64) -> Outcome {
        let wanted = held.byte_len.saturating_add(work);
        if wanted <= self.limit() {
            return Ok(());
        }
        let (cells, byte_len) = (human::count(held.cell_count), human::bytes(held.byte_len));
        let work = human::bytes(work);
        let what = format!("{cells} cells take {byte_len}, and their way into a fragment {work}");
        Err(self.refused(&what, "about ", wanted))
    }

    fn refused(&self, what: &str, about: &str, wanted: u64) -> crate::failure::Failure {
        let limit = human::bytes(self.limit());
        let wanted = wanted.saturating_add(wanted / 8).div_ceil(1 << 20);
        too_much(format!(
            "{what}, and this write holds all of its cells at once: a budget of {limit} is too small, {about}--memory {wanted}MiB would do; \
             smalti import goes chunk by chunk in any budget"
        ))
    }
}

/// What cells take until they are in a fragment.
fn taken(held: Held) -> u64 {
    let Held { byte_len, beside, cell_count } = held;
    byte_len
        .saturating_mul(2)
        .max(byte_len.saturating_add(beside))
        .saturating_add(byte_len.saturating_mul(3).min(WAY_BYTE_LEN))
        .saturating_add(cell_count.saturating_mul(ORDERED_CELL_BYTE_LEN))
}

/// Takes the cells of rooms from which none are handed on: is never called.
#[cfg(test)]
pub(crate) fn untaken(_: Cells) -> Outcome {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_beyond_the_room_are_refused_with_what_would_do_for_the_whole_input() {
        let work = Arc::new(Progress::new());
        let _announced = work.announce(&[Phase::Reading]);
        work.enter(Phase::Reading, Unit::Bytes, Some(1000));
        work.advance(Phase::Reading, Unit::Bytes, 100);
        let room = Room::new(Budget::asked(10 << 20), Some(1000), &work);
        let held = Held { byte_len: 8 << 20, beside: 2 << 20, cell_count: 1 };
        room.check(held).unwrap();
        let failure = room.check(Held { beside: 3 << 20, ..held }).unwrap_err().to_string();
        assert!(failure.starts_with("out of memory budget: the first 1 cells take 8.0 MiB"), "{failure}");
        assert!(failure.contains("about --memory 325MiB would do; smalti import"), "{failure}");
        room.check_work(held, 2 << 20).unwrap();
        let failure = room.check_work(held, 8 << 20).unwrap_err().to_string();
        assert!(failure.contains("about --memory 18MiB would do"), "{failure}");
        // Nobody asked for a budget: what is honest goes, what cannot be is refused.
        let room = Room::new(Budget::default(), Some(1 << 30), &work);
        room.check(Held { byte_len: 60 << 30, ..held }).unwrap();
        assert!(
            Room::new(Budget::default(), Some(1000), &work)
                .check(Held { byte_len: 1 << 30, ..held })
                .is_err()
        );
    }
}
