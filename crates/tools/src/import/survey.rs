//! The first pass over a table: what its columns hold, and whether it fits an array that is there.

use super::filters::Sample;
use super::source::{Rows, Source};
use super::types::{as_texts, unpacked};
use crate::failure::{Failure, Outcome};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use smalti::format::Dimension;
use smalti::{Extent, Scalar};
use std::collections::HashMap;

/// Labels of all enumerations together: more are no enumerations.
const MAX_LABELS_BYTE_LEN: usize = 64 << 20;

/// What is asked of a column.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// Its least and greatest value.
    pub(super) wants_bounds: bool,
    /// Its different values.
    pub(super) wants_labels: bool,
    /// No null may be in it, for this reason.
    pub(super) refuses_nulls: Option<&'static str>,
    /// No character beyond ASCII may be in it.
    pub(super) is_ascii: bool,
    /// The dimension whose domain its values must lie in.
    pub(super) dimension: Option<Dimension>,
    /// Labels that are there already; `--extend-enums` is needed for others.
    pub(super) known_labels: Option<HashMap<Vec<u8>, ()>>,
}

/// What a column holds.
#[derive(Debug, Default)]
pub(super) struct ColumnFacts {
    pub(super) null_count: u64,
    pub(super) bounds: Option<(Scalar, Scalar)>,
    /// The type of the values that the bounds are of: it widens as the column does.
    bounds_type: Option<DataType>,
    /// In the order in which they come.
    pub(super) labels: Vec<String>,
    codes: HashMap<String, ()>,
    /// The dictionary whose labels were taken last.
    last_dictionary: Option<ArrayRef>,
}

/// What the first pass finds.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) questions: HashMap<String, Question>,
    pub(super) facts: HashMap<String, ColumnFacts>,
    pub(super) row_count: u64,
    /// Whether the files are text, in which nullable columns are those with nulls.
    pub(super) is_text: bool,
    pub(super) labels_byte_len: usize,
    /// Of a new array, the first rows.
    pub(super) sample: Sample,
}

impl Survey {
    /// Takes rows.
    ///
    /// # Errors
    /// Name the line or row, the column, the value, and what can be done.
    pub(super) fn add(&mut self, source: &Source<'_>, rows: &Rows) -> Outcome {
        self.row_count += rows.batch.num_rows() as u64;
        let schema = rows.batch.schema();
        for (field, array) in schema.fields().iter().zip(rows.batch.columns()) {
            let name = field.name();
            let facts = self.facts.entry(name.clone()).or_default();
            let wrong = |row: usize, problem: String| {
                source.failure(rows.file, rows.first_row + row as u64, &format!("column {name:?}: {problem}"))
            };
            facts.null_count += array.logical_null_count() as u64;
            let Some(question) = self.questions.get(name) else { continue };
            if let (Some(why), Some(nulls)) = (question.refuses_nulls, array.logical_nulls())
                && let Some(row) = (0..array.len()).find(|&row| nulls.is_null(row))
            {
                return Err(wrong(row, format!("null, but {why}; fill it in, or leave the row out")));
            }
            if question.is_ascii
                && let Some((row, text)) = first_beyond_ascii(array)
            {
                return Err(wrong(
                    row,
                    format!(
                        "{text:?} is no ASCII, which the field holds alone; make another column the dimension, or write it otherwise"
                    ),
                ));
            }
            if question.wants_bounds {
                match bounds(array) {
                    Ok(Some((lo, hi))) => {
                        if let Some(dimension) = &question.dimension {
                            check_domain(dimension, array, (lo, hi))
                                .map_err(|(row, problem)| wrong(row, problem))?;
                        }
                        facts.take_bounds(array.data_type(), lo, hi);
                    }
                    Ok(None) => {}
                    Err(row) => {
                        return Err(wrong(
                            row,
                            "NaN is no coordinate; fill it in, or leave the row out".into(),
                        ));
                    }
                }
            }
            if question.wants_labels {
                self.labels_byte_len +=
                    take_labels(facts, question, array).map_err(|(row, problem)| wrong(row, problem))?;
                if self.labels_byte_len > MAX_LABELS_BYTE_LEN {
                    return Err(Failure::invalid(format!(
                        "column {name:?} has more than {} MiB of different values, too many for an enumeration; leave it out of --enum",
                        MAX_LABELS_BYTE_LEN >> 20
                    )));
                }
            }
        }
        Ok(())
    }
}

impl ColumnFacts {
    /// Takes the bounds of some rows.
    pub(super) fn take_bounds(&mut self, data_type: &DataType, lo: Scalar, hi: Scalar) {
        let before = self.bounds_type.replace(data_type.clone());
        self.bounds = Some(match (self.bounds, before) {
            (Some((least, greatest)), Some(before)) => {
                let (least, greatest) =
                    (rescaled(least, &before, data_type), rescaled(greatest, &before, data_type));
                // Without a common type neither is less: the bounds of what the column has become count.
                let is_alike = std::mem::discriminant(&least) == std::mem::discriminant(&lo);
                (
                    if !is_alike || lo.ordinal() < least.ordinal() { lo } else { least },
                    if !is_alike || hi.ordinal() > greatest.ordinal() { hi } else { greatest },
                )
            }
            _ => (lo, hi),
        });
    }
}

/// A value in the type that its column widened to.
fn rescaled(value: Scalar, from: &DataType, to: &DataType) -> Scalar {
    let ticks = |data_type: &DataType| match data_type {
        DataType::Timestamp(unit, _) => Some(10_i64.pow(super::kind::digits(*unit) as u32)),
        _ => None,
    };
    match (value, from, ticks(from), ticks(to)) {
        (Scalar::I64(days), DataType::Date32, _, Some(to)) => {
            Scalar::I64(days.saturating_mul(86_400).saturating_mul(to))
        }
        (Scalar::I64(time), _, Some(from), Some(to)) => Scalar::I64(time.saturating_mul(to / from.min(to))),
        (value, ..) if matches!(to, DataType::Float64) => Scalar::F64(value.as_f64()),
        (Scalar::I64(value), _, None, None) if matches!(to, DataType::UInt64) => {
            u64::try_from(value).map_or(Scalar::I64(value), Scalar::U64)
        }
        (value, ..) => value,
    }
}

/// Takes the labels of a column; the bytes of those that are new.
fn take_labels(
    facts: &mut ColumnFacts,
    question: &Question,
    array: &ArrayRef,
) -> Result<usize, (usize, String)> {
    let mut byte_len = 0;
    let known = question.known_labels.as_ref();
    let ColumnFacts { labels, codes, last_dictionary, .. } = facts;
    let mut take = |label: &str, row: usize| -> Result<(), (usize, String)> {
        if codes.contains_key(label) {
            return Ok(());
        }
        if known.is_some_and(|known| !known.contains_key(label.as_bytes())) {
            return Err((
                row,
                format!("{label:?} is no label of the array's enumeration; give --extend-enums to add it"),
            ));
        }
        byte_len += label.len() + 64;
        codes.insert(label.to_owned(), ());
        labels.push(label.to_owned());
        Ok(())
    };
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        // Batches of one file share their dictionary. Labels that no cell uses are labels of a new array too.
        let is_new =
            last_dictionary.as_ref().is_none_or(|last| !std::sync::Arc::ptr_eq(last, dictionary.values()));
        if known.is_none() && !is_new {
            return Ok(0);
        }
        let texts = as_texts(dictionary.values()).ok_or((0, "labels that are no text".to_owned()))?;
        if known.is_none() {
            for text in texts.iter().flatten() {
                take(text, 0)?;
            }
        } else if !dictionary.values().is_empty() {
            for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
                if let (true, Some(Some(text))) = (dictionary.keys().is_valid(row), texts.get(key)) {
                    take(text, row)?;
                }
            }
        }
        *last_dictionary = Some(dictionary.values().clone());
        return Ok(byte_len);
    }
    let texts =
        as_texts(array).ok_or_else(|| (0, format!("{} is no text, which labels are", array.data_type())))?;
    for (row, text) in texts.iter().enumerate() {
        if let Some(text) = text {
            take(text, row)?;
        }
    }
    Ok(byte_len)
}

fn first_beyond_ascii(array: &ArrayRef) -> Option<(usize, String)> {
    let values = array.as_any_dictionary_opt().map_or(array, |dictionary| dictionary.values());
    let texts = as_texts(values)?;
    texts
        .iter()
        .enumerate()
        .find_map(|(row, text)| text.filter(|text| !text.is_ascii()).map(|text| (row, text.to_owned())))
}

/// The first value outside of a domain.
fn check_domain(
    dimension: &Dimension,
    array: &ArrayRef,
    (lo, hi): (Scalar, Scalar),
) -> Result<(), (usize, String)> {
    let Some((least, greatest)) = dimension.domain else { return Ok(()) };
    let fit = |value: Scalar| value.cast(dimension.datatype).ok();
    let inside = |value: Scalar| {
        fit(value).is_some_and(|value| (least.ordinal()..=greatest.ordinal()).contains(&value.ordinal()))
    };
    if inside(lo) && inside(hi) {
        return Ok(());
    }
    for row in 0..array.len() {
        if let Ok(Some((value, _))) = bounds(&array.slice(row, 1))
            && !inside(value)
        {
            let domain = Extent::Num { lo: least.ordinal(), hi: greatest.ordinal() };
            let value = match fit(value) {
                Some(value) => super::plan::cell_json(dimension.datatype, value).to_string(),
                None => format!("{value:?}"),
            };
            return Err((
                row,
                format!(
                    "{value} lies outside the domain {} of dimension {:?}, which cannot grow; make the array with a wider --domain",
                    dimension.shown(domain.as_ref()),
                    dimension.name
                ),
            ));
        }
    }
    Ok(())
}

/// The least and the greatest value of a column of numbers or times; `None` where there are none.
///
/// # Errors
/// The row of a NaN.
pub(super) fn bounds(array: &ArrayRef) -> Result<Option<(Scalar, Scalar)>, usize> {
    use DataType::*;
    let plain;
    let array = match array.data_type() {
        Dictionary(..) => {
            plain = unpacked(array).map_err(|_| 0_usize)?;
            &plain
        }
        _ => array,
    };
    Ok(match array.data_type() {
        Int8 => integers::<Int8Type>(array, Scalar::I8),
        Int16 => integers::<Int16Type>(array, Scalar::I16),
        Int32 => integers::<Int32Type>(array, Scalar::I32),
        Int64 => integers::<Int64Type>(array, Scalar::I64),
        UInt8 => integers::<UInt8Type>(array, Scalar::U8),
        UInt16 => integers::<UInt16Type>(array, Scalar::U16),
        UInt32 => integers::<UInt32Type>(array, Scalar::U32),
        UInt64 => integers::<UInt64Type>(array, Scalar::U64),
        Date32 => integers::<Date32Type>(array, |day| Scalar::I64(day.into())),
        Date64 => integers::<Date64Type>(array, Scalar::I64),
        Timestamp(TimeUnit::Second, _) => integers::<TimestampSecondType>(array, Scalar::I64),
        Timestamp(TimeUnit::Millisecond, _) => integers::<TimestampMillisecondType>(array, Scalar::I64),
        Timestamp(TimeUnit::Microsecond, _) => integers::<TimestampMicrosecondType>(array, Scalar::I64),
        Timestamp(TimeUnit::Nanosecond, _) => integers::<TimestampNanosecondType>(array, Scalar::I64),
        Time32(TimeUnit::Second) => integers::<Time32SecondType>(array, |time| Scalar::I64(time.into())),
        Time32(_) => integers::<Time32MillisecondType>(array, |time| Scalar::I64(time.into())),
        Time64(TimeUnit::Nanosecond) => integers::<Time64NanosecondType>(array, Scalar::I64),
        Time64(_) => integers::<Time64MicrosecondType>(array, Scalar::I64),
        Duration(TimeUnit::Second) => integers::<DurationSecondType>(array, Scalar::I64),
        Duration(TimeUnit::Millisecond) => integers::<DurationMillisecondType>(array, Scalar::I64),
        Duration(TimeUnit::Microsecond) => integers::<DurationMicrosecondType>(array, Scalar::I64),
        Duration(TimeUnit::Nanosecond) => integers::<DurationNanosecondType>(array, Scalar::I64),
        Float32 => {
            let values = array.as_primitive::<Float32Type>();
            if let Some(row) = values.iter().position(|value| value.is_some_and(f32::is_nan)) {
                return Err(row);
            }
            let least = values.iter().flatten().reduce(f32::min);
            least
                .zip(values.iter().flatten().reduce(f32::max))
                .map(|(lo, hi)| (Scalar::F32(lo), Scalar::F32(hi)))
        }
        Float64 => {
            let values = array.as_primitive::<Float64Type>();
            if let Some(row) = values.iter().position(|value| value.is_some_and(f64::is_nan)) {
                return Err(row);
            }
            let least = values.iter().flatten().reduce(f64::min);
            least
                .zip(values.iter().flatten().reduce(f64::max))
                .map(|(lo, hi)| (Scalar::F64(lo), Scalar::F64(hi)))
        }
        _ => None,
    })
}

fn integers<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    scalar: impl Fn(T::Native) -> Scalar,
) -> Option<(Scalar, Scalar)>
where
    T::Native: Ord,
{
    let values = array.as_primitive::<T>();
    let (least, greatest) = if values.null_count() == 0 {
        (values.values().iter().copied().min()?, values.values().iter().copied().max()?)
    } else {
        (values.iter().flatten().min()?, values.iter().flatten().max()?)
    };
    Some((scalar(least), scalar(greatest)))
}
