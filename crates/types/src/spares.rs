//! Memory of results that nobody needs any more, kept for the results to come.
//!
//! What a program reads box after box, or batch after batch, it lets go of as fast. An allocator gives large memory back to the
//! system, which hands it out again page by page, each with a fault and zeros to write: that takes as long as many a read.

use crate::Result;
use crate::units::{Unit, extend_with_zeros, fresh_units};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Smaller buffers are the allocator's business.
const LEAST_BYTE_LEN: usize = 64 << 10;

/// A buffer serves for what is at least one in so many of its length.
const MOST_ROOM: usize = 2;

/// Fresh buffers have room for one in so many more, so that one of nearly the same length can take their place.
const SPARE_ROOM: usize = 16;

/// Buffers that were given back, up to a number of bytes. What is kept never adds to what was held at once before: whoever finds
/// nothing that fits has as much let go of as is allocated.
pub struct Spares {
    idle: Mutex<Idle>,
    capacity: usize,
}

#[derive(Default)]
struct Idle {
    /// By their room in units; those of one size in the order in which they came, each with its number.
    by_size: BTreeMap<usize, VecDeque<(u64, Vec<Unit>)>>,
    /// The room of all.
    unit_count: usize,
    /// The number of the next that comes.
    next: u64,
}

impl Idle {
    fn push(&mut self, units: Vec<Unit>) {
        self.unit_count += units.capacity();
        self.by_size.entry(units.capacity()).or_default().push_back((self.next, units));
        self.next += 1;
    }

    /// The smallest buffer that holds so many units, if it is not much too large; of several the one that came last.
    fn fitting(&mut self, unit_count: usize) -> Option<Vec<Unit>> {
        let mut sizes = self.by_size.range_mut(unit_count..=unit_count.saturating_mul(MOST_ROOM));
        let (_, units) = sizes.find_map(|(_, same)| same.pop_back())?;
        self.taken(&units);
        Some(units)
    }

    /// The one that came first.
    fn oldest(&mut self) -> Option<Vec<Unit>> {
        let same = self.by_size.values_mut().min_by_key(|same| same.front().map(|(number, _)| *number))?;
        let (_, units) = same.pop_front()?;
        self.taken(&units);
        Some(units)
    }

    fn taken(&mut self, units: &Vec<Unit>) {
        self.unit_count -= units.capacity();
        if self.by_size.get(&units.capacity()).is_some_and(VecDeque::is_empty) {
            self.by_size.remove(&units.capacity());
        }
    }
}

impl Spares {
    /// Nothing yet, and never more than so many bytes.
    pub fn new(capacity: u64) -> Self {
        Spares { idle: Mutex::default(), capacity: usize::try_from(capacity).unwrap_or(usize::MAX) }
    }

    /// Whether buffers of a length are kept.
    pub(crate) fn takes(&self, byte_len: usize) -> bool {
        (LEAST_BYTE_LEN..=self.capacity).contains(&byte_len)
    }

    /// So many units of memory, the content of which is arbitrary. `check` is asked before new memory is taken, and about every MiB of
    /// what has to be written.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses; what `check` returns.
    pub(crate) fn take(&self, unit_count: usize, check: &dyn Fn() -> Result<()>) -> Result<Vec<Unit>> {
        let known = self.idle().fitting(unit_count);
        let mut units = match known {
            Some(units) => units,
            None => {
                self.shrink(|idle, let_go| idle.unit_count > 0 && let_go < unit_count);
                check()?;
                fresh_units(unit_count + unit_count / SPARE_ROOM)?
            }
        };
        units.truncate(unit_count);
        extend_with_zeros(&mut units, unit_count, check)?;
        Ok(units)
    }

    /// The bytes that are kept.
    pub fn byte_len(&self) -> u64 {
        (self.idle().unit_count * size_of::<Unit>()) as u64
    }

    /// Gives all that is kept back to the allocator.
    pub fn clear(&self) {
        drop(std::mem::take(&mut *self.idle()));
    }

    /// Takes the memory of a buffer back.
    pub(crate) fn give_back(&self, units: Vec<Unit>) {
        self.idle().push(units);
        self.shrink(|idle, _| idle.unit_count * size_of::<Unit>() > self.capacity);
    }

    /// Lets go of buffers, the one that waits longest first, while `goes_on` says so of those that are left and of the units that went.
    fn shrink(&self, goes_on: impl Fn(&Idle, usize) -> bool) {
        let (mut let_go, mut unit_count) = (Vec::new(), 0);
        let mut idle = self.idle();
        while goes_on(&idle, unit_count)
            && let Some(units) = idle.oldest()
        {
            unit_count += units.capacity();
            let_go.push(units);
        }
        // Returning memory to the system takes a while: others need not wait for it.
        drop(idle);
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Spares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spares")
            .field("byte_len", &self.byte_len())
            .field("capacity", &self.capacity)
            .finish()
    }
}
