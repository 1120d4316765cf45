//! Versions of files that a store cannot look up without asking, remembered from what it answered.
//!
//! An object store says with each answer, and with each row of a listing, which content a file has: its entity tag. So the content of a file is known
//! after the first answer about it, and another one, of whoever replaced the file meanwhile, shows at the next. What has shown two contents is not
//! trusted any more: it has no version from then on. So a version that is there after an answer is that of the answer, too, and nobody has to ask
//! which of two answers came first.

use crate::FileVersion;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_128;

/// Files that are remembered before those go that nobody asked for since as many others came: 3 MiB.
const GENERATION_LEN: usize = 1 << 16;

/// What answers said about files. Shared by all threads; it takes no more than some megabytes.
#[derive(Default)]
pub struct Versions {
    known: Mutex<Generations>,
}

/// Those of late, and those from before. What is asked for among these comes to the others.
#[derive(Default)]
struct Generations {
    young: HashMap<u128, Known>,
    old: HashMap<u128, Known>,
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Every answer so far was of this content.
    Content { version: FileVersion, byte_len: Option<u64>, modified_s: Option<i64> },
    /// There were others.
    Several,
}

/// What an answer says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told<'a> {
    /// The entity tag, as it stands in the answer; `None` where there is none.
    pub entity_tag: Option<&'a str>,
    /// The length of the whole file in bytes.
    pub byte_len: u64,
    /// When it was last changed, in seconds since 1970-01-01T00:00:00Z, where that is told: answers to requests have no more than seconds.
    pub modified_s: Option<i64>,
}

impl FileVersion {
    /// The version of a file of a length, by an entity tag (RFC 9110, section 8.8.3), which may stand without its quotes as in some listings. `None` for a
    /// weak one, which files of other bytes may have too. In all processes, on all machines, it is the same.
    pub fn of_entity_tag(entity_tag: &str, byte_len: u64) -> Option<FileVersion> {
        let tag = entity_tag.trim();
        let bare = tag.trim_matches('"');
        if bare.is_empty() || tag.starts_with("W/") {
            return None;
        }
        let hash = XxHash3_128::oneshot(bare.as_bytes());
        let bytes = hash.to_le_bytes();
        let (low, high) = bytes.split_at(8);
        let number = |half: &[u8]| half.iter().rev().fold(0_u64, |all, &byte| all << 8 | u64::from(byte));
        Some(FileVersion::new([number(low), number(high), byte_len, 0]))
    }
}

impl Generations {
    fn find(&mut self, key: u128) -> Option<Known> {
        if let Some(known) = self.young.get(&key) {
            return Some(*known);
        }
        let known = self.old.remove(&key)?;
        self.put(key, known);
        Some(known)
    }

    fn put(&mut self, key: u128, known: Known) {
        if self.young.len() >= GENERATION_LEN && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, known);
    }
}

fn key_of(name: &str) -> u128 {
    XxHash3_128::oneshot(name.as_bytes())
}

impl Versions {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Versions::default()
    }

    fn known(&self) -> MutexGuard<'_, Generations> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of a file; `None` where none was told, and where answers were of several contents.
    pub fn of(&self, name: &str) -> Option<FileVersion> {
        match self.known().find(key_of(name))? {
            Known::Content { version, .. } => Some(version),
            Known::Several => None,
        }
    }

    /// Whether answers were of several contents, or the file was [replaced](Versions::replaced) here.
    pub fn is_of_several(&self, name: &str) -> bool {
        self.known().find(key_of(name)) == Some(Known::Several)
    }

    /// An answer has come. To be said before whoever waits for it goes on.
    pub fn told(&self, name: &str, told: Told<'_>) {
        let version = told.entity_tag.and_then(|tag| FileVersion::of_entity_tag(tag, told.byte_len));
        let key = key_of(name);
        let mut known = self.known();
        let now = match (known.find(key), version) {
            (None, None) => return,
            (None, Some(version)) => {
                Known::Content { version, byte_len: Some(told.byte_len), modified_s: told.modified_s }
            }
            (Some(Known::Content { version, .. }), Some(told)) if version == told => return,
            // Listings of some servers have no tags: that nothing changed is told by what they do have.
            (Some(Known::Content { byte_len, modified_s, .. }), None)
                if byte_len.is_none_or(|byte_len| byte_len == told.byte_len)
                    && (modified_s.is_none() || modified_s == told.modified_s) =>
            {
                return;
            }
            (Some(_), _) => Known::Several,
        };
        known.put(key, now);
    }

    /// A file is, or was, replaced from here: answers that are under way may be of either content.
    pub fn replaced(&self, name: &str) {
        self.known().put(key_of(name), Known::Several);
    }

    /// A file is, or was, deleted, or made anew after it had been deleted. One that nobody has asked about is forgotten as it is.
    pub fn deleted(&self, name: &str) {
        let mut known = self.known();
        if known.find(key_of(name)).is_some() {
            known.put(key_of(name), Known::Several);
        }
    }

    /// A version that is known from elsewhere, such as from what was kept of the file. Answers count more.
    pub fn assume(&self, name: &str, version: FileVersion) {
        let key = key_of(name);
        let mut known = self.known();
        if known.find(key).is_none() {
            known.put(key, Known::Content { version, byte_len: None, modified_s: None });
        }
    }
}

impl fmt::Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known();
        f.debug_struct("Versions").field("file_count", &(known.young.len() + known.old.len())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tag: &str) -> Told<'_> {
        Told { entity_tag: Some(tag), byte_len: 7, modified_s: Some(1) }
    }

    #[test]
    fn a_file_has_the_version_of_its_answers_until_one_tells_of_another() {
        let versions = Versions::new();
        assert_eq!(versions.of("a"), None);
        versions.told("a", told("\"1\""));
        let first = versions.of("a").unwrap();
        versions.told("a", told("1"));
        assert_eq!(versions.of("a"), Some(first), "quotes tell nothing");
        versions.told("b", told("2"));
        assert_ne!(versions.of("b"), Some(first));
        versions.told("a", told("2"));
        assert_eq!((versions.of("a"), versions.is_of_several("a")), (None, true));
        versions.told("a", told("2"));
        assert_eq!(versions.of("a"), None, "answers of the first content may still be under way");
        assert!(versions.of("b").is_some());
    }

    #[test]
    fn weak_and_empty_tags_are_no_versions_and_lengths_count() {
        assert_eq!(FileVersion::of_entity_tag("W/\"1\"", 7), None);
        assert_eq!(FileVersion::of_entity_tag("\"\"", 7), None);
        assert_eq!(FileVersion::of_entity_tag("\"1\"", 7), FileVersion::of_entity_tag("1", 7));
        assert_ne!(FileVersion::of_entity_tag("1", 7), FileVersion::of_entity_tag("1", 8));
    }

    #[test]
    fn rows_without_tags_tell_of_changes_by_length_and_time() {
        let plain = |byte_len, modified_s| Told { entity_tag: None, byte_len, modified_s };
        let versions = Versions::new();
        versions.told("a", plain(7, Some(1)));
        assert_eq!(versions.of("a"), None);
        versions.told("a", told("1"));
        versions.told("a", plain(7, Some(1)));
        assert!(versions.of("a").is_some());
        for other in [plain(8, Some(1)), plain(7, Some(2)), plain(7, None)] {
            let versions = Versions::new();
            versions.told("a", told("1"));
            versions.told("a", other);
            assert_eq!(versions.of("a"), None, "{other:?}");
        }
    }

    #[test]
    fn what_is_changed_from_here_has_no_version() {
        let versions = Versions::new();
        versions.told("a", told("1"));
        versions.deleted("a");
        versions.deleted("b");
        versions.replaced("c");
        versions.told("c", told("1"));
        assert_eq!([versions.of("a"), versions.of("b"), versions.of("c")], [None; 3]);
        versions.told("b", told("1"));
        assert!(versions.of("b").is_some(), "nobody knew of it");
    }

    #[test]
    fn what_is_assumed_gives_way_to_answers() {
        let versions = Versions::new();
        let [one, two] = ["1", "2"].map(|tag| FileVersion::of_entity_tag(tag, 7).unwrap());
        versions.assume("a", one);
        versions.assume("a", two);
        assert_eq!(versions.of("a"), Some(one));
        versions.told("a", told("1"));
        assert_eq!(versions.of("a"), Some(one));
        versions.told("a", told("2"));
        assert_eq!(versions.of("a"), None);
    }

    #[test]
    fn no_more_files_are_remembered_than_there_is_room_for() {
        let versions = Versions::new();
        for idx in 0..3 * GENERATION_LEN {
            versions.told(&idx.to_string(), told("1"));
            assert!(versions.of("0").is_some(), "what is asked for stays");
        }
        let known = versions.known();
        assert!(known.young.len() + known.old.len() <= 2 * GENERATION_LEN);
    }
}
