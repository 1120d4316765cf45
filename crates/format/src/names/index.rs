//! Finding what belongs to a name among many.

use std::cell::Cell;

/// Rows by name, each name once: the first row given for it. Asking for names in their order is quickest.
#[derive(Debug, Clone)]
pub struct NameIndex<N, T> {
    /// Sorted by name.
    rows: Vec<(N, T)>,
    /// Behind the row that was found last.
    next: Cell<usize>,
}

impl<N: AsRef<str>, T> NameIndex<N, T> {
    /// The row of a name.
    pub fn find(&self, name: &str) -> Option<&T> {
        let expected = self.rows.get(self.next.get()).is_some_and(|(known, _)| known.as_ref() == name);
        let at = match expected {
            true => self.next.get(),
            false => self.rows.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?,
        };
        self.next.set(at + 1);
        self.rows.get(at).map(|(_, row)| row)
    }

    /// Whether there is a row of the name.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

impl<N: AsRef<str>, T> FromIterator<(N, T)> for NameIndex<N, T> {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(rows: I) -> Self {
        let mut rows: Vec<(N, T)> = rows.into_iter().collect();
        rows.sort_by(|(a, _), (b, _)| a.as_ref().cmp(b.as_ref()));
        rows.dedup_by(|(a, _), (b, _)| (*a).as_ref() == (*b).as_ref());
        NameIndex { rows, next: Cell::new(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_order() {
        let index: NameIndex<&str, u32> = [("b", 1), ("a", 2), ("d", 3), ("b", 4)].into_iter().collect();
        for (name, row) in
            [("a", Some(&2)), ("b", Some(&1)), ("c", None), ("d", Some(&3)), ("e", None), ("a", Some(&2))]
        {
            assert_eq!(index.find(name), row, "{name}");
        }
        assert!(!std::iter::empty::<(&str, ())>().collect::<NameIndex<&str, ()>>().contains("a"));
    }
}
