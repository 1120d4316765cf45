//! A cursor over untrusted bytes that can say what it read, and where.

use smalti_types::{Error, ErrorKind, Result};

/// One field as it was read: what `inspect` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEntry {
    /// Nesting of structures, from 0.
    pub depth: usize,
    /// The structure that the field belongs to.
    pub structure: &'static str,
    /// The field.
    pub field: &'static str,
    /// Offset of the field's first byte from the start of the bytes that are read.
    pub byte_offset: u64,
    /// Bytes of the field, nested structures included.
    pub byte_len: u64,
    /// The value, shortened where it is long.
    pub value: String,
}

/// A cursor over bytes that nobody vouches for.
///
/// Every read checks what is left first, so a length from disk never reaches an allocation unchecked, and
/// every error names structure, field and byte offset. With a trace, each field read is also recorded.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    trace: Option<Vec<TraceEntry>>,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0, depth: 0, trace: None }
    }

    /// A cursor that records every field.
    pub fn traced(bytes: &'a [u8]) -> Self {
        Reader { trace: Some(Vec::new()), ..Reader::new(bytes) }
    }

    /// The recorded fields, in the order of their bytes; empty without a trace.
    pub fn into_trace(self) -> Vec<TraceEntry> {
        self.trace.unwrap_or_default()
    }

    /// Offset of the next byte.
    pub fn byte_offset(&self) -> u64 {
        self.at as u64
    }

    /// Bytes that are left.
    pub fn remaining(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    /// The bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The next `byte_len` bytes.
    ///
    /// # Errors
    /// `Corrupt` when fewer are left.
    pub fn take(&mut self, byte_len: u64) -> Result<&'a [u8]> {
        let rest = self.rest();
        let taken = usize::try_from(byte_len).ok().and_then(|byte_len| rest.get(..byte_len));
        let Some(taken) = taken else {
            return Err(Error::corrupt(format!("{byte_len} bytes are needed, {} are left", rest.len()))
                .at_offset(self.byte_offset()));
        };
        self.at += taken.len();
        Ok(taken)
    }

    /// The next `count` items of `item_len` bytes each.
    ///
    /// # Errors
    /// `Corrupt` when fewer are left.
    pub fn take_items(&mut self, count: u64, item_len: u64) -> Result<&'a [u8]> {
        match count.checked_mul(item_len) {
            Some(byte_len) if byte_len <= self.remaining() => self.take(byte_len),
            _ => Err(Error::corrupt(format!(
                "{count} items of {item_len} bytes are needed, {} bytes are left",
                self.remaining()
            ))
            .at_offset(self.byte_offset())),
        }
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// `Corrupt` when fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    /// The next little-endian `u8`.
    ///
    /// # Errors
    /// `Corrupt` at the end of the bytes.
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next little-endian `u32`.
    ///
    /// # Errors
    /// `Corrupt` when fewer than four bytes are left.
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next little-endian `u64`.
    ///
    /// # Errors
    /// `Corrupt` when fewer than eight bytes are left.
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A cursor's worth of nested bytes: runs `read` on the next `byte_len` bytes only, and wants all of them used.
    ///
    /// # Errors
    /// Those of `read`; `Corrupt` when bytes are missing or left over.
    pub fn within<T>(&mut self, byte_len: u64, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let start = self.at;
        let inner_len = self.take(byte_len)?.len();
        let whole = self.bytes;
        self.bytes = &whole[..start + inner_len];
        self.at = start;
        let outcome = read(self).and_then(|value| self.expect_end().map(|()| value));
        self.bytes = whole;
        outcome
    }

    /// Wants all bytes to be used.
    ///
    /// # Errors
    /// `Corrupt` when bytes are left over.
    pub fn expect_end(&self) -> Result<()> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(Error::corrupt(format!("{left} bytes are left over")).at_offset(self.byte_offset())),
        }
    }

    /// Reads one field: names it in errors and in the trace.
    pub(crate) fn field<T>(
        &mut self,
        structure: &'static str,
        field: &'static str,
        show: fn(&T) -> String,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let byte_offset = self.byte_offset();
        let depth = self.depth;
        let slot = self.trace.as_mut().map(|trace| {
            trace.push(TraceEntry {
                depth,
                structure,
                field,
                byte_offset,
                byte_len: 0,
                value: String::new(),
            });
            trace.len() - 1
        });
        self.depth += 1;
        let outcome = read(self);
        self.depth = depth;
        let byte_len = self.byte_offset() - byte_offset;
        if let (Some(trace), Some(slot), Ok(value)) = (self.trace.as_mut(), slot, &outcome) {
            trace[slot].byte_len = byte_len;
            trace[slot].value = show(value);
        }
        outcome.map_err(|error| match error.kind() {
            ErrorKind::Corrupt | ErrorKind::Unsupported => {
                error.in_field(structure, field).at_offset(byte_offset)
            }
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_exceeds_what_is_left_is_refused_before_anything_is_allocated() {
        let mut reader = Reader::new(&[0; 16]);
        let error = reader.take_items(u64::MAX, 8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(error.location().byte_offset, Some(0));
        assert!(reader.take_items(3, 8).is_err());
        assert_eq!(reader.take_items(2, 8).unwrap().len(), 16);
    }

    #[test]
    fn nested_bytes_must_be_used_up() {
        let mut reader = Reader::new(&[1, 2, 3, 4]);
        assert!(reader.within(2, |inner| inner.u8()).is_err());
        let mut reader = Reader::new(&[1, 2, 3, 4]);
        assert_eq!(reader.within(1, |inner| inner.u8()).unwrap(), 1);
        assert_eq!(reader.remaining(), 3);
        assert!(reader.within(4, |inner| inner.u8()).is_err());
    }
}
