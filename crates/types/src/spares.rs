//! Memory of results that nobody needs any more, kept for the results to come.
//!
//! What a program reads box after box, or batch after batch, it lets go of as fast. An allocator gives large memory back to the
//! system, which hands it out again page by page, each with a fault and zeros to write: that takes as long as many a read.

use crate::buffer::{AlignedBuf, Unit, extend_with_zeros, refused, unit_count};
use crate::{Error, Result};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

    /// A buffer of a length, for those who write all of it: the content is arbitrary. When it is dropped it comes back. Of new
    /// memory every page is written, and `check` asked about every MiB whether to go on.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses; what `check` returns.
    pub fn take(self: &Arc<Self>, byte_len: usize, check: &dyn Fn() -> Result<()>) -> Result<AlignedBuf> {
        if byte_len < LEAST_BYTE_LEN || byte_len > self.capacity {
            return AlignedBuf::zeroed_checked(byte_len, check);
        }
        let unit_count = unit_count(byte_len)?;
        let known = self.idle().fitting(unit_count);
        let mut units = match known {
            Some(units) => units,
            None => {
                self.shrink(|idle, let_go| idle.unit_count > 0 && let_go < unit_count);
                let mut units: Vec<Unit> = Vec::new();
                let refused = |_| -> Error { refused(byte_len) };
                units.try_reserve_exact(unit_count + unit_count / SPARE_ROOM).map_err(refused)?;
                units
            }
        };
        units.truncate(unit_count);
        extend_with_zeros(&mut units, unit_count, check)?;
        Ok(AlignedBuf::used(units, byte_len, Arc::downgrade(self)))
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
        f.debug_struct("Spares").field("byte_len", &self.byte_len()).field("capacity", &self.capacity).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const UNSTOPPED: &dyn Fn() -> Result<()> = &|| Ok(());

    fn place(buf: &AlignedBuf) -> *const u8 {
        buf.as_slice().as_ptr()
    }

    #[test]
    fn what_is_dropped_serves_again() {
        let spares = Arc::new(Spares::new(1 << 20));
        let mut first = spares.take(200_000, UNSTOPPED).unwrap();
        assert!(first.as_slice().iter().all(|&byte| byte == 0));
        first.as_mut_slice().fill(7);
        let memory = place(&first);
        drop(first);
        assert!((200_000..220_000).contains(&spares.byte_len()));
        let second = spares.take(205_000, UNSTOPPED).unwrap();
        assert_eq!((place(&second), second.len(), spares.byte_len()), (memory, 205_000, 0));
        assert_eq!(place(&second) as usize % 64, 0);
        // A copy and what grew out of its memory are not of it.
        let copy = second.clone();
        drop((second, copy));
        assert!(spares.byte_len() < 230_000);
        // Much too large for what is asked for: it is let go of instead.
        let small = spares.take(90_000, UNSTOPPED).unwrap();
        assert_eq!((small.len(), spares.byte_len()), (90_000, 0));
    }

    #[test]
    fn growth_shows_zeros() {
        let spares = Arc::new(Spares::new(1 << 20));
        let mut first = spares.take(200_000, UNSTOPPED).unwrap();
        first.as_mut_slice().fill(7);
        drop(first);
        let mut second = spares.take(150_000, UNSTOPPED).unwrap();
        second.resize(150_033).unwrap();
        second.resize(180_000).unwrap();
        assert!(second.as_slice()[150_000..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn no_more_is_kept_than_the_bound_and_than_was_held_at_once() {
        let spares = Arc::new(Spares::new(1 << 20));
        let held: Vec<AlignedBuf> = (0..20).map(|_| spares.take(100_000, UNSTOPPED).unwrap()).collect();
        drop(held);
        assert!((900_000..=1 << 20).contains(&spares.byte_len()));
        // Nothing fits: as much goes as comes.
        let large = spares.take(800_000, UNSTOPPED).unwrap();
        assert!(spares.byte_len() < 250_000);
        drop(large);
        spares.clear();
        assert_eq!(spares.byte_len(), 0);
        for byte_len in [1 << 10, 2 << 20] {
            drop(spares.take(byte_len, UNSTOPPED).unwrap());
        }
        assert_eq!(spares.byte_len(), 0);
    }

    #[test]
    fn buffers_outlive_their_home_and_stop() {
        let spares = Arc::new(Spares::new(8 << 20));
        let buf = spares.take(100_000, UNSTOPPED).unwrap();
        let stopped = || Err(Error::new(ErrorKind::Cancelled, "stopped"));
        assert_eq!(spares.take(4 << 20, &stopped).unwrap_err().kind(), ErrorKind::Cancelled);
        drop(spares);
        assert_eq!(buf.as_slice().len(), 100_000);
    }
}
