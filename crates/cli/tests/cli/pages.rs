//! Pages of the documentation, run as a reader would: the shell blocks of a page in order, in a folder of their own. A block of text right
//! after a shell block is what it prints, on both outputs; times, durations and sizes in it are examples, and so is the spacing.
//! `SMALTI_UPDATE_SNAPSHOTS=1 cargo test -p smalti-cli --test cli pages` writes these blocks anew, to be read before they are kept.

use crate::session::masked_names;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

#[test]
fn the_examples_of_every_command_work() {
    let ready = tempfile::tempdir().unwrap();
    run_script("smalti demo --dir . && smalti demo --data .", ready.path(), "the demo");
    let folder = documentation("commands");
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    for page in pages {
        let copy = tempfile::tempdir().unwrap();
        link_all(ready.path(), copy.path());
        Page::read(&page).run(copy.path());
    }
}

#[test]
fn the_page_of_the_schema_is_true() {
    let folder = TempDir::new().unwrap();
    Page::read(&documentation("schema-json.md")).run(folder.path());
}

#[test]
fn the_guide_to_rasters_works() {
    let folder = TempDir::new().unwrap();
    Page::read(&documentation("guides/raster.md")).run(folder.path());
}

#[test]
fn the_guide_to_single_cells_works() {
    let folder = TempDir::new().unwrap();
    Page::read(&documentation("guides/single-cell.md")).run(folder.path());
}

#[test]
fn the_guide_to_tables_works() {
    let folder = TempDir::new().unwrap();
    Page::read(&documentation("guides/tables.md")).run(folder.path());
}

#[test]
fn the_page_of_splits_works() {
    let folder = TempDir::new().unwrap();
    Page::read(&documentation("splits.md")).run(folder.path());
}

fn documentation(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// A page with its blocks of code.
struct Page {
    path: PathBuf,
    lines: Vec<String>,
    blocks: Vec<Block>,
}

/// The lines between two fences, without these.
struct Block {
    language: String,
    lines: std::ops::Range<usize>,
}

impl Page {
    fn read(path: &Path) -> Page {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let mut blocks = Vec::new();
        let mut open: Option<(String, usize)> = None;
        for (idx, line) in lines.iter().enumerate() {
            let Some(language) = line.strip_prefix("```") else { continue };
            open = match open {
                None => Some((language.trim().to_string(), idx + 1)),
                Some((language, start)) => {
                    blocks.push(Block { language, lines: start..idx });
                    None
                }
            };
        }
        assert!(open.is_none(), "{}: a block has no end", path.display());
        Page { path: path.to_path_buf(), lines, blocks }
    }

    fn text(&self, block: &Block) -> String {
        self.lines[block.lines.clone()].join("\n")
    }

    /// Runs the shell blocks, and compares what they print.
    fn run(&self, folder: &Path) {
        let mut outputs = Vec::new();
        for (idx, block) in self.blocks.iter().enumerate().filter(|(_, block)| block.language == "sh") {
            let place = format!("{}:{}", self.path.display(), block.lines.start);
            let printed = run_script(&self.text(block), folder, &place);
            let Some(expected) = self.blocks.get(idx + 1).filter(|next| next.language == "text") else {
                continue;
            };
            if is_update() {
                if !is_same(&printed, &self.text(expected)) {
                    outputs.push((expected.lines.clone(), printed));
                }
                continue;
            }
            for (line, (found, wanted)) in
                comparable(&printed).zip(comparable(&self.text(expected))).enumerate()
            {
                let line = expected.lines.start + line + 1;
                assert_eq!(
                    found,
                    wanted,
                    "{}, line {line} or near; all of it:\n{printed}",
                    self.path.display()
                );
            }
            assert!(is_same(&printed, &self.text(expected)), "{place}: it prints\n{printed}");
        }
        if !outputs.is_empty() {
            self.rewrite(outputs);
        }
    }

    fn rewrite(&self, outputs: Vec<(std::ops::Range<usize>, String)>) {
        let mut lines = self.lines.clone();
        for (range, printed) in outputs.into_iter().rev() {
            lines.splice(range, printed.lines().map(|line| line.trim_end().to_string()));
        }
        std::fs::write(&self.path, lines.join("\n") + "\n").unwrap();
    }
}

fn is_update() -> bool {
    std::env::var_os("SMALTI_UPDATE_SNAPSHOTS").is_some_and(|value| value == "1")
}

/// Runs lines of a shell in a folder, with the program in the path; what they print, on standard output and error.
fn run_script(script: &str, folder: &Path, place: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_smalti"));
    let known = std::env::var_os("PATH").unwrap_or_default();
    let program_dir = program.parent().unwrap().to_path_buf();
    let path = std::env::join_paths([program_dir].into_iter().chain(std::env::split_paths(&known))).unwrap();
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("exec 2>&1\nset -e\n{script}"))
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("SMALTI_KEY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let real = folder.canonicalize().unwrap();
    let printed = printed.replace(&*real.to_string_lossy(), "FOLDER");
    assert!(output.status.success(), "{place}: {script}\n{printed}\n{}", output.status);
    printed
}

/// Copies a folder with its files as hard links: nothing that smalti writes changes a file in place.
fn link_all(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            link_all(&entry.path(), &target);
        } else {
            std::fs::hard_link(entry.path(), target).unwrap();
        }
    }
}

fn is_same(a: &str, b: &str) -> bool {
    comparable(a).eq(comparable(b))
}

/// The lines of an output without what differs from run to run.
fn comparable(text: &str) -> impl Iterator<Item = String> {
    let text = masked_names(text);
    let lines: Vec<String> = text.lines().map(comparable_line).collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines.into_iter().take(end)
}

fn comparable_line(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_matches(|c: char| ",.;:()[]\"'".contains(c));
        let is_number = |word: &str| word.trim_start_matches(['(', '[']).parse::<f64>().is_ok();
        let follows_number = words.last().is_some_and(|last| is_number(last));
        let unit = match bare {
            "ms" | "s" | "min" => Some("TIME"),
            "B" | "KiB" | "MiB" | "GiB" => Some("SIZE"),
            _ => None,
        };
        if let Some(unit) = unit.filter(|_| follows_number) {
            words.pop();
            words.push(word.replacen(bare, unit, 1));
        } else if is_now(bare) {
            words.push(word.replacen(bare, "NOW", 1));
        } else if word.chars().all(|c| "-─=".contains(c)) {
            words.push("-".into());
        } else {
            words.push(word.into());
        }
    }
    words.join(" ")
}

/// Whether a word is a moment in which a test may run: ISO 8601, or milliseconds since 1970.
fn is_now(word: &str) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let is_date = digits == 4 && word.len() >= 10 && word.as_bytes()[4] == b'-' && word[..4] >= *"2025";
    let is_milliseconds = digits == 13 && word.len() == 13 && *word >= *"1735689600000";
    is_milliseconds || (is_date && word[..4] < *"2100")
}

#[test]
fn times_durations_sizes_and_spacing_may_differ_and_nothing_else() {
    let same = [
        ("wrote 4 cells in 1.2 ms", "wrote 4 cells in  3 s"),
        ("on disk: 1.0 MiB, 2 files", "on disk: 1023.9 KiB, 2 files"),
        ("at 2026-11-22T10:00:00Z", "at 2027-01-01T00:00:00.123Z"),
        ("1800000000000  a", "1790000000001 a"),
        ("────  ──", "─  ───"),
        ("a\n\n", "a"),
    ];
    for (a, b) in same {
        assert!(is_same(a, b), "{a} / {b}");
    }
    for (a, b) in [("4 cells", "5 cells"), ("2024-01-01", "2024-01-02"), ("a\nb", "a"), ("5 m", "6 m")] {
        assert!(!is_same(a, b), "{a} / {b}");
    }
}
