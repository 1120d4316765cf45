//! Conditions of delete commits, told as they were asked for.
//!
//! A commit stores which cells stay; here it becomes which cells went, with the values as they are written in conditions.

use super::tree::{Condition, Literal, Relation};
use smalti_format::{ArraySchema, CombineOp, CompareOp, ConditionNode, ConditionTree, Enumeration};
use smalti_types::text::format_date_time;
use smalti_types::{Datatype, Physical, PhysicalKind, dispatch_physical};
use std::sync::Arc;

/// The most tests of a condition that is told: nobody reads more.
const MAX_TOLD_NODE_COUNT: usize = 1000;

/// Which cells a delete took, as [`Condition`] tells it: the negation of what is stored. `None` where it is too long to be read,
/// or names what the schemas do not have.
///
/// A field is taken from the first of the `schemas` that has it. Labels of enumerations are told where `enumeration` knows
/// them, codes elsewhere.
pub fn told(
    stays: &ConditionTree,
    schemas: &[&ArraySchema],
    enumeration: &dyn Fn(&str) -> Option<Arc<Enumeration>>,
) -> Option<Condition> {
    if stays.nodes().len() > MAX_TOLD_NODE_COUNT {
        return None;
    }
    // From the last node to the first, with the subtrees behind on a stack, the next on top.
    let mut built: Vec<Told> = Vec::new();
    for node in stays.nodes().iter().rev() {
        let told = match node {
            ConditionNode::Comparison { op, field, value, offsets } => {
                let shape = FieldShape::find(schemas, field)?;
                let condition = shape.negated_test(*op, field, value, offsets, enumeration)?;
                Told { condition, test: Some((field.clone(), *op, value.clone())) }
            }
            ConditionNode::Combination { op, child_count } => {
                let children = built.split_off(built.len().checked_sub(*child_count)?);
                combined(*op, children.into_iter().rev().collect())?
            }
        };
        built.push(told);
    }
    built.pop().map(|told| told.condition)
}

/// A subtree, negated; of a test also what is stored.
struct Told {
    condition: Condition,
    test: Option<(String, CompareOp, Vec<u8>)>,
}

fn combined(op: CombineOp, children: Vec<Told>) -> Option<Told> {
    let mut parts: Vec<Condition> = Vec::new();
    let mut children = children.into_iter().peekable();
    while let Some(child) = children.next() {
        // A value and all others: the form in which null tests are stored.
        let is_pair = |next: &Told| match (&child.test, &next.test) {
            (Some((a, CompareOp::Eq, x)), Some((b, CompareOp::Ne, y))) => a == b && x == y,
            _ => false,
        };
        if op != CombineOp::Not
            && let Some(next) = children.next_if(is_pair)
        {
            let (field, ..) = next.test?;
            let is_null = Condition::null(&field, true);
            parts.push(match op {
                CombineOp::Or => is_null,
                _ => is_null.or(Condition::null(&field, false)),
            });
            continue;
        }
        parts.push(child.condition);
    }
    let mut parts = parts.into_iter();
    let first = parts.next()?;
    let condition = match op {
        CombineOp::Not => first.not(),
        CombineOp::And => parts.fold(first, Condition::or),
        CombineOp::Or => parts.fold(first, Condition::and),
    };
    Some(Told { condition, test: None })
}

struct FieldShape<'s> {
    datatype: Datatype,
    is_var: bool,
    enumeration: Option<&'s str>,
}

impl<'s> FieldShape<'s> {
    fn find(schemas: &[&'s ArraySchema], name: &str) -> Option<Self> {
        schemas.iter().find_map(|schema| {
            if let Some((_, dimension)) = schema.dimension(name) {
                let is_var = dimension.datatype.is_string();
                return Some(FieldShape { datatype: dimension.datatype, is_var, enumeration: None });
            }
            let (_, attribute) = schema.attribute(name)?;
            Some(FieldShape {
                datatype: attribute.datatype,
                is_var: attribute.cell_val_num.fixed().is_none(),
                enumeration: attribute.enumeration.as_deref(),
            })
        })
    }

    fn negated_test(
        &self,
        op: CompareOp,
        field: &str,
        value: &[u8],
        offsets: &[u64],
        enumeration: &dyn Fn(&str) -> Option<Arc<Enumeration>>,
    ) -> Option<Condition> {
        let labels = self.enumeration.and_then(enumeration);
        let literal = |bytes: &[u8]| match &labels {
            Some(labels) => self.label(labels, bytes),
            None => self.literal(bytes),
        };
        let is_text = self.is_var && self.datatype.is_bytes();
        if value.is_empty() && !is_text && matches!(op, CompareOp::Eq | CompareOp::Ne) {
            return Some(Condition::null(field, op == CompareOp::Ne));
        }
        let relation =
            match op {
                CompareOp::Lt => Relation::Ge,
                CompareOp::Le => Relation::Gt,
                CompareOp::Gt => Relation::Le,
                CompareOp::Ge => Relation::Lt,
                CompareOp::Eq => Relation::Ne,
                CompareOp::Ne => Relation::Eq,
                CompareOp::In | CompareOp::NotIn => {
                    let ends = offsets.iter().skip(1).copied().chain([value.len() as u64]);
                    let member = |(start, end): (&u64, u64)| {
                        literal(value.get(usize::try_from(*start).ok()?..usize::try_from(end).ok()?)?)
                    };
                    let members = offsets.iter().zip(ends).map(member).collect::<Option<Vec<Literal>>>()?;
                    return Some(self.of_codes(
                        labels.is_some(),
                        Condition::member(field, members, op == CompareOp::NotIn),
                    ));
                }
                CompareOp::AlwaysTrue | CompareOp::AlwaysFalse => return None,
            };
        Some(self.of_codes(labels.is_some(), Condition::compare(field, relation, literal(value)?)))
    }

    fn of_codes(&self, has_labels: bool, condition: Condition) -> Condition {
        if self.enumeration.is_some() && !has_labels { condition.of_codes() } else { condition }
    }

    fn label(&self, labels: &Enumeration, code: &[u8]) -> Option<Literal> {
        let Literal::Int(code) = self.number(code)? else { return None };
        let label = labels.elements().nth(usize::try_from(code).ok()?)?;
        FieldShape {
            datatype: labels.datatype,
            is_var: labels.cell_val_num.fixed().is_none(),
            enumeration: None,
        }
        .literal(label)
    }

    fn literal(&self, bytes: &[u8]) -> Option<Literal> {
        if self.datatype.is_bytes() {
            return Some(match std::str::from_utf8(bytes) {
                Ok(text) => Literal::Text(text.to_owned()),
                Err(_) => Literal::Bytes(bytes.to_vec()),
            });
        }
        self.number(bytes)
    }

    fn number(&self, bytes: &[u8]) -> Option<Literal> {
        fn read<T: Physical>(bytes: &[u8]) -> Option<T> {
            if bytes.len() == size_of::<T>() { bytemuck::try_pod_read_unaligned(bytes).ok() } else { None }
        }
        let datatype = self.datatype;
        if datatype.is_datetime() || datatype.is_time() {
            return Some(Literal::Text(format_date_time(datatype, read::<i64>(bytes)?)));
        }
        Some(match datatype.physical() {
            _ if datatype == Datatype::Bool => Literal::Bool(*bytes.first()? != 0),
            // By its own shortest text.
            PhysicalKind::F32 => Literal::Float(read::<f32>(bytes)?.to_string().parse().ok()?),
            PhysicalKind::F64 => Literal::Float(read::<f64>(bytes)?),
            _ => dispatch_physical!(datatype, T => Literal::Int(read::<T>(bytes)?.to_string().parse().ok()?)),
        })
    }
}
