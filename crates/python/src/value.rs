//! Values between Python and the engine.
//!
//! What has a datatype goes to Python as the datatype's name and its bytes, which `smalti.types` makes NumPy's values of, and comes the
//! same way: there is one place that knows which dtype a datatype is.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use smalti::{Datatype, Interval, Literal, Scalar, Value};
use std::ops::Bound as Limit;

/// A value as Python sees it: the name of its datatype, and its bytes.
pub(crate) type Told<'py> = (&'static str, Bound<'py, PyBytes>);

pub(crate) fn told<'py>(py: Python<'py>, value: &Value) -> Told<'py> {
    (value.datatype().name(), PyBytes::new(py, value.as_bytes()))
}

/// The ends of an interval, the second one missing where it has none.
pub(crate) fn told_interval<'py>(py: Python<'py>, interval: &Interval) -> (Told<'py>, Option<Told<'py>>) {
    (told(py, &interval.lo), interval.hi.as_ref().map(|hi| told(py, hi)))
}

pub(crate) fn datatype_of(name: &str) -> PyResult<Datatype> {
    Datatype::from_name(name).ok_or_else(|| PyValueError::new_err(format!("there is no datatype {name:?}")))
}

/// An end of a range as Python gives it: text and bytes as bytes, dates and times as integers in the unit of the dimension.
#[derive(FromPyObject)]
pub(crate) enum End {
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text(Vec<u8>),
}

impl End {
    fn scalar(&self) -> Option<Scalar> {
        match self {
            End::Int(value) => Some(Scalar::from(*value)),
            End::Unsigned(value) => Some(Scalar::from(*value)),
            End::Float(value) => Some(Scalar::from(*value)),
            End::Text(_) => None,
        }
    }
}

/// A closed range of a dimension or label, either end of which may be open.
pub(crate) type Range = (Option<End>, Option<End>);

/// A range in the engine's words.
pub(crate) enum Bounds<'a> {
    Numbers(Limit<Scalar>, Limit<Scalar>),
    Texts(Limit<&'a [u8]>, Limit<&'a [u8]>),
}

/// # Errors
/// `ValueError` where one end is text and the other a number.
pub(crate) fn bounds((lo, hi): &Range) -> PyResult<Bounds<'_>> {
    fn text(end: &Option<End>) -> Option<Limit<&[u8]>> {
        match end {
            None => Some(Limit::Unbounded),
            Some(End::Text(text)) => Some(Limit::Included(text)),
            Some(_) => None,
        }
    }
    let number = |end: &Option<End>| match end {
        None => Some(Limit::Unbounded),
        Some(end) => end.scalar().map(Limit::Included),
    };
    let has_text = matches!(lo, Some(End::Text(_))) || matches!(hi, Some(End::Text(_)));
    let ends = match has_text {
        true => text(lo).zip(text(hi)).map(|(lo, hi)| Bounds::Texts(lo, hi)),
        false => number(lo).zip(number(hi)).map(|(lo, hi)| Bounds::Numbers(lo, hi)),
    };
    ends.ok_or_else(|| PyValueError::new_err("a range goes from text to text, or from number to number"))
}

/// A value in a condition.
#[derive(FromPyObject)]
pub(crate) enum Operand {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Operand> for Literal {
    fn from(operand: Operand) -> Literal {
        match operand {
            Operand::Bool(value) => Literal::from(value),
            Operand::Int(value) => Literal::from(value),
            Operand::Float(value) => Literal::from(value),
            Operand::Text(value) => Literal::from(value),
            Operand::Bytes(value) => Literal::from(value),
        }
    }
}
