//! Every datatype, with one value, several values and any number of values a cell, null and not.

use crate::session::Session;
use std::fmt::Write;

/// Names of all datatypes with a value of each, and one at the edge, as JSON.
fn datatypes() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut all = vec![
        ("INT8", "1", "-128"),
        ("INT16", "1", "-32768"),
        ("INT32", "1", "-2147483648"),
        ("INT64", "1", "-9223372036854775808"),
        ("UINT8", "1", "255"),
        ("UINT16", "1", "65535"),
        ("UINT32", "1", "4294967295"),
        ("UINT64", "1", "18446744073709551615"),
        ("FLOAT32", "0.5", "\"NaN\""),
        ("FLOAT64", "0.1", "\"-Infinity\""),
        ("BOOL", "true", "false"),
        ("STRING_UTF16", "", "65535"),
        ("STRING_UTF32", "", "4294967295"),
        ("STRING_UCS2", "", "65535"),
        ("STRING_UCS4", "", "4294967295"),
    ];
    for name in ["CHAR", "STRING_ASCII", "STRING_UTF8", "GEOM_WKT", "ANY", "BLOB", "GEOM_WKB"] {
        all.push((name, "bytes", ""));
    }
    for name in [
        "DATETIME_YEAR",
        "DATETIME_MONTH",
        "DATETIME_WEEK",
        "DATETIME_DAY",
        "DATETIME_HR",
        "DATETIME_MIN",
        "DATETIME_SEC",
        "DATETIME_MS",
        "DATETIME_US",
        "DATETIME_NS",
        "DATETIME_PS",
        "DATETIME_FS",
        "DATETIME_AS",
        "TIME_HR",
        "TIME_MIN",
        "TIME_SEC",
        "TIME_MS",
        "TIME_US",
        "TIME_NS",
        "TIME_PS",
        "TIME_FS",
        "TIME_AS",
    ] {
        all.push((name, "123456789", "-1"));
    }
    all
}

/// A schema with several attributes for each datatype, and three rows.
fn array() -> (String, String) {
    let mut attrs = Vec::new();
    let mut rows = [r#"{"d":1"#, r#"{"d":2"#, r#"{"d":3"#].map(String::from);
    for (name, usual, edge) in datatypes() {
        let texts = ["CHAR", "STRING_ASCII", "STRING_UTF8", "GEOM_WKT"];
        let shapes = [("1", 1), ("3", 3), ("\"var\"", 0)];
        // The format knows ANY with any number of bytes a cell only.
        for (shape, count) in shapes.into_iter().filter(|(_, count)| name != "ANY" || *count == 0) {
            for nullable in [false, true] {
                let field = format!("{name}_{count}_{nullable}");
                attrs.push(format!(
                    r#"{{"name":"{field}","type":"{name}","cell_val_num":{shape},"nullable":{nullable}}}"#
                ));
                let cell = |row: usize| -> String {
                    if nullable && row == 1 {
                        return "null".into();
                    }
                    let count = if count == 0 { 2 * row } else { count };
                    match usual {
                        "bytes" if texts.contains(&name) => {
                            format!("\"{}\"", "abc".repeat(2).split_at(count).0)
                        }
                        "bytes" => format!("{{\"hex\":\"{}\"}}", "00ff7f80".split_at(2 * count).0),
                        _ => {
                            let value = if row == 0 && !usual.is_empty() { usual } else { edge };
                            let is_list = shape != "1" || name.starts_with("STRING");
                            let list = vec![value; count].join(",");
                            if is_list { format!("[{list}]") } else { list }
                        }
                    }
                };
                for (row, text) in rows.iter_mut().enumerate() {
                    let row_cell =
                        if shape == "\"var\"" && row == 2 && usual == "bytes" { cell(1) } else { cell(row) };
                    let row_cell = if row_cell == "null" && row == 2 { cell(0) } else { row_cell };
                    write!(text, ",\"{field}\":{row_cell}").unwrap();
                }
            }
        }
    }
    let schema = format!(
        r#"{{"array_type":"sparse","dims":[{{"name":"d","type":"INT32","domain":[1,9]}}],"attrs":[{}]}}"#,
        attrs.join(",")
    );
    (schema, rows.map(|row| row + "}\n").concat())
}

#[test]
fn every_datatype_comes_back_through_every_format() {
    let session = Session::new();
    assert_eq!(datatypes().len(), 44);
    let (schema, rows) = array();
    session.file("all.json", schema);
    session.file("all.jsonl", &rows);
    session.text("create all --schema all.json");
    session.text("write all --from all.jsonl --at 1 --dates int");
    assert_eq!(session.text("read all --format jsonl --dates int"), rows);
    for name in ["o.csv", "o.jsonl", "o.arrow", "o.arrows", "o.parquet"] {
        for dates in ["iso", "int"] {
            let copy = format!("copy_{dates}_{}", name.replace('.', "_"));
            session.text(&format!("read all -o {name} --dates {dates}"));
            session.text(&format!("create {copy} --schema all.json"));
            session.text(&format!("write {copy} --from {name} --dates {dates}"));
            let cells = session.text(&format!("read {copy} --format jsonl --dates int"));
            for (cells, expected) in cells.split(",\"").zip(rows.split(",\"")) {
                assert_eq!(cells, expected, "{name}, --dates {dates}");
            }
            assert_eq!(cells, rows);
        }
    }
}
