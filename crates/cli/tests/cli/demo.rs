//! `smalti demo`, from an empty folder to the commands that it suggests.

use crate::session::{Session, words};

#[test]
fn the_demo_leaves_pictures_and_every_command_it_suggests_works() {
    let session = Session::new();
    let said = session.text("demo");
    let png = std::fs::read(session.path("demo-output/map.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 100_000, "{} bytes", png.len());
    let svg = std::fs::read_to_string(session.path("demo-output/fragments.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.matches("<rect").count() > 100, "a rectangle for each tile");

    let (_, suggested) = said.split_once("Try next:").unwrap();
    let program = env!("CARGO_BIN_EXE_smalti");
    let commands: Vec<&str> =
        suggested.lines().map(str::trim).filter(|line| line.contains(program)).collect();
    assert!(commands.len() >= 5, "{suggested}");
    for command in commands {
        let mut words = words(command);
        assert_eq!(words.remove(0), program, "{command}");
        let output = std::process::Command::new(program)
            .args(words)
            .current_dir(session.path("."))
            .env_remove("SMALTI_KEY")
            .output()
            .unwrap();
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && problem.is_empty(), "{command}: {problem}");
    }
}

#[test]
fn the_demo_can_be_repeated_and_reports_to_programs() {
    let session = Session::new();
    session.text("demo --dir 'two words'");
    let report = session.text("demo --dir 'two words' --json --sync none");
    for fact in ["cities", "elevation_cells", "seconds"] {
        assert!(report.contains(&format!("\"{fact}")), "{report}");
    }
    session.file("taken", "");
    session.problem("demo --dir taken", 1);
    std::fs::create_dir_all(session.path("other/cities")).unwrap();
    session.file("other/cities/mine", "kept");
    session.problem("demo --dir other", 1);
    assert!(session.path("other/cities/mine").exists(), "nothing but arrays is removed");
}
