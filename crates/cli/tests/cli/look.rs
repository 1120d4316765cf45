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

#[test]
fn inspect_explains_files() {
    let mut session = Session::new();
    session.file(
        "tiny.json",
        r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT32", "domain": [1, 9], "tile": 3}], "attrs": [{"name": "a", "type": "INT8"}]}"#,
    );
    session.file("tiny.csv", "d,a\n2,1\n5,2\n");
    session.text("create tiny --schema tiny.json");
    session.text("write tiny --from tiny.csv --at 100");
    // Names that do not change, in the same folders.
    std::fs::copy(session.schema_file("tiny"), session.path("tiny/__schema/copy")).unwrap();
    session.show("inspect tiny/__schema/copy");
    session.show("inspect tiny/__schema/copy --json");
    std::fs::remove_file(session.path("tiny/__schema/copy")).unwrap();
    let fragment = session.fragment("tiny");
    let name = fragment.file_name().unwrap().to_str().unwrap().to_string();
    let metadata = session.text(&format!("inspect tiny/__fragments/{name}/__fragment_metadata.tdb"));
    for words in ["fragment metadata", "footer", "R-tree", "non_empty_domain"] {
        assert!(metadata.contains(words), "{words} in {metadata}");
    }
    let data = session.text(&format!("inspect tiny/__fragments/{name}/a0.tdb"));
    assert!(data.contains("data file"), "{data}");
    session.show("inspect tiny.csv");
    session.show("inspect nothing");
    session.check("inspect");
}
