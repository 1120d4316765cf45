//! Values of any length that come again and again: which they are, and which of them each cell has.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher as _, Hasher as _};

/// The different values of a column of any length, in the order in which they come first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distinct {
    /// Of each cell, the position of its value among [`data`](Distinct::data).
    pub codes: Vec<u32>,
    /// The values, one behind the other.
    pub data: Vec<u8>,
    /// Where each value begins in `data`, and behind them where the last one ends.
    pub offsets: Vec<u64>,
}

impl Distinct {
    /// Finds the values of cells: `offsets` says where each begins in `data`, and behind them where the last one ends. `None` where
    /// they do not (one lies outside of `data`, or ends before it begins), and where more than `most` values differ.
    pub fn of(data: &[u8], offsets: &[u64], most: usize) -> Option<Distinct> {
        let cell_count = offsets.len().checked_sub(1)?;
        let hashes = RandomState::default();
        let mut found =
            Distinct { codes: Vec::with_capacity(cell_count), offsets: vec![0], ..Distinct::default() };
        // Of each value its hash, which nearly always tells, and its code.
        let mut known: HashTable<(u64, u32)> = HashTable::new();
        for bounds in offsets.windows(2) {
            let [start, end] = [bounds[0], bounds[1]].map(usize::try_from);
            let cell = data.get(start.ok()?..end.ok()?)?;
            let mut hasher = hashes.build_hasher();
            hasher.write(cell);
            let hash = hasher.finish();
            let is_same = |entry: &(u64, u32)| entry.0 == hash && found.value(entry.1) == Some(cell);
            let code = match known.find(hash, is_same) {
                Some((_, code)) => *code,
                None => {
                    let count = known.len();
                    let code = u32::try_from(count).ok().filter(|_| count < most)?;
                    known.insert_unique(hash, (hash, code), |entry| entry.0);
                    found.data.extend_from_slice(cell);
                    found.offsets.push(found.data.len() as u64);
                    code
                }
            };
            found.codes.push(code);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[&str]) -> (Vec<u8>, Vec<u64>) {
        let mut offsets = vec![0];
        offsets.extend(cells.iter().scan(0, |end, cell| {
            *end += cell.len() as u64;
            Some(*end)
        }));
        (cells.concat().into_bytes(), offsets)
    }

    #[test]
    fn values_come_in_the_order_of_their_first_cells() {
        let (data, offsets) = column(&["fig", "", "pear", "fig", "", "figs", "pear"]);
        let found = Distinct::of(&data, &offsets, 10).unwrap();
        assert_eq!(found.codes, [0, 1, 2, 0, 1, 3, 2]);
        assert_eq!(found.data, b"figpearfigs");
        assert_eq!(found.offsets, [0, 3, 3, 7, 11]);
    }

    #[test]
    fn many_values_are_told_apart() {
        let texts: Vec<String> = (0..20_000).map(|idx| format!("station {}", idx * 7 % 5_000)).collect();
        let cells: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (data, offsets) = column(&cells);
        let found = Distinct::of(&data, &offsets, 5_000).unwrap();
        assert_eq!(found.offsets.len(), 5_001);
        for (cell, code) in cells.iter().zip(&found.codes) {
            assert_eq!(found.value(*code), Some(cell.as_bytes()));
        }
        assert_eq!(Distinct::of(&data, &offsets, 4_999), None);
    }

    #[test]
    fn nothing_has_no_values() {
        assert_eq!(Distinct::of(&[], &[0], 10).unwrap().codes, [0_u32; 0]);
        assert_eq!(Distinct::of(&[], &[], 10), None);
    }

    #[test]
    fn offsets_that_lead_outside_are_refused() {
        for offsets in [[0, 2, 9], [0, 3, 2], [4, 5, 6], [0, u64::MAX, 3]] {
            assert_eq!(Distinct::of(b"abc", &offsets, 10), None, "{offsets:?}");
        }
    }
}
