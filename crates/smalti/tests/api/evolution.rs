//! Enumerations, current domains, and schemas that change.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt8Type};
use arrow_array::{Array as _, ArrayRef, DictionaryArray, Int64Array, StringArray};
use smalti::ErrorKind;
use smalti::arrow::{ArrowForm, ENUMERATION_KEY};
use smalti::{Array, Dimension, SchemaChange, prelude::*};
use std::sync::Arc;

fn colored(name: &str) -> Array {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=99))
        .enumeration(Enumeration::new("colors", ["red", "green", "blue"]))
        .attribute(Attribute::of::<u8>("color").enumeration("colors").nullable())
        .build()
        .unwrap();
    Array::create_with(&crate::uri(name), &schema, &crate::options()).unwrap()
}

/// The labels of the cells as a read gives them.
fn labels(array: &Array) -> Vec<Option<String>> {
    let batch = array.read().select(["color"]).collect().unwrap();
    let dictionary = batch.column(0).as_dictionary::<UInt8Type>();
    let values = dictionary.values().as_string::<i64>();
    let keys = dictionary.keys().iter();
    keys.map(|key| key.map(|key| values.value(key.into()).to_owned())).collect()
}

fn some(labels: &[&str]) -> Vec<Option<String>> {
    labels.iter().map(|label| Some((*label).to_owned())).collect()
}

#[test]
fn labels_go_in_and_come_out_in_every_form() {
    let array = colored("label-forms");
    array.write().column("x", &[1, 2]).column("color", &["blue", "red"]).commit().unwrap();
    array.write().column("x", &[3]).column("color", &[1_u8]).commit().unwrap();
    array.write().column("x", &[4]).column("color", &[None::<&str>]).commit().unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("green"), None]));
    array.write().column("x", &[5, 6]).column("color", text).commit().unwrap();
    let dictionary: DictionaryArray<Int32Type> = vec!["blue", "blue", "red"].into_iter().collect();
    array.write().column("x", &[7, 8, 9]).column("color", Arc::new(dictionary) as ArrayRef).commit().unwrap();
    let codes: ArrayRef = Arc::new(Int64Array::from(vec![2]));
    array.write().column("x", &[10]).column("color", codes).commit().unwrap();
    let mut expected = some(&["blue", "red", "green", "", "green", "", "blue", "blue", "red", "blue"]);
    (expected[3], expected[5]) = (None, None);
    assert_eq!(labels(&array), expected);
    let plain = array.read().arrow_form(ArrowForm::default().codes_as_integers(true)).collect().unwrap();
    assert_eq!(plain.column(1).as_primitive::<UInt8Type>().value(0), 2);
    let schema = array.arrow_schema().unwrap();
    assert_eq!(schema.field(1).metadata()[ENUMERATION_KEY], "colors");
}

#[test]
fn a_dictionary_with_labels_that_no_cell_uses_is_taken() {
    let array = colored("unused-labels");
    let keys = arrow_array::Int32Array::from(vec![Some(1), None, Some(1)]);
    let values = Arc::new(StringArray::from(vec!["unknown", "green"]));
    let dictionary = DictionaryArray::<Int32Type>::try_new(keys, values).unwrap();
    array.write().column("x", &[1, 2, 3]).column("color", Arc::new(dictionary) as ArrayRef).commit().unwrap();
    assert_eq!(labels(&array), [Some("green".to_owned()), None, Some("green".to_owned())]);
}

#[test]
fn what_is_no_label_and_no_code_is_refused_by_name() {
    let array = colored("no-label");
    let write = |column: &[u8]| array.write().column("x", &[1]).column("color", column).commit();
    let error = write(&[3]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("cell 0") && error.message().contains("codes from 0 to 2"), "{error}");
    // The fill value is what reads of unwritten cells give; it may be written back.
    write(&[255]).unwrap();
    let error = array.write().column("x", &[1]).column("color", &["pink"]).commit().unwrap_err();
    assert!(error.message().contains("\"pink\" in cell 0") && error.message().contains("extend"), "{error}");
    let unknown = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9))
        .attribute(Attribute::of::<u8>("c").enumeration("sizes"))
        .build();
    assert!(unknown.unwrap_err().message().contains("sizes"));
}

#[test]
fn enumerations_of_numbers_and_pairs_are_codes_to_integers() {
    let schema = Schema::dense()
        .dimension(Dimension::new("x", 0..=3))
        .enumeration(Enumeration::new("years", [1970_i64, 2000]).datatype(Datatype::DateTimeYear).ordered())
        .enumeration(Enumeration::new("pairs", [[1.0, 2.0], [3.0, 4.0]]))
        .attribute(Attribute::of::<i8>("year").enumeration("years"))
        .attribute(Attribute::of::<i16>("pair").enumeration("pairs"))
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("number-labels"), &schema, &crate::options()).unwrap();
    let pairs = [[3.0, 4.0], [1.0, 2.0]];
    array.write().range("x", 0..=1).column("year", &[1_i8, 0]).column("pair", &pairs).commit().unwrap();
    let request = smalti::ReadRequest { fields: vec!["pair".into()], ..Default::default() };
    let batch = array.read_raw(&request).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.columns[0].data.values::<i16>(), [1, 0, i16::MIN, i16::MIN]);
    // Cells that nobody wrote have no label.
    let batch = array.read().select(["year"]).collect().unwrap();
    assert_eq!(batch.column(0).null_count(), 2);
    assert!(array.enumeration("years").unwrap().is_ordered);
}

#[test]
fn schemas_and_enumerations_are_those_of_their_time() {
    let array = colored("evolves");
    array.write().column("x", &[1]).column("color", &["blue"]).at(100).commit().unwrap();
    let first = array.evolve().extend_enumeration("colors", ["pink", ""]).commit().unwrap();
    array
        .evolve()
        .add_attribute(Attribute::of::<i32>("size").fill(7))
        .add_enumeration(Enumeration::new("kinds", ["a"]))
        .at(first + 1000)
        .commit()
        .unwrap();
    array
        .write()
        .column("x", &[2])
        .column("color", &["pink"])
        .column("size", &[3])
        .at(first + 2000)
        .commit()
        .unwrap();
    assert_eq!(labels(&array), some(&["blue", "pink"]));
    let sizes = array.read().select(["size"]).collect().unwrap();
    assert_eq!(sizes.column(0).as_primitive::<Int32Type>().values(), &[7, 3]);
    let at = |ms| Array::open_with(&crate::uri("evolves"), &crate::options().at(ms)).unwrap();
    assert_eq!(at(first - 1).enumeration("colors").unwrap().element_count(), 3);
    assert_eq!(at(first).enumeration("colors").unwrap().element_count(), 5);
    assert!(at(first).schema().attribute("size").is_none());
    assert_eq!(labels(&at(first)), some(&["blue"]));
    array.evolve().drop_attribute("color").at(first + 3000).commit().unwrap();
    array.evolve().drop_enumeration("colors").at(first + 4000).commit().unwrap();
    assert_eq!(array.enumeration("colors").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(labels(&at(first + 2000)), some(&["blue", "pink"]));
}

#[test]
fn evolutions_that_break_a_rule_change_nothing() {
    let array = colored("refused-evolutions");
    let schema = array.schema().clone();
    let size = || Attribute::of::<i32>("size");
    let evolve = || array.evolve();
    for (evolution, words) in [
        (evolve(), "changes nothing"),
        (evolve().drop_attribute("nothing"), "\"nothing\""),
        (evolve().drop_attribute("x"), "dimension"),
        (evolve().add_attribute(Attribute::of::<i32>("color")), "\"color\""),
        (evolve().add_attribute(size()).drop_attribute("size"), "twice"),
        (evolve().add_attribute(Attribute::of::<i32>("__size")), "reserved"),
        (evolve().add_attribute(size().enumeration("sizes")), "sizes"),
        (evolve().add_attribute(Attribute::of::<f32>("size").enumeration("colors")), "integer"),
        (evolve().add_enumeration(Enumeration::new("colors", ["a"])), "already"),
        (evolve().add_enumeration(Enumeration::new("kinds", ["a", "a"])), "twice"),
        (evolve().extend_enumeration("kinds", ["a"]), "kinds"),
        (evolve().extend_enumeration("colors", ["red"]), "twice"),
        (evolve().extend_enumeration("colors", [""; 0]), "nothing"),
        (evolve().drop_enumeration("colors"), "in use"),
        (evolve().drop_enumeration("kinds"), "\"kinds\""),
        (evolve().extend_enumeration("colors", (0..252).map(|n| n.to_string())), "room for 254"),
        (evolve().expand_current_domain("x", 0..=100), "leaves"),
        (evolve().expand_current_domain("y", 0..=9), "\"y\""),
        (evolve().add_attribute(size()).at(1), "later"),
    ] {
        let error = evolution.commit().unwrap_err();
        assert!(error.message().contains(words), "{words}: {error}");
    }
    assert_eq!(*array.reopen().unwrap().schema(), *schema);
    let dense = crate::line("refused-dense", 4, Attribute::of::<i32>("a"));
    assert!(dense.evolve().drop_attribute("a").commit().unwrap_err().message().contains("attribute"));
}

#[test]
fn a_schema_of_the_past_is_seen_by_reads_of_its_time_alone() {
    let array = colored("past-schema");
    let schema = array.schema().clone();
    let mut size = schema.attributes[0].clone();
    (size.name, size.enumeration) = ("size".into(), None);
    let change = SchemaChange {
        add_attributes: vec![size],
        at: Some(1),
        may_be_past: true,
        ..SchemaChange::default()
    };
    assert_eq!(array.evolve_raw(&change).unwrap(), 1);
    assert_eq!(*array.reopen().unwrap().schema(), *schema);
    let then = Array::open_with(&crate::uri("past-schema"), &crate::options().at(1)).unwrap();
    assert!(then.schema().attribute("size").is_some());
}

#[test]
fn old_format_versions_refuse_what_they_cannot_hold() {
    let line = |version: u32| {
        Schema::sparse()
            .dimension(Dimension::new("x", 0..=9))
            .attribute(Attribute::of::<u8>("a"))
            .format_version(version)
    };
    let colors = || Enumeration::new("colors", ["red"]);
    let create = |name: &str, schema: smalti::SchemaBuilder| {
        Array::create_with(&crate::uri(name), &schema.build()?, &crate::options())
    };
    let error = create("old-enumeration", line(19).enumeration(colors())).unwrap_err();
    assert!(error.to_string().contains("enumerations"), "{error}");
    let error = create("old-domain", line(21).current_domain("x", 0..=5)).unwrap_err();
    assert!(error.to_string().contains("current_domain"), "{error}");
    let error = create("old-label", line(17).label(Label::of::<f64>("l", "x"))).unwrap_err();
    assert!(error.to_string().contains("dimension_labels"), "{error}");
    let array = create("old-evolves", line(12)).unwrap();
    assert!(array.evolve().add_enumeration(colors()).commit().is_err());
    array.evolve().add_attribute(Attribute::of::<i32>("b")).commit().unwrap();
    assert_eq!(array.schema().version.number(), 12);
}

#[test]
fn a_current_domain_bounds_writes_and_grows() {
    let schema = Schema::dense()
        .dimension(Dimension::new("x", 0..=99).tile(4))
        .attribute(Attribute::of::<i32>("a"))
        .current_domain("x", 0..=5)
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("dense-current"), &schema, &crate::options()).unwrap();
    array.write().column("a", &[1, 2, 3, 4, 5, 6]).commit().unwrap();
    let error = array.write().range("x", 5..=6).column("a", &[7, 8]).commit().unwrap_err();
    assert!(error.message().contains("current domain 0:5"), "{error}");
    let cells = |array: &Array| array.read().to_ndarray::<i32>("a").unwrap().into_raw_vec_and_offset().0;
    assert_eq!(cells(&array), [1, 2, 3, 4, 5, 6]);
    let error = array.evolve().expand_current_domain("x", 1..=9).commit().unwrap_err();
    assert!(error.message().contains("only grow"), "{error}");
    array.evolve().expand_current_domain("x", ..8).commit().unwrap();
    array.write().range("x", 6..=7).column("a", &[7, 8]).commit().unwrap();
    assert_eq!(cells(&array), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn cells_outside_a_current_domain_that_comes_later_are_read_at_earlier_times() {
    let schema = Schema::sparse()
        .dimension(Dimension::string("s"))
        .dimension(Dimension::new("f", 0.0..=10.0))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("sparse-current"), &schema, &crate::options()).unwrap();
    let write = |s: &[&str], f: &[f64], a: &[i32]| {
        array.write().column("s", s).column("f", f).column("a", a).commit()
    };
    write(&["a", "m", "z"], &[0.0, 1.0, 2.0], &[1, 2, 3]).unwrap();
    let error = array.evolve().expand_current_domain("f", 0.0..=5.0).commit().unwrap_err();
    assert!(error.message().contains("\"s\""), "{error}");
    let time = array
        .evolve()
        .expand_current_domain("f", 0.0..=5.0)
        .expand_current_domain("s", "a"..="n")
        .commit()
        .unwrap();
    let cells = |array: &Array| {
        let batch = array.read().select(["a"]).collect().unwrap();
        batch.column(0).as_primitive::<Int32Type>().values().to_vec()
    };
    assert_eq!(cells(&array), [1, 2]);
    let count = |read: smalti::ReadBuilder| read.collect().unwrap().num_rows();
    assert_eq!(count(array.read().range("s", "b"..)), 1);
    assert_eq!(count(array.read().range("s", "o"..="z")), 0);
    let then = Array::open_with(&crate::uri("sparse-current"), &crate::options().at(time - 1)).unwrap();
    assert_eq!(cells(&then), [1, 2, 3]);
    for (s, f, words) in [("o", 1.0, "current domain \"a\":\"n\""), ("a", 5.5, "current domain 0:5")] {
        let error = write(&[s], &[f], &[1]).unwrap_err();
        assert!(error.message().contains(words) && error.message().contains("cell 0"), "{error}");
    }
}

#[test]
fn an_encrypted_array_evolves_under_its_key() {
    let key = EncryptionKey::new(&[7; 32]).unwrap();
    let options = crate::options().key(key);
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=9))
        .enumeration(Enumeration::new("colors", ["red"]))
        .attribute(Attribute::of::<u8>("a").enumeration("colors"))
        .label(Label::ascii("name", "x"))
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("encrypted-evolution"), &schema, &options).unwrap();
    array.evolve().extend_enumeration("colors", ["blue"]).commit().unwrap();
    array.write().column("x", &[1]).column("a", &["blue"]).commit().unwrap();
    let again = Array::open_with(&crate::uri("encrypted-evolution"), &options).unwrap();
    assert_eq!(again.enumeration("colors").unwrap().labels()[1].as_str(), Some("blue"));
    assert!(again.label("name").is_ok());
}

#[test]
fn a_delete_by_an_attribute_that_came_and_went_holds_on() {
    let schema = Schema::sparse()
        .dimension(Dimension::new("x", 0..=99))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("came-and-went"), &schema, &crate::options()).unwrap();
    let first = array.write().column("x", &[1, 2]).column("a", &[10, 20]).commit().unwrap();
    let older = array.evolve().add_attribute(Attribute::of::<i32>("b")).commit().unwrap();
    let deleting = Array::open_with(&crate::uri("came-and-went"), &crate::options()).unwrap();
    deleting.delete(field("b").gt(5)).commit().unwrap();
    let newer = deleting.evolve().drop_attribute("b").commit().unwrap();
    assert!(first.timestamp() < older && older < newer);
    // What stays is known to have a small `b`: no test of `b` holds for cells that lack it.
    let array = Array::open_with(&crate::uri("came-and-went"), &crate::options()).unwrap();
    assert_eq!(array.read().collect().unwrap().num_rows(), 0);
    array.write().column("x", &[3]).column("a", &[30]).commit().unwrap();
    assert_eq!(array.read().collect().unwrap().column(0).as_primitive::<Int32Type>().values(), &[3]);
    // Nothing that the delete could ask is in this range of times.
    let later = Array::open_with(&crate::uri("came-and-went"), &crate::options().since(older)).unwrap();
    assert_eq!(later.read().collect().unwrap().num_rows(), 1);
}
