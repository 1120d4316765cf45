//! Conditions.

use crate::errors::ForPython;
use crate::value::Operand;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smalti::Relation;

/// Which cells are wanted. Made of text, or by tests of fields, which `&`, `|` and `~` join.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Condition {
    pub(crate) condition: smalti::Condition,
}

impl From<smalti::Condition> for Condition {
    fn from(condition: smalti::Condition) -> Self {
        Condition { condition }
    }
}

#[pymethods]
impl Condition {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        smalti::Condition::parse(text).for_python(py).map(Self::from)
    }

    #[staticmethod]
    fn compare(field: &str, relation: &str, value: Operand) -> PyResult<Self> {
        let relation = match relation {
            "<" => Relation::Lt,
            "<=" => Relation::Le,
            ">" => Relation::Gt,
            ">=" => Relation::Ge,
            "==" => Relation::Eq,
            "!=" => Relation::Ne,
            _ => return Err(PyValueError::new_err(format!("there is no relation {relation:?}"))),
        };
        Ok(smalti::Condition::compare(field, relation, value).into())
    }

    #[staticmethod]
    fn member(field: &str, members: Vec<Operand>, is_in: bool) -> Self {
        smalti::Condition::member(field, members, is_in).into()
    }

    #[staticmethod]
    fn null(field: &str, is_null: bool) -> Self {
        smalti::Condition::null(field, is_null).into()
    }

    #[staticmethod]
    fn between(field: &str, lo: Operand, hi: Operand) -> Self {
        smalti::Condition::between(field, lo, hi, true).into()
    }

    #[staticmethod]
    fn prefix(field: &str, prefix: String) -> Self {
        smalti::Condition::prefix(field, prefix, true).into()
    }

    /// The same tests of codes of enumerations instead of their labels.
    fn of_codes(&self) -> Self {
        self.condition.clone().of_codes().into()
    }

    fn __and__(&self, other: &Bound<'_, Self>) -> Self {
        self.condition.clone().and(other.get().condition.clone()).into()
    }

    fn __or__(&self, other: &Bound<'_, Self>) -> Self {
        self.condition.clone().or(other.get().condition.clone()).into()
    }

    fn __invert__(&self) -> Self {
        self.condition.clone().not().into()
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyValueError::new_err(
            "a condition is neither true nor false; join conditions with &, | and ~ in parentheses, not with and, or and not",
        ))
    }

    fn __eq__(&self, other: &Bound<'_, Self>) -> bool {
        self.condition == other.get().condition
    }

    fn __str__(&self) -> String {
        self.condition.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Condition({:?})", self.condition.to_string())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().into_any(), (slf.get().condition.to_string(),)))
    }
}
