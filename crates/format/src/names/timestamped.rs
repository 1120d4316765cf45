//! Names that carry times: fragments, commits, schemas, metadata.

use crate::{Rule, Version};
use smalti_types::{Error, Result, TimeRange};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A timestamped name, its ending left out (specification: `timestamped_name.md`).
///
/// | versions | form |
/// |---|---|
/// | 1, 2 | `__id_t`; consolidated: `__id_u_t`, where `u` is the time of consolidation |
/// | 3, 4, and files other than fragments | `__t1_t2_id` |
/// | from 5 | `__t1_t2_id_version` |
///
/// In the first form only the last number counts, as start and end. Names are ordered as the reference orders
/// fragments: by start, then by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TimestampedName {
    text: Arc<str>,
    range: TimeRange,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    IdFirst,
    TimesFirst,
    WithVersion(u32),
}

impl TimestampedName {
    /// Reads a name without its ending.
    ///
    /// # Errors
    /// `Corrupt` when it has none of the three forms, or ends before it starts.
    pub fn parse(name: &str) -> Result<Self> {
        // What the parts may hold is plain.
        let form_and_range = name.as_bytes().strip_prefix(b"__").and_then(|rest| {
            let mut cuts = memchr::memchr_iter(b'_', rest);
            let cuts = [cuts.next(), cuts.next(), cuts.next(), cuts.next()];
            let part = |start: usize, end: usize| rest.get(start..end);
            match cuts {
                [Some(a), Some(b), Some(c), None] => {
                    let version = number(rest.get(c + 1..)?)?.try_into().ok()?;
                    is_id(part(b + 1, c)?).then_some(())?;
                    Some((Form::WithVersion(version), number(part(0, a)?)?, number(part(a + 1, b)?)?))
                }
                [Some(a), Some(b), None, None] => {
                    let [first, second, third] = [part(0, a)?, part(a + 1, b)?, rest.get(b + 1..)?];
                    if is_lone_id(third) {
                        Some((Form::TimesFirst, number(first)?, number(second)?))
                    } else {
                        is_lone_id(first).then_some(())?;
                        number(second)?;
                        let time = number(third)?;
                        Some((Form::IdFirst, time, time))
                    }
                }
                [Some(a), None, None, None] => {
                    let time = number(rest.get(a + 1..)?)?;
                    is_lone_id(part(0, a)?).then_some((Form::IdFirst, time, time))
                }
                _ => None,
            }
        });
        let Some((form, start, end)) = form_and_range else {
            return Err(Error::corrupt(format!("{name:?} is no timestamped name, such as __1_2_<id>_22")));
        };
        if start > end {
            return Err(Error::corrupt(format!("{name:?} starts at {start}, after its end at {end}")));
        }
        Ok(TimestampedName { text: name.into(), range: TimeRange { start, end }, form })
    }

    /// Whether a text, be it a name or not, ends in a version as the names of fragments from version 5 do: these need a commit, those
    /// before are committed by being there.
    pub fn ends_in_version(text: &str) -> bool {
        text.strip_prefix("__").is_some_and(|rest| rest.split('_').count() == 4)
    }

    /// A new name; the version is left out in names of schemas, metadata and group files.
    pub fn new(range: TimeRange, id: [u8; 16], version: Option<Version>) -> Self {
        let TimeRange { start, end } = range;
        let id = u128::from_be_bytes(id);
        let (text, form) = match version.filter(|version| version.has(Rule::VersionEndsNames)) {
            Some(version) => {
                (format!("__{start}_{end}_{id:032x}_{version}"), Form::WithVersion(version.number()))
            }
            None if version.is_some_and(|version| !version.has(Rule::TimesLeadNames)) => {
                (format!("__{id:032x}_{end}"), Form::IdFirst)
            }
            None => (format!("__{start}_{end}_{id:032x}"), Form::TimesFirst),
        };
        TimestampedName { text: text.into(), range, form }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The times.
    pub fn range(&self) -> TimeRange {
        self.range
    }

    /// The format version of a fragment of this name: 2 stands for 1 and 2, 4 for 3 and 4, which names do not tell
    /// apart.
    ///
    /// # Errors
    /// `Unsupported` for a version that is not known.
    pub fn fragment_version(&self) -> Result<Version> {
        let number = match self.form {
            Form::IdFirst => 2,
            Form::TimesFirst => 4,
            Form::WithVersion(number) => number,
        };
        Version::new(number).map_err(|error| error.at_uri(self.as_str()))
    }

    /// What the names of fragments have in common that several processes write together: the times, and the first half of an id of 32
    /// digits. `None` for names without a version, and for other ids.
    pub fn shared_stem(&self) -> Option<&str> {
        const VERSIONED_PARTS: usize = 4;
        const ID_DIGITS: usize = 32;
        let (rest, _) = self.text.rsplit_once('_').filter(|_| self.stated_version().is_some())?;
        let (times, id) = rest.rsplit_once('_')?;
        let is_own = times.trim_start_matches('_').split('_').count() == VERSIONED_PARTS - 2;
        (is_own && id.len() == ID_DIGITS).then(|| self.text.get(..times.len() + 1 + ID_DIGITS / 2))?
    }

    /// Whether the other is the name of another fragment that several processes wrote together with that of this name.
    pub fn is_kin_of(&self, other: &TimestampedName) -> bool {
        let stem = self.shared_stem();
        stem.is_some() && stem == other.shared_stem() && self != other
    }

    /// The version at the end of the name, if there is one.
    pub fn stated_version(&self) -> Option<u32> {
        match self.form {
            Form::WithVersion(number) => Some(number),
            Form::IdFirst | Form::TimesFirst => None,
        }
    }
}

impl Ord for TimestampedName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.range.start.cmp(&other.range.start).then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for TimestampedName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for TimestampedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A decimal number without a sign.
fn number(digits: &[u8]) -> Option<u64> {
    /// So many digits make no number beyond 64 bits.
    const SAFE_DIGITS: usize = 19;
    let digit = |byte: &u8| Some(byte.wrapping_sub(b'0')).filter(|digit| *digit < 10).map(u64::from);
    let append = |number: u64, byte: &u8| number.checked_mul(10)?.checked_add(digit(byte)?);
    let (eights, rest) = digits.as_chunks();
    if digits.is_empty() {
        None
    } else if digits.len() <= SAFE_DIGITS {
        let leading =
            eights.iter().try_fold(0, |number, eight| Some(number * 100_000_000 + eight_digits(*eight)?))?;
        rest.iter().try_fold(leading, |number, byte| Some(number * 10 + digit(byte)?))
    } else {
        digits.iter().try_fold(0, append)
    }
}

/// Eight digits at once: the values of neighbours are put together, then of pairs, then of fours.
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(text);
    let values = word ^ (ONES * u64::from(b'0'));
    // A digit's value is below 10: it has no high bits, and gets none when 6 is added.
    if (values | values.wrapping_add(ONES * 6)) & (ONES * 0xf0) != 0 {
        return None;
    }
    // The first digit is in the lowest byte.
    let pairs = (values & 0x00ff_00ff_00ff_00ff) * 10 + (values >> 8 & 0x00ff_00ff_00ff_00ff);
    let fours = (pairs & 0x0000_ffff_0000_ffff) * 100 + (pairs >> 16 & 0x0000_ffff_0000_ffff);
    Some((fours & 0xffff_ffff) * 10_000 + (fours >> 32))
}

fn is_id(text: &[u8]) -> bool {
    // Without leaving at the first that is wrong, many are looked at at once.
    let is_right = |right: bool, byte: &u8| right & (byte.is_ascii_alphanumeric() | (*byte == b'-'));
    !text.is_empty() && text.iter().fold(true, is_right)
}

/// An id that cannot be taken for a time: times have at most 20 digits.
fn is_lone_id(text: &[u8]) -> bool {
    is_id(text) && (text.len() == 32 || number(text).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "6a9a629ee55b42fca06dca3f0d4a0f40";

    #[test]
    fn names_of_all_versions_are_read() {
        let range = |start, end| TimeRange { start, end };
        for (name, times, version) in [
            (format!("__{ID}_1795253359529"), range(1795253359529, 1795253359529), 2),
            (format!("__{ID}_1795253359999_1795253359529"), range(1795253359529, 1795253359529), 2),
            (format!("__10_20_{ID}"), range(10, 20), 4),
            (format!("__10_20_{ID}_22"), range(10, 20), 22),
        ] {
            let parsed = TimestampedName::parse(&name).unwrap();
            assert_eq!(parsed.range(), times, "{name}");
            assert_eq!(parsed.fragment_version().unwrap().number(), version, "{name}");
            assert_eq!(parsed.as_str(), name);
        }
    }

    #[test]
    fn names_that_are_made_are_read_back() {
        let range = TimeRange { start: 3, end: 7 };
        for version in Version::all().map(Some).chain([None]) {
            let made = TimestampedName::new(range, [7; 16], version);
            let read = TimestampedName::parse(made.as_str()).unwrap();
            assert_eq!(read.as_str(), made.as_str());
            assert_eq!(read.stated_version(), made.stated_version());
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "__",
            "__x",
            "x_1",
            "____",
            "__1_2",
            "_1_2_ab_3",
            "__20_10_ab_22",
            "__1_2_ab_-3",
            "__+1_2_ab_3",
            "__1_2_ab_4294967296",
            "__99999999999999999999_99999999999999999999_ab_3",
            "__1_2_../x_3",
        ] {
            assert!(TimestampedName::parse(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn numbers_of_any_length_are_read() {
        for (text, number_of) in [
            ("", None),
            ("0", Some(0)),
            ("0000000000000000000000007", Some(7)),
            ("12345678", Some(12_345_678)),
            ("1795253359529", Some(1_795_253_359_529)),
            ("9999999999999999999", Some(9_999_999_999_999_999_999)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
        ] {
            assert_eq!(number(text.as_bytes()), number_of, "{text}");
        }
        // Any byte that is no digit, anywhere in what is read eight at a time and behind it.
        for len in 1..=20 {
            for at in 0..len {
                for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                    let mut text = vec![b'1'; len];
                    text[at] = byte;
                    assert_eq!(number(&text), None, "{text:?}");
                }
            }
        }
    }

    #[test]
    fn an_unknown_version_in_a_name_is_unsupported() {
        let name = TimestampedName::parse(&format!("__1_2_{ID}_4294967295")).unwrap();
        assert_eq!(name.fragment_version().unwrap_err().kind(), smalti_types::ErrorKind::Unsupported);
    }
}
