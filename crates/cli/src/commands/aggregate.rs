//! `smalti aggregate`: numbers about cells, without the cells.

use crate::args::{AggregateArgs, Global};
use crate::engine;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Watch;
use crate::statistics;
use crate::warning::{warn, warnings};
use serde_json::{Map, Value as Json, json};
use smalti::{Aggregate, AggregateRequest, Array, Function, Progress, ReadRequest, Value};
use smalti_tools::cells::Field;
use smalti_tools::condition;
use smalti_tools::formats::Table;
use smalti_tools::notation::{Dates, Enums, Notation};
use smalti_tools::ranges;
use smalti_tools::report::statistics::Reading;
use std::io::Write;
use std::sync::Arc;

const FUNCTIONS: &[(&str, Function)] = &[
    ("count", Function::Count),
    ("sum", Function::Sum),
    ("min", Function::Min),
    ("max", Function::Max),
    ("mean", Function::Mean),
    ("null_count", Function::NullCount),
];

pub(super) fn run(global: &Global, args: &AggregateArgs) -> Outcome {
    let aggregates = args.functions.iter().map(|text| parse(text)).collect::<Outcome<Vec<_>>>()?;
    let array = engine::open(global, &args.array, args.times)?;
    let condition = condition::parse(&array, args.condition.as_deref(), &args.array, &warnings(global))?;
    let (ranges, label_ranges) = ranges::of_read(&array, &args.ranges, &args.array, &warnings(global))?;
    let read = Arc::new(Progress::new());
    let request = AggregateRequest {
        aggregates,
        is_strict: args.ranges.strict,
        ranges,
        label_ranges,
        condition,
        memory_byte_len: global.memory.map(|byte_len| usize::try_from(byte_len).unwrap_or(usize::MAX)),
        saturates: args.saturate,
        progress: Some(Arc::clone(&read)),
        ..AggregateRequest::default()
    };
    let reading = Reading::start(&array);
    let watch = Watch::start(&read, None)?;
    let values = watch.run(|| array.aggregate_raw(&request))?;
    let is_unwritten = is_unwritten(&array, &request)?;
    if is_unwritten {
        warn(global, &args.array, super::read::UNWRITTEN);
    }
    if args.stats {
        statistics::print(global, &reading.end(read.statistics()));
    }
    let mut out = std::io::stdout().lock();
    let shown = |aggregate: &Aggregate, value: &Option<Value>| {
        value.as_ref().map_or(Ok(Json::Null), |value| show(&array, aggregate, value))
    };
    let rows = args.functions.iter().zip(&request.aggregates).zip(&values);
    if global.json {
        let mut object: Map<String, Json> = rows
            .map(|((name, aggregate), value)| Ok((name.clone(), shown(aggregate, value)?)))
            .collect::<Outcome<_>>()?;
        if is_unwritten {
            object.insert("unwritten".to_owned(), json!(true));
        }
        return Ok(writeln!(out, "{}", Json::Object(object))?);
    }
    let mut table = Table::new([("aggregate".to_string(), false), ("value".to_string(), true)]);
    for ((name, aggregate), value) in rows {
        let text = match shown(aggregate, value)? {
            Json::String(text) => text,
            Json::Null => "none".to_string(),
            other => other.to_string(),
        };
        table.push(vec![name.clone(), text]);
    }
    Ok(table.print(&mut out)?)
}

/// Whether nobody ever wrote any of the cells.
fn is_unwritten(array: &Array, request: &AggregateRequest) -> Outcome<bool> {
    let schema = array.schema();
    if !schema.is_dense() {
        return Ok(false);
    }
    let read = ReadRequest {
        fields: schema.attributes.iter().take(1).map(|attribute| attribute.name.clone()).collect(),
        ranges: request.ranges.clone(),
        label_ranges: request.label_ranges.clone(),
        memory_byte_len: request.memory_byte_len,
        ..ReadRequest::default()
    };
    Ok(array.read_raw(&read)?.is_unwritten())
}

fn parse(text: &str) -> Outcome<Aggregate> {
    let (name, field) = match text.split_once(':') {
        Some((name, field)) => (name, Some(field.to_string())),
        None => (text, None),
    };
    let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
        return Err(Failure::usage(format!("there is no aggregate {name:?}; there is {}", names.join(", "))));
    };
    Ok(Aggregate { function: *function, field })
}

/// A value as `smalti read` prints cells.
fn show(array: &Array, aggregate: &Aggregate, value: &Value) -> Outcome<Json> {
    let is_cell = matches!(aggregate.function, Function::Min | Function::Max);
    if is_cell {
        let notation = Notation { dates: Dates::Iso, enums: Enums::Codes };
        let field = Field::of_array(array, notation)?
            .into_iter()
            .find(|field| Some(&field.name) == aggregate.field.as_ref());
        if let Some(field) = field {
            let mut text = Vec::new();
            field.json_notation().push(&mut text, value.as_bytes());
            return serde_json::from_slice(&text).map_err(|error| Failure::invalid(error.to_string()));
        }
    }
    Ok(match value.as_scalar() {
        Some(scalar) => match (scalar.as_i128(), scalar.as_f64()) {
            (Some(number), _) => {
                i64::try_from(number).map_or_else(|_| json!(number as u64), |number| json!(number))
            }
            (None, number) if number.is_finite() => json!(number),
            (None, number) => json!(number.to_string()),
        },
        None => json!(value.as_str()),
    })
}
