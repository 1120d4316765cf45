//! The metadata file of a fragment: its end, which holds the footer, and sections in front of it.

use crate::{ArrayPlace, ListedFragment};
use bytes::Bytes;
use smalti_store::{ByteRange, StoreExt, Tail};
use smalti_types::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The bytes that are read from the end of a metadata file at once: all of it for most fragments.
pub(super) const TAIL_BYTE_LEN: u64 = 64 << 10;

/// A metadata file. Its end is in memory once anything of it was needed.
#[derive(Debug, Default)]
pub(super) struct MetadataBytes {
    pub(super) tail: OnceLock<Tail>,
    /// The length of the file, once it was opened or asked for: not each end that is read is kept.
    pub(super) file_byte_len: OnceLock<u64>,
    /// Sections that lie in front of the end, read before they were asked for; by their first byte.
    pub(super) pieces: Mutex<BTreeMap<u64, Bytes>>,
}

/// Where a metadata file is. Its path is made when it is asked for: most fragments are opened without.
#[derive(Clone, Copy)]
pub(super) struct MetadataPlace<'a> {
    pub(super) place: &'a ArrayPlace,
    pub(super) listed: &'a ListedFragment,
}

impl MetadataPlace<'_> {
    pub(super) fn path(self) -> String {
        self.place.join(&self.listed.metadata_path())
    }

    pub(super) fn read_tail(self) -> Result<Tail> {
        self.place.store().read_tail(&self.path(), TAIL_BYTE_LEN)
    }

    /// The error, said of the file.
    pub(super) fn named(self, error: Error) -> Error {
        error.at_uri(self.place.store().address(&self.path()))
    }
}

impl MetadataBytes {
    pub(super) fn tail(&self, at: MetadataPlace<'_>) -> Result<&Tail> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let tail = at.read_tail()?;
        Ok(self.tail.get_or_init(|| tail))
    }

    /// Whether the length of the file is known.
    pub(super) fn knows_file_byte_len(&self) -> bool {
        self.tail.get().is_some() || self.file_byte_len.get().is_some()
    }

    /// The length of the file; asked of the store once, where nothing of the file was read.
    pub(super) fn file_byte_len(&self, at: MetadataPlace<'_>) -> Result<u64> {
        if let Some(byte_len) = self.tail.get().map(|tail| &tail.file_byte_len).or(self.file_byte_len.get()) {
            return Ok(*byte_len);
        }
        let byte_len = at.place.store().byte_len(&at.path())?;
        Ok(*self.file_byte_len.get_or_init(|| byte_len))
    }

    /// The end of the file, which is known to have these bytes.
    pub(super) fn check(&self, at: MetadataPlace<'_>, range: &Range<u64>) -> Result<&Tail> {
        let tail = self.tail(at)?;
        if range.end > tail.file_byte_len || range.start > range.end {
            return Err(Error::corrupt(format!(
                "bytes {}..{} of a file of {} bytes",
                range.start, range.end, tail.file_byte_len
            )));
        }
        Ok(tail)
    }

    pub(super) fn bytes(&self, at: MetadataPlace<'_>, range: Range<u64>) -> Result<Bytes> {
        let tail = self.check(at, &range)?;
        if let Some(bytes) = piece(tail, &range).or_else(|| self.early_piece(&range)) {
            return Ok(bytes);
        }
        let byte_len = range.end - range.start;
        at.place.store().read_at(&at.path(), ByteRange { start: range.start, byte_len })
    }

    /// Whether some bytes are in memory.
    pub(super) fn has(&self, range: &Range<u64>) -> bool {
        self.tail.get().is_some_and(|tail| piece(tail, range).or_else(|| self.early_piece(range)).is_some())
    }

    /// Lets go of a section that was read before it was asked for, and is not needed again.
    pub(super) fn forget_piece(&self, start: u64) {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).remove(&start);
    }

    /// Bytes of a section that was read before it was asked for.
    fn early_piece(&self, range: &Range<u64>) -> Option<Bytes> {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, bytes) = pieces.range(..=range.start).next_back()?;
        let (from, to) = (range.start.checked_sub(*start)?, range.end.checked_sub(*start)?);
        let places = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
        bytes.get(places.clone()).map(|_| bytes.slice(places))
    }
}

/// Bytes of a file out of its end; `None` when they do not lie there.
#[expect(clippy::cast_possible_truncation, reason = "both are at most the length of bytes in memory")]
pub(super) fn piece(tail: &Tail, range: &Range<u64>) -> Option<Bytes> {
    let tail_start = tail.file_byte_len.checked_sub(tail.bytes.len() as u64)?;
    let (start, end) = (range.start.checked_sub(tail_start)?, range.end.checked_sub(tail_start)?);
    let is_inside = start <= end && end <= tail.bytes.len() as u64;
    is_inside.then(|| tail.bytes.slice(start as usize..end as usize))
}
