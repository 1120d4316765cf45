//! The headers of the pages of a Parquet file, checked before its reader believes them: an allocation that is too large ends the
//! program, which no boundary turns into an error.
//!
//! The headers are structures in Thrift's compact protocol: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>,
//! their fields are those of `PageHeader` in <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use super::Budget;
use super::boundary::damaged;
use crate::failure::{Failure, Outcome};
use crate::human;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::ChunkReader;
use smalti::{Error, ErrorKind};
use std::io::{self, Read};

/// Headers hold statistics of a page, which can have values of some length.
const MAX_HEADER_BYTE_LEN: u64 = 16 << 20;

/// Structures in headers are no deeper than this.
const MAX_DEPTH: u8 = 8;

/// Checks what the pages of all columns say of themselves.
///
/// # Errors
/// Those of the system; `Corrupt` for lengths that contradict the file, `OutOfMemory` for pages that are too large.
pub(super) fn check_pages(file: &impl ChunkReader, metadata: &ParquetMetaData, budget: Budget) -> Outcome {
    let file_byte_len = file.len();
    for (group_idx, group) in metadata.row_groups().iter().enumerate() {
        for column in group.columns() {
            let name = column.column_path().string();
            let wrong = |problem: &str| {
                damaged("Parquet", &format!("column {name:?} of row group {group_idx}: {problem}"))
            };
            let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let end = start.checked_add(column.compressed_size()).and_then(|end| u64::try_from(end).ok());
            let (Ok(mut at), Some(end)) = (u64::try_from(start), end) else {
                return Err(wrong("a negative length"));
            };
            if end > file_byte_len {
                return Err(wrong("it lies beyond the end of the file"));
            }
            while at < end {
                let mut input =
                    Input { input: file.get_read(at).map_err(super::parquet::parquet_failure)?, read: 0 };
                let header = input.header().map_err(|error| wrong(&format!("a page's header: {error}")))?;
                let (Ok(packed), Ok(whole)) = (u64::try_from(header.packed), u64::try_from(header.whole))
                else {
                    return Err(wrong("a page of negative length"));
                };
                at = at.saturating_add(input.read).saturating_add(packed);
                if at > file_byte_len {
                    return Err(wrong("a page lies beyond the end of the file"));
                }
                if whole > budget.unpacked_len(packed) {
                    let (page, limit) = (human::bytes(whole), human::bytes(budget.unpacked_len(packed)));
                    return Err(Failure::Error(Error::new(
                        ErrorKind::OutOfMemory,
                        format!(
                            "column {name:?}: a page of {page}, where the memory budget allows {limit}; give more --memory"
                        ),
                    )));
                }
                // Every value of a dictionary takes a byte at least.
                if u64::try_from(header.dictionary_len).is_ok_and(|len| len > whole)
                    || header.dictionary_len < 0
                {
                    return Err(wrong("a dictionary of more values than bytes"));
                }
            }
        }
    }
    Ok(())
}

/// What a page's header says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    whole: i64,
    packed: i64,
    /// Values of a dictionary; 0 for other pages.
    dictionary_len: i64,
}

struct Input<R> {
    input: R,
    read: u64,
}

impl<R: Read> Input<R> {
    fn header(&mut self) -> io::Result<Header> {
        let mut header = Header::default();
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (2, 4..=6) => header.whole = self.zigzag()?,
                (3, 4..=6) => header.packed = self.zigzag()?,
                (7, 12) => {
                    let mut inner = 0;
                    while let Some(kind) = self.field(&mut inner)? {
                        match (inner, kind) {
                            (1, 4..=6) => header.dictionary_len = self.zigzag()?,
                            _ => self.skip(kind, 1)?,
                        }
                    }
                }
                _ => self.skip(kind, 0)?,
            }
        }
        Ok(header)
    }

    /// The type of the next field, whose number replaces that of the one before; `None` at the end of the structure.
    fn field(&mut self, id: &mut i64) -> io::Result<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *id = match byte >> 4 {
            0 => self.zigzag()?,
            step => id.saturating_add(step.into()),
        };
        Ok(Some(byte & 15))
    }

    fn skip(&mut self, kind: u8, depth: u8) -> io::Result<()> {
        match kind {
            // Booleans of fields are in the type.
            1 | 2 => Ok(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.skip_bytes(8),
            8 => self.varint().and_then(|len| self.skip_bytes(len)),
            9 | 10 if depth < MAX_DEPTH => {
                let byte = self.byte()?;
                let len = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
                let kind = byte & 15;
                (0..len)
                    .try_for_each(|_| if kind <= 2 { self.skip_bytes(1) } else { self.skip(kind, depth + 1) })
            }
            12 if depth < MAX_DEPTH => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(io::Error::other("a field of unknown type")),
        }
    }

    fn skip_bytes(&mut self, len: u64) -> io::Result<()> {
        (0..len).try_for_each(|_| self.byte().map(drop))
    }

    fn zigzag(&mut self) -> io::Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(io::Error::other("a number of more than 64 bits"))
    }

    fn byte(&mut self) -> io::Result<u8> {
        if self.read == MAX_HEADER_BYTE_LEN {
            return Err(io::Error::other("it does not end"));
        }
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.read += 1;
        Ok(byte[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(bytes: &[u8]) -> io::Result<(Header, u64)> {
        let mut input = Input { input: bytes, read: 0 };
        input.header().map(|header| (header, input.read))
    }

    #[test]
    fn headers_are_read_past_what_does_not_matter() {
        // Type 2, 20 bytes of which 10 packed, a dictionary of 3 values that is sorted, and a list of two numbers.
        let bytes = [0x15, 4, 0x15, 40, 0x15, 20, 0x4c, 0x15, 6, 0x15, 0, 0x11, 0, 0x29, 0x25, 1, 2, 0, 0xff];
        let expected = Header { whole: 20, packed: 10, dictionary_len: 3 };
        assert_eq!(header(&bytes).unwrap(), (expected, 18));
        for byte_len in 0..18 {
            assert!(header(&bytes[..byte_len]).is_err());
        }
        assert!(header(&[0x19, 0x19].repeat(20)).is_err());
        assert!(header(&[0x15; 12]).is_err());
    }
}
