//! Comma-separated values to cells.

use crate::cells::{ColumnBuilder, Field, short};
use crate::failure::{Failure, Outcome};
use crate::formats::input::Lines;
use crate::formats::jsonl::Rows;
use crate::formats::{Cells, Room, Take};
use smalti::text::parse_date_time;
use smalti::{CellValNum, Datatype, Scalar};
use std::io::BufRead;

/// Reads a header with names of fields, and one line a cell. Where the room is full, `take` is given what was read; the rest is returned.
///
/// # Errors
/// Name the line and the field.
pub(crate) fn read_csv(
    input: impl BufRead,
    fields: &[Field],
    room: &Room,
    take: &mut Take<'_>,
) -> Outcome<Cells> {
    let mut lines = Records { lines: Lines::new(input, room.budget()) };
    let mut record = Vec::new();
    if !lines.next_into(&mut record)? {
        return Err(Failure::invalid("the file is empty; the first line names the fields"));
    }
    let mut rows = Rows::new(fields);
    let mut columns = Vec::new();
    for cell in &record {
        let name = cell.text().map_err(|problem| Failure::invalid(format!("line 1: {problem}")))?;
        columns.push(rows.idx(name.trim_start_matches('\u{feff}'), columns.len()).ok_or_else(|| {
            let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let known = known.join(", ");
            Failure::invalid(format!("line 1: the array has no field {name:?}; it has {known}"))
        })?);
    }
    while lines.next_into(&mut record)? {
        if record.len() != columns.len() {
            return Err(Failure::invalid(format!(
                "line {}: {} values where the header names {} fields",
                lines.lines.idx(),
                record.len(),
                columns.len()
            )));
        }
        for (&idx, cell) in columns.iter().zip(&record) {
            let pushed = rows.builder(idx).and_then(|builder| push(builder, cell));
            pushed.map_err(|problem| {
                let name = fields.get(idx).map_or("", |field| &field.name);
                Failure::invalid(format!("line {}: field {name:?}: {problem}", lines.lines.idx()))
            })?;
        }
        rows.end_row()
            .map_err(|problem| Failure::invalid(format!("line {}: {problem}", lines.lines.idx())))?;
        let mut held = rows.held();
        room.check(held)?;
        if room.is_full(held) {
            take(rows.hand_on(fields, false)?)?;
            held = rows.held();
        }
        lines.lines.leave(held.byte_len);
    }
    rows.finish()
}

/// A value as it stands in the file.
#[derive(Debug, Default, PartialEq)]
struct Value {
    bytes: Vec<u8>,
    is_quoted: bool,
}

impl Value {
    fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(&self.bytes)
            .map_err(|_| format!("{:?} holds bytes that are not UTF-8", short(&self.bytes)))
    }
}

fn push(builder: &mut ColumnBuilder, value: &Value) -> Result<(), String> {
    use Datatype::*;
    let (datatype, cell_val_num) = builder.parsed_type();
    let text = value.text()?;
    if text.is_empty() && !value.is_quoted && builder.field().nullable {
        return builder.push_null();
    }
    let is_json = |text: &str| text.starts_with("{\"hex\"") || text.starts_with("{\"code\"");
    if is_json(text) || text.starts_with('[') && !datatype.is_string() {
        return push_json(builder, text);
    }
    match datatype {
        Char | StringAscii | StringUtf8 | GeomWkt => builder.push_bytes(text.as_bytes()),
        _ if cell_val_num != CellValNum::ONE => push_json(builder, text),
        Float32 => {
            let value: f32 = text.trim().parse().map_err(|_| no_value(text, datatype))?;
            builder.push_bytes(&value.to_le_bytes())
        }
        Float64 => {
            let value: f64 = text.trim().parse().map_err(|_| no_value(text, datatype))?;
            builder.push_bytes(&value.to_le_bytes())
        }
        Bool => match text.trim() {
            "true" | "True" | "TRUE" | "1" => builder.push_bytes(&[1]),
            "false" | "False" | "FALSE" | "0" => builder.push_bytes(&[0]),
            _ => Err(no_value(text, datatype)),
        },
        _ if datatype.is_datetime() || datatype.is_time() => {
            // A year as text and as a stored number look the same: the notation decides.
            let is_stored = !builder.field().iso_dates || datatype != DateTimeYear;
            let stored: Option<i64> = text.trim().parse().ok().filter(|_| is_stored);
            let stored = match stored {
                Some(stored) => stored,
                None => {
                    parse_date_time(datatype, text.trim()).map_err(|error| error.message().to_string())?
                }
            };
            builder.push_bytes(&stored.to_le_bytes())
        }
        _ if datatype.is_integer() => {
            let wide: i128 = text.trim().parse().map_err(|_| no_value(text, datatype))?;
            let scalar =
                u64::try_from(wide).map(Scalar::U64).or_else(|_| i64::try_from(wide).map(Scalar::I64));
            let scalar = scalar.ok().and_then(|scalar| scalar.cast(datatype).ok());
            builder.push_bytes(&scalar.ok_or_else(|| no_value(text, datatype))?.to_le_bytes())
        }
        _ => push_json(builder, text),
    }
}

fn no_value(text: &str, datatype: Datatype) -> String {
    format!("{text:?} is no value of type {datatype}")
}

fn push_json(builder: &mut ColumnBuilder, text: &str) -> Result<(), String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let pushed = builder.push_json(&mut deserializer).and_then(|()| deserializer.end());
    pushed.map_err(|error| {
        let message = error.to_string();
        message.split(" at line ").next().unwrap_or_default().to_string()
    })
}

struct Records<R> {
    lines: Lines<R>,
}

/// Where in a value a byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Plain,
    InQuotes,
    /// Behind the closing quote, where the value ends.
    Closed,
}

impl<R: BufRead> Records<R> {
    /// Reads a record, which spans several lines where line ends stand in quotes; false at the end. Empty lines are
    /// skipped.
    fn next_into(&mut self, record: &mut Vec<Value>) -> Outcome<bool> {
        record.clear();
        let (mut line, mut value, mut place) = (Vec::new(), Value::default(), Place::Plain);
        let mut held_byte_len = 0;
        loop {
            if !self.lines.next_into(&mut line, held_byte_len)? {
                if place == Place::InQuotes {
                    return Err(Failure::invalid(format!(
                        "line {}: a quote is not closed",
                        self.lines.idx()
                    )));
                }
                return Ok(false);
            }
            let is_empty = line.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
            if place != Place::InQuotes && is_empty {
                continue;
            }
            held_byte_len += line.len();
            let mut bytes = line.iter().copied().enumerate().peekable();
            while let Some((at, byte)) = bytes.next() {
                let next = bytes.peek().map(|(_, next)| *next);
                match (place, byte) {
                    (Place::InQuotes, b'"') if next == Some(b'"') => {
                        bytes.next();
                        value.bytes.push(b'"');
                    }
                    (Place::InQuotes, b'"') => place = Place::Closed,
                    (Place::InQuotes, _) => value.bytes.push(byte),
                    (_, b',') => {
                        record.push(std::mem::take(&mut value));
                        place = Place::Plain;
                    }
                    (_, b'\n') => {}
                    (_, b'\r') if matches!(next, Some(b'\n') | None) => {}
                    (Place::Closed, _) => return Err(self.behind_quote(&line, at)),
                    (Place::Plain, b'"') if value.bytes.is_empty() => {
                        value.is_quoted = true;
                        place = Place::InQuotes;
                    }
                    (Place::Plain, _) => value.bytes.push(byte),
                }
            }
            if place != Place::InQuotes {
                record.push(value);
                return Ok(true);
            }
        }
    }

    fn behind_quote(&self, line: &[u8], at: usize) -> Failure {
        let idx = self.lines.idx();
        let column = String::from_utf8_lossy(&line[..at]).chars().count() + 1;
        Failure::invalid(format!(
            "line {idx}, column {column}: {:?} follows a closing quote; a quote inside of quotes is written twice",
            short(line[at..].trim_ascii_end())
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::test_field as field;
    use crate::formats::room::untaken;
    use crate::formats::{CsvSink, Sink};
    use smalti::Batch;

    fn fields() -> Vec<Field> {
        vec![
            field("d", Datatype::Int64, 1, false),
            field("f", Datatype::Float32, 1, true),
            field("s", Datatype::StringUtf8, 0, true),
            field("t", Datatype::DateTimeYear, 1, false),
            field("l", Datatype::Int16, 0, false),
            field("b", Datatype::Bool, 1, false),
        ]
    }

    #[test]
    fn rows_come_back() {
        let text = "d,f,s,t,l,b\n\
            -9223372036854775808,0.1,\"a,\"\"b\n\",2020,\"[1,-2]\",true\n\
            5,,\"\",-0001,[],false\n\
            6,NaN,,+12345,[7],true\n\
            7,-Infinity,\"{\"\"hex\"\":\"\"ff\"\"}\",1970,[],true\n";
        let columns = read_csv(text.as_bytes(), &fields(), &Room::default(), &mut untaken).unwrap();
        let mut out = Vec::new();
        let mut sink = CsvSink::new(&mut out, &fields());
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        sink.batch(Batch { cell_count: 4, columns }).unwrap();
        sink.finish().unwrap();
        drop(sink);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn windows_line_ends_and_column_orders_are_read() {
        let columns = read_csv(
            "\u{feff}b,d,t,l\r\n1,2,1970,[]\r\n\r\nfalse,3,1971,[]".as_bytes(),
            &fields(),
            &Room::default(),
            &mut untaken,
        )
        .unwrap();
        let names: Vec<&str> = columns.iter().map(|(field, _)| field.name.as_str()).collect();
        assert_eq!(names, ["d", "t", "l", "b"]);
        assert_eq!(columns[3].1.data.as_slice(), [1, 0]);
    }

    #[test]
    fn errors_name_the_line_and_the_field() {
        for (text, words) in [
            ("d,x\n1,2\n", "line 1: the array has no field \"x\""),
            ("d,b\n1,true\n2\n", "line 3: 1 values where the header names 2"),
            ("d\n1\n1.5\n", "line 3: field \"d\": \"1.5\" is no value of type INT64"),
            ("d\n9223372036854775808\n", "line 2: field \"d\""),
            ("d,s\n1,\"a\n", "a quote is not closed"),
            ("d,s\n1,\"a\"b\n", "line 2, column 6: \"b\" follows a closing quote"),
            ("s,d\n\"é\n\"x,1\n", "line 3, column 2: \"x,1\" follows a closing quote"),
            ("d,s\n1,\"a\" ,\n", "line 2, column 6"),
            ("d,l\n1,\"[1\"\n", "line 2: field \"l\": EOF"),
            ("", "the file is empty"),
            ("d\n", "no rows"),
        ] {
            let failure = read_csv(text.as_bytes(), &fields(), &Room::default(), &mut untaken).unwrap_err();
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
        let failure =
            read_csv(&b"d,s\n1,a\xffb\n"[..], &fields(), &Room::default(), &mut untaken).unwrap_err();
        assert!(failure.to_string().contains("line 2: field \"s\": \"a\u{fffd}b\" holds bytes"), "{failure}");
    }
}
