//! `like 'abc%'` as the tests that delete commits can hold too: two comparisons, or a set of codes.

use super::bound::BoundBuilder;
use super::labels::{Labels, enumeration_of};
use super::operand::Comparability;
use super::tree::{Condition, FieldName, Literal, Node, Relation};
use smalti_format::ArraySchema;
use smalti_types::{Error, Result};
use std::borrow::Cow;

/// The condition without tests of prefixes.
///
/// # Errors
/// `InvalidArgument` for unknown fields and those that are no text; what finding an enumeration reports.
pub(super) fn spelled_out<'c>(
    condition: &'c Condition,
    labels: &mut Labels<'_>,
    schema: &ArraySchema,
) -> Result<Cow<'c, Condition>> {
    if !condition.nodes.iter().any(|node| matches!(node, Node::Prefix { .. })) {
        return Ok(Cow::Borrowed(condition));
    }
    // Its own: the order of the fields is that in which the tests are bound.
    let mut built = BoundBuilder::default();
    let mut nodes = Vec::with_capacity(condition.nodes.len());
    for node in &condition.nodes {
        match node {
            // Children come before their parents: a subtree may stand where a test stood.
            Node::Prefix { field, prefix, is_in } => {
                let id = built.field(&[schema], &field.name)?;
                let shape = built.shape(id);
                let in_field = |error: Error| error.context(format_args!("field {:?}", field.name));
                let test = match enumeration_of(built.known(id).id, field, schema) {
                    Some(enumeration) => {
                        let members = labels.prefixed(enumeration, shape, prefix).map_err(in_field)?;
                        let field = FieldName { wants_codes: true, ..field.clone() };
                        Condition::leaf(Node::Member { field, members, is_in: *is_in })
                    }
                    None if Comparability::of(shape) == Comparability::Text => {
                        text_test(field, prefix, *is_in)
                    }
                    None => {
                        return Err(in_field(Error::invalid(format!(
                            "like is for text, and the field is of type {}; compare it instead",
                            shape.datatype
                        ))));
                    }
                };
                nodes.extend(test.nodes);
            }
            other => nodes.push(other.clone()),
        }
    }
    Ok(Cow::Owned(Condition { nodes }))
}

fn text_test(field: &FieldName, prefix: &str, is_in: bool) -> Condition {
    let compare = |relation, value| Condition::leaf(Node::Compare { field: field.clone(), relation, value });
    if prefix.is_empty() {
        // Every text starts so: outside of an empty set.
        return Condition::leaf(Node::Member { field: field.clone(), members: Vec::new(), is_in: !is_in });
    }
    let first = Literal::Text(prefix.to_owned());
    let behind = successor(prefix.as_bytes());
    match (is_in, behind.map(Literal::Bytes)) {
        (true, Some(behind)) => compare(Relation::Ge, first).and(compare(Relation::Lt, behind)),
        (true, None) => compare(Relation::Ge, first),
        (false, Some(behind)) => compare(Relation::Lt, first).or(compare(Relation::Ge, behind)),
        (false, None) => compare(Relation::Lt, first),
    }
}

/// The least string that is greater than all that start with some bytes; `None` where all greater ones do.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let end = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut behind = prefix[..=end].to_vec();
    behind[end] += 1;
    Some(behind)
}

#[cfg(test)]
mod tests {
    use super::successor;

    #[test]
    fn behind_a_prefix_lies_the_next_string_that_does_not_start_so() {
        assert_eq!(successor(b"abc"), Some(b"abd".to_vec()));
        assert_eq!(successor(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(successor(b"\xff"), None);
        assert_eq!(successor(b""), None);
        assert_eq!(successor("é".as_bytes()), Some(b"\xc3\xaa".to_vec()));
    }
}
