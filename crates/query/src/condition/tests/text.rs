//! The text form.

use crate::condition::{Condition, Relation};
use proptest::prelude::*;

fn shown(text: &str) -> String {
    text.parse::<Condition>().unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

fn refused(text: &str) -> String {
    text.parse::<Condition>().unwrap_err().message().to_owned()
}

#[test]
fn operators_bind_as_in_sql() {
    for (text, expected) in [
        ("a=1 or b<>2 and c>=3", "a == 1 or b != 2 and c >= 3"),
        ("(a=1 or b=2) and c=3", "(a == 1 or b == 2) and c == 3"),
        ("a=1 and (b=2 and c=3) AND d=4", "a == 1 and b == 2 and c == 3 and d == 4"),
        ("not a=1 and b=2", "not (a == 1) and b == 2"),
        ("not (a=1 and b=2)", "not (a == 1 and b == 2)"),
        ("Not Not a Is Not Null", "not (not (a is not null))"),
        ("a in (1,2) or b not in ('x')", "a in (1, 2) or b not in ('x')"),
        ("((((a < 1))))", "a < 1"),
        ("a in ()", "a in ()"),
        ("a in ['x', 'y'] or b not in [1]", "a in ('x', 'y') or b not in (1)"),
        ("a between 1 and 2 and b = 3", "a >= 1 and a <= 2 and b == 3"),
        ("not a BETWEEN 1 AND 2 or b = 3", "not (a >= 1 and a <= 2) or b == 3"),
        ("a not between 'x' and 'y' and b = 3", "(a < 'x' or a > 'y') and b == 3"),
        ("between between 1 and 2", "between >= 1 and between <= 2"),
        ("a like 'x%' and b Not Like 'it''s%'", "a like 'x%' and b not like 'it''s%'"),
        (r"a like 'x\_y%' or a like '50\%'", r"a like 'x\_y%' or a == '50%'"),
        ("like like 'x' and a not like 'y'", "like == 'x' and a != 'y'"),
        ("code(color) between 1 and 2", "code(color) >= 1 and code(color) <= 2"),
        ("flag and not other", "flag == true and not (other == true)"),
        ("(flag) or (a = 1 and other)", "flag == true or a == 1 and other == true"),
        ("not flag", "not (flag == true)"),
        ("code(color) = 2", "code(color) == 2"),
        ("code = 2", "code == 2"),
    ] {
        assert_eq!(shown(text), expected);
        assert_eq!(shown(expected), expected);
    }
}

#[test]
fn names_and_values_are_read_exactly() {
    for (text, expected) in [
        ("\"a \"\"b\"\"\" = 1", "\"a \"\"b\"\"\" == 1"),
        ("`a``b` = 1", "\"a`b\" == 1"),
        ("\"\" = 1", "\"\" == 1"),
        ("größe = 1", "größe == 1"),
        ("a.b_1 = 'it''s'", "a.b_1 == 'it''s'"),
        ("\"AND\" = ''", "\"AND\" == ''"),
        ("a = 18446744073709551615", "a == 18446744073709551615"),
        ("a = -9223372036854775808", "a == -9223372036854775808"),
        ("a = +1_000", "a == 1000"),
        ("a = 1e3", "a == 1000.0"),
        ("a = .5", "a == 0.5"),
        ("a = -2.5E-3", "a == -0.0025"),
        ("a = 1e+300", "a == 1e300"),
        ("a < -inf or a > Inf or a != nan", "a < -inf or a > inf or a != nan"),
        ("a = X'00fF'", "a == x'00ff'"),
        ("a = TRUE", "a == true"),
        ("a = '\u{1f600} (and'", "a == '\u{1f600} (and'"),
    ] {
        assert_eq!(shown(text), expected);
        assert_eq!(shown(expected), expected);
    }
}

#[test]
fn wrong_texts_name_the_place_what_is_there_and_what_belongs_there() {
    for (text, words) in [
        ("", "character 1: found the end, expected a field, not or ("),
        ("a 5", "character 3: found 5, expected <, <=, >, >=, ==, !=, between, like, in, not in or is"),
        ("a between 5 or 6", "character 13: found or, expected and, and the upper end"),
        ("a between 5 and", "character 16: found the end, expected a value"),
        ("a like 5", "character 8: found 5, expected the start of a text"),
        ("a like x'00'", "expected the start of a text"),
        ("a like '%x'", "character 8: like finds texts by their start"),
        ("a like 'x_y%'", r"write \_ for the character itself"),
        ("a in [5, 6)", "character 11: found ), expected , or ]"),
        ("a in (5]", "expected , or )"),
        ("a [5]", "found [, expected"),
        ("a > ", "character 5: found the end, expected a value"),
        (
            "a > b",
            "character 5: found b, expected a value: a number, 'text', x'bytes', true or false; text is",
        ),
        ("a > \"b\"", "other quotes are for fields"),
        ("5 < a", "character 1: found 5, expected a field; values come behind"),
        ("a = 1 b = 2", "character 7: found b, expected and, or, or the end"),
        ("a = 1 and", "character 10: found the end"),
        ("(a = 1", "character 7: found the end, expected and, or, or the ) that closes the ( at character 1"),
        ("a = 1)", "character 6: found ), expected and, or, or the end; no parenthesis is open"),
        ("a = null", "write is null or is not null"),
        ("a is 5", "character 6: found 5, expected null or not null"),
        ("a not 5", "expected in, between or like"),
        ("a in 5", "expected ( or [ and the members"),
        ("a in (5", "character 8: found the end, expected , or )"),
        ("a in (5,)", "character 9: found ), expected a value"),
        ("a = 'x", "character 5: the closing ' is missing"),
        ("a = x'0'", "character 5: bytes are pairs"),
        ("a = 1.2.3", "character 5: 1.2.3 is no number"),
        ("a = 12abc", "12abc is no number"),
        ("a = -", "- is no number"),
        ("a = 1e999", "too large for any datatype"),
        ("a = 170141183460469231731687303715884105728", "too large for any datatype"),
        ("a = 0xff", "0xff is no number"),
        ("a && b", "'&' has no meaning here"),
        ("ä = é", "character 5: found é"),
        ("code(5) = 1", "found 5, expected a field"),
        ("code(a = 1", "found =, expected )"),
        ("and = 1", "found and, expected a field"),
    ] {
        assert!(refused(text).contains(words), "{text}: {}", refused(text));
    }
    assert!(refused(&format!("a = {}", "z".repeat(100))).len() < 250);
}

#[test]
fn a_hundred_thousand_nested_parentheses_or_negations_are_an_error() {
    for open in ["(", "not ", "not (", "a = 1 or ("] {
        let text = open.repeat(100_000) + "a = 1";
        assert!(refused(&text).contains("nested deeper than 1000 levels"), "{open}");
    }
}

#[test]
fn long_and_deep_conditions_are_built_shown_cloned_and_dropped_without_recursion() {
    let test = |idx: usize| Condition::compare("a", Relation::Eq, idx as u64);
    let chain = (0..100_000).map(test).reduce(Condition::and).unwrap();
    assert_eq!(shown(&chain.to_string()), chain.to_string());
    let deep =
        (0..100_000).map(test).reduce(|all, one| if one.nodes.len() % 2 == 0 { all } else { !all.or(one) });
    let deep = deep.unwrap();
    assert_eq!(deep.clone(), deep);
    assert!(deep.to_string().len() > 1_000_000);
}

fn condition() -> impl Strategy<Value = Condition> {
    let name = prop_oneof!["[a-z]{1,3}", ".{0,3}", Just("not".to_owned())];
    let literal = prop_oneof![
        any::<i128>().prop_map(crate::condition::Literal::Int),
        any::<f64>().prop_filter("NaN is never equal", |float| !float.is_nan()).prop_map(Into::into),
        any::<bool>().prop_map(Into::into),
        ".{0,5}".prop_map(|text: String| text.into()),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Into::into),
    ];
    let relation = prop::sample::select(vec![
        Relation::Lt,
        Relation::Le,
        Relation::Gt,
        Relation::Ge,
        Relation::Eq,
        Relation::Ne,
    ]);
    let test = prop_oneof![
        (name.clone(), relation, literal.clone())
            .prop_map(|(name, relation, literal)| Condition::compare(&name, relation, literal)),
        (name.clone(), prop::collection::vec(literal, 0..4), any::<bool>())
            .prop_map(|(name, members, is_in)| Condition::member(&name, members, is_in)),
        (name.clone(), any::<bool>()).prop_map(|(name, is_null)| Condition::null(&name, is_null)),
        (name, ".{0,5}", any::<bool>())
            .prop_map(|(name, prefix, is_in)| Condition::prefix(&name, prefix, is_in)),
    ];
    let test = (test, any::<bool>()).prop_map(|(test, codes)| if codes { test.of_codes() } else { test });
    test.prop_recursive(5, 30, 4, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            inner.prop_map(Condition::not),
        ]
    })
}

proptest! {
    #[test]
    fn every_condition_parses_back_from_its_text(condition in condition()) {
        // A null test has no codes.
        let text = condition.to_string();
        let again: Condition = text.parse().map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(&again.to_string(), &text);
        prop_assert_eq!(again, condition);
    }

    #[test]
    fn no_text_panics(text in "[ -~é]{0,30}|(a|b|and|or|not|in|is|null|\\(|\\)|,|<|=|'|\"|1|\\.|e|-| |x'){0,12}") {
        if let Ok(condition) = text.parse::<Condition>() {
            prop_assert_eq!(condition.to_string().parse::<Condition>().unwrap().to_string(), condition.to_string());
        }
    }
}
