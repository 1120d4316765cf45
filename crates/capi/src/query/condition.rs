//! Conditions: trees of tests whose values are bytes until a schema says what they mean.

use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{Data, In, New, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::schema::SchemaHandle;
use smalti::{Condition, Datatype, Literal, Relation, Scalar};

/// A condition, or a part of one.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// Nothing yet.
    Empty,
    /// A field beside a value; `None` is null.
    Compare { field: String, value: Option<Vec<u8>>, relation: Relation, of_labels: bool },
    /// A field among values.
    Member { field: String, members: Vec<Vec<u8>>, members_raw: Vec<u8>, is_in: bool, of_labels: bool },
    /// Both.
    And(Box<Node>, Box<Node>),
    /// One of them.
    Or(Box<Node>, Box<Node>),
    /// The other cells.
    Not(Box<Node>),
}

kinds! { Node => "query condition" }

const ORIGIN: &str = "QueryCondition";

/// What libtiledb tells by of conditions that do not fit the array.
const STATUS: &str = "[TileDB::QueryCondition] Error";

/// What a field holds: the type of the values that it is compared with, and whether they are labels.
struct Kind {
    datatype: Datatype,
    is_code: bool,
    is_var: bool,
    width: usize,
}

impl Node {
    /// The condition in the engine's words, for an array of a schema.
    pub(super) fn bound(&self, schema: &mut SchemaHandle) -> Fallible<Condition> {
        Ok(match self {
            Node::Empty => return fail(ORIGIN, "Empty query condition."),
            Node::And(left, right) => left.bound(schema)?.and(right.bound(schema)?),
            Node::Or(left, right) => left.bound(schema)?.or(right.bound(schema)?),
            Node::Not(inner) => inner.bound(schema)?.not(),
            Node::Compare { field, value, relation, of_labels } => {
                let kind = kind_of(schema, field, *of_labels)?;
                let Some(value) = value else {
                    if !matches!(relation, Relation::Eq | Relation::Ne) {
                        return fail(STATUS, "Null value can only be used with equality operators");
                    }
                    return Ok(Condition::null(field, *relation == Relation::Eq));
                };
                if !kind.is_var && !kind.datatype.is_bytes() && value.len() != kind.width {
                    return fail(
                        STATUS,
                        format!(
                            "Value node condition value size mismatch: {} != {}",
                            kind.width,
                            value.len()
                        ),
                    );
                }
                if !kind.is_var && kind.datatype.is_bytes() && value.len() != kind.width {
                    // No cell is as long as that.
                    return match relation {
                        Relation::Eq => Ok(Condition::member(field, Vec::<Literal>::new(), true)),
                        Relation::Ne => Ok(Condition::member(field, Vec::<Literal>::new(), false)),
                        _ => {
                            let mut padded = value.clone();
                            padded.resize(kind.width, 0);
                            Ok(Condition::compare(field, *relation, literal(kind.datatype, &padded)?))
                        }
                    };
                }
                let condition = Condition::compare(field, *relation, literal(kind.datatype, value)?);
                if kind.is_code { condition.of_codes() } else { condition }
            }
            Node::Member { field, members, members_raw, is_in, of_labels } => {
                let kind = kind_of(schema, field, *of_labels)?;
                let cut: Vec<Vec<u8>> = match kind.datatype.is_bytes() || kind.is_var {
                    true => members.clone(),
                    false => members_raw.chunks(kind.width.max(1)).map(<[u8]>::to_vec).collect(),
                };
                let literals: Fallible<Vec<Literal>> =
                    cut.iter().map(|member| literal(kind.datatype, member)).collect();
                let condition = Condition::member(field, literals?, *is_in);
                if kind.is_code { condition.of_codes() } else { condition }
            }
        })
    }

    fn set_labels(&mut self, yes: bool) {
        match self {
            Node::Empty => {}
            Node::Compare { of_labels, .. } | Node::Member { of_labels, .. } => *of_labels = yes,
            Node::And(left, right) | Node::Or(left, right) => {
                left.set_labels(yes);
                right.set_labels(yes);
            }
            Node::Not(inner) => inner.set_labels(yes),
        }
    }
}

fn kind_of(schema: &mut SchemaHandle, field: &str, of_labels: bool) -> Fallible<Kind> {
    if let Some((_, dimension)) = schema.schema.dimension(field) {
        return Ok(Kind {
            datatype: dimension.datatype,
            is_code: false,
            is_var: dimension.cell_val_num.is_var(),
            width: dimension.datatype.byte_len(),
        });
    }
    let Some((_, attribute)) = schema.schema.attribute(field) else {
        return fail(STATUS, "Field doesn't exist");
    };
    let attribute = attribute.clone();
    let own = Kind {
        datatype: attribute.datatype,
        is_code: attribute.enumeration.is_some(),
        is_var: attribute.cell_val_num.is_var(),
        width: attribute.datatype.byte_len().saturating_mul(attribute.cell_val_num.fixed().unwrap_or(1)),
    };
    match &attribute.enumeration {
        Some(name) if of_labels => {
            let enumeration = schema.enumeration(name)?;
            Ok(Kind {
                datatype: enumeration.datatype,
                is_code: false,
                is_var: enumeration.cell_val_num.is_var(),
                width: enumeration.datatype.byte_len(),
            })
        }
        _ => Ok(own),
    }
}

fn literal(datatype: Datatype, bytes: &[u8]) -> Fallible<Literal> {
    if datatype.is_bytes() {
        return Ok(match std::str::from_utf8(bytes) {
            Ok(text) if datatype != Datatype::Blob => Literal::Text(text.to_owned()),
            _ => Literal::Bytes(bytes.to_vec()),
        });
    }
    let value = Scalar::read(datatype, bytes)?;
    Ok(match datatype {
        Datatype::Bool => Literal::Bool(value.as_i128() != Some(0)),
        _ => match value.as_i128() {
            Some(value) => Literal::Int(value),
            None => Literal::Float(value.as_f64()),
        },
    })
}

fn relation(op: i32) -> Fallible<Relation> {
    Ok(match op {
        0 => Relation::Lt,
        1 => Relation::Le,
        2 => Relation::Gt,
        3 => Relation::Ge,
        4 => Relation::Eq,
        5 => Relation::Ne,
        _ => return fail(ORIGIN, "Cannot initialize query condition; invalid operation"),
    })
}

entries! {
    fn tiledb_query_condition_alloc(ctx, cond: New<Node>) {
        cond.put(Node::Empty)
    }

    fn tiledb_query_condition_init(
        ctx,
        cond: In<Node>,
        attribute_name: Text,
        condition_value: Data,
        condition_value_size: u64,
        op: i32,
    ) {
        let mut node = cond.write()?;
        if !matches!(*node, Node::Empty) {
            return fail(STATUS, "Cannot reinitialize query condition");
        }
        let field = attribute_name.get("attribute_name")?.to_owned();
        let relation = relation(op)?;
        let value = condition_value.optional(condition_value_size)?.map(<[u8]>::to_vec);
        *node = Node::Compare { field, value, relation, of_labels: true };
        Ok(())
    }

    fn tiledb_query_condition_alloc_set_membership(
        ctx,
        field_name: Text,
        data: Data,
        data_size: u64,
        offsets: Data,
        offsets_size: u64,
        op: i32,
        cond: New<Node>,
    ) {
        cond.check()?;
        let is_in = match op {
            6 => true,
            7 => false,
            _ => {
                return fail(
                    "TileDB internal",
                    "ASTNodeVal invalid set membership operator in set membership constructor.",
                );
            }
        };
        let members_raw = data.bytes(data_size, "data")?.to_vec();
        let raw = offsets.bytes(offsets_size, "offsets")?;
        let start = |chunk: &[u8]| chunk.try_into().map_or(0, u64::from_ne_bytes);
        let mut starts: Vec<usize> =
            raw.chunks_exact(8).map(|chunk| crate::values::index(start(chunk))).collect();
        starts.push(members_raw.len());
        let members: Option<Vec<Vec<u8>>> = starts
            .windows(2)
            .map(|pair| match pair {
                [from, until] => members_raw.get(*from..*until).map(<[u8]>::to_vec),
                _ => None,
            })
            .collect();
        let members = members.ok_or_else(|| Failure::told(ORIGIN, "offsets leave the data"))?;
        let field = field_name.get("field_name")?.to_owned();
        cond.put(Node::Member { field, members, members_raw, is_in, of_labels: true })
    }

    fn tiledb_query_condition_combine(
        ctx,
        left_cond: In<Node>,
        right_cond: In<Node>,
        combination_op: i32,
        combined_cond: New<Node>,
    ) {
        let left = left_cond.read()?.clone();
        if combination_op == 2 {
            if !right_cond.is_null() {
                return fail(ORIGIN, "Cannot combine query conditions; NOT takes one of them");
            }
            return combined_cond.put(Node::Not(Box::new(left)));
        }
        let right = right_cond.read()?.clone();
        let (left, right) = (Box::new(left), Box::new(right));
        match combination_op {
            0 => combined_cond.put(Node::And(left, right)),
            1 => combined_cond.put(Node::Or(left, right)),
            _ => fail(ORIGIN, "Cannot combine query conditions; invalid operation"),
        }
    }

    fn tiledb_query_condition_negate(ctx, cond: In<Node>, negated_cond: New<Node>) {
        let inner = cond.read()?.clone();
        negated_cond.put(Node::Not(Box::new(inner)))
    }

    fn tiledb_query_condition_set_use_enumeration(ctx, cond: In<Node>, use_enumeration: i32) {
        cond.write()?.set_labels(use_enumeration != 0);
        Ok(())
    }
}

free_entries! { tiledb_query_condition_free: Node }
