//! Finding what belongs to a name among many.

use std::cell::Cell;

/// Rows by name, each name once: the first row given for it. Asking for names in their order is quickest.
///
/// Rows know their names, or where these are: whoever asks says how a row gives its own.
#[derive(Debug, Clone)]
pub struct NameIndex<R> {
    /// Sorted by name.
    rows: Vec<R>,
    /// Behind the row that was found last.
    next: Cell<usize>,
}

impl<R> NameIndex<R> {
    /// Of rows whose names `name_of` gives.
    pub fn new<'n>(mut rows: Vec<R>, name_of: impl Fn(&R) -> &'n [u8]) -> Self {
        if !rows.is_sorted_by(|a, b| name_of(a) < name_of(b)) {
            rows.sort_by(|a, b| name_of(a).cmp(name_of(b)));
            rows.dedup_by(|a, b| name_of(a) == name_of(b));
        }
        NameIndex { rows, next: Cell::new(0) }
    }

    /// The row of a name, with the same `name_of`.
    pub fn find<'n>(&self, name: &str, name_of: impl Fn(&R) -> &'n [u8]) -> Option<&R> {
        let name = name.as_bytes();
        let expected = self.rows.get(self.next.get()).is_some_and(|row| name_of(row) == name);
        let at = match expected {
            true => self.next.get(),
            false => self.rows.binary_search_by(|row| name_of(row).cmp(name)).ok()?,
        };
        self.next.set(at + 1);
        self.rows.get(at)
    }
}

impl<'n> FromIterator<&'n str> for NameIndex<&'n str> {
    fn from_iter<I: IntoIterator<Item = &'n str>>(names: I) -> Self {
        NameIndex::new(names.into_iter().collect(), |name| name.as_bytes())
    }
}

impl NameIndex<&str> {
    /// Whether the name is among these.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name, |name| name.as_bytes()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_order() {
        let index = NameIndex::new(vec![("b", 1), ("a", 2), ("d", 3), ("b", 4)], |row| row.0.as_bytes());
        for (name, number) in
            [("a", Some(2)), ("b", Some(1)), ("c", None), ("d", Some(3)), ("e", None), ("a", Some(2))]
        {
            let found = index.find(name, |row| row.0.as_bytes());
            assert_eq!(found.map(|row| row.1), number, "{name}");
        }
        assert!(["b", "a"].into_iter().collect::<NameIndex<_>>().contains("a"));
        assert!(!std::iter::empty().collect::<NameIndex<_>>().contains("a"));
    }
}
