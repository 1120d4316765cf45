//! Arrays that several tests look at.

use crate::session::Session;

/// A dense array of 4 x 3 cells with two writes that overlap, at 100 and 200; part of it is never written.
pub const GRID: &str = r#"{"array_type": "dense",
    "dims": [{"name": "y", "type": "INT32", "domain": [1, 4], "tile": 2}, {"name": "x", "type": "INT32", "domain": [1, 3], "tile": 2}],
    "attrs": [{"name": "a", "type": "INT32", "filters": []}, {"name": "f", "type": "FLOAT64", "nullable": true, "filters": []},
              {"name": "s", "type": "STRING_UTF8", "cell_val_num": "var", "filters": []}]}"#;

pub fn grid(session: &Session) {
    session.file("grid.json", GRID);
    session
        .file("first.csv", "y,x,a,f,s\n1,1,11,1.5,one\n1,2,12,,\n2,1,21,NaN,\"a,b\"\n2,2,22,-Infinity,é\n");
    session.file(
        "second.jsonl",
        r#"{"y": 2, "x": 2, "a": -22, "f": 0.1, "s": "new"}
{"y": 2, "x": 3, "a": 23, "f": null, "s": "line\nend"}
{"y": 3, "x": 3, "a": 33, "f": 1e300, "s": "\"q\""}
{"y": 3, "x": 2, "a": 32, "f": -0.0, "s": "long enough to be told from the others by its width"}
"#,
    );
    session.text("create grid --schema grid.json");
    session.text("write grid --from first.csv --range y=1:2 --range x=1:2 --at 100");
    session.text("write grid --from second.jsonl --range y=2:3 --range x=2:3 --at 200");
}

/// A sparse array with a cell of every kind of value, in two writes, at 100 and 200.
pub const POINTS: &str = r#"{"array_type": "sparse", "capacity": 2,
    "dims": [{"name": "lat", "type": "FLOAT64", "domain": [-90, 90], "tile": 30}, {"name": "n", "type": "INT32", "domain": [0, 99], "tile": 10}],
    "attrs": [{"name": "name", "type": "STRING_UTF8", "cell_val_num": "var", "filters": []},
              {"name": "score", "type": "FLOAT32", "nullable": true, "filters": []},
              {"name": "day", "type": "DATETIME_DAY", "filters": []},
              {"name": "flag", "type": "BOOL", "filters": []},
              {"name": "tags", "type": "INT16", "cell_val_num": "var", "nullable": true, "filters": []},
              {"name": "pair", "type": "UINT8", "cell_val_num": 2, "filters": []},
              {"name": "blob", "type": "BLOB", "cell_val_num": "var", "filters": []},
              {"name": "utf16", "type": "STRING_UTF16", "cell_val_num": "var", "filters": []},
              {"name": "utf32", "type": "STRING_UTF32", "cell_val_num": "var", "filters": []},
              {"name": "ucs2", "type": "STRING_UCS2", "cell_val_num": "var", "filters": []}]}"#;

pub fn points(session: &Session) {
    session.file("points.json", POINTS);
    session.file(
        "first.jsonl",
        r#"{"lat": 48.85, "n": 7, "name": "Paris", "score": 0.1, "day": "2024-02-29", "flag": true, "tags": [1, -2], "pair": [1, 255], "blob": {"hex": "00ff"}, "utf16": [80, 55357, 56832], "utf32": [128512], "ucs2": [80]}
{"lat": -33.9, "n": 42, "name": {"hex": "ff41"}, "score": "NaN", "day": "1969-12-31", "flag": false, "tags": [], "pair": [0, 0], "blob": {"hex": ""}, "utf16": [], "utf32": [], "ucs2": []}
{"lat": 10.0, "n": 42, "name": "", "score": null, "day": "-0044-03-15", "flag": true, "tags": null, "pair": [3, 4], "blob": {"hex": "7b7d"}, "utf16": [0], "utf32": [1], "ucs2": [2]}
"#,
    );
    session.file(
        "second.csv",
        "lat,n,name,score,day,flag,tags,pair,blob,utf16,utf32,ucs2\n\
         48.85,7,Lutetia,-Infinity,0001-01-01,false,[7],\"[9,9]\",\"{\"\"hex\"\":\"\"01\"\"}\",[65],[66],[67]\n\
         -80.5,0,\"quote \"\" comma ,\",Infinity,2000-01-01,true,,\"[1,2]\",\"{\"\"hex\"\":\"\"02\"\"}\",[],[],[]\n",
    );
    session.text("create points --schema points.json");
    session.text("write points --from first.jsonl --at 100");
    session.text("write points --from second.csv --at 200");
}
