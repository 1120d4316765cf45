//! Borrowed columns of coordinates.

use smalti_types::{Datatype, Error, Physical, Result};

/// The coordinates of some cells on one dimension, validated and borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    repr: Repr<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Repr<'a> {
    Numbers { datatype: Datatype, values: &'a [u8] },
    Strings { offsets: &'a [u64], bytes: &'a [u8] },
}

impl<'a> Column<'a> {
    /// A column of numbers: the little-endian values of a datatype, one after the other, without any alignment.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are no whole number of values.
    pub fn numbers(datatype: Datatype, values: &'a [u8]) -> Result<Self> {
        if !values.len().is_multiple_of(datatype.byte_len()) {
            return Err(Error::corrupt(format!(
                "{} bytes are no whole number of values of {datatype}",
                values.len()
            )));
        }
        Ok(Column { repr: Repr::Numbers { datatype, values } })
    }

    /// A column of strings: cell `i` begins at `offsets[i]` of `bytes` and ends where the next begins; the last ends
    /// with the bytes.
    ///
    /// # Errors
    /// `Corrupt` when an offset is below its predecessor or beyond the bytes.
    pub fn strings(offsets: &'a [u64], bytes: &'a [u8]) -> Result<Self> {
        let falls = offsets.windows(2).position(|pair| pair[0] > pair[1]);
        let beyond = || offsets.last().is_some_and(|last| *last > bytes.len() as u64);
        if let Some(cell) = falls {
            return Err(Error::corrupt(format!("the string of cell {cell} ends before it begins")));
        }
        if beyond() {
            return Err(Error::corrupt(format!(
                "a string begins beyond the {} bytes of its column",
                bytes.len()
            )));
        }
        Ok(Column { repr: Repr::Strings { offsets, bytes } })
    }

    /// The number of cells.
    pub fn cell_count(&self) -> usize {
        match self.repr {
            Repr::Numbers { datatype, values } => values.len() / datatype.byte_len(),
            Repr::Strings { offsets, .. } => offsets.len(),
        }
    }

    /// The datatype of numbers; `None` for strings.
    pub fn datatype(&self) -> Option<Datatype> {
        match self.repr {
            Repr::Numbers { datatype, .. } => Some(datatype),
            Repr::Strings { .. } => None,
        }
    }

    /// Whether the cells are strings.
    pub fn is_string(&self) -> bool {
        matches!(self.repr, Repr::Strings { .. })
    }

    /// The string of a cell; `None` beyond the last cell or in a column of numbers.
    #[inline]
    pub fn string(&self, cell: usize) -> Option<&'a [u8]> {
        let Repr::Strings { offsets, bytes } = self.repr else { return None };
        let start = usize::try_from(*offsets.get(cell)?).ok()?;
        let end = offsets.get(cell + 1).map_or(bytes.len(), |end| *end as usize);
        bytes.get(start..end)
    }

    /// The ordinal of a cell's number; `None` beyond the last cell or in a column of strings.
    pub fn ordinal(&self, cell: usize) -> Option<u64> {
        let Repr::Numbers { datatype, values } = self.repr else { return None };
        let start = cell.checked_mul(datatype.byte_len())?;
        datatype.ordinal(values.get(start..)?).ok()
    }

    /// The bytes of the numbers of some cells; empty for strings or beyond the last cell.
    pub(crate) fn number_bytes(&self, cells: std::ops::Range<usize>) -> &'a [u8] {
        match self.repr {
            Repr::Numbers { datatype, values } => {
                let byte_len = datatype.byte_len();
                values.get(cells.start * byte_len..cells.end * byte_len).unwrap_or_default()
            }
            Repr::Strings { .. } => &[],
        }
    }

    /// The column without all but some cells, cut off at the last one.
    pub fn slice(&self, cells: std::ops::Range<usize>) -> Column<'a> {
        let end = cells.end.min(self.cell_count());
        let start = cells.start.min(end);
        let repr = match self.repr {
            Repr::Numbers { datatype, .. } => {
                Repr::Numbers { datatype, values: self.number_bytes(start..end) }
            }
            Repr::Strings { offsets, bytes } => {
                let bytes_end = offsets.get(end).map_or(bytes.len(), |end| *end as usize);
                Repr::Strings { offsets: &offsets[start..end], bytes: &bytes[..bytes_end] }
            }
        };
        Column { repr }
    }
}

/// The whole values in some bytes.
#[inline(always)]
pub(crate) fn values_of<T: Physical>(bytes: &[u8]) -> impl ExactSizeIterator<Item = T> + '_ {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned::<T>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_and_far_offsets_are_corrupt() {
        assert!(Column::strings(&[0, 3, 2], b"abcdef").is_err());
        assert!(Column::strings(&[0, 7], b"abcdef").is_err());
        let column = Column::strings(&[0, 3, 3, 6], b"abcdef").unwrap();
        assert_eq!(column.string(0), Some(&b"abc"[..]));
        assert_eq!(column.string(1), Some(&b""[..]));
        assert_eq!(column.string(2), Some(&b"def"[..]));
        assert_eq!(column.string(3), Some(&b""[..]));
        assert_eq!(column.string(4), None);
        assert_eq!(column.slice(0..1).string(0), Some(&b"abc"[..]));
    }

    #[test]
    fn numbers_need_whole_values() {
        assert!(Column::numbers(Datatype::Int32, &[0; 7]).is_err());
        assert_eq!(Column::numbers(Datatype::Int32, &[0; 8]).unwrap().cell_count(), 2);
    }
}
