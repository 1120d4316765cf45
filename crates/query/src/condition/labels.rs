//! Labels of enumerations as the codes that stand for them.

use super::operand::{Comparability, Operand, members, operand};
use super::tree::{FieldName, Literal, Relation};
use smalti_array::FieldId;
use smalti_format::{ArraySchema, Enumeration};
use smalti_tile::CellShape;
use smalti_types::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// A label in a condition that its enumeration does not have.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnknownLabel {
    /// The field that is compared with it.
    pub field: String,
    /// The enumeration of the field.
    pub enumeration: String,
    /// What stands in the condition.
    pub label: Literal,
}

/// The enumerations that a condition names, each indexed once.
pub(super) struct Labels<'a> {
    find: &'a dyn Fn(&str) -> Result<Arc<Enumeration>>,
    known: HashMap<String, Known>,
    /// Labels that were looked for and are not there.
    unknown: Vec<Literal>,
}

struct Known {
    enumeration: Arc<Enumeration>,
    /// The first element of each content.
    codes: HashMap<Vec<u8>, usize>,
}

impl<'a> Labels<'a> {
    pub(super) fn new(find: &'a dyn Fn(&str) -> Result<Arc<Enumeration>>) -> Self {
        Labels { find, known: HashMap::new(), unknown: Vec::new() }
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
            Found::Code(code) => Operand::Value(relation, code),
            found => {
                self.note(found, value);
                Operand::Always(relation == Relation::Ne)
            }
        })
    }

    /// The codes of the labels that start with a text.
    ///
    /// # Errors
    /// `InvalidArgument` when the labels are no text; what finding the enumeration reports.
    pub(super) fn prefixed(
        &mut self,
        enumeration: &str,
        shape: CellShape,
        prefix: &str,
    ) -> Result<Vec<Literal>> {
        let known = &self.known(enumeration)?.enumeration;
        let label_shape = label_shape(known);
        if Comparability::of(label_shape) != Comparability::Text {
            return Err(Error::invalid(format!(
                "like is for text, and the labels of enumeration {enumeration:?} are of type {}; name them in a set",
                known.datatype
            )));
        }
        let starts =
            |idx: &usize| known.element(*idx).is_some_and(|label| label.starts_with(prefix.as_bytes()));
        let codes = (0..known.element_count()).filter(starts).map(|code| Literal::Int(code as i128));
        // A code beyond the type of the attribute is in no cell.
        Ok(codes.filter(|code| operand(shape, Relation::Eq, code).is_ok()).collect())
    }

    /// The labels that were looked for since the last call and are not there.
    pub(super) fn take_unknown(&mut self) -> Vec<Literal> {
        std::mem::take(&mut self.unknown)
    }

    fn note(&mut self, found: Found, label: &Literal) {
        if found == Found::Unknown {
            self.unknown.push(label.clone());
        }
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
        let (mut value, mut offsets, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for literal in literals {
            match known.code(shape, literal)? {
                Found::Code(code) => {
                    offsets.push(value.len() as u64);
                    value.extend(code);
                }
                Found::Unknown => unknown.push(literal.clone()),
                Found::Beyond => {}
            }
        }
        self.unknown.extend(unknown);
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

/// What became of looking for a label.
#[derive(Debug, PartialEq)]
enum Found {
    /// Its code in the type of the attribute.
    Code(Vec<u8>),
    /// Its code lies beyond the type of the attribute: it is in no cell.
    Beyond,
    /// There is no such label.
    Unknown,
}

/// What the labels of an enumeration are, as cells.
fn label_shape(enumeration: &Enumeration) -> CellShape {
    CellShape { datatype: enumeration.datatype, cell_val_num: enumeration.cell_val_num, is_nullable: false }
}

impl Known {
    fn code(&self, shape: CellShape, label: &Literal) -> Result<Found> {
        let label = match operand(label_shape(&self.enumeration), Relation::Eq, label)
            .map_err(|error| error.context(format_args!("enumeration {:?}", self.enumeration.name)))?
        {
            Operand::Value(_, label) => label,
            Operand::Always(_) => return Ok(Found::Unknown),
        };
        let Some(code) = self.codes.get(&label) else { return Ok(Found::Unknown) };
        Ok(match operand(shape, Relation::Eq, &Literal::Int(*code as i128)) {
            Ok(Operand::Value(_, code)) => Found::Code(code),
            _ => Found::Beyond,
        })
    }
}

/// The enumeration whose labels a test names.
pub(super) fn enumeration_of<'s>(id: FieldId, name: &FieldName, schema: &'s ArraySchema) -> Option<&'s str> {
    match id {
        FieldId::Attribute(idx) if !name.wants_codes => {
            schema.attributes.get(idx).and_then(|attribute| attribute.enumeration.as_deref())
        }
        _ => None,
    }
}
