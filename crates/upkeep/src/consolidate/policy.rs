//! Which fragments are merged.

use super::fit::Fit;
use smalti_types::{Error, Result};
use std::ops::Range;

/// How fragments are chosen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Choice {
    /// By size: see [`Tiers`].
    Tiered(Tiers),
    /// Step after step, by the parameters that libtiledb has: see [`Steps`].
    Steps(Steps),
    /// These, by the names of their folders.
    Listed(Vec<String>),
}

impl Default for Choice {
    fn default() -> Self {
        Choice::Tiered(Tiers::default())
    }
}

/// Fragments are merged so that each is larger than all newer ones together, by a factor: an array to which `n` equal
/// writes were added has in the order of `log n` fragments then, and each cell was rewritten about as often (the
/// logarithmic method; O'Neil et al., The log-structured merge-tree, 1996).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tiers {
    /// An older fragment is merged with all newer ones unless it is larger than these by this factor.
    pub size_ratio: f64,
    /// Fragments that have fewer bytes together are always merged.
    pub floor_byte_len: u64,
    /// Dense arrays: the most cells of the merged rectangle for each cell that is merged; the others hold fill values.
    pub amplification: f64,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

impl Default for Tiers {
    fn default() -> Self {
        Tiers { size_ratio: 4.0, floor_byte_len: 64 << 20, amplification: 2.0, more: () }
    }
}

/// The parameters of libtiledb's consolidation, with its defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// How often to choose and merge (`sm.consolidation.steps`).
    pub count: u32,
    /// The fewest fragments of a step (`sm.consolidation.step_min_frags`); all of them if there are fewer.
    pub min_fragments: u32,
    /// The most fragments of a step (`sm.consolidation.step_max_frags`).
    pub max_fragments: u32,
    /// How much smaller than its neighbour a fragment of a step may be, from 0 (any) to 1 (not at all)
    /// (`sm.consolidation.step_size_ratio`).
    pub size_ratio: f32,
    /// Dense arrays: as in [`Tiers`] (`sm.consolidation.amplification`).
    pub amplification: f32,
    // Fields come: `..Default::default()` goes on meaning the rest.
    #[doc(hidden)]
    pub more: (),
}

impl Default for Steps {
    fn default() -> Self {
        Steps {
            count: u32::MAX,
            min_fragments: u32::MAX,
            max_fragments: u32::MAX,
            size_ratio: 0.0,
            amplification: 1.0,
            more: (),
        }
    }
}

impl Steps {
    pub(super) fn check(&self) -> Result<()> {
        if self.min_fragments > self.max_fragments {
            return Err(Error::invalid(format!(
                "the fewest fragments of a step are {}, more than the most, {}",
                self.min_fragments, self.max_fragments
            )));
        }
        if !(0.0..=1.0).contains(&self.size_ratio) {
            return Err(Error::invalid(format!("the size ratio is {}; give one of 0 to 1", self.size_ratio)));
        }
        if self.amplification.is_nan() || self.amplification < 0.0 {
            return Err(Error::invalid(format!(
                "the amplification is {}; give a number that is not negative",
                self.amplification
            )));
        }
        Ok(())
    }

    /// The fragments of the next step: as many neighbours in time as may be, and of equally many the smallest, but earlier ones
    /// unless others are smaller by a fifth (as libtiledb chooses, so that equal writes are merged from the oldest on).
    pub(super) fn choose(&self, fit: &Fit<'_>) -> Result<Option<Range<usize>>> {
        self.choose_by(fit.byte_lens(), |range| {
            Ok(fit.check(range.clone()).is_ok() && fit.amplification(range)? <= f64::from(self.amplification))
        })
    }

    /// As [`choose`](Steps::choose), by the fragments' bytes and the answer whether a range of them can be merged.
    fn choose_by(
        &self,
        sizes: &[u64],
        mut fits: impl FnMut(Range<usize>) -> Result<bool>,
    ) -> Result<Option<Range<usize>>> {
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).min(sizes.len());
        let (fewest, most) = (count(self.min_fragments).max(2), count(self.max_fragments));
        // Bytes in front of each fragment, and where the neighbours begin that are as even as asked for, up to each.
        let mut before: Vec<u64> = vec![0];
        let mut even_from: Vec<usize> = Vec::with_capacity(sizes.len());
        for (at, size) in sizes.iter().enumerate() {
            before.push(before[at].saturating_add(*size));
            even_from.push(match at.checked_sub(1) {
                Some(last) if self.are_even(sizes[last], *size) => even_from[last],
                _ => at,
            });
        }
        let longest = even_from.iter().enumerate().map(|(at, from)| at + 1 - from).max().unwrap_or(0);
        for len in (fewest..=most.min(longest)).rev() {
            let mut best: Option<(u64, Range<usize>)> = None;
            for start in 0..=sizes.len() - len {
                let range = start..start + len;
                if even_from[range.end - 1] > start {
                    continue;
                }
                let byte_len = before[range.end] - before[start];
                let is_better =
                    best.as_ref().is_none_or(|(least, _)| (byte_len as f64) < *least as f64 / 1.25);
                if is_better && fits(range.clone())? {
                    best = Some((byte_len, range));
                }
            }
            if let Some((_, range)) = best {
                return Ok(Some(range));
            }
        }
        Ok(None)
    }

    fn are_even(&self, one: u64, other: u64) -> bool {
        one.min(other) as f32 / one.max(other).max(1) as f32 >= self.size_ratio
    }
}

impl Tiers {
    pub(super) fn check(&self) -> Result<()> {
        let is_positive = |number: f64| number >= 0.0;
        if is_positive(self.size_ratio) && is_positive(self.amplification) {
            return Ok(());
        }
        Err(Error::invalid("size ratio and amplification are numbers that are not negative"))
    }

    /// The ranges of fragments to merge, oldest first.
    pub(super) fn choose(&self, fit: &Fit<'_>) -> Result<Vec<Range<usize>>> {
        let sizes = fit.byte_lens();
        let mut chosen = Vec::new();
        let mut end = sizes.len();
        while end > 0 {
            let (mut start, mut total) = (end - 1, sizes[end - 1]);
            while start > 0 {
                let size = sizes[start - 1];
                let joined = total.saturating_add(size);
                if size as f64 > self.size_ratio * total as f64 && joined > self.floor_byte_len {
                    break;
                }
                (start, total) = (start - 1, joined);
            }
            self.split(fit, start..end, &mut chosen)?;
            end = start;
        }
        chosen.sort_by_key(|range: &Range<usize>| range.start);
        Ok(chosen)
    }

    /// Takes a range, or such parts of it as can be merged.
    fn split(&self, fit: &Fit<'_>, range: Range<usize>, chosen: &mut Vec<Range<usize>>) -> Result<()> {
        let mut start = range.start;
        while start + 1 < range.end {
            let mut len = range.end - start;
            loop {
                let part = start..start + len;
                if len < 2 {
                    break;
                }
                if fit.check(part.clone()).is_ok() && self.is_dense_enough(fit, part.clone())? {
                    chosen.push(part);
                    break;
                }
                len = len.div_ceil(2).min(len - 1);
            }
            start += len;
        }
        Ok(())
    }

    fn is_dense_enough(&self, fit: &Fit<'_>, range: Range<usize>) -> Result<bool> {
        let amplification = fit.amplification(range.clone())?;
        let byte_len: u64 = fit.byte_lens()[range].iter().sum();
        Ok(amplification <= self.amplification
            || byte_len as f64 * amplification <= self.floor_byte_len as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the rule says, range by range.
    fn plain(steps: &Steps, sizes: &[u64], fits: impl Fn(Range<usize>) -> bool) -> Option<Range<usize>> {
        let count = |number: u32| (number as usize).min(sizes.len());
        let (fewest, most) = (count(steps.min_fragments).max(2), count(steps.max_fragments));
        for len in (fewest..=most).rev() {
            let mut best: Option<(u64, Range<usize>)> = None;
            for range in (0..=sizes.len() - len).map(|start| start..start + len) {
                let byte_len: u64 = sizes[range.clone()].iter().sum();
                let is_even = sizes[range.clone()].windows(2).all(|pair| steps.are_even(pair[0], pair[1]));
                let is_better =
                    best.as_ref().is_none_or(|(least, _)| (byte_len as f64) < *least as f64 / 1.25);
                if is_better && is_even && fits(range.clone()) {
                    best = Some((byte_len, range));
                }
            }
            if let Some((_, range)) = best {
                return Some(range);
            }
        }
        None
    }

    #[test]
    fn steps_choose_what_the_plain_rule_chooses() {
        let mut state = 1_u64;
        let mut dice = |sides: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % sides
        };
        let mut chosen_count = 0;
        for _ in 0..2_000 {
            let sizes: Vec<u64> = (0..2 + dice(20)).map(|_| 50 + dice(100) * (1 + dice(2) * 20)).collect();
            let min_fragments = dice(6) as u32;
            let steps = Steps {
                min_fragments,
                max_fragments: min_fragments + dice(20) as u32,
                size_ratio: dice(4) as f32 / 4.0,
                ..Steps::default()
            };
            let salt = dice(1 << 20);
            let fits = |range: Range<usize>| {
                !(range.start as u64 * 31 + range.end as u64 * 17 + salt).is_multiple_of(3)
            };
            let chosen = steps.choose_by(&sizes, |range| Ok(fits(range))).unwrap();
            assert_eq!(chosen, plain(&steps, &sizes, fits), "{steps:?} {sizes:?}");
            chosen_count += usize::from(chosen.is_some());
        }
        assert!(chosen_count > 500, "{chosen_count}");
    }

    #[test]
    fn what_cannot_be_even_is_not_asked_for() {
        let sizes: Vec<u64> =
            (0..10_000).map(|at| if at % 10 == 9 { 1_000_000 } else { 100 + at % 7 }).collect();
        let steps = Steps { min_fragments: 2, size_ratio: 0.5, ..Steps::default() };
        let mut asked = 0;
        let chosen = steps.choose_by(&sizes, |range| {
            asked += 1;
            Ok(range.len() < 5)
        });
        assert_eq!(chosen.unwrap().map(|range| range.len()), Some(4));
        assert!(asked < 50_000, "{asked}");
    }
}
