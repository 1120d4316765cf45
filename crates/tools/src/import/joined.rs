//! The arrays of a column in one piece.

use super::types::{as_texts, unpacked};
use crate::failure::{Failure, Outcome};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    AnyDictionaryArray, Array as _, ArrayRef, DictionaryArray, Int32Array, LargeStringArray, make_array,
};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::ArrowError;
use std::collections::HashMap;
use std::sync::Arc;

/// The cells of all arrays, one array behind the other. Dictionaries of text stay dictionaries, of the labels of all of them.
///
/// # Errors
/// Arrays of several types, or of none.
pub(super) fn joined(arrays: Vec<ArrayRef>) -> Outcome<ArrayRef> {
    let [first, others @ ..] = arrays.as_slice() else { return Err(Failure::invalid("no cells")) };
    if others.is_empty() {
        return Ok(first.clone());
    }
    let differs = |other: &ArrayRef| match (first.as_any_dictionary_opt(), other.as_any_dictionary_opt()) {
        (Some(first), Some(other)) => !Arc::ptr_eq(first.values(), other.values()),
        _ => false,
    };
    if !others.iter().any(differs) {
        return concatenated(&arrays);
    }
    if let Some(merged) = merged(&arrays) {
        return Ok(Arc::new(merged));
    }
    let plain = arrays.iter().map(|array| match array.as_any_dictionary_opt() {
        Some(_) => unpacked(array),
        None => Ok(array.clone()),
    });
    concatenated(&plain.collect::<Result<Vec<_>, _>>().map_err(wrong)?)
}

fn wrong(error: ArrowError) -> Failure {
    Failure::invalid(error.to_string())
}

fn concatenated(arrays: &[ArrayRef]) -> Outcome<ArrayRef> {
    let parts: Vec<ArrayData> = arrays.iter().map(|array| array.to_data()).collect();
    if let Some(other) = parts.iter().find(|part| part.data_type() != parts[0].data_type()) {
        let (a, b) = (parts[0].data_type(), other.data_type());
        return Err(Failure::invalid(format!("cells of {a} and of {b} in one column")));
    }
    let row_count = arrays.iter().map(|array| array.len()).sum();
    let mut all = MutableArrayData::new(parts.iter().collect(), false, row_count);
    for (idx, part) in parts.iter().enumerate() {
        all.try_extend(idx, 0, part.len()).map_err(wrong)?;
    }
    Ok(make_array(all.freeze()))
}

/// The cells of dictionaries of text that differ, as files and batches have them, in one dictionary, whose keys have room for the
/// labels of all of them; `None` where one is no such dictionary. No text is written out: each dictionary is looked through once.
fn merged(arrays: &[ArrayRef]) -> Option<DictionaryArray<Int32Type>> {
    let dictionaries: Option<Vec<&dyn AnyDictionaryArray>> =
        arrays.iter().map(|array| array.as_any_dictionary_opt()).collect();
    let mut labels: Vec<&str> = Vec::new();
    let mut places: HashMap<&str, i32> = HashMap::new();
    let mut keys: Vec<Option<i32>> = Vec::with_capacity(arrays.iter().map(|array| array.len()).sum());
    for dictionary in dictionaries? {
        let texts = as_texts(dictionary.values())?;
        // By key, the place of the label.
        let mut own: Vec<Option<i32>> = Vec::with_capacity(texts.len());
        for text in texts {
            own.push(match text {
                None => None,
                Some(text) => Some(match places.get(text) {
                    Some(place) => *place,
                    None => {
                        let place = i32::try_from(labels.len()).ok()?;
                        labels.push(text);
                        places.insert(text, place);
                        place
                    }
                }),
            });
        }
        let nulls = dictionary.keys().nulls();
        if own.is_empty() {
            keys.extend(std::iter::repeat_n(None, dictionary.len()));
            continue;
        }
        let cells = dictionary.normalized_keys().into_iter().enumerate();
        keys.extend(cells.map(|(cell, key)| match nulls.is_some_and(|nulls| nulls.is_null(cell)) {
            true => None,
            false => own.get(key).copied().flatten(),
        }));
    }
    let values = Arc::new(LargeStringArray::from_iter_values(labels));
    DictionaryArray::try_new(Int32Array::from(keys), values).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int8Type;
    use arrow_array::{Int64Array, StringArray};

    fn dictionary(labels: &[Option<&str>], keys: Vec<Option<i8>>) -> ArrayRef {
        let values = Arc::new(StringArray::from(labels.to_vec()));
        Arc::new(DictionaryArray::<Int8Type>::try_new(keys.into(), values).unwrap())
    }

    fn texts(array: &ArrayRef) -> Vec<Option<String>> {
        let plain = unpacked(array).unwrap();
        as_texts(&plain).unwrap().into_iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn dictionaries_that_differ_become_one() {
        let one = dictionary(&[Some("a"), None, Some("b")], vec![Some(2), Some(1), None, Some(0)]);
        let other = dictionary(&[Some("c"), Some("b")], vec![Some(0), Some(1), Some(1)]);
        let empty = dictionary(&[], vec![None]);
        let all = joined(vec![one.slice(0, 3), other, empty, one.clone()]).unwrap();
        assert_eq!(all.as_any_dictionary().values().len(), 3);
        let expected =
            [Some("b"), None, None, Some("c"), Some("b"), Some("b"), None, Some("b"), None, None, Some("a")];
        assert_eq!(texts(&all), expected.map(|text| text.map(str::to_owned)));
    }

    #[test]
    fn dictionaries_that_are_shared_stay_as_they_are_and_those_of_numbers_are_written_out() {
        let one = dictionary(&[Some("a"), Some("b")], vec![Some(1), Some(0)]);
        let all = joined(vec![one.clone(), one.slice(1, 1)]).unwrap();
        assert_eq!(all.data_type(), one.data_type());
        assert_eq!(all.len(), 3);
        let numbers = |value| -> ArrayRef {
            let values = Arc::new(Int64Array::from(vec![value]));
            Arc::new(DictionaryArray::<Int8Type>::try_new(vec![0, 0].into(), values).unwrap())
        };
        let all = joined(vec![numbers(5), numbers(7)]).unwrap();
        assert_eq!(all.as_ref(), &Int64Array::from(vec![5, 5, 7, 7]) as &dyn arrow_array::Array);
    }
}
