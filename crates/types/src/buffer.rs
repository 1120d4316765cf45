//! Byte buffers aligned for every machine type.

use crate::{Error, ErrorKind, Result};
use bytemuck::Pod;

/// A cache line: the unit of allocation that gives the alignment.
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A byte buffer whose start is aligned to a cache line, so that it can be viewed as a slice of any machine type
/// and handed to Arrow without a copy. Fresh memory is zero; growth keeps the content and zeroes the rest.
#[derive(Clone, Default)]
pub struct AlignedBuf {
    lines: Vec<Line>,
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
        let lines = bytemuck::try_zeroed_slice_box::<Line>(byte_len.div_ceil(64))
            .map_err(|()| refused(byte_len))?
            .into_vec();
        Ok(AlignedBuf { lines, byte_len })
    }

    /// Changes the length. Bytes that come back into view after a shorter length keep their old content.
    ///
    /// # Errors
    /// `OutOfMemory` when the allocator refuses; the buffer is unchanged then.
    pub fn resize(&mut self, byte_len: usize) -> Result<()> {
        let line_count = byte_len.div_ceil(64);
        if line_count > self.lines.len() {
            if self.byte_len == 0 {
                *self = AlignedBuf::zeroed(byte_len)?;
                return Ok(());
            }
            self.lines.try_reserve(line_count - self.lines.len()).map_err(|_| refused(byte_len))?;
            self.lines.resize(line_count, Line([0; 64]));
        }
        self.byte_len = byte_len;
        Ok(())
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
        &bytemuck::cast_slice(&self.lines)[..self.byte_len]
    }

    /// The bytes, writable.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.byte_len]
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
        assert_eq!(buf.values::<u32>().len(), 250);
    }

    #[test]
    fn an_impossible_length_is_an_error() {
        assert_eq!(AlignedBuf::zeroed(usize::MAX / 2).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }
}
