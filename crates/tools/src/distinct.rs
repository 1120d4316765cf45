//! Values of any length that come again and again: which they are, and which of them each cell has.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher as _;

/// The different values of a column of any length, in the order in which they come first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distinct {
    /// The values, one behind the other.
    pub data: Vec<u8>,
    /// Where each value begins in `data`, and behind them where the last one ends.
    pub offsets: Vec<u64>,
}

impl Distinct {
    /// Finds the values of cells: `offsets` says where each begins in `data`, and behind them where the last one ends. `codes` has room for
    /// a number for each cell, and gets the position of its value among those that are found. `None` where offsets are no such
    /// (one lies outside of `data`, or ends before it begins, or there is another number of them), and where more than `most` values differ.
    pub fn of(data: &[u8], offsets: &[u64], codes: &mut [u64], most: usize) -> Option<Distinct> {
        if offsets.len().checked_sub(1)? != codes.len() {
            return None;
        }
        let hashes = RandomState::default();
        let mut found = Distinct { data: Vec::new(), offsets: vec![0] };
        let mut short: HashTable<(Short, u32)> = HashTable::new();
        // Of each longer value its hash, which nearly always tells, and its code.
        let mut long: HashTable<(u64, u32)> = HashTable::new();
        for (bounds, code) in offsets.windows(2).zip(codes) {
            let [start, end] = [bounds[0], bounds[1]].map(usize::try_from);
            let (start, end) = (start.ok()?, end.ok()?);
            let cell = data.get(start..end)?;
            let next = u32::try_from(found.offsets.len() - 1).ok()?;
            let known = match Short::of(data, start, cell.len()) {
                Some(value) => {
                    let hash_of = |value: &Short| hashes.hash_one((value.bytes, value.len));
                    let hash = hash_of(&value);
                    let known = short.find(hash, |entry| entry.0 == value).map(|entry| entry.1);
                    if known.is_none() {
                        short.insert_unique(hash, (value, next), |entry| hash_of(&entry.0));
                    }
                    known
                }
                None => {
                    let hash = hashes.hash_one(cell);
                    let is_same = |entry: &(u64, u32)| entry.0 == hash && found.value(entry.1) == Some(cell);
                    let known = long.find(hash, is_same).map(|entry| entry.1);
                    if known.is_none() {
                        long.insert_unique(hash, (hash, next), |entry| entry.0);
                    }
                    known
                }
            };
            if known.is_none() {
                if next as usize >= most {
                    return None;
                }
                found.data.extend_from_slice(cell);
                found.offsets.push(found.data.len() as u64);
            }
            *code = known.unwrap_or(next).into();
        }
        Some(found)
    }

    /// The value of a code.
    fn value(&self, code: u32) -> Option<&[u8]> {
        let code = code as usize;
        let start = *self.offsets.get(code)?;
        let end = *self.offsets.get(code + 1)?;
        self.data.get(start as usize..end as usize)
    }
}

/// A value of up to 16 bytes, which is compared at once and needs no look elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short {
    /// The bytes, and behind them zeros.
    bytes: u128,
    len: u8,
}

impl Short {
    /// The value of `len` bytes from `start` on; `None` for a longer one.
    fn of(data: &[u8], start: usize, len: usize) -> Option<Short> {
        const MOST: usize = size_of::<u128>();
        let bits = match len {
            0 => 0,
            1..=MOST => u128::MAX >> (8 * (MOST - len)),
            _ => return None,
        };
        // Sixteen bytes are read at once, but at the end of the data.
        let bytes = match data.get(start..).and_then(|rest| rest.first_chunk::<MOST>()) {
            Some(bytes) => *bytes,
            None => {
                let mut bytes = [0; MOST];
                let cell = data.get(start..start + len)?;
                bytes.get_mut(..len)?.copy_from_slice(cell);
                bytes
            }
        };
        Some(Short { bytes: u128::from_le_bytes(bytes) & bits, len: u8::try_from(len).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of cells, and their values.
    fn found(cells: &[&str], most: usize) -> Option<(Vec<u64>, Distinct)> {
        let mut offsets = vec![0];
        offsets.extend(cells.iter().scan(0, |end, cell| {
            *end += cell.len() as u64;
            Some(*end)
        }));
        let mut codes = vec![u64::MAX; cells.len()];
        Distinct::of(cells.concat().as_bytes(), &offsets, &mut codes, most).map(|found| (codes, found))
    }

    #[test]
    fn values_come_in_the_order_of_their_first_cells() {
        let (codes, found) = found(&["fig", "", "pear", "fig", "", "figs", "pear"], 10).unwrap();
        assert_eq!(codes, [0, 1, 2, 0, 1, 3, 2]);
        assert_eq!(found.data, b"figpearfigs");
        assert_eq!(found.offsets, [0, 3, 3, 7, 11]);
    }

    #[test]
    fn short_values_and_long_ones_are_told_apart_by_every_byte() {
        let long = "sixteen bytes it";
        let cells: Vec<String> = vec![
            long.into(),
            format!("{long}s"),
            format!("{long}t"),
            long[..15].into(),
            format!("{long}\0"),
            "a".into(),
            "a\0".into(),
            "\0".into(),
            String::new(),
        ];
        let twice: Vec<&str> = cells.iter().chain(&cells).map(String::as_str).collect();
        let (codes, _) = found(&twice, 10).unwrap();
        assert_eq!(codes[..9], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(codes[..9], codes[9..]);
    }

    #[test]
    fn many_values_are_told_apart() {
        let texts: Vec<String> = (0..20_000).map(|idx| format!("station {}", idx * 7 % 5_000)).collect();
        let cells: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (codes, values) = found(&cells, 5_000).unwrap();
        assert_eq!(values.offsets.len(), 5_001);
        for (cell, code) in cells.iter().zip(codes) {
            assert_eq!(values.value(code as u32), Some(cell.as_bytes()));
        }
        assert_eq!(found(&cells, 4_999), None);
    }

    #[test]
    fn nothing_has_no_values() {
        assert_eq!(found(&[], 10).unwrap().0, [0_u64; 0]);
        assert_eq!(Distinct::of(&[], &[], &mut [], 10), None);
    }

    #[test]
    fn offsets_that_lead_outside_are_refused() {
        for offsets in [[0, 2, 9], [0, 3, 2], [4, 5, 6], [0, u64::MAX, 3]] {
            assert_eq!(Distinct::of(b"abc", &offsets, &mut [0; 2], 10), None, "{offsets:?}");
        }
        assert_eq!(Distinct::of(b"abc", &[0, 1, 2], &mut [0; 3], 10), None);
    }
}
