//! Everything that can be wrong with what a command is given: one line that names the field and what it takes, told before any
//! data is read.

use crate::session::Session;

/// A sparse array `p`, a dense one `d` and a group `g`, without the files of their cells: a command that looked for cells would
/// tell that they are missing.
fn session() -> Session {
    let session = Session::new();
    session.file(
        "p.json",
        r#"{"array_type": "sparse",
        "dims": [{"name": "lat", "type": "FLOAT64", "domain": [-90, 90], "tile": 30}, {"name": "n", "type": "INT32", "domain": [0, 99], "tile": 10}],
        "enumerations": [{"name": "colors", "type": "STRING_UTF8", "cell_val_num": "var", "ordered": false, "values": ["red", "blue"]}],
        "attrs": [{"name": "name", "type": "STRING_UTF8", "cell_val_num": "var", "filters": []}, {"name": "score", "type": "FLOAT32", "nullable": true, "filters": []},
                  {"name": "day", "type": "DATETIME_DAY", "filters": []}, {"name": "pair", "type": "UINT8", "cell_val_num": 2, "filters": []},
                  {"name": "blob", "type": "BLOB", "cell_val_num": "var", "filters": []}, {"name": "color", "type": "UINT8", "enumeration": "colors", "filters": []}]}"#,
    );
    session.file(
        "d.json",
        r#"{"array_type": "dense",
        "dims": [{"name": "y", "type": "INT32", "domain": [1, 4], "tile": 2}, {"name": "x", "type": "INT32", "domain": [1, 3], "tile": 2}],
        "attrs": [{"name": "a", "type": "INT32", "filters": []}], "current_domain": [[1, 2], [1, 2]]}"#,
    );
    let good = r#"{"lat": 48.85, "n": 7, "name": "Paris", "score": 0.1, "day": "2024-02-29", "pair": [1, 255], "blob": {"hex": "00ff"}, "color": "red"}"#;
    session.file("p.jsonl", good);
    for (name, from, to) in [
        ("n_text", "\"n\": 7", "\"n\": \"x\""),
        ("n_outside", "\"n\": 7", "\"n\": 100"),
        ("lat_nan", "48.85", "\"NaN\""),
        ("name_null", "\"Paris\"", "null"),
        ("pair_short", "[1, 255]", "[1]"),
        ("color_new", "\"red\"", "\"pink\""),
        ("unknown", "\"n\": 7", "\"n\": 7, \"q\": 1"),
        ("missing", "\"score\": 0.1, ", ""),
    ] {
        session.file(&format!("{name}.jsonl"), good.replace(from, to));
    }
    session.file("d.csv", "y,x,a\n1,1,1\n1,2,2\n2,1,3\n2,2,4\n");
    session.text("create p --schema p.json");
    session.text("create d --schema d.json");
    session.text("group create g");
    session.text("group add g d --name there");
    session.text("meta p put here INT32 5");
    session.text("write p --from p.jsonl");
    session.text("write d --from d.csv");
    for array in ["p", "d"] {
        for entry in std::fs::read_dir(session.fragment(array)).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap() != "__fragment_metadata.tdb" {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
    assert!(
        session.problem("read p", 1).contains("a0.tdb") || session.problem("read p", 1).contains("d0.tdb")
    );
    session
}

/// Lines, the exit status, and words of the message.
const READS: &[(&str, i32, &[&str])] = &[
    // Unknown fields, and fields named twice.
    ("--select q", 1, &["\"q\"", "lat, n, name, score"]),
    ("--select lat,lat", 2, &["\"lat\"", "twice"]),
    ("--select '[1]'", 2, &["--select", "names"]),
    // Ranges.
    ("--range q=1:2", 1, &["\"q\"", "lat, n"]),
    ("--range n", 2, &["--range n", "d=1:10"]),
    ("--range n=5:1", 2, &["n=5:1", "inverted", "lower end first"]),
    ("--range n=200:300", 1, &["\"n\"", "200:300", "domain 0:99"]),
    ("--range n=200:", 2, &["n=200:", "domain 0:99"]),
    ("--range lat=nan:1", 2, &["lat=nan:1", "NaN"]),
    ("--range lat=95:99", 1, &["\"lat\"", "95", "domain -90"]),
    ("--range n=a:b", 2, &["n=a:b", "\"a\"", "INT32"]),
    ("--range n=1.5:2", 2, &["1.5", "INT32"]),
    ("--range n=1:99999999999", 2, &["99999999999", "INT32"]),
    ("--ranges-json '{\"n\": [[5, 1]]}'", 2, &["n: [5,1]", "inverted"]),
    ("--ranges-json '{\"n\": [[200, 300]]}'", 1, &["\"n\"", "200:300", "domain 0:99"]),
    ("--ranges-json '{\"q\": [[5, 1]]}'", 1, &["\"q\"", "lat, n"]),
    ("--ranges-json '{\"lat\": [[\"NaN\", 1]]}'", 2, &["lat", "NaN"]),
    ("--ranges-json '{\"n\": [[\"a\", 1]]}'", 2, &["n: [\"a\",1]", "INT32"]),
    ("--ranges-json '{\"n\": [[1]]}'", 2, &["n: [1]", "two values"]),
    ("--ranges-json '{\"n\": 5}'", 2, &["n:", "list of ranges"]),
    ("--ranges-json '[]'", 2, &["--ranges-json", "{\"d\": [[1, 10]]}"]),
    ("--ranges-json '{'", 2, &["--ranges-json", "no JSON"]),
    // Conditions.
    ("--where 'q > 1'", 1, &["\"q\"", "lat, n, name"]),
    ("--where 'score > true'", 1, &["\"score\"", "FLOAT32"]),
    ("--where 'name > 5'", 1, &["\"name\"", "single quotes"]),
    ("--where 'blob > 5'", 1, &["\"blob\"", "BLOB"]),
    ("--where 'pair > 5'", 1, &["\"pair\"", "is null"]),
    ("--where 'color < 5 or color > 3.5'", 1, &["\"color\""]),
    ("--where 'day > true'", 1, &["\"day\"", "DATETIME_DAY"]),
    ("--where 'n >'", 1, &["character 4", "a value"]),
    ("--where ''", 1, &["at character"]),
    // Budgets, times and keys.
    ("--memory 1", 1, &["1 bytes", "bytes would do"]),
    ("--since 20 --at 10", 1, &["20 to 10", "inverted"]),
    ("--key abc", 2, &["--key", "64 hexadecimal digits"]),
    ("--key 0123456789abcdef0123456789abcdef", 1, &["not encrypted", "without a key"]),
    ("--key-file nofile", 1, &["nofile"]),
];

#[test]
fn reads_aggregates_and_explanations_are_refused_alike() {
    let session = session();
    for (options, status, words) in READS {
        for command in ["read p", "aggregate p count sum:n", "explain p", "explain p --analyze"] {
            let takes_fields = !command.starts_with("aggregate");
            if options.starts_with("--select") && !takes_fields {
                continue;
            }
            let line = format!("{command} {options}");
            let problem = session.problem(&line, *status);
            let missing: Vec<_> = words.iter().filter(|word| !problem.contains(**word)).collect();
            assert!(missing.is_empty(), "{line}: {problem}: {missing:?}");
        }
    }
}

#[test]
fn other_commands_are_refused_with_what_they_take() {
    let session = session();
    for (line, status, words) in [
        ("read d --timestamps", 1, &["__timestamps"][..]),
        ("read d --range y=7:9", 1, &["\"y\"", "7:9", "domain 1:4"]),
        ("read p --format npy", 2, &["npy", "dense"]),
        ("read p -o out.xyz", 2, &["out.xyz", "--format"]),
        ("read g", 1, &["a group is here"]),
        ("aggregate p sum", 1, &["sum needs a field", "lat, n, score"]),
        ("aggregate p sum:q", 1, &["\"q\"", "lat, n, name"]),
        ("aggregate p mean:name", 1, &["\"name\"", "STRING_UTF8", "lat, n, score"]),
        ("aggregate p min:blob", 1, &["\"blob\"", "BLOB", "min can be asked of lat, n, score"]),
        ("aggregate p median:n", 2, &["\"median\"", "count, sum, min, max, mean, null_count"]),
        ("delete p --where 'q > 1'", 1, &["\"q\"", "lat, n, name"]),
        ("delete p --where 'name > 5'", 1, &["\"name\"", "single quotes"]),
        ("delete p --where 'score is not null'", 1, &["\"score\"", "name the values"]),
        ("delete p --where 'n >'", 1, &["character 4"]),
        ("delete d --where 'a > 1'", 1, &["dense", "fill values"]),
        ("delete p --where 'n > 1' --key abc", 2, &["--key"]),
        ("evolve p", 2, &["--help"]),
        ("evolve p --drop q", 1, &["\"q\"", "name, score, day"]),
        (
            "evolve p --add '{\"name\": \"name\", \"type\": \"INT32\"}'",
            1,
            &["\"name\"", "names of their own"],
        ),
        ("evolve p --add '{\"name\": \"z\", \"type\": \"INT33\"}'", 2, &["\"INT33\"", "INT32, INT64"]),
        ("evolve p --add '{\"name\": \"z\"}'", 2, &["\"type\" is missing"]),
        (
            "evolve p --add '{\"name\": \"z\", \"type\": \"INT8\", \"enumeration\": \"no\"}'",
            1,
            &["\"z\"", "\"no\"", "add it first"],
        ),
        ("evolve p --drop-enumeration no", 1, &["\"no\"", "colors"]),
        ("evolve p --drop-enumeration colors", 1, &["\"colors\"", "in use by attribute \"color\""]),
        ("evolve p --extend-enumeration no=a", 1, &["\"no\"", "colors"]),
        ("evolve p --extend-enumeration colors=red", 1, &["\"colors\"", "\"red\" twice"]),
        ("evolve p --add-enumeration colors=a", 1, &["\"colors\"", "extend it"]),
        ("evolve p --current-domain q=1:2", 1, &["\"q\"", "lat, n"]),
        ("evolve p --current-domain n=1:300", 1, &["\"n\"", "0:99"]),
        ("evolve d --current-domain y=2:2", 1, &["\"y\"", "1:2"]),
        ("evolve p --at 5 --drop name", 1, &["must be later"]),
        ("write p --from nofile.csv", 1, &["nofile.csv"]),
        ("write p --from p.json", 2, &["p.json", "--format csv, jsonl"]),
        ("write p --from unknown.jsonl", 1, &["line 1", "\"q\"", "lat, n, name"]),
        ("write p --from n_text.jsonl", 1, &["line 1", "\"n\"", "\"x\"", "INT32"]),
        ("write p --from n_outside.jsonl", 1, &["100", "\"n\"", "domain 0:99"]),
        ("write p --from lat_nan.jsonl", 1, &["NaN", "\"lat\"", "domain -90"]),
        ("write p --from name_null.jsonl", 1, &["line 1", "\"name\"", "not nullable"]),
        ("write p --from pair_short.jsonl", 1, &["\"pair\"", "2 of type UINT8"]),
        (
            "write p --from color_new.jsonl",
            1,
            &["\"color\"", "\"pink\"", "\"colors\"", "--extend-enumeration"],
        ),
        ("write p --from missing.jsonl", 1, &["\"score\" is missing"]),
        ("write p --from p.jsonl --range n=1:2", 2, &["--range", "dense"]),
        ("write d --from d.csv --range q=1:1", 1, &["\"q\"", "y, x"]),
        ("write d --from d.csv --range y=3:4", 1, &["3:4", "1:2", "\"y\""]),
        ("write d --from d.csv --range y=2:1", 2, &["y=2:1", "inverted"]),
        ("write d --from d.csv --range y=1:1 --range y=2:2", 2, &["\"y\"", "one range"]),
        ("write d --from d.csv --global-order", 2, &["--global-order", "sparse"]),
        ("meta p get k", 1, &["\"k\"", "there is here"]),
        ("meta d get k", 1, &["\"k\"", "none"]),
        ("meta p put k INT33 5", 2, &["\"INT33\"", "INT32, INT64"]),
        ("meta p put k INT8 300", 1, &["300", "INT8"]),
        ("meta nothing", 1, &["nothing"]),
        ("group add g nothing", 1, &["nothing", "neither an array nor a group"]),
        ("group add g p --name there", 1, &["\"there\"", "already"]),
        ("group remove g zz", 1, &["\"zz\"", "it has there"]),
        ("group list p", 1, &["an array is here"]),
        ("group create g", 1, &["already"]),
        ("ls nothing", 1, &["nothing", "no such folder"]),
        ("ls p.json", 1, &["p.json", "no such folder"]),
        ("schema p --since 9 --at 5", 1, &["9 to 5"]),
    ] {
        let problem = session.problem(line, status);
        let missing: Vec<_> = words.iter().filter(|word| !problem.contains(**word)).collect();
        assert!(missing.is_empty(), "{line}: {problem}: {missing:?}");
    }
}

#[test]
fn wrong_values_of_options_are_wrong_usage_everywhere() {
    let session = session();
    for command in ["read p", "aggregate p count", "explain p", "delete p --where 'n > 1'"] {
        for option in [
            "--memory 5apples",
            "--memory 0",
            "--threads 0",
            "--threads many",
            "--sync sometimes",
            "--at soon",
        ] {
            let line = format!("{command} {option}");
            let output = session.output_of(&line, b"");
            let said = String::from_utf8(output.stderr).unwrap();
            let (name, value) = option.split_once(' ').unwrap();
            assert_eq!(output.status.code(), Some(2), "{line}: {said}");
            assert!(said.contains(name) && said.contains(value), "{line}: {said}");
        }
    }
}
