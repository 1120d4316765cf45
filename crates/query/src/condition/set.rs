//! Sets of values that cells are looked up in.

use std::collections::HashSet;

/// The most members that are compared one by one.
const FEW: usize = 8;

/// Numbers of one type, as ordinals, so that members are equal by their bits.
#[derive(Debug, Clone)]
pub(super) enum NumberSet {
    /// In ascending order.
    Few(Vec<u64>),
    /// A bit for each number from the base on.
    Bits { base: u64, words: Vec<u64>, members: Vec<u64> },
    /// In ascending order.
    Many(Vec<u64>),
}

impl NumberSet {
    pub(super) fn new(mut ordinals: Vec<u64>) -> Self {
        ordinals.sort_unstable();
        ordinals.dedup();
        if ordinals.len() <= FEW {
            return NumberSet::Few(ordinals);
        }
        let (base, last) = (ordinals[0], ordinals[ordinals.len() - 1]);
        // A bitmap may take as much memory as the members do.
        let span = (last - base) / 64;
        if span >= ordinals.len() as u64 {
            return NumberSet::Many(ordinals);
        }
        let mut words = vec![0; span as usize + 1];
        for ordinal in &ordinals {
            let place = ordinal - base;
            words[(place / 64) as usize] |= 1 << (place % 64);
        }
        NumberSet::Bits { base, words, members: ordinals }
    }

    /// In ascending order.
    pub(super) fn members(&self) -> &[u64] {
        match self {
            NumberSet::Few(members) | NumberSet::Many(members) | NumberSet::Bits { members, .. } => members,
        }
    }

    /// What tells whether an ordinal is in the set, for each way of telling, so that loops over cells have no branch
    /// for it.
    pub(super) fn look_up<R>(&self, run: impl LookUp<R>) -> R {
        match self {
            NumberSet::Few(members) => match members.len() {
                0 => run.with(|_| false),
                1..=2 => run.with(one_of(padded::<2>(members))),
                3..=4 => run.with(one_of(padded::<4>(members))),
                _ => run.with(one_of(padded::<FEW>(members))),
            },
            NumberSet::Bits { base, words, .. } => run.with(|ordinal| {
                let place = ordinal.wrapping_sub(*base);
                let word = usize::try_from(place / 64).ok().and_then(|word| words.get(word));
                word.is_some_and(|word| word >> (place % 64) & 1 == 1)
            }),
            NumberSet::Many(members) => run.with(|ordinal| members.binary_search(&ordinal).is_ok()),
        }
    }
}

/// The members, the first again and again at the end: as many as compilers unroll.
fn padded<const N: usize>(members: &[u64]) -> [u64; N] {
    let first = members.first().copied().unwrap_or_default();
    std::array::from_fn(|idx| members.get(idx).copied().unwrap_or(first))
}

fn one_of<const N: usize>(members: [u64; N]) -> impl Fn(u64) -> bool {
    move |ordinal| members.iter().fold(false, |found, member| found | (*member == ordinal))
}

/// A loop that wants to know which numbers are in a set.
pub(super) trait LookUp<R> {
    fn with(self, is_member: impl Fn(u64) -> bool) -> R;
}

/// Values of any number of bytes.
#[derive(Debug, Clone)]
pub(super) enum TextSet {
    Few(Vec<Vec<u8>>),
    /// To look up, and in ascending order.
    Many(HashSet<Vec<u8>>, Vec<Vec<u8>>),
}

impl TextSet {
    pub(super) fn new(mut members: Vec<Vec<u8>>) -> Self {
        members.sort_unstable();
        members.dedup();
        if members.len() <= FEW {
            return TextSet::Few(members);
        }
        TextSet::Many(members.iter().cloned().collect(), members)
    }

    pub(super) fn contains(&self, value: &[u8]) -> bool {
        match self {
            TextSet::Few(members) => members.iter().any(|member| member == value),
            TextSet::Many(members, _) => members.contains(value),
        }
    }

    /// Whether a member lies in a closed range.
    pub(super) fn reaches(&self, min: &[u8], max: &[u8]) -> bool {
        let (TextSet::Few(members) | TextSet::Many(_, members)) = self;
        let first = members.partition_point(|member| member.as_slice() < min);
        members.get(first).is_some_and(|member| member.as_slice() <= max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct All<'a>(&'a [u64]);

    impl LookUp<Vec<bool>> for All<'_> {
        fn with(self, is_member: impl Fn(u64) -> bool) -> Vec<bool> {
            self.0.iter().map(|ordinal| is_member(*ordinal)).collect()
        }
    }

    #[test]
    fn members_are_found_whatever_the_form_of_the_set() {
        let dense: Vec<u64> = (0..500).map(|idx| 1000 + idx * 3).collect();
        let wide: Vec<u64> = (0..500).map(|idx| idx * (u64::MAX / 499)).collect();
        for members in [vec![], vec![7], vec![0, u64::MAX], vec![1, 2, 9], (5..12).collect(), dense, wide] {
            let set = NumberSet::new(members.iter().rev().chain(&members).copied().collect());
            let asked: Vec<u64> = members
                .iter()
                .flat_map(|m| [*m, m.wrapping_add(1), m.wrapping_sub(1)])
                .chain([0, 64])
                .collect();
            let expected: Vec<bool> = asked.iter().map(|ordinal| members.contains(ordinal)).collect();
            assert_eq!(set.look_up(All(&asked)), expected);
            assert_eq!(set.members(), members);
        }
    }
}
