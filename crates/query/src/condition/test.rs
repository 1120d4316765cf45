//! One test of one field, in the form in which it runs.

use super::operand::Comparability;
use super::set::{NumberSet, TextSet};
use super::tree::Relation;
use smalti_format::CompareOp;
use smalti_tile::CellShape;
use smalti_types::{Error, Result};

/// A test as delete commits hold it, not negated.
#[derive(Debug, Clone)]
pub(super) enum StoredTest {
    /// A comparison with a value, or with the members of a set at their offsets.
    Compare {
        op: CompareOp,
        value: Vec<u8>,
        offsets: Vec<u64>,
    },
    Null {
        is_null: bool,
    },
    /// For all cells that are not null, or for none.
    Always(bool),
}

/// A test. Only [`Test::Null`] ever holds for a null cell.
#[derive(Debug, Clone)]
pub(super) enum Test {
    /// Whether the cell is null.
    Null { is_null: bool },
    /// For all cells that are not null, or for none.
    Always(bool),
    /// A number compared with another of its type, given in its bytes.
    Number { relation: Relation, value: [u8; 8] },
    /// A number in a set, or not.
    NumberSet { set: NumberSet, is_in: bool },
    /// Bytes compared with others.
    Text { relation: Relation, value: Vec<u8> },
    /// Bytes in a set, or not.
    TextSet { set: TextSet, is_in: bool },
}

impl Test {
    /// The test of a field, from its stored form.
    ///
    /// # Errors
    /// `InvalidArgument` when the values are not of the field's type, or the field has no such comparison.
    pub(super) fn new(shape: CellShape, stored: &StoredTest) -> Result<Test> {
        let (op, value, offsets) = match stored {
            StoredTest::Null { is_null } if shape.is_nullable => return Ok(Test::Null { is_null: *is_null }),
            StoredTest::Null { is_null } => return Ok(Test::Always(!is_null)),
            StoredTest::Always(holds) => return Ok(Test::Always(*holds)),
            StoredTest::Compare { op, value, offsets } => (*op, value, offsets),
        };
        let comparability = Comparability::of(shape);
        if comparability == Comparability::NullOnly {
            return Err(Error::invalid(format!(
                "cells of type {} can only be tested for null",
                shape.datatype
            )));
        }
        if op.takes_set() {
            let is_in = op == CompareOp::In;
            let cell_len = shape.cell_val_num.fixed().map(|_| shape.cell_byte_len());
            let members = set_members(value, offsets, cell_len)?;
            return Ok(match comparability {
                Comparability::Number => {
                    let ordinals: Result<Vec<u64>> =
                        members.map(|member| shape.datatype.ordinal(member)).collect();
                    Test::NumberSet { set: NumberSet::new(ordinals?), is_in }
                }
                _ => Test::TextSet { set: TextSet::new(members.map(<[u8]>::to_vec).collect()), is_in },
            });
        }
        let relation = match op {
            CompareOp::Lt => Relation::Lt,
            CompareOp::Le => Relation::Le,
            CompareOp::Gt => Relation::Gt,
            CompareOp::Ge => Relation::Ge,
            CompareOp::Eq => Relation::Eq,
            CompareOp::Ne => Relation::Ne,
            CompareOp::AlwaysTrue => return Ok(Test::Always(true)),
            CompareOp::AlwaysFalse | CompareOp::In | CompareOp::NotIn => return Ok(Test::Always(false)),
        };
        if comparability == Comparability::Bytes && relation.is_ordered() {
            return Err(Error::invalid(format!("values of type {} have no order", shape.datatype)));
        }
        if comparability != Comparability::Number {
            return Ok(Test::Text { relation, value: value.clone() });
        }
        let mut number = [0; 8];
        match number.get_mut(..value.len()) {
            Some(start) if value.len() == shape.datatype.byte_len() => start.copy_from_slice(value),
            _ => return Err(wrong_len(value.len(), shape.datatype.byte_len())),
        }
        Ok(Test::Number { relation, value: number })
    }
}

fn wrong_len(byte_len: usize, expected: usize) -> Error {
    Error::invalid(format!("a value of {byte_len} bytes for a field of {expected}"))
}

/// The members of a stored set; those of fixed-size fields have the size of a cell.
fn set_members<'a>(
    value: &'a [u8],
    offsets: &'a [u64],
    cell_len: Option<usize>,
) -> Result<impl Iterator<Item = &'a [u8]>> {
    let ends = offsets.iter().copied().skip(1).chain([value.len() as u64]);
    let member = |(&start, end): (&u64, u64)| {
        let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
        value.get(range)
    };
    let starts_late = offsets.first().map_or(!value.is_empty(), |first| *first != 0);
    for pair in offsets.iter().zip(ends.clone()) {
        let len = member(pair).map(<[u8]>::len);
        let fits = len.is_some() && cell_len.is_none_or(|cell_len| len == Some(cell_len));
        if starts_late || !fits {
            return Err(match (len, cell_len) {
                (Some(len), Some(cell_len)) if len != cell_len => wrong_len(len, cell_len),
                _ => Error::invalid("the offsets of a set do not fit its members"),
            });
        }
    }
    if offsets.is_empty() && starts_late {
        return Err(Error::invalid("members of a set without offsets"));
    }
    Ok(offsets.iter().zip(ends).filter_map(member))
}
