//! A write that several processes do together: each writes fragments, and one commit shows all of them, or none.
//!
//! The processes need no word with each other. What they share is a text: the times of the write, and the first half of the ids
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
/// assert_eq!(write.time().end, 1_700_000_000_000);
/// assert_eq!(write.to_string(), "1700000000000-0123456789abcdef");
/// // What merges fragments has the times of these.
/// let merge: SharedWrite = "1600000000000-1700000000000-0123456789abcdef".parse()?;
/// assert_eq!(merge.time().start, 1_600_000_000_000);
/// # Ok::<(), smalti_types::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedWrite {
    time: TimeRange,
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
        let time = next_timestamp(snapshot.place().env(), at);
        SharedWrite::merging(snapshot, TimeRange { start: time, end: time })
    }

    /// A new one, of fragments that take the place of others of these times.
    ///
    /// # Errors
    /// As [`new`](SharedWrite::new).
    pub fn merging(snapshot: &Snapshot, time: TimeRange) -> Result<Self> {
        let version = snapshot.schema().write_version();
        if !version.has(Rule::CommitsFolder) {
            return Err(Error::unsupported(format!(
                "format version {version} cannot commit several fragments at once; write by one process, or upgrade the array"
            )));
        }
        let [id @ .., _, _, _, _, _, _, _, _] = snapshot.place().new_id()?;
        Ok(SharedWrite { time, id: u64::from_be_bytes(id) })
    }

    /// The write that a fragment of a name would be of, if it is of one.
    pub fn of(name: &TimestampedName) -> Option<Self> {
        let (_, id) = name.shared_stem()?.rsplit_once('_')?;
        Some(SharedWrite { time: name.range(), id: u64::from_str_radix(id, 16).ok()? })
    }

    /// The times of all of its fragments, in milliseconds since 1970: one, unless they merge others.
    pub fn time(&self) -> TimeRange {
        self.time
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
        let TimeRange { start, end } = self.time;
        name.shared_stem().is_some_and(|stem| stem == format!("__{start}_{end}_{:016x}", self.id))
    }
}

impl fmt::Display for SharedWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimeRange { start, end } = self.time;
        if start < end {
            write!(f, "{start}-")?;
        }
        write!(f, "{end}-{:016x}", self.id)
    }
}

impl FromStr for SharedWrite {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = |text: &str, is_digit: fn(&u8) -> bool| text.bytes().all(|byte| is_digit(&byte));
        let time = |text: &str| text.parse().ok().filter(|_| digits(text, u8::is_ascii_digit));
        let parse = || {
            let (times, id) = text.rsplit_once('-')?;
            let (start, end) = times.split_once('-').unwrap_or((times, times));
            let time = TimeRange { start: time(start)?, end: time(end)? };
            (id.len() == 16 && digits(id, u8::is_ascii_hexdigit) && time.start <= time.end).then_some(())?;
            Some(SharedWrite { time, id: u64::from_str_radix(id, 16).ok()? })
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
        let own = name("__17_17_00ff00ff00ff00ff0123456789abcdef_22");
        assert_eq!(SharedWrite::of(&own), Some(write));
        assert_eq!(SharedWrite::of(&name("__00ff00ff00ff00ff0123456789abcdef_17")), None);
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
            "2-1-00ff00ff00ff00ff",
            "1-1-1-00ff00ff00ff00ff",
        ] {
            assert_eq!(text.parse::<SharedWrite>().unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
        }
    }
}
