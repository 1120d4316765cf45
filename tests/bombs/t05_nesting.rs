//! T5: conditions that are nested deeply.

use crate::arrays::{one_fragment, options, read, schema, tile};
use crate::blast::{light, refused, turn};
use smalti::ReadRequest;
use smalti::{Array, prelude::*};
use std::fs;

const DEPTH: usize = 100_000;

#[test]
fn t5_a_stored_condition_of_100_000_nested_nodes_is_refused() {
    let _turn = turn();
    // A node that combines, by `and` or `or`, one child.
    for operators in [[0, 0], [0, 1], [1, 1]] {
        let ground = one_fragment(&schema(false, false));
        ground.open().unwrap().delete(field("n").eq(1004_i64)).at(25).commit().unwrap();
        let mut nested = Vec::new();
        for level in 0..DEPTH {
            nested.extend([0, operators[level % 2]]);
            nested.extend(1_u64.to_le_bytes());
        }
        fs::write(ground.file(".del"), tile(&nested)).unwrap();
        refused("a nested delete", || read(&ground));
    }
}

fn filtered(ground: &crate::arrays::Ground, condition: &Condition) -> smalti::Result<usize> {
    let request = ReadRequest { condition: Some(condition.clone()), ..ReadRequest::default() };
    let array = Array::open_with(&ground.uri(), &options())?;
    let mut cell_count = 0;
    for batch in array.read_raw(&request)? {
        cell_count += batch?.cell_count;
    }
    Ok(cell_count)
}

#[test]
fn t5_a_condition_of_100_000_nested_nodes_is_made_refused_and_dropped() {
    let _turn = turn();
    let ground = one_fragment(&schema(false, false));
    let mut negated = field("n").gt(0_i64);
    let mut mixed = field("n").gt(0_i64);
    for level in 0..DEPTH {
        negated = negated.not();
        let leaf = field("x").ge(0_i64);
        mixed = if level % 2 == 0 { mixed.and(leaf) } else { mixed.or(leaf) };
    }
    for (what, condition) in [("negations", &negated), ("both operators", &mixed)] {
        match light(what, || filtered(&ground, condition)) {
            Ok(cell_count) => assert_eq!(cell_count, 6, "{what}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}"),
        }
        let _ = light(what, || ground.open()?.delete(condition.clone()).commit());
    }
}

#[test]
fn t5_the_text_of_a_deeply_nested_condition_is_refused() {
    let _turn = turn();
    for text in [
        format!("{}n > 1{}", "(".repeat(DEPTH), ")".repeat(DEPTH)),
        "(".repeat(DEPTH),
        format!("{}n > 1", "not ".repeat(DEPTH)),
        format!("{}n > 1{}", "not (".repeat(DEPTH), ")".repeat(DEPTH)),
    ] {
        match light("a nested text", || text.parse::<Condition>()) {
            Ok(condition) => drop(condition),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}"),
        }
    }
}
