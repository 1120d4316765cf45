//! Conditions, built test by test.

use crate::Value;
use smalti_query::condition::{Condition, Literal, Relation};
use smalti_types::Scalar;

/// A field that a condition tests; made by [`field`].
#[derive(Debug, Clone)]
#[must_use = "a field alone is no condition"]
pub struct FieldTest {
    name: String,
    wants_code: bool,
}

/// Starts a test of a field: an attribute, a dimension, or `__timestamps` of sparse arrays.
///
/// ```
/// use smalti::{Condition, field};
///
/// let large = field("population").gt(1_000_000).and(!field("name").is_null());
/// let near = field("country").is_in(["FR", "DE"]).or(field("founded").lt("0100-01-01"));
/// assert_eq!(
///     large.and(near).to_string(),
///     "population > 1000000 and not (name is null) and (country in ('FR', 'DE') or founded < '0100-01-01')"
/// );
/// assert_eq!("population > 1000000".parse::<Condition>()?, field("population").gt(1_000_000));
/// # Ok::<(), smalti::Error>(())
/// ```
///
/// Values are numbers, booleans, text and bytes; dates and times are text in ISO 8601 or the stored integer. Whether they fit
/// the field is checked where the condition is used.
pub fn field(name: impl Into<String>) -> FieldTest {
    FieldTest { name: name.into(), wants_code: false }
}

impl FieldTest {
    fn done(self, condition: Condition) -> Condition {
        if self.wants_code { condition.of_codes() } else { condition }
    }

    fn compare(self, relation: Relation, value: impl Into<Literal>) -> Condition {
        let condition = Condition::compare(&self.name, relation, value);
        self.done(condition)
    }

    /// The code of an enumerated attribute instead of its label.
    ///
    /// ```
    /// assert_eq!(smalti::field("color").code().lt(2).to_string(), "code(color) < 2");
    /// ```
    pub fn code(mut self) -> FieldTest {
        self.wants_code = true;
        self
    }

    /// Less than a value.
    pub fn lt(self, value: impl Into<Literal>) -> Condition {
        self.compare(Relation::Lt, value)
    }

    /// At most a value.
    pub fn le(self, value: impl Into<Literal>) -> Condition {
        self.compare(Relation::Le, value)
    }

    /// Greater than a value.
    pub fn gt(self, value: impl Into<Literal>) -> Condition {
        self.compare(Relation::Gt, value)
    }

    /// At least a value.
    pub fn ge(self, value: impl Into<Literal>) -> Condition {
        self.compare(Relation::Ge, value)
    }

    /// Equal to a value.
    pub fn eq(self, value: impl Into<Literal>) -> Condition {
        self.compare(Relation::Eq, value)
    }

    /// Not equal to a value, and not null.
    pub fn ne(self, value: impl Into<Literal>) -> Condition {
        self.compare(Relation::Ne, value)
    }

    /// One of some values. Floats are compared by their bits.
    ///
    /// ```
    /// assert_eq!(smalti::field("x").is_in([1, 2]).to_string(), "x in (1, 2)");
    /// ```
    pub fn is_in<V: Into<Literal>>(self, members: impl IntoIterator<Item = V>) -> Condition {
        let condition = Condition::member(&self.name, members, true);
        self.done(condition)
    }

    /// None of some values, and not null.
    pub fn is_not_in<V: Into<Literal>>(self, members: impl IntoIterator<Item = V>) -> Condition {
        let condition = Condition::member(&self.name, members, false);
        self.done(condition)
    }

    /// Between two values, both included.
    ///
    /// ```
    /// assert_eq!(smalti::field("x").between(1, 5).to_string(), "x >= 1 and x <= 5");
    /// ```
    pub fn between(self, lo: impl Into<Literal>, hi: impl Into<Literal>) -> Condition {
        let condition = Condition::between(&self.name, lo, hi, true);
        self.done(condition)
    }

    /// Text, or a label, that starts so, byte by byte.
    ///
    /// ```
    /// assert_eq!(smalti::field("name").starts_with("Saint ").to_string(), "name like 'Saint %'");
    /// ```
    pub fn starts_with(self, prefix: impl Into<String>) -> Condition {
        let condition = Condition::prefix(&self.name, prefix, true);
        self.done(condition)
    }

    /// Null.
    pub fn is_null(self) -> Condition {
        Condition::null(&self.name, true)
    }

    /// Not null.
    pub fn is_not_null(self) -> Condition {
        Condition::null(&self.name, false)
    }
}

impl From<Value> for Literal {
    /// Text stays text, a single number a number, a boolean a boolean; anything else becomes bytes.
    fn from(value: Value) -> Literal {
        if let Some(text) = value.as_str() {
            return Literal::Text(text.to_owned());
        }
        let is_bytes = value.datatype().is_bytes();
        match value.as_scalar().filter(|_| !is_bytes) {
            Some(Scalar::U8(value_byte)) if value.datatype() == smalti_types::Datatype::Bool => {
                Literal::Bool(value_byte != 0)
            }
            Some(scalar) => match scalar.as_i128() {
                Some(wide) => Literal::Int(wide),
                None => Literal::Float(scalar.as_f64()),
            },
            None => Literal::Bytes(value.as_bytes().to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti_types::Datatype;

    #[test]
    fn values_of_all_kinds_become_literals() {
        assert_eq!(Literal::from(Value::from(u64::MAX)), Literal::Int(u64::MAX.into()));
        assert_eq!(Literal::from(Value::from(true)), Literal::Bool(true));
        assert_eq!(Literal::from(Value::from(0.5_f32)), Literal::Float(0.5));
        assert_eq!(Literal::from(Value::from("a")), Literal::Text("a".into()));
        assert_eq!(Literal::from(Value::blob([1])), Literal::Bytes(vec![1]));
        let day = Value::of_datatype(Datatype::DateTimeDay, 3_i64).unwrap();
        assert_eq!(Literal::from(day), Literal::Int(3));
    }

    #[test]
    fn every_test_has_its_text() {
        for (condition, text) in [
            (field("a").lt(1_i8), "a < 1"),
            (field("a").le(u64::MAX), "a <= 18446744073709551615"),
            (field("a").gt(-0.5), "a > -0.5"),
            (field("a").ge(1.0), "a >= 1.0"),
            (field("a").eq(true), "a == true"),
            (field("a").ne(b"\x00\xff"), "a != x'00ff'"),
            (field("my a").is_not_in(["it's"]), "\"my a\" not in ('it''s')"),
            (field("in").is_not_null(), "\"in\" is not null"),
            (!field("a").is_null(), "not (a is null)"),
        ] {
            assert_eq!(condition.to_string(), text);
            assert_eq!(text.parse::<Condition>().unwrap(), condition);
        }
    }
}
