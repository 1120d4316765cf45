//! Rules that every text file of the project keeps: length, no unfinished work, no path of one machine.

use crate::workspace::Workspace;
use std::fs;
use std::path::Path;

/// A text file of the project.
pub(crate) struct SourceFile {
    /// Its path from the root of the workspace, with `/` between parts.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

/// No Rust file is longer than this many lines.
const MAX_LINES: usize = 800;

/// Folders that hold what programs made.
const MADE_FOLDERS: &[&str] = &["target", "__pycache__", "node_modules", "artifacts", "kept", "demo-output"];

/// Words that must not stand in any file, and why.
const FORBIDDEN: &[(&str, &str)] = &[
    ("TODO", "unfinished work belongs into an issue"),
    ("FIXME", "unfinished work belongs into an issue"),
    ("XXX", "unfinished work belongs into an issue"),
    ("todo!(", "unfinished work belongs into an issue"),
    ("unimplemented!(", "unfinished work belongs into an issue"),
    ("dbg!(", "left over from debugging"),
    ("#[ignore]", "an ignored test needs a reason: #[ignore = \"...\"]"),
    ("/home/", "a path of one machine"),
    ("/root/", "a path of one machine"),
    ("/Users/", "a path of one machine"),
    ("/tmp/", "a path of one machine; tests ask the system for a temporary folder"),
];

/// The file whose table names the words itself.
const THIS_FILE: &str = "xtask/src/sources.rs";

/// All text files of the project; hidden folders other than `.ci`, `.cargo` and `.github` are left out.
pub(crate) fn files(workspace: &Workspace) -> Result<Vec<SourceFile>, String> {
    let mut found = Vec::new();
    collect(&workspace.root, &workspace.root, &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The rules that files break, a line each.
pub(crate) fn violations(files: &[SourceFile]) -> Vec<String> {
    files.iter().flat_map(|file| too_long(file).into_iter().chain(forbidden_words(file))).collect()
}

/// `path` from `root`, with `/` between parts.
pub(crate) fn relative(path: &Path, root: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn collect(folder: &Path, root: &Path, found: &mut Vec<SourceFile>) -> Result<(), String> {
    let listing = fs::read_dir(folder).map_err(|e| format!("cannot list {}: {e}", folder.display()))?;
    for entry in listing {
        let entry = entry.map_err(|e| format!("cannot list {}: {e}", folder.display()))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|e| format!("{}: {e}", path.display()))?;
        if kind.is_dir() {
            if is_ours(&entry.file_name().to_string_lossy()) {
                collect(&path, root, found)?;
            }
        } else if kind.is_file() {
            let content = fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            // What is not UTF-8 is data: fixtures, compressed files.
            if let Ok(text) = String::from_utf8(content) {
                found.push(SourceFile { path: relative(&path, root), text });
            }
        }
    }
    Ok(())
}

fn is_ours(folder: &str) -> bool {
    let hidden = folder.starts_with('.') && ![".ci", ".cargo", ".github"].contains(&folder);
    !hidden && !MADE_FOLDERS.contains(&folder)
}

fn too_long(file: &SourceFile) -> Option<String> {
    let line_count = file.text.lines().count();
    (file.path.ends_with(".rs") && line_count > MAX_LINES)
        .then(|| format!("{}: {line_count} lines, {MAX_LINES} at most", file.path))
}

fn forbidden_words(file: &SourceFile) -> Vec<String> {
    if file.path == THIS_FILE {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    lines
        .flat_map(|(at, line)| FORBIDDEN.iter().map(move |(word, why)| (at, line, word, why)))
        .filter(|(_, line, word, _)| contains_word(line, word))
        .map(|(at, _, word, why)| format!("{}:{}: `{word}`: {why}", file.path, at + 1))
        .collect()
}

/// Whether `word` stands in `line` on its own, not as part of a longer word or path.
fn contains_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let joined_before = line[..at].ends_with(joins);
        let joined_after = word.ends_with(joins) && line[at + word.len()..].starts_with(joins);
        !joined_before && !joined_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_word_inside_a_longer_word_or_path_passes() {
        let text = "XXXL _XXX TODOS tests/tmp/a data/home/ my_todo!( \"\\x00XXX1\"\n";
        assert_eq!(violations(&[file("a.md", text)]), Vec::<String>::new());
    }

    #[test]
    fn a_forbidden_word_is_named_with_its_line() {
        let found = violations(&[file("a.md", "fine\nopen(\"/tmp/x\") // TODO: later\n")]);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("a.md:2: `TODO`: "), "{found:?}");
        assert!(found[1].starts_with("a.md:2: `/tmp/`: "), "{found:?}");
    }

    #[test]
    fn only_rust_files_have_a_longest_length() {
        let long = "\n".repeat(MAX_LINES + 1);
        assert_eq!(violations(&[file("a.rs", &long)]), ["a.rs: 801 lines, 800 at most"]);
        assert_eq!(violations(&[file("a.rs", &long[1..]), file("a.md", &long)]), Vec::<String>::new());
    }

    #[test]
    fn made_and_hidden_folders_are_left_out() {
        let folders = ["src", ".ci", "target", ".git", ".venv", "__pycache__"];
        assert_eq!(folders.map(is_ours), [true, true, false, false, false, false]);
    }
}
