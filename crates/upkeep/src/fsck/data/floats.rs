//! How far the statistics of floats are told by the values.

use smalti_tile::ColumnRef;
use smalti_types::Datatype;
use std::ops::Range;

/// What the bits of statistics of floats hang on beside the values.
///
/// A NaN spoils what libtiledb keeps of a tile in a way that depends on where it stands. Of zeros either may be the least or the
/// greatest. Where all values are infinite, libtiledb stays at the greatest finite number. Sums depend on the order of the
/// additions: of `n` values of the magnitude `m` together, each order is at most `(n - 1) / 2 * EPSILON * m` off (Higham,
/// Accuracy and Stability of Numerical Algorithms, section 4.2), and those that leave the type on the way may end anywhere.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Floats {
    cell_count: u64,
    /// The sum of all absolute values; NaN if one of the values is.
    magnitude: f64,
}

impl Floats {
    /// Takes in cells of a type of floats.
    ///
    /// # Panics
    /// When the range is not within the column.
    pub(super) fn add(&mut self, datatype: Datatype, column: ColumnRef<'_>, cells: Range<usize>) {
        let byte_len = datatype.byte_len();
        let bytes = &column.data[cells.start * byte_len..cells.end * byte_len];
        let is_valid = |(cell, _): &(usize, f64)| column.is_valid(*cell);
        let mut add = |value: f64| {
            self.magnitude += value.abs();
            self.cell_count += 1;
        };
        if datatype == Datatype::Float32 {
            let values = bytes.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
            cells.zip(values).filter(is_valid).for_each(|(_, value)| add(value));
        } else {
            let values = bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
            cells.zip(values).filter(is_valid).for_each(|(_, value)| add(value));
        }
    }

    pub(super) fn merge<'a>(all: impl Iterator<Item = &'a Floats>) -> Floats {
        all.fold(Floats::default(), |sum, floats| Floats {
            cell_count: sum.cell_count + floats.cell_count,
            magnitude: sum.magnitude + floats.magnitude,
        })
    }

    /// Whether a stored bound may be that of the values.
    pub(super) fn allows_bound(&self, stored: f64, actual: f64) -> bool {
        let is_limit = actual.is_infinite()
            && stored.is_finite()
            && (stored.abs() == f64::MAX || stored.abs() == f64::from(f32::MAX));
        self.magnitude.is_nan() || stored == actual || is_limit && (stored < 0.0) == (actual < 0.0)
    }

    /// Whether a stored sum may be that of the values.
    pub(super) fn allows_sum(&self, stored: f64, actual: f64) -> bool {
        let is_bounded = self.magnitude < f64::MAX / 2.0;
        // The magnitude is a sum itself: twice its bound covers that.
        !is_bounded || (stored - actual).abs() <= 2.0 * self.cell_count as f64 * f64::EPSILON * self.magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f64]) -> Floats {
        let mut floats = Floats::default();
        let column = ColumnRef::fixed(bytemuck::cast_slice(values));
        floats.add(Datatype::Float64, column, 0..values.len());
        floats
    }

    #[test]
    fn sums_in_any_order_are_the_same() {
        let values: Vec<f64> = (0..5000).map(|at| f64::from(at * 7919 % 5000 - 2500) * 1.1e9 + 0.3).collect();
        let forward: f64 = values.iter().sum();
        let backward: f64 = values.iter().rev().sum();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let sorted: f64 = sorted.iter().sum();
        assert_ne!(forward, sorted);
        let floats = floats(&values);
        assert!(floats.allows_sum(backward, forward) && floats.allows_sum(sorted, forward));
        assert!(!floats.allows_sum(forward + 1e6, forward) && !floats.allows_sum(f64::NAN, forward));
    }

    #[test]
    fn single_values_have_their_own_bits() {
        assert!(!floats(&[0.1]).allows_sum(0.1 + 1e-15, 0.1));
        assert!(!floats(&[]).allows_sum(1e-300, 0.0));
        assert!(floats(&[f64::MAX, f64::MAX]).allows_sum(f64::MAX, f64::INFINITY));
    }

    #[test]
    fn bounds_are_the_same_but_for_zeros_infinities_and_beside_nan() {
        let finite = floats(&[0.0, 1.0]);
        assert!(finite.allows_bound(-0.0, 0.0) && !finite.allows_bound(0.5, 0.0));
        assert!(!finite.allows_bound(f64::NAN, 0.0));
        assert!(floats(&[1.0, f64::NAN]).allows_bound(f64::NAN, 1.0));
        let infinite = floats(&[f64::INFINITY]);
        assert!(infinite.allows_bound(f64::MAX, f64::INFINITY));
        assert!(
            !infinite.allows_bound(f64::MIN, f64::INFINITY) && !infinite.allows_bound(7.0, f64::INFINITY)
        );
    }
}
