//! Long work that is stopped by signals, and what it tells of itself.
#![cfg(unix)]

use crate::fixtures::grid;
use crate::session::{Session, words};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Cells of one byte along each side.
const SIDE: usize = 6000;

/// After this time a command is taken for one that never ends, however busy the machine is.
const NEVER_ENDS: Duration = Duration::from_secs(300);

/// A dense array that takes seconds to print.
fn big() -> Session {
    let session = Session::new();
    let domain = format!("[0, {}]", SIDE - 1);
    session.file(
        "big.json",
        format!(
            r#"{{"array_type": "dense",
            "dims": [{{"name": "y", "type": "INT32", "domain": {domain}, "tile": 500}},
                     {{"name": "x", "type": "INT32", "domain": {domain}, "tile": 500}}],
            "attrs": [{{"name": "a", "type": "UINT8", "filters": []}}]}}"#
        ),
    );
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({SIDE}, {SIDE}), }}");
    let header = format!("{header:<117}\n");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend((0..SIDE * SIDE).map(|cell| (cell * 7 % 251) as u8));
    session.file("big.npy", npy);
    session.text("create big --schema big.json");
    session.text("write big --from big.npy --sync none");
    session
}

/// Starts a command whose standard output nobody reads.
fn start(session: &Session, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smalti"));
    command.args(words(line)).current_dir(session.path("")).env_remove("SMALTI_KEY");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the program has taken the signals over, as it does before long work.
fn watches(child: &mut Child, line: &str) {
    const SIGINT_BIT: u64 = 1 << 1;
    let status = format!("/proc/{}/status", child.id());
    let start = Instant::now();
    while start.elapsed() < NEVER_ENDS {
        assert!(child.try_wait().unwrap().is_none(), "{line} ended before it could be stopped");
        let Ok(status) = std::fs::read_to_string(&status) else {
            // There is no such file on this system.
            return std::thread::sleep(Duration::from_millis(500));
        };
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if caught.is_some_and(|mask| mask & SIGINT_BIT != 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("{line} never watches for signals");
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Waits for the end of a command that was stopped. Its exit status, and what it said.
fn end(mut child: Child, line: &str) -> (Option<i32>, String) {
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < NEVER_ENDS, "{line} goes on");
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (status.code(), said)
}

/// The names in the session's folder.
fn names(session: &Session) -> Vec<String> {
    let entries = std::fs::read_dir(session.path("")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_signal_stops_a_read_and_leaves_no_file_of_it() {
    let session = big();
    // Each test is asked of every cell, and no statistics answer it.
    let slow: Vec<String> = (0..120).map(|step| format!("a == {step} and x != {step}")).collect();
    let slow = slow.join(" or ");
    let before = names(&session);
    for (name, number) in [("-INT", 2), ("-TERM", 15)] {
        for line in [
            "read big --format jsonl".to_string(),
            "read big -o out.csv".to_string(),
            "read big -o out.parquet --range y=0:".to_string(),
            format!("aggregate big count sum:a --where '{slow}'"),
            format!("explain big --analyze --where '{slow}' --threads 1"),
        ] {
            assert_stops(&session, &line, (name, number));
            assert_eq!(names(&session), before, "{line}");
        }
    }
}

/// Stops a command, which has to say so.
fn assert_stops(session: &Session, line: &str, (name, number): (&str, i32)) {
    let mut child = start(session, line);
    watches(&mut child, line);
    signal(&child, name);
    let (status, said) = end(child, line);
    assert_eq!(status, Some(128 + number), "{line}: {said}");
    let words = format!("stopped by SIG{} before the end", &name[1..]);
    assert!(said.contains(&words) && said.lines().count() == 1, "{line}: {said}");
}

/// Writes the one fragment of the array again and again, without the bytes.
fn multiply_fragments(session: &Session) {
    let fragments = session.path("big/__fragments");
    let first = std::fs::read_dir(&fragments).unwrap().next().unwrap().unwrap();
    for number in 1..=100 {
        let name = format!("__{number}_{number}_{number:032x}_22");
        std::fs::create_dir(fragments.join(&name)).unwrap();
        for file in std::fs::read_dir(first.path()).unwrap().map(Result::unwrap) {
            std::fs::hard_link(file.path(), fragments.join(&name).join(file.file_name())).unwrap();
        }
        std::fs::write(session.path(&format!("big/__commits/{name}.wrt")), "").unwrap();
    }
}

#[test]
fn a_signal_stops_checks_and_comparisons_and_leaves_nothing_of_a_salvage() {
    let session = big();
    multiply_fragments(&session);
    let before = names(&session);
    for line in
        ["digest big", "diff big big", "fsck big --data", "repair big --data", "salvage big -o saved.csv"]
    {
        assert_stops(&session, line, ("-INT", 2));
        assert_eq!(names(&session), before, "{line}");
    }
    assert_stops(&session, "salvage big -o saved", ("-TERM", 15));
    assert_eq!(names(&session), before);
}

#[test]
fn a_read_that_is_stopped_leaves_the_file_of_an_earlier_one() {
    let session = big();
    session.file("out.csv", "earlier");
    let mut child = start(&session, "read big -o out.csv");
    watches(&mut child, "read");
    signal(&child, "-INT");
    assert_eq!(end(child, "read").0, Some(130));
    assert_eq!(std::fs::read(session.path("out.csv")).unwrap(), b"earlier");
}

#[test]
fn the_second_signal_ends_the_program_where_it_is() {
    let session = big();
    let mut child = start(&session, "read big --format jsonl");
    watches(&mut child, "read");
    signal(&child, "-INT");
    signal(&child, "-INT");
    assert_eq!(end(child, "read").0, Some(130));
}

#[test]
fn statistics_are_told_on_standard_error() {
    let session = Session::new();
    grid(&session);
    let said = |line: &str| {
        let output = session.output_of(line, b"");
        assert!(output.status.success(), "{line}");
        assert!(!output.stdout.is_empty(), "{line}");
        String::from_utf8(output.stderr).unwrap()
    };
    let text = said("read grid --select a --format csv --stats");
    assert!(text.starts_with("was opened: ") && text.contains("\nwas read: "), "{text}");
    assert!(text.contains(" rounds, ") && text.contains(" tiles of fields, 12 cells, "), "{text}");
    for line in ["--json read grid --stats", "aggregate grid count --where 'a > 12' --json --stats"] {
        let statistics: serde_json::Value = serde_json::from_str(&said(line)).unwrap();
        for key in ["bytes", "requests", "rounds"] {
            for told in [&statistics, &statistics["opening"]] {
                assert!(told[key].as_u64().unwrap() > 0, "{line}: {statistics}");
            }
        }
        assert!(statistics["tiles_of_fields"].as_u64().unwrap() > 0, "{line}: {statistics}");
        assert!(statistics["ms"].is_number(), "{line}: {statistics}");
    }
    assert!(session.problem("explain grid --stats", 2).contains("--analyze"));
}
