//! The arrows between the modules of a crate: none may lead back to where it came from.
//!
//! A module is a file. What a file names of another one, in a `use` or in a path, is an arrow to the file that defines it: names that
//! a module only passes on (`pub use`) lead on to there. Methods make no arrows. Tests are left out. Folders are looked at as wholes, too:
//! what lies in one folder may not import what lies beside it and imports it.

mod names;

use crate::sources::SourceFile;
use names::{Names, names};
use std::collections::{BTreeMap, BTreeSet};

/// How many modules of a crate still stand in knots. A number may only fall; a crate that is not here has none.
const STILL_KNOTTED: &[(&str, usize)] = &[
    ("cli", 13),
    ("codecs", 8),
    ("format", 11),
    ("smalti", 26),
    ("store", 8),
    ("tools", 22),
    ("upkeep", 12),
];

/// A module by its path from the crate's root, which is empty.
type Path = Vec<String>;

/// Arrows from each module, or each part of a folder, to others.
type Arrows = BTreeMap<Path, BTreeSet<Path>>;

/// The knots in all crates of the workspace, a line each, where a crate has more than the table gives it, or less.
pub(crate) fn violations(files: &[SourceFile]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for file in files {
        let Some((krate, inside)) = file.path.split_once("/src/") else { continue };
        let name = krate.strip_prefix("crates/").unwrap_or(krate);
        if !name.contains('/') && inside.ends_with(".rs") {
            crates.entry(name).or_default().push((inside, &file.text));
        }
    }
    crates.iter().flat_map(|(name, sources)| crate_violations(name, sources, STILL_KNOTTED)).collect()
}

fn crate_violations(name: &str, sources: &[(&str, &str)], table: &[(&str, usize)]) -> Vec<String> {
    let arrows = arrows(sources);
    let mut knots = knots(&arrows);
    let mut folders: BTreeSet<&[String]> = BTreeSet::new();
    for module in arrows.keys().filter(|module| !module.is_empty()) {
        folders.insert(&module[..module.len() - 1]);
    }
    for folder in folders {
        knots.extend(self::knots(&between_parts(&arrows, folder)));
    }
    let knotted: BTreeSet<&Path> = knots.iter().flatten().collect();
    let allowed = table.iter().find(|(krate, _)| *krate == name).map_or(0, |(_, count)| *count);
    if knotted.len() == allowed {
        return Vec::new();
    }
    if knotted.len() < allowed {
        return vec![format!(
            "{name}: {} modules import each other; say so in xtask/src/knots.rs, where {allowed} stands",
            knotted.len()
        )];
    }
    let lines: BTreeSet<String> = knots.iter().map(|knot| round(name, knot)).collect();
    lines.into_iter().collect()
}

/// A knot as a line: its modules one after the other, the first one again at the end.
fn round(krate: &str, knot: &[Path]) -> String {
    let named = knot.iter().chain(knot.first()).map(|module| match module.is_empty() {
        true => "the crate's root".to_owned(),
        false => module.join("::"),
    });
    format!(
        "{krate}: modules import each other: {}; move what they share below both",
        named.collect::<Vec<_>>().join(" -> ")
    )
}

/// Which file names what of which file.
fn arrows(sources: &[(&str, &str)]) -> Arrows {
    let has_library = sources.iter().any(|(path, _)| *path == "lib.rs");
    let mut modules: BTreeMap<Path, Names> = BTreeMap::new();
    let mut tests: Vec<Path> = Vec::new();
    for (path, text) in sources {
        let Some(module) = module_of(path, has_library) else { continue };
        let names = names(text);
        tests.extend(names.test_modules.iter().map(|test| child(&module, test)));
        modules.insert(module, names);
    }
    modules.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    modules
        .iter()
        .map(|(module, names)| {
            let used = names.used.iter().filter_map(|path| defining(&modules, module, path, 0));
            (module.clone(), used.filter(|used| used != module).collect())
        })
        .collect()
}

/// The module that a source file is.
fn module_of(path: &str, has_library: bool) -> Option<Path> {
    let path = path.strip_suffix(".rs")?;
    if path == "lib" || (path == "main" && !has_library) {
        return Some(Vec::new());
    }
    if path.starts_with("bin/") || path == "main" {
        return None;
    }
    let path = path.strip_suffix("/mod").unwrap_or(path);
    Some(path.split('/').map(str::to_owned).collect())
}

fn child(module: &[String], name: &str) -> Path {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The module that defines what `path` names in `module`; `None` for what is not of this crate, and for modules as such.
fn defining(modules: &BTreeMap<Path, Names>, module: &Path, path: &[String], depth: usize) -> Option<Path> {
    // Names that are passed on in a circle would lead nowhere.
    if depth > 16 {
        return None;
    }
    let mut at = module.clone();
    let mut rest = path;
    let first = rest.first()?;
    match first.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => {
            at.pop()?;
        }
        name if modules.contains_key(&child(module, name)) => at.push(name.to_owned()),
        name => {
            // A module that was imported by its name.
            let imported = modules.get(module)?.imported.get(name)?;
            return match rest.len() {
                1 => None,
                _ if imported.first() == Some(first) => None,
                _ => {
                    let whole: Path = imported.iter().chain(&rest[1..]).cloned().collect();
                    defining(modules, module, &whole, depth + 1)
                }
            };
        }
    }
    rest = &rest[1..];
    while let Some(name) = rest.first() {
        if name == "super" {
            at.pop()?;
        } else if modules.contains_key(&child(&at, name)) {
            at.push(name.clone());
        } else if let Some(passed_on) = modules.get(&at).and_then(|names| names.imported.get(name)) {
            let whole: Path = passed_on.iter().chain(&rest[1..]).cloned().collect();
            return defining(modules, &at, &whole, depth + 1);
        } else {
            return modules.contains_key(&at).then_some(at);
        }
        rest = &rest[1..];
    }
    None
}

/// Arrows between the parts of a folder, whatever of them leads where; not those of the folder's own file.
fn between_parts(arrows: &Arrows, folder: &[String]) -> Arrows {
    let part = |module: &Path| {
        (module.len() > folder.len() && module.starts_with(folder)).then(|| module[..=folder.len()].to_vec())
    };
    let mut between = Arrows::new();
    for (from, to) in arrows {
        let Some(from) = part(from) else { continue };
        let to = to.iter().filter_map(part).filter(|to| *to != from).collect::<Vec<_>>();
        between.entry(from).or_default().extend(to);
    }
    between
}

/// For each module that can be reached from itself the shortest way round, each way once.
fn knots(arrows: &Arrows) -> Vec<Vec<Path>> {
    let mut found: BTreeMap<BTreeSet<Path>, Vec<Path>> = BTreeMap::new();
    for start in arrows.keys() {
        if let Some(way) = way_round(arrows, start) {
            found.entry(way.iter().cloned().collect()).or_insert(way);
        }
    }
    found.into_values().collect()
}

fn way_round(arrows: &Arrows, start: &Path) -> Option<Vec<Path>> {
    let mut before: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut reached = std::collections::VecDeque::from([start]);
    while let Some(at) = reached.pop_front() {
        for next in arrows.get(at).into_iter().flatten() {
            if next == start {
                let mut way = vec![at.clone()];
                let mut at = at;
                while let Some(&previous) = before.get(at) {
                    way.push(previous.clone());
                    at = previous;
                }
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(next) {
                before.insert(next, at);
                reached.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        crate_violations("some", sources, &[])
    }

    #[test]
    fn arrows_that_run_down_pass() {
        let sources = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::Above;"),
            ("a.rs", "use crate::b::Middle; use super::c; fn f() { c::g::<u8>(); }"),
            ("b.rs", "use crate::c::{self, Below as Under}; // crate::a::Above"),
            (
                "c.rs",
                "#[cfg(test)] mod tests { use crate::a::Above; } const TEXT: &str = \"crate::a::Above\";",
            ),
        ];
        assert_eq!(found(&sources), Vec::<String>::new());
    }

    #[test]
    fn modules_that_import_each_other_are_named() {
        let sources = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub struct Above; use crate::b::Below;"),
            ("b.rs", "pub struct Below; fn f() { drop(super::a::Above) }"),
        ];
        assert_eq!(
            found(&sources),
            ["some: modules import each other: a -> b -> a; move what they share below both"]
        );
    }

    #[test]
    fn a_name_that_is_passed_on_leads_to_the_file_that_defines_it() {
        let passed_on = "mod a; mod b; pub(crate) use b::Below;";
        let down = [
            ("lib.rs", "mod folder;"),
            ("folder/mod.rs", passed_on),
            ("folder/a.rs", "use super::Below;"),
            ("folder/b.rs", "pub struct Below;"),
        ];
        assert_eq!(found(&down), Vec::<String>::new());
        let round = [down[0], down[1], down[2], ("folder/b.rs", "use crate::folder::a::Above;")];
        assert_eq!(
            found(&round),
            [
                "some: modules import each other: folder::a -> folder::b -> folder::a; move what they share below both"
            ]
        );
    }

    #[test]
    fn a_folder_and_a_part_of_it_that_use_each_other_are_a_knot() {
        let sources = [
            ("lib.rs", "mod folder;"),
            ("folder/mod.rs", "mod a; use a::f; struct Shared; fn g() { f() }"),
            ("folder/a.rs", "use super::Shared; fn f() {}"),
        ];
        assert_eq!(
            found(&sources),
            [
                "some: modules import each other: folder -> folder::a -> folder; move what they share below both"
            ]
        );
    }

    #[test]
    fn folders_are_looked_at_as_wholes() {
        let sources = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod up; mod down;"),
            ("a/up.rs", "use crate::b::Middle;"),
            ("a/down.rs", "pub struct Down;"),
            ("b.rs", "use crate::a::down::Down; struct Middle;"),
        ];
        assert_eq!(
            found(&sources),
            ["some: modules import each other: a -> b -> a; move what they share below both"]
        );
    }

    #[test]
    fn the_number_of_knotted_modules_may_only_fall() {
        let sources =
            [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")];
        assert_eq!(crate_violations("some", &sources, &[("some", 2)]), Vec::<String>::new());
        assert_eq!(crate_violations("some", &sources, &[("some", 1)]).len(), 1);
        assert_eq!(
            crate_violations("some", &sources, &[("some", 3)]),
            ["some: 2 modules import each other; say so in xtask/src/knots.rs, where 3 stands"]
        );
    }
}
