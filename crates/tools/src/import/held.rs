//! What columns hold in memory while they wait to be written, where arrays share buffers: slices of a table do.

use arrow_array::Array;
use arrow_data::ArrayData;
use std::collections::HashSet;

/// What the arrays of a column hold, each buffer counted once: it is told from others by where it begins, so arrays that were added
/// are not let go of before this is.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Where the buffers begin.
    seen: HashSet<usize>,
    byte_len: usize,
    unpacked: usize,
}

impl Held {
    /// Takes an array, which has so many bytes once it is written out.
    pub(super) fn add(&mut self, array: &dyn Array, unpacked: u64) {
        self.unpacked = self.unpacked.saturating_add(usize::try_from(unpacked).unwrap_or(usize::MAX));
        self.take(&array.to_data());
    }

    /// The bytes of the buffers, or those of what is written out if these are more.
    pub(super) fn byte_len(&self) -> usize {
        self.byte_len.max(self.unpacked)
    }

    fn take(&mut self, data: &ArrayData) {
        let nulls = data.nulls().map(|nulls| nulls.buffer());
        for buffer in data.buffers().iter().chain(nulls) {
            if self.seen.insert(buffer.data_ptr().addr().get()) {
                self.byte_len = self.byte_len.saturating_add(buffer.capacity());
            }
        }
        data.child_data().iter().for_each(|child| self.take(child));
        self.byte_len = self.byte_len.saturating_add(size_of::<ArrayData>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringArray};

    #[test]
    fn slices_of_an_array_hold_its_buffers_once() {
        let array = Int64Array::from_iter_values(0..100_000);
        let (mut whole, mut slices) = (Held::default(), Held::default());
        whole.add(&array, 800_000);
        for start in (0..100_000).step_by(1000) {
            slices.add(&array.slice(start, 1000), 8000);
        }
        assert!((800_000..802_000).contains(&whole.byte_len()), "{}", whole.byte_len());
        assert!(slices.byte_len() < 850_000, "{}", slices.byte_len());
    }

    #[test]
    fn a_short_slice_holds_all_of_its_buffer() {
        let array = Int64Array::from_iter_values(0..100_000);
        let mut held = Held::default();
        held.add(&array.slice(5, 1), 8);
        assert!(held.byte_len() >= 800_000);
    }

    #[test]
    fn arrays_of_their_own_are_counted_each() {
        let array = |_| StringArray::from_iter_values((0..1000).map(|idx: i32| idx.to_string()));
        let arrays: Vec<StringArray> = (0..10).map(array).collect();
        let mut held = Held::default();
        arrays.iter().for_each(|array| held.add(array, 2890));
        assert!(held.byte_len() > 10 * 6890, "{}", held.byte_len());
    }

    #[test]
    fn what_is_written_out_counts_if_it_is_more() {
        let mut held = Held::default();
        held.add(&Int64Array::from_iter_values(0..10), 1 << 40);
        assert_eq!(held.byte_len(), 1 << 40);
    }
}
