//! JSON lines to cells.

use crate::cells::{ColumnBuilder, Field};
use crate::failure::{Failure, Outcome};
use crate::formats::input::Lines;
use crate::formats::{Cells, Held, Room, Take};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use std::fmt;
use std::io::BufRead;

/// Reads one object a line; empty lines are skipped. Fields that no line names are left out. Where the room is full, `take` is given
/// what was read; the rest is returned.
///
/// # Errors
/// Name the line and the field: values of the wrong type, unknown and missing fields, lines that do not fit the budget.
pub(crate) fn read_jsonl(
    input: impl BufRead,
    fields: &[Field],
    room: &Room,
    take: &mut Take<'_>,
) -> Outcome<Cells> {
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
        if room.is_full(held) {
            take(rows.hand_on(fields, true)?)?;
            held = rows.held();
        }
    }
    rows.finish()
}

/// Rows of named cells on their way to columns.
pub(crate) struct Rows {
    builders: Vec<ColumnBuilder>,
    row_count: usize,
    /// The field being read, for messages.
    current: Option<usize>,
    /// Rows before these were handed on: of each field, whether any of them named it.
    named_before: Option<Vec<bool>>,
}

impl Rows {
    pub(crate) fn new(fields: &[Field]) -> Self {
        Rows {
            builders: fields.iter().map(ColumnBuilder::new).collect(),
            row_count: 0,
            current: None,
            named_before: None,
        }
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

    /// The rows so far; those to come begin anew. With `fills`, nullable fields that none of them names are null, as a row to come
    /// may name them.
    pub(crate) fn hand_on(&mut self, fields: &[Field], fills: bool) -> Outcome<Cells> {
        let is_named = self.builders.iter().map(|builder| builder.cell_count() > 0);
        let before = self.named_before.take().unwrap_or_else(|| vec![false; self.builders.len()]);
        let named = is_named.zip(before).map(|(now, before)| now || before).collect();
        let mut rows = std::mem::replace(self, Rows::new(fields));
        if fills {
            rows.fill().map_err(Failure::invalid)?;
        }
        rows.named_before = None;
        self.named_before = Some(named);
        rows.finish()
    }

    /// Fills in null for all rows where no row names a nullable field.
    fn fill(&mut self) -> Result<(), String> {
        let unnamed = self.builders.iter_mut().filter(|builder| builder.cell_count() == 0);
        for builder in unnamed.filter(|builder| builder.field().nullable) {
            (0..self.row_count).try_for_each(|_| builder.push_null())?;
        }
        Ok(())
    }

    /// The columns of the rows that were not handed on; none where all were.
    ///
    /// # Errors
    /// When there were no rows, or a field that was filled in before has not been named by any.
    pub(crate) fn finish(mut self) -> Outcome<Cells> {
        if let Some(before) = self.named_before.take() {
            let named = self.builders.iter().zip(before);
            let mut unnamed = named.filter(|(builder, before)| !before && builder.cell_count() == 0);
            if let Some((builder, _)) = unnamed.find(|(builder, _)| builder.field().nullable) {
                let name = &builder.field().name;
                let message = format!("the column {name:?} is missing; a write gives every field");
                return Err(Failure::invalid(message));
            }
            if self.row_count == 0 {
                return Ok(Vec::new());
            }
            self.fill().map_err(Failure::invalid)?;
        }
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
    use crate::formats::room::untaken;
    use crate::formats::{JsonlSink, Sink};
    use smalti::Column;
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
        let columns = read_jsonl(text.as_bytes(), &fields(), &Room::default(), &mut untaken).unwrap();
        assert_eq!(written(&fields(), &columns, 3), text);
    }

    #[test]
    fn keys_come_in_any_order_and_missing_nullable_fields_are_null() {
        let text = "{\"color\": \"red\", \"d\": 1}\n\n{\"d\": 2, \"s\": \"x\", \"color\": \"blue\"}\n";
        let columns = read_jsonl(text.as_bytes(), &fields(), &Room::default(), &mut untaken).unwrap();
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
            let failure = read_jsonl(text.as_bytes(), &fields(), &Room::default(), &mut untaken).unwrap_err();
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
    }
}
