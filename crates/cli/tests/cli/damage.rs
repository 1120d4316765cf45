//! Damaged files: the message names file, structure, field and offset.

use crate::session::Session;
use std::path::Path;

fn flip(path: &Path, at: usize) {
    let mut content = std::fs::read(path).unwrap();
    content[at] ^= 0xff;
    std::fs::write(path, content).unwrap();
}

fn sparse(session: &Session) {
    session.file(
        "tiny.json",
        r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT32", "domain": [1, 9], "tile": 3}], "attrs": [{"name": "a", "type": "INT64", "filters": []}]}"#,
    );
    session.file("tiny.csv", "d,a\n2,1\n5,2\n");
    session.text("create tiny --schema tiny.json");
    session.text("write tiny --from tiny.csv --at 100");
}

#[test]
fn a_flipped_byte_is_reported_with_its_place() {
    let mut session = Session::new();
    sparse(&session);
    let schema = session.schema_file("tiny");
    let fragment = session.fragment("tiny");
    let metadata = fragment.join("__fragment_metadata.tdb");
    let metadata_len = std::fs::metadata(&metadata).unwrap().len() as usize;
    for (what, path, at) in [
        ("byte 0 of the schema, its version", schema.clone(), 0),
        ("byte 20 of the schema, the datatype of its tile", schema.clone(), 20),
        (
            "the last byte of the fragment metadata, the length of its footer",
            metadata.clone(),
            metadata_len - 1,
        ),
        ("byte 0 of the fragment metadata, in the R-tree", metadata.clone(), 0),
        ("byte 0 of a data file, the number of its chunks", fragment.join("a0.tdb"), 0),
        ("byte 8 of a data file, the length of its chunk", fragment.join("a0.tdb"), 8),
    ] {
        session.note(what);
        let whole = std::fs::read(&path).unwrap();
        flip(&path, at);
        session.show("read tiny --format csv --range d=2:4");
        std::fs::write(&path, whole).unwrap();
    }
    session.note("a file that is cut");
    let whole = std::fs::read(fragment.join("a0.tdb")).unwrap();
    std::fs::write(fragment.join("a0.tdb"), &whole[..10]).unwrap();
    session.show("read tiny --format csv");
    session.note("a file that is missing");
    std::fs::remove_file(fragment.join("a0.tdb")).unwrap();
    session.show("read tiny --format csv");
    session.check("damage");
}

#[test]
fn a_comparison_names_the_side_that_cannot_be_read() {
    let session = Session::new();
    sparse(&session);
    session.text("create other --schema tiny.json");
    session.text("write other --from tiny.csv --at 100");
    let data = session.fragment("other").join("a0.tdb");
    flip(&data, 0);
    for line in ["diff tiny other", "diff other tiny"] {
        let problem = session.problem(line, 2);
        assert!(problem.contains("DIR/other/__fragments/") && problem.contains("a0.tdb"), "{problem}");
    }
    let small = session.problem("diff tiny tiny --memory 1", 2);
    assert!(small.contains("DIR/tiny: "), "{small}");
    session.file(
        "wide.json",
        r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT64", "domain": [1, 9], "tile": 3}], "attrs": [{"name": "a", "type": "INT64"}]}"#,
    );
    session.text("create wide --schema wide.json");
    let problem = session.problem("diff tiny wide", 2);
    assert!(problem.contains("tiny and wide: the dimensions differ"), "{problem}");
}

#[test]
fn no_flipped_byte_makes_it_panic() {
    let session = Session::new();
    sparse(&session);
    let fragment = session.fragment("tiny");
    for path in
        [session.schema_file("tiny"), fragment.join("__fragment_metadata.tdb"), fragment.join("d0.tdb")]
    {
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(17.max(whole.len() / 40)) {
            flip(&path, at);
            let output = session.output_of("read tiny --format csv", b"");
            let problem = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{} {at}: {problem}", path.display());
            assert!(problem.lines().count() <= 1, "{} {at}: {problem}", path.display());
            std::fs::write(&path, &whole).unwrap();
        }
    }
}
