//! Cells of one field in memory.

use smalti_types::{AlignedBuf, Error, Result};

/// Owned cells of one field: what a decoded tile or a batch of results holds.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Values back to back, little-endian.
    pub data: AlignedBuf,
    /// For var-sized fields: `cell_count + 1` ascending `u64` byte offsets into `data`, the last one its length.
    pub offsets: Option<AlignedBuf>,
    /// For nullable fields: one byte a cell, 0 for null.
    pub validity: Option<AlignedBuf>,
}

/// Borrowed cells of one field, laid out as in [`Column`].
#[derive(Debug, Clone, Copy)]
pub struct ColumnRef<'a> {
    /// Values back to back, little-endian.
    pub data: &'a [u8],
    /// `cell_count + 1` byte offsets for var-sized fields.
    pub offsets: Option<&'a [u64]>,
    /// One byte a cell for nullable fields.
    pub validity: Option<&'a [u8]>,
}

impl Column {
    /// The cells, borrowed.
    pub fn as_ref(&self) -> ColumnRef<'_> {
        ColumnRef {
            data: self.data.as_slice(),
            offsets: self.offsets.as_ref().map(|offsets| offsets.values()),
            validity: self.validity.as_ref().map(|validity| validity.as_slice()),
        }
    }

    /// The bytes that the buffers hold.
    pub fn byte_len(&self) -> usize {
        self.data.len()
            + self.offsets.as_ref().map_or(0, AlignedBuf::len)
            + self.validity.as_ref().map_or(0, AlignedBuf::len)
    }
}

impl<'a> ColumnRef<'a> {
    /// Fixed-size cells.
    pub fn fixed(data: &'a [u8]) -> Self {
        ColumnRef { data, offsets: None, validity: None }
    }

    /// Var-sized cells with one offset more than cells.
    pub fn var(data: &'a [u8], offsets: &'a [u64]) -> Self {
        ColumnRef { data, offsets: Some(offsets), validity: None }
    }

    /// The same cells with a validity byte each.
    #[must_use]
    pub fn with_validity(mut self, validity: &'a [u8]) -> Self {
        self.validity = Some(validity);
        self
    }

    /// The bytes of cell `idx`, each `cell_byte_len` long unless var-sized.
    ///
    /// # Panics
    /// When `idx` is out of range, or the offsets were not [checked](check_offsets).
    #[expect(clippy::indexing_slicing, reason = "its documentation says so; it is called for every cell")]
    // Crates that are compiled for size would call it.
    #[inline(always)]
    pub fn cell(&self, idx: usize, cell_byte_len: usize) -> &'a [u8] {
        &self.data[self.cell_range(idx, cell_byte_len)]
    }

    /// Where the bytes of cell `idx` are in `data`, each `cell_byte_len` long unless var-sized.
    ///
    /// # Panics
    /// When `idx` is out of range.
    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "its documentation says so; it is called for every cell"
    )]
    #[inline(always)]
    pub(crate) fn cell_range(&self, idx: usize, cell_byte_len: usize) -> std::ops::Range<usize> {
        match self.offsets {
            Some(offsets) => offsets[idx] as usize..offsets[idx + 1] as usize,
            None => idx * cell_byte_len..(idx + 1) * cell_byte_len,
        }
    }

    /// Whether cell `idx` is not null.
    ///
    /// # Panics
    /// When `idx` is out of range.
    #[expect(clippy::indexing_slicing, reason = "its documentation says so; it is called for every cell")]
    #[inline(always)]
    pub fn is_valid(&self, idx: usize) -> bool {
        self.validity.is_none_or(|validity| validity[idx] != 0)
    }
}

/// Checks that offsets start at 0, never fall, end at `data_byte_len`, and cut whole values of `value_byte_len`.
///
/// # Errors
/// `Corrupt`, naming the first cell whose offset is wrong.
pub fn check_offsets(offsets: &[u64], data_byte_len: usize, value_byte_len: usize) -> Result<()> {
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        return Err(Error::corrupt("a var-sized column without offsets"));
    };
    let mut falls = false;
    let mut bits = 0;
    let pairs = || offsets.iter().zip(offsets.get(1..).unwrap_or_default());
    for (before, offset) in pairs() {
        falls |= offset < before;
        bits |= offset;
    }
    let ragged = bits & (value_byte_len as u64 - 1) != 0;
    if first == 0 && last == data_byte_len as u64 && !falls && !ragged {
        return Ok(());
    }
    if first != 0 {
        return Err(Error::corrupt(format!("the offset of cell 0 is {first}, not 0")));
    }
    if let Some((cell, (before, offset))) = pairs().enumerate().find(|(_, (before, offset))| offset < before)
    {
        return Err(Error::corrupt(format!(
            "the offset of cell {} is {offset}, below {before} of the cell before",
            cell + 1
        )));
    }
    let mut all = offsets.iter().enumerate();
    if let Some((cell, offset)) = all.find(|(_, offset)| **offset > data_byte_len as u64) {
        return Err(Error::corrupt(format!(
            "the offset of cell {cell} is {offset}, beyond the {data_byte_len} bytes of data"
        )));
    }
    if last != data_byte_len as u64 {
        return Err(Error::corrupt(format!("offsets end at {last}, the data at {data_byte_len}")));
    }
    Err(Error::corrupt(format!("an offset is no multiple of the {value_byte_len} bytes of a value")))
}

/// Turns the offsets of cells, without the one behind the last, into those of their ends, and checks them as [`check_offsets`] does.
///
/// # Errors
/// As [`check_offsets`].
pub(crate) fn starts_to_ends(offsets: &mut [u64], data_byte_len: usize, value_byte_len: usize) -> Result<()> {
    let Some(&first) = offsets.first() else {
        return check_offsets(&[0], data_byte_len, value_byte_len);
    };
    offsets.copy_within(1.., 0);
    if let Some(last) = offsets.last_mut() {
        *last = data_byte_len as u64;
    }
    let (mut falls, mut before, mut bits) = (false, first, first);
    for &end in &*offsets {
        falls |= end < before;
        bits |= end;
        before = end;
    }
    if first == 0 && !falls && bits & (value_byte_len as u64 - 1) == 0 {
        return Ok(());
    }
    // One that is beyond the data is told as that, not as the end that falls behind it.
    let mut all: Vec<u64> = std::iter::once(first).chain(offsets.iter().copied()).collect();
    if let [.., start, end] = &mut all[..] {
        *end = (*end).max(*start);
    }
    check_offsets(&all, data_byte_len, value_byte_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_offsets_are_named() {
        assert!(check_offsets(&[0, 4, 8], 8, 4).is_ok());
        let mut offsets = [0, 4];
        starts_to_ends(&mut offsets, 8, 4).unwrap();
        assert_eq!(offsets, [4, 8]);
        assert!(starts_to_ends(&mut [], 0, 4).is_ok() && starts_to_ends(&mut [], 4, 4).is_err());
        for (offsets, words) in [
            (&[1u64, 4, 8][..], "cell 0 is 1"),
            (&[0, 6, 4, 8], "cell 2 is 4, below 6"),
            (&[0, 12, 12], "cell 1 is 12, beyond the 8"),
            (&[0, 4], "end at 4"),
            (&[0, 3, 8], "no multiple of the 4"),
            (&[], "without offsets"),
        ] {
            let error = check_offsets(offsets, 8, 4).unwrap_err();
            assert!(error.message().contains(words), "{error}");
            // Without the last one there is no end to be wrong.
            if let Some((_, starts)) = offsets.split_last().filter(|_| !words.contains("end at")) {
                let error = starts_to_ends(&mut starts.to_vec(), 8, 4).unwrap_err();
                let words = words.split(',').next().unwrap();
                assert!(error.message().contains(words), "{error}");
            }
        }
    }
}
