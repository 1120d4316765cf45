//! Checking, mending and comparing arrays.

use crate::fixtures::grid;
use crate::session::Session;

/// What a command prints, and its exit status.
fn run(session: &Session, line: &str) -> (String, i32) {
    let output = session.output_of(line, b"");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code().unwrap_or(-1))
}

#[test]
fn damage_is_found_mended_and_salvaged() {
    let session = Session::new();
    grid(&session);
    assert_eq!(
        run(&session, "fsck grid --data"),
        ("2 fragments and 15 tiles checked: nothing found\n".into(), 0)
    );
    let before = run(&session, "digest grid").0;
    let stray = session.path("grid/__schema/notes");
    std::fs::write(&stray, "x").unwrap();
    let (text, status) = run(&session, "fsck grid");
    assert_eq!(status, 1);
    assert!(
        text.contains("__schema/notes: stray (hidden data)") && text.contains("`smalti repair`"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&run(&session, "fsck grid --json").0).unwrap();
    assert_eq!(json["findings"][0]["kind"], "stray");
    assert_eq!(json["sound"], false);
    assert!(run(&session, "repair grid --dry-run").0.contains("would be mended"));
    assert!(stray.exists());
    let (text, status) = run(&session, "repair grid");
    assert!(status == 0 && text.contains("what was set aside is in grid/__aside/"), "{text}");
    assert!(!stray.exists());
    assert_eq!(run(&session, "fsck grid").1, 0);
    assert_eq!(run(&session, "digest grid").0, before);

    let folders = std::fs::read_dir(session.path("grid/__fragments")).unwrap();
    let is_first = |path: &std::path::PathBuf| path.to_string_lossy().contains("/__100_");
    let fragment = folders.map(|entry| entry.unwrap().path()).find(is_first).unwrap();
    let file = fragment.join("a1.tdb");
    let content = std::fs::read(&file).unwrap();
    std::fs::write(&file, &content[..content.len() - 4]).unwrap();
    assert!(run(&session, "fsck grid").0.contains("file-short (lost data)"));
    let (text, status) = run(&session, "salvage grid -o rescued");
    assert!(
        status == 1 && text.contains("lost: ") && text.contains("\"f\"") && text.contains("1 losses"),
        "{text}"
    );
    let (text, status) = run(&session, "salvage grid -o rescued.csv");
    assert!(status == 1 && text.contains("rescued.csv"), "{text}");
    let rows =
        |array| run(&session, &format!("read {array} --select a --format csv --range y=1:3 --range x=1:3")).0;
    assert_eq!(rows("rescued"), rows("grid"));
    assert!(run(&session, "fsck nothing").0.contains("no array or group is here"));
}

#[test]
fn differences_are_printed_and_tell_the_exit_status() {
    let session = Session::new();
    grid(&session);
    let (text, status) = run(&session, "diff grid --at-a 100");
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("~ y=2 x=2: a: 22 -> -22"), "{text}");
    assert!(text.contains("+ y=2 x=3: a=23, f=null"), "{text}");
    let (text, _) = run(&session, "diff grid --at-a 100 --limit 1");
    assert_eq!(text.lines().count(), 1, "{text}");
    let (text, _) = run(&session, "diff grid --at-a 100 --json");
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["summary"]["changed"], 1);
    assert_eq!(run(&session, "diff grid grid"), (String::new(), 0));
    assert_eq!(run(&session, "diff grid nothing").1, 2);
    assert_eq!(run(&session, "diff grid").1, 2);
}
