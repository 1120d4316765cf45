//! `smalti info`, `smalti fragments` and `smalti inspect`.

use crate::fixtures::{grid, points};
use crate::session::Session;

#[test]
fn info_says_what_an_array_is() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.text("create empty --schema points.json");
    for array in ["grid", "points", "empty"] {
        session.show(&format!("info {array}"));
        session.show(&format!("info {array} --json"));
    }
    session.show("info grid --at 100 --json");
    session.check("info");
}

#[test]
fn fragments_are_rows() {
    let mut session = Session::new();
    grid(&session);
    points(&session);
    session.text("create empty --schema points.json");
    for array in ["grid", "points", "empty"] {
        session.show(&format!("fragments {array}"));
        session.show(&format!("fragments {array} --json"));
    }
    session.show("fragments points --since 150 --json");
    session.check("fragments");
}

/// An array of two cells.
fn tiny(session: &Session) {
    session.file(
        "tiny.json",
        r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT32", "domain": [1, 9], "tile": 3}], "attrs": [{"name": "a", "type": "INT8", "filters": []}]}"#,
    );
    session.file("tiny.csv", "d,a\n2,1\n5,2\n");
    session.text("create tiny --schema tiny.json");
    session.text("write tiny --from tiny.csv --at 100");
}

#[test]
fn inspect_explains_files() {
    let mut session = Session::new();
    tiny(&session);
    // Names that do not change, in the same folders.
    std::fs::copy(session.schema_file("tiny"), session.path("tiny/__schema/copy")).unwrap();
    session.show("inspect tiny/__schema/copy");
    session.show("inspect tiny/__schema/copy --json");
    session.show("inspect tiny/__schema/copy --all");
    std::fs::remove_file(session.path("tiny/__schema/copy")).unwrap();
    let fragment = session.fragment("tiny");
    let name = fragment.file_name().unwrap().to_str().unwrap().to_string();
    let metadata = session.text(&format!("inspect tiny/__fragments/{name}/__fragment_metadata.tdb"));
    for words in ["fragment metadata", "footer", "R-tree", "non_empty_domain"] {
        assert!(metadata.contains(words), "{words} in {metadata}");
    }
    let data = session.text(&format!("inspect tiny/__fragments/{name}/a0.tdb"));
    assert!(data.contains("data file"), "{data}");
    // What follows a whole tile is shown, and is no error.
    let whole = std::fs::read(fragment.join("a0.tdb")).unwrap();
    std::fs::copy(fragment.join("a0.tdb"), session.path("a0.tdb")).unwrap();
    session.show("inspect a0.tdb --all");
    session.file("a0.tdb", [&whole[..], b"more"].concat());
    session.show("inspect a0.tdb");
    session.file("lines.vac", "/__fragments/__1_1_0123_22\n\nnothing\n");
    session.show("inspect lines.vac");
    session.show("inspect tiny.csv");
    session.show("inspect nothing");
    session.check("inspect");
}

#[test]
fn inspect_explains_a_damaged_file_up_to_the_damage() {
    let mut session = Session::new();
    tiny(&session);
    let schema = std::fs::read(session.schema_file("tiny")).unwrap();
    std::fs::create_dir(session.path("__schema")).unwrap();
    // Cut in the header of the tile; cut in its data; a filter of a type that nobody knows.
    session.file("__schema/header", &schema[..25]);
    session.show("inspect __schema/header");
    session.file("__schema/data", &schema[..schema.len() - 9]);
    session.show("inspect __schema/data");
    let mut filter = schema.clone();
    filter[42] = 99;
    session.file("__schema/filter", &filter);
    session.show("inspect __schema/filter");
    session.show("inspect __schema/filter --json");
    let fragment = session.fragment("tiny");
    let metadata = fragment.join("__fragment_metadata.tdb");
    let mut bytes = std::fs::read(&metadata).unwrap();
    let end = bytes.len();
    bytes[end - 8..].fill(0xff);
    std::fs::write(&metadata, &bytes).unwrap();
    let name = fragment.file_name().unwrap().to_str().unwrap().to_string();
    let line = format!("inspect tiny/__fragments/{name}/__fragment_metadata.tdb");
    let output = session.output_of(&line, b"");
    assert_eq!(output.status.code(), Some(1));
    let (text, problem) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(problem.contains("footer length"), "{problem}");
    assert!(text.contains("of which the footer says nothing") && text.contains("unexplained"), "{text}");
    session.check("inspect_damage");
}

#[test]
fn what_is_left_of_an_array_without_its_schema_is_no_free_path() {
    let session = Session::new();
    grid(&session);
    std::fs::remove_file(session.schema_file("grid")).unwrap();
    for command in ["info", "read", "schema"] {
        let problem = session.problem(&format!("{command} grid"), 1);
        assert!(problem.contains("parts of an array are here, but no schema"), "{problem}");
    }
}
