//! Bitmaps of cells.

use std::ops::Range;

/// Up to so many cells of a word are copied one by one, even if they are a run.
const FEW_OF_A_WORD: usize = 4;

/// One bit per cell. Bits beyond the last cell are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitMask {
    words: Vec<u64>,
    len: usize,
}

impl BitMask {
    /// A mask without any cell set.
    pub fn zeros(len: usize) -> Self {
        BitMask { words: vec![0; len.div_ceil(64)], len }
    }

    /// A mask with every cell set.
    pub fn ones(len: usize) -> Self {
        let mut mask = BitMask { words: vec![u64::MAX; len.div_ceil(64)], len };
        mask.clear_rest();
        mask
    }

    /// A mask of 64 cells a word, the lowest bit first. Missing words are 0, others and bits beyond `len` left out.
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(64), 0);
        let mut mask = BitMask { words, len };
        mask.clear_rest();
        mask
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no cell at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bits, 64 cells a word, the lowest bit first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Whether a cell is set; `false` beyond the last.
    #[inline]
    pub fn is_set(&self, cell: usize) -> bool {
        self.words.get(cell / 64).is_some_and(|word| word >> (cell % 64) & 1 == 1)
    }

    /// Sets a cell; nothing beyond the last.
    #[inline]
    pub fn set(&mut self, cell: usize) {
        if cell < self.len {
            self.words[cell / 64] |= 1 << (cell % 64);
        }
    }

    /// Unsets a cell; nothing beyond the last.
    #[inline]
    pub fn unset(&mut self, cell: usize) {
        if cell < self.len {
            self.words[cell / 64] &= !(1 << (cell % 64));
        }
    }

    /// Unsets all cells of a range but those inside.
    pub fn keep_range(&mut self, cells: Range<usize>) {
        for (idx, word) in self.words.iter_mut().enumerate() {
            let below = |end: usize| match end.saturating_sub(idx * 64) {
                bits @ 0..64 => (1u64 << bits) - 1,
                _ => u64::MAX,
            };
            *word &= below(cells.end) & !below(cells.start);
        }
    }

    /// Keeps the cells that `other` has too. Cells beyond the end of `other` are unset.
    pub fn and(&mut self, other: &BitMask) {
        let missing = std::iter::repeat(&0);
        for (word, other) in self.words.iter_mut().zip(other.words.iter().chain(missing)) {
            *word &= other;
        }
    }

    /// Unsets the cells that `other` has.
    pub fn and_not(&mut self, other: &BitMask) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Adds the cells that `other` has.
    pub fn or(&mut self, other: &BitMask) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
        self.clear_rest();
    }

    /// The number of set cells.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The first set cell.
    pub fn first(&self) -> Option<usize> {
        let idx = self.words.iter().position(|word| *word != 0)?;
        Some(idx * 64 + self.words[idx].trailing_zeros() as usize)
    }

    /// The last set cell.
    pub fn last(&self) -> Option<usize> {
        let idx = self.words.iter().rposition(|word| *word != 0)?;
        Some(idx * 64 + self.words[idx].ilog2() as usize)
    }

    /// Whether any cell is set.
    pub fn any(&self) -> bool {
        self.words.iter().any(|word| *word != 0)
    }

    /// Whether every cell is set.
    pub fn all(&self) -> bool {
        let Some((last, full)) = self.words.split_last() else { return true };
        let rest = self.len - full.len() * 64;
        full.iter().all(|word| *word == u64::MAX) && last.count_ones() as usize == rest
    }

    /// The runs of set cells, in order.
    pub fn iter_runs(&self) -> MaskRuns<'_> {
        self.iter_runs_in(0..self.len)
    }

    /// The runs of set cells among `cells`, in order; what of `cells` lies beyond the last is left out.
    pub fn iter_runs_in(&self, cells: Range<usize>) -> MaskRuns<'_> {
        MaskRuns { words: &self.words, at: cells.start, len: cells.end.min(self.len) }
    }

    /// The set cells, in order.
    pub fn iter_cells(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(idx, &word)| {
            std::iter::successors((word != 0).then_some(word), |word| {
                let rest = word & (word - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |word| idx * 64 + word.trailing_zeros() as usize)
        })
    }

    /// Copies the values of the set cells to `out`, one behind the other, and tells how many. `first` is the cell of the first value; cells
    /// that have no value, or for which `out` has no room, are left out.
    pub fn gather<V: Copy>(&self, first: usize, values: &[V], out: &mut [V]) -> usize {
        let words = self.words.get(first / 64..).unwrap_or_default();
        let shift = first % 64;
        let words = words.iter().enumerate().map(|(idx, word)| match shift {
            0 => *word,
            _ => word >> shift | words.get(idx + 1).map_or(0, |next| next << (64 - shift)),
        });
        let mut gathered = 0;
        for (word, values) in words.zip(values.chunks(64)) {
            let mut rest = match values.len() {
                64 => word,
                len => word & ((1 << len) - 1),
            };
            if rest == 0 {
                continue;
            }
            let count = rest.count_ones() as usize;
            let (start, room) = (rest.trailing_zeros() as usize, out.get_mut(gathered..).unwrap_or_default());
            if count > FEW_OF_A_WORD && rest >> start == u64::MAX >> (64 - count) && count <= room.len() {
                room[..count].copy_from_slice(&values[start..start + count]);
            } else {
                for value in room.iter_mut().take(count) {
                    *value = values[rest.trailing_zeros() as usize];
                    rest &= rest - 1;
                }
            }
            gathered += count.min(room.len());
        }
        gathered
    }

    fn clear_rest(&mut self) {
        if let Some(last) = self.words.last_mut().filter(|_| !self.len.is_multiple_of(64)) {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }
}

/// Iterator over the runs of set cells; see [`BitMask::iter_runs`].
#[derive(Debug, Clone)]
pub struct MaskRuns<'a> {
    words: &'a [u64],
    at: usize,
    len: usize,
}

impl MaskRuns<'_> {
    /// The first cell from `at` on whose bit differs from `skipped`.
    fn seek(&self, at: usize, skipped: u64) -> usize {
        let mut idx = at / 64;
        let Some(first) = self.words.get(idx) else { return self.len };
        let mut word = (first ^ skipped) & (u64::MAX << (at % 64));
        while word == 0 {
            idx += 1;
            match self.words.get(idx) {
                Some(next) => word = next ^ skipped,
                None => return self.len,
            }
        }
        (idx * 64 + word.trailing_zeros() as usize).min(self.len)
    }
}

impl Iterator for MaskRuns<'_> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.seek(self.at, 0);
        if start >= self.len {
            self.at = self.len;
            return None;
        }
        let end = self.seek(start, u64::MAX);
        self.at = end;
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_cells_agree_with_the_bits() {
        // Runs of twenty cells, and of what chance adds to them.
        const RUN: u64 = 1000;
        let mut seed = 7u64;
        for len in [0, 1, 63, 64, 65, 128, 300] {
            for density in [0u64, 1, 2, 7, 60, RUN] {
                let mut mask = BitMask::zeros(len);
                for cell in 0..len {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                    let is_of_run = density == RUN && cell / 20 % 3 == 1;
                    if density > 0 && (seed >> 33).is_multiple_of(density) || is_of_run {
                        mask.set(cell);
                    }
                }
                let expected: Vec<usize> = (0..len).filter(|&cell| mask.is_set(cell)).collect();
                assert_eq!(mask.iter_cells().collect::<Vec<_>>(), expected);
                assert_eq!(mask.iter_runs().flatten().collect::<Vec<_>>(), expected);
                assert_eq!(mask.count(), expected.len());
                assert_eq!(mask.any(), !expected.is_empty());
                assert_eq!(
                    (mask.first(), mask.last()),
                    (expected.first().copied(), expected.last().copied())
                );
                assert_eq!(mask.all(), expected.len() == len);
                let values: Vec<u16> = (0..len as u16).map(|value| value ^ 0x5555).collect();
                let mut out = vec![0; expected.len()];
                assert_eq!(mask.gather(0, &values, &mut out), expected.len());
                assert!(out.iter().eq(expected.iter().map(|&cell| &values[cell])));
                let some = expected.len() / 2;
                let mut out = vec![0; some];
                assert_eq!(mask.gather(0, &values, &mut out), some);
                assert!(out.iter().eq(expected[..some].iter().map(|&cell| &values[cell])));
                let known = expected.iter().filter(|&&cell| cell < len / 3).count();
                assert_eq!(mask.gather(0, &values[..len / 3], &mut vec![0; len]), known);
                let runs: Vec<_> = mask.iter_runs().collect();
                assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start));
                for (start, end) in [(0, len), (3, 70), (64, 64), (len / 2, len)] {
                    let inside = expected.iter().copied().filter(|cell| (start..end).contains(cell));
                    assert!(mask.iter_runs_in(start..end).flatten().eq(inside), "{start} {end}");
                    let end = end.min(len);
                    let part = values.get(start..end).unwrap_or_default();
                    let mut out = vec![0; part.len()];
                    let gathered = mask.gather(start, part, &mut out);
                    let inside = expected.iter().filter(|&&cell| (start..end).contains(&cell));
                    assert!(out[..gathered].iter().eq(inside.map(|&cell| &values[cell])), "{start} {end}");
                    let mut kept = mask.clone();
                    kept.keep_range(start..end);
                    let expected: Vec<usize> =
                        expected.iter().copied().filter(|cell| (start..end).contains(cell)).collect();
                    assert_eq!(kept.iter_cells().collect::<Vec<_>>(), expected);
                }
            }
        }
    }

    #[test]
    fn bits_beyond_the_last_cell_stay_unset() {
        assert_eq!(BitMask::ones(65).count(), 65);
        let mut mask = BitMask::zeros(3);
        mask.or(&BitMask::ones(64));
        assert_eq!(mask.count(), 3);
        mask.and(&BitMask::zeros(0));
        assert!(!mask.any());
        assert_eq!(BitMask::from_words(vec![u64::MAX; 3], 70).count(), 70);
    }
}
