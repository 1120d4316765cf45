//! Values and ranges in messages.

use smalti_format::Dimension;
use smalti_space::Interval;
use smalti_types::{Datatype, Extent};

/// A number of a type by its ordinal.
pub(crate) fn number(datatype: Datatype, ordinal: u64) -> String {
    datatype.shown_ordinal(ordinal)
}

/// A range of a dimension, as [`Dimension::shown`] gives it.
pub(crate) fn interval(dimension: &Dimension, interval: Interval) -> String {
    dimension.shown(Extent::Num { lo: interval.lo, hi: interval.hi }.as_ref())
}
