//! How many bytes the cells of Arrow arrays take once they are written out.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, OffsetSizeTrait, RunArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;

/// The bytes that the cells of an array take with dictionaries, runs and views written out, offsets and validity among them. In
/// those a value is there once, however many cells have it: a small file can hold a large column. Nothing is written out to tell.
///
/// ```
/// use smalti::arrow::unpacked_byte_len;
/// use smalti::arrow_array::{DictionaryArray, types::Int8Type};
///
/// let labels: DictionaryArray<Int8Type> = vec!["ten bytes."; 100].into_iter().collect();
/// assert!(unpacked_byte_len(&labels) >= 1000);
/// ```
pub fn unpacked_byte_len(array: &dyn Array) -> u64 {
    let cell_count = array.len() as u64;
    let values = match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let (keys, values) = (dictionary.keys(), dictionary.values());
            if values.is_empty() {
                return cell_count;
            }
            let places = dictionary.normalized_keys();
            // Each value is measured once, if there are fewer of them than cells.
            let measured: Vec<u64> = match values.len() <= places.len() {
                true => (0..values.len()).map(|place| cell_byte_len(values, place)).collect(),
                false => Vec::new(),
            };
            let of = |place: usize| match measured.get(place) {
                Some(byte_len) => *byte_len,
                None => cell_byte_len(values, place),
            };
            match keys.nulls() {
                None => sum(places.into_iter().map(of)),
                Some(nulls) => {
                    sum(nulls.valid_indices().filter_map(|cell| places.get(cell)).map(|&place| of(place)))
                }
            }
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => of_runs(array.as_run::<Int16Type>()),
            DataType::Int32 => of_runs(array.as_run::<Int32Type>()),
            _ => of_runs(array.as_run::<Int64Type>()),
        },
        DataType::Utf8 => span(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => span(array.as_string::<i64>().value_offsets()),
        DataType::Binary => span(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => span(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => of_views(array.as_string_view().views(), array.nulls()),
        DataType::BinaryView => of_views(array.as_binary_view().views(), array.nulls()),
        DataType::List(_) => {
            let (first, last) = ends(array.as_list::<i32>().value_offsets());
            unpacked_byte_len(&array.as_list::<i32>().values().slice(first, last.saturating_sub(first)))
        }
        DataType::LargeList(_) => {
            let (first, last) = ends(array.as_list::<i64>().value_offsets());
            unpacked_byte_len(&array.as_list::<i64>().values().slice(first, last.saturating_sub(first)))
        }
        DataType::FixedSizeList(..) => unpacked_byte_len(array.as_fixed_size_list().values()),
        _ if array.is_empty() => 0,
        _ => cell_count.saturating_mul(cell_byte_len(array, 0)),
    };
    // An offset and a byte of validity for each cell.
    values.saturating_add(cell_count.saturating_mul(9))
}

fn sum(byte_lens: impl Iterator<Item = u64>) -> u64 {
    byte_lens.fold(0, u64::saturating_add)
}

fn ends<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let end = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
    (end(offsets.first()), end(offsets.last()))
}

fn span<O: OffsetSizeTrait>(offsets: &[O]) -> u64 {
    let (first, last) = ends(offsets);
    last.saturating_sub(first) as u64
}

fn of_views(views: &[u128], nulls: Option<&NullBuffer>) -> u64 {
    match nulls {
        None => sum(views.iter().map(|view| view_byte_len(*view))),
        Some(nulls) => {
            sum(nulls.valid_indices().filter_map(|cell| views.get(cell)).map(|view| view_byte_len(*view)))
        }
    }
}

/// Views begin with the length of their value.
fn view_byte_len(view: u128) -> u64 {
    u64::from(view as u32)
}

fn of_runs<R: RunEndIndexType>(array: &RunArray<R>) -> u64 {
    let ends = array.run_ends();
    let (from, to) = (ends.offset(), ends.offset().saturating_add(ends.len()));
    let first = if array.is_empty() { 0 } else { ends.get_start_physical_index() };
    let (mut start, mut total) = (from, 0_u64);
    for (run, end) in ends.values().iter().enumerate().skip(first) {
        if start >= to || run >= array.values().len() {
            break;
        }
        let end = end.as_usize().clamp(start, to);
        total = total.saturating_add(
            ((end - start) as u64).saturating_mul(cell_byte_len(array.values().as_ref(), run)),
        );
        start = end;
    }
    total
}

/// The bytes of one value: found at once, whatever is in the others.
fn cell_byte_len(array: &dyn Array, cell: usize) -> u64 {
    let of = |offsets: (usize, usize)| offsets.1.saturating_sub(offsets.0) as u64;
    let at = |views: &[u128]| views.get(cell).map_or(0, |view| view_byte_len(*view));
    if array.is_null(cell) {
        return 0;
    }
    match array.data_type() {
        DataType::Null => 0,
        DataType::Boolean => 1,
        DataType::Utf8 => of(ends(&array.as_string::<i32>().value_offsets()[cell..cell + 2])),
        DataType::LargeUtf8 => of(ends(&array.as_string::<i64>().value_offsets()[cell..cell + 2])),
        DataType::Binary => of(ends(&array.as_binary::<i32>().value_offsets()[cell..cell + 2])),
        DataType::LargeBinary => of(ends(&array.as_binary::<i64>().value_offsets()[cell..cell + 2])),
        DataType::Utf8View => at(array.as_string_view().views()),
        DataType::BinaryView => at(array.as_binary_view().views()),
        DataType::FixedSizeBinary(size) => u64::try_from(*size).unwrap_or(0),
        other => match other.primitive_width() {
            Some(width) => width as u64,
            // Lists in dictionaries, and dictionaries in them: no value is longer than all of them.
            None => array.get_array_memory_size() as u64,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        ArrayRef, DictionaryArray, Int32Array, Int64Array, LargeStringArray, RunArray, StringArray,
        StringViewArray,
    };
    use std::sync::Arc;

    #[test]
    fn every_cell_of_a_dictionary_of_runs_and_of_views_counts() {
        let long: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(1000), "y".into()]));
        let keys = Int32Array::from(vec![Some(0), Some(1), None, Some(0), Some(0)]);
        let dictionary = DictionaryArray::new(keys, long.clone());
        assert_eq!(unpacked_byte_len(&dictionary), 3001 + 45);
        assert_eq!(unpacked_byte_len(&dictionary.slice(1, 3)), 1001 + 27);
        let runs = RunArray::try_new(&Int64Array::from(vec![1_000_000_000, 1_000_000_007]), &long).unwrap();
        assert_eq!(unpacked_byte_len(&runs), 1_000_000_000_000 + 7 + 9 * 1_000_000_007);
        assert_eq!(unpacked_byte_len(&runs.slice(999_999_998, 5)), 2003 + 45);
        let views = StringViewArray::from(vec!["short", "longer than a view of 12 bytes"]);
        assert_eq!(unpacked_byte_len(&views), 35 + 18);
        let large = LargeStringArray::from(vec!["ab", "c", "def"]);
        assert_eq!(unpacked_byte_len(&large.slice(1, 2)), 4 + 18);
        assert_eq!(unpacked_byte_len(&Int64Array::from(vec![1, 2])), 16 + 18);
        assert_eq!(unpacked_byte_len(&Int64Array::from(Vec::<i64>::new())), 0);
    }
}
