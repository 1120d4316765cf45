//! Sorting what a folder lists by name.

/// Fewer are sorted by their names at once.
const FEWEST: usize = 64;

/// Sorts by name. Names of fragments and commits begin alike, with times of many digits: compared are the eight bytes behind what all have in
/// common, and names as a whole where these are the same. The names are passed over in the order that they were made in, which is how they lie in
/// memory.
pub(super) fn sorted_by_name<T>(mut items: Vec<T>, name_of: impl Fn(&T) -> &str) -> Vec<T> {
    let Some((first, others)) = items.split_first().filter(|(_, others)| others.len() >= FEWEST) else {
        items.sort_unstable_by(|a, b| name_of(a).cmp(name_of(b)));
        return items;
    };
    let first = name_of(first).as_bytes();
    let common_len = others.iter().fold(first.len(), |len, item| {
        let (first, name) = (first.get(..len).unwrap_or(first), name_of(item).as_bytes());
        match name.starts_with(first) {
            true => len,
            false => first.iter().zip(name).take_while(|(a, b)| a == b).count(),
        }
    });
    // A name that ends there comes before all that go on: it is among those whose keys are the same.
    let key = |item: &T| {
        let mut key = [0; size_of::<u64>()];
        key.iter_mut()
            .zip(name_of(item).as_bytes().iter().skip(common_len))
            .for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(key)
    };
    let mut keyed: Vec<(u64, usize)> = items.iter().map(key).zip(0..).collect();
    keyed.sort_unstable();
    let name_at = |idx: usize| items.get(idx).map(&name_of);
    for same in keyed.chunk_by_mut(|(a, _), (b, _)| a == b).filter(|same| same.len() > 1) {
        same.sort_unstable_by(|(_, a), (_, b)| name_at(*a).cmp(&name_at(*b)));
    }
    let mut left: Vec<Option<T>> = items.into_iter().map(Some).collect();
    keyed.into_iter().filter_map(|(_, idx)| left.get_mut(idx)?.take()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_as_sorted_by_all_their_bytes() {
        let mut state = 7_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % bound
        };
        for count in [0, 1, FEWEST, FEWEST + 1, 1000] {
            for (prefix, longest) in [("", 3), ("__17000", 2), ("__17000", 12), ("__17000", 40)] {
                let mut names: Vec<String> = (0..count)
                    .map(|_| {
                        (0..below(longest + 1))
                            .fold(prefix.to_owned(), |name, _| format!("{name}{}", below(10)))
                    })
                    .collect();
                let sorted = sorted_by_name(names.clone(), |name| name);
                names.sort();
                assert_eq!(sorted, names, "{count} of {prefix} and {longest} digits");
            }
        }
        let alike = vec!["same"; 200];
        assert_eq!(sorted_by_name(alike.clone(), |name| name), alike);
        // A zero byte beside an end.
        let mut names: Vec<String> = (0..200).map(|idx| format!("a{}", "\0".repeat(idx % 12))).collect();
        let sorted = sorted_by_name(names.clone(), |name| name);
        names.sort();
        assert_eq!(sorted, names);
    }
}
