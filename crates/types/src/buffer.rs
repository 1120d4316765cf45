//! Byte buffers aligned for every machine type.

use crate::{Error, ErrorKind, Result};
use bytemuck::Pod;

/// The alignment of a buffer's start in bytes: a cache line.
const ALIGNMENT: usize = 64;

/// The unit of allocation. Allocators give this alignment of themselves, so that they can hand out fresh zero pages as
/// they are; for a larger one they would write the zeros.
type Unit = [u64; 2];

/// A byte buffer whose start is aligned to a cache line, so that it can be viewed as a slice of any machine type
/// and handed to Arrow without a copy. Fresh memory is zero; growth keeps the content and zeroes the rest.
#[derive(Default)]
pub struct AlignedBuf {
    /// The bytes from `start` on, and room around them.
    units: Vec<Unit>,
    start: usize,
    byte_len: usize,
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
        let slack = ALIGNMENT - size_of::<Unit>();
        let unit_count =
            byte_len.checked_add(slack).ok_or_else(|| refused(byte_len))?.div_ceil(size_of::<Unit>());
        let units =
            bytemuck::try_zeroed_slice_box::<Unit>(unit_count).map_err(|()| refused(byte_len))?.into_vec();
        let start = units.as_ptr().cast::<u8>().align_offset(ALIGNMENT);
        Ok(AlignedBuf { units, start, byte_len })
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

fn refused(byte_len: usize) -> Error {
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
    fn an_impossible_length_is_an_error() {
        assert_eq!(AlignedBuf::zeroed(usize::MAX / 2).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }
}
