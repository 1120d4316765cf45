//! `smalti evolve`: another schema for an array.

use crate::args::{EvolveArgs, Global, OpenTimes};
use crate::engine;
use crate::failure::{Failure, Outcome};
use serde::de::DeserializeSeed;
use serde_json::Value;
use smalti::format::Enumeration;
use smalti::json::{CellSeed, ParsedCell, attribute_from_json, enumeration_from_json};
use smalti::{Array, CellValNum, Datatype, SchemaChange};
use smalti_tools::{human, ranges};

pub(super) fn run(global: &Global, args: &EvolveArgs) -> Outcome {
    let asked = [
        &args.add,
        &args.drop,
        &args.add_enumeration,
        &args.extend_enumeration,
        &args.drop_enumeration,
        &args.current_domain,
    ];
    if asked.iter().all(|list| list.is_empty()) {
        return Err(Failure::usage("say what to change; `smalti evolve --help` lists what can be"));
    }
    let array = engine::open(global, &args.array, OpenTimes::default())?;
    let change = change(global, &array, args)?;
    let time = array.evolve_raw(&change)?;
    if global.json {
        println!("{}", serde_json::json!({"evolved": args.array, "timestamp": time}));
    } else {
        println!("evolved {}, from {} on", args.array, human::timestamp(time));
    }
    Ok(())
}

fn change(global: &Global, array: &Array, args: &EvolveArgs) -> Outcome<SchemaChange> {
    let schema = array.schema();
    let add = |text: &String| {
        attribute_from_json(text).map_err(|error| Failure::usage(format!("--add: {}", error.message())))
    };
    Ok(SchemaChange {
        add_attributes: args.add.iter().map(add).collect::<Outcome<_>>()?,
        drop_attributes: args.drop.clone(),
        add_enumerations: args
            .add_enumeration
            .iter()
            .map(|text| new_enumeration(text))
            .collect::<Outcome<_>>()?,
        extend_enumerations: args
            .extend_enumeration
            .iter()
            .map(|text| extension(array, text))
            .collect::<Outcome<_>>()?,
        drop_enumerations: args.drop_enumeration.clone(),
        current_domain: ranges::current_domain_sides(&schema, &args.current_domain)?,
        at: engine::change_time(global, &args.array, args.at),
        ..SchemaChange::default()
    })
}

/// An enumeration in JSON, or its name and its labels as text.
fn new_enumeration(text: &str) -> Outcome<Enumeration> {
    let wrong = |problem: &str| Failure::usage(format!("--add-enumeration: {problem}"));
    if text.trim_start().starts_with('{') {
        return enumeration_from_json(text).map_err(|error| wrong(error.message()));
    }
    let (name, labels) = text
        .split_once('=')
        .ok_or_else(|| wrong(&format!("{text}: write it like kinds=town,city, or as JSON")))?;
    let mut enumeration = Enumeration::new(name, Datatype::StringUtf8, CellValNum::Var);
    push_labels(&mut enumeration, labels).map_err(|problem| wrong(&format!("{text}: {problem}")))?;
    Ok(enumeration)
}

/// The name of an enumeration of the array, and the bytes of labels in its type.
fn extension(array: &Array, text: &str) -> Outcome<(String, Vec<Vec<u8>>)> {
    let wrong = |problem: &str| Failure::usage(format!("--extend-enumeration {text}: {problem}"));
    // Names may hold `=` themselves: the longest that the array has wins.
    let schema = array.schema();
    let known = schema.enumerations.iter().map(|(name, _)| name.as_str());
    let known = known.filter(|name| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')));
    let name = known.max_by_key(|name| name.len()).or_else(|| text.split_once('=').map(|(name, _)| name));
    let name = name.ok_or_else(|| wrong("write it like kinds=village,hamlet"))?;
    let own = array.enumeration(name)?;
    let mut more = Enumeration::new(name, own.datatype, own.cell_val_num);
    push_labels(&mut more, &text[name.len() + 1..]).map_err(|problem| wrong(&problem))?;
    Ok((name.to_owned(), more.elements().map(<[u8]>::to_vec).collect()))
}

/// Labels between commas, or a JSON list of them.
fn push_labels(enumeration: &mut Enumeration, text: &str) -> Result<(), String> {
    let labels: Vec<Value> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|error| format!("no JSON list: {error}"))?
    } else {
        // Numbers and booleans are their own JSON, text is not.
        let plain = |label: &str| match enumeration.datatype.is_bytes() {
            true => Value::from(label),
            false => serde_json::from_str(label).unwrap_or_else(|_| Value::from(label)),
        };
        text.split(',').map(plain).collect()
    };
    for label in labels {
        let mut bytes = Vec::new();
        let (datatype, cell_val_num) = (enumeration.datatype, enumeration.cell_val_num);
        let parsed = CellSeed { datatype, cell_val_num, out: &mut bytes }.deserialize(&label);
        match parsed.map_err(|error| format!("{label}: {error}"))? {
            ParsedCell::Value => enumeration.push(&bytes).map_err(|error| error.message().to_owned())?,
            ParsedCell::Null | ParsedCell::Code(_) => return Err(format!("{label} is no label")),
        }
    }
    Ok(())
}
