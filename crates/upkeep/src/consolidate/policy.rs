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
        self.best(fit.byte_lens(), |range| {
            let is_dense_enough = fit.amplification(range.clone())? <= f64::from(self.amplification);
            Ok(is_dense_enough && fit.check(range).is_ok())
        })
    }

    /// The next step among fragments of some sizes. What it costs to look at a range does not depend on its length; whether the range
    /// fits is asked only where its sizes speak for it.
    fn best(
        &self,
        sizes: &[u64],
        mut fits: impl FnMut(Range<usize>) -> Result<bool>,
    ) -> Result<Option<Range<usize>>> {
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).min(sizes.len());
        let (fewest, most) = (count(self.min_fragments).max(2), count(self.max_fragments));
        // Before each fragment: the bytes of all, and how many are not even with their next one.
        let (mut bytes, mut uneven) = (vec![0u128], vec![0usize]);
        for (at, size) in sizes.iter().enumerate() {
            bytes.push(bytes[at] + u128::from(*size));
            let is_even = sizes.get(at + 1).is_none_or(|next| self.are_even(*size, *next));
            uneven.push(uneven[at] + usize::from(!is_even));
        }
        for len in (fewest..=most).rev() {
            let mut best: Option<(u128, Range<usize>)> = None;
            for start in 0..=sizes.len() - len {
                let end = start + len;
                let byte_len = bytes[end] - bytes[start];
                let is_better =
                    best.as_ref().is_none_or(|(least, _)| (byte_len as f64) < *least as f64 / 1.25);
                if is_better && uneven[end - 1] == uneven[start] && fits(start..end)? {
                    best = Some((byte_len, start..end));
                }
            }
            if let Some((_, range)) = best {
                return Ok(Some(range));
            }
        }
        Ok(None)
    }

    fn are_even(&self, a: u64, b: u64) -> bool {
        let (small, large) = (a.min(b), a.max(b));
        small as f32 / large.max(1) as f32 >= self.size_ratio
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

    /// The choice as it is said, every range summed and compared anew.
    fn plainly(steps: &Steps, sizes: &[u64], fits: impl Fn(Range<usize>) -> bool) -> Option<Range<usize>> {
        let count = |number: u32| (number as usize).min(sizes.len());
        for len in (count(steps.min_fragments).max(2)..=count(steps.max_fragments)).rev() {
            let mut best: Option<(u64, Range<usize>)> = None;
            for start in 0..=sizes.len() - len {
                let range = start..start + len;
                let byte_len: u64 = sizes[range.clone()].iter().sum();
                let is_better =
                    best.as_ref().is_none_or(|(least, _)| (byte_len as f64) < *least as f64 / 1.25);
                let is_even = sizes[range.clone()].windows(2).all(|pair| steps.are_even(pair[0], pair[1]));
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
    fn steps_are_chosen_as_by_looking_at_every_range_anew() {
        let mut state = 1u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % end
        };
        for _ in 0..2000 {
            let sizes: Vec<u64> = (0..below(14)).map(|_| 1 + below(12)).collect();
            let min_fragments = below(6) as u32;
            let steps = Steps {
                min_fragments,
                max_fragments: min_fragments + below(10) as u32,
                size_ratio: below(10) as f32 / 10.0,
                ..Steps::default()
            };
            let salt = below(1 << 20);
            let fits = |range: Range<usize>| (range.start * 31 + range.end * 17 + salt as usize) % 7 > 2;
            let chosen = steps.best(&sizes, |range| Ok(fits(range))).unwrap();
            assert_eq!(chosen, plainly(&steps, &sizes, fits), "{sizes:?} {steps:?}");
        }
    }

    #[test]
    fn of_ten_thousand_fragments_few_ranges_are_looked_at_closely() {
        let sizes: Vec<u64> = (0..10_000).map(|at| if at % 100 == 99 { 1 } else { 100 }).collect();
        let steps = Steps { min_fragments: 2, size_ratio: 0.5, ..Steps::default() };
        let mut asked = 0;
        let chosen = steps.best(&sizes, |_| {
            asked += 1;
            Ok(true)
        });
        // Between two small fragments there are as many neighbours of one size.
        assert_eq!(chosen.unwrap(), Some(0..99));
        assert_eq!(asked, 1);
    }
}
