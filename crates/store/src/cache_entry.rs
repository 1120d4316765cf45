//! What is in a file of a cache on disk.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `smaltic1` |
//! | 16 | XXH3-128 of the rest of the head |
//! | 8, 8, 8 | kind of part: 0 for a range, 1 for an end; first byte, or 0; how many bytes were asked for |
//! | 8, 4 times 8 | whether a version is known; its numbers |
//! | 8 | length of the whole file, of ends |
//! | 8 | length of the place |
//! | 8 | length of the content |
//! | 16 | XXH3-128 of the content |
//! | | the place: what tells stores of the same address apart, a zero, the address |
//! | | the content |
//!
//! Numbers are little-endian. An entry repeats its whole name, so that one file taken for another, whatever the reason, is none.

use crate::through::Part;
use crate::{ByteRange, FileVersion};
use bytes::Bytes;
use twox_hash::XxHash3_128;

const MAGIC: &[u8; 8] = b"smaltic1";

/// How the names of entries end: other programs name files by hashes, too, and theirs are not to be deleted where somebody names their folder.
pub(crate) const ENTRY_SUFFIX: &str = ".smalti";

/// The head without the place.
const HEAD_BYTE_LEN: usize = 8 + 16 + 3 * 8 + 5 * 8 + 3 * 8 + 16;

/// The name of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryName<'a> {
    /// What tells stores apart that have the same addresses, such as the endpoint.
    pub(crate) realm: &'a str,
    /// The address of the file.
    pub(crate) address: &'a str,
    pub(crate) part: Part,
}

/// What was kept of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CacheEntry {
    /// The version of the file, if the store told it.
    pub(crate) version: Option<FileVersion>,
    /// The length of the whole file, of an end; 0 for a range.
    pub(crate) file_byte_len: u64,
    pub(crate) bytes: Bytes,
}

impl Part {
    /// The bytes that were asked for.
    pub(crate) fn byte_len(self) -> u64 {
        match self {
            Part::Range(range) => range.byte_len,
            Part::Tail(byte_len) => byte_len,
        }
    }

    fn numbers(self) -> [u64; 3] {
        match self {
            Part::Range(range) => [0, range.start, range.byte_len],
            Part::Tail(byte_len) => [1, 0, byte_len],
        }
    }
}

impl EntryName<'_> {
    fn place(&self) -> Vec<u8> {
        [self.realm.as_bytes(), &[0], self.address.as_bytes()].concat()
    }

    /// The name of the file: 32 hexadecimal digits, and [what tells](ENTRY_SUFFIX) that it is one of a cache.
    pub(crate) fn file_name(&self) -> String {
        let mut all = self.place();
        all.push(0);
        all.extend(self.part.numbers().iter().flat_map(|number| number.to_le_bytes()));
        format!("{:032x}{ENTRY_SUFFIX}", XxHash3_128::oneshot(&all))
    }

    /// The longest file that may be an entry of this name.
    pub(crate) fn max_byte_len(&self) -> u64 {
        let head = HEAD_BYTE_LEN + self.realm.len() + 1 + self.address.len();
        self.part.byte_len().saturating_add(head as u64)
    }
}

impl CacheEntry {
    /// What comes in front of the content.
    pub(crate) fn head(&self, name: &EntryName<'_>) -> Vec<u8> {
        let place = name.place();
        let mut rest = Vec::with_capacity(HEAD_BYTE_LEN + place.len());
        let mut put = |number: u64| rest.extend(number.to_le_bytes());
        name.part.numbers().into_iter().for_each(&mut put);
        put(u64::from(self.version.is_some()));
        self.version.map_or([0; 4], FileVersion::numbers).into_iter().for_each(&mut put);
        put(self.file_byte_len);
        put(place.len() as u64);
        put(self.bytes.len() as u64);
        rest.extend(XxHash3_128::oneshot(&self.bytes).to_le_bytes());
        rest.extend(place);
        let checksum = XxHash3_128::oneshot(&rest).to_le_bytes();
        [MAGIC.as_slice(), &checksum, &rest].concat()
    }

    /// The entry of a name in a file; `None` where it is another, damaged, or none at all.
    pub(crate) fn decode(name: &EntryName<'_>, file: Bytes) -> Option<CacheEntry> {
        let (magic, rest) = file.split_at_checked(MAGIC.len())?;
        let (checksum, rest) = rest.split_at_checked(16)?;
        let mut reader = Numbers(rest);
        let part = [reader.next()?, reader.next()?, reader.next()?];
        let has_version = reader.next()?;
        let numbers = [reader.next()?, reader.next()?, reader.next()?, reader.next()?];
        let file_byte_len = reader.next()?;
        let place_len = usize::try_from(reader.next()?).ok()?;
        let content_len = usize::try_from(reader.next()?).ok()?;
        let (content_checksum, behind) = reader.0.split_at_checked(16)?;
        let (place, content) = behind.split_at_checked(place_len)?;
        let head = rest.get(..rest.len().checked_sub(content.len())?)?;
        let is_whole = magic == MAGIC
            && XxHash3_128::oneshot(head).to_le_bytes() == *checksum
            && content.len() == content_len
            && XxHash3_128::oneshot(content).to_le_bytes() == *content_checksum;
        let is_it = part == name.part.numbers() && place == name.place();
        // What the store would never have answered is none of its answers.
        let fits = match name.part {
            Part::Range(range) => content.len() as u64 == range.byte_len && file_byte_len == 0,
            Part::Tail(byte_len) => content.len() as u64 == byte_len.min(file_byte_len),
        };
        let version = match has_version {
            0 => None,
            1 => Some(FileVersion::new(numbers)),
            _ => return None,
        };
        let start = file.len().checked_sub(content.len())?;
        (is_whole && is_it && fits).then(|| CacheEntry { version, file_byte_len, bytes: file.slice(start..) })
    }
}

struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }
}

/// Decodes a file of a cache as an entry of one name; for fuzzing. What is accepted gives the same bytes again.
#[doc(hidden)]
pub fn fuzz_cache_entry(bytes: &[u8]) {
    for name in fuzz_names() {
        if let Some(entry) = CacheEntry::decode(&name, Bytes::copy_from_slice(bytes)) {
            let again = [entry.head(&name), entry.bytes.to_vec()].concat();
            assert_eq!(again, bytes, "an entry is written as it was read");
        }
    }
}

/// Entries for the target to start from.
#[doc(hidden)]
pub fn fuzz_cache_entry_seeds() -> Vec<Vec<u8>> {
    let version = FileVersion::of_entity_tag("seed", 9);
    let entries = [
        CacheEntry { version, file_byte_len: 0, bytes: Bytes::from_static(b"range") },
        CacheEntry { version: None, file_byte_len: 9, bytes: Bytes::from_static(b"a tail") },
    ];
    let whole =
        |(name, entry): (EntryName<'_>, &CacheEntry)| [entry.head(&name), entry.bytes.to_vec()].concat();
    fuzz_names().into_iter().zip(&entries).map(whole).collect()
}

fn fuzz_names() -> [EntryName<'static>; 2] {
    let name = |part| EntryName { realm: "realm", address: "s3://bucket/array/file", part };
    [name(Part::Range(ByteRange { start: 3, byte_len: 5 })), name(Part::Tail(6))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_every_damaged_byte_makes_them_none() {
        for (name, file) in fuzz_names().into_iter().zip(fuzz_cache_entry_seeds()) {
            let entry = CacheEntry::decode(&name, Bytes::from(file.clone())).unwrap();
            assert_eq!(file.len() as u64, name.max_byte_len());
            fuzz_cache_entry(&file);
            for at in 0..file.len() {
                for bit in 0..8 {
                    let mut damaged = file.clone();
                    damaged[at] ^= 1 << bit;
                    assert_eq!(CacheEntry::decode(&name, Bytes::from(damaged)), None, "byte {at}, bit {bit}");
                }
                assert_eq!(
                    CacheEntry::decode(&name, Bytes::copy_from_slice(&file[..at])),
                    None,
                    "cut at {at}"
                );
            }
            let longer = [file.as_slice(), b"x"].concat();
            assert_eq!(CacheEntry::decode(&name, Bytes::from(longer)), None);
            assert!(entry.bytes.starts_with(b"range") || entry.file_byte_len == 9);
        }
    }

    #[test]
    fn an_entry_of_another_name_is_none() {
        let [range, tail] = fuzz_names();
        let files = fuzz_cache_entry_seeds();
        let other_realm = EntryName { realm: "other", ..range };
        let other_address = EntryName { address: "s3://bucket/array/other", ..range };
        let other_part = EntryName { part: Part::Range(ByteRange { start: 4, byte_len: 5 }), ..range };
        for name in [tail, other_realm, other_address, other_part] {
            assert_eq!(CacheEntry::decode(&name, Bytes::from(files[0].clone())), None);
            assert_ne!(name.file_name(), range.file_name());
        }
        assert_eq!(range.file_name().len(), 32 + ENTRY_SUFFIX.len());
    }
}
