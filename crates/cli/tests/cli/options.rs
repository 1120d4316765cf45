//! `--threads`, `--sync`, `--memory` and `file://`.

use crate::fixtures::{grid, points};
use crate::session::Session;

#[test]
fn options_for_all_commands_stand_anywhere() {
    let session = Session::new();
    session.file("grid.json", crate::fixtures::GRID);
    for (idx, sync) in ["full", "file", "none"].into_iter().enumerate() {
        session.text(&format!("--sync {sync} create a{idx} --schema grid.json --threads 1"));
        session.text(&format!("create b{idx} --schema grid.json --sync {sync} --threads 3 --memory 64MiB"));
    }
    grid(&session);
    points(&session);
    let dense = session.text("read grid --format jsonl");
    let sparse = session.text("read points --format jsonl");
    for options in
        ["--threads 1", "--threads 8", "--memory 1KiB", "--memory 4KiB", "--memory 2GiB --threads 2"]
    {
        assert_eq!(session.text(&format!("{options} read grid --format jsonl")), dense, "{options}");
        assert_eq!(session.text(&format!("read points --format jsonl {options}")), sparse, "{options}");
    }
}

#[test]
fn arrays_have_uris() {
    let session = Session::new();
    grid(&session);
    let uri = format!("file://{}", session.path("grid").display());
    assert_eq!(session.text(&format!("read {uri} --format csv")), session.text("read grid --format csv"));
    assert_eq!(session.text("read ./grid/ --format csv"), session.text("read grid --format csv"));
}

#[test]
fn no_progress_is_shown_where_standard_error_is_no_terminal() {
    let session = Session::new();
    grid(&session);
    for line in ["read grid -o o.parquet", "read grid", "write grid --from o.parquet"] {
        let output = session.output_of(line, b"");
        assert!(output.status.success() && output.stderr.is_empty(), "{line}");
    }
}
