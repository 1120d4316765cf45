//! Labels of enumerations as the codes that stand for them.

use super::operand::{Operand, members, operand};
use super::tree::{Literal, Relation};
use smalti_format::Enumeration;
use smalti_tile::CellShape;
use smalti_types::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The enumerations that a condition names, each indexed once.
pub(super) struct Labels<'a> {
    find: &'a dyn Fn(&str) -> Result<Arc<Enumeration>>,
    known: HashMap<String, Known>,
}

struct Known {
    enumeration: Arc<Enumeration>,
    /// The first element of each content.
    codes: HashMap<Vec<u8>, usize>,
}

impl<'a> Labels<'a> {
    pub(super) fn new(find: &'a dyn Fn(&str) -> Result<Arc<Enumeration>>) -> Self {
        Labels { find, known: HashMap::new() }
    }

    /// A label as its code. A number stands for the code itself where labels are text.
    ///
    /// # Errors
    /// As [`operand`]; for comparisons that ask for an order that the enumeration does not have; what finding it reports.
    pub(super) fn operand(
        &mut self,
        enumeration: &str,
        shape: CellShape,
        relation: Relation,
        value: &Literal,
    ) -> Result<Operand> {
        let known = self.known(enumeration)?;
        if is_code(&known.enumeration, value) {
            return operand(shape, relation, value);
        }
        if relation.is_ordered() && !known.enumeration.is_ordered {
            return Err(Error::invalid(format!(
                "the labels of enumeration {enumeration:?} have no order; compare codes, as in code(field) < 2"
            )));
        }
        Ok(match known.code(shape, value)? {
            Some(code) => Operand::Value(relation, code),
            None => Operand::Always(relation == Relation::Ne),
        })
    }

    /// Labels as the codes of those that there are, one after the other, and where each starts.
    ///
    /// # Errors
    /// As [`Labels::operand`].
    pub(super) fn members(
        &mut self,
        enumeration: &str,
        shape: CellShape,
        literals: &[Literal],
    ) -> Result<(Vec<u8>, Vec<u64>)> {
        let known = self.known(enumeration)?;
        if !literals.is_empty() && literals.iter().all(|value| is_code(&known.enumeration, value)) {
            return members(shape, literals);
        }
        let (mut value, mut offsets) = (Vec::new(), Vec::new());
        for literal in literals {
            if let Some(code) = known.code(shape, literal)? {
                offsets.push(value.len() as u64);
                value.extend(code);
            }
        }
        Ok((value, offsets))
    }

    fn known(&mut self, name: &str) -> Result<&Known> {
        if !self.known.contains_key(name) {
            let enumeration = (self.find)(name)?;
            let mut codes = HashMap::new();
            for idx in 0..enumeration.element_count() {
                if let Some(element) = enumeration.element(idx) {
                    codes.entry(element.to_vec()).or_insert(idx);
                }
            }
            self.known.insert(name.to_owned(), Known { enumeration, codes });
        }
        self.known.get(name).ok_or_else(|| Error::invalid("the enumeration was just put there"))
    }
}

/// Whether a value is no label but a code: a number, where labels are none.
fn is_code(enumeration: &Enumeration, value: &Literal) -> bool {
    matches!(value, Literal::Int(_)) && (enumeration.datatype.is_bytes() || enumeration.datatype.is_string())
}

impl Known {
    /// The code of a label in the type of the attribute, if there is one.
    fn code(&self, shape: CellShape, label: &Literal) -> Result<Option<Vec<u8>>> {
        let label_shape = CellShape {
            datatype: self.enumeration.datatype,
            cell_val_num: self.enumeration.cell_val_num,
            is_nullable: false,
        };
        let label = match operand(label_shape, Relation::Eq, label)
            .map_err(|error| error.context(format_args!("enumeration {:?}", self.enumeration.name)))?
        {
            Operand::Value(_, label) => label,
            Operand::Always(_) => return Ok(None),
        };
        let Some(code) = self.codes.get(&label) else { return Ok(None) };
        // A code beyond the type of the attribute is in no cell.
        Ok(match operand(shape, Relation::Eq, &Literal::Int(*code as i128)) {
            Ok(Operand::Value(_, code)) => Some(code),
            _ => None,
        })
    }
}
