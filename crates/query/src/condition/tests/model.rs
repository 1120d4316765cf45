//! Random conditions on random cells against one cell at a time, and verdicts against what holds.

use super::{attribute, enumeration, schema, texts};
use crate::condition::tree::Node;
use crate::condition::{BoundCondition, Condition, FieldBounds, Literal, Relation, Verdict};
use proptest::prelude::*;
use smalti_format::{ArraySchema, Attribute};
use smalti_space::UNSTOPPED;
use smalti_tile::{ColumnRef, StatsBuilder, StatsKind};
use smalti_types::{CellValNum, Datatype, Physical, Scalar, dispatch_physical};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::num::NonZeroU32;

/// A cell or a value, as the model sees it.
#[derive(Debug, Clone)]
enum Plain {
    Number(Datatype, Vec<u8>),
    Text(Vec<u8>),
}

impl Plain {
    fn compare(&self, other: &Plain) -> Option<Ordering> {
        match (self, other) {
            (Plain::Number(datatype, a), Plain::Number(_, b)) => {
                let (a, b) = (Scalar::read(*datatype, a).unwrap(), Scalar::read(*datatype, b).unwrap());
                match (a.as_i128(), b.as_i128()) {
                    (Some(a), Some(b)) => a.partial_cmp(&b),
                    _ => a.as_f64().partial_cmp(&b.as_f64()),
                }
            }
            (Plain::Text(a), Plain::Text(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    fn bytes(&self) -> &[u8] {
        let (Plain::Number(_, bytes) | Plain::Text(bytes)) = self;
        bytes
    }
}

fn value_of(attribute: &Attribute, literal: &Literal) -> Plain {
    let bytes = match literal {
        Literal::Text(text) => return Plain::Text(text.clone().into_bytes()),
        Literal::Bytes(bytes) => return Plain::Text(bytes.clone()),
        Literal::Int(wide) => {
            if attribute.datatype.is_float() {
                Scalar::F64(*wide as f64).cast(attribute.datatype).unwrap().to_le_bytes()
            } else {
                wide.to_le_bytes()[..attribute.datatype.byte_len()].to_vec()
            }
        }
        Literal::Float(float) => Scalar::F64(*float).cast(attribute.datatype).unwrap().to_le_bytes(),
        Literal::Bool(truth) => vec![u8::from(*truth)],
    };
    Plain::Number(attribute.datatype, bytes)
}

/// Kleene's logic: `None` is unknown.
fn holds(condition: &Condition, schema: &ArraySchema, row: &[Option<Plain>]) -> Option<bool> {
    let mut stack: Vec<Option<bool>> = Vec::new();
    for node in &condition.nodes {
        let cell = |name: &str| {
            let (idx, attribute) = schema.attribute(name).unwrap();
            (attribute, row[idx].as_ref())
        };
        let result = match node {
            Node::Null { field, is_null } => Some(cell(&field.name).1.is_none() == *is_null),
            Node::Compare { field, relation, value } => {
                let (attribute, cell) = cell(&field.name);
                cell.map(|cell| {
                    let order = cell.compare(&value_of(attribute, value));
                    match relation {
                        Relation::Lt => order == Some(Ordering::Less),
                        Relation::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
                        Relation::Gt => order == Some(Ordering::Greater),
                        Relation::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
                        Relation::Eq => order == Some(Ordering::Equal),
                        Relation::Ne => order != Some(Ordering::Equal),
                    }
                })
            }
            Node::Member { field, members, is_in } => {
                let (attribute, cell) = cell(&field.name);
                cell.map(|cell| {
                    members.iter().any(|member| value_of(attribute, member).bytes() == cell.bytes()) == *is_in
                })
            }
            Node::Prefix { field, prefix, is_in } => {
                let (_, cell) = cell(&field.name);
                cell.map(|cell| cell.bytes().starts_with(prefix.as_bytes()) == *is_in)
            }
            // A negated comparison with NaN is not the negation of its truth: see `negation_free`.
            Node::Not => stack.pop().unwrap().map(|holds| !holds),
            Node::And(count) => {
                let children = stack.split_off(stack.len() - count);
                if children.contains(&Some(false)) {
                    Some(false)
                } else {
                    children.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
                }
            }
            Node::Or(count) => {
                let children = stack.split_off(stack.len() - count);
                if children.contains(&Some(true)) {
                    Some(true)
                } else {
                    children.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
                }
            }
        };
        stack.push(result);
    }
    stack.pop().unwrap()
}

fn number(datatype: Datatype) -> BoxedStrategy<Vec<u8>> {
    fn small<T: Physical>() -> BoxedStrategy<Vec<u8>>
    where
        Scalar: From<T>,
    {
        let near = prop_oneof![
            4 => -3..4i32,
            1 => Just(i32::MIN),
            1 => Just(i32::MAX),
        ];
        near.prop_map(|near| {
            let zero = T::zeroed().ordinal();
            T::from_ordinal(zero.wrapping_add_signed(near.into())).ordinal()
        })
        .prop_map(|ordinal| Scalar::from(T::from_ordinal(ordinal)).to_le_bytes())
        .boxed()
    }
    if datatype == Datatype::Bool {
        return any::<bool>().prop_map(|truth| vec![u8::from(truth)]).boxed();
    }
    if datatype.is_float() {
        let floats = vec![-0.0, 0.0, 1.0, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30];
        return prop::sample::select(floats)
            .prop_map(move |float| Scalar::F64(float).cast(datatype).unwrap().to_le_bytes())
            .boxed();
    }
    dispatch_physical!(datatype, T => small::<T>())
}

fn cell(attribute: &Attribute) -> BoxedStrategy<Plain> {
    use Datatype::*;
    let datatype = attribute.datatype;
    let fixed = attribute.cell_val_num.fixed();
    match datatype {
        Char | StringAscii | StringUtf8 | Blob => {
            let len = fixed.map_or(0..=2, |count| count..=count);
            prop::collection::vec(prop::sample::select(vec![0u8, b'a', b'b', 0xc3, 0xff]), len)
                .prop_map(Plain::Text)
                .boxed()
        }
        _ => number(datatype).prop_map(move |bytes| Plain::Number(datatype, bytes)).boxed(),
    }
}

fn literal(attribute: &Attribute) -> BoxedStrategy<Literal> {
    let is_bool = attribute.datatype == Datatype::Bool;
    cell(attribute)
        .prop_map(move |plain| match plain {
            Plain::Text(bytes) => Literal::Bytes(bytes),
            Plain::Number(_, bytes) if is_bool => Literal::Bool(bytes[0] != 0),
            Plain::Number(datatype, bytes) => {
                let scalar = Scalar::read(datatype, &bytes).unwrap();
                scalar.as_i128().map_or(Literal::Float(scalar.as_f64()), Literal::Int)
            }
        })
        .boxed()
}

fn attributes() -> Vec<Attribute> {
    use Datatype::*;
    let two = CellValNum::Fixed(NonZeroU32::new(2).unwrap());
    let (one, var) = (CellValNum::ONE, CellValNum::Var);
    let mut shapes = vec![
        (Char, one),
        (Char, two),
        (StringAscii, var),
        (StringAscii, two),
        (StringUtf8, var),
        (Blob, var),
        (Bool, one),
        (DateTimeNs, one),
        (TimeHr, one),
    ];
    shapes.extend(Datatype::ALL.iter().filter(|d| d.is_integer() || d.is_float()).map(|d| (*d, one)));
    let name = |datatype: Datatype, count: CellValNum, nullable| {
        format!("{}_{}_{nullable}", datatype.name(), count.raw()).to_lowercase()
    };
    let with = |nullable: bool| {
        let shapes = shapes.clone();
        shapes.into_iter().map(move |(d, count)| attribute(&name(d, count, nullable), d, count, nullable))
    };
    with(false).chain(with(true)).collect()
}

fn test(attribute: Attribute) -> BoxedStrategy<Condition> {
    let name = attribute.name.clone();
    let is_equality_only = attribute.datatype == Datatype::Blob;
    let relations = match is_equality_only {
        true => vec![Relation::Eq, Relation::Ne],
        false => {
            vec![Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge, Relation::Eq, Relation::Ne]
        }
    };
    let (a, b, c, d) = (name.clone(), name.clone(), name.clone(), name);
    let is_text = matches!(attribute.datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8);
    let prefixes = match is_text {
        true => (prop::sample::select(vec!["", "a", "ab", "\0", "\u{c3}"]), any::<bool>())
            .prop_map(move |(prefix, is_in)| Condition::prefix(&d, prefix, is_in))
            .boxed(),
        false => Just(Condition::null(&d, true)).boxed(),
    };
    let is_nan = |literal: &Literal| matches!(literal, Literal::Float(float) if float.is_nan());
    prop_oneof![
        3 => (prop::sample::select(relations), literal(&attribute))
            .prop_filter("NaN has no order", move |(relation, literal)| !(relation.is_ordered() && is_nan(literal)))
            .prop_map(move |(relation, literal)| Condition::compare(&a, relation, literal)),
        2 => (prop::collection::vec(literal(&attribute), 0..12), any::<bool>())
            .prop_map(move |(members, is_in)| Condition::member(&b, members, is_in)),
        1 => any::<bool>().prop_map(move |is_null| Condition::null(&c, is_null)),
        1 => prefixes,
    ]
    .boxed()
}

/// Some attributes, cells of them, and a condition.
fn case() -> impl Strategy<Value = (Vec<Attribute>, Vec<Vec<Option<Plain>>>, Condition)> {
    prop::sample::subsequence(attributes(), 1..4).prop_flat_map(|attributes| {
        let tests: Vec<_> = attributes.iter().cloned().map(test).collect();
        let condition = prop::strategy::Union::new(tests).prop_recursive(4, 20, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
                inner.prop_map(Condition::not),
            ]
        });
        let cells: Vec<_> = attributes
            .iter()
            .map(|attribute| {
                let cell = cell(attribute);
                match attribute.nullable {
                    true => prop::option::weighted(0.7, cell).boxed(),
                    false => cell.prop_map(Some).boxed(),
                }
            })
            .collect();
        // Tiles of few different values are those that statistics decide about.
        let rows =
            prop_oneof![prop::collection::vec(cells.clone(), 1..4), prop::collection::vec(cells, 0..200)];
        (Just(attributes), rows, condition)
    })
}

/// The cells of an attribute: values, offsets where it is var-sized, validity.
fn column(attribute: &Attribute, cells: &[&Option<Plain>]) -> (Vec<u8>, Vec<u64>, Vec<u8>) {
    // What is under a null counts as little as it should.
    let null = match attribute.cell_byte_len() {
        Some(byte_len) => vec![1; byte_len],
        None => b"b".to_vec(),
    };
    let values: Vec<&[u8]> =
        cells.iter().map(|cell| cell.as_ref().map_or(null.as_slice(), Plain::bytes)).collect();
    let (data, offsets) = texts(&values);
    (data, offsets, cells.iter().map(|cell| u8::from(cell.is_some())).collect())
}

/// What a tile's statistics know.
fn bounds<'a>(attribute: &Attribute, column: ColumnRef<'_>, cell_count: usize) -> FieldBounds<'a> {
    let kind = StatsKind::new(attribute.datatype, attribute.cell_val_num, false);
    let mut builder = StatsBuilder::new(kind);
    builder.add(column, 0..cell_count);
    let stats = builder.finish();
    let sum = f64::from_le_bytes(stats.sum);
    FieldBounds {
        cell_count: cell_count as u64,
        null_count: attribute.nullable.then_some(stats.null_count),
        range: kind.has_min_max.then_some((Cow::Owned(stats.min), Cow::Owned(stats.max))),
        may_have_nan: attribute.datatype.is_float() && (sum.is_nan() || sum.abs() == f64::MAX),
    }
}

/// Whether no negation is over a comparison of floats, where NaN fulfils neither it nor its negation.
fn negation_free(attributes: &[Attribute], condition: &Condition) -> bool {
    let has_floats = attributes.iter().any(|attribute| attribute.datatype.is_float());
    !has_floats || !condition.nodes.contains(&Node::Not)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whole_columns_agree_with_one_cell_at_a_time_and_verdicts_never_lie((attributes, rows, condition) in case()) {
        let schema = schema(attributes);
        let bound = BoundCondition::bind(&condition, &schema, &enumeration)
            .map_err(|error| TestCaseError::fail(format!("{condition}: {error}")))?;
        let columns: Vec<_> = schema
            .attributes
            .iter()
            .enumerate()
            .map(|(idx, attribute)| {
                column(attribute, &rows.iter().map(|row| &row[idx]).collect::<Vec<_>>())
            })
            .collect();
        let of_field = |idx: usize| {
            let (place, attribute) = schema.attribute(&bound.fields()[idx].name).unwrap();
            let (data, offsets, validity) = &columns[place];
            let column = if attribute.is_var() { ColumnRef::var(data, offsets) } else { ColumnRef::fixed(data) };
            let column = if attribute.nullable { column.with_validity(validity) } else { column };
            (attribute, column)
        };
        let wanted: Vec<_> = (0..bound.fields().len()).map(|idx| Some(of_field(idx).1)).collect();
        let mask = bound.evaluate(&wanted, rows.len(), UNSTOPPED).unwrap();
        if negation_free(&schema.attributes, &condition) {
            for (cell, row) in rows.iter().enumerate() {
                let expected = holds(&condition, &schema, row) == Some(true);
                prop_assert_eq!(mask.is_set(cell), expected, "cell {} of {}", cell, condition);
            }
        }
        let verdict = bound.verdict(&|idx| {
            let (attribute, column) = of_field(idx);
            Ok(Some(bounds(attribute, column, rows.len())))
        });
        match verdict.unwrap() {
            Verdict::None => prop_assert!(!mask.any(), "{condition}"),
            Verdict::All => prop_assert!(mask.all(), "{condition}"),
            Verdict::Some => {}
        }
        if let Ok(tree) = bound.to_stored_negated() {
            let stays = BoundCondition::of_stored(&tree, &[&schema]).unwrap();
            prop_assert_eq!(stays.fields(), bound.fields());
            let stays = stays.evaluate(&wanted, rows.len(), UNSTOPPED).unwrap();
            for (cell, row) in rows.iter().enumerate() {
                prop_assert!(!(stays.is_set(cell) && mask.is_set(cell)), "cell {cell} of {condition}");
                if negation_free(&schema.attributes, &condition) && !schema.attributes.iter().any(|a| a.datatype.is_float()) {
                    let expected = holds(&condition, &schema, row) == Some(false);
                    prop_assert_eq!(stays.is_set(cell), expected, "cell {} of not ({})", cell, condition);
                }
            }
        }
    }
}

#[test]
fn blocks_of_cells_join_without_a_seam() {
    let schema = schema(vec![attribute("n", Datatype::UInt32, CellValNum::ONE, true)]);
    let cell_count = 20_011;
    let cells: Vec<u32> = (0..cell_count).map(|idx| idx * 7919 % 1000).collect();
    let validity: Vec<u8> = (0..cell_count).map(|idx| u8::from(idx % 13 != 0)).collect();
    let condition: Condition =
        "n < 100 or n in (500, 501, 600) or (n > 900 and not n = 950)".parse().unwrap();
    let bound = BoundCondition::bind(&condition, &schema, &enumeration).unwrap();
    let column = ColumnRef::fixed(bytemuck::cast_slice(&cells)).with_validity(&validity);
    let mask = bound.evaluate(&[Some(column)], cells.len(), UNSTOPPED).unwrap();
    for (idx, n) in cells.iter().enumerate() {
        let expected = *n < 100 || [500, 501, 600].contains(n) || (*n > 900 && *n != 950);
        assert_eq!(mask.is_set(idx), expected && validity[idx] != 0, "cell {idx}");
    }
    // Cells that do not start at a multiple of their size.
    let mut bytes = vec![0];
    bytes.extend_from_slice(bytemuck::cast_slice(&cells));
    let column = ColumnRef::fixed(&bytes[1..]).with_validity(&validity);
    assert_eq!(bound.evaluate(&[Some(column)], cells.len(), UNSTOPPED).unwrap(), mask);
}
