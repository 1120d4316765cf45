//! A write that several processes do together: each writes fragments, and one commit shows all of them, or none.
//!
//! The processes need no word with each other. What they share is a text: the time of the write, and the first half of the ids
//! in the names of its fragments. So nobody takes the fragments of another write for those of this one, whatever
//! their times, and what is left of workers that died can be told and removed.

use crate::stamp::next_timestamp;
use crate::{ArrayPlace, Snapshot};
use smalti_format::Rule;
use smalti_format::names::TimestampedName;
use smalti_types::{Error, Result, TimeRange};
use std::fmt;
use std::str::FromStr;

/// What the processes of a write share. As a text it goes from one to the other:
///
/// ```
/// # use smalti_array::SharedWrite;
/// let write: SharedWrite = "1700000000000-0123456789abcdef".parse()?;
/// assert_eq!(write.timestamp(), 1_700_000_000_000);
/// assert_eq!(write.to_string(), "1700000000000-0123456789abcdef");
/// # Ok::<(), smalti_types::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedWrite {
    timestamp: u64,
    /// The first half of the ids of its fragments.
    id: u64,
}

impl SharedWrite {
    /// A new one, at a timestamp or now.
    ///
    /// # Errors
    /// `Unsupported` in format versions that keep commits beside the fragments, which cannot commit several at once; `Io` when there is no
    /// randomness.
    pub fn new(snapshot: &Snapshot, at: Option<u64>) -> Result<Self> {
        let version = snapshot.schema().write_version();
        if !version.has(Rule::CommitsFolder) {
            return Err(Error::unsupported(format!(
                "format version {version} cannot commit several fragments at once; write by one process, or upgrade the array"
            )));
        }
        let [id @ .., _, _, _, _, _, _, _, _] = snapshot.place().new_id()?;
        Ok(SharedWrite { timestamp: next_timestamp(snapshot.place().env(), at), id: u64::from_be_bytes(id) })
    }

    /// The time of all of its fragments, in milliseconds since 1970.
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// The id of a new fragment.
    pub(crate) fn new_id(&self, place: &ArrayPlace) -> Result<[u8; 16]> {
        let mut id = place.new_id()?;
        // What a process draws for itself comes first in its ids.
        id.rotate_right(8);
        id[..8].copy_from_slice(&self.id.to_be_bytes());
        Ok(id)
    }

    /// Whether a fragment of a name is of this write.
    pub fn owns(&self, name: &TimestampedName) -> bool {
        let Ok(version) = name.fragment_version() else { return false };
        let time = TimeRange { start: self.timestamp, end: self.timestamp };
        let least =
            TimestampedName::new(time, u128::from(self.id).wrapping_shl(64).to_be_bytes(), Some(version));
        // `__time_time_`, and half of 32 digits.
        let same = least.as_str().rfind('_').map_or(0, |end| end.saturating_sub(16));
        same > 0 && name.range() == time && name.as_str().get(..same) == least.as_str().get(..same)
    }
}

impl fmt::Display for SharedWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.timestamp, self.id)
    }
}

impl FromStr for SharedWrite {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let (timestamp, id) = text.split_once('-')?;
            let is_plain = |text: &str, len: usize| {
                (1..=len).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
            };
            (is_plain(timestamp, 20) && is_plain(id, 16) && id.len() == 16).then_some(())?;
            Some(SharedWrite { timestamp: timestamp.parse().ok()?, id: u64::from_str_radix(id, 16).ok()? })
        };
        parse().ok_or_else(|| {
            Error::invalid(format!("{text:?} is no shared write, such as 1700000000000-0123456789abcdef"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_format::Version;
    use smalti_types::ErrorKind;

    #[test]
    fn a_write_knows_its_fragments() {
        let write: SharedWrite = "17-00ff00ff00ff00ff".parse().unwrap();
        let name = |text: &str| TimestampedName::parse(text).unwrap();
        assert!(write.owns(&name("__17_17_00ff00ff00ff00ff0123456789abcdef_22")));
        for other in [
            "__17_18_00ff00ff00ff00ff0123456789abcdef_22",
            "__16_17_00ff00ff00ff00ff0123456789abcdef_22",
            "__17_17_00ff00ff00ff00fe0123456789abcdef_22",
            "__17_17_00ff00ff00ff00ff",
        ] {
            assert!(TimestampedName::parse(other).is_err() || !write.owns(&name(other)), "{other}");
        }
        let time = TimeRange { start: 17, end: 17 };
        let id = (u128::from(0x00ff_00ff_00ff_00ff_u64) << 64 | 5).to_be_bytes();
        assert!(write.owns(&TimestampedName::new(time, id, Some(Version::DEFAULT))));
    }

    #[test]
    fn texts_that_are_none_are_refused() {
        for text in [
            "",
            "-",
            "1-2",
            "x-00ff00ff00ff00ff",
            "1-00ff00ff00ff00fg",
            "1-00ff00ff00ff00ff0",
            "+1-00ff00ff00ff00ff",
        ] {
            assert_eq!(text.parse::<SharedWrite>().unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
        }
    }
}
