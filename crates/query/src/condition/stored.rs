//! Conditions of delete commits.
//!
//! A commit stores the negated condition: which cells stay.

use super::bound::{Absent, BoundBuilder, BoundCondition, BoundField, BoundNode, Leaf, combine_op};
use super::operand::Comparability;
use super::test::{StoredTest, Test};
use smalti_array::FieldId;
use smalti_format::{ArraySchema, CombineOp, CompareOp, ConditionNode, ConditionTree};
use smalti_types::{CellValNum, Error, Result};

impl BoundCondition {
    /// The condition of a delete commit, as it is stored: it holds for the cells that stay.
    ///
    /// A field is taken from the first of the `schemas` that has it, so the schema at the time of the delete comes first,
    /// and behind it those of the fragments: a field that was dropped later is still in them, where libtiledb 2.30 fails.
    ///
    /// An empty value in a test for equality of a fixed-size field is a null test; of text it is the empty text, as
    /// libtiledb 2.30 reads it, though libtiledb stores null tests so too.
    ///
    /// # Errors
    /// `Corrupt` when no schema has a field, or a value is not of its field's type.
    pub fn of_stored(tree: &ConditionTree, schemas: &[&ArraySchema]) -> Result<BoundCondition> {
        let mut built = BoundBuilder::default();
        // The children still to come and the sign of each open combination.
        let mut open: Vec<(usize, bool)> = Vec::new();
        for node in tree.nodes() {
            while let Some((0, _)) = open.last() {
                open.pop();
            }
            let is_negated = match open.last_mut() {
                Some((missing, is_negated)) => {
                    *missing -= 1;
                    *is_negated
                }
                None => false,
            };
            match node {
                ConditionNode::Combination { op: CombineOp::Not, .. } => open.push((1, !is_negated)),
                ConditionNode::Combination { op, child_count } => {
                    let is_and = (*op == CombineOp::And) != is_negated;
                    built.push(BoundNode::Combination { is_and, child_count: *child_count, span: 0 });
                    open.push((*child_count, is_negated));
                }
                ConditionNode::Comparison { op, field, value, offsets } => {
                    let leaf = stored_leaf(&mut built, schemas, (*op, field, value, offsets), is_negated)
                        .map_err(|error| {
                            Error::corrupt(error.message()).in_field("comparison node", field.as_str())
                        })?;
                    built.push(BoundNode::Leaf(leaf));
                }
            }
        }
        Ok(built.finish(Absent::Fails))
    }

    /// The tree that a delete by this condition stores: the negated condition, negated down to the tests.
    ///
    /// It is what libtiledb stores for the same condition, but for tests that libtiledb stores so that no release reads them
    /// back right, or refuses: null tests and tests that hold everywhere or nowhere become comparisons with a value that all
    /// cells fulfil but null.
    ///
    /// # Errors
    /// `Unsupported` for tests that no tree expresses so that libtiledb 2.30 reads it: a delete of cells that are not null,
    /// and equality of opaque bytes.
    pub fn to_stored_negated(&self) -> Result<ConditionTree> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        // The open combinations: their places among the nodes, and where they end among those of this condition.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            while open.last().is_some_and(|(_, end)| *end <= at) {
                open.pop();
            }
            match node {
                BoundNode::Combination { is_and, child_count, span } => {
                    open.push((nodes.len(), at + span));
                    let op = combine_op(!is_and);
                    nodes.push(ConditionNode::Combination { op, child_count: *child_count });
                }
                BoundNode::Leaf(leaf) => {
                    let field = &self.fields[leaf.field];
                    let parent = open.last().map(|(place, _)| *place);
                    push_negated(field, leaf, parent, &mut nodes)
                        .map_err(|error| error.context(format_args!("field {:?}", field.name)))?;
                }
            }
        }
        ConditionTree::new(nodes)
    }
}

fn stored_leaf(
    built: &mut BoundBuilder,
    schemas: &[&ArraySchema],
    (op, name, value, offsets): (CompareOp, &str, &Vec<u8>, &[u64]),
    is_negated: bool,
) -> Result<Leaf> {
    let field = built.field(schemas, name)?;
    let shape = built.shape(field);
    let is_equality = matches!(op, CompareOp::Eq | CompareOp::Ne);
    let is_text = Comparability::of(shape) == Comparability::Text && shape.cell_val_num == CellValNum::Var;
    let stored = if value.is_empty() && is_equality && !is_text {
        StoredTest::Null { is_null: (op == CompareOp::Eq) != is_negated }
    } else {
        match op {
            CompareOp::AlwaysTrue => StoredTest::Always(!is_negated),
            CompareOp::AlwaysFalse => StoredTest::Always(is_negated),
            op => StoredTest::Compare {
                op: if is_negated { negated(op) } else { op },
                value: value.clone(),
                offsets: offsets.to_vec(),
            },
        }
    };
    let test = Test::new(shape, &stored)?;
    Ok(Leaf { field, stored, test })
}

fn negated(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Ge,
        CompareOp::Le => CompareOp::Gt,
        CompareOp::Gt => CompareOp::Le,
        CompareOp::Ge => CompareOp::Lt,
        CompareOp::Eq => CompareOp::Ne,
        CompareOp::Ne => CompareOp::Eq,
        CompareOp::In => CompareOp::NotIn,
        CompareOp::NotIn => CompareOp::In,
        CompareOp::AlwaysTrue => CompareOp::AlwaysFalse,
        CompareOp::AlwaysFalse => CompareOp::AlwaysTrue,
    }
}

/// Appends the negation of a test to the children of the parent.
fn push_negated(
    field: &BoundField,
    leaf: &Leaf,
    parent: Option<usize>,
    nodes: &mut Vec<ConditionNode>,
) -> Result<()> {
    if field.id == FieldId::Timestamps {
        return Err(Error::invalid("cells cannot be deleted by their timestamps"));
    }
    let comparability = Comparability::of(field.shape);
    let is_stored = matches!(comparability, Comparability::Number | Comparability::Text);
    if !is_stored {
        return Err(Error::unsupported(format!(
            "cells cannot be deleted by a field of type {}: libtiledb could not read the array any more",
            field.shape.datatype
        )));
    }
    let comparison = |op, value: &[u8], offsets: &[u64]| ConditionNode::Comparison {
        op,
        field: field.name.clone(),
        value: value.to_vec(),
        offsets: offsets.to_vec(),
    };
    let (holds, is_null_test) = match &leaf.stored {
        // A set without members is stored without bytes, which libtiledb does not read.
        StoredTest::Compare { op: CompareOp::In, offsets, .. } if offsets.is_empty() => (false, false),
        StoredTest::Compare { op: CompareOp::NotIn, offsets, .. } if offsets.is_empty() => (true, false),
        // Nor a set of nothing but empty texts.
        StoredTest::Compare { op: CompareOp::In, value, .. } if value.is_empty() => {
            nodes.push(comparison(CompareOp::Ne, value, &[]));
            return Ok(());
        }
        StoredTest::Compare { op: CompareOp::NotIn, value, .. } if value.is_empty() => {
            nodes.push(comparison(CompareOp::Eq, value, &[]));
            return Ok(());
        }
        StoredTest::Compare { op, value, offsets } => {
            nodes.push(comparison(negated(*op), value, offsets));
            return Ok(());
        }
        StoredTest::Always(holds) => (*holds, false),
        StoredTest::Null { is_null } => (!*is_null, true),
    };
    if holds && is_null_test && field.shape.is_nullable {
        return Err(Error::unsupported(
            "a delete of cells that are not null cannot be stored so that libtiledb reads it; name the values instead",
        ));
    }
    // Stays where the condition does not hold: `x == v or x != v` is true for all but null, `and` for none.
    let value = match field.shape.cell_val_num.fixed() {
        Some(_) => vec![0; field.shape.cell_byte_len()],
        None => vec![0],
    };
    // In a parent of the same kind without a node of its own: libtiledb 2.30 takes an `or` in an `or` for an `and`.
    match parent.and_then(|parent| nodes.get_mut(parent)) {
        Some(ConditionNode::Combination { op, child_count }) if *op == combine_op(holds) => *child_count += 1,
        _ => nodes.push(ConditionNode::Combination { op: combine_op(holds), child_count: 2 }),
    }
    nodes.extend([comparison(CompareOp::Eq, &value, &[]), comparison(CompareOp::Ne, &value, &[])]);
    Ok(())
}
