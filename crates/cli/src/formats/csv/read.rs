//! Comma-separated values to cells.

use crate::cells::{ColumnBuilder, Field};
use crate::failure::{Failure, Outcome};
use crate::formats::jsonl::Rows;
use smalti::text::parse_date_time;
use smalti::{CellValNum, Column, Datatype, Scalar};
use std::io::BufRead;

/// Reads a header with names of fields, and one line a cell.
///
/// # Errors
/// Name the line and the field.
pub(crate) fn read_csv(input: impl BufRead, fields: &[Field]) -> Outcome<Vec<(Field, Column)>> {
    let mut lines = Records { input, line_idx: 0 };
    let mut record = Vec::new();
    if !lines.next_into(&mut record)? {
        return Err(Failure::invalid("the file is empty; the first line names the fields"));
    }
    let mut rows = Rows::new(fields);
    let mut columns = Vec::new();
    for cell in &record {
        columns.push(rows.idx(cell.text.trim_start_matches('\u{feff}'), columns.len()).ok_or_else(|| {
            let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            Failure::invalid(format!(
                "line 1: the array has no field {:?}; it has {}",
                cell.text,
                known.join(", ")
            ))
        })?);
    }
    while lines.next_into(&mut record)? {
        if record.len() != columns.len() {
            return Err(Failure::invalid(format!(
                "line {}: {} values where the header names {} fields",
                lines.line_idx,
                record.len(),
                columns.len()
            )));
        }
        for (&idx, cell) in columns.iter().zip(&record) {
            let pushed = rows.builder(idx).and_then(|builder| push(builder, cell));
            pushed.map_err(|problem| {
                let name = fields.get(idx).map_or("", |field| &field.name);
                Failure::invalid(format!("line {}: field {name:?}: {problem}", lines.line_idx))
            })?;
        }
        rows.end_row().map_err(|problem| Failure::invalid(format!("line {}: {problem}", lines.line_idx)))?;
    }
    rows.finish()
}

/// A value as it stands in the file.
#[derive(Debug, Default, PartialEq)]
struct Value {
    text: String,
    is_quoted: bool,
}

fn push(builder: &mut ColumnBuilder, value: &Value) -> Result<(), String> {
    use Datatype::*;
    let (datatype, cell_val_num) = builder.parsed_type();
    let text = value.text.as_str();
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
    input: R,
    line_idx: u64,
}

impl<R: BufRead> Records<R> {
    /// Reads a record, which spans several lines where line ends stand in quotes; false at the end. Empty lines are
    /// skipped.
    fn next_into(&mut self, record: &mut Vec<Value>) -> Outcome<bool> {
        record.clear();
        let mut line = Vec::new();
        let mut text = Vec::new();
        let (mut in_quotes, mut is_quoted) = (false, false);
        loop {
            line.clear();
            if self.input.read_until(b'\n', &mut line)? == 0 {
                if in_quotes {
                    return Err(Failure::invalid(format!("line {}: a quote is not closed", self.line_idx)));
                }
                return Ok(false);
            }
            self.line_idx += 1;
            if !in_quotes
                && record.is_empty()
                && text.is_empty()
                && line.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
            {
                continue;
            }
            let mut bytes = line.iter().copied().peekable();
            while let Some(byte) = bytes.next() {
                match byte {
                    b'"' if in_quotes && bytes.peek() == Some(&b'"') => {
                        bytes.next();
                        text.push(b'"');
                    }
                    b'"' if in_quotes => in_quotes = false,
                    b'"' if text.is_empty() && !is_quoted => (in_quotes, is_quoted) = (true, true),
                    _ if in_quotes => text.push(byte),
                    b',' => self.end_value(record, &mut text, &mut is_quoted)?,
                    b'\n' => {}
                    b'\r' if matches!(bytes.peek(), Some(b'\n') | None) => {}
                    _ => text.push(byte),
                }
            }
            if !in_quotes {
                self.end_value(record, &mut text, &mut is_quoted)?;
                return Ok(true);
            }
        }
    }

    fn end_value(&self, record: &mut Vec<Value>, text: &mut Vec<u8>, is_quoted: &mut bool) -> Outcome {
        let text = String::from_utf8(std::mem::take(text))
            .map_err(|_| Failure::invalid(format!("line {}: bytes that are not UTF-8", self.line_idx)))?;
        record.push(Value { text, is_quoted: std::mem::take(is_quoted) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::test_field as field;
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
        let columns = read_csv(text.as_bytes(), &fields()).unwrap();
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
        let columns =
            read_csv("\u{feff}b,d,t,l\r\n1,2,1970,[]\r\n\r\nfalse,3,1971,[]".as_bytes(), &fields()).unwrap();
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
            ("d,l\n1,\"[1\"\n", "line 2: field \"l\": EOF"),
            ("", "the file is empty"),
            ("d\n", "no rows"),
        ] {
            let failure = read_csv(text.as_bytes(), &fields()).unwrap_err();
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
    }
}
