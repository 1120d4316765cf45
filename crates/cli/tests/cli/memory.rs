//! A process that may not take more address space than its budget asks for, and what any process takes.
#![cfg(target_os = "linux")]

use crate::session::Session;
use std::io::Write;
use std::process::Command;

/// Cells of 8 bytes along each side: 392 MB in all.
const SIDE: u64 = 7000;
/// What the process may take in all, in KiB: less than the array, more than its budget, its threads and their heaps.
const ADDRESS_SPACE_KIB: u64 = 330_000;

#[test]
fn a_read_of_more_than_the_address_space_holds_goes_through() {
    let session = Session::new();
    session.file(
        "big.json",
        format!(
            r#"{{"array_type": "dense",
            "dims": [{{"name": "y", "type": "INT32", "domain": [0, {end}], "tile": 200}},
                     {{"name": "x", "type": "INT32", "domain": [0, {end}], "tile": 500}}],
            "attrs": [{{"name": "a", "type": "INT64", "filters": {{"filters": [{{"filter": "zstd", "level": 1}}]}}}}]}}"#,
            end = SIDE - 1
        ),
    );
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({SIDE}, {SIDE}), }}");
    let header = format!("{header:<117}\n");
    let mut file = std::fs::File::create(session.path("zeros.npy")).unwrap();
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(10 + header.len() as u64 + SIDE * SIDE * 8).unwrap();
    drop(file);
    session.text("create big --schema big.json");
    session.text("write big --from zeros.npy --sync none");
    let read = |memory: &str| {
        let program = env!("CARGO_BIN_EXE_smalti");
        let line = format!(
            "ulimit -v {ADDRESS_SPACE_KIB}; exec {program} read big --select a --threads 2 --memory {memory} --format npy -o copy.npy"
        );
        Command::new("sh").arg("-c").arg(line).current_dir(session.path("")).output().unwrap()
    };
    let output = read("32MiB");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (copy, zeros) = (session.path("copy.npy"), session.path("zeros.npy"));
    assert_eq!(std::fs::metadata(copy).unwrap().len(), std::fs::metadata(zeros).unwrap().len());
}
