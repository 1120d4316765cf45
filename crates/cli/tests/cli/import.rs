//! `smalti import` and `smalti create --from`.

use crate::session::Session;

const TOWNS: &str = "lat,lon,name,kind,people,seen\n\
    48.85,2.35,Paris,city,2113705,2024-05-01T12:00:00+02:00\n\
    52.52,13.41,Berlin,city,3677472,2024-05-01T12:00:00Z\n\
    50.0,8.27,\"Mainz, am Rhein\",town,,2024-05-02T00:00:00\n";

#[test]
fn a_table_becomes_an_array_with_the_types_of_its_columns() {
    let mut session = Session::new();
    session.file("towns.csv", TOWNS);
    session.show("import towns.csv towns --dims lat,lon --enum kind --dry-run");
    session.show("import towns.csv towns --dims lat,lon --enum kind --at 1000");
    session.show("read towns --format csv");
    session.show("import towns.csv numbers --dims lat,lon --columns lat,lon,heads --rename people=heads --at 1000 --json");
    session.show("read numbers --format csv");
    session.show("import towns.csv rows --index --columns name --at 1000");
    session.show("import towns.csv rows --columns name --at 2000");
    session.show("read rows --format csv");
    session.show("create empty --from towns.csv --dims name --domain lat=0:90");
    session.show("create empty --from towns.csv --dims name");
    session.check("import");
}

#[test]
fn rows_are_appended_by_the_same_rules() {
    let mut session = Session::new();
    session.file("towns.csv", TOWNS);
    session.text("import towns.csv towns --dims lat,lon --enum kind");
    session.file("more.csv", "name,lat,lon,kind,seen\nMetz,49.12,6.18,village,2024-05-01\n");
    session.show("import more.csv towns");
    session.show("import more.csv towns --extend-enums --at 9000000000000");
    session.show("read towns --format csv");
    for (name, content) in [
        ("extra.csv", "lat,lon,name,kind,people,seen,q\n49,9,a,city,1,2024-05-01,1\n"),
        (
            "outside.csv",
            "lat,lon,name,kind,people,seen\n49,9,a,city,1,2024-05-01\n99,9,b,city,1,2024-05-01\n",
        ),
        ("type.csv", "lat,lon,name,kind,people,seen\n49,9,a,city,1.5,2024-05-01\n"),
        ("finer.csv", "lat,lon,name,kind,people,seen\n49,9,a,city,1,2024-05-01T00:00:00.5\n"),
        ("null.csv", "lat,lon,name,kind,people,seen\n49,9,a,city,1,2024-05-01\n49,,b,city,1,2024-05-01\n"),
        ("missing.csv", "lat,lon,kind,people,seen\n49,9,city,1,2024-05-01\n"),
        (
            "fraction.jsonl",
            "{\"lat\":49,\"lon\":9,\"name\":\"a\",\"kind\":\"city\",\"people\":1.5,\"seen\":\"2024-05-01\"}\n",
        ),
    ] {
        session.file(name, content);
        session.show(&format!("import {name} towns"));
    }
    session.show("import towns.csv towns --dims lat");
    session.check("import_append");
}

#[test]
fn what_cannot_be_imported_is_refused_with_its_place_and_leaves_nothing() {
    let mut session = Session::new();
    let long = format!("{{\"x\": 1, \"s\": \"{}\"}}\n", "a".repeat(10 << 20));
    let files: [(&str, &[u8], &str); 21] = [
        ("empty.csv", b"", "--dims x"),
        ("header.csv", b"x,y\n", "--dims x"),
        ("ragged.csv", b"x,y\n1,2\n3\n", "--dims x"),
        ("quote.csv", b"x,y\n1,\"2\n3,4\n", "--dims x"),
        ("utf8.csv", b"x,y\n1,a\n2,\xff\n", "--dims x"),
        ("twice.csv", b"x,y\n1,2\n1,3\n", "--dims x"),
        ("names.csv", b"x,x\n1,2\n", "--dims x"),
        ("null.csv", b"x,y\n1,2\n,3\n", "--dims x"),
        ("nan.csv", b"x,y\n1.5,2\nNaN,3\n", "--dims x"),
        ("ascii.csv", "x,y\na,2\n\u{e9},3\n".as_bytes(), "--dims x"),
        ("column.csv", b"x,y\n1,2\n", "--dims z"),
        ("kept.csv", b"x,y\n1,2\n", "--dims x --columns x,z"),
        ("zone.csv", b"x,y\n1,2024-01-01T00:00:00\n", "--dims x --time-zone Mars/Olympus"),
        ("delimiter.csv", b"x;y\n1;2\n", "--dims x"),
        ("domain.csv", b"x,y\n1,2\n5,2\n", "--dims x --domain x=0:3"),
        ("tile.csv", b"x,y\n1,2\n5,2\n", "--dims x --tile x=0"),
        ("nested.jsonl", b"{\"x\": 1, \"o\": {\"a\": 1}}\n", "--dims x"),
        ("json.jsonl", b"{\"x\": 1}\n[1]\n", "--dims x"),
        ("key.jsonl", b"{\"x\": 1, \"x\": 2}\n", "--dims x"),
        ("long.jsonl", long.as_bytes(), "--dims x"),
        ("none.parquet", b"PAR1 none", "--dims x"),
    ];
    for (name, content, options) in files {
        session.file(name, content);
        session.show(&format!("import {name} array {options}"));
        assert!(!session.path("array").exists(), "{name}");
    }
    session.show("import nothing.csv array --dims x");
    session.show("import . array --dims x --format csv");
    session.show("import column.csv array");
    session.show("import column.csv column.csv --dims x");
    session.show("import column.txt array --dims x");
    let left = std::fs::read_dir(session.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.contains("array")).collect();
    assert!(left.is_empty(), "{left:?}");
    session.check("import_errors");
}

#[test]
fn a_column_that_turns_into_text_is_warned_of_with_its_line() {
    let mut session = Session::new();
    session.file("mixed.csv", "x,y\n1,2\n2,none\n3,4\n");
    session.show("import mixed.csv text --dims x --at 1000");
    session.show("import mixed.csv numbers --dims x --na none --at 1000");
    session.show("read numbers --format csv");
    session.check("import_mixed");
}

#[test]
fn chunks_appear_together_or_as_they_are_written() {
    let session = Session::new();
    let mut text = String::from("x,a\n");
    let row_count = 200_000;
    for row in 0..row_count {
        text.push_str(&format!("{},{row}\n", (row * 7919_u64) % row_count));
    }
    session.file("long.csv", &text);
    let cells = |array: &str| session.text(&format!("aggregate {array} count sum:a min:x max:x --json"));
    session.text("import long.csv one --dims x");
    let told: serde_json::Value =
        serde_json::from_str(&session.text("import long.csv several --dims x --memory 4MiB --json")).unwrap();
    let count = told["fragments"].as_array().unwrap().len();
    assert!(count > 1, "{told}");
    assert_eq!(cells("several"), cells("one"));
    let commits = std::fs::read_dir(session.path("several/__commits")).unwrap().count();
    assert_eq!(commits, 1, "one commit shows all");
    session.text("fsck several --data");
    session.text("import long.csv going --dims x --memory 4MiB --as-it-goes");
    assert_eq!(cells("going"), cells("one"));
    assert!(!session.path(".going.import.json").exists());
    // A coordinate that comes twice, in chunks that are far apart.
    session.file("twice.csv", format!("{text}7,1\n"));
    let problem = session.problem("import twice.csv twice --dims x --memory 4MiB", 1);
    assert!(
        problem.contains("twice.csv: line 200002: the same coordinates as twice.csv: line "),
        "{problem}"
    );
    assert!(!session.path("twice").exists());
}

#[test]
fn an_import_that_stopped_goes_on_without_a_row_twice() {
    let session = Session::new();
    let mut text = String::from("x,a\n");
    for row in 0..200_000_u64 {
        text.push_str(&format!("{row},{row}\n"));
    }
    // Its last chunk has a coordinate twice, so that it stops behind the others.
    session.file("long.csv", format!("{text}199999,1\n"));
    session.problem("import long.csv array --dims x --domain x=0:999999 --memory 4MiB --as-it-goes", 1);
    let count = |array: &str| {
        let told = session.text(&format!("aggregate {array} count --json"));
        told.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().unwrap()
    };
    let before = count("array");
    assert!(before > 0 && before < 200_000, "{before}");
    let problem = session.problem("import long.csv array --memory 4MiB --as-it-goes", 1);
    assert!(problem.contains("--resume"), "{problem}");
    session.file("long.csv", &text);
    let problem = session.problem("import long.csv array --memory 4MiB --resume", 1);
    assert!(problem.contains("have changed since"), "{problem}");
    // The file as it would be had it not been changed: the state tells its length and time.
    let state = session.path(".array.import.json");
    let mut told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&state).unwrap()).unwrap();
    let metadata = std::fs::metadata(session.path("long.csv")).unwrap();
    let modified =
        metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    told["files"][0]["byte_len"] = metadata.len().into();
    told["files"][0]["modified"] = modified.into();
    std::fs::write(&state, told.to_string()).unwrap();
    session.text("import long.csv array --memory 4MiB --resume");
    assert_eq!(count("array"), 200_000);
    assert!(!state.exists());
    let problem = session.problem("import long.csv array --resume", 1);
    assert!(problem.contains("nothing to go on with"), "{problem}");
}

#[test]
fn every_format_of_read_is_imported_with_the_same_cells() {
    let session = Session::new();
    session.file(
        "kinds.json",
        r#"{"array_type": "sparse", "dims": [{"name": "x", "type": "INT32", "domain": [0, 99], "tile": 10}],
            "attrs": [{"name": "c", "type": "UINT8", "enumeration": "colors", "nullable": true},
                      {"name": "d", "type": "DATETIME_DAY"}, {"name": "h", "type": "DATETIME_HR"},
                      {"name": "t", "type": "DATETIME_US", "nullable": true}, {"name": "s", "type": "STRING_UTF8"},
                      {"name": "b", "type": "BOOL"}, {"name": "l", "type": "INT16", "cell_val_num": "var"},
                      {"name": "u", "type": "UINT64"}, {"name": "f", "type": "FLOAT32"}],
            "enumerations": [{"name": "colors", "type": "STRING_UTF8", "values": ["red", "blue"]}]}"#,
    );
    session.file(
        "kinds.jsonl",
        r#"{"x": 1, "c": "blue", "d": "2024-02-29", "h": "2024-02-29T05", "t": "2024-02-29T05:06:07.000001", "s": "é", "b": true, "l": [1, -2], "u": 18446744073709551615, "f": 0.1}
{"x": 2, "c": null, "d": "1969-12-31", "h": "1969-12-31T23", "t": null, "s": "", "b": false, "l": [], "u": 0, "f": -1.5}
"#,
    );
    session.text("create kinds --schema kinds.json");
    session.text("write kinds --from kinds.jsonl");
    let cells = |array: &str| session.text(&format!("read {array} --format jsonl"));
    for ending in ["arrow", "arrows", "parquet"] {
        session.text(&format!("read kinds -o kinds.{ending}"));
        session.text(&format!("import kinds.{ending} {ending} --dims x --enum c"));
        assert_eq!(cells(ending), cells("kinds"), "{ending}");
        let schema: serde_json::Value =
            serde_json::from_str(&session.text(&format!("schema {ending} --json"))).unwrap();
        assert_eq!(schema["attrs"][2]["type"], "DATETIME_HR", "{ending}");
    }
    // Into an array that is there, every type that text can tell.
    session.text("read kinds --select x,c,d,h,t,s,b,u,f -o kinds.csv");
    session.file(
        "less.json",
        std::fs::read_to_string(session.path("kinds.json"))
            .unwrap()
            .replace(r#"{"name": "l", "type": "INT16", "cell_val_num": "var"},"#, "")
            .replace(r#""s", "type": "STRING_UTF8""#, r#""s", "type": "STRING_UTF8", "nullable": true"#),
    );
    session.text("create less --schema less.json");
    session.text("import kinds.csv less");
    let csv = |array: &str| session.text(&format!("read {array} --select x,c,d,h,t,b,u,f --format csv"));
    assert_eq!(csv("less"), csv("kinds"));
}

#[test]
fn arrays_of_a_numpy_file_that_differ_in_shape_are_named_and_columns_pick_those_of_one() {
    let session = Session::new();
    let npy = |descr: &str, shape: &str, values: usize, is_fortran: &str| {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {is_fortran}, 'shape': {shape}, }}");
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        (1..=values as i32).for_each(|value| file.extend(value.to_le_bytes()));
        file
    };
    let members = [
        ("height", npy("<i4", "(2, 3)", 6, "False")),
        ("depth", npy("<i4", "(2, 3)", 6, "False")),
        ("turned", npy("<i4", "(2, 3)", 6, "True")),
        ("lat", npy("<i4", "(2,)", 2, "False")),
        ("lon", npy("<i4", "(2,)", 2, "False")),
        ("name", npy("<U1", "(3,)", 3, "False")),
    ];
    let file = std::fs::File::create(session.path("many.npz")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    for (name, content) in &members {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut archive, content).unwrap();
    }
    archive.finish().unwrap();
    let kept = "--columns height,depth,turned,lat,lon";
    let problem = session.problem(&format!("import many.npz all {kept}"), 1);
    let told = "height [2, 3], depth [2, 3], turned [2, 3] in Fortran order, lat [2], lon [2]; those of one shape and order \
                become one array: pick them with --columns, as with --columns height,depth";
    assert!(problem.contains(told), "{problem}");
    let problem = session.problem("import many.npz all", 1);
    assert!(problem.contains("name.npy: values of type <U1 are no numbers"), "{problem}");
    session.text("import many.npz grid --columns height,depth");
    assert_eq!(
        session.text("read grid --format csv --range dim_0=1:1 --range dim_1=2:2"),
        "dim_0,dim_1,height,depth\n1,2,6,6\n"
    );
    session.text("import many.npz table --sparse --dims lat --columns lat,lon --rename name=label");
    assert_eq!(session.text("read table --format csv"), "lat,lon\n1,1\n2,2\n");
    let problem = session.problem("import many.npz other --sparse --dims lat --columns lat,height", 1);
    assert!(problem.contains("height [2, 3], lat [2]"), "{problem}");
}

#[test]
fn numpy_files_and_grids_of_rows_become_dense_arrays() {
    let session = Session::new();
    session.file(
        "grid.json",
        r#"{"array_type": "dense", "dims": [{"name": "y", "type": "UINT64", "domain": [0, 299], "tile": 256},
            {"name": "x", "type": "UINT64", "domain": [0, 399], "tile": 256}], "attrs": [{"name": "value", "type": "INT32"}]}"#,
    );
    let mut rows = String::from("y,x,value\n");
    for cell in 0..120_000 {
        rows.push_str(&format!("{},{},{}\n", cell / 400, cell % 400, cell * 31 % 1000));
    }
    session.file("rows.csv", &rows);
    session.text("create grid --schema grid.json");
    session.text("write grid --from rows.csv");
    let sums =
        |array: &str| session.text(&format!("aggregate {array} count sum:value min:value max:value --json"));
    let cells = |array: &str| session.text(&format!("read {array} --select value --format csv"));
    for layout in ["row", "col"] {
        session.text(&format!("read grid --select value --layout {layout} --format npy -o {layout}.npy"));
        session.text(&format!("import {layout}.npy npy_{layout} --memory 3MiB"));
        assert_eq!(cells(&format!("npy_{layout}")), cells("grid"), "{layout}");
        session.text(&format!("import {layout}.npy grid"));
    }
    assert_eq!(sums("grid"), sums("npy_row"));
    for memory in ["512MiB", "4MiB"] {
        session.text(&format!("import rows.csv rows_{memory} --dims y,x --dense --memory {memory}"));
        assert_eq!(cells(&format!("rows_{memory}")), cells("grid"), "{memory}");
    }
    session.file("holes.csv", "y,x,v\n0,0,1\n1,1,4\n");
    session.text("import holes.csv holes --dims y,x --dense");
    assert_eq!(
        session.text("read holes --format csv"),
        "y,x,v\n0,0,1\n0,1,-9223372036854775808\n1,0,-9223372036854775808\n1,1,4\n"
    );
    session.file("far.csv", "y,x,v\n0,0,1\n99999999,1,4\n");
    let problem = session.problem("import far.csv far --dims y,x --dense", 1);
    assert!(problem.contains("2 rows in a grid of 200000000 cells"), "{problem}");
    let problem = session.problem("import row.npy other --dims y", 2);
    assert!(problem.contains("--dims names 1 axes; the file has 2"), "{problem}");
}
