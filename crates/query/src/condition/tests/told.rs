//! Conditions of deletes, from text to what is stored and back to text.

use super::{attribute, bind, enumerated, enumeration, schema};
use crate::condition::told;
use smalti_format::{ArraySchema, CompareOp, ConditionNode, ConditionTree};
use smalti_types::text::format_date_time;
use smalti_types::{CellValNum, Datatype};

fn fields() -> ArraySchema {
    use Datatype::*;
    schema(vec![
        attribute("a", Int32, CellValNum::ONE, true),
        attribute("f", Int32, CellValNum::ONE, false),
        attribute("b", Float64, CellValNum::ONE, false),
        attribute("t", StringUtf8, CellValNum::Var, true),
        attribute("c", Char, CellValNum::Var, false),
        attribute("flag", Bool, CellValNum::ONE, true),
        enumerated("color", UInt8, "colors"),
        enumerated("size", UInt8, "sizes"),
        enumerated("prime", UInt8, "primes"),
    ])
}

/// What is told of a delete by a condition.
fn told_of(schema: &ArraySchema, text: &str) -> Option<String> {
    let tree = bind(schema, text).unwrap_or_else(|error| panic!("{text}: {error}")).to_stored_negated();
    let tree = tree.unwrap_or_else(|error| panic!("{text}: {error}"));
    told(&tree, &[schema], &|name| enumeration(name).ok()).map(|condition| condition.to_string())
}

#[test]
fn every_operator_is_told_as_it_was_asked_or_in_the_words_of_what_is_stored() {
    let schema = fields();
    for (asked, expected) in [
        ("f < 5", "f < 5"),
        ("f <= 5", "f <= 5"),
        ("f > 5", "f > 5"),
        ("f >= 5", "f >= 5"),
        ("f == 5", "f == 5"),
        ("f != 5", "f != 5"),
        ("x > 3", "x > 3"),
        ("f in (1, 2)", "f in (1, 2)"),
        ("f not in (1, 2)", "f not in (1, 2)"),
        ("t in ('b', 'a')", "t in ('b', 'a')"),
        ("t in ('', 'a')", "t in ('', 'a')"),
        ("f between 1 and 3", "f >= 1 and f <= 3"),
        ("f not between 1 and 3", "f < 1 or f > 3"),
        ("t like 'ab%'", "t >= 'ab' and t < 'ac'"),
        ("t not like 'ab%'", "t < 'ab' or t >= 'ac'"),
        ("t like 'ab'", "t == 'ab'"),
        ("t = ''", "t == ''"),
        ("t != ''", "t != ''"),
        ("a is null", "a is null"),
        ("t is null", "t is null"),
        ("flag", "flag == true"),
        ("not flag", "flag != true"),
        ("flag = false", "flag == false"),
        ("not (f > 5)", "f <= 5"),
        ("not (f > 5 and b < 1)", "f <= 5 or b >= 1.0"),
        ("f > 5 and b < 1.5", "f > 5 and b < 1.5"),
        ("f > 5 or b < 1.5", "f > 5 or b < 1.5"),
        ("f > 5 and (t = 'x' or f < 1)", "f > 5 and (t == 'x' or f < 1)"),
        ("(f = 1 or f = 2) and a is null", "(f == 1 or f == 2) and a is null"),
        ("f > 2 and a is null", "f > 2 and a is null"),
        ("color = 'blue'", "color == 'blue'"),
        ("color in ('red', 'blue')", "color in ('red', 'blue')"),
        ("color like 'bl%'", "color in ('blue')"),
        ("code(color) = 1", "color == 'green'"),
        ("size > 'small'", "size > 'small'"),
        ("prime = 3", "prime == 3"),
        ("c = x'ff00'", "c == x'ff00'"),
        ("t = 'it''s'", "t == 'it''s'"),
        ("b = inf", "b == inf"),
        ("b = -0.0", "b == -0.0"),
    ] {
        assert_eq!(told_of(&schema, asked).as_deref(), Some(expected), "{asked}");
        // What was told asks for the same.
        assert_eq!(told_of(&schema, expected).as_deref(), Some(expected), "{expected}");
    }
}

#[test]
fn values_of_every_datatype_come_back_as_they_are_written() {
    use Datatype::*;
    let mut cases: Vec<(Datatype, CellValNum, String)> = Vec::new();
    let mut add =
        |datatype, cell_val_num, value: &str| cases.push((datatype, cell_val_num, value.to_owned()));
    for (datatype, values) in [
        (Int8, ["-128", "127"]),
        (Int16, ["-32768", "32767"]),
        (Int32, ["-2147483648", "2147483647"]),
        (Int64, ["-9223372036854775808", "9223372036854775807"]),
        (UInt8, ["0", "255"]),
        (UInt16, ["0", "65535"]),
        (UInt32, ["0", "4294967295"]),
        (UInt64, ["0", "18446744073709551615"]),
        (Float32, ["0.1", "-3.5"]),
        (Float64, ["0.1", "1e300"]),
    ] {
        values.iter().for_each(|value| add(datatype, CellValNum::ONE, value));
    }
    for datatype in [Char, StringAscii, StringUtf8] {
        add(datatype, CellValNum::Var, "'some text'");
    }
    add(StringUtf8, CellValNum::Var, "'größe'");
    add(Char, CellValNum::ONE, "'x'");
    for datatype in Datatype::ALL.iter().filter(|datatype| datatype.is_datetime() || datatype.is_time()) {
        add(*datatype, CellValNum::ONE, &format!("'{}'", format_date_time(*datatype, 21)));
    }
    for (datatype, cell_val_num, value) in cases {
        let schema = schema(vec![attribute("v", datatype, cell_val_num, true)]);
        // The text form of floats is their shortest.
        let shown = if value == "1e300" { format!("{:?}", 1e300) } else { value.clone() };
        for relation in ["<", "<=", ">", ">=", "==", "!="] {
            let told = told_of(&schema, &format!("v {relation} {value}"));
            assert_eq!(told, Some(format!("v {relation} {shown}")), "{datatype}");
        }
        let told = told_of(&schema, &format!("v in ({value})"));
        assert!(told == Some(format!("v in ({shown})")) || told == Some(format!("v == {shown}")), "{told:?}");
        assert_eq!(told_of(&schema, "v is null").as_deref(), Some("v is null"), "{datatype}");
    }
}

#[test]
fn what_cannot_be_told_is_not_guessed() {
    let schema = fields();
    let test = |op, field: &str, value: &[u8]| ConditionNode::Comparison {
        op,
        field: field.into(),
        value: value.to_vec(),
        offsets: Vec::new(),
    };
    let known = |name: &str| enumeration(name).ok();
    let told_of =
        |nodes, schemas: &[&ArraySchema]| told(&ConditionTree::new(nodes).unwrap(), schemas, &known);
    assert_eq!(told_of(vec![test(CompareOp::Le, "gone", &[5, 0, 0, 0])], &[&schema]), None);
    assert_eq!(told_of(vec![test(CompareOp::Le, "f", &[5, 0])], &[&schema]), None);
    assert_eq!(told_of(vec![test(CompareOp::AlwaysTrue, "f", &[])], &[&schema]), None);
    // A field that was dropped is in an older schema; codes whose labels are not there stay codes.
    let newer = super::schema(Vec::new());
    let dropped = told_of(vec![test(CompareOp::Le, "f", &[5, 0, 0, 0])], &[&newer, &schema]).unwrap();
    assert_eq!(dropped.to_string(), "f > 5");
    let code = ConditionTree::new(vec![test(CompareOp::Ne, "color", &[1])]).unwrap();
    assert_eq!(told(&code, &[&schema], &|_| None).unwrap().to_string(), "code(color) == 1");
}
