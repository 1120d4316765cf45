//! Values and ranges in messages.

use smalti_format::Dimension;
use smalti_space::Interval;
use smalti_types::{Datatype, Scalar};

/// A number of a type by its ordinal.
pub(crate) fn number(datatype: Datatype, ordinal: u64) -> String {
    match Scalar::read(datatype, &datatype.bytes_of_ordinal(ordinal)) {
        Ok(value) => value.to_string(),
        Err(_) => ordinal.to_string(),
    }
}

/// A range of a dimension, as `low:high`.
pub(crate) fn interval(dimension: &Dimension, interval: Interval) -> String {
    format!("{}:{}", number(dimension.datatype, interval.lo), number(dimension.datatype, interval.hi))
}
