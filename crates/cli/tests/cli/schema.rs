//! `smalti create` and `smalti schema`.

use crate::session::Session;

#[test]
fn a_dense_schema_of_three_keys_gets_the_defaults() {
    let mut session = Session::new();
    session.file(
        "dense.json",
        r#"{"array_type": "dense",
            "dims": [{"name": "d", "type": "INT32", "domain": [1, 4], "tile": 2}],
            "attrs": [{"name": "a", "type": "INT32"}]}"#,
    );
    session.show("create dense --schema dense.json");
    session.show("schema dense --json");
    session.show("schema dense");
    session.check("schema_dense");
}

#[test]
fn a_sparse_schema_of_three_keys_gets_the_defaults() {
    let mut session = Session::new();
    session.file(
        "sparse.json",
        r#"{"array_type": "sparse",
            "dims": [{"name": "key", "type": "STRING_ASCII"}, {"name": "t", "type": "DATETIME_MS", "domain": [0, 4102444800000]}],
            "attrs": [{"name": "v", "type": "STRING_UTF8", "cell_val_num": "var", "nullable": true},
                      {"name": "c", "type": "CHAR"}, {"name": "p", "type": "FLOAT64", "cell_val_num": 3}]}"#,
    );
    session.show("create sparse --schema sparse.json --json");
    session.show("schema sparse --json");
    session.show("schema sparse");
    session.check("schema_sparse");
}

#[test]
fn every_part_of_a_schema_comes_back() {
    let mut session = Session::new();
    session.file(
        "full.json",
        r#"{"array_type": "sparse", "version": 22, "capacity": 77, "cell_order": "hilbert", "tile_order": "col-major",
            "allows_dups": true,
            "coords_filters": {"max_chunk_size": 1000, "filters": [{"filter": "gzip", "level": 5}]},
            "offsets_filters": {"max_chunk_size": 65536, "filters": [{"filter": "positive_delta", "window": 512}, {"filter": "lz4", "level": -1}]},
            "validity_filters": {"max_chunk_size": 65536, "filters": []},
            "dims": [{"name": "x", "type": "FLOAT32", "domain": [-1.5, 0.1], "filters": {"max_chunk_size": 65536, "filters": [{"filter": "byteshuffle"}, {"filter": "zstd", "level": 9}]}},
                     {"name": "u", "type": "UINT64", "domain": [0, 18446744073709550999], "tile": 1000}],
            "attrs": [{"name": "a", "type": "INT64", "nullable": true, "fill_hex": "0100000000000000", "filters": [{"filter": "bit_width_reduction", "window": 256}, {"filter": "bzip2", "level": 1}]},
                      {"name": "two words", "type": "GEOM_WKT", "cell_val_num": "var"},
                      {"name": "b", "type": "UINT8", "cell_val_num": 4, "fill_hex": "01020304", "filters": [{"filter": "rle", "level": -1}, {"filter": "sha256"}]}],
            "current_domain": [[-1.0, 0.0], [5, 10]]}"#,
    );
    session.show("create full --schema full.json");
    session.show("schema full --json");
    session.show("schema full");
    let printed = session.text("schema full --json");
    session.file("again.json", &printed);
    session.text("create again --schema again.json");
    assert_eq!(session.text("schema again --json"), printed, "what is printed creates the same array");
    session.check("schema_full");
}

#[test]
fn wrong_schemas_name_the_place() {
    let mut session = Session::new();
    for (name, content) in [
        ("no_json", "{"),
        ("no_dims", r#"{"array_type": "dense", "attrs": []}"#),
        (
            "type",
            r#"{"array_type": "dense", "dims": [{"name": "d", "type": "INT33", "domain": [1, 2]}], "attrs": []}"#,
        ),
        ("key", r#"{"array_type": "dense", "dims": [], "attrs": [], "dimensions": []}"#),
        (
            "domain",
            r#"{"array_type": "dense", "dims": [{"name": "d", "type": "INT8", "domain": [1, 200]}], "attrs": []}"#,
        ),
        (
            "filter",
            r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "INT8", "domain": [1, 2]}],
                "attrs": [{"name": "a", "type": "INT8", "filters": [{"filter": "zip"}]}]}"#,
        ),
    ] {
        session.file(&format!("{name}.json"), content);
        session.show(&format!("create {name} --schema {name}.json"));
        assert!(!session.path(name).exists(), "{name}");
    }
    session.show("create a --schema missing.json");
    session.check("schema_errors");
}

#[test]
fn a_schema_comes_from_standard_input_and_nothing_is_overwritten() {
    let mut session = Session::new();
    let schema = r#"{"array_type": "sparse", "dims": [{"name": "d", "type": "STRING_ASCII"}], "attrs": [{"name": "a", "type": "INT8"}]}"#;
    session.show_with("create a --schema -", schema);
    session.show_with("create a --schema -", schema);
    session.check("schema_stdin");
}
