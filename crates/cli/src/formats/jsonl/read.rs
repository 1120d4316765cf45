//! JSON lines to cells.

use crate::cells::{ColumnBuilder, Field};
use crate::failure::{Failure, Outcome};
use crate::formats::input::Lines;
use crate::formats::{Held, Room};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use smalti::Column;
use std::fmt;
use std::io::BufRead;

/// Reads one object a line; empty lines are skipped. Fields that no line names are left out.
///
/// # Errors
/// Name the line and the field: values of the wrong type, unknown and missing fields, lines that do not fit the budget.
pub(crate) fn read_jsonl(
    input: impl BufRead,
    fields: &[Field],
    room: &Room,
) -> Outcome<Vec<(Field, Column)>> {
    let mut rows = Rows::new(fields);
    let mut lines = Lines::new(input, room.budget());
    let mut line = Vec::new();
    let mut held = Held::default();
    loop {
        lines.leave(held.byte_len);
        if !lines.next_into(&mut line, 0)? {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        rows.push(&line).map_err(|problem| Failure::invalid(format!("line {}: {problem}", lines.idx())))?;
        held = rows.held();
        room.check(held)?;
    }
    rows.finish()
}

/// Rows of named cells on their way to columns.
pub(crate) struct Rows {
    builders: Vec<ColumnBuilder>,
    row_count: usize,
    /// The field being read, for messages.
    current: Option<usize>,
}

impl Rows {
    pub(crate) fn new(fields: &[Field]) -> Self {
        Rows { builders: fields.iter().map(ColumnBuilder::new).collect(), row_count: 0, current: None }
    }

    fn push(&mut self, line: &[u8]) -> Result<(), String> {
        self.current = None;
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let result = deserializer.deserialize_map(RowVisitor(self)).and_then(|()| deserializer.end());
        result.map_err(|error| {
            let mut message = error.to_string();
            if let Some(place) = message.rfind(" at line ") {
                message.truncate(place);
            }
            match self.current.and_then(|idx| self.builders.get(idx)) {
                Some(builder) => format!("field {:?}: {message}", builder.field().name),
                None => message,
            }
        })?;
        self.end_row()
    }

    /// What the rows take so far.
    pub(crate) fn held(&self) -> Held {
        let byte_lens = || self.builders.iter().map(ColumnBuilder::byte_len);
        Held {
            byte_len: byte_lens().sum(),
            beside: byte_lens().max().unwrap_or(0),
            cell_count: self.row_count as u64,
        }
    }

    /// Fills in null where a nullable field was not named.
    pub(crate) fn end_row(&mut self) -> Result<(), String> {
        self.row_count += 1;
        for builder in &mut self.builders {
            let missing = self.row_count - builder.cell_count();
            let is_known = builder.cell_count() > 0;
            if missing == 1 && is_known {
                builder.push_null().map_err(|_| format!("field {:?} is missing", builder.field().name))?;
            }
        }
        Ok(())
    }

    /// The builder of a field that is about to take a cell of the current row.
    pub(crate) fn builder(&mut self, idx: usize) -> Result<&mut ColumnBuilder, String> {
        let row_count = self.row_count;
        self.current = Some(idx);
        let builder = self.builders.get_mut(idx).ok_or("no such field")?;
        while builder.cell_count() < row_count {
            builder.push_null().map_err(|_| "the rows before do not have it".to_string())?;
        }
        if builder.cell_count() > row_count {
            return Err("it is given twice".into());
        }
        Ok(builder)
    }

    /// The index of a field by name; `guess` is tried first.
    pub(crate) fn idx(&self, name: &str, guess: usize) -> Option<usize> {
        let is_it = |builder: &ColumnBuilder| builder.field().name == name;
        if self.builders.get(guess).is_some_and(is_it) {
            return Some(guess);
        }
        self.builders.iter().position(is_it)
    }

    pub(crate) fn finish(self) -> Outcome<Vec<(Field, Column)>> {
        if self.row_count == 0 {
            return Err(Failure::invalid("there are no rows to write"));
        }
        let given = self.builders.into_iter().filter(|builder| builder.cell_count() > 0);
        given.map(|builder| Ok((builder.field().clone(), builder.finish()?))).collect()
    }
}

struct RowVisitor<'a>(&'a mut Rows);

impl<'de> Visitor<'de> for RowVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut guess = 0;
        while let Some(idx) = map.next_key_seed(KeySeed { rows: self.0, guess })? {
            let builder = self.0.builder(idx).map_err(A::Error::custom)?;
            map.next_value_seed(ValueSeed(builder))?;
            self.0.current = None;
            guess = idx + 1;
        }
        Ok(())
    }
}

struct KeySeed<'a> {
    rows: &'a Rows,
    guess: usize,
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<usize, E> {
        self.rows.idx(name, self.guess).ok_or_else(|| {
            let known: Vec<&str> =
                self.rows.builders.iter().map(|builder| builder.field().name.as_str()).collect();
            E::custom(format!("the array has no field {name:?}; it has {}", known.join(", ")))
        })
    }
}

struct ValueSeed<'a>(&'a mut ColumnBuilder);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.push_json(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Labels;
    use crate::cells::test_field as field;
    use crate::formats::{JsonlSink, Sink};
    use smalti::format::Enumeration;
    use smalti::{Batch, CellValNum, Datatype};
    use std::sync::Arc;

    fn fields() -> Vec<Field> {
        let mut color = field("color", Datatype::UInt8, 1, false);
        color.labels = Some(Arc::new(Labels::new(Enumeration {
            version: 0,
            name: "colors".into(),
            file: String::new(),
            datatype: Datatype::StringAscii,
            cell_val_num: CellValNum::Var,
            is_ordered: false,
            data: b"redblue".to_vec(),
            offsets: vec![0, 3],
        })));
        vec![
            field("d", Datatype::UInt64, 1, false),
            field("f", Datatype::Float64, 0, true),
            field("s", Datatype::StringUtf8, 0, true),
            field("t", Datatype::DateTimeDay, 1, true),
            color,
        ]
    }

    fn written(fields: &[Field], columns: &[(Field, Column)], cell_count: usize) -> String {
        let mut out = Vec::new();
        let mut sink = JsonlSink::new(&mut out, fields);
        let columns = columns.iter().map(|(_, column)| column.clone()).collect();
        sink.batch(Batch { cell_count, columns }).unwrap();
        sink.finish().unwrap();
        drop(sink);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_come_back() {
        let text = r#"{"d":18446744073709551615,"f":["NaN",-0.0,1e-7],"s":null,"t":"2024-02-29","color":"blue"}
{"d":0,"f":[],"s":"é\"\n","t":null,"color":{"code":7}}
{"d":1,"f":null,"s":{"hex":"ff00"},"t":"-0001-12-31","color":"red"}
"#;
        let columns = read_jsonl(text.as_bytes(), &fields(), &Room::default()).unwrap();
        assert_eq!(written(&fields(), &columns, 3), text);
    }

    #[test]
    fn keys_come_in_any_order_and_missing_nullable_fields_are_null() {
        let text = "{\"color\": \"red\", \"d\": 1}\n\n{\"d\": 2, \"s\": \"x\", \"color\": \"blue\"}\n";
        let columns = read_jsonl(text.as_bytes(), &fields(), &Room::default()).unwrap();
        let names: Vec<&str> = columns.iter().map(|(field, _)| field.name.as_str()).collect();
        assert_eq!(names, ["d", "s", "color"]);
        assert_eq!(columns[1].1.as_ref().validity, Some(&[0, 1][..]));
    }

    #[test]
    fn errors_name_the_line_and_the_field() {
        let good = "{\"d\": 1, \"color\": \"red\"}\n";
        for (text, words) in [
            (
                format!("{good}{{\"d\": -1, \"color\": \"red\"}}"),
                "line 2: field \"d\": -1 is no value of type UINT64",
            ),
            (format!("{good}{{\"d\": 1}}"), "line 2: field \"color\" is missing"),
            (format!("{good}{{\"d\": 1, \"x\": 2}}"), "line 2: the array has no field \"x\"; it has d, f"),
            (format!("{good}{{\"d\": 1, \"d\": 1}}"), "line 2: field \"d\": it is given twice"),
            (
                good.replace("red", "pink"),
                "line 1: field \"color\": \"pink\" is no label of the enumeration \"colors\"",
            ),
            (good.replace('1', "null"), "line 1: field \"d\": null, but"),
            ("[1]".into(), "line 1: invalid type: sequence, expected a JSON object"),
            (format!("{good}{{\"d\": 1"), "line 2: EOF while parsing"),
            (good.replace('\n', " 5"), "line 1: trailing characters"),
            (String::new(), "no rows"),
        ] {
            let failure = read_jsonl(text.as_bytes(), &fields(), &Room::default()).unwrap_err();
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
    }
}
