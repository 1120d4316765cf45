//! What travels between the filters of a pipeline while a chunk is written.
#![expect(clippy::indexing_slicing, reason = "the ends are lengths that the bytes have had")]

/// A list of byte strings stored back to back. Some filters treat each part on its own and record the lengths,
/// so the division into parts is part of the format.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartList {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl PartList {
    /// Appends one part.
    pub(crate) fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
        self.ends.push(self.bytes.len());
    }

    /// Appends one part that `write` makes by appending to the buffer it is given.
    pub(crate) fn push_with<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let result = write(&mut self.bytes);
        self.ends.push(self.bytes.len());
        result
    }

    /// The parts in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let part = &self.bytes[start..end];
            start = end;
            part
        })
    }

    /// All parts, back to back.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of parts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Forgets parts of no bytes.
    pub(crate) fn drop_empty(&mut self) {
        let mut start = 0;
        self.ends.retain(|&end| end > std::mem::replace(&mut start, end));
    }

    /// Forgets the parts and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// A chunk on its way to disk: the filters' own metadata and the data.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    /// Metadata; a filter puts its own part in front of those it was given.
    pub(crate) metadata: PartList,
    /// Data.
    pub(crate) data: PartList,
}

impl Parts {
    /// The bytes that its memory takes.
    pub(crate) fn capacity(&self) -> usize {
        let of = |list: &PartList| list.bytes.capacity() + list.ends.capacity() * size_of::<usize>();
        of(&self.metadata) + of(&self.data)
    }

    /// Forgets all parts and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.metadata.clear();
        self.data.clear();
    }
}
