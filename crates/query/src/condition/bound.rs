//! Conditions that were checked against a schema.

use super::labels::UnknownLabel;
use super::test::{StoredTest, Test};
use smalti_array::{FieldId, field_name, field_shape, find_field};
use smalti_format::{ArraySchema, CombineOp, CompareOp};
use smalti_tile::CellShape;
use smalti_types::{Error, Result};

/// A condition whose fields are known and whose values are of the fields' types. Immutable; threads share it.
#[derive(Debug, Clone)]
pub struct BoundCondition {
    pub(super) fields: Vec<BoundField>,
    /// Each node before its children.
    pub(super) nodes: Vec<BoundNode>,
    pub(super) absent: Absent,
    unknown_labels: Vec<UnknownLabel>,
}

/// A field that a condition looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundField {
    /// The name.
    pub name: String,
    /// The field in the schema where it was found.
    pub id: FieldId,
    /// Which of the schemas that is: 0 for the first.
    pub schema_idx: usize,
    /// What its cells are.
    pub shape: CellShape,
    /// The bytes of a cell that nobody wrote; empty for dimensions.
    pub fill: Vec<u8>,
    /// Whether a cell that nobody wrote is not null.
    pub fill_valid: bool,
}

/// What holds for cells of a fragment that lacks a field, because the schema changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Absent {
    /// The field has its fill value there: what a read of the field gives. Conditions of users.
    Filled,
    /// No test of the field holds, and in an `or` nothing that stands before it either. So libtiledb 2.30 does, for reads
    /// and deletes; conditions of delete commits follow it, so that both see the same cells. There it makes a delete by
    /// an attribute take all cells that were written before the attribute was added.
    Fails,
}

#[derive(Debug, Clone)]
pub(super) enum BoundNode {
    /// A combination of children; the subtree has `span` nodes, this one included.
    Combination {
        is_and: bool,
        child_count: usize,
        span: usize,
    },
    Leaf(Leaf),
}

/// One test, in the form in which it is stored and in the form in which it is run.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    /// The index in the condition's fields.
    pub(super) field: usize,
    pub(super) stored: StoredTest,
    pub(super) test: Test,
}

impl BoundCondition {
    /// The fields that [`evaluate`](BoundCondition::evaluate) wants columns of, in this order; each once.
    pub fn fields(&self) -> &[BoundField] {
        &self.fields
    }

    /// Labels that the condition names and their enumerations lack: no cell has them.
    pub fn unknown_labels(&self) -> &[UnknownLabel] {
        &self.unknown_labels
    }

    /// What holds where a fragment lacks a field.
    pub fn absent(&self) -> Absent {
        self.absent
    }

    /// The same condition with another rule for fragments that lack a field.
    #[must_use]
    pub fn with_absent(mut self, absent: Absent) -> Self {
        self.absent = absent;
        self
    }

    /// The fields of which a delete by this condition may take more cells than the condition selects: those that are null
    /// there, and NaN.
    pub fn taken_with(&self) -> impl Iterator<Item = &BoundField> {
        self.fields
            .iter()
            .enumerate()
            .filter(|(idx, field)| {
                let tests = self.nodes.iter().filter_map(|node| match node {
                    BoundNode::Leaf(leaf) if leaf.field == *idx => Some(leaf),
                    _ => None,
                });
                let mut strikes = tests.map(|leaf| match &leaf.stored {
                    StoredTest::Compare { op, .. } => {
                        let is_ordered =
                            matches!(op, CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge);
                        field.shape.is_nullable || (is_ordered && field.shape.datatype.is_float())
                    }
                    StoredTest::Always(_) => field.shape.is_nullable,
                    StoredTest::Null { .. } => false,
                });
                strikes.any(|strikes| strikes)
            })
            .map(|(_, field)| field)
    }
}

/// Nodes as they are put together, each before its children, and the fields that they name.
#[derive(Default)]
pub(super) struct BoundBuilder {
    fields: Vec<BoundField>,
    indices: std::collections::HashMap<String, usize>,
    nodes: Vec<BoundNode>,
    pub(super) unknown_labels: Vec<UnknownLabel>,
}

impl BoundBuilder {
    /// The index of a field, found in the first of the schemas that has it, or of its name before.
    pub(super) fn field(&mut self, schemas: &[&ArraySchema], name: &str) -> Result<usize> {
        if let Some(idx) = self.indices.get(name) {
            return Ok(*idx);
        }
        let found = schemas.iter().enumerate().find_map(|(schema_idx, schema)| {
            let id = find_field(schema, name)?;
            (id != FieldId::Timestamps || !schema.is_dense()).then_some((schema_idx, *schema, id))
        });
        let (schema_idx, schema, id) = found.ok_or_else(|| unknown_field(schemas, name))?;
        let attribute = match id {
            FieldId::Attribute(idx) => schema.attributes.get(idx),
            _ => None,
        };
        let field = BoundField {
            // The empty name finds the attribute that releases 1.x called `__attr`.
            name: field_name(schema, id).to_owned(),
            id,
            schema_idx,
            shape: field_shape(schema, id)?,
            fill: attribute.map(|attribute| attribute.fill_value.clone()).unwrap_or_default(),
            fill_valid: attribute.is_some_and(|attribute| attribute.fill_valid),
        };
        let idx = match self.fields.iter().position(|known| known.name == field.name) {
            Some(idx) => idx,
            None => {
                self.fields.push(field);
                self.fields.len() - 1
            }
        };
        self.indices.insert(name.to_owned(), idx);
        Ok(idx)
    }

    pub(super) fn shape(&self, field: usize) -> CellShape {
        self.fields[field].shape
    }

    pub(super) fn known(&self, field: usize) -> &BoundField {
        &self.fields[field]
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn push(&mut self, node: BoundNode) {
        self.nodes.push(node);
    }

    /// Adds children to a combination.
    pub(super) fn add_children(&mut self, combination: usize, more: usize) {
        if let Some(BoundNode::Combination { child_count, .. }) = self.nodes.get_mut(combination) {
            *child_count += more;
        }
    }

    pub(super) fn finish(mut self, absent: Absent) -> BoundCondition {
        // From the last node to the first, the spans of finished subtrees lie on a stack, the first child's on top.
        let mut spans: Vec<usize> = Vec::new();
        for node in self.nodes.iter_mut().rev() {
            let mut total = 1;
            if let BoundNode::Combination { child_count, span, .. } = node {
                total += spans.drain(spans.len().saturating_sub(*child_count)..).sum::<usize>();
                *span = total;
            }
            spans.push(total);
        }
        BoundCondition { fields: self.fields, nodes: self.nodes, absent, unknown_labels: self.unknown_labels }
    }
}

pub(super) fn combine_op(is_and: bool) -> CombineOp {
    if is_and { CombineOp::And } else { CombineOp::Or }
}

fn unknown_field(schemas: &[&ArraySchema], name: &str) -> Error {
    let mut names: Vec<&str> = Vec::new();
    for field in schemas.iter().flat_map(|schema| schema.fields()) {
        if !names.contains(&field.name()) {
            names.push(field.name());
        }
    }
    if name == smalti_array::TIMESTAMPS {
        return Error::invalid("cells of dense arrays have no timestamps; leave out __timestamps");
    }
    Error::invalid(format!(
        "there is no field {name:?} for the condition; the fields are {}",
        names.join(", ")
    ))
}
