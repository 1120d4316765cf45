//! `smalti scan`, and `smalti read --split`: a read that several processes share.

use crate::session::Session;

const SPARSE: &str = r#"{"array_type": "sparse", "capacity": 4,
 "dims": [{"name": "x", "type": "INT32", "domain": [0, 999], "tile": 10}],
 "attrs": [{"name": "n", "type": "INT64"}, {"name": "s", "type": "STRING_UTF8", "nullable": true}]}"#;

const DENSE: &str = r#"{"array_type": "dense",
 "dims": [{"name": "y", "type": "INT32", "domain": [0, 9], "tile": 2}, {"name": "x", "type": "INT32", "domain": [0, 9], "tile": 5}],
 "attrs": [{"name": "n", "type": "INT64"}]}"#;

/// Two arrays: cells of three writes that interleave, and a grid.
fn session() -> Session {
    let session = Session::new();
    session.file("sparse.json", SPARSE);
    session.file("dense.json", DENSE);
    session.text("create points --schema sparse.json");
    session.text("create grid --schema dense.json");
    for write in 0..3 {
        let rows = (0..20).map(|cell| {
            let x = cell * 3 + write;
            let s = if x % 4 == 0 { "null".to_owned() } else { format!("\"s{x}\"") };
            format!("{{\"x\": {x}, \"n\": {}, \"s\": {s}}}\n", 100 - x)
        });
        session.file("rows.jsonl", rows.collect::<String>());
        session.text(&format!("write points --from rows.jsonl --at {}", 1000 + write));
    }
    let rows =
        (0..100).map(|cell| format!("{{\"y\": {}, \"x\": {}, \"n\": {cell}}}\n", cell / 10, cell % 10));
    session.file("rows.jsonl", rows.collect::<String>());
    session.text("write grid --from rows.jsonl --at 1000");
    session
}

/// What the splits of a folder give, one process each.
fn together(session: &Session, array: &str, folder: &str) -> String {
    let files = std::fs::read_dir(session.path(folder)).unwrap();
    let mut files: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let read = |file: &String| session.text(&format!("read {array} --split {folder}/{file} --format jsonl"));
    files.iter().map(read).collect()
}

#[test]
fn the_splits_of_a_read_give_its_cells_in_other_processes() {
    let session = session();
    session.text("delete points --where 'n > 97' --at 2000");
    let reads = [
        ("points", ""),
        ("points", "--layout row --range x=5:44 --where 'n > 60' --select s,n"),
        ("points", "--timestamps --at 1001"),
        ("grid", ""),
        ("grid", "--layout col --range x=3:8 --range y=1:1 --range y=4:9"),
        ("grid", "--layout global --where 'n >= 50' --matching-only"),
    ];
    for (place, (array, options)) in reads.into_iter().enumerate() {
        let expected = session.text(&format!("read {array} {options} --format jsonl"));
        for count in [1, 3] {
            let folder = format!("parts_{place}_{count}");
            session.text(&format!("scan {array} {options} --splits {count} --into {folder}"));
            assert_eq!(together(&session, array, &folder), expected, "{count} splits of {array} {options}");
        }
    }
}

#[test]
fn a_scan_tells_what_metadata_knows() {
    let mut session = session();
    session.show("scan points");
    session.show("scan points --range x=5:44 --at 1000 --json");
    session.show("scan grid --select n --layout col --limit 7");
    session.show("scan grid --splits 2 --into parts");
    session.show("scan grid --splits 2");
    session.show("scan grid --output cells.csv");
    session.show("scan grid --splits 0 --into parts");
    session.show("scan grid --split parts/1.split");
    session.show("read grid --split parts/1.split --select n");
    session.show("read grid --split parts/2.split --format csv");
    session.show("read grid --split parts/1.split --format npy");
    session.show("read grid --split dense.json");
    session.show("read points --split parts/1.split");
    session.show("read grid --split parts/3.split");
    session.check("scan");
}
