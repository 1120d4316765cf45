//! Conditions of delete commits.

use super::{attribute, bind, enumerated, holding, no_bounds, numbers, schema, texts};
use crate::condition::{Absent, BoundCondition, Verdict};
use smalti_format::{ArraySchema, CombineOp, CompareOp, ConditionNode, ConditionTree};
use smalti_tile::ColumnRef;
use smalti_types::{CellValNum, Datatype, ErrorKind};

fn fields() -> ArraySchema {
    use Datatype::*;
    schema(vec![
        attribute("a", Int32, CellValNum::ONE, true),
        attribute("f", Int32, CellValNum::ONE, false),
        attribute("b", Float64, CellValNum::ONE, false),
        attribute("t", StringUtf8, CellValNum::Var, true),
        attribute("blob", Blob, CellValNum::Var, true),
        enumerated("color", UInt8, "colors"),
    ])
}

fn shown(tree: &ConditionTree) -> String {
    let show = |node: &ConditionNode| match node {
        ConditionNode::Combination { op, child_count } => format!("{op:?}{child_count}"),
        ConditionNode::Comparison { op, field, value, offsets } if offsets.is_empty() => {
            format!("{field} {op:?} {value:?}")
        }
        ConditionNode::Comparison { op, field, value, offsets } => {
            format!("{field} {op:?} {value:?} {offsets:?}")
        }
    };
    tree.nodes().iter().map(show).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_delete_stores_what_stays() {
    for (text, expected) in [
        ("f > 5", "f Le [5, 0, 0, 0]"),
        ("f > 5 and (t = 'x' or f < 1)", "Or2; f Le [5, 0, 0, 0]; And2; t Ne [120]; f Ge [1, 0, 0, 0]"),
        ("f = 1 and not (f = 2 or f = 3)", "Or3; f Ne [1, 0, 0, 0]; f Eq [2, 0, 0, 0]; f Eq [3, 0, 0, 0]"),
        ("t in ('b', 'a', '')", "t NotIn [98, 97] [0, 1, 2]"),
        ("t in ('')", "t Ne []"),
        ("t not in ('')", "t Eq []"),
        ("f not in (2, 1)", "f In [2, 0, 0, 0, 1, 0, 0, 0] [0, 4]"),
        ("color = 'blue'", "color Ne [2]"),
        ("t = ''", "t Ne []"),
        ("t is null", "Or2; t Eq [0]; t Ne [0]"),
        ("a is null", "Or2; a Eq [0, 0, 0, 0]; a Ne [0, 0, 0, 0]"),
        ("f > 2 and a is null", "Or3; f Le [2, 0, 0, 0]; a Eq [0, 0, 0, 0]; a Ne [0, 0, 0, 0]"),
        (
            "(f = 1 or f = 2) and a is null",
            "Or3; And2; f Ne [1, 0, 0, 0]; f Ne [2, 0, 0, 0]; a Eq [0, 0, 0, 0]; a Ne [0, 0, 0, 0]",
        ),
        ("f is null or f = 1", "And2; Or2; f Eq [0, 0, 0, 0]; f Ne [0, 0, 0, 0]; f Ne [1, 0, 0, 0]"),
        ("f is not null", "And2; f Eq [0, 0, 0, 0]; f Ne [0, 0, 0, 0]"),
        ("color = 'pink'", "Or2; color Eq [0]; color Ne [0]"),
        ("f in ()", "Or2; f Eq [0, 0, 0, 0]; f Ne [0, 0, 0, 0]"),
        ("f between 1 and 3", "Or2; f Lt [1, 0, 0, 0]; f Gt [3, 0, 0, 0]"),
        ("f not between 1 and 3", "And2; f Ge [1, 0, 0, 0]; f Le [3, 0, 0, 0]"),
        ("f between 1 and 3 and f <> 2", "Or3; f Lt [1, 0, 0, 0]; f Gt [3, 0, 0, 0]; f Eq [2, 0, 0, 0]"),
        ("t like 'ab%'", "Or2; t Lt [97, 98]; t Ge [97, 99]"),
        ("t not like 'é%'", "And2; t Ge [195, 169]; t Lt [195, 170]"),
        ("not (t like 'ab%' or f = 1)", "Or2; And2; t Ge [97, 98]; t Lt [97, 99]; f Eq [1, 0, 0, 0]"),
        ("t like 'ab'", "t Ne [97, 98]"),
        ("t like '%'", "And2; t Eq [0]; t Ne [0]"),
        ("color like 'bl%'", "color NotIn [2] [0]"),
        ("color like 'x%'", "Or2; color Eq [0]; color Ne [0]"),
        ("f > 3000000000", "f Le [255, 255, 255, 127]"),
    ] {
        assert_eq!(shown(&bind(&fields(), text).unwrap().to_stored_negated().unwrap()), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_stored_so_that_libtiledb_reads_it_is_refused() {
    for (text, words) in [
        ("a is not null", "field \"a\": a delete of cells that are not null"),
        ("not (t is null)", "not null"),
        ("blob = x'00'", "type BLOB"),
        ("blob is null", "type BLOB"),
        ("__timestamps < 5", "timestamps"),
    ] {
        let error = bind(&fields(), text).unwrap().to_stored_negated().unwrap_err();
        assert!(error.message().contains(words), "{text}: {error}");
    }
}

#[test]
fn a_delete_takes_what_is_not_known_to_stay() {
    let (schema, a, b) = (fields(), [1i32, 9, 0], [1.0, 9.0, f64::NAN]);
    let stays = |text: &str| {
        let tree = bind(&schema, text).unwrap().to_stored_negated().unwrap();
        let bound = BoundCondition::of_stored(&tree, &[&schema]).unwrap();
        let columns: Vec<_> = bound
            .fields()
            .iter()
            .map(|field| match field.name.as_str() {
                "a" => numbers(&a).map(|column| column.with_validity(&[1, 1, 0])),
                _ => numbers(&b),
            })
            .collect();
        holding(&bound, &columns, 3)
    };
    assert_eq!(stays("a > 5"), [0]);
    assert_eq!(stays("b < 5.0"), [1]);
    assert_eq!(stays("b = 1.0"), [1, 2]);
    assert_eq!(stays("a is null"), [0, 1]);
    assert_eq!(stays("a > 5 or b < 5.0"), Vec::<usize>::new());
    let taken = |text: &str| {
        let bound = bind(&schema, text).unwrap();
        bound.taken_with().map(|field| field.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(taken("a > 5 and b = 1 and f < 3"), ["a"]);
    assert_eq!(taken("b < 5.0 and a is null"), ["b"]);
}

fn comparison(op: CompareOp, field: &str, value: &[u8], offsets: &[u64]) -> ConditionNode {
    ConditionNode::Comparison { op, field: field.into(), value: value.to_vec(), offsets: offsets.to_vec() }
}

fn stored(nodes: Vec<ConditionNode>) -> smalti_types::Result<BoundCondition> {
    BoundCondition::of_stored(&ConditionTree::new(nodes).unwrap(), &[&fields()])
}

#[test]
fn empty_values_test_fixed_fields_for_null_and_texts_for_emptiness() {
    let column = ColumnRef::fixed(&[0; 8]).with_validity(&[0, 1]);
    for (op, expected) in [(CompareOp::Eq, 0), (CompareOp::Ne, 1)] {
        let bound = stored(vec![comparison(op, "a", &[], &[])]).unwrap();
        assert_eq!(holding(&bound, &[Some(column)], 2), [expected]);
    }
    let (data, offsets) = texts(&["", "", "b"]);
    let column = ColumnRef::var(&data, &offsets).with_validity(&[0, 1, 1]);
    for (op, expected) in [(CompareOp::Eq, 1), (CompareOp::Ne, 2)] {
        let bound = stored(vec![comparison(op, "t", &[], &[])]).unwrap();
        assert_eq!(holding(&bound, &[Some(column)], 3), [expected]);
    }
}

#[test]
fn negations_in_stored_trees_are_pushed_down() {
    let nodes = vec![
        ConditionNode::Combination { op: CombineOp::Not, child_count: 1 },
        ConditionNode::Combination { op: CombineOp::Or, child_count: 2 },
        comparison(CompareOp::Eq, "f", &1i32.to_le_bytes(), &[]),
        ConditionNode::Combination { op: CombineOp::Not, child_count: 1 },
        comparison(CompareOp::AlwaysTrue, "f", &[], &[]),
    ];
    let bound = stored(nodes).unwrap();
    assert_eq!(holding(&bound, &[numbers(&[1i32, 2])], 2), [1]);
}

#[test]
fn stored_values_that_are_not_of_their_field_are_corrupt() {
    for node in [
        comparison(CompareOp::Eq, "f", &[1, 2], &[]),
        comparison(CompareOp::Lt, "f", &[], &[]),
        comparison(CompareOp::In, "f", &[0; 8], &[0]),
        comparison(CompareOp::In, "f", &[0; 8], &[4]),
        comparison(CompareOp::In, "f", &[0; 8], &[]),
        comparison(CompareOp::In, "f", &[0; 8], &[0, u64::MAX]),
        comparison(CompareOp::In, "t", &[0; 8], &[5, 2]),
        comparison(CompareOp::Gt, "blob", &[0], &[]),
        comparison(CompareOp::Eq, "gone", &[0], &[]),
    ] {
        assert_eq!(stored(vec![node.clone()]).unwrap_err().kind(), ErrorKind::Corrupt, "{node:?}");
    }
}

#[test]
fn a_field_that_was_dropped_is_found_in_an_older_schema() {
    let (new, old) = (schema(vec![attribute("b", Datatype::Float64, CellValNum::ONE, false)]), fields());
    let tree = ConditionTree::new(vec![comparison(CompareOp::Ne, "f", &1i32.to_le_bytes(), &[])]).unwrap();
    assert!(BoundCondition::of_stored(&tree, &[&new]).is_err());
    let bound = BoundCondition::of_stored(&tree, &[&new, &old]).unwrap();
    assert_eq!((bound.fields()[0].schema_idx, bound.absent()), (1, Absent::Fails));
    assert_eq!(holding(&bound, &[numbers(&[1i32, 2])], 2), [1]);
    assert_eq!(holding(&bound, &[None], 2), Vec::<usize>::new());
    assert_eq!(bound.verdict(&no_bounds).unwrap(), Verdict::Some);
}
