//! JSON lines: an object a line.

use super::kind::Kind;
use super::text::{Block, Fault, TextColumn, TextFormat, fed};
use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_schema::{ArrowError, Field, Schema};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::sync::Arc;

/// The format has no options.
#[derive(Debug)]
pub(super) struct JsonLines;

fn lines(block: &Block) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = block.bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.map(|(idx, line)| (block.line + idx as u64, line));
    lines.filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace))
}

fn schema_of(columns: &[TextColumn]) -> Arc<Schema> {
    let kept = columns.iter().filter(|column| column.target.is_some() && column.kind != Kind::Nested);
    Arc::new(Schema::new(
        kept.map(|column| Field::new(&column.name, column.kind.parsed_type(), true)).collect::<Vec<_>>(),
    ))
}

fn decoded(bytes: &[u8], row_count: usize, schema: &Arc<Schema>) -> Result<RecordBatch, ArrowError> {
    // Numbers among text are text.
    let builder = ReaderBuilder::new(Arc::clone(schema)).with_coerce_primitive(true);
    let mut decoder = builder.with_batch_size(row_count.max(1)).build_decoder()?;
    fed(bytes, |rest| decoder.decode(rest))?;
    Ok(decoder.flush()?.unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(schema))))
}

impl TextFormat for JsonLines {
    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1)
    }

    fn header(&self, start: &[u8]) -> Result<(Vec<String>, usize, u64), Fault> {
        if start.iter().all(u8::is_ascii_whitespace) {
            return Err(Fault { line: 1, problem: "the file is empty".into() });
        }
        Ok((Vec::new(), 0, 0))
    }

    fn is_self_describing(&self) -> bool {
        true
    }

    fn widen(&self, block: &Block, columns: &mut Vec<TextColumn>) -> Result<(), Fault> {
        let mut seen = vec![0; columns.len()];
        for (line, text) in lines(block) {
            let mut deserializer = serde_json::Deserializer::from_slice(text);
            let found = LineVisitor { columns, seen: &mut seen, line };
            let outcome = deserializer.deserialize_map(found).and_then(|()| deserializer.end());
            outcome.map_err(|error| Fault { line, problem: problem_of(text, &error) })?;
        }
        Ok(())
    }

    fn parse(&self, block: &Block, columns: &[TextColumn]) -> Result<RecordBatch, ArrowError> {
        decoded(&block.bytes, lines(block).count(), &schema_of(columns))
    }

    fn fault(&self, block: &Block, columns: &[TextColumn]) -> Option<Fault> {
        let kept = columns.iter().filter(|column| column.target.is_some() && column.kind != Kind::Nested);
        let kept: Vec<(&TextColumn, Arc<Schema>)> =
            kept.map(|column| (column, schema_of(std::slice::from_ref(column)))).collect();
        for (line, text) in lines(block) {
            for (column, schema) in &kept {
                if let Err(error) = decoded(text, 1, schema) {
                    return Some(Fault {
                        line,
                        problem: format!(
                            "column {:?}: {} are expected; correct the value, or leave the column out with --columns ({error})",
                            column.name,
                            column.kind.name()
                        ),
                    });
                }
            }
        }
        None
    }

    fn first_text(&self, block: &Block, _idx: usize, name: &str) -> Option<(u64, String)> {
        let mut before = false;
        for (line, text) in lines(block) {
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
            match object.get(name) {
                None | Some(serde_json::Value::Null) => {}
                Some(serde_json::Value::String(text)) => {
                    if Kind::of_time(text).is_some() {
                        before = true;
                    } else {
                        return before.then(|| (line, text.clone()));
                    }
                }
                Some(_) => before = true,
            }
        }
        None
    }

    fn line_of(&self, block: &Block, row: usize) -> u64 {
        lines(block).nth(row).map_or(block.line, |(line, _)| line)
    }

    fn row_count(&self, block: &Block) -> u64 {
        lines(block).count() as u64
    }
}

/// What is wrong, with the start of the line: positions behind it mean nothing to people.
fn problem_of(text: &[u8], error: &serde_json::Error) -> String {
    let told = error.to_string();
    let told = told.split(" at line ").next().unwrap_or_default();
    if std::str::from_utf8(text).is_err() {
        return "bytes that are no UTF-8; convert the file, with iconv say".into();
    }
    match (error.is_data(), told.contains("expected an object")) {
        (true, true) => format!("{told}; give an object a line"),
        (true, false) => format!("{told}; correct it, or leave the column out with --columns"),
        _ => format!("character {}: {told}; give an object a line", error.column()),
    }
}

/// Widens the kinds of columns by an object.
struct LineVisitor<'a> {
    columns: &'a mut Vec<TextColumn>,
    /// The line that each column was last seen in.
    seen: &'a mut Vec<u64>,
    line: u64,
}

impl<'de> Visitor<'de> for LineVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut guess = 0;
        while let Some(name) = map.next_key::<Name>()? {
            let name = name.0;
            let is_it = |column: &TextColumn| column.name == name;
            let idx = match self.columns.get(guess).is_some_and(is_it) {
                true => guess,
                false => self.columns.iter().position(is_it).unwrap_or(self.columns.len()),
            };
            if idx == self.columns.len() {
                self.columns.push(TextColumn { name, target: None, kind: Kind::Null, is_found: true });
                self.seen.push(0);
            } else if self.seen[idx] == self.line {
                return Err(serde::de::Error::custom(format!("the key {name:?} stands twice")));
            }
            self.seen[idx] = self.line;
            let kind = map.next_value_seed(KindSeed)?;
            let column = &mut self.columns[idx];
            column.is_found = true;
            if let Some(expected) = misfit(&column.kind, &kind) {
                return Err(serde::de::Error::custom(format!(
                    "column {:?}: {} where {expected} are expected",
                    column.name,
                    kind.name()
                )));
            }
            if column.kind != kind && column.kind != Kind::Text {
                column.kind = std::mem::replace(&mut column.kind, Kind::Null).widened(kind);
            }
            guess = idx + 1;
        }
        Ok(())
    }
}

/// What a field that is there already takes instead of a value: the parser would cut a fraction off an integer.
fn misfit(field: &Kind, value: &Kind) -> Option<String> {
    let Kind::Fixed(wanted) = field else { return None };
    let fits = match value {
        Kind::Float => !wanted.is_integer(),
        Kind::Nested => false,
        Kind::Numbers { is_integer } => match wanted {
            arrow_schema::DataType::List(item) => *is_integer || !item.data_type().is_integer(),
            _ => false,
        },
        _ => true,
    };
    (!fits).then(|| wanted.to_string())
}

struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Name)
    }
}

/// Tells the kind of a value.
struct KindSeed;

impl<'de> DeserializeSeed<'de> for KindSeed {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KindSeed {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Kind, E> {
        Ok(Kind::Bool)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Int { is_signed: value < 0 })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(if i64::try_from(value).is_ok() { Kind::Int { is_signed: false } } else { Kind::UInt })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Kind, E> {
        Ok(Kind::Float)
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind, E> {
        // What JSON has no numbers for.
        if matches!(text, "NaN" | "Infinity" | "-Infinity") {
            return Ok(Kind::Float);
        }
        Ok(Kind::of_time(text).unwrap_or(Kind::Text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let mut all = Kind::Numbers { is_integer: true };
        while let Some(kind) = seq.next_element_seed(KindSeed)? {
            all = match (all, kind) {
                (all, Kind::Int { .. }) => all,
                (Kind::Numbers { .. }, Kind::Float) => Kind::Numbers { is_integer: false },
                _ => Kind::Nested,
            };
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Kind::Nested)
    }
}
