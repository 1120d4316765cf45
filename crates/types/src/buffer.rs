//! Byte buffers aligned for every machine type.

use crate::Result;
use crate::spares::Spares;
use crate::units::{ALIGNMENT, Unit, fresh_units, refused, unit_count};
use bytemuck::Pod;
use std::sync::{Arc, Weak};

/// A byte buffer whose start is aligned to a cache line, so that it can be viewed as a slice of any machine type
/// and handed to Arrow without a copy. Fresh memory is zero; growth keeps the content and zeroes the rest. One that came out of
/// [`Spares`] goes back there when it is dropped.
#[derive(Default)]
pub struct AlignedBuf {
    /// The bytes from `start` on, and room around them.
    units: Vec<Unit>,
    start: usize,
    byte_len: usize,
    home: Weak<Spares>,
}

impl AlignedBuf {
    /// An empty buffer; allocates nothing.
    pub fn new() -> Self {
        AlignedBuf::default()
    }

    /// A buffer of `byte_len` zeros. Large ones come from fresh zero pages and cost nothing until touched.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses.
    pub fn zeroed(byte_len: usize) -> Result<Self> {
        if byte_len == 0 {
            return Ok(AlignedBuf::default());
        }
        let units = fresh_units(unit_count(byte_len)?).map_err(|_| refused(byte_len))?;
        Ok(AlignedBuf::aligned(units, byte_len))
    }

    fn aligned(units: Vec<Unit>, byte_len: usize) -> Self {
        let start = units.as_ptr().cast::<u8>().align_offset(ALIGNMENT);
        AlignedBuf { units, start, byte_len, home: Weak::new() }
    }

    /// A buffer of a length out of what others gave back, for those who write all of it: the content is arbitrary. When it is dropped it
    /// goes back. `check` is asked whether to go on before new memory is taken, and about
    /// every MiB of what has to be written.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses; what `check` returns.
    pub fn from_spares(
        spares: &Arc<Spares>,
        byte_len: usize,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Self> {
        if !spares.takes(byte_len) {
            check()?;
            return AlignedBuf::zeroed(byte_len);
        }
        let mut buf = AlignedBuf::aligned(spares.take(unit_count(byte_len)?, check)?, byte_len);
        let end = buf.start + byte_len;
        // Growth shows zeros.
        bytemuck::cast_slice_mut::<Unit, u8>(&mut buf.units)[end..].fill(0);
        buf.home = Arc::downgrade(spares);
        Ok(buf)
    }

    /// Changes the length. Bytes that come back into view after a shorter length keep their old content.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses; the buffer is unchanged then.
    pub fn resize(&mut self, byte_len: usize) -> Result<()> {
        let capacity = self.capacity();
        if byte_len > capacity {
            let mut grown = if self.byte_len == 0 {
                AlignedBuf::zeroed(byte_len)?
            } else {
                AlignedBuf::zeroed(byte_len.max(capacity.saturating_mul(2)))
                    .or_else(|_| AlignedBuf::zeroed(byte_len))?
            };
            grown.as_mut_slice()[..self.byte_len].copy_from_slice(self.as_slice());
            *self = grown;
        }
        self.byte_len = byte_len;
        Ok(())
    }

    /// The most bytes that the memory at hand holds.
    fn capacity(&self) -> usize {
        self.units.len() * size_of::<Unit>() - self.start
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<()> {
        let start = self.byte_len;
        self.resize(start + bytes.len())?;
        self.as_mut_slice()[start..].copy_from_slice(bytes);
        Ok(())
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.byte_len
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.byte_len == 0
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.units)[self.start..][..self.byte_len]
    }

    /// The bytes, writable.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.units)[self.start..][..self.byte_len]
    }

    /// The bytes as values of a machine type; a rest shorter than one value is left out.
    pub fn values<T: Pod>(&self) -> &[T] {
        let whole = self.byte_len / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice(&self.as_slice()[..whole])
    }

    /// The bytes as writable values of a machine type; a rest shorter than one value is left out.
    pub fn values_mut<T: Pod>(&mut self) -> &mut [T] {
        let whole = self.byte_len / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice_mut(&mut self.as_mut_slice()[..whole])
    }
}

impl Clone for AlignedBuf {
    /// # Panics
    /// When the allocator refuses, as clones of standard containers do.
    fn clone(&self) -> Self {
        let mut copy = AlignedBuf::zeroed(self.byte_len).unwrap_or_else(|error| panic!("{error}"));
        copy.as_mut_slice().copy_from_slice(self.as_slice());
        copy
    }
}

impl AsRef<[u8]> for AlignedBuf {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.byte_len)
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.give_back(std::mem::take(&mut self.units));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, ErrorKind};

    #[test]
    fn a_buffer_is_aligned_and_keeps_its_content_when_it_grows() {
        let mut buf = AlignedBuf::new();
        buf.extend_from_slice(&[1, 2, 3]).unwrap();
        buf.extend_from_slice(&[4; 1000]).unwrap();
        assert_eq!(buf.as_slice().as_ptr() as usize % 64, 0);
        assert_eq!(&buf.as_slice()[..5], &[1, 2, 3, 4, 4]);
        assert_eq!(buf.clone().as_slice(), buf.as_slice());
        assert_eq!(buf.clone().as_slice().as_ptr() as usize % 64, 0);
        assert_eq!(buf.values::<u32>().len(), 250);
    }

    #[test]
    fn zeros_of_any_length_can_be_asked_for() {
        for byte_len in [0, 1, 1 << 20, (3 << 20) + 5, (32 << 20) + 1] {
            let buf = AlignedBuf::zeroed(byte_len).unwrap();
            assert_eq!((buf.len(), buf.as_slice().as_ptr() as usize % 64 * buf.len().min(1)), (byte_len, 0));
            assert!(buf.as_slice().iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn an_impossible_length_is_an_error() {
        assert_eq!(AlignedBuf::zeroed(usize::MAX / 2).unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert_eq!(AlignedBuf::zeroed(usize::MAX).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }

    const UNSTOPPED: &dyn Fn() -> Result<()> = &|| Ok(());

    fn place(buf: &AlignedBuf) -> *const u8 {
        buf.as_slice().as_ptr()
    }

    #[test]
    fn what_is_dropped_serves_again() {
        let spares = Arc::new(Spares::new(1 << 20));
        let mut first = AlignedBuf::from_spares(&spares, 200_000, UNSTOPPED).unwrap();
        assert!(first.as_slice().iter().all(|&byte| byte == 0));
        first.as_mut_slice().fill(7);
        let memory = place(&first);
        drop(first);
        assert!((200_000..220_000).contains(&spares.byte_len()));
        let second = AlignedBuf::from_spares(&spares, 205_000, UNSTOPPED).unwrap();
        assert_eq!((place(&second), second.len(), spares.byte_len()), (memory, 205_000, 0));
        assert_eq!(place(&second) as usize % 64, 0);
        // A copy and what grew out of its memory are not of it.
        let copy = second.clone();
        drop((second, copy));
        assert!(spares.byte_len() < 230_000);
        // Much too large for what is asked for: it is let go of instead.
        let small = AlignedBuf::from_spares(&spares, 90_000, UNSTOPPED).unwrap();
        assert_eq!((small.len(), spares.byte_len()), (90_000, 0));
    }

    #[test]
    fn growth_shows_zeros() {
        let spares = Arc::new(Spares::new(1 << 20));
        let mut first = AlignedBuf::from_spares(&spares, 200_000, UNSTOPPED).unwrap();
        first.as_mut_slice().fill(7);
        drop(first);
        let mut second = AlignedBuf::from_spares(&spares, 150_000, UNSTOPPED).unwrap();
        second.resize(150_033).unwrap();
        second.resize(180_000).unwrap();
        assert!(second.as_slice()[150_000..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn no_more_is_kept_than_the_bound_and_than_was_held_at_once() {
        let spares = Arc::new(Spares::new(1 << 20));
        let held: Vec<AlignedBuf> =
            (0..20).map(|_| AlignedBuf::from_spares(&spares, 100_000, UNSTOPPED).unwrap()).collect();
        drop(held);
        assert!((900_000..=1 << 20).contains(&spares.byte_len()));
        // Nothing fits: as much goes as comes.
        let large = AlignedBuf::from_spares(&spares, 800_000, UNSTOPPED).unwrap();
        assert!(spares.byte_len() < 250_000);
        drop(large);
        spares.clear();
        assert_eq!(spares.byte_len(), 0);
        for byte_len in [1 << 10, 2 << 20] {
            drop(AlignedBuf::from_spares(&spares, byte_len, UNSTOPPED).unwrap());
        }
        assert_eq!(spares.byte_len(), 0);
    }

    #[test]
    fn buffers_outlive_their_home_and_stop() {
        let spares = Arc::new(Spares::new(8 << 20));
        let buf = AlignedBuf::from_spares(&spares, 100_000, UNSTOPPED).unwrap();
        let stopped = || Err(Error::new(ErrorKind::Cancelled, "stopped"));
        assert_eq!(
            AlignedBuf::from_spares(&spares, 4 << 20, &stopped).unwrap_err().kind(),
            ErrorKind::Cancelled
        );
        drop(spares);
        assert_eq!(buf.as_slice().len(), 100_000);
    }
}
