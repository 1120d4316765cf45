//! What a schema makes of conditions: values in the fields' types, labels, and what is refused.

use super::{attribute, bind, enumerated, enumeration, holding, numbers, schema, texts};
use crate::condition::{Absent, Condition, Relation, nearest_labels};
use smalti_format::ArraySchema;
use smalti_space::UNSTOPPED;
use smalti_tile::ColumnRef;
use smalti_types::{CellValNum, Datatype, ErrorKind};
use std::num::NonZeroU32;

fn all_types() -> ArraySchema {
    use Datatype::*;
    let one = CellValNum::ONE;
    let three = CellValNum::Fixed(NonZeroU32::new(3).unwrap());
    schema(vec![
        attribute("byte", UInt8, one, true),
        attribute("int", Int64, one, false),
        attribute("float", Float32, one, false),
        attribute("truth", Bool, one, false),
        attribute("day", DateTimeDay, one, false),
        attribute("time", TimeSec, one, false),
        attribute("text", StringUtf8, CellValNum::Var, true),
        attribute("abc", StringAscii, three, false),
        attribute("blob", Blob, CellValNum::Var, false),
        attribute("wide", StringUtf16, CellValNum::Var, true),
        attribute("point", Float64, three, true),
        attribute("list", Int32, CellValNum::Var, false),
        enumerated("color", UInt8, "colors"),
        enumerated("size", Int8, "sizes"),
        enumerated("prime", UInt16, "primes"),
        enumerated("lost", UInt16, "nowhere"),
    ])
}

#[test]
fn what_does_not_fit_is_refused_before_any_data_is_read() {
    let schema = all_types();
    for (text, words) in [
        ("nothing = 1", "there is no field \"nothing\" for the condition; the fields are x, byte, int"),
        ("byte = 256", "field \"byte\": 256 is no value of type UINT8, which has 0 to 255"),
        ("int in (1, 9223372036854775808)", "which has -9223372036854775808 to 9223372036854775807"),
        ("int = 1.5", "1.5 is no value of type INT64; write a whole number"),
        ("int = '1'", "write numbers without quotes"),
        ("int = true", "write a number"),
        ("int < nan", "nan is no value of type INT64"),
        ("int = x'00'", "x'00' is no value of type INT64"),
        ("float < nan", "nan is neither less nor greater"),
        ("float < 1e300", "1e300 is no value of type FLOAT32, which has -3.4028235e38 to"),
        ("float = 'a'", "write numbers without quotes"),
        ("truth = 2", "write true or false"),
        ("truth = 'true'", "without quotes"),
        ("truth = 1.0", "write true or false"),
        ("day = '2021-02-29'", "no such day"),
        ("day = '2021-02-28T01'", "start of a day"),
        ("text = 5", "write text in single quotes"),
        ("abc = 'ab'", "'ab' has 2 bytes, and every cell 3"),
        ("abc in ('abc', '')", "every cell 3"),
        ("blob < x'00'", "values of type BLOB have no order"),
        ("wide = 'a'", "text of type STRING_UTF16 cannot be compared"),
        ("point = 1", "several values of type FLOAT64 a cell cannot be compared"),
        ("list in ()", "several values of type INT32"),
        ("color < 'red'", "labels of enumeration \"colors\" have no order"),
        ("int like 'a%'", "field \"int\": like is for text, and the field is of type INT64"),
        ("blob like 'a%'", "like is for text"),
        ("prime like 'a%'", "the labels of enumeration \"primes\" are of type INT32"),
        ("code(color) like 'r%'", "like is for text"),
        ("missing like 'r%'", "there is no field \"missing\""),
        ("int and x > 5", "only booleans stand alone"),
        ("color = 1.5", "1.5 is no value of type STRING_ASCII"),
        ("code(color) = 'red'", "write numbers without quotes"),
        ("prime = 'two'", "enumeration \"primes\": 'two' is no value of type INT32"),
        ("lost = 'a'", "no enumeration \"nowhere\""),
    ] {
        let error = bind(&schema, text).unwrap_err();
        assert!(error.message().contains(words), "{text}: {error}");
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::NotFound), "{text}");
    }
    let mut dense = schema;
    dense.array_type = smalti_types::ArrayType::Dense;
    assert!(bind(&dense, "__timestamps > 5").unwrap_err().message().contains("no timestamps"));
}

/// The cells of a column of one field that fulfil a condition.
fn found<T: bytemuck::Pod>(text: &str, cells: &[T]) -> Vec<usize> {
    let bound = bind(&all_types(), text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let validity = vec![1; cells.len()];
    let column = numbers(cells).map(|column| column.with_validity(&validity));
    holding(&bound, &[column], cells.len())
}

#[test]
fn numbers_beyond_a_type_compare_as_mathematics_says() {
    let bytes = [0u8, 1, 200, 255];
    for (text, expected) in [
        ("byte < 300", vec![0, 1, 2, 3]),
        ("byte <= 1e300", vec![0, 1, 2, 3]),
        ("byte < inf", vec![0, 1, 2, 3]),
        ("byte > 300", vec![]),
        ("byte >= 256", vec![]),
        ("byte < -1", vec![]),
        ("byte <= -0.5", vec![]),
        ("byte > -5", vec![0, 1, 2, 3]),
        ("byte >= 0.5", vec![1, 2, 3]),
        ("byte < 0.5", vec![0]),
        ("byte <= 200.0", vec![0, 1, 2]),
        ("not byte > 300", vec![0, 1, 2, 3]),
        ("byte in (1, 255)", vec![1, 3]),
        ("byte not in ()", vec![0, 1, 2, 3]),
        ("byte in ()", vec![]),
    ] {
        assert_eq!(found(text, &bytes), expected, "{text}");
    }
    assert_eq!(found("int = 9007199254740993", &[9007199254740992i64, 9007199254740993]), [1]);
    assert_eq!(found("x > 5", &[5i32, 6]), [1]);
    assert_eq!(found("__timestamps <= 5", &[5u64, 6]), [0]);
}

#[test]
fn a_boolean_stands_alone_and_labels_are_found_by_their_start() {
    assert_eq!(found("truth", &[0u8, 1]), [1]);
    assert_eq!(found("not truth", &[0u8, 1]), [0]);
    assert_eq!(found("truth and not truth", &[0u8, 1]), [0usize; 0]);
    assert_eq!(found("byte between 1 and 200 and byte <> 2", &[0u8, 1, 2, 200, 201]), [1, 3]);
    assert_eq!(found("byte not between 1 and 200", &[0u8, 1, 2, 200, 201]), [0, 4]);
    assert_eq!(found("day between '1970-01-02' and '1970-01-03'", &[0i64, 1, 2, 3]), [1, 2]);
    assert_eq!(found("color like 'gr%'", &[0u8, 1, 2]), [1]);
    assert_eq!(found("color not like 'gr%'", &[0u8, 1, 2]), [0, 2]);
    assert_eq!(found("color like '%'", &[0u8, 1, 2]), [0, 1, 2]);
    assert_eq!(found("color in ['green', 'red']", &[0u8, 1, 2]), [0, 1]);
}

#[test]
fn labels_that_an_enumeration_lacks_are_told_with_the_nearest() {
    let bound = bind(&all_types(), "color = 'gren' or color in ('red', 'bleu') and size != 'tiny'").unwrap();
    let mut unknown: Vec<String> =
        bound.unknown_labels().iter().map(|label| format!("{} {}", label.field, label.label)).collect();
    unknown.sort();
    assert_eq!(unknown, ["color 'bleu'", "color 'gren'", "size 'tiny'"]);
    let colors = enumeration("colors").unwrap();
    assert_eq!(nearest_labels(&colors, "gren"), ["green"]);
    assert_eq!(nearest_labels(&colors, "bleu"), ["blue"]);
    assert_eq!(nearest_labels(&colors, "reddish"), ["red"]);
    assert_eq!(nearest_labels(&colors, "BLUE"), ["blue"]);
    assert!(nearest_labels(&colors, "tangerine").is_empty());
    assert!(nearest_labels(&colors, &"x".repeat(1 << 20)).is_empty());
}

#[test]
fn floats_compare_as_the_standard_says_and_sets_by_bits() {
    let floats = [-0.0f32, 0.0, 0.1, f32::NAN, f32::INFINITY];
    for (text, expected) in [
        ("float = 0", vec![0, 1]),
        ("float != 0", vec![2, 3, 4]),
        ("float in (0.0)", vec![1]),
        ("float not in (0.0)", vec![0, 2, 3, 4]),
        ("float in (nan)", vec![3]),
        ("float = 0.1", vec![2]),
        ("float < inf", vec![0, 1, 2]),
        ("float = nan", vec![]),
        ("not float < 5", vec![4]),
        ("not not float < 5", vec![0, 1, 2]),
    ] {
        assert_eq!(found(text, &floats), expected, "{text}");
    }
}

#[test]
fn dates_times_and_truths_are_written_as_people_write_them() {
    assert_eq!(found("day >= '1970-01-03' or day = 0", &[0i64, 1, 2, 3]), [0, 2, 3]);
    assert_eq!(found("time in ('00:01', 5)", &[5i64, 60, 61]), [0, 1]);
    assert_eq!(found("truth = true", &[0u8, 1]), [1]);
    assert_eq!(found("truth != 1", &[0u8, 1]), [0]);
}

#[test]
fn text_and_bytes_compare_byte_by_byte() {
    let bound = bind(&all_types(), "text > 'b' or text = 'a' or text in (x'ff', '')").unwrap();
    let (data, offsets) = texts(&[&b"a"[..], b"b", "é".as_bytes(), b"", b"\xff", b"aa"]);
    let column = ColumnRef::var(&data, &offsets).with_validity(&[1, 1, 1, 1, 0, 1]);
    assert_eq!(holding(&bound, &[Some(column)], 6), [0, 2, 3]);
    assert_eq!(found("abc > 'ab'", &[*b"ab\0", *b"ab ", *b"ABC"]), [0, 1]);
    let bound = bind(&all_types(), "blob = x'00' or blob in ('a')").unwrap();
    let (data, offsets) = texts(&[&b"a"[..], b"\0"]);
    assert_eq!(holding(&bound, &[Some(ColumnRef::var(&data, &offsets))], 2), [0, 1]);
}

#[test]
fn labels_stand_for_their_codes() {
    let codes = [0u8, 1, 2, 9];
    for (text, expected) in [
        ("color = 'green'", vec![1]),
        ("color != 'green'", vec![0, 2, 3]),
        ("color = 'pink'", vec![]),
        ("color != 'pink'", vec![0, 1, 2, 3]),
        ("not color = 'pink'", vec![0, 1, 2, 3]),
        ("color in ('blue', 'pink', 'red')", vec![0, 2]),
        ("color not in ('pink')", vec![0, 1, 2, 3]),
        ("color > 1", vec![2, 3]),
        ("code(color) in (1, 9)", vec![1, 3]),
        ("size > 'small'", vec![1, 2, 3]),
        ("size < 'tiny' or size > 'tiny'", vec![]),
    ] {
        assert_eq!(found(text, &codes), expected, "{text}");
    }
    assert_eq!(found("prime in (5, 7, 2)", &[0u16, 1, 2]), [0, 2]);
    assert_eq!(found("prime = 5", &[0u16, 1, 2]), [2]);
    assert_eq!(found("code(prime) = 1", &[0u16, 1, 2]), [1]);
}

#[test]
fn null_cells_fulfil_null_tests_alone() {
    let validity = [1, 0, 1];
    for (text, expected) in [
        ("byte is null", vec![1]),
        ("byte is not null", vec![0, 2]),
        ("byte != 5", vec![0]),
        ("not byte != 5", vec![2]),
        ("byte not in (7)", vec![0, 2]),
        ("byte < 300", vec![0, 2]),
        ("byte > 0 or byte is null", vec![1, 2]),
        ("not (byte > 0 or byte is null)", vec![0]),
    ] {
        let bound = bind(&all_types(), text).unwrap();
        let column = ColumnRef::fixed(&[0, 5, 5]).with_validity(&validity);
        assert_eq!(holding(&bound, &[Some(column)], 3), expected, "{text}");
    }
    assert_eq!(found("int is null", &[1i64]), Vec::<usize>::new());
    assert_eq!(found("not int is null", &[1i64]), [0]);
    let bound = bind(&all_types(), "wide is null and point is not null").unwrap();
    let wide = ColumnRef::var(&[], &[0, 0, 0]).with_validity(&[0, 1]);
    let points = vec![0; 48];
    let point = ColumnRef::fixed(&points).with_validity(&[1, 1]);
    assert_eq!(holding(&bound, &[Some(wide), Some(point)], 2), [0]);
}

#[test]
fn cells_of_fragments_that_lack_a_field_have_its_fill_value() {
    let mut schema = all_types();
    schema.attributes[1].fill_value = 7i64.to_le_bytes().to_vec();
    let ints = |text: &str, absent| {
        let bound = bind(&schema, text).unwrap().with_absent(absent);
        let x = [1i32, 2];
        let columns: Vec<_> =
            bound.fields().iter().map(|field| if field.name == "x" { numbers(&x) } else { None }).collect();
        holding(&bound, &columns, 2)
    };
    for (text, filled, fails) in [
        ("int = 7", vec![0, 1], vec![]),
        ("int != 7", vec![], vec![]),
        ("x = 1 or int = 0", vec![0], vec![]),
        ("int = 0 or x = 1", vec![0], vec![0]),
        ("x = 1 and int = 7", vec![0], vec![]),
        ("x = 1 or (int = 7 and x = 2)", vec![0, 1], vec![0]),
        ("byte is null", vec![0, 1], vec![]),
        ("byte = 255", vec![], vec![]),
    ] {
        assert_eq!(ints(text, Absent::Filled), filled, "{text}");
        assert_eq!(ints(text, Absent::Fails), fails, "{text}");
    }
}

#[test]
fn each_field_is_wanted_once() {
    let bound = bind(&all_types(), "x > 1 and (int = 2 or x < 9) and not int in (5)").unwrap();
    assert_eq!(bound.fields().iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["x", "int"]);
    assert!(bound.evaluate(&[numbers(&[1i32])], 1, UNSTOPPED).is_err());
}

#[test]
fn short_columns_and_wrong_offsets_are_corrupt() {
    let bound = bind(&all_types(), "int = 2").unwrap();
    assert_eq!(bound.evaluate(&[numbers(&[1i64])], 2, UNSTOPPED).unwrap_err().kind(), ErrorKind::Corrupt);
    let bound = bind(&all_types(), "text = 'a'").unwrap();
    for (offsets, validity) in
        [(&[0, 9][..], &[1u8][..]), (&[1, 0], &[1]), (&[0], &[1]), (&[0, u64::MAX], &[1]), (&[0, 1], &[])]
    {
        let column = ColumnRef::var(b"a", offsets).with_validity(validity);
        assert_eq!(bound.evaluate(&[Some(column)], 1, UNSTOPPED).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    assert!(bound.evaluate(&[Some(ColumnRef::var(b"a", &[0, 1]))], 1, UNSTOPPED).is_err());
}

#[test]
fn conditions_beyond_the_limits_are_refused_and_deep_negations_are_not_recursive() {
    let test = |idx: u32| Condition::compare("x", Relation::Eq, idx);
    let nested = |depth: u32| {
        (0..depth)
            .map(test)
            .reduce(|all, one| if all.nodes.len() % 4 == 1 { all.or(one) } else { all.and(one) })
    };
    let bind = |condition: Option<Condition>| {
        let condition = condition.unwrap();
        super::BoundCondition::bind(&condition, &all_types(), &super::enumeration)
    };
    let bound = bind(nested(1000)).unwrap();
    assert_eq!(holding(&bound, &[numbers(&[5i32, 2000])], 2).len(), 0);
    assert!(bind(nested(5000)).unwrap_err().message().contains("nested deeper"));
    let negated = (0..100_001).fold(test(1), |condition, _| !condition);
    assert_eq!(holding(&bind(Some(negated)).unwrap(), &[numbers(&[1i32, 2])], 2), [1]);
    let wide = (0..200_000).map(test).reduce(Condition::or);
    assert_eq!(holding(&bind(wide).unwrap(), &[numbers(&[199_999i32, 200_000])], 2), [0]);
}
