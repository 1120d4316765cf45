//! The crates of the workspace as their sources: modules, and what a path in one of them means.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemMacro, UseTree, Visibility};

/// A module with what is in it; tests are left out.
pub(super) struct Module {
    pub(super) items: Vec<Item>,
    pub(super) children: BTreeMap<String, Module>,
}

/// All crates, by the names that paths have for them.
pub(super) struct Sources(BTreeMap<String, Module>);

/// A place in the sources: a crate, and the modules on the way.
pub(super) type Place = Vec<String>;

/// What a path leads to.
#[derive(Clone)]
pub(super) enum Found<'a> {
    Item(&'a Item),
    Module(Place),
    /// The call of a macro that makes an item of that name.
    Made(&'a ItemMacro),
    /// Another crate's.
    Foreign(String),
}

impl Sources {
    pub(super) fn load(crates: &Path) -> Self {
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(crates).unwrap() {
            let folder = entry.unwrap().path();
            let root = folder.join("src/lib.rs");
            // What uses the public crate is no part of it.
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let is_above = manifest.lines().any(|line| line.starts_with("smalti ="));
            if root.exists() && !is_above {
                let name = folder.file_name().unwrap().to_string_lossy().into_owned();
                let name = if name == "smalti" { name } else { format!("smalti_{name}") };
                let module = Module::parse(&root, &folder.join("src"));
                found.insert(name, module);
            }
        }
        Self(found)
    }

    pub(super) fn module(&self, place: &[String]) -> Option<&Module> {
        let (krate, inside) = place.split_first()?;
        inside.iter().try_fold(self.0.get(krate)?, |module, name| module.children.get(name))
    }

    /// All modules, with their places.
    pub(super) fn modules(&self) -> Vec<(Place, &Module)> {
        let mut open: Vec<_> = self.0.iter().map(|(name, module)| (vec![name.clone()], module)).collect();
        let mut found = Vec::new();
        while let Some((place, module)) = open.pop() {
            open.extend(module.children.iter().map(|(name, child)| (joined(&place, name), child)));
            found.push((place, module));
        }
        found
    }

    /// What `path` means in the module at `place`.
    pub(super) fn resolve(&self, place: &[String], path: &[String]) -> Option<Found<'_>> {
        self.resolve_within(place, path, 0)
    }

    fn resolve_within(&self, place: &[String], path: &[String], depth: usize) -> Option<Found<'_>> {
        // Modules that import each other whole lead in circles.
        if depth > 12 {
            return None;
        }
        let Some((first, rest)) = path.split_first() else { return Some(Found::Module(place.to_vec())) };
        match first.as_str() {
            "crate" => return self.resolve_within(&place[..1], rest, depth + 1),
            "self" => return self.resolve_within(place, rest, depth + 1),
            "super" => return self.resolve_within(&place[..place.len() - 1], rest, depth + 1),
            _ => {}
        }
        match self.named(place, first, depth + 1) {
            Some(Found::Module(inner)) => self.resolve_within(&inner, rest, depth + 1),
            Some(found) if rest.is_empty() => Some(found),
            Some(_) => None,
            None if self.0.contains_key(first) => {
                self.resolve_within(std::slice::from_ref(first), rest, depth + 1)
            }
            None => Some(Found::Foreign(path.join("::"))),
        }
    }

    fn named(&self, place: &[String], name: &str, depth: usize) -> Option<Found<'_>> {
        let module = self.module(place)?;
        if module.children.contains_key(name) {
            return Some(Found::Module(joined(place, name)));
        }
        if let Some(item) = module.items.iter().find(|item| ident(item).is_some_and(|ident| ident == name)) {
            return Some(Found::Item(item));
        }
        for item in &module.items {
            if let Item::Macro(call) = item
                && makes(call, name)
            {
                return Some(Found::Made(call));
            }
        }
        let uses = || {
            module.items.iter().filter_map(|item| if let Item::Use(used) = item { Some(used) } else { None })
        };
        for used in uses() {
            for (path, alias) in flattened(&used.tree) {
                if alias == name && path != [name] {
                    return self.resolve_within(place, &path, depth);
                }
            }
        }
        for used in uses() {
            for (path, alias) in flattened(&used.tree) {
                if alias == "*"
                    && let Some(Found::Module(inner)) = self.resolve_within(place, &path, depth)
                    && let Some(found) = self.named_unless_deep(&inner, name, depth)
                {
                    return Some(found);
                }
            }
        }
        None
    }

    fn named_unless_deep(&self, place: &[String], name: &str, depth: usize) -> Option<Found<'_>> {
        if depth > 12 { None } else { self.named(place, name, depth + 1) }
    }
}

impl Module {
    fn parse(file: &Path, folder: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap();
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        Self::of(parsed.items, folder)
    }

    /// `folder` is where the files of its children are.
    fn of(items: Vec<Item>, folder: &Path) -> Self {
        let items: Vec<Item> = items.into_iter().filter(|item| !is_for_tests(attributes(item))).collect();
        let mut children = BTreeMap::new();
        for item in &items {
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            let inner = folder.join(&name);
            let child = match &module.content {
                Some((_, items)) => Self::of(items.clone(), &inner),
                None => {
                    let beside: [PathBuf; 2] = [folder.join(format!("{name}.rs")), inner.join("mod.rs")];
                    let file = beside.iter().find(|file| file.exists());
                    Self::parse(file.unwrap_or_else(|| panic!("{beside:?}: no file")), &inner)
                }
            };
            children.insert(name, child);
        }
        Self { items, children }
    }
}

pub(super) fn joined(place: &[String], name: &str) -> Place {
    place.iter().cloned().chain([name.to_owned()]).collect()
}

/// The paths that a `use` brings in, with the names that it gives them; `*` for all of a module.
pub(super) fn flattened(tree: &UseTree) -> Vec<(Place, String)> {
    match tree {
        UseTree::Path(path) => {
            let inner = flattened(&path.tree).into_iter();
            inner
                .map(|(mut rest, alias)| {
                    rest.insert(0, path.ident.to_string());
                    (rest, alias)
                })
                .map(|(path, alias)| if alias == "self" { named_self(path) } else { (path, alias) })
                .collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(rename) => vec![(vec![rename.ident.to_string()], rename.rename.to_string())],
        UseTree::Glob(_) => vec![(Vec::new(), "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(flattened).collect(),
    }
}

/// `module::{self}` is the module under its own name.
fn named_self(mut path: Place) -> (Place, String) {
    path.pop();
    let name = path.last().cloned().unwrap_or_default();
    (path, name)
}

/// Whether a call of a macro makes a type or a function of that name.
fn makes(call: &ItemMacro, name: &str) -> bool {
    let words = call.mac.tokens.to_string();
    let words: Vec<&str> = words.split_whitespace().collect();
    let made = |pair: &[&str]| {
        ["struct", "enum", "record", "trait", "type", "fn"].contains(&pair[0]) && pair[1] == name
    };
    words.windows(2).any(made)
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .meta
                .require_list()
                .is_ok_and(|list| ["test", "doctest"].contains(&list.tokens.to_string().as_str()))
    })
}

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether the documentation leaves it out: it is there for other crates of the workspace, not for users.
pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "hidden")
    })
}

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

pub(super) fn ident(item: &Item) -> Option<&syn::Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        _ => None,
    }
}

pub(super) fn visibility(item: &Item) -> Option<&Visibility> {
    match item {
        Item::Const(item) => Some(&item.vis),
        Item::Enum(item) => Some(&item.vis),
        Item::Fn(item) => Some(&item.vis),
        Item::Mod(item) => Some(&item.vis),
        Item::Static(item) => Some(&item.vis),
        Item::Struct(item) => Some(&item.vis),
        Item::Trait(item) => Some(&item.vis),
        Item::Type(item) => Some(&item.vis),
        Item::Use(item) => Some(&item.vis),
        _ => None,
    }
}
