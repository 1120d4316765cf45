//! Merging neighbouring reads into fewer, longer requests.

/// A range of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// How many bytes.
    pub byte_len: u64,
}

impl ByteRange {
    /// The first byte after the range; saturates for ranges that no file can have.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.byte_len)
    }
}

/// How far apart reads may be, and how long they may become, to be worth merging; what a request costs follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// Ranges with at most this many unwanted bytes between them are read together: what comes while an answer is waited for.
    pub max_gap_byte_len: u64,
    /// A merged range grows no longer than this. One wanted range may be longer by itself.
    pub max_byte_len: u64,
    /// So many requests go side by side, and more take turns: each costs that part of the time of one.
    pub side_by_side: usize,
}

impl Default for Coalescing {
    /// For a store with a round trip of some milliseconds: 512 KiB of waste are cheaper than another request.
    fn default() -> Self {
        Coalescing { max_gap_byte_len: 512 << 10, max_byte_len: 16 << 20, side_by_side: 64 }
    }
}

impl Coalescing {
    /// What some requests cost for as many bytes, in bytes that could come meanwhile.
    pub fn cost_of_requests(self, count: u64) -> u64 {
        self.max_gap_byte_len.saturating_mul(count) / self.side_by_side.max(1) as u64
    }
}

/// A range to request, and which of the wanted ranges lie in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedRange {
    /// The range to request.
    pub range: ByteRange,
    /// Indices of the wanted ranges that it covers, by rising start.
    pub members: Vec<usize>,
}

/// Merges ranges of one file. Every wanted range lies in exactly one merged range; the result rises by start.
/// Ranges that overlap are merged even beyond `max_byte_len` of the limits, so that no byte is read twice.
///
/// Legal: ranges in any order, empty, equal or overlapping. Illegal: ranges of different files.
pub fn coalesce(ranges: &[ByteRange], limits: Coalescing) -> Vec<MergedRange> {
    let mut by_start: Vec<(usize, ByteRange)> = ranges.iter().copied().enumerate().collect();
    by_start.sort_by_key(|(idx, range)| (range.start, range.byte_len, *idx));
    let mut merged: Vec<MergedRange> = Vec::new();
    for (idx, range) in by_start {
        if let Some(last) = merged.last_mut() {
            let end = last.range.end().max(range.end());
            let overlaps = range.start < last.range.end();
            let near = range.start.saturating_sub(last.range.end()) <= limits.max_gap_byte_len
                && end - last.range.start <= limits.max_byte_len;
            if overlaps || near {
                last.range.byte_len = end - last.range.start;
                last.members.push(idx);
                continue;
            }
        }
        merged.push(MergedRange { range, members: vec![idx] });
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(list: &[(u64, u64)]) -> Vec<ByteRange> {
        list.iter().map(|&(start, byte_len)| ByteRange { start, byte_len }).collect()
    }

    fn merged(list: &[(u64, u64)], gap: u64, max: u64) -> Vec<(u64, u64, Vec<usize>)> {
        coalesce(
            &ranges(list),
            Coalescing { max_gap_byte_len: gap, max_byte_len: max, ..Coalescing::default() },
        )
        .into_iter()
        .map(|m| (m.range.start, m.range.byte_len, m.members))
        .collect()
    }

    #[test]
    fn near_ranges_are_merged_and_far_ones_are_not() {
        assert_eq!(merged(&[(0, 10), (12, 8), (100, 5)], 2, 1000), [(0, 20, vec![0, 1]), (100, 5, vec![2])]);
        assert_eq!(merged(&[(0, 10), (13, 8)], 2, 1000).len(), 2);
    }

    #[test]
    fn merged_ranges_stay_within_the_limit() {
        assert_eq!(merged(&[(0, 10), (10, 10), (20, 10)], 0, 20), [(0, 20, vec![0, 1]), (20, 10, vec![2])]);
        assert_eq!(merged(&[(0, 50), (50, 1)], 0, 20).len(), 2);
    }

    #[test]
    fn overlapping_unordered_and_empty_ranges_are_each_covered_once() {
        let list = [(30, 10), (0, 35), (5, 0), (0, 35), (1000, 0)];
        let result = merged(&list, 0, 20);
        assert_eq!(result, [(0, 40, vec![1, 3, 2, 0]), (1000, 0, vec![4])]);
    }

    #[test]
    fn ranges_at_the_end_of_the_number_line_do_not_overflow() {
        assert_eq!(merged(&[(u64::MAX, u64::MAX), (u64::MAX - 1, 5)], 10, 10).len(), 1);
        assert!(coalesce(&[], Coalescing::default()).is_empty());
    }
}
