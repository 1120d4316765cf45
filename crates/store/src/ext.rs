//! What follows from the required surface of [`Store`].

use crate::{ByteRange, ReadInto, Store, coalesce};
use bytes::Bytes;
use smalti_types::{AlignedBuf, Error, ErrorKind, Result};

/// Reading conveniences for every store.
pub trait StoreExt: Store {
    /// Bytes of one file.
    ///
    /// # Errors
    /// As for [`Store::read_into`]; `OutOfMemory`. The range is checked against the file before large allocations.
    fn read_at(&self, path: &str, range: ByteRange) -> Result<Bytes> {
        let mut all = self.read_ranges(path, &[range])?;
        all.pop().ok_or_else(|| Error::invalid("no range was asked for"))
    }

    /// Several ranges of one file, in the order asked for. Neighbours are fetched together as the store prefers
    /// (see [`Store::coalescing`]) and share memory then.
    ///
    /// # Errors
    /// As for [`Store::read_into`]; `OutOfMemory`.
    fn read_ranges(&self, path: &str, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let merged = coalesce(ranges, self.coalescing());
        // A length from a damaged file must not become an allocation: the file's size bounds what is honest.
        const TRUSTED_BYTE_LEN: u64 = 16 << 20;
        let total: u64 = merged.iter().fold(0, |sum, m| sum.saturating_add(m.range.byte_len));
        if total > TRUSTED_BYTE_LEN {
            let file_byte_len = self.byte_len(path)?;
            if let Some(m) = merged.iter().find(|m| m.range.end() > file_byte_len) {
                return Err(ends_early(m.range, file_byte_len).at_uri(self.address(path)));
            }
        }
        let mut buffers = merged.iter().map(|m| zeroed(m.range.byte_len)).collect::<Result<Vec<_>>>()?;
        let mut reads: Vec<_> = merged
            .iter()
            .zip(&mut buffers)
            .map(|(m, dest)| ReadInto { path, offset: m.range.start, dest: dest.as_mut_slice() })
            .collect();
        self.read_into(&mut reads)?;
        let mut results = vec![Bytes::new(); ranges.len()];
        for (m, buffer) in merged.iter().zip(buffers) {
            let buffer = Bytes::from_owner(buffer);
            for &idx in &m.members {
                let (Some(wanted), Some(result)) = (ranges.get(idx), results.get_mut(idx)) else { continue };
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the member lies inside the buffer, which is in memory"
                )]
                let (start, byte_len) = ((wanted.start - m.range.start) as usize, wanted.byte_len as usize);
                *result = buffer.slice(start..start + byte_len);
            }
        }
        Ok(results)
    }

    /// A whole file of at most `max_byte_len` bytes, in one request.
    ///
    /// # Errors
    /// `NotFound`; `OutOfMemory` when the file is longer than `max_byte_len`.
    fn read_all(&self, path: &str, max_byte_len: u64) -> Result<Bytes> {
        let tail = self.read_tail(path, max_byte_len)?;
        if tail.file_byte_len > max_byte_len {
            return Err(Error::new(
                ErrorKind::OutOfMemory,
                format!("the file has {} bytes, more than the limit of {max_byte_len}", tail.file_byte_len),
            )
            .at_uri(self.address(path)));
        }
        Ok(tail.bytes)
    }

    /// Whether there is a file of that name.
    ///
    /// # Errors
    /// Everything but `NotFound`.
    fn file_exists(&self, path: &str) -> Result<bool> {
        self.has_file(path)
    }
}

impl<S: Store + ?Sized> StoreExt for S {}

/// A buffer of zeros from a fallible allocation.
pub(crate) fn zeroed(byte_len: u64) -> Result<AlignedBuf> {
    AlignedBuf::zeroed(usize::try_from(byte_len).unwrap_or(usize::MAX))
}

/// Adds zeros to a buffer by a fallible allocation.
pub(crate) fn grow(bytes: &mut Vec<u8>, byte_len: u64) -> Result<()> {
    let added = usize::try_from(byte_len).unwrap_or(usize::MAX);
    bytes.try_reserve(added).map_err(|_| {
        Error::new(ErrorKind::OutOfMemory, format!("no memory for {byte_len} bytes of a file"))
    })?;
    bytes.resize(bytes.len() + added, 0);
    Ok(())
}

/// A file that is shorter than the metadata which points into it.
pub(crate) fn ends_early(range: ByteRange, file_byte_len: u64) -> Error {
    Error::corrupt(format!(
        "bytes {}..{} were expected, but the file has {file_byte_len}",
        range.start,
        range.end()
    ))
}
