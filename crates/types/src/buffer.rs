//! Byte buffers aligned for every machine type.

use crate::spares::Spares;
use crate::{Error, ErrorKind, Result};
use bytemuck::Pod;
use std::sync::Weak;

/// The alignment of a buffer's start in bytes: a cache line.
const ALIGNMENT: usize = 64;

/// The unit of allocation. Allocators give this alignment of themselves, so that they can hand out fresh zero pages as
/// they are; for a larger one they would write the zeros.
pub(crate) type Unit = [u64; 2];

/// Allocators take what is larger from the system, which hands it out as zeros that cost nothing until touched; what is smaller
/// they may have had before, and write zeros over it. (glibc: the largest value of `M_MMAP_THRESHOLD`.)
const MAX_REUSED_BYTE_LEN: usize = 32 << 20;

/// Zeros that are written in one go.
const ZEROING_STEP: usize = (1 << 20) / size_of::<Unit>();

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
        let units = bytemuck::try_zeroed_slice_box::<Unit>(unit_count(byte_len)?);
        Ok(AlignedBuf::aligned(units.map_err(|()| refused(byte_len))?.into_vec(), byte_len))
    }

    /// As [`zeroed`](AlignedBuf::zeroed), for work that can be stopped: where the zeros are likely to be written, `check` is asked
    /// about every MiB whether to go on.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses; what `check` returns.
    pub fn zeroed_checked(byte_len: usize, check: &dyn Fn() -> Result<()>) -> Result<Self> {
        let unit_count = unit_count(byte_len)?;
        if unit_count <= ZEROING_STEP || byte_len > MAX_REUSED_BYTE_LEN {
            check()?;
            return AlignedBuf::zeroed(byte_len);
        }
        let mut units: Vec<Unit> = Vec::new();
        units.try_reserve_exact(unit_count).map_err(|_| refused(byte_len))?;
        extend_with_zeros(&mut units, unit_count, check)?;
        Ok(AlignedBuf::aligned(units, byte_len))
    }

    fn aligned(units: Vec<Unit>, byte_len: usize) -> Self {
        let start = units.as_ptr().cast::<u8>().align_offset(ALIGNMENT);
        AlignedBuf { units, start, byte_len, home: Weak::new() }
    }

    /// A buffer in memory that was used before: the content is arbitrary, and zero beyond the length.
    pub(crate) fn used(units: Vec<Unit>, byte_len: usize, home: Weak<Spares>) -> Self {
        let mut buf = AlignedBuf::aligned(units, byte_len);
        let end = buf.start + byte_len;
        bytemuck::cast_slice_mut::<Unit, u8>(&mut buf.units)[end..].fill(0);
        buf.home = home;
        buf
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

/// Appends zeros within the capacity; `check` is asked about every MiB.
pub(crate) fn extend_with_zeros(
    units: &mut Vec<Unit>,
    unit_count: usize,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    while units.len() < unit_count {
        check()?;
        units.resize(unit_count.min(units.len() + ZEROING_STEP), Unit::default());
    }
    Ok(())
}

/// The units that hold a buffer wherever the allocator puts them.
pub(crate) fn unit_count(byte_len: usize) -> Result<usize> {
    let slack = ALIGNMENT - size_of::<Unit>();
    Ok(byte_len.checked_add(slack).ok_or_else(|| refused(byte_len))?.div_ceil(size_of::<Unit>()))
}

pub(crate) fn refused(byte_len: usize) -> Error {
    Error::new(ErrorKind::OutOfMemory, format!("the allocator refused {byte_len} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn zeros_of_any_length_can_be_asked_for_in_steps() {
        for byte_len in [0, 1, 1 << 20, (3 << 20) + 5, MAX_REUSED_BYTE_LEN + 1] {
            let buf = AlignedBuf::zeroed_checked(byte_len, &|| Ok(())).unwrap();
            assert_eq!((buf.len(), buf.as_slice().as_ptr() as usize % 64 * buf.len().min(1)), (byte_len, 0));
            assert!(buf.as_slice().iter().all(|&byte| byte == 0));
        }
        let asked = std::cell::Cell::new(0);
        let check = || {
            asked.set(asked.get() + 1);
            if asked.get() < 3 { Ok(()) } else { Err(Error::new(ErrorKind::Cancelled, "stopped")) }
        };
        let error = AlignedBuf::zeroed_checked(8 << 20, &check).unwrap_err();
        assert_eq!((error.kind(), asked.get()), (ErrorKind::Cancelled, 3));
    }

    #[test]
    fn an_impossible_length_is_an_error() {
        assert_eq!(AlignedBuf::zeroed(usize::MAX / 2).unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert_eq!(
            AlignedBuf::zeroed_checked(usize::MAX, &|| Ok(())).unwrap_err().kind(),
            ErrorKind::OutOfMemory
        );
    }
}
