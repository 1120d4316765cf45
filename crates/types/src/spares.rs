//! Memory of results that nobody needs any more, kept for the results to come.
//!
//! What a program reads box after box, or batch after batch, it lets go of as fast. An allocator gives large memory back to the
//! system, which hands it out again page by page, each with a fault and zeros to write: that takes as long as many a read.

use crate::buffer::{AlignedBuf, Unit, extend_with_zeros, refused, unit_count};
use crate::{Error, Result};
use std::collections::VecDeque;
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
    /// The one that was given back last is at the end.
    idle: Mutex<VecDeque<Vec<Unit>>>,
    capacity: usize,
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
        let mut units = match self.fitting(unit_count) {
            Some(units) => units,
            None => {
                self.shrink_by(unit_count);
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
        byte_len(&self.idle()) as u64
    }

    /// Gives all that is kept back to the allocator.
    pub fn clear(&self) {
        drop(std::mem::take(&mut *self.idle()));
    }

    /// Takes the memory of a buffer back.
    pub(crate) fn give_back(&self, units: Vec<Unit>) {
        let mut let_go = Vec::new();
        let mut idle = self.idle();
        idle.push_back(units);
        while byte_len(&idle) > self.capacity {
            let_go.extend(idle.pop_front());
        }
        // Returning memory to the system takes a while: others need not wait for it.
        drop(idle);
    }

    /// The smallest buffer that holds so many units, if it is not much too large.
    fn fitting(&self, unit_count: usize) -> Option<Vec<Unit>> {
        let mut idle = self.idle();
        let sizes = idle.iter().map(Vec::capacity).enumerate();
        let fits = sizes.filter(|(_, size)| (unit_count..=unit_count * MOST_ROOM).contains(size));
        let (place, _) = fits.min_by_key(|(_, size)| *size)?;
        idle.remove(place)
    }

    /// Lets go of the buffers that wait longest, until they are so many units, or all.
    fn shrink_by(&self, unit_count: usize) {
        let mut let_go = Vec::new();
        let mut idle = self.idle();
        let mut sum = 0;
        while sum < unit_count
            && let Some(units) = idle.pop_front()
        {
            sum += units.capacity();
            let_go.push(units);
        }
        drop(idle);
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<Vec<Unit>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn byte_len(idle: &VecDeque<Vec<Unit>>) -> usize {
    idle.iter().map(|units| units.capacity() * size_of::<Unit>()).sum()
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
