//! From what a user says to what runs.

use super::bound::{Absent, BoundBuilder, BoundCondition, BoundNode, Leaf};
use super::labels::{Labels, UnknownLabel, enumeration_of};
use super::operand::{Operand, members, operand};
use super::prefix::spelled_out;
use super::test::{StoredTest, Test};
use super::tree::{Condition, FieldName, Node};
use smalti_format::{ArraySchema, CompareOp, Enumeration};
use smalti_types::{Error, Result};
use std::sync::Arc;

/// A subtree still to be bound.
struct Pending {
    idx: usize,
    is_negated: bool,
    /// The combination that it belongs to: its node, and whether it is an `and`.
    parent: Option<(usize, bool)>,
    depth: usize,
}

impl BoundCondition {
    /// Checks a condition against a schema. `enumeration` finds an enumeration by its name.
    ///
    /// Negations are pushed down to the tests, and combinations of one kind in each other become one, so that what a
    /// delete commit stores is what libtiledb stores.
    ///
    /// # Errors
    /// `InvalidArgument` for fields that the schema does not have, values that do not fit their field, comparisons that the
    /// field's type does not have, and conditions beyond [`Condition::MAX_DEPTH`] or [`Condition::MAX_NODE_COUNT`]; what
    /// `enumeration` reports.
    pub fn bind(
        condition: &Condition,
        schema: &ArraySchema,
        enumeration: &dyn Fn(&str) -> Result<Arc<Enumeration>>,
    ) -> Result<BoundCondition> {
        let mut labels = Labels::new(enumeration);
        let condition = &*spelled_out(condition, &mut labels, schema)?;
        let mut built = BoundBuilder::default();
        let spans = condition.spans();
        let root = condition.nodes.len() - 1;
        let mut pending = vec![Pending { idx: root, is_negated: false, parent: None, depth: 1 }];
        while let Some(Pending { idx, is_negated, parent, depth }) = pending.pop() {
            let is_and = match &condition.nodes[idx] {
                Node::Not => {
                    pending.push(Pending { idx: idx - 1, is_negated: !is_negated, parent, depth });
                    continue;
                }
                Node::And(_) => !is_negated,
                Node::Or(_) => is_negated,
                test => {
                    let leaf = bind_test(&mut built, &mut labels, schema, test, is_negated)?;
                    built.push(BoundNode::Leaf(leaf));
                    check_limits(built.node_count(), depth)?;
                    continue;
                }
            };
            let child_count = condition.nodes[idx].child_count();
            let own = match parent {
                Some((combination, parent_is_and)) if parent_is_and == is_and => {
                    built.add_children(combination, child_count - 1);
                    (combination, depth)
                }
                _ => {
                    built.push(BoundNode::Combination { is_and, child_count, span: 0 });
                    check_limits(built.node_count(), depth)?;
                    (built.node_count() - 1, depth + 1)
                }
            };
            let (combination, depth) = own;
            let parent = Some((combination, is_and));
            pending.extend(condition.children(idx, &spans).map(|idx| Pending {
                idx,
                is_negated,
                parent,
                depth,
            }));
        }
        Ok(built.finish(Absent::Filled))
    }
}

fn check_limits(node_count: usize, depth: usize) -> Result<()> {
    if node_count > Condition::MAX_NODE_COUNT {
        return Err(Error::invalid(format!(
            "the condition has more than {} parts",
            Condition::MAX_NODE_COUNT
        )));
    }
    if depth > Condition::MAX_DEPTH {
        return Err(Error::invalid(format!(
            "the condition is nested deeper than {} levels",
            Condition::MAX_DEPTH
        )));
    }
    Ok(())
}

fn bind_test(
    built: &mut BoundBuilder,
    labels: &mut Labels<'_>,
    schema: &ArraySchema,
    test: &Node,
    is_negated: bool,
) -> Result<Leaf> {
    let name: &FieldName = match test {
        Node::Compare { field, .. } | Node::Member { field, .. } | Node::Null { field, .. } => field,
        Node::Prefix { .. } | Node::And(_) | Node::Or(_) | Node::Not => return Err(no_test()),
    };
    let field = built.field(&[schema], &name.name)?;
    let shape = built.shape(field);
    let in_field = |error: Error| error.context(format_args!("field {:?}", name.name));
    let enumeration = enumeration_of(built.known(field).id, name, schema);
    let stored = match test {
        Node::Null { is_null, .. } => StoredTest::Null { is_null: *is_null != is_negated },
        Node::Compare { relation, value, .. } => {
            let relation = if is_negated { relation.negated() } else { *relation };
            let operand = match enumeration {
                Some(enumeration) => labels.operand(enumeration, shape, relation, value),
                None => operand(shape, relation, value),
            };
            match operand.map_err(in_field)? {
                Operand::Value(relation, value) => {
                    StoredTest::Compare { op: relation.into(), value, offsets: Vec::new() }
                }
                Operand::Always(holds) => StoredTest::Always(holds),
            }
        }
        Node::Member { members: literals, is_in, .. } => {
            let found = match enumeration {
                Some(enumeration) => labels.members(enumeration, shape, literals),
                None => members(shape, literals),
            };
            let (value, offsets) = found.map_err(in_field)?;
            let op = if *is_in != is_negated { CompareOp::In } else { CompareOp::NotIn };
            StoredTest::Compare { op, value, offsets }
        }
        Node::Prefix { .. } | Node::And(_) | Node::Or(_) | Node::Not => return Err(no_test()),
    };
    if let Some(enumeration) = enumeration {
        let unknown = labels.take_unknown().into_iter();
        built.unknown_labels.extend(unknown.map(|label| UnknownLabel {
            field: name.name.clone(),
            enumeration: enumeration.to_owned(),
            label,
        }));
    }
    let test = Test::new(shape, &stored).map_err(in_field)?;
    Ok(Leaf { field, stored, test })
}

fn no_test() -> Error {
    Error::invalid("a combination is no test")
}
