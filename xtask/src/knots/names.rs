//! What a source file names: a reader of the little of Rust's grammar that imports and paths are made of.

use std::collections::{BTreeMap, BTreeSet};

/// What a source file names.
#[derive(Default)]
pub(super) struct Names {
    /// Imports and paths whose names the file uses itself.
    pub(super) used: BTreeSet<Vec<String>>,
    /// What each name stands for that the file imports or passes on.
    pub(super) imported: BTreeMap<String, Vec<String>>,
    /// Modules that are declared for tests alone.
    pub(super) test_modules: Vec<String>,
}

/// What `text` names outside tests.
pub(super) fn names(text: &str) -> Names {
    let tokens = tokens(text);
    let mut names = Names::default();
    let mut at = 0;
    let mut is_public = false;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "#" => {
                let attribute_end = after_group(&tokens, at + 1);
                let is_test = tokens[at..attribute_end].windows(3).any(|w| w == ["cfg", "(", "test"]);
                at = attribute_end;
                if is_test {
                    at = after_test_item(&tokens, at, &mut names.test_modules);
                }
                continue;
            }
            "pub" => {
                is_public = true;
                at += 1;
                if tokens.get(at).is_some_and(|t| t == "(") {
                    at = after_group(&tokens, at);
                }
                continue;
            }
            "use" => at = read_import(&tokens, at + 1, is_public, &mut names),
            word if is_word(word) => at = read_path(&tokens, at, &mut names),
            _ => at += 1,
        }
        is_public = false;
    }
    names
}

/// Words, `::` and single signs, without comments, text and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(len) = raw_text_len(rest) {
            len
        } else if first == '"' {
            text_len(rest)
        } else if first == '\'' {
            character_len(rest)
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else if is_word_start(first) || first.is_ascii_digit() {
            let len = rest.find(|c: char| !is_word_start(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
            tokens.push(rest[..len].to_owned());
            len
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[len..];
    }
    tokens
}

fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_word(token: &str) -> bool {
    token.starts_with(is_word_start)
}

/// The length of raw text at the start, such as `r#"..."#`.
fn raw_text_len(rest: &str) -> Option<usize> {
    let after_prefix = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after_prefix.len() - after_prefix.trim_start_matches('#').len();
    after_prefix[hashes..].strip_prefix('"')?;
    let start = rest.len() - after_prefix.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len()))
}

fn text_len(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character such as `'"'`, or of the tick of a lifetime.
fn character_len(rest: &str) -> usize {
    let mut inside = rest[1..].char_indices();
    match inside.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(rest.len(), |end| end + 4),
        Some((_, c)) if rest[1 + c.len_utf8()..].starts_with('\'') => 2 + c.len_utf8(),
        _ => 1,
    }
}

/// The place after the brackets that open at `at`.
fn after_group(tokens: &[String], at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in tokens[at..].iter().enumerate() {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        // An inner attribute has a `!` before its bracket.
        if depth == 0 && token != "!" {
            return at + offset + 1;
        }
    }
    tokens.len()
}

/// The place after the item at `at`, which is for tests alone.
fn after_test_item(tokens: &[String], mut at: usize, test_modules: &mut Vec<String>) -> usize {
    if let [module, name, end, ..] = &tokens[at..]
        && module == "mod"
        && end == ";"
    {
        test_modules.push(name.clone());
    }
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            ";" => return at + 1,
            "{" => return after_group(tokens, at),
            "(" | "[" => at = after_group(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// Reads an import up to its `;`.
fn read_import(tokens: &[String], at: usize, is_public: bool, names: &mut Names) -> usize {
    let end = tokens[at..].iter().position(|token| token == ";").map_or(tokens.len(), |end| at + end);
    let mut leaves = Vec::new();
    read_tree(&tokens[at..end], &[], &mut leaves);
    for (path, name) in leaves {
        // What is only passed on is used by those who import it from here.
        if !is_public {
            names.used.insert(path.clone());
        }
        names.imported.insert(name, path);
    }
    end
}

/// Reads a tree of imports: each path in it, with the name that it gets here.
fn read_tree(tokens: &[String], before: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "{" => {
                let end = after_group(tokens, at);
                let inside = &tokens[at + 1..end - 1];
                let mut start = 0;
                while start < inside.len() {
                    let mut stop = start;
                    while stop < inside.len() && inside[stop] != "," {
                        stop = if inside[stop] == "{" { after_group(inside, stop) } else { stop + 1 };
                    }
                    read_tree(&inside[start..stop], &path, leaves);
                    start = stop + 1;
                }
                return;
            }
            "as" => {
                let name = tokens.get(at + 1).cloned().unwrap_or_default();
                leaves.push((path, name));
                return;
            }
            "self" if !path.is_empty() => {}
            "::" => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    if let Some(name) = path.last().cloned().filter(|_| path.len() > before.len() || !before.is_empty()) {
        leaves.push((path, name));
    }
}

/// Reads a word and what follows it with `::`.
fn read_path(tokens: &[String], at: usize, names: &mut Names) -> usize {
    let mut path = vec![tokens[at].clone()];
    let mut end = at + 1;
    while let (Some("::"), Some(next)) = (tokens.get(end).map(String::as_str), tokens.get(end + 1))
        && is_word(next)
    {
        path.push(next.clone());
        end += 2;
    }
    let continues = at > 0 && (tokens[at - 1] == "::" || tokens[at - 1] == ".");
    if path.len() > 1 && !continues {
        names.used.insert(path);
    }
    end
}
