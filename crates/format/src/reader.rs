//! A cursor over untrusted bytes that can say what it read, and where.

use crate::record::{Row, limited};
use smalti_types::{Error, ErrorKind, Result};
use std::fmt::Debug;

/// One field as it was read: what `inspect` prints.
///
/// A field whose successor is nested deeper is a whole of its parts; every other one is a leaf. The leaves of a
/// structure follow each other without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEntry {
    /// Nesting of structures, from 0.
    pub depth: usize,
    /// The structure that the field belongs to.
    pub structure: &'static str,
    /// The field.
    pub field: &'static str,
    /// The type on disk.
    pub on_disk: String,
    /// What the field means.
    pub doc: &'static str,
    /// Offset of the field's first byte from the start of the bytes that are read.
    pub byte_offset: u64,
    /// Bytes of the field, nested structures included.
    pub byte_len: u64,
    /// The value, shortened where it is long unless the trace is full.
    pub value: String,
    /// Whether the field only says how long or how many: what stands above it shows the same.
    pub is_framing: bool,
}

/// How much a trace keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceDetail {
    /// Long values are shortened; of long lists the first items are kept, the rest is one entry.
    Folded,
    /// Everything.
    Full,
}

/// Items of a list that a folded trace keeps.
const MAX_LISTED_ITEMS: u64 = 20;

/// Characters of a value in a full trace.
const MAX_VALUE_CHARS: usize = 64 << 20;

#[derive(Debug)]
struct Trace {
    entries: Vec<TraceEntry>,
    detail: TraceDetail,
    /// Whether the items being read are only counted.
    is_folding: bool,
}

/// What a field is, for errors and traces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldName {
    pub(crate) structure: &'static str,
    pub(crate) field: &'static str,
    pub(crate) on_disk: fn() -> String,
    /// The table that says what the field means.
    pub(crate) rows: &'static [Row],
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
    structure: &'static str,
    trace: Option<Trace>,
    /// Whether lists with one number a field are checked, but not kept.
    is_skimming: bool,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0, depth: 0, structure: "", trace: None, is_skimming: false }
    }

    /// A cursor that passes over lists with one number a field: they come out empty.
    pub(crate) fn skimming(bytes: &'a [u8]) -> Self {
        Reader { is_skimming: true, ..Reader::new(bytes) }
    }

    pub(crate) fn is_skimming(&self) -> bool {
        self.is_skimming
    }

    /// A cursor that records the fields.
    pub fn traced(bytes: &'a [u8], detail: TraceDetail) -> Self {
        let trace = Trace { entries: Vec::new(), detail, is_folding: false };
        Reader { trace: Some(trace), ..Reader::new(bytes) }
    }

    /// The recorded fields, in the order of their bytes; empty without a trace. After an error: those before the damage.
    pub fn into_trace(self) -> Vec<TraceEntry> {
        self.trace.map(|trace| trace.entries).unwrap_or_default()
    }

    /// Whether fields are recorded: what is read for that alone can be left out otherwise.
    pub(crate) fn is_traced(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| !trace.is_folding)
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
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next `byte_len` bytes.
    ///
    /// # Errors
    /// `Corrupt` when fewer are left.
    #[inline]
    pub fn take(&mut self, byte_len: u64) -> Result<&'a [u8]> {
        let rest = self.rest();
        let taken = usize::try_from(byte_len).ok().and_then(|byte_len| rest.get(..byte_len));
        let Some(taken) = taken else { return Err(self.missing(byte_len)) };
        self.at += taken.len();
        Ok(taken)
    }

    #[cold]
    fn missing(&self, byte_len: u64) -> Error {
        Error::corrupt(format!("{byte_len} bytes are needed, {} are left", self.remaining()))
            .at_offset(self.byte_offset())
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
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    /// The next little-endian `u8`.
    ///
    /// # Errors
    /// `Corrupt` at the end of the bytes.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next little-endian `u32`.
    ///
    /// # Errors
    /// `Corrupt` when fewer than four bytes are left.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next little-endian `u64`.
    ///
    /// # Errors
    /// `Corrupt` when fewer than eight bytes are left.
    #[inline]
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
        // Taking them has shown that they are there.
        self.bytes = whole.get(..start + inner_len).unwrap_or(whole);
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
    #[inline]
    pub(crate) fn field<T: Debug>(
        &mut self,
        name: FieldName,
        show: impl FnOnce(&T) -> String,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let FieldName { structure, field, .. } = name;
        let byte_offset = self.byte_offset();
        let entered = self.trace.is_some().then(|| self.enter(name));
        let outcome = read(self);
        if let Some((slot, outer)) = entered {
            self.depth -= 1;
            self.structure = outer;
            if slot.is_some() {
                self.close(slot, byte_offset, outcome.as_ref().ok(), show);
            }
        }
        outcome.map_err(|error| in_field(error, structure, field, byte_offset))
    }

    /// Begins a field where there is a trace: its row, if it has one, and the structure around it.
    #[cold]
    fn enter(&mut self, name: FieldName) -> (Option<usize>, &'static str) {
        let FieldName { structure, field, .. } = name;
        let slot = if self.is_traced() {
            let doc = name.rows.iter().find(|row| row.field == field).map_or("", |row| row.doc.trim_ascii());
            self.open(structure, field, (name.on_disk)(), doc, false)
        } else {
            None
        };
        self.depth += 1;
        (slot, std::mem::replace(&mut self.structure, structure))
    }

    /// Reads a part of a field that has parts of its own in the trace.
    #[inline]
    pub(crate) fn part<T: Debug>(
        &mut self,
        field: &'static str,
        on_disk: &'static str,
        doc: &'static str,
        show: impl FnOnce(&T) -> String,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.inner(field, on_disk, doc, false, show, read)
    }

    /// Reads the length or count at the start of a field whose content has parts of its own in the trace.
    #[inline]
    pub(crate) fn framing<T: Debug>(
        &mut self,
        field: &'static str,
        on_disk: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.inner(field, on_disk, "", true, |value| format!("{value:?}"), read)
    }

    #[inline]
    fn inner<T: Debug>(
        &mut self,
        field: &'static str,
        on_disk: &'static str,
        doc: &'static str,
        is_framing: bool,
        show: impl FnOnce(&T) -> String,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.trace.is_none() {
            return read(self);
        }
        let byte_offset = self.byte_offset();
        let slot = match self.is_traced() {
            true => self.open(self.structure, field, on_disk.to_owned(), doc, is_framing),
            false => None,
        };
        self.depth += 1;
        let outcome = read(self);
        self.depth -= 1;
        self.close(slot, byte_offset, outcome.as_ref().ok(), show);
        outcome
    }

    /// Reads the items of a list until one says that there was none. A folded trace keeps the first and one entry for
    /// the rest.
    pub(crate) fn items(&mut self, mut item: impl FnMut(&mut Self) -> Result<bool>) -> Result<()> {
        let mut listed = 0;
        let folds = |reader: &Self| {
            reader
                .trace
                .as_ref()
                .is_some_and(|trace| trace.detail == TraceDetail::Folded && !trace.is_folding)
        };
        while item(self)? {
            listed += 1;
            if listed == MAX_LISTED_ITEMS && folds(self) {
                return self.folded_items(item);
            }
        }
        Ok(())
    }

    fn folded_items(&mut self, mut item: impl FnMut(&mut Self) -> Result<bool>) -> Result<()> {
        let byte_offset = self.byte_offset();
        let (mut count, mut end) = (0_u64, byte_offset);
        self.set_folding(true);
        let outcome = loop {
            match item(self) {
                Ok(true) => (count, end) = (count + 1, self.byte_offset()),
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.set_folding(false);
        if count > 0
            && let Some(slot) = self.open(self.structure, "more", "as above".into(), "", false)
            && let Some(entry) = self.entry(slot)
        {
            entry.byte_offset = byte_offset;
            entry.byte_len = end - byte_offset;
            entry.value = format!("{count} more");
        }
        outcome
    }

    /// Sets the value of the field that was read last.
    pub(crate) fn set_last_value(&mut self, value: String) {
        if let Some(entry) = self.trace.as_mut().and_then(|trace| trace.entries.last_mut()) {
            entry.value = value;
        }
    }

    fn set_folding(&mut self, is_folding: bool) {
        if let Some(trace) = &mut self.trace {
            trace.is_folding = is_folding;
        }
    }

    fn entry(&mut self, slot: usize) -> Option<&mut TraceEntry> {
        self.trace.as_mut()?.entries.get_mut(slot)
    }

    fn open(
        &mut self,
        structure: &'static str,
        field: &'static str,
        on_disk: String,
        doc: &'static str,
        is_framing: bool,
    ) -> Option<usize> {
        let (depth, byte_offset) = (self.depth, self.byte_offset());
        let entries = &mut self.trace.as_mut()?.entries;
        let (byte_len, value) = (0, String::new());
        entries.push(TraceEntry {
            depth,
            structure,
            field,
            on_disk,
            doc,
            byte_offset,
            byte_len,
            value,
            is_framing,
        });
        Some(entries.len() - 1)
    }

    /// Completes an entry. Where the field could not be read, what was read of it stays, or nothing.
    fn close<T: Debug>(
        &mut self,
        slot: Option<usize>,
        byte_offset: u64,
        value: Option<&T>,
        show: impl FnOnce(&T) -> String,
    ) {
        let end = self.byte_offset();
        let (Some(slot), Some(trace)) = (slot, &mut self.trace) else { return };
        let is_leaf = slot + 1 == trace.entries.len();
        if is_leaf && value.is_none() {
            trace.entries.truncate(slot);
            return;
        }
        let last_end = trace.entries.last().map_or(end, |last| last.byte_offset + last.byte_len);
        let Some(entry) = trace.entries.get_mut(slot) else { return };
        match value {
            Some(value) => {
                entry.byte_len = end - byte_offset;
                entry.value = show(value);
                if is_leaf && trace.detail == TraceDetail::Full && entry.value.ends_with('…') {
                    entry.value = limited(value, MAX_VALUE_CHARS);
                }
            }
            None => {
                entry.byte_len = last_end.saturating_sub(byte_offset);
                entry.value = "damaged".into();
            }
        }
    }
}

/// Names the field in an error about the bytes.
#[cold]
fn in_field(error: Error, structure: &'static str, field: &'static str, byte_offset: u64) -> Error {
    match error.kind() {
        ErrorKind::Corrupt | ErrorKind::Unsupported => {
            error.in_field(structure, field).at_offset(byte_offset)
        }
        _ => error,
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
