//! `smalti meta`: the metadata of an array or group.
//!
//! For programs, values are in the notation of cells of any number of values: numbers as lists, dates as stored integers.

use crate::args::{Global, MetaAction, MetaArgs, OpenTimes};
use crate::engine::{self, Opened};
use crate::failure::{Failure, Outcome};
use serde::de::DeserializeSeed;
use serde_json::{Map, Value as Json, json};
use smalti::json::{CellSeed, ParsedCell};
use smalti::{CellValNum, Datatype, Metadata, MetadataBuilder, Value};
use smalti_tools::formats::Table;
use smalti_tools::human;
use smalti_tools::report::metadata;
use std::io::Write;

pub(super) fn run(global: &Global, args: &MetaArgs) -> Outcome {
    match &args.action {
        None => list(global, args),
        Some(MetaAction::Get { key }) => get(global, args, key),
        Some(MetaAction::Put { key, datatype_or_value: text, value: None }) => {
            let value = inferred(text)?;
            change(global, args, ("put", key), |change| change.put(key, value))
        }
        Some(MetaAction::Put { key, datatype_or_value: datatype, value: Some(value) }) => {
            let datatype = Datatype::from_name(datatype).ok_or_else(|| {
                let names: Vec<&str> = Datatype::ALL.iter().map(|datatype| datatype.name()).collect();
                Failure::usage(format!("no datatype is called {datatype:?}; there are {}", names.join(", ")))
            })?;
            let value = Value::from_le_bytes(datatype, bytes_of(datatype, value)?)?;
            change(global, args, ("put", key), |change| change.put(key, value))
        }
        Some(MetaAction::Delete { key }) => {
            change(global, args, ("deleted", key), |change| change.delete(key))
        }
    }
}

fn change(
    global: &Global,
    args: &MetaArgs,
    (done, key): (&str, &str),
    edit: impl for<'a> FnOnce(MetadataBuilder<'a>) -> MetadataBuilder<'a>,
) -> Outcome {
    let opened = engine::open_any(global, &args.array, OpenTimes::default())?;
    let mut change = edit(match &opened {
        Opened::Array(array) => array.write_metadata(),
        Opened::Group(group) => group.write_metadata(),
    });
    if let Some(at) = engine::change_time(global, &args.array, args.at) {
        change = change.at(at);
    }
    let timestamp = change.commit()?;
    if global.json {
        println!("{}", json!({done: key, "timestamp": timestamp}));
    } else {
        println!("{done} {key}{}", human::at(timestamp));
    }
    Ok(())
}

fn metadata(global: &Global, args: &MetaArgs) -> Outcome<Metadata> {
    Ok(match engine::open_metadata(global, &args.array, OpenTimes::until(args.at))? {
        Opened::Array(array) => array.metadata()?,
        Opened::Group(group) => group.metadata()?,
    })
}

fn list(global: &Global, args: &MetaArgs) -> Outcome {
    let metadata = metadata(global, args)?;
    let mut out = std::io::stdout().lock();
    if global.json {
        let object: Map<String, Json> =
            metadata.iter().map(|(key, value)| (key.clone(), metadata::json(value))).collect();
        return Ok(writeln!(out, "{}", Json::Object(object))?);
    }
    let mut table =
        Table::new(["key", "type", "values", "value"].map(|title| (title.to_string(), title == "values")));
    for (key, value) in &metadata {
        table.push(vec![
            key.clone(),
            value.datatype().to_string(),
            value.len().to_string(),
            metadata::text(value),
        ]);
    }
    Ok(table.print(&mut out)?)
}

fn get(global: &Global, args: &MetaArgs, key: &str) -> Outcome {
    let metadata = metadata(global, args)?;
    let Some(value) = metadata.get(key) else {
        let keys: Vec<&str> = metadata.iter().map(|(key, _)| key.as_str()).collect();
        let known = if keys.is_empty() { "none".to_string() } else { keys.join(", ") };
        let error = smalti::Error::not_found(format!("there is no metadata {key:?}; there is {known}"));
        return Err(error.at_uri(&args.array).into());
    };
    let mut out = std::io::stdout().lock();
    if global.json {
        writeln!(out, "{}", metadata::json(value))?
    } else {
        writeln!(out, "{}", metadata::text(value))?
    }
    Ok(())
}

/// A value without a datatype: numbers and booleans, alone or in a list, are what they look like, all else is text.
fn inferred(text: &str) -> Outcome<Value> {
    let parsed = serde_json::from_str::<Json>(text);
    let items = match &parsed {
        Ok(Json::Array(items)) if !items.is_empty() => items.as_slice(),
        Ok(value) => std::slice::from_ref(value),
        Err(_) => &[],
    };
    let is = |test: fn(&Json) -> bool| !items.is_empty() && items.iter().all(test);
    let datatype = if is(Json::is_i64) {
        Datatype::Int64
    } else if is(Json::is_u64) {
        Datatype::UInt64
    } else if is(Json::is_number) {
        Datatype::Float64
    } else if is(Json::is_boolean) {
        Datatype::Bool
    } else {
        Datatype::StringUtf8
    };
    Ok(Value::from_le_bytes(datatype, bytes_of(datatype, text)?)?)
}

/// The bytes of a value in JSON, or of a text without quotes for text types.
fn bytes_of(datatype: Datatype, text: &str) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let parsed = serde_json::from_str::<Json>(text).and_then(|value| {
        let seed = CellSeed { datatype, cell_val_num: CellValNum::Var, out: &mut bytes };
        seed.deserialize(&value)
    });
    let is_text =
        matches!(datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8 | Datatype::GeomWkt);
    match parsed {
        Ok(ParsedCell::Value) => Ok(bytes),
        _ if is_text => Ok(text.as_bytes().to_vec()),
        Err(_) if datatype.is_datetime() || datatype.is_time() => {
            Ok(smalti::text::parse_date_time(datatype, text)?.to_le_bytes().to_vec())
        }
        _ => Err(Failure::invalid(format!("{text} is no value of type {datatype}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json_and_text_may_go_without_quotes() {
        assert_eq!(bytes_of(Datatype::Int16, "[1, -1]").unwrap(), [1, 0, 255, 255]);
        assert_eq!(bytes_of(Datatype::Int16, "-2").unwrap(), [254, 255]);
        assert_eq!(bytes_of(Datatype::StringUtf8, "\"a b\"").unwrap(), b"a b");
        assert_eq!(bytes_of(Datatype::StringUtf8, "a b").unwrap(), b"a b");
        assert_eq!(bytes_of(Datatype::StringUtf8, "12").unwrap(), b"12");
        assert_eq!(bytes_of(Datatype::Blob, "{\"hex\": \"00ff\"}").unwrap(), [0, 255]);
        assert_eq!(bytes_of(Datatype::DateTimeDay, "1970-01-02").unwrap(), 1_i64.to_le_bytes());
        let datatype = |text: &str| inferred(text).unwrap().datatype();
        assert_eq!([datatype("5"), datatype("-5"), datatype("[1, 2]")], [Datatype::Int64; 3]);
        assert_eq!(
            [datatype("18446744073709551615"), datatype("1.5")],
            [Datatype::UInt64, Datatype::Float64]
        );
        assert_eq!([datatype("[1, 2.5]"), datatype("true")], [Datatype::Float64, Datatype::Bool]);
        for text in ["m s-1", "[1, \"a\"]", "[]", "null", "{}", "2024-05-01", "True", ""] {
            assert_eq!(datatype(text), Datatype::StringUtf8, "{text}");
            assert_eq!(inferred(text).unwrap().as_str(), Some(text));
        }
        assert_eq!(inferred("\"5\"").unwrap().as_str(), Some("5"));
        assert!(bytes_of(Datatype::Int16, "x").is_err());
        assert!(bytes_of(Datatype::Int16, "null").is_err());
    }
}
